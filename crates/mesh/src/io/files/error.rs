//! What can be wrong with a surface file, and where.

use super::format::Format;
use crate::io::gmsh::{self, Place};
use crate::surface::MAX_COORDINATE;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a file of points or triangles could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{}: cannot be read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The content is not what its format asks for.
    #[error("{}: {source}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The fault and its place.
        source: FormatError,
    },
    /// A Gmsh file's content.
    #[error("{}: {source}", path.display())]
    Gmsh {
        /// The file.
        path: PathBuf,
        /// The fault and its place.
        source: gmsh::FormatError,
    },
    /// A file that belongs to another one is not there.
    #[error("{}: {place}: the file {} {why}", path.display(), missing.display())]
    Missing {
        /// The file that names it.
        path: PathBuf,
        /// Where.
        place: Place,
        /// The file that is named.
        missing: PathBuf,
        /// Its fault, and what to do.
        why: String,
    },
    /// A device or a pipe, which may have no end, or a folder.
    #[error("{}: is not a file but {what}; surfaces and atoms are read from files alone", path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
        /// What it is, in words.
        what: &'static str,
    },
    /// A file of another sort than is wanted, by its name.
    #[error("{}: the name does not end in .{ending}; {what} are read from such files alone", path.display())]
    Ending {
        /// The file.
        path: PathBuf,
        /// What the name should end in.
        ending: &'static str,
        /// What was being read.
        what: &'static str,
    },
    /// No reader for what the name ends in.
    #[error(
        "{}: the format is chosen by the ending of the name, and {found}; read are {}",
        path.display(),
        Format::list()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What the ending is, in words.
        found: String,
    },
}

/// A fault in the content of a file, and its place.
#[derive(Clone, Debug, PartialEq, Error)]
pub struct FormatError {
    /// Line or byte.
    pub place: Place,
    /// The fault.
    pub cause: Cause,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.cause)
    }
}

/// The fault.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Cause {
    /// Something else where a certain thing should be.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The file ends early.
    #[error("the file ends where {0} should come; it is truncated, so save or copy it again")]
    Truncated(String),
    /// More data is announced than the file has room for.
    #[error(
        "{claimed} {what} are announced, but the rest of the file holds at most {room}; the count is wrong or the file is truncated"
    )]
    Count {
        /// Of what.
        what: &'static str,
        /// The number in the file.
        claimed: u64,
        /// The number for which there are bytes.
        room: u64,
    },
    /// The number of records is not the one announced.
    #[error("{claimed} {what} are announced, but there are {found}")]
    Sum {
        /// Of what.
        what: &'static str,
        /// The number announced.
        claimed: u64,
        /// The number found.
        found: u64,
    },
    /// A vertex that does not exist.
    #[error("there is no vertex {index}: the {count} vertices are numbered from {first}")]
    Vertex {
        /// The number in the file.
        index: i64,
        /// The number of vertices.
        count: usize,
        /// The number of the first vertex.
        first: u32,
    },
    /// A coordinate that cannot be computed with.
    #[error(
        "the coordinate {0:?} is not usable; coordinates must be finite and below {MAX_COORDINATE:e}"
    )]
    Coordinate(f64),
    /// A polygon of more corners than there is a unique way to split.
    #[error(
        "a face has {0} corners; triangles and quadrangles are read, so triangulate the surface before saving it"
    )]
    Polygon(u64),
    /// A quadrangle that no diagonal cuts into two triangles.
    #[error(
        "the sides of this quadrangle cross each other; give its corners in their order around it"
    )]
    Crossed,
    /// More vertices or triangles than 32-bit indices can number.
    #[error("there are more {0} than 32-bit indices can number")]
    TooMany(&'static str),
    /// Nothing to solve on.
    #[error("the file has no triangles or quadrangles")]
    NoTriangles,
    /// Whatever one format alone can have wrong, in words, with what to do.
    #[error("{0}")]
    Other(String),
}

impl Cause {
    /// Something else than `expected`.
    pub fn expected(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Expected { expected: expected.into(), found: found.into() }
    }

    /// The error of this cause on a line of an ASCII file.
    pub fn on_line(self, line: usize) -> FormatError {
        FormatError { place: Place::Line(line), cause: self }
    }

    /// The error of this cause at a byte of a binary file.
    pub(crate) fn at_byte(self, byte: usize) -> FormatError {
        FormatError { place: Place::Byte(byte), cause: self }
    }
}

/// Adds the file's name to an error in its content.
pub fn in_file(path: &Path) -> impl Fn(FormatError) -> Error {
    let path: PathBuf = path.to_path_buf();
    move |source| Error::Format { path: path.clone(), source }
}
