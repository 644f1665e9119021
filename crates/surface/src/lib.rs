//! Triangle meshes of molecular surfaces, made of atoms.

mod arcs;
mod balls;
mod build;
mod cells;
mod connectivity;
mod crease;
mod error;
mod field;
mod improve;
mod lattice;
mod offset;
mod options;
mod remesh;
mod shape;

pub use build::molecular;
pub use error::Error;
pub use options::{Atom, Cavities, Kind, Options, Resolution};
