//! VTK's XML formats for unstructured grids, whole or in pieces, and for images.
//!
//! Inline base64 with 64-bit headers is what ParaView, pyvista and meshio all read, compressed with
//! zlib or not; other modes of the format are not used. Arrays are compressed block by block, many
//! at a time.
//!
//! The crate `vtkio` (0.7.0-rc2) reads such files in the tests and has the types of numbers and
//! cells. Its writer is not used: it compresses on one thread and turns indices into 64-bit
//! numbers, which for 300,000 triangles on two cores takes 1.9 s against 0.26 s (without
//! compression 0.23 s and 21 % more bytes against 0.04 s), it counts a block too many where an
//! array fills its last one, and origin and spacing of images are single precision. Its model of
//! XML, which could take arrays that are encoded here, has private fields.

use std::fmt::Write as _;
use std::io::{self, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytemuck::Pod;
use flate2::{Compress, Compression, FlushCompress, Status};
use mesh::Mesh;
use mesh::numbering::Numbering;
use parallel::prelude::*;

/// zlib's fastest: for coordinates half the time of the middle levels, and one byte in a hundred
/// more.
const COMPRESSION_LEVEL: u32 = 1;

/// Bytes that are compressed together, a multiple of every number's size: VTK's own choice, which
/// all readers take.
pub const BLOCK: usize = 1 << 15;

/// Bytes that are turned into base64 together: in whole threes, which nothing separates.
const THREES: usize = 3 << 16;

/// VTK's kinds of cells, by its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CellType {
    Vertex = 1,
    PolyLine = 4,
    Triangle = 5,
    QuadraticTriangle = 22,
    LagrangeTriangle = 69,
}

/// VTK's quadratic and Lagrange triangles. Both have their nodes in the order of Gmsh's.
const CURVED: [CellType; 2] = [CellType::QuadraticTriangle, CellType::LagrangeTriangle];

/// Triangles with data on them.
#[derive(Debug)]
pub struct SurfaceGrid {
    /// All nodes: vertices, then those of curved triangles that are no corners.
    pub nodes: Vec<[f64; 3]>,
    /// For each triangle the numbers of its nodes.
    pub connectivity: Vec<u32>,
    triangles: usize,
    kind: CellType,
    /// Arrays of one value per triangle.
    data: Vec<Array>,
}

impl SurfaceGrid {
    /// Some triangles of a mesh.
    pub fn of(
        mesh: &Mesh,
        triangles: impl ExactSizeIterator<Item = usize>,
        data: Vec<Array>,
    ) -> Self {
        let numbering = Numbering::of(mesh);
        let mut nodes = mesh.vertices.clone();
        nodes.extend(&numbering.nodes);
        let kind = match mesh.order() {
            1 => CellType::Triangle,
            2 => CURVED[0],
            _ => CURVED[1],
        };
        let count = triangles.len();
        let mut connectivity = Vec::with_capacity(3 * count);
        for t in triangles {
            connectivity.extend(mesh.triangles[t]);
            connectivity.extend(numbering.of_triangle(t));
        }
        Self { nodes, connectivity, triangles: count, kind, data }
    }

    /// Removes nodes that none of its triangles has.
    pub fn compact(mut self) -> Self {
        let mut numbers = vec![u32::MAX; self.nodes.len()];
        self.connectivity.iter().for_each(|&node| numbers[node as usize] = 0);
        let used = numbers.iter_mut().filter(|number| **number == 0);
        used.zip(0..).for_each(|(number, next)| *number = next);
        let mut number = numbers.iter();
        self.nodes.retain(|_| number.next().is_some_and(|number| *number != u32::MAX));
        self.connectivity.iter_mut().for_each(|node| *node = numbers[*node as usize]);
        self
    }
}

/// Values on a grid of points along the axes, x fastest.
#[derive(Debug)]
pub struct Image {
    /// The point with the lowest coordinates.
    pub low: [f64; 3],
    /// From each point to the next, along each axis.
    pub spacing: [f64; 3],
    /// Points along each axis.
    pub counts: [usize; 3],
    /// Arrays over the points.
    pub data: Vec<Array>,
}

/// A named array of one number or several per element.
#[derive(Debug)]
pub struct Array {
    name: String,
    components: usize,
    /// What VTK calls the type of its numbers.
    kind: &'static str,
    /// Numbers, least significant byte first, and of how many bytes each is.
    bytes: Vec<u8>,
    size: usize,
    /// Whether viewers show it first.
    first: bool,
}

/// A number that VTK has a type for.
pub trait Number: Pod {
    /// What VTK calls the type.
    const KIND: &'static str;
}

macro_rules! numbers {
    ($($number:ty: $kind:literal),*) => {
        $(impl Number for $number {
            const KIND: &'static str = $kind;
        })*
    };
}
numbers!(u8: "UInt8", u32: "UInt32", u64: "UInt64", i32: "Int32", i64: "Int64", f64: "Float64");

/// One named array of one value per element.
pub fn array<T: Number>(name: impl Into<String>, values: impl AsRef<[T]>) -> Array {
    let (name, size) = (name.into(), size_of::<T>());
    let bytes = bytes(values.as_ref());
    Array { name, components: 1, kind: T::KIND, bytes, size, first: false }
}

/// One named array of vectors, three numbers each.
pub fn vectors<T: Number>(name: impl Into<String>, values: impl AsRef<[T]>) -> Array {
    Array { components: 3, ..array(name, values) }
}

fn bytes<T: Number>(values: &[T]) -> Vec<u8> {
    let mut bytes = bytemuck::cast_slice(values).to_vec();
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(size_of::<T>()).for_each(<[u8]>::reverse);
    }
    bytes
}

impl Array {
    /// The same array as the one that viewers show first.
    pub fn first(self) -> Self {
        Self { first: true, ..self }
    }

    /// Name, type and components, as attributes of an XML element.
    fn attributes(&self) -> String {
        let mut text = format!(r#"type="{}" Name="{}""#, self.kind, escaped(&self.name));
        // meshio takes one component that is named for a dimension more.
        if self.components > 1 {
            let _ = write!(text, r#" NumberOfComponents="{}""#, self.components);
        }
        text
    }

    /// The array as an XML element.
    fn write(&self, out: &mut impl Write, compressed: bool) -> io::Result<()> {
        write!(out, r#"<DataArray {} format="binary">"#, self.attributes())?;
        let content = if compressed { self.compressed()? } else { self.plain() };
        content.iter().try_for_each(|part| out.write_all(part.as_bytes()))?;
        writeln!(out, "</DataArray>")
    }

    /// The number of bytes and the bytes, in base64, in parts.
    fn plain(&self) -> Vec<String> {
        let mut all = bytes(&[self.bytes.len() as u64]);
        all.extend(&self.bytes);
        base64(&all)
    }

    /// How many blocks, the bytes of one, those of the last if it is shorter, and those of each
    /// compressed, in base64; then the blocks, in base64, in parts.
    ///
    /// # Errors
    /// Errors of zlib.
    pub fn compressed(&self) -> io::Result<Vec<String>> {
        // One compressor for many blocks: it has ten times the memory of a block.
        let compressor = || Compress::new(Compression::new(COMPRESSION_LEVEL), true);
        let blocks = self.bytes.par_chunks(BLOCK).map_init(compressor, compressed_block);
        let blocks: Vec<Vec<u8>> = blocks.collect::<io::Result<_>>()?;
        let mut header = vec![blocks.len(), BLOCK, self.bytes.len() % BLOCK];
        header.extend(blocks.iter().map(Vec::len));
        let header: Vec<u64> = header.into_iter().map(|n| n as u64).collect();
        let mut parts = vec![BASE64_STANDARD.encode(bytes(&header))];
        parts.extend(base64(&blocks.concat()));
        Ok(parts)
    }
}

/// One block by zlib.
fn compressed_block(compressor: &mut Compress, mut block: &[u8]) -> io::Result<Vec<u8>> {
    compressor.reset();
    let mut out = Vec::with_capacity(block.len());
    loop {
        let before = compressor.total_in();
        let status = compressor.compress_vec(block, &mut out, FlushCompress::Finish)?;
        if status == Status::StreamEnd {
            return Ok(out);
        }
        block = &block[(compressor.total_in() - before) as usize..];
        // What cannot be compressed gets longer by a little.
        out.reserve(BLOCK);
    }
}

fn base64(bytes: &[u8]) -> Vec<String> {
    bytes.par_chunks(THREES).map(|part| BASE64_STANDARD.encode(part)).collect()
}

/// Text as the value of an attribute.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#{};", c as u32);
            }
            // XML has no way to write these.
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Writes a .vti file.
///
/// # Errors
/// Errors of writing to `out`.
pub fn write_image(out: &mut impl Write, image: &Image, compressed: bool) -> io::Result<()> {
    let [x, y, z] = image.low;
    // One point in a direction has no distance to the next.
    let [dx, dy, dz] = image.spacing.map(|d| if d > 0.0 { d } else { 1.0 });
    let [nx, ny, nz] = image.counts.map(|count| count.saturating_sub(1));
    let extent = format!("0 {nx} 0 {ny} 0 {nz}");
    begin(out, "ImageData", compressed)?;
    writeln!(
        out,
        r#"<ImageData WholeExtent="{extent}" Origin="{x:?} {y:?} {z:?}" Spacing="{dx:?} {dy:?} {dz:?}">"#
    )?;
    writeln!(out, r#"<Piece Extent="{extent}">"#)?;
    group(out, "PointData", &image.data, compressed)?;
    writeln!(out, "</Piece>\n</ImageData>\n</VTKFile>")
}

/// Writes a .vtu file.
///
/// # Errors
/// Errors of writing to `out`.
pub fn write(out: &mut impl Write, surface: SurfaceGrid, compressed: bool) -> io::Result<()> {
    let SurfaceGrid { nodes, connectivity, triangles, kind, data } = surface;
    let each = connectivity.len().checked_div(triangles).unwrap_or(0);
    let ends = (1..=triangles).map(|n| each * n);
    // meshio subtracts 64-bit numbers from the offsets of Lagrange cells.
    let ends = match kind {
        CellType::LagrangeTriangle => {
            array("offsets", ends.map(|end| end as i64).collect::<Vec<_>>())
        }
        _ => array("offsets", ends.map(|end| end as u32).collect::<Vec<_>>()),
    };
    let cells =
        [array("connectivity", connectivity), ends, array("types", vec![kind as u8; triangles])];
    grid(out, &nodes, &cells, [&[], &data], compressed)
}

/// Writes a .pvtu file: a surface whose triangles are in several .vtu files, with the arrays that
/// each of them has. Their values here are not used.
///
/// # Errors
/// Errors of writing to `out`.
pub fn write_pieces(
    out: &mut impl Write,
    data: &[Array],
    files: impl IntoIterator<Item = String>,
) -> io::Result<()> {
    begin(out, "PUnstructuredGrid", false)?;
    writeln!(out, r#"<PUnstructuredGrid GhostLevel="0">"#)?;
    declare(out, "PPointData", &[])?;
    declare(out, "PCellData", data)?;
    declare(out, "PPoints", &[vectors("Points", Vec::<f64>::new())])?;
    for file in files {
        writeln!(out, r#"<Piece Source="{}"/>"#, escaped(&file))?;
    }
    writeln!(out, "</PUnstructuredGrid>\n</VTKFile>")
}

/// Writes a .pvd file: steps of a series, each with its time, its file and a name.
///
/// # Errors
/// Errors of writing to `out`.
pub fn write_series(
    out: &mut impl Write,
    steps: impl IntoIterator<Item = (f64, String, String)>,
) -> io::Result<()> {
    begin(out, "Collection", false)?;
    writeln!(out, "<Collection>")?;
    for (time, file, name) in steps {
        let (file, name) = (escaped(&file), escaped(&name));
        writeln!(out, r#"<DataSet timestep="{time}" part="0" name="{name}" file="{file}"/>"#)?;
    }
    writeln!(out, "</Collection>\n</VTKFile>")
}

/// Arrays that pieces have inside an XML element.
fn declare(out: &mut impl Write, element: &str, arrays: &[Array]) -> io::Result<()> {
    open(out, element, arrays)?;
    for array in arrays {
        writeln!(out, "<PDataArray {}/>", array.attributes())?;
    }
    writeln!(out, "</{element}>")
}

/// Writes a .vtu file of points with data on them, as one line or as single points.
///
/// # Errors
/// Errors of writing to `out`.
pub fn write_points(
    out: &mut impl Write,
    places: &[[f64; 3]],
    as_line: bool,
    data: &[Array],
    compressed: bool,
) -> io::Result<()> {
    let count = places.len() as u32;
    let (ends, kind) = match as_line {
        true => (vec![count], CellType::PolyLine),
        false => ((1..=count).collect(), CellType::Vertex),
    };
    let cells = [
        array("connectivity", (0..count).collect::<Vec<_>>()),
        array("types", vec![kind as u8; ends.len()]),
        array("offsets", ends),
    ];
    grid(out, places, &cells, [data, &[]], compressed)
}

/// An unstructured grid with data on points and on cells.
fn grid(
    out: &mut impl Write,
    vertices: &[[f64; 3]],
    cells: &[Array; 3],
    [on_points, on_cells]: [&[Array]; 2],
    compressed: bool,
) -> io::Result<()> {
    let points = vectors("Points", vertices.as_flattened());
    begin(out, "UnstructuredGrid", compressed)?;
    let types = cells.iter().find(|array| array.name == "types");
    let (points_count, cells_count) =
        (vertices.len(), types.map_or(0, |types| types.bytes.len() / types.size));
    writeln!(
        out,
        "<UnstructuredGrid>\n<Piece NumberOfPoints=\"{points_count}\" NumberOfCells=\"{cells_count}\">"
    )?;
    group(out, "PointData", on_points, compressed)?;
    group(out, "CellData", on_cells, compressed)?;
    group(out, "Points", &[points], compressed)?;
    group(out, "Cells", cells, compressed)?;
    writeln!(out, "</Piece>\n</UnstructuredGrid>\n</VTKFile>")
}

fn begin(out: &mut impl Write, kind: &str, compressed: bool) -> io::Result<()> {
    let compressor = if compressed { r#" compressor="vtkZLibDataCompressor""# } else { "" };
    writeln!(
        out,
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"{kind}\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\"{compressor}>"
    )
}

/// Arrays inside an XML element.
fn group(
    out: &mut impl Write,
    element: &str,
    arrays: &[Array],
    compressed: bool,
) -> io::Result<()> {
    open(out, element, arrays)?;
    arrays.iter().try_for_each(|array| array.write(out, compressed))?;
    writeln!(out, "</{element}>")
}

/// The start of an XML element of arrays.
fn open(out: &mut impl Write, element: &str, arrays: &[Array]) -> io::Result<()> {
    match arrays.iter().find(|array| array.first) {
        Some(array) => writeln!(out, r#"<{element} Scalars="{}">"#, escaped(&array.name)),
        None => writeln!(out, "<{element}>"),
    }
}
