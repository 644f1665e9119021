mod cut;

use mesh::Mesh;
use mesh::check::Report;
use mesh::prisms::{Fault, Prism, Surface, surface};

fn block(low: [f64; 3], high: [f64; 3], label: u32) -> Prism {
    let [[x, y, z], [u, v, w]] = [low, high];
    Prism { rings: vec![vec![[x, y], [u, y], [u, v], [x, v]]], heights: [z, w], label }
}

/// The surface of a label, as if it were alone.
fn of(surface: &Surface, label: u32) -> Mesh {
    let own = (0..surface.sides.len()).filter(|&t| surface.sides[t].contains(&label));
    let turned = |t: usize| {
        let [a, b, c] = surface.mesh.triangles[t];
        if surface.sides[t][1] == label { [a, b, c] } else { [a, c, b] }
    };
    let triangles: Vec<[u32; 3]> = own.map(turned).collect();
    let membership = vec![0; triangles.len()];
    let mut mesh = Mesh { triangles, membership, ..surface.mesh.clone() };
    mesh.drop_unused();
    mesh
}

fn volume(mesh: &Mesh) -> f64 {
    let six = |t: usize| {
        let [a, b, c] = mesh.corners(t);
        mesh::vector::dot(a, mesh::vector::cross(b, c))
    };
    (0..mesh.triangles.len()).map(six).sum::<f64>() / 6.0
}

fn checked(prisms: &[Prism], bodies: u32, volumes: &[f64]) -> Surface {
    let surface = surface(prisms, |label| label > 0 && label <= bodies).unwrap();
    surface.mesh.validate().unwrap();
    let found = mesh::intersect::intersections(&surface.mesh);
    assert!(found.is_empty(), "{found:?}");
    for (label, volume_of) in (1..).zip(volumes) {
        let own = of(&surface, label);
        let report = Report::of(&own).unwrap();
        assert!(report.whole.closed, "{label}: {:?}", report.whole);
        assert!((volume(&own) / volume_of - 1.0).abs() < 1e-9, "{label}: {}", volume(&own));
    }
    surface
}

#[test]
fn a_via_joins_wires_in_nested_media() {
    let prisms = [
        block([0.0, 4.0, 2.0], [20.0, 6.0, 3.0], 1),
        block([9.0, 4.0, 3.0], [11.0, 6.0, 5.0], 1),
        block([9.0, -6.0, 5.0], [11.0, 16.0, 6.0], 1),
        block([14.0, -6.0, 5.0], [16.0, 16.0, 6.0], 2),
        // A film around the lower wire, and a layer up to the middle of the upper ones.
        block([-1.0, 3.0, 2.0], [21.0, 7.0, 3.5], 3),
        block([-10.0, -10.0, 0.0], [30.0, 20.0, 5.5], 4),
    ];
    let [lower, via, upper] = [20.0 * 2.0, 2.0 * 2.0 * 2.0, 2.0 * 22.0];
    let film = 22.0 * 4.0 * 1.5 - lower - 2.0 * 2.0 * 0.5;
    let layer = 40.0 * 30.0 * 5.5 - film - lower - via - upper;
    checked(&prisms, 2, &[lower + via + upper, upper, film, layer]);
}

#[test]
fn slanted_outlines_that_cross_are_cut() {
    let diamond = |x: f64, r: f64, heights: [f64; 2], label: u32| Prism {
        rings: vec![vec![[x - r, 0.0], [x, -0.7 * r], [x + r, 0.0], [x, 0.7 * r]]],
        heights,
        label,
    };
    let prisms = [
        diamond(0.0, 10.0, [0.0, 1.0], 1),
        diamond(7.3, 10.0, [1.0, 2.0], 1),
        diamond(3.1, 17.0, [0.5, 1.5], 2),
        diamond(-2.7, 13.0, [0.0, 3.0], 3),
    ];
    checked(&prisms, 1, &[2.0 * 1.4 * 100.0]);
}

#[test]
fn holes_stay_open_and_bodies_apart() {
    let mut ring = block([0.0; 3], [10.0, 10.0, 1.0], 1);
    ring.rings.push(vec![[3.0, 3.0], [7.0, 3.0], [7.0, 7.0], [3.0, 7.0]]);
    let inner = block([4.0, 4.0, 0.0], [6.0, 6.0, 2.0], 2);
    checked(&[ring.clone(), inner.clone()], 2, &[84.0, 8.0]);
    for (low, high) in [
        ([4.0, 4.0, 0.0], [8.0, 6.0, 2.0]),
        ([4.0, 4.0, 0.0], [7.0, 6.0, 2.0]),
        ([1.0, 1.0, 1.0], [2.0, 2.0, 2.0]),
    ] {
        let found = surface(&[ring.clone(), block(low, high, 2)], |label| label > 0);
        let Err(Fault::Meeting { mut prisms, .. }) = found else { panic!("{found:?}") };
        prisms.sort_unstable();
        assert_eq!(prisms, [0, 1]);
    }
}

#[test]
fn coordinates_that_cannot_be_triangulated_are_refused_with_their_reason() {
    for (value, reason) in [
        (f64::NAN, "no finite number"),
        (f64::NEG_INFINITY, "no finite number"),
        (-1e61, "too large"),
        (1e-50, "too small, and not 0"),
    ] {
        let good = block([2.0; 3], [3.0; 3], 0);
        let mut outline = block([0.0; 3], [1.0; 3], 0);
        outline.rings[0][0] = [value, 0.0];
        let mut height = block([0.0; 3], [1.0; 3], 0);
        height.heights[1] = value;
        for prism in [outline, height] {
            let fault = surface(&[good.clone(), prism], |_| true).unwrap_err();
            let message = fault.to_string();
            let expected = format!("prism 1 has a coordinate of {value:e}, which is {reason}");
            assert_eq!(message, expected);
        }
    }
}
