//! What is where: the nearest triangle, hits of lines, triangles that cross, touch or face.

pub mod contact;
pub mod intersect;
pub mod locate;
pub mod proximity;
