//! VTK's XML format for unstructured grids.
//!
//! Inline base64 with 64-bit headers is what ParaView, pyvista and meshio all read, compressed with zlib or not; other
//! modes of the writer are not used.

use std::io::{self, Write};

use vtkio::model::{
    Attribute, Attributes, ByteOrder, CellType, Cells, DataSet, IOBuffer, UnstructuredGridPiece,
    Version, VertexNumbers, Vtk,
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
    let vtk = Vtk {
        version: Version::new_xml(1, 0),
        title: String::new(),
        byte_order: ByteOrder::LittleEndian,
        data: DataSet::inline(piece),
        file_path: None,
    };
    let (compressor, level) =
        if compressed { (Compressor::ZLib, COMPRESSION_LEVEL) } else { (Compressor::None, 0) };
    vtk.try_into_xml_format(compressor, level)
        .and_then(|file| file.write(out))
        .map_err(io::Error::other)
}
