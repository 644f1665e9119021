//! A reader's report on its file.

use std::fmt;

/// How numbers are stored in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// As text.
    #[default]
    Ascii,
    /// As bytes, least significant first.
    LittleEndian,
    /// As bytes, most significant first.
    BigEndian,
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ascii => "ASCII",
            Self::LittleEndian => "binary",
            Self::BigEndian => "binary, big-endian",
        })
    }
}

/// Counts of the file's content, and changes that made a triangle surface of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadReport {
    /// The format's version as the file gives it, such as `4.1`.
    pub version: String,
    /// ASCII or binary.
    pub encoding: Encoding,
    /// Elements of each kind in the file, in Gmsh's order of types, such as ("6-node triangle",
    /// 120).
    pub elements: Vec<(String, usize)>,
    /// Vertices in the file.
    pub vertices: usize,
    /// Quadrangles of higher order in the file, and triangles of more than order 4 or without inner
    /// nodes that they should have, of which only the corners were kept.
    pub flattened: usize,
    /// Quadrangles that were split into two triangles.
    pub split_quadrangles: usize,
    /// Elements that merely repeated another one for one more physical group, as version 2.2 does.
    pub repeated_for_groups: usize,
    /// Surface elements left out, because they only separate partitions of a volume.
    pub interfaces: usize,
    /// Elements turned over, because their physical groups take their surface with a negative sign.
    pub reversed: usize,
    /// Vertices that no triangle uses, left out of the mesh.
    pub dropped_vertices: usize,
    /// Sentences for people about whatever in the above is not routine.
    pub notes: Vec<String>,
}
