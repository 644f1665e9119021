use mesh::internals::polygon::{split_quadrangle, triangulate};
use mesh::polygon::area_vector;
use mesh::quality::relative_height;
use mesh::vector::{Vector, add, cross, dot, norm, sub};

#[test]
fn convex_polygons_with_corners_on_their_sides_are_cut() {
    let at =
        |points: &[[f64; 2]]| -> Vec<Vector> { points.iter().map(|&[x, y]| [x, y, 2.0]).collect() };
    let many: Vec<[f64; 2]> = (0..=50).map(|k| [0.02 * f64::from(k), 0.0]).collect();
    let fan = [&many[..], &[[0.3, 1.0]]].concat();
    let square = vec![[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [1.0, 0.5], [1.0, 1.0], [0.0, 1.0]];
    for polygon in [fan, square] {
        let points = at(&polygon);
        let found = triangulate(&points, 1e-9);
        assert_eq!(found.len(), points.len() - 2);
        let whole = area_vector(&points);
        let sum = found.iter().fold([0.0; 3], |sum, t| {
            let part = area_vector(&t.map(|k| points[k]));
            assert!(dot(part, whole) > 0.0);
            add(sum, part)
        });
        assert!(norm(sub(sum, whole)) < 1e-14);
    }
    // A corner that is off its side by rounding makes no sliver.
    let off = at(&[[0.0, 0.0], [0.5, -1e-7], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]);
    let low = |t: &[usize; 3]| relative_height(t.map(|k| off[k])) < 0.1;
    assert!(!triangulate(&off, 1e-6).iter().any(low));
    assert!(triangulate(&at(&[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]), 0.0).is_empty());
}

fn split(corners: [[f64; 2]; 4], lift: f64) -> Option<[[u32; 3]; 2]> {
    let mut vertices = corners.map(|[x, y]| [x, y, 0.0]);
    vertices[2][2] = lift;
    let found = split_quadrangle(&vertices, [0, 1, 2, 3]);
    // It is the same one whichever corner comes first, and seen from the other side.
    let area = |halves: [[u32; 3]; 2]| -> f64 {
        let [m, n] = halves.map(|t| {
            let [p, q, r] = t.map(|v| vertices[v as usize]);
            norm(cross(sub(q, p), sub(r, p)))
        });
        m + n
    };
    for order in [[1, 2, 3, 0], [2, 3, 0, 1], [3, 2, 1, 0], [1, 0, 3, 2]] {
        let other = split_quadrangle(&vertices, order);
        assert_eq!(other.is_some(), found.is_some(), "{corners:?}");
        if let (Some(other), Some(found)) = (other, found) {
            assert!((area(other) - area(found)).abs() <= 1e-12 * area(found), "{corners:?}");
        }
    }
    found
}

#[test]
fn the_diagonal_runs_inside() {
    let square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
    assert_eq!(split(square, 0.0), Some([[0, 1, 2], [0, 2, 3]]));
    assert_eq!(split(square, 0.4), Some([[0, 1, 3], [1, 2, 3]]));
    // The shorter diagonal, from 1 to 3, lies outside of the arrow's head.
    let arrow = [[0.0, 10.0], [-1.0, 0.0], [0.0, 5.0], [1.0, 0.0]];
    assert_eq!(split(arrow, 0.0), Some([[0, 1, 2], [0, 2, 3]]));
    assert_eq!(split(arrow, 0.1), Some([[0, 1, 2], [0, 2, 3]]));
    // A corner on a side, and inside by rounding.
    for y in [0.0, 1e-7] {
        let corner_on_side = [[0.0, 0.0], [0.5, y], [1.0, 0.0], [0.0, 1.0]];
        assert_eq!(split(corner_on_side, 0.0), Some([[0, 1, 3], [1, 2, 3]]));
    }
}

#[test]
fn crossed_sides_are_reported() {
    let bowtie = [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]];
    assert_eq!(split(bowtie, 0.0), None);
    assert_eq!(split(bowtie, 0.1), None);
    assert_eq!(split([[0.0, 0.0], [3.0, 0.0], [0.5, 1.0], [0.6, -1.0]], 0.0), None);
    // Two corners that are one but for the digits of the file.
    let rounded = [[0.0, 0.0], [1.0, 0.0], [0.500_01, 1.0], [0.500_02, 1.0]];
    assert!(split(rounded, 0.0).is_some());
    // More than a file of five digits makes.
    let crossed = [[0.0, 0.0], [1.0, 0.0], [0.5, 1.0], [0.502, 1.0]];
    assert_eq!(split(crossed, 0.0), None);
    // Of no area, whichever corners are one: those are left out or refused as such.
    for [p, q, r, s] in [[0, 0, 1, 2], [0, 1, 0, 2], [0, 1, 2, 1], [0, 0, 1, 1], [0, 0, 0, 0]] {
        let corners = [[0.0, 0.0], [2.0, 0.5], [1.0, 3.0]];
        assert!(split([p, q, r, s].map(|k: usize| corners[k]), 0.0).is_some());
    }
}
