//! What the triangles of a mesh bound: orientation, regions, conductors, and the report on all.

pub mod cells;
pub mod check;
pub mod conductors;
pub mod orient;
pub mod regions;
