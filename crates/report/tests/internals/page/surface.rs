use mesh::Mesh;
use report::internals::page::{Surface, parts};
use report::surface_files::{SURFACE, SURFACE_INDEX};
use report::vtk;

#[test]
fn parts_of_curved_triangles_are_those_of_a_lattice() {
    assert_eq!(parts(1), [[0, 1, 2]]);
    // Middles of sides: 3 between 0 and 1, 4 between 1 and 2, 5 between 2 and 0.
    let mut second = parts(2);
    second.sort_unstable();
    assert_eq!(second, [[0, 3, 5], [3, 1, 4], [3, 4, 5], [5, 4, 2]]);
    for order in 1..=4 {
        let parts = parts(order);
        assert_eq!(parts.len(), order * order);
        let nodes = (order + 1) * (order + 2) / 2;
        let mut used: Vec<usize> = parts.into_iter().flatten().collect();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used, (0..nodes).collect::<Vec<_>>());
    }
}

#[test]
fn what_is_written_is_read() {
    let folder = std::env::temp_dir().join(format!("farad-page-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for triangles in [1, 5, 5000] {
        for compressed in [false, true] {
            let mesh = Mesh {
                vertices: (0..triangles + 2).map(|i| [i as f64, 0.5, -1.0]).collect(),
                triangles: (0..triangles as u32).map(|i| [i, i + 1, i + 2]).collect(),
                ..Mesh::default()
            };
            let area: Vec<f64> = (0..triangles).map(|i| 1.0 + i as f64).collect();
            let name = "a <b> & \"c\"\t";
            let data = vec![
                vtk::array("body id", (0..triangles as i32).map(|i| i % 3 - 1).collect::<Vec<_>>()),
                vtk::array("area [m^2]", area.clone()),
                vtk::array(name, area.clone()),
            ];
            let grid = vtk::SurfaceGrid::of(&mesh, 0..triangles, data);
            let mut out = Vec::new();
            vtk::write(&mut out, grid, compressed).unwrap();
            std::fs::write(folder.join(SURFACE), &out).unwrap();
            let surface = Surface::open(&folder).unwrap().unwrap();
            assert_eq!(surface.vertices, mesh.vertices);
            assert_eq!(surface.triangles, mesh.triangles);
            assert_eq!(surface.area, area);
            assert_eq!(surface.body[0], -1);
            assert_eq!(surface.arrays, [name]);
            let mut found = Vec::new();
            surface.read(&[name], |_, _, values| found.extend_from_slice(values)).unwrap();
            assert_eq!(found, area);
            // Half of a file is refused, wherever it ends.
            for part in [20, 300, out.len() / 2, out.len() - 20] {
                std::fs::write(folder.join(SURFACE), &out[..part]).unwrap();
                assert!(Surface::open(&folder).is_err(), "{part} bytes");
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(Surface::open(&folder).unwrap().is_none());
}

#[test]
fn pieces_are_one_surface() {
    let folder = std::env::temp_dir().join(format!("farad-pieces-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mesh = Mesh {
        vertices: (0..7).map(|i| [i as f64, (i * i) as f64, 0.0]).collect(),
        triangles: (0..5).map(|i| [i, i + 1, i + 2]).collect(),
        ..Mesh::default()
    };
    let arrays = |own: &[usize]| {
        let numbers = |factor: f64| own.iter().map(|&t| factor * t as f64).collect::<Vec<_>>();
        let ids = own.iter().map(|&t| t as i32).collect::<Vec<_>>();
        vec![
            vtk::array("body id", ids),
            vtk::array("area [m^2]", numbers(0.5)),
            vtk::array("charge", numbers(2.0)),
        ]
    };
    let files = ["surface_0.vtu", "surface_1.vtu", "surface_2.vtu"];
    for (file, own) in files.iter().zip([&[3, 0][..], &[], &[1, 2, 4]]) {
        let grid = vtk::SurfaceGrid::of(&mesh, own.iter().copied(), arrays(own)).compact();
        let mut out = Vec::new();
        vtk::write(&mut out, grid, true).unwrap();
        std::fs::write(folder.join(file), out).unwrap();
    }
    let mut out = Vec::new();
    vtk::write_pieces(&mut out, &arrays(&[]), files.map(str::to_owned)).unwrap();
    std::fs::write(folder.join(SURFACE_INDEX), out).unwrap();
    let surface = Surface::open(&folder).unwrap().unwrap();
    assert_eq!(surface.body, [3, 0, 1, 2, 4]);
    assert_eq!(surface.arrays, ["charge"]);
    for (t, corners) in surface.triangles.iter().enumerate() {
        let expected = mesh.corners(surface.body[t] as usize);
        assert_eq!(corners.map(|v| surface.vertices[v as usize]), expected);
    }
    let mut found = vec![0.0; 5];
    let take = |_: usize, first: usize, values: &[f64]| {
        found[first..first + values.len()].copy_from_slice(values);
    };
    surface.read(&["charge"], take).unwrap();
    assert_eq!(found, [6.0, 0.0, 2.0, 4.0, 8.0]);
    // A piece of another folder is none of these results.
    let index = std::fs::read_to_string(folder.join(SURFACE_INDEX)).unwrap();
    std::fs::write(folder.join(SURFACE_INDEX), index.replace("surface_1", "../surface_1")).unwrap();
    assert!(Surface::open(&folder).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}
