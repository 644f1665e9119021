//! Cuts along lines that edges lie above.

use mesh::creases::{self, Creases};
use mesh::proximity::Part;
use mesh::shadows::Edges;
use mesh::vector::Vector;
use mesh::{Mesh, split};

use crate::testing::rectangles;

const RATIO: f64 = 3.0;
const GAP: f64 = 0.1;

fn plate(low: f64, high: f64, z: f64) -> [Vector; 3] {
    [[low, low, z], [high - low, 0.0, 0.0], [0.0, high - low, 0.0]]
}

/// The mesh of rectangles, cut until no edge asks for more, and the surfaces of its triangles; all
/// but the first `open` are opaque.
fn cut(of: &[[Vector; 3]], open: u32) -> (Mesh, Vec<Option<u32>>) {
    let (mut mesh, mut surface) = rectangles(of);
    let opaque: Vec<Option<u32>> = surface.iter().map(|s| s.filter(|s| *s >= open)).collect();
    let sharp: Creases = creases::find(&mesh, |t| opaque[t], 20.0);
    let edges = Edges::new(&mesh, &opaque, &sharp);
    for _ in 0..20 {
        let all: Vec<u32> = (0..surface.len() as u32).collect();
        let cuts = edges.cuts(Part { mesh: &mesh, surface: &surface }, &all, RATIO);
        if cuts.is_empty() {
            return (mesh, surface);
        }
        let split = split::at(&mesh, cuts).unwrap();
        surface = split.parent.iter().map(|&t| surface[t as usize]).collect();
        mesh = split.mesh;
    }
    panic!("no end");
}

/// Triangles of a surface that reach over the line x = 10 or -10, or the same of y, by more than
/// what is not resolved, next to the square that is 20 long.
fn across(mesh: &Mesh, surface: &[Option<u32>], of: u32) -> usize {
    let is_across = |t: usize| {
        let corners = mesh.corners(t);
        let along = |axis: usize, line: f64| {
            let off = corners.map(|x| x[axis] - line);
            let other = corners.map(|x| x[1 - axis].abs());
            let reach = 1.01 * RATIO * GAP;
            off.iter().any(|x| *x > reach)
                && off.iter().any(|x| *x < -reach)
                && other.iter().all(|x| *x < 10.0 + reach)
        };
        [(0, 10.0), (0, -10.0), (1, 10.0), (1, -10.0)].iter().any(|&(axis, line)| along(axis, line))
    };
    (0..surface.len()).filter(|&t| surface[t] == Some(of) && is_across(t)).count()
}

fn area(mesh: &Mesh) -> f64 {
    (0..mesh.triangles.len())
        .map(|t| {
            let [a, b, c] = mesh.corners(t);
            0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])).abs()
        })
        .sum()
}

/// A square above a larger one, whichever way the larger is cut into two triangles, from above and
/// below, as metal and as an interface: four lines, exactly below the edges, and no more.
#[test]
fn large_triangles_are_cut_below_edges() {
    for (gap, open) in [(GAP, 0), (-GAP, 0), (GAP, 1)] {
        let squares = [plate(-31.0, 30.0, 0.0), plate(-10.0, 10.0, gap)];
        let (mesh, surface) = cut(&squares, open);
        assert!((area(&mesh) - 61.0 * 61.0 - 400.0).abs() < 1e-9);
        assert_eq!(across(&mesh, &surface, 0), 0);
        let of = |s: u32| surface.iter().filter(|surface| **surface == Some(s)).count();
        assert!(of(0) <= 40, "{} triangles", of(0));
        // Its own edges are all that it sees of the larger one.
        assert_eq!(of(1), 2);
        let on_line = |x: &&Vector| x[2] == 0.0 && (x[0].abs() - 10.0).abs() < 1e-12;
        assert!(mesh.vertices.iter().filter(on_line).count() >= 4);
    }
}

/// Edges that are hidden, far away, tilted, or above triangles that are small already cut nothing.
#[test]
fn other_edges_cut_nothing() {
    let large = plate(-31.0, 30.0, 0.0);
    let tilted = [[-10.0, -10.0, GAP], [20.0, 0.0, 1.0], [0.0, 20.0, 1.0]];
    for others in [
        // One layer more between them, as large.
        vec![plate(-31.0, 30.0, 0.5 * GAP), plate(-10.0, 10.0, GAP)],
        vec![plate(-10.0, 10.0, 8.0)],
        vec![tilted],
    ] {
        let (_, surface) = cut(&[vec![large], others].concat(), 0);
        assert_eq!(surface.iter().filter(|s| **s == Some(0)).count(), 2);
    }
    let small = plate(-10.2, 10.2, 0.0);
    let (_, surface) = cut(&[small, plate(-10.0, 10.0, GAP)], 0);
    assert_eq!(surface.len(), 4);
}
