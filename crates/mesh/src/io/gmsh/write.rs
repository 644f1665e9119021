//! The writer of MSH 4.1.

use super::kinds::PATCHES;
use super::report::Encoding;
use crate::geometry::quality;
use crate::io::numbering::Numbering;
use crate::surface::Mesh;
use std::io::{self, Write};

/// Gmsh's number of the 3-node triangle.
const TRIANGLE: i32 = 2;

/// Writes a valid mesh as MSH 4.1; reading it gives the same mesh, save for groups and vertices
/// that no triangle uses.
///
/// Each set of physical groups becomes a surface entity. Many small writes are made: give a
/// buffered sink.
///
/// # Errors
/// `InvalidInput` if the mesh is not valid, or a group has a name or a tag that the format cannot
/// hold; else those of the sink.
pub fn write(mesh: &Mesh, encoding: Encoding, sink: &mut impl Write) -> io::Result<()> {
    mesh.validate().map_err(|invalid| unwritable(invalid.to_string()))?;
    let numbered = Numbering::of(mesh);
    let mut out = Output { encoding, sink };
    out.header()?;
    out.names(mesh)?;
    out.entities(mesh)?;
    out.nodes(mesh, &numbered)?;
    out.elements(mesh, &numbered)?;
    out.sink.flush()
}

fn unwritable(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

/// The surface entity of a set of groups.
fn entity(set: u32) -> io::Result<i32> {
    i32::try_from(i64::from(set) + 1)
        .map_err(|_| unwritable("the mesh has too many sets of physical groups".into()))
}

struct Output<'a, W> {
    encoding: Encoding,
    sink: &'a mut W,
}

impl<W: Write> Output<'_, W> {
    fn header(&mut self) -> io::Result<()> {
        let file_type = i32::from(self.encoding != Encoding::Ascii);
        writeln!(self.sink, "$MeshFormat\n4.1 {file_type} 8")?;
        if file_type == 1 {
            self.int(1)?;
            writeln!(self.sink)?;
        }
        writeln!(self.sink, "$EndMeshFormat")
    }

    fn names(&mut self, mesh: &Mesh) -> io::Result<()> {
        let named: Vec<(i64, &str)> = mesh
            .groups
            .iter()
            .filter_map(|group| group.name.as_deref().map(|name| (group.tag, name)))
            .collect();
        if named.is_empty() {
            return Ok(());
        }
        writeln!(self.sink, "$PhysicalNames\n{}", named.len())?;
        for (tag, name) in named {
            if name.contains(['\n', '\r']) {
                return Err(unwritable(format!("the group name {name:?} has a line break")));
            }
            writeln!(self.sink, "2 {tag} \"{name}\"")?;
        }
        writeln!(self.sink, "$EndPhysicalNames")
    }

    fn entities(&mut self, mesh: &Mesh) -> io::Result<()> {
        let mut used = vec![false; mesh.memberships.len()];
        for &set in &mesh.membership {
            used[set as usize] = true;
        }
        let count = used.iter().filter(|used| **used).count();
        self.open("$Entities")?;
        for number in [0, 0, count as u64, 0] {
            self.size(number)?;
        }
        self.end()?;
        let [low, high] = quality::bounding_box(mesh);
        for (set, groups) in (0..).zip(&mesh.memberships).filter(|(set, _)| used[*set as usize]) {
            self.int(entity(set)?)?;
            // The whole mesh's box serves every part of it: Gmsh works out its own.
            for bound in low.iter().chain(&high) {
                self.real(*bound)?;
            }
            self.size(groups.len() as u64)?;
            for &group in groups {
                let tag = mesh.groups[group as usize].tag;
                self.int(i32::try_from(tag).ok().filter(|tag| *tag > 0).ok_or_else(|| {
                    unwritable(format!(
                        "the physical tag {tag} is not positive or has over 31 bits"
                    ))
                })?)?;
            }
            self.size(0)?;
            self.end()?;
        }
        self.close("$EndEntities")
    }

    fn nodes(&mut self, mesh: &Mesh, numbered: &Numbering) -> io::Result<()> {
        let count = (mesh.vertices.len() + numbered.nodes.len()) as u64;
        self.open("$Nodes")?;
        let blocks = u64::from(count > 0);
        for number in [blocks, count, blocks, count] {
            self.size(number)?;
        }
        self.end()?;
        if count > 0 {
            // One block keeps the vertices in order; which entity it is on matters only to
            // geometry, which there is none.
            for number in [2, entity(mesh.membership.first().copied().unwrap_or(0))?, 0] {
                self.int(number)?;
            }
            self.size(count)?;
            self.end()?;
        }
        for tag in 1..=count {
            self.size(tag)?;
            self.end()?;
        }
        for vertex in mesh.vertices.iter().chain(&numbered.nodes) {
            for &coordinate in vertex {
                self.real(coordinate)?;
            }
            self.end()?;
        }
        self.close("$EndNodes")
    }

    fn elements(&mut self, mesh: &Mesh, numbered: &Numbering) -> io::Result<()> {
        let curved = PATCHES.iter().find(|(_, order)| *order == mesh.order());
        let kind = curved.map_or(TRIANGLE, |(number, _)| i32::from(*number));
        let count = mesh.triangles.len() as u64;
        // A block for each run of triangles in the same groups, so that their order is kept.
        let runs = || mesh.membership.chunk_by(|a, b| a == b);
        self.open("$Elements")?;
        for number in [runs().count() as u64, count, u64::from(count > 0), count] {
            self.size(number)?;
        }
        self.end()?;
        let mut triangles = (1u64..).zip(&mesh.triangles);
        for run in runs() {
            for number in [2, entity(run[0])?, kind] {
                self.int(number)?;
            }
            self.size(run.len() as u64)?;
            self.end()?;
            for (tag, corners) in triangles.by_ref().take(run.len()) {
                self.size(tag)?;
                for &vertex in corners {
                    self.size(u64::from(vertex) + 1)?;
                }
                for &node in numbered.of_triangle(tag as usize - 1) {
                    self.size(u64::from(node) + 1)?;
                }
                self.end()?;
            }
        }
        self.close("$EndElements")
    }

    fn open(&mut self, section: &str) -> io::Result<()> {
        writeln!(self.sink, "{section}")
    }

    fn close(&mut self, section: &str) -> io::Result<()> {
        // Binary data ends without a line break.
        if self.encoding != Encoding::Ascii {
            writeln!(self.sink)?;
        }
        writeln!(self.sink, "{section}")
    }

    fn int(&mut self, value: i32) -> io::Result<()> {
        match self.encoding {
            Encoding::Ascii => write!(self.sink, "{value} "),
            Encoding::LittleEndian => self.sink.write_all(&value.to_le_bytes()),
            Encoding::BigEndian => self.sink.write_all(&value.to_be_bytes()),
        }
    }

    fn size(&mut self, value: u64) -> io::Result<()> {
        match self.encoding {
            Encoding::Ascii => write!(self.sink, "{value} "),
            Encoding::LittleEndian => self.sink.write_all(&value.to_le_bytes()),
            Encoding::BigEndian => self.sink.write_all(&value.to_be_bytes()),
        }
    }

    fn real(&mut self, value: f64) -> io::Result<()> {
        match self.encoding {
            // Both forms are the shortest that give the same number when read.
            Encoding::Ascii if value == 0.0 || (1e-4..1e15).contains(&value.abs()) => {
                write!(self.sink, "{value} ")
            }
            Encoding::Ascii => write!(self.sink, "{value:e} "),
            Encoding::LittleEndian => self.sink.write_all(&value.to_le_bytes()),
            Encoding::BigEndian => self.sink.write_all(&value.to_be_bytes()),
        }
    }

    /// Ends a record.
    fn end(&mut self) -> io::Result<()> {
        if self.encoding == Encoding::Ascii { writeln!(self.sink) } else { Ok(()) }
    }
}
