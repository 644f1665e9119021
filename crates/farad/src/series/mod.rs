//! Series of solves: of one problem on finer meshes, and of problems that differ in parameters.

pub(crate) mod study;
pub(crate) mod sweep;
