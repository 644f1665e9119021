//! Files of triangles in any of the formats that are read, chosen by the ending of the name.
//!
//! Each format has a module; [`read`] is the door to all of them. Whatever the bytes, a reader gives a valid mesh or an error
//! that names the line (the byte, in binary files), what was expected there and what was found.

mod assemble;
mod error;
mod lines;
mod msms;
mod off;
mod ply;
mod stl;

pub use error::{Error, FormatError, Problem};

pub use msms::parse as parse_msms;

pub(crate) use assemble::Assembly;
pub(crate) use lines::{Line, Lines, parse_real};

use crate::fastcap;
use crate::gmsh::{self, Encoding};
use crate::stitch::stitch;
use crate::surface::Mesh;
use crate::wording::counted;
use std::fmt;
use std::path::{Path, PathBuf};

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
    /// FastCap's lists of surfaces, and its panels.
    FastCap,
}

impl Format {
    /// All, with the endings that choose them.
    const ENDINGS: [(&'static str, Self); 9] = [
        ("msh", Self::Gmsh),
        ("vert", Self::Msms),
        ("face", Self::Msms),
        ("off", Self::Off),
        ("ply", Self::Ply),
        ("stl", Self::Stl),
        ("lst", Self::FastCap),
        ("qui", Self::FastCap),
        ("neu", Self::FastCap),
    ];

    /// The format that the name of a file asks for.
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        Self::ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, format)| *format)
    }

    /// The endings, for messages.
    fn list() -> String {
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
            Self::FastCap => "FastCap",
        })
    }
}

/// What was read, and what was done to make a triangle surface of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Format, version and encoding, such as "MSH 4.1, binary".
    pub format: String,
    /// Kinds of elements in the file and how many of each, such as ("6-node triangle", 120).
    pub elements: Vec<(String, usize)>,
    /// Sentences for people about whatever is not routine.
    pub notes: Vec<String>,
}

impl Reading {
    /// The reading of a file of polygons.
    fn of_polygons(format: &str, encoding: Encoding, assembly: &Assembly, faces: usize) -> Self {
        let triangles = faces - assembly.split - assembly.skipped;
        let kinds = [
            ("triangle", triangles),
            ("quadrangle", assembly.split),
            ("line or point", assembly.skipped),
        ];
        let mut notes = Vec::new();
        if assembly.split > 0 {
            notes.push(note_split(assembly.split));
        }
        if assembly.skipped > 0 {
            let faces =
                ["face of less than three corners is", "faces of less than three corners are"];
            notes.push(counted(assembly.skipped, faces[0], faces[1]) + " left out");
        }
        Self {
            format: format!("{format}, {encoding}"),
            elements: kinds
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .map(|(kind, count)| (kind.to_owned(), count))
                .collect(),
            notes,
        }
    }
}

/// What is said of quadrangles, in every format.
pub(crate) fn note_split(quadrangles: usize) -> String {
    counted(
        quadrangles,
        "quadrangle is split along its shorter diagonal",
        "quadrangles are split along their shorter diagonals",
    )
}

/// Reads a surface from a file of any [`Format`].
///
/// # Errors
/// [`Error`], with the file's name, the place in it, what is wrong and what to do.
pub fn read(path: &Path) -> Result<(Mesh, Reading), Error> {
    let format = Format::of(path).ok_or_else(|| unknown(path))?;
    let (mut mesh, mut reading) = match format {
        Format::Gmsh => {
            let (mesh, report) = gmsh::parse(&load(path)?)
                .map_err(|source| Error::Gmsh { path: path.to_path_buf(), source })?;
            let format = format!("MSH {}, {}", report.version, report.encoding);
            (mesh, Reading { format, elements: report.elements, notes: report.notes })
        }
        Format::Msms => msms::read(path)?,
        Format::Off => off::parse(&load(path)?).map_err(in_file(path))?,
        Format::Ply => ply::parse(&load(path)?).map_err(in_file(path))?,
        // These two join equal points on their own.
        Format::Stl => return stl::parse(&load(path)?).map_err(in_file(path)),
        Format::FastCap => return fastcap::read(path).map(of_model),
    };
    let before = mesh.vertices.len();
    let edges = stitch(&mut mesh);
    if edges > 0 {
        reading.notes.push(format!(
            "{} joined with them: {} open there",
            counted(
                before - mesh.vertices.len(),
                "vertex that lies on others is",
                "vertices that lie on others are"
            ),
            counted(edges, "edge of the surface was", "edges of the surface were"),
        ));
    }
    Ok((mesh, reading))
}

/// The surface of a FastCap model, whose media are left to whoever asks for the model itself.
fn of_model(model: fastcap::Model) -> (Mesh, Reading) {
    let kinds = [("triangle", model.panels[0]), ("quadrangle", model.panels[1])];
    let elements = kinds.into_iter().filter(|(_, n)| *n > 0).map(|(k, n)| (k.to_owned(), n));
    let reading = Reading {
        format: "FastCap, ASCII".into(),
        elements: elements.collect(),
        notes: model.notes,
    };
    (model.mesh, reading)
}

/// Reads the content of a file in a format of one file, whatever its name; `None` for one of several files.
pub fn parse(format: Format, bytes: &[u8]) -> Option<Result<(Mesh, Reading), FormatError>> {
    match format {
        Format::Off => Some(off::parse(bytes)),
        Format::Ply => Some(ply::parse(bytes)),
        Format::Stl => Some(stl::parse(bytes)),
        Format::Gmsh | Format::Msms | Format::FastCap => None,
    }
}

fn unknown(path: &Path) -> Error {
    let found = match path.extension() {
        Some(ending) => format!("\".{}\" is none that is known", ending.to_string_lossy()),
        None => "this name has none".to_owned(),
    };
    Error::Unknown { path: path.to_path_buf(), found }
}

/// The bytes of a file; what is no file might have no end.
pub(crate) fn load(path: &Path) -> Result<Vec<u8>, Error> {
    let refused = |source| Error::Io { path: path.to_path_buf(), source };
    let kind = std::fs::metadata(path).map_err(refused)?.file_type();
    if !kind.is_file() {
        let what = if kind.is_dir() { "a folder" } else { "a device or a pipe" };
        return Err(Error::NotAFile { path: path.to_path_buf(), what });
    }
    std::fs::read(path).map_err(refused)
}

/// Puts the file's name to a fault.
pub(crate) fn in_file(path: &Path) -> impl Fn(FormatError) -> Error {
    let path: PathBuf = path.to_path_buf();
    move |source| Error::Format { path: path.clone(), source }
}
