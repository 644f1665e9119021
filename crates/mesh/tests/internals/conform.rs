use mesh::check::Report;
use mesh::conform::conform;
use mesh::vector::Vector;
use mesh::{Mesh, quality};

fn flat(vertices: Vec<Vector>, triangles: Vec<[u32; 3]>) -> Mesh {
    let membership = vec![0; triangles.len()];
    Mesh { vertices, triangles, membership, memberships: vec![vec![]], ..Mesh::default() }
}

#[test]
fn sides_are_cut_where_vertices_lie_on_them() {
    // One large triangle, and three along its longest side on the other side of it.
    let mut mesh = flat(
        vec![
            [0.0, 0.0, 0.0],
            [3.0, 0.0, 0.0],
            [1.0, 2.0, 0.0],
            [1.0, 1e-9, 0.0],
            [2.0, 0.0, 0.0],
            [1.5, -2.0, 0.0],
        ],
        vec![[0, 1, 2], [3, 0, 5], [4, 3, 5], [1, 4, 5]],
    );
    let area: f64 = quality::areas(&mesh).iter().sum();
    let part_of = conform(&mut mesh, 1e-6);
    mesh.validate().unwrap();
    assert_eq!(part_of, [0, 1, 2, 3, 0, 0]);
    assert!((quality::areas(&mesh).iter().sum::<f64>() - area).abs() < 1e-8);
    let report = Report::of(&mesh).unwrap();
    assert_eq!((report.components.len(), report.whole.flipped_edges), (1, 0));
    assert_eq!(report.whole.boundary_edges, 4);
    // Once is enough.
    assert_eq!(conform(&mut mesh, 1e-6).len(), 6);
}

#[test]
fn a_vertex_in_a_sharp_corner_is_on_the_nearer_side() {
    // A strip of two long triangles, and a vertex near the end of one side, from where the
    // diagonal is nearer than the tolerance.
    let vertices = vec![
        [0.0, 0.0, 0.0],
        [40.0, 0.0, 0.0],
        [40.0, 0.1, 0.0],
        [0.0, 0.1, 0.0],
        [39.99, 0.1, 0.0],
        [39.99, 1.0, 0.0],
    ];
    let triangles = vec![[0, 1, 2], [0, 2, 3], [3, 4, 5], [4, 2, 5]];
    let mut mesh = flat(vertices, triangles);
    let area: f64 = quality::areas(&mesh).iter().sum();
    let part_of = conform(&mut mesh, 1e-4);
    assert_eq!(part_of, [0, 1, 2, 3, 1]);
    assert!((quality::areas(&mesh).iter().sum::<f64>() - area).abs() < 1e-12);
    assert_eq!(mesh::intersect::intersections(&mesh), []);
}

#[test]
fn boxes_with_other_panels_on_each_face_become_closed() {
    // Faces of the cube from 0 to 1 as 1 x 1 to 6 x 6 squares.
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for (face, count) in (0..6usize).zip(1..) {
        let (axis, side) = (face / 2, (face % 2) as f64);
        for (i, j) in (0..count * count).map(|k| (k % count, k / count)) {
            let first = vertices.len() as u32;
            for (u, v) in [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)] {
                let mut corner = [side; 3];
                corner[(axis + 1) % 3] = u as f64 / count as f64;
                corner[(axis + 2) % 3] = v as f64 / count as f64;
                vertices.push(corner);
            }
            triangles.push([first, first + 1, first + 2]);
            triangles.push([first, first + 2, first + 3]);
        }
    }
    let first = mesh::weld::first_at(&vertices, 1e-9);
    triangles.iter_mut().flatten().for_each(|v| *v = first[*v as usize]);
    let mut mesh = flat(vertices, triangles);
    conform(&mut mesh, 1e-9);
    let report = Report::of(&mesh).unwrap();
    assert!(report.whole.closed && report.components.len() == 1);
    assert!((report.quality.area - 6.0).abs() < 1e-12);
    assert!(report.defects.is_empty());
    let cells = mesh::cells::bounded(&mesh, |_| true);
    assert!(cells.len() == 1 && (cells[0].volume - 1.0).abs() < 1e-12);
}
