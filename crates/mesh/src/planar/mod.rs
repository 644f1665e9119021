//! Polygons in planes and what is made of them: triangles, outlines, prisms.

pub mod conform;
pub mod outlines;
pub mod overlay;
pub mod polygon;
pub mod prisms;
