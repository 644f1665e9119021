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
use flate2::Compression;
use flate2::write::ZlibEncoder;
use mesh::Mesh;
use mesh::numbering::Numbering;
use parallel::prelude::*;

/// zlib's usual middle between size and time.
const COMPRESSION_LEVEL: u32 = 5;

/// Bytes that are compressed together, a multiple of every number's size: VTK's own choice, which
/// all readers take.
const BLOCK: usize = 1 << 15;

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
pub(crate) struct SurfaceGrid {
    /// All nodes: vertices, then those of curved triangles that are no corners.
    nodes: Vec<[f64; 3]>,
    /// For each triangle the numbers of its nodes.
    connectivity: Vec<u32>,
    triangles: usize,
    kind: CellType,
    /// Arrays of one value per triangle.
    data: Vec<Array>,
}

impl SurfaceGrid {
    /// Some triangles of a mesh.
    pub(crate) fn of(
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

    /// The same without nodes that none of its triangles has.
    pub(crate) fn compact(mut self) -> Self {
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
pub(crate) struct Image {
    pub(crate) low: [f64; 3],
    pub(crate) spacing: [f64; 3],
    pub(crate) counts: [usize; 3],
    /// Arrays over the points.
    pub(crate) data: Vec<Array>,
}

/// A named array of one number or several per element.
#[derive(Debug)]
pub(crate) struct Array {
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
pub(crate) trait Number: Pod {
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
pub(crate) fn array<T: Number>(name: impl Into<String>, values: impl AsRef<[T]>) -> Array {
    let (name, size) = (name.into(), size_of::<T>());
    let bytes = bytes(values.as_ref());
    Array { name, components: 1, kind: T::KIND, bytes, size, first: false }
}

/// One named array of vectors, three numbers each.
pub(crate) fn vectors<T: Number>(name: impl Into<String>, values: impl AsRef<[T]>) -> Array {
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
    pub(crate) fn first(self) -> Self {
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
        out.write_all(content.as_bytes())?;
        writeln!(out, "</DataArray>")
    }

    /// The number of bytes and the bytes, in base64.
    fn plain(&self) -> String {
        let mut all = bytes(&[self.bytes.len() as u64]);
        all.extend(&self.bytes);
        BASE64_STANDARD.encode(all)
    }

    /// How many blocks, the bytes of one, those of the last if it is shorter, and those of each
    /// compressed, in base64; then the blocks, in base64.
    fn compressed(&self) -> io::Result<String> {
        let block = |bytes: &[u8]| -> io::Result<Vec<u8>> {
            let level = Compression::new(COMPRESSION_LEVEL);
            let mut encoder = ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(bytes)?;
            encoder.finish()
        };
        let blocks: Vec<Vec<u8>> =
            self.bytes.par_chunks(BLOCK).map(block).collect::<io::Result<_>>()?;
        let mut header = vec![blocks.len(), BLOCK, self.bytes.len() % BLOCK];
        header.extend(blocks.iter().map(Vec::len));
        let header: Vec<u64> = header.into_iter().map(|n| n as u64).collect();
        let mut text = BASE64_STANDARD.encode(bytes(&header));
        BASE64_STANDARD.encode_string(blocks.concat(), &mut text);
        Ok(text)
    }
}

/// Text as the value of an attribute.
fn escaped(text: &str) -> String {
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
pub(crate) fn write_image(out: &mut impl Write, image: &Image, compressed: bool) -> io::Result<()> {
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
pub(crate) fn write(
    out: &mut impl Write,
    surface: SurfaceGrid,
    compressed: bool,
) -> io::Result<()> {
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
pub(crate) fn write_pieces(
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
pub(crate) fn write_series(
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
pub(crate) fn write_points(
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

#[cfg(test)]
mod tests {
    use vtkio::Vtk;
    use vtkio::model::{Attribute, CellType, DataSet, IOBuffer, Piece, VertexNumbers};

    use super::*;

    fn read(xml: &[u8]) -> DataSet {
        Vtk::parse_xml(xml).unwrap().data
    }

    fn only<P>(mut pieces: Vec<Piece<P>>) -> P {
        match (pieces.pop(), pieces.len()) {
            (Some(Piece::Inline(piece)), 0) => *piece,
            _ => panic!("not one piece"),
        }
    }

    fn named(arrays: &[Attribute], name: &str) -> IOBuffer {
        let of = |array: &Attribute| match array {
            Attribute::DataArray(array) if array.name == name => Some(array.data.clone()),
            _ => None,
        };
        arrays.iter().find_map(of).unwrap()
    }

    /// By a reader of others.
    #[test]
    fn surfaces_read_back() {
        for triangles in [1, 5, 5000, 9001] {
            let vertices: Vec<[f64; 3]> =
                (0..triangles + 2).map(|i| [i as f64, 0.1 * i as f64, -1e-300]).collect();
            let corners: Vec<[u32; 3]> = (0..triangles as u32).map(|i| [i, i + 1, i + 2]).collect();
            let charge: Vec<f64> = (0..triangles).map(|i| (i as f64).sin()).collect();
            let ids: Vec<i32> = (0..triangles as i32).map(|i| i % 3 - 1).collect();
            let name = "a <b> & \"c\"";
            for compressed in [false, true] {
                let data = vec![array(name, charge.clone()), array("id", ids.clone())];
                let mesh = Mesh {
                    vertices: vertices.clone(),
                    triangles: corners.clone(),
                    ..Mesh::default()
                };
                let surface = SurfaceGrid::of(&mesh, 0..triangles, data);
                let mut out = Vec::new();
                write(&mut out, surface, compressed).unwrap();
                let DataSet::UnstructuredGrid { pieces, .. } = read(&out) else { panic!() };
                let piece = only(pieces);
                assert_eq!(piece.points.into_vec::<f64>().unwrap(), vertices.as_flattened());
                let VertexNumbers::XML { connectivity, offsets } = piece.cells.cell_verts else {
                    panic!()
                };
                assert!(
                    connectivity
                        .iter()
                        .zip(corners.as_flattened())
                        .all(|(a, b)| *a == u64::from(*b))
                );
                assert_eq!(connectivity.len(), 3 * triangles);
                assert!(offsets.iter().enumerate().all(|(i, end)| *end == 3 * (i as u64 + 1)));
                assert_eq!(offsets.len(), triangles);
                assert_eq!(piece.cells.types, vec![CellType::Triangle; triangles]);
                assert_eq!(named(&piece.data.cell, name).into_vec::<f64>().unwrap(), charge);
                assert_eq!(named(&piece.data.cell, "id").into_vec::<i32>().unwrap(), ids);
            }
        }
    }

    #[test]
    fn curved_triangles_read_back() {
        use mesh::generate::{Resolution, Sphere, SphereBase};
        let (base, resolution) = (SphereBase::Icosahedron, Resolution::Elements(20));
        for (order, kind, nodes) in [(2, 22, 12 + 30), (3, 69, 12 + 60 + 20), (4, 69, 12 + 90 + 60)]
        {
            let mesh = Sphere { radius: 1.0, base, resolution }.build_curved(order).unwrap();
            let surface = SurfaceGrid::of(&mesh, [3, 5].into_iter(), vec![array("a", vec![1, 2])]);
            let mut out = Vec::new();
            write(&mut out, surface, false).unwrap();
            let DataSet::UnstructuredGrid { pieces, .. } = read(&out) else { panic!() };
            let piece = only(pieces);
            let points = piece.points.into_vec::<f64>().unwrap();
            assert_eq!(points.len(), 3 * nodes);
            let VertexNumbers::XML { connectivity, offsets } = piece.cells.cell_verts else {
                panic!()
            };
            assert_eq!(piece.cells.types.iter().map(|t| *t as u8).collect::<Vec<_>>(), [kind; 2]);
            let each = (order + 1) * (order + 2) / 2;
            assert_eq!(offsets, [each as u64, 2 * each as u64]);
            let found: Vec<f64> =
                connectivity.iter().flat_map(|&v| points[3 * v as usize..][..3].to_vec()).collect();
            let patches = mesh.patches.as_ref().unwrap();
            assert_eq!(found, [patches.of(3), patches.of(5)].concat().as_flattened());
        }
    }

    /// Pieces have their own nodes alone, whatever the order of triangles, and one may be empty.
    #[test]
    fn pieces_read_back() {
        use mesh::generate::{Resolution, Sphere, SphereBase};
        let (base, resolution) = (SphereBase::Icosahedron, Resolution::Elements(80));
        for (order, nodes) in [(1, [6, 3, 0]), (2, [15, 6, 0]), (3, [28, 10, 0])] {
            let mesh = Sphere { radius: 1.0, base, resolution }.build_curved(order).unwrap();
            // Four parts of one facet; one triangle; none.
            for (chosen, expected) in [vec![3, 0, 2, 1], vec![7], vec![]].into_iter().zip(nodes) {
                let count = chosen.len();
                let all = SurfaceGrid::of(&mesh, chosen.into_iter(), Vec::new());
                let places = |grid: &SurfaceGrid| {
                    grid.connectivity.iter().map(|&v| grid.nodes[v as usize]).collect::<Vec<_>>()
                };
                let expected_places = places(&all);
                let piece = all.compact();
                assert_eq!((piece.nodes.len(), places(&piece)), (expected, expected_places));
                // vtkio takes no compressed arrays without numbers; VTK does.
                let mut out = Vec::new();
                write(&mut out, piece, count > 0).unwrap();
                let DataSet::UnstructuredGrid { pieces, .. } = read(&out) else { panic!() };
                let piece = only(pieces);
                assert_eq!(piece.cells.types.len(), count);
                assert_eq!(piece.points.into_vec::<f64>().unwrap().len(), 3 * expected);
            }
        }
    }

    #[test]
    fn an_index_of_pieces_declares_arrays_and_files() {
        let data = [array("a & b", vec![1_i32]), array("q", Vec::<f64>::new()).first()];
        let mut out = Vec::new();
        write_pieces(&mut out, &data, ["s_0.vtu", "s_1.vtu"].map(str::to_owned)).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                r#"<PUnstructuredGrid GhostLevel="0">"#,
                "<PPointData>",
                "</PPointData>",
                r#"<PCellData Scalars="q">"#,
                r#"<PDataArray type="Int32" Name="a &amp; b"/>"#,
                r#"<PDataArray type="Float64" Name="q"/>"#,
                "</PCellData>",
                "<PPoints>",
                r#"<PDataArray type="Float64" Name="Points" NumberOfComponents="3"/>"#,
                "</PPoints>",
                r#"<Piece Source="s_0.vtu"/>"#,
                r#"<Piece Source="s_1.vtu"/>"#,
                "</PUnstructuredGrid>",
                "</VTKFile>",
            ]
        );
    }

    #[test]
    fn lines_and_points_read_back() {
        let places = [[0.0, 0.5, 1.0], [1.0, 0.5, 1.0], [2.0, 0.25, 1.0]];
        for (as_line, kinds) in
            [(true, vec![CellType::PolyLine]), (false, vec![CellType::Vertex; 3])]
        {
            let data = [vectors("E", vec![0.5; 9]), array("phi", vec![1.0, 2.0, 3.0]).first()];
            let mut out = Vec::new();
            write_points(&mut out, &places, as_line, &data, false).unwrap();
            let text = String::from_utf8(out.clone()).unwrap();
            assert!(text.contains(r#"<PointData Scalars="phi">"#), "{text}");
            let DataSet::UnstructuredGrid { pieces, .. } = read(&out) else { panic!() };
            let piece = only(pieces);
            assert_eq!(piece.cells.types, kinds);
            let VertexNumbers::XML { connectivity, offsets } = piece.cells.cell_verts else {
                panic!()
            };
            assert_eq!(connectivity, [0, 1, 2]);
            assert_eq!(offsets, if as_line { vec![3] } else { vec![1, 2, 3] });
            assert_eq!(named(&piece.data.point, "phi").into_vec::<f64>().unwrap(), [1.0, 2.0, 3.0]);
        }
    }

    #[test]
    fn images_read_back() {
        let field: Vec<f64> = (0..36).map(f64::from).collect();
        for compressed in [false, true] {
            let image = Image {
                low: [-0.5, 0.25, 2.0],
                spacing: [0.5, 0.125, 0.0],
                counts: [4, 3, 1],
                data: vec![array("phi", &field[..12]), vectors("E", field.clone())],
            };
            let mut out = Vec::new();
            write_image(&mut out, &image, compressed).unwrap();
            let DataSet::ImageData { origin, spacing, pieces, .. } = read(&out) else { panic!() };
            assert_eq!((origin, spacing), ([-0.5, 0.25, 2.0], [0.5, 0.125, 1.0]));
            let piece = only(pieces);
            assert_eq!(named(&piece.data.point, "phi").into_vec::<f64>().unwrap(), field[..12]);
            assert_eq!(named(&piece.data.point, "E").into_vec::<f64>().unwrap(), field);
        }
    }

    /// As in VTK, the header does not mark a last block that is whole; an array without numbers has
    /// no blocks.
    #[test]
    fn headers_count_blocks_and_bytes() {
        for (count, expected) in
            [(0, [0, BLOCK, 0]), (2 * BLOCK, [2, BLOCK, 0]), (BLOCK + 3, [2, BLOCK, 3])]
        {
            let text = array("types", vec![5u8; count]).compressed().unwrap();
            let length = (8 * (3 + expected[0])).div_ceil(3) * 4;
            let header = BASE64_STANDARD.decode(&text[..length]).unwrap();
            let numbers: Vec<usize> = header
                .as_chunks::<8>()
                .0
                .iter()
                .map(|bytes| u64::from_le_bytes(*bytes) as usize)
                .collect();
            assert_eq!(numbers[..3], expected);
            let blocks = BASE64_STANDARD.decode(&text[length..]).unwrap();
            assert_eq!(numbers[3..].iter().sum::<usize>(), blocks.len());
        }
    }

    #[test]
    fn names_are_escaped() {
        assert_eq!(escaped("a<b>&\"c\n\u{1}µ"), "a&lt;b&gt;&amp;&quot;c&#10;\u{fffd}µ");
        assert_eq!(escaped("\u{fffe}\u{ffff}x"), "\u{fffd}\u{fffd}x");
    }
}
