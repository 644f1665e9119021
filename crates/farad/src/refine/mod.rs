//! Refinement: smaller triangles where errors are large, until an accuracy is reached.

pub(crate) mod descent;
pub(crate) mod first_mesh;
pub(crate) mod foresight;
pub(crate) mod gains;
pub(crate) mod goal;
pub(crate) mod judge;
pub(crate) mod level;
pub(crate) mod marking;
pub(crate) mod numbers;
pub(crate) mod run;
pub(crate) mod target;
pub(crate) mod team;
