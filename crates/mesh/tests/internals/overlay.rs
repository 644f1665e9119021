use mesh::Mesh;
use mesh::internals::overlay::is_in_plane;
use mesh::overlay::{Piece, pieces};
use mesh::polygon::area_vector;
use mesh::vector::{add, norm};

const NEAR: f64 = 1e-9;

fn of(triangles: &[[[f64; 2]; 3]]) -> Vec<Piece> {
    let vertices = triangles.iter().flatten().map(|&[x, y]| [x, y, 0.5]).collect();
    let count = triangles.len();
    let mesh = Mesh {
        vertices,
        triangles: (0..count as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect(),
        membership: vec![0; count],
        memberships: vec![vec![]],
        ..Mesh::default()
    };
    pieces(&mesh, NEAR)
}

fn area(pieces: &[Piece], by: &[u32]) -> f64 {
    let own = pieces.iter().filter(|piece| piece.triangles == by);
    own.map(|piece| norm(area_vector(&piece.corners))).sum()
}

#[test]
fn triangles_are_cut_along_each_others_sides() {
    let large = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]];
    let small = [[1.0, 1.0], [1.0, 2.0], [2.0, 1.0]];
    let beyond = [[-1.0, -1.0], [1.0, -1.0], [1.0, 0.0]];
    let found = of(&[large, small, beyond]);
    assert!((area(&found, &[0]) - 7.5).abs() < NEAR);
    assert!((area(&found, &[0, 1]) - 0.5).abs() < NEAR);
    // It shares a part of a side alone.
    assert!(found.iter().all(|piece| !piece.triangles.contains(&2)));
    // One that reaches out, and the same one twice.
    let found = of(&[large, [[3.0, -1.0], [3.0, 1.0], [4.0, -1.0]], large]);
    let sum: f64 = [&[0, 2][..], &[1], &[0, 1, 2]].iter().map(|by| area(&found, by)).sum();
    assert!((sum - (8.0 + 1.0 - area(&found, &[0, 1, 2]))).abs() < NEAR);
    assert!((area(&found, &[0, 1, 2]) - 0.25).abs() < NEAR, "{found:?}");
}

#[test]
fn triangles_are_cut_where_others_stand_on_them() {
    let floor = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]];
    let wall = [[1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [1.0, 1.0, 1.0]];
    let rim = [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.0, 0.0, 1.0]];
    let on = |above: [[f64; 3]; 3], lift: f64| {
        let vertices = [floor, above.map(|x| add(x, [0.0, 0.0, lift]))].concat();
        let mesh = Mesh {
            vertices,
            triangles: vec![[0, 1, 2], [3, 4, 5]],
            membership: vec![0; 2],
            memberships: vec![vec![]],
            ..Mesh::default()
        };
        pieces(&mesh, NEAR)
    };
    let found = on(wall, 0.0);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|piece| piece.triangles == [0]));
    assert!((area(&found, &[0]) - 8.0).abs() < NEAR);
    assert_eq!((on(wall, 0.1), on(rim, 0.0)), (vec![], vec![]));
}

#[test]
fn neighbours_and_parallel_planes_share_nothing() {
    let square = [[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]];
    assert_eq!(of(&square), []);
    let (p, mut q) = ([[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0.0; 3]; 3]);
    for (x, y) in p.iter().zip(&mut q) {
        *y = add(*x, [0.1, 0.1, 10.0 * NEAR]);
    }
    assert!(is_in_plane(&p, &p, NEAR) && !is_in_plane(&p, &q, NEAR));
}
