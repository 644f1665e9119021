//! The formats that surfaces are read from, by the endings of names.

use std::fmt;
use std::path::Path;

/// A format that surfaces are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Gmsh's MSH, version 2.2 or 4.1.
    Gmsh,
    /// The two files that MSMS writes, vertices and faces.
    Msms,
    /// Object file format of Geomview.
    Off,
    /// Polygon file format of Stanford.
    Ply,
    /// Stereolithography.
    Stl,
}

impl Format {
    /// All, with the endings that choose them.
    const ENDINGS: [(&'static str, Self); 6] = [
        ("msh", Self::Gmsh),
        ("vert", Self::Msms),
        ("face", Self::Msms),
        ("off", Self::Off),
        ("ply", Self::Ply),
        ("stl", Self::Stl),
    ];

    /// The format that the name of a file asks for.
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        Self::ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, format)| *format)
    }

    /// The endings, for messages.
    pub(super) fn list() -> String {
        Self::ENDINGS.map(|(ending, _)| format!(".{ending}")).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gmsh => "Gmsh",
            Self::Msms => "MSMS",
            Self::Off => "OFF",
            Self::Ply => "PLY",
            Self::Stl => "STL",
        })
    }
}
