//! Triangle surfaces: readers, generators, topology and quality checks. No physics.

mod surface;

pub use surface::{Mesh, PhysicalGroup};
