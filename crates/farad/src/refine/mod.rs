//! Refinement: smaller triangles where errors are large, until an accuracy is reached.

pub(crate) mod accuracy;
pub(crate) mod among;
pub(crate) mod descent;
pub(crate) mod first_mesh;
pub(crate) mod goal;
pub(crate) mod marking;
