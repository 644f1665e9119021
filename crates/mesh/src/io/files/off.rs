//! OFF, the ASCII object file format of Geomview: a count of vertices, faces and edges, then one
//! vertex or face a line.
//!
//! The format is described in the Geomview manual, section "OFF Files". Normals, colours and
//! texture coordinates after a point or a face are skipped.

use super::assemble::Assembly;
use super::error::{Cause, FormatError};
use super::lines::{Line, Lines};
use super::reading::Reading;
use crate::io::gmsh::Encoding;
use crate::surface::Mesh;

const COMMENT: &[u8] = b"#";

/// Reads the content of a file.
pub(super) fn parse(bytes: &[u8]) -> Result<(Mesh, Reading), FormatError> {
    let mut lines = Lines::new(bytes);
    let mut line = lines.must(COMMENT, true, "the counts of vertices, faces and edges")?;
    let mut counts = line;
    if let Some(word) = counts.word().filter(|word| !word.iter().all(u8::is_ascii_digit)) {
        check_keyword(&line, word)?;
        line = counts;
        if line.bytes() == b"BINARY" {
            let advice = "binary OFF is not read; save the file as ASCII OFF, or as PLY";
            return Err(Cause::Other(advice.into()).on_line(line.number()));
        }
        if line.is_empty() {
            line = lines.must(COMMENT, true, "the counts of vertices, faces and edges")?;
        }
    }
    let vertices = line.size("the number of vertices")?;
    let faces = line.size("the number of faces")?;
    let vertices = lines.room(line.number(), "vertices", vertices, 3)?;
    let mut assembly = Assembly::default();
    assembly.vertices.reserve(vertices);
    for _ in 0..vertices {
        let mut line = lines.must(COMMENT, true, "a vertex")?;
        let point = line.point("a coordinate")?;
        assembly.vertex(point).map_err(|cause| cause.on_line(line.number()))?;
    }
    let faces = lines.room(line.number(), "faces", faces, 1)?;
    let mut corners = Vec::new();
    for _ in 0..faces {
        let mut line = lines.must(COMMENT, true, "a face")?;
        let count = line.size("the number of a face's corners")?;
        if count > 4 {
            return Err(Cause::Polygon(count).on_line(line.number()));
        }
        corners.clear();
        for _ in 0..count {
            corners.push(line.vertex(vertices, 0)?);
        }
        assembly.face(&corners).map_err(|cause| cause.on_line(line.number()))?;
    }
    if let Some(line) = lines.next_content(COMMENT, true) {
        return Err(line.unexpected("the end of the file after the last face", Some(line.bytes())));
    }
    let end = lines.number().max(1);
    assembly.finish("OFF", Encoding::Ascii).map_err(|cause| cause.on_line(end))
}

/// The keyword: OFF, with letters before it for what vertices have besides a point.
fn check_keyword(line: &Line<'_>, word: &[u8]) -> Result<(), FormatError> {
    let prefix = word.strip_suffix(b"OFF");
    match prefix {
        Some(prefix) if prefix.iter().all(|letter| b"STCN".contains(letter)) => Ok(()),
        Some(_) => {
            let message =
                "points of four or more coordinates are not read; save the surface with three";
            Err(Cause::Other(message.into()).on_line(line.number()))
        }
        None => Err(line.unexpected("OFF, the first word of the format", Some(word))),
    }
}
