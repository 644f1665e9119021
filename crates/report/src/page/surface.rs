//! Surfaces as `report::vtk` writes them, read back: `surface.vtu`, or the pieces that
//! `surface.pvtu` names.
//!
//! The files are this program's own, with each array on a line; anything else is refused with the
//! reason. Arrays are decoded one at a time, so that what is kept of many excitations is the
//! caller's choice.

use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::ZlibDecoder;

use crate::files;
use crate::surface_files::{SURFACE, SURFACE_INDEX};

/// Triangles of the surface, curved ones cut into flat ones.
#[derive(Clone, Debug, Default)]
pub struct Surface {
    pub vertices: Vec<[f64; 3]>,
    pub triangles: Vec<[u32; 3]>,
    /// For each triangle the cell of the files that it is a part of.
    pub cell: Vec<u32>,
    /// For each cell, the number of the body, -1 for none.
    pub body: Vec<i32>,
    /// For each cell, in square metres.
    pub area: Vec<f64>,
    /// The names of the cells' other arrays.
    pub arrays: Vec<String>,
    /// The files, and each one's first cell.
    files: Vec<(PathBuf, usize)>,
}

/// What a line of a file says of its array.
#[derive(Clone, Debug)]
struct Head {
    /// The element that it is in, such as "CellData".
    section: String,
    name: String,
    kind: String,
}

fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

impl Surface {
    /// The surface of a folder of results; `None` where they have none.
    pub fn open(folder: &Path) -> io::Result<Option<Self>> {
        let whole = folder.join(SURFACE);
        let index = folder.join(SURFACE_INDEX);
        let files = if index.is_file() {
            pieces(&index)?.into_iter().map(|name| folder.join(name)).collect()
        } else if whole.is_file() {
            vec![whole]
        } else {
            return Ok(None);
        };
        let mut surface = Self::default();
        for file in files {
            surface.add(file)?;
        }
        Ok(Some(surface))
    }

    /// Adds the triangles of a file.
    fn add(&mut self, file: PathBuf) -> io::Result<()> {
        let [mut points, mut nodes, mut ends, mut body, mut conductor, mut area] =
            [const { Vec::new() }; 6];
        let mut arrays = Vec::new();
        let known = ["body id", "conductor id", "area [m^2]"];
        let wanted = |head: &Head| head.section != "CellData" || known.contains(&&*head.name);
        read(&file, wanted, |head, values| {
            match (&*head.section, &*head.name, values) {
                ("Points", _, Some(values)) => points = values,
                ("Cells", "connectivity", Some(values)) => nodes = values,
                ("Cells", "offsets", Some(values)) => ends = values,
                ("CellData", "body id", Some(values)) => body = values,
                ("CellData", "conductor id", Some(values)) => conductor = values,
                ("CellData", "area [m^2]", Some(values)) => area = values,
                ("CellData", name, None) => arrays.push(name.to_owned()),
                _ => {}
            }
            Ok(())
        })?;
        let cells = ends.len();
        let body = if body.is_empty() { conductor } else { body };
        if body.len() != cells || area.len() != cells || points.len() % 3 != 0 {
            return Err(wrong("arrays of different lengths"));
        }
        self.files.push((file, self.body.len()));
        if cells == 0 {
            return Ok(());
        }
        let first = self.vertices.len();
        self.vertices.extend(points.chunks_exact(3).map(|p| [p[0], p[1], p[2]]));
        if !points.iter().all(|x| x.is_finite()) || u32::try_from(self.vertices.len()).is_err() {
            return Err(wrong("coordinates that are no numbers"));
        }
        let each = nodes.len() / cells;
        let order = (1..=4).find(|p| (p + 1) * (p + 2) / 2 == each && each * cells == nodes.len());
        let parts = parts(order.ok_or_else(|| wrong("cells that are no triangles"))?);
        let count = points.len() / 3;
        for (cell, nodes) in nodes.chunks_exact(each).enumerate() {
            if nodes.iter().any(|&node| !(0.0..count as f64).contains(&node)) {
                return Err(wrong("a triangle with a node that is not there"));
            }
            for part in &parts {
                self.triangles.push(part.map(|k| (first + nodes[k] as usize) as u32));
                self.cell.push((self.body.len() + cell) as u32);
            }
        }
        self.body.extend(body.iter().map(|&id| id as i32));
        self.area.extend(area);
        if self.arrays.is_empty() {
            self.arrays = arrays;
        }
        Ok(())
    }

    /// Calls `each` with the values of the arrays that are named, piece by piece: the place in
    /// `names`, the first cell, the values from there on.
    pub fn read(
        &self,
        names: &[&str],
        mut each: impl FnMut(usize, usize, &[f64]),
    ) -> io::Result<()> {
        for (index, (file, first)) in self.files.iter().enumerate() {
            let next = self.files.get(index + 1).map_or(self.body.len(), |(_, first)| *first);
            let place = |head: &Head| {
                let is_cell = head.section == "CellData";
                names.iter().position(|name| is_cell && *name == head.name)
            };
            read(
                file,
                |head| place(head).is_some(),
                |head, values| {
                    if let (Some(place), Some(values)) = (place(head), values) {
                        if values.len() != next - first {
                            return Err(wrong("an array of another length"));
                        }
                        each(place, *first, &values);
                    }
                    Ok(())
                },
            )?;
        }
        Ok(())
    }
}

/// The flat triangles that a triangle of an order is cut into, by the numbers of its nodes: those
/// of Gmsh, corners first, then the inner ones of each side, then a smaller triangle inside.
pub fn parts(order: usize) -> Vec<[usize; 3]> {
    /// Numbers the lattice points (i, j) of a triangle that begins at (at, at).
    fn number(of: &mut [Vec<usize>], at: usize, order: usize, next: &mut usize) {
        let mut give = |i: usize, j: usize| {
            of[at + i][at + j] = *next;
            *next += 1;
        };
        give(0, 0);
        if order == 0 {
            return;
        }
        give(order, 0);
        give(0, order);
        (1..order).for_each(|k| give(k, 0));
        (1..order).for_each(|k| give(order - k, k));
        (1..order).for_each(|k| give(0, order - k));
        if order >= 3 {
            number(of, at + 1, order - 3, next);
        }
    }
    let mut of = vec![vec![0; order + 1]; order + 1];
    number(&mut of, 0, order, &mut 0);
    let mut parts = Vec::new();
    for i in 0..order {
        for j in 0..order - i {
            parts.push([of[i][j], of[i + 1][j], of[i][j + 1]]);
            if i + j + 1 < order {
                parts.push([of[i + 1][j], of[i + 1][j + 1], of[i][j + 1]]);
            }
        }
    }
    parts
}

/// The files that an index names, which lie next to it.
fn pieces(index: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for line in BufReader::new(files::open_itself(index)?).lines() {
        let line = line?;
        if line.starts_with("<Piece ") {
            let name = attribute(&line, "Source").ok_or_else(|| wrong("a piece without a file"))?;
            if Path::new(&name).file_name() != Some(name.as_ref()) {
                return Err(wrong("a piece in another folder"));
            }
            names.push(name);
        }
    }
    Ok(names)
}

/// Calls `each` with the head of every array of a file, and its numbers if it is wanted.
fn read(
    file: &Path,
    wanted: impl Fn(&Head) -> bool,
    mut each: impl FnMut(&Head, Option<Vec<f64>>) -> io::Result<()>,
) -> io::Result<()> {
    let mut lines = BufReader::with_capacity(1 << 16, files::open_itself(file)?);
    let mut line = Vec::new();
    let (mut section, mut compressed) = (String::new(), false);
    let mut ended = false;
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let Some(end) = line.iter().position(|&c| c == b'>') else { continue };
        let tag = std::str::from_utf8(&line[..end]).map_err(|_| wrong("no text"))?;
        if tag.starts_with("<VTKFile") {
            compressed = attribute(tag, "compressor").is_some();
            if attribute(tag, "header_type").as_deref() != Some("UInt64") {
                return Err(wrong("a form of VTK's files that farad does not write"));
            }
        } else if tag.starts_with("</VTKFile") {
            ended = true;
        } else if tag.starts_with("<DataArray") {
            let [name, kind] = ["Name", "type"].map(|of| attribute(tag, of).unwrap_or_default());
            let head = Head { section: section.clone(), name, kind };
            let values = if wanted(&head) {
                let text = &line[end + 1..];
                let length = text.iter().position(|&c| c == b'<').unwrap_or(text.len());
                let bytes = decoded(&text[..length], compressed)?;
                Some(numbers(&head.kind, &bytes)?)
            } else {
                None
            };
            each(&head, values)?;
        } else if let Some(name) = tag.strip_prefix('<')
            && !name.starts_with(['/', '?'])
        {
            section = name.split(' ').next().unwrap_or_default().to_owned();
        }
    }
    if ended { Ok(()) } else { Err(wrong("the file is cut short")) }
}

/// An attribute of an element.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    let value = &tag[start..start + tag[start..].find('"')?];
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#9;", "\t"), ("&#10;", "\n")];
    let plain = marks.iter().fold(value.to_owned(), |text, (mark, c)| text.replace(mark, c));
    Some(plain.replace("&#13;", "\r").replace("&amp;", "&"))
}

/// The bytes of an array, as `vtk::Array` packs them.
fn decoded(text: &[u8], compressed: bool) -> io::Result<Vec<u8>> {
    let bad = |error: base64::DecodeError| wrong(error.to_string());
    let whole = |bytes: &[u8], at: usize| -> io::Result<usize> {
        let bytes = bytes.get(8 * at..8 * at + 8).and_then(|bytes| bytes.try_into().ok());
        let value = u64::from_le_bytes(bytes.ok_or_else(|| wrong("an array cut short"))?);
        usize::try_from(value).map_err(io::Error::other)
    };
    if !compressed {
        let bytes = BASE64_STANDARD.decode(text).map_err(bad)?;
        let length = whole(&bytes, 0)?;
        let content = bytes.get(8..).filter(|content| content.len() == length);
        return content.map(<[u8]>::to_vec).ok_or_else(|| wrong("an array cut short"));
    }
    // How many blocks there are is in the first 8 bytes of the header, which has at least 24.
    let start = text.get(..12).ok_or_else(|| wrong("an array without a header"))?;
    let blocks = whole(&BASE64_STANDARD.decode(start).map_err(bad)?, 0)?;
    let letters = blocks.checked_add(3).and_then(|n| n.checked_mul(8)).map(|n| n.div_ceil(3) * 4);
    let letters =
        letters.filter(|&n| n <= text.len()).ok_or_else(|| wrong("an array cut short"))?;
    let header = BASE64_STANDARD.decode(&text[..letters]).map_err(bad)?;
    let packed = BASE64_STANDARD.decode(&text[letters..]).map_err(bad)?;
    let (mut bytes, mut at) = (Vec::new(), 0usize);
    for block in 0..blocks {
        let end = at.saturating_add(whole(&header, 3 + block)?);
        let content = packed.get(at..end).ok_or_else(|| wrong("an array cut short"))?;
        ZlibDecoder::new(content).read_to_end(&mut bytes)?;
        at = end;
    }
    Ok(bytes)
}

/// Numbers of one of the types that surfaces have.
fn numbers(kind: &str, bytes: &[u8]) -> io::Result<Vec<f64>> {
    fn each<const N: usize>(bytes: &[u8], of: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        bytes.chunks_exact(N).filter_map(|c| c.try_into().ok()).map(of).collect()
    }
    Ok(match kind {
        "Float64" => each(bytes, f64::from_le_bytes),
        "UInt32" => each(bytes, |b| f64::from(u32::from_le_bytes(b))),
        "Int32" => each(bytes, |b| f64::from(i32::from_le_bytes(b))),
        "Int64" => each(bytes, |b| i64::from_le_bytes(b) as f64),
        "UInt8" => bytes.iter().map(|&b| f64::from(b)).collect(),
        other => return Err(wrong(format!("numbers of type {other}"))),
    })
}
