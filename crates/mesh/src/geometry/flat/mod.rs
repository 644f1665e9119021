//! Flat triangles: distances and lines, how two meet.

pub(crate) mod meeting;
pub(crate) mod triangle;
