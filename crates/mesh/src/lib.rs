//! Triangle surfaces: readers, generators, topology and quality checks. No physics.
//!
//! A [`Mesh`] comes from [`gmsh::read`] or from a generator such as [`generate::Sphere`]. [`check::Report`] says what is known
//! about it, [`conductors::assign`] tells which triangle belongs to which conductor. Everything works relative to the mesh's
//! own size, so that a unit of length is a matter of the caller.

pub mod check;
pub mod conductors;
pub mod generate;
pub mod gmsh;
pub mod quality;
mod surface;
pub mod topology;
mod vector;

pub use surface::{InvalidMesh, MAX_COORDINATE, Mesh, PhysicalGroup};
