//! Readers and writers of surfaces.

pub mod fastcap;
pub mod files;
pub mod gmsh;
pub mod numbering;
