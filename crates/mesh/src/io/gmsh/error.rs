//! What can be wrong with a file, and where.

use crate::surface::MAX_COORDINATE;
use std::fmt;
use thiserror::Error;

/// A fault in the content of a mesh file, and its place.
#[derive(Clone, Debug, PartialEq, Error)]
pub struct FormatError {
    /// Line or byte.
    pub place: Place,
    /// The tag of the element or node in question.
    pub subject: Option<Subject>,
    /// The fault.
    pub cause: Cause,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        match self.subject {
            Some(Subject::Element(tag)) => write!(f, "element {tag}: ")?,
            Some(Subject::Node(tag)) => write!(f, "node {tag}: ")?,
            None => {}
        }
        write!(f, "{}", self.cause)
    }
}

/// Where in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of an ASCII file, from 1.
    Line(usize),
    /// A byte of a binary file, from 0.
    Byte(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

/// What an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// An element, by its tag.
    Element(u64),
    /// A node, by its tag.
    Node(u64),
}

/// The fault.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Cause {
    /// No `$MeshFormat` at the start.
    #[error("this is not a Gmsh mesh: it does not start with $MeshFormat")]
    NotGmsh,
    /// A version that is not read.
    #[error(
        "MSH version {0} is not read; convert the file with `gmsh FILE -save -format msh41 -o NEW.msh`, \
         or save it as version 2.2 or 4.1"
    )]
    Version(String),
    /// The line after `$MeshFormat` is not "version file-type data-size".
    #[error(
        "the line after $MeshFormat must be \"version file-type data-size\", such as \"4.1 0 8\""
    )]
    Header,
    /// A width of binary numbers that the version does not have.
    #[error(
        "the data size {0} is not supported; save the mesh again with a 64-bit Gmsh, or as ASCII"
    )]
    DataSize(u64),
    /// The binary number after the header is 1 in neither order of bytes.
    #[error(
        "the file calls itself binary, but the byte-order mark after the header is not 1; it may have been transferred as text"
    )]
    ByteOrder,
    /// The file ends inside a section.
    #[error("the file ends inside {0}; it is truncated, so save or copy it again")]
    Truncated(String),
    /// Something else where a number should be.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// A line goes on after its last number.
    #[error(
        "the line goes on with {0} where it should end; does a count or an element type disagree with the data?"
    )]
    TrailingText(String),
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
    /// The parts of a section do not add up to the number at its start.
    #[error("{section} announces {claimed} {what}, but its blocks hold {found}")]
    Sum {
        /// Which section.
        section: &'static str,
        /// Of what.
        what: &'static str,
        /// The number at the start.
        claimed: u64,
        /// The number found.
        found: u64,
    },
    /// A section comes twice.
    #[error("a second {0} section; the file must have one")]
    SecondSection(&'static str),
    /// Elements precede what they refer to.
    #[error("$Elements comes before {0}; a file must give nodes and entities first")]
    Order(&'static str),
    /// A coordinate that cannot be computed with.
    #[error(
        "the coordinate {0:?} is not usable; coordinates must be finite and below {MAX_COORDINATE:e}"
    )]
    Coordinate(f64),
    /// Two nodes of one number.
    #[error("the node tag {0} occurs a second time; tags must be unique")]
    RepeatedNode(u64),
    /// Two elements of one number.
    #[error("the element tag {0} occurs a second time; tags must be unique")]
    RepeatedElement(u64),
    /// An element uses a node that is not in `$Nodes`.
    #[error("node {0} is not in $Nodes")]
    UnknownNode(u64),
    /// An element type that Gmsh does not have.
    #[error("the element type {0} is not one of Gmsh's")]
    UnknownType(i64),
    /// A binary element without a fixed number of nodes.
    #[error(
        "a {0} has no fixed number of nodes and cannot be skipped in a binary file; save the mesh as ASCII or without it"
    )]
    VariableType(String),
    /// A surface that `$Entities` does not list.
    #[error("surface entity {0} is not in $Entities, so its physical groups are unknown")]
    UnknownEntity(i64),
    /// A tag that cannot be what it should.
    #[error("{what} must be {allowed}, not {value}")]
    Tag {
        /// Of what.
        what: &'static str,
        /// What it may be.
        allowed: &'static str,
        /// What it is.
        value: i64,
    },
    /// Two names for one physical group.
    #[error("physical group {tag} of dimension {dimension} has a second name, \"{name}\"")]
    SecondName {
        /// Dimension of the group.
        dimension: i64,
        /// Tag of the group.
        tag: i64,
        /// The second name.
        name: String,
    },
    /// A quadrangle that no diagonal cuts into two triangles, by a corner of it.
    #[error(
        "the sides of the quadrangle with a corner at ({}, {}, {}) cross each other; mesh the surface again, or give its nodes in their order \
         around it",
        .0[0], .0[1], .0[2]
    )]
    Crossed([f64; 3]),
    /// More vertices or triangles than 32-bit indices can number.
    #[error("there are more {0} than 32-bit indices can number")]
    TooMany(&'static str),
    /// Nothing to solve on.
    #[error(
        "the file has no triangles or quadrangles (it has {found}); mesh the surfaces (`gmsh -2`), and if there are physical \
         groups, make one of the surfaces, since Gmsh saves only what is in a group"
    )]
    NoTriangles {
        /// What there is, in words.
        found: String,
    },
}
