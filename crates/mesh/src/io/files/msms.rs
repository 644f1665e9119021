//! The surfaces that MSMS writes: vertices in a .vert file, triangles in a .face file of the same
//! name.
//!
//! Both may begin with comments and a line of four numbers (vertices or faces, spheres, density,
//! probe radius), with the first of them alone, as NanoShaper writes it, or, as some programs keep
//! them, with the data itself. A vertex line holds a point, a normal and numbers of its face and
//! sphere; a face line holds three vertices, counted from 1, its kind and the number of the
//! analytical face. Of a vertex line without a normal the point counts alone. What follows is
//! skipped. Format: M. Sanner, MSMS manual, "output files".

use super::assemble::Assembly;
use super::error::{Cause, Error, FormatError, in_file};
use super::lines::{Line, Lines, parse_real};
use super::reading::Reading;
use crate::io::gmsh::{Encoding, Place};
use crate::surface::Mesh;
use std::path::Path;

const COMMENT: &[u8] = b"#";

/// Words of the line that gives counts, which no line of data has.
const HEADER_WORDS: [usize; 2] = [1, 4];

/// Reads the pair of files, given the name of either.
pub(super) fn read(
    path: &Path,
    load: &dyn Fn(&Path) -> Result<Vec<u8>, Error>,
) -> Result<(Mesh, Reading), Error> {
    let ending = path.extension().unwrap_or_default();
    let (vert, face) = if ending.eq_ignore_ascii_case("vert") {
        (path.to_path_buf(), partner(path, &[("vert", "face"), ("VERT", "FACE")]))
    } else {
        (partner(path, &[("face", "vert"), ("FACE", "VERT")]), path.to_path_buf())
    };
    for other in [&vert, &face] {
        if *other != path && !other.is_file() {
            return Err(Error::Missing {
                path: path.to_path_buf(),
                place: Place::Line(1),
                missing: other.clone(),
                why: "is not there; MSMS writes vertices and faces to two files of one name, which must lie together"
                    .into(),
            });
        }
    }
    let mut assembly = Assembly::default();
    read_vertices(&load(&vert)?, &mut assembly).map_err(in_file(&vert))?;
    read_faces(&load(&face)?, &mut assembly).map_err(in_file(&face))?;
    finish(assembly).map_err(in_file(&face))
}

/// Reads the content of both files.
///
/// # Errors
/// [`FormatError`], of either file.
pub fn parse(vert: &[u8], face: &[u8]) -> Result<(Mesh, Reading), FormatError> {
    let mut assembly = Assembly::default();
    read_vertices(vert, &mut assembly)?;
    read_faces(face, &mut assembly)?;
    finish(assembly)
}

/// The path with the ending that goes with its own.
fn partner(path: &Path, endings: &[(&str, &str)]) -> std::path::PathBuf {
    let own = path.extension().unwrap_or_default();
    let other = endings.iter().find(|(ending, _)| own == *ending).or(endings.first());
    path.with_extension(other.map_or("", |(_, other)| other))
}

fn finish(assembly: Assembly) -> Result<(Mesh, Reading), FormatError> {
    assembly.finish("MSMS", Encoding::Ascii).map_err(|cause| cause.on_line(1))
}

/// A number of records as the file announces it, and the line that does.
type Claim = Option<(u64, usize)>;

/// The line of counts, if there is one; else the first line of data, which has been taken from the
/// file with it.
fn header<'a>(
    lines: &mut Lines<'a>,
    what: &'static str,
) -> Result<(Claim, Option<Line<'a>>), FormatError> {
    match lines.next_content(COMMENT, false) {
        Some(mut line) if HEADER_WORDS.contains(&line.count()) => {
            let number = line.number();
            let claimed = line.size(&format!("the number of {what}"))?;
            Ok((Some((claimed, number)), None))
        }
        first => Ok((None, first)),
    }
}

/// Checks that as many records came as the header announced.
fn check(claim: Claim, what: &'static str, found: usize) -> Result<(), FormatError> {
    match claim {
        Some((claimed, line)) if claimed != found as u64 => {
            Err(Cause::Sum { what, claimed, found: found as u64 }.on_line(line))
        }
        _ => Ok(()),
    }
}

fn read_vertices(bytes: &[u8], assembly: &mut Assembly) -> Result<(), FormatError> {
    let mut lines = Lines::new(bytes);
    let (claim, mut pending) = header(&mut lines, "vertices")?;
    while let Some(mut line) = pending.take().or_else(|| lines.next_content(COMMENT, false)) {
        let point = line.point("a coordinate")?;
        assembly.vertex(point).map_err(|cause| cause.on_line(line.number()))?;
        if !line.is_empty() {
            let read = [0; 3].map(|_| line.word().and_then(parse_real));
            // One that cannot be read counts as none: the mesh does not need it.
            assembly.normal(if let [Some(x), Some(y), Some(z)] = read {
                [x, y, z]
            } else {
                [0.0; 3]
            });
        }
    }
    check(claim, "vertices", assembly.vertices.len())
}

fn read_faces(bytes: &[u8], assembly: &mut Assembly) -> Result<(), FormatError> {
    let mut lines = Lines::new(bytes);
    let (claim, mut pending) = header(&mut lines, "faces")?;
    let vertices = assembly.vertices.len();
    let mut faces = 0;
    while let Some(mut line) = pending.take().or_else(|| lines.next_content(COMMENT, false)) {
        let mut corners = [0; 3];
        for corner in &mut corners {
            *corner = line.vertex(vertices, 1)?;
        }
        assembly.face(&corners).map_err(|cause| cause.on_line(line.number()))?;
        faces += 1;
    }
    check(claim, "faces", faces)
}
