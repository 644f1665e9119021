//! Files of triangles in any of the formats that are read, chosen by the ending of the name.
//!
//! Each format has a module; [`read`] is the door to all of them. Whatever the bytes, a reader
//! gives a valid mesh or an error that names the line (the byte, in binary files), what was
//! expected there and what was found.

mod assemble;
mod error;
mod format;
pub(crate) mod lines;
mod msms;
mod off;
mod ply;
mod reading;
mod stl;

pub use error::{Cause, Error, FormatError, in_file};
pub use format::Format;

pub use msms::parse as parse_msms;

pub use assemble::Assembly;
pub use lines::{Line, Lines, parse_real};
pub use reading::Reading;

use crate::io::gmsh;
use crate::repair::stitch::stitch;
use crate::surface::Mesh;
use crate::vector::{Vector, add};
use crate::wording::counted;
use std::path::Path;

/// Reads a surface from a file of any [`Format`].
///
/// # Errors
/// [`Error`], with the file's name, the place in it, what is wrong and what to do.
pub fn read(path: &Path) -> Result<(Mesh, Reading), Error> {
    read_by(path, &load)
}

/// As [`read`], where `load` gives the bytes of this file and of those that belong to it.
///
/// # Errors
/// [`Error`], those of `load` among them.
pub fn read_by(
    path: &Path,
    load: &dyn Fn(&Path) -> Result<Vec<u8>, Error>,
) -> Result<(Mesh, Reading), Error> {
    let format = Format::of(path).ok_or_else(|| unknown(path))?;
    let (mut mesh, mut reading) = match format {
        Format::Gmsh => {
            let (mesh, report) = gmsh::parse(&load(path)?)
                .map_err(|source| Error::Gmsh { path: path.to_path_buf(), source })?;
            let format = format!("MSH {}, {}", report.version, report.encoding);
            (
                mesh,
                Reading { format, elements: report.elements, notes: report.notes, normals: None },
            )
        }
        Format::Msms => msms::read(path, load)?,
        Format::Off => off::parse(&load(path)?).map_err(in_file(path))?,
        Format::Ply => ply::parse(&load(path)?).map_err(in_file(path))?,
        // Equal points are joined already.
        Format::Stl => return stl::parse(&load(path)?).map_err(in_file(path)),
    };
    let before = mesh.vertices.len();
    let separate = reading.normals.is_some().then(|| mesh.triangles.clone());
    let edges = stitch(&mut mesh);
    if edges > 0 {
        if let (Some(normals), Some(separate)) = (&mut reading.normals, separate) {
            *normals = stitched(normals, &separate, &mesh);
        }
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

/// The normals of a mesh whose triangles were `separate` before it was stitched. Where several
/// vertices became one it is their mean, which is too short to be used where they disagree.
fn stitched(normals: &[Vector], separate: &[[u32; 3]], mesh: &Mesh) -> Vec<Vector> {
    let mut means = vec![([0.0; 3], 0.0); mesh.vertices.len()];
    let mut is_counted = vec![false; normals.len()];
    for (&old, &new) in separate.iter().flatten().zip(mesh.triangles.iter().flatten()) {
        if !std::mem::replace(&mut is_counted[old as usize], true) {
            let (sum, count) = &mut means[new as usize];
            (*sum, *count) = (add(*sum, normals[old as usize]), *count + 1.0);
        }
    }
    means.into_iter().map(|(sum, count)| sum.map(|x| x / f64::max(count, 1.0))).collect()
}

/// Reads the content of a file in a format of one file, whatever its name; `None` for one of
/// several files.
pub fn parse(format: Format, bytes: &[u8]) -> Option<Result<(Mesh, Reading), FormatError>> {
    match format {
        Format::Off => Some(off::parse(bytes)),
        Format::Ply => Some(ply::parse(bytes)),
        Format::Stl => Some(stl::parse(bytes)),
        Format::Gmsh | Format::Msms => None,
    }
}

fn unknown(path: &Path) -> Error {
    let found = match path.extension() {
        Some(ending) => format!("\".{}\" is none that is known", ending.to_string_lossy()),
        None => "this name has none".to_owned(),
    };
    Error::Unknown { path: path.to_path_buf(), found }
}

/// The bytes of a file. A device or a pipe is refused, since it might have no end.
///
/// # Errors
/// [`Error::Io`] and [`Error::NotAFile`].
pub fn load(path: &Path) -> Result<Vec<u8>, Error> {
    let refused = |source| Error::Io { path: path.to_path_buf(), source };
    let kind = std::fs::metadata(path).map_err(refused)?.file_type();
    if !kind.is_file() {
        let what = if kind.is_dir() { "a folder" } else { "a device or a pipe" };
        return Err(Error::NotAFile { path: path.to_path_buf(), what });
    }
    std::fs::read(path).map_err(refused)
}
