//! VTK's XML formats for unstructured grids and for images.
//!
//! Inline base64 with 64-bit headers is what ParaView, pyvista and meshio all read, compressed with zlib or not; other
//! modes of the writer are not used.

use std::io::{self, Write};

use vtkio::model::{
    Attribute, Attributes, ByteOrder, CellType, Cells, DataSet, Extent, IOBuffer, ImageDataPiece,
    Piece, UnstructuredGridPiece, Version, VertexNumbers, Vtk,
};
use vtkio::xml::Compressor;

/// zlib's usual middle between size and time.
const COMPRESSION_LEVEL: u32 = 5;

/// Triangles with data on them.
#[derive(Debug)]
pub(crate) struct Surface<'a> {
    pub(crate) vertices: &'a [[f64; 3]],
    pub(crate) triangles: &'a [[u32; 3]],
    /// Arrays of one value a triangle.
    pub(crate) data: Vec<Attribute>,
}

/// One named array of one value a triangle.
pub(crate) fn array(name: impl Into<String>, values: impl Into<IOBuffer>) -> Attribute {
    Attribute::generic(name, 1).with_data(values)
}

/// One named array of vectors, three numbers each.
pub(crate) fn vectors(name: impl Into<String>, values: Vec<f64>) -> Attribute {
    Attribute::generic(name, 3).with_data(values)
}

/// Values on a grid of points along the axes, x fastest.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) low: [f64; 3],
    pub(crate) spacing: [f64; 3],
    pub(crate) counts: [usize; 3],
    /// Arrays over the points.
    pub(crate) data: Vec<Attribute>,
}

/// Writes a .vti file. Its format has places in single precision.
pub(crate) fn write_image(out: &mut impl Write, image: Image, compressed: bool) -> io::Result<()> {
    let extent = Extent::Ranges(image.counts.map(|count| 0..=count as i32 - 1));
    let piece = ImageDataPiece {
        extent: extent.clone(),
        data: Attributes { point: image.data, cell: Vec::new() },
    };
    let data = DataSet::ImageData {
        extent,
        origin: image.low.map(|x| x as f32),
        // One point in a direction has no distance to the next.
        spacing: image.spacing.map(|d| if d > 0.0 { d as f32 } else { 1.0 }),
        meta: None,
        pieces: vec![Piece::Inline(Box::new(piece))],
    };
    write_xml(out, data, compressed)
}

/// Writes a .vtu file.
pub(crate) fn write(
    out: &mut impl Write,
    surface: Surface<'_>,
    compressed: bool,
) -> io::Result<()> {
    let Surface { vertices, triangles, data } = surface;
    let piece = UnstructuredGridPiece {
        points: vertices.as_flattened().to_vec().into(),
        cells: Cells {
            cell_verts: VertexNumbers::XML {
                connectivity: triangles.as_flattened().iter().map(|&v| v.into()).collect(),
                offsets: (1..=triangles.len() as u64).map(|n| 3 * n).collect(),
            },
            types: vec![CellType::Triangle; triangles.len()],
        },
        data: Attributes { point: Vec::new(), cell: data },
    };
    write_xml(out, DataSet::inline(piece), compressed)
}

fn write_xml(out: &mut impl Write, data: DataSet, compressed: bool) -> io::Result<()> {
    let vtk = Vtk {
        version: Version::new_xml(1, 0),
        title: String::new(),
        byte_order: ByteOrder::LittleEndian,
        data,
        file_path: None,
    };
    let (compressor, level) =
        if compressed { (Compressor::ZLib, COMPRESSION_LEVEL) } else { (Compressor::None, 0) };
    vtk.try_into_xml_format(compressor, level)
        .and_then(|file| file.write(out))
        .map_err(io::Error::other)
}
