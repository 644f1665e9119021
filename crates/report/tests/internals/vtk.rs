use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mesh::Mesh;
use report::vtk::{
    BLOCK, Image, SurfaceGrid, array, escaped, vectors, write, write_image, write_pieces,
    write_points,
};
use vtkio::Vtk;
use vtkio::model::{Attribute, CellType, DataSet, IOBuffer, Piece, VertexNumbers};

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
            let mesh =
                Mesh { vertices: vertices.clone(), triangles: corners.clone(), ..Mesh::default() };
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
                connectivity.iter().zip(corners.as_flattened()).all(|(a, b)| *a == u64::from(*b))
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
    for (order, kind, nodes) in [(2, 22, 12 + 30), (3, 69, 12 + 60 + 20), (4, 69, 12 + 90 + 60)] {
        let mesh = Sphere { radius: 1.0, base, resolution }.build_curved(order).unwrap();
        let surface = SurfaceGrid::of(&mesh, [3, 5].into_iter(), vec![array("a", vec![1, 2])]);
        let mut out = Vec::new();
        write(&mut out, surface, false).unwrap();
        let DataSet::UnstructuredGrid { pieces, .. } = read(&out) else { panic!() };
        let piece = only(pieces);
        let points = piece.points.into_vec::<f64>().unwrap();
        assert_eq!(points.len(), 3 * nodes);
        let VertexNumbers::XML { connectivity, offsets } = piece.cells.cell_verts else { panic!() };
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
    for (as_line, kinds) in [(true, vec![CellType::PolyLine]), (false, vec![CellType::Vertex; 3])] {
        let data = [vectors("E", vec![0.5; 9]), array("phi", vec![1.0, 2.0, 3.0]).first()];
        let mut out = Vec::new();
        write_points(&mut out, &places, as_line, &data, false).unwrap();
        let text = String::from_utf8(out.clone()).unwrap();
        assert!(text.contains(r#"<PointData Scalars="phi">"#), "{text}");
        let DataSet::UnstructuredGrid { pieces, .. } = read(&out) else { panic!() };
        let piece = only(pieces);
        assert_eq!(piece.cells.types, kinds);
        let VertexNumbers::XML { connectivity, offsets } = piece.cells.cell_verts else { panic!() };
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
        let text = array("types", vec![5u8; count]).compressed().unwrap().concat();
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
