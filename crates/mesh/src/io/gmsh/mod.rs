//! Gmsh's MSH format: a reader of versions 2.2 and 4.1, ASCII and binary, and a writer of 4.1.
//!
//! The format is described in the Gmsh reference manual, section "Gmsh file formats".

mod content;
mod error;
pub(crate) mod faces;
pub(crate) mod kinds;
mod lines;
mod reader;
mod report;
pub(crate) mod scan;
pub(crate) mod tags;
mod v2;
mod v4;
mod write;

pub use error::{Cause, FormatError, Place, Subject};
pub use report::{Encoding, ReadReport};
pub use write::write;

use crate::surface::Mesh;

/// Reads the content of a mesh file.
///
/// # Errors
/// [`FormatError`] for whatever cannot be represented; any bytes at all may be given.
pub fn parse(bytes: &[u8]) -> Result<(Mesh, ReadReport), FormatError> {
    reader::read(bytes)
}
