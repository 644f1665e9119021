//! Gmsh's MSH format: a reader of versions 2.2 and 4.1, ASCII and binary, and a writer of 4.1.
//!
//! The format is described in the Gmsh reference manual, section "Gmsh file formats".

mod error;
mod faces;
mod kinds;
mod reader;
mod report;
mod scan;
mod tags;
mod v2;
mod v4;
mod write;

pub use error::{Cause, Error, FormatError, Place, Subject};
pub use report::{Encoding, ReadReport};
pub use write::write;

use crate::surface::Mesh;
use std::path::Path;

/// Reads a mesh file.
///
/// # Errors
/// [`Error`], with the file's name, the place in it and what is wrong.
pub fn read(path: &Path) -> Result<(Mesh, ReadReport), Error> {
    let bytes =
        std::fs::read(path).map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
    parse(&bytes).map_err(|source| Error::Format { path: path.to_path_buf(), source })
}

/// Reads the content of a mesh file.
///
/// # Errors
/// [`FormatError`] for whatever cannot be represented; any bytes at all may be given.
pub fn parse(bytes: &[u8]) -> Result<(Mesh, ReadReport), FormatError> {
    reader::read(bytes)
}
