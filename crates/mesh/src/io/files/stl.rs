//! STL, the triangles of stereolithography, as text or as bytes.
//!
//! Triangles come one by one with their corners' coordinates, most often in single precision;
//! corners that are the same but for rounding are made one vertex. The normals in the file are
//! ignored: the order of the corners defines the outside. Several solids of a text file become as
//! many groups.

use super::assemble::Assembly;
use super::error::{Cause, FormatError};
use super::lines::{Line, Lines};
use super::reading::Reading;
use crate::io::gmsh::{Encoding, Place};
use crate::surface::{Mesh, usable};

/// Corners closer than this times the diagonal of the bounding box are one vertex: a few units in
/// the last place of the single precision, or of the six digits, that such files have.
pub const WELD: f64 = 1e-6;

/// Bytes before the first triangle of a binary file, and of each triangle.
const HEADER: usize = 84;
const RECORD: usize = 50;

/// Reads the content of a file.
pub(super) fn parse(bytes: &[u8]) -> Result<(Mesh, Reading), FormatError> {
    let mut assembly = Assembly::default();
    let (encoding, end) = if is_text(bytes) {
        (Encoding::Ascii, Place::Line(text(bytes, &mut assembly)?))
    } else {
        binary(bytes, &mut assembly)?;
        (Encoding::LittleEndian, Place::Byte(bytes.len()))
    };
    assembly.weld(WELD);
    assembly.finish("STL", encoding).map_err(|cause| FormatError { place: end, cause })
}

/// Whether a file is text: it begins with "solid" and its length is not that of a binary file of as
/// many triangles as it says (some binary files begin with "solid" too).
fn is_text(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    start.len() >= 5
        && start[..5].eq_ignore_ascii_case(b"solid")
        && claimed(bytes).is_none_or(|count| length(count) != bytes.len() as u64)
}

/// The number of triangles that a binary file says it has.
fn claimed(bytes: &[u8]) -> Option<u32> {
    bytes.get(HEADER - 4..)?.first_chunk().map(|count| u32::from_le_bytes(*count))
}

fn length(triangles: u32) -> u64 {
    HEADER as u64 + RECORD as u64 * u64::from(triangles)
}

fn binary(bytes: &[u8], assembly: &mut Assembly) -> Result<(), FormatError> {
    let Some(count) = claimed(bytes) else {
        let message = "this is no STL file: it neither begins with \"solid\" nor has the 84 bytes that binary files begin with";
        return Err(Cause::Other(message.into()).at_byte(0));
    };
    let records = &bytes[HEADER..];
    let room = (records.len() / RECORD) as u64;
    if u64::from(count) > room {
        let cause = Cause::Count { what: "triangles", claimed: u64::from(count), room };
        return Err(cause.at_byte(HEADER - 4));
    }
    if length(count) != bytes.len() as u64 {
        let end = length(count) as usize;
        let found = format!("{} more bytes", bytes.len() - end);
        let expected = format!("the end of the file after {count} triangles");
        return Err(Cause::expected(expected, found).at_byte(end));
    }
    for (record, place) in records.chunks_exact(RECORD).zip((HEADER..).step_by(RECORD)) {
        let mut corners = [0; 3];
        for (corner, start) in corners.iter_mut().zip([12, 24, 36]) {
            let mut point = [0.0; 3];
            for (i, value) in point.iter_mut().enumerate() {
                let at = start + 4 * i;
                let bytes = record[at..].first_chunk().copied().unwrap_or_default();
                *value = f64::from(f32::from_le_bytes(bytes));
                if !usable(*value) {
                    return Err(Cause::Coordinate(*value).at_byte(place + at));
                }
            }
            *corner = assembly.vertex(point).map_err(|cause| cause.at_byte(place))?;
        }
        assembly.face(&corners).map_err(|cause| cause.at_byte(place))?;
    }
    Ok(())
}

/// Reads a text file; the number of its lines.
fn text(bytes: &[u8], assembly: &mut Assembly) -> Result<usize, FormatError> {
    let mut lines = Lines::new(bytes);
    let several = has_several_solids(bytes);
    while let Some(mut line) = lines.next_content(b"", false) {
        keyword(&mut line, "solid")?;
        if several {
            let name = line.text();
            assembly.group(if name.is_empty() { "solid" } else { &name });
        }
        loop {
            let mut line = lines.must(b"", false, "facet or endsolid")?;
            let mut ahead = line;
            if ahead.word().is_some_and(|word| word.eq_ignore_ascii_case(b"endsolid")) {
                break;
            }
            keyword(&mut line, "facet")?;
            keyword(&mut lines.must(b"", false, "outer loop")?, "outer")?;
            let mut corners = [0; 3];
            for corner in &mut corners {
                let mut line = lines.must(b"", false, "a vertex")?;
                keyword(&mut line, "vertex")?;
                let point = line.point("a coordinate")?;
                line.end()?;
                *corner = assembly.vertex(point).map_err(|p| p.on_line(line.number()))?;
            }
            keyword(&mut lines.must(b"", false, "endloop")?, "endloop")?;
            keyword(&mut lines.must(b"", false, "endfacet")?, "endfacet")?;
            assembly.face(&corners).map_err(|cause| cause.on_line(lines.number()))?;
        }
    }
    Ok(lines.number())
}

/// Whether solids begin in more than one place.
fn has_several_solids(bytes: &[u8]) -> bool {
    let mut lines = Lines::new(bytes);
    let begins = |line: Line<'_>| {
        let mut line = line;
        line.word().is_some_and(|word| word.eq_ignore_ascii_case(b"solid"))
    };
    std::iter::from_fn(|| lines.next_line()).filter(|line| begins(*line)).nth(1).is_some()
}

fn keyword(line: &mut Line<'_>, expected: &str) -> Result<(), FormatError> {
    match line.word() {
        Some(word) if word.eq_ignore_ascii_case(expected.as_bytes()) => Ok(()),
        word => Err(line.unexpected(expected, word)),
    }
}
