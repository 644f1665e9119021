//! Shapes of triangles and surfaces: boxes, measures, motions; flat and curved triangles.

pub(crate) mod bvh;
pub mod curved;
pub(crate) mod flat;
pub mod join;
pub mod mirror;
pub mod quality;
pub mod transform;
pub mod weld;
