//! Makes flat surfaces meet in common edges: triangles are cut at vertices of others that lie on
//! their sides.
//!
//! Panels of layout programs meet in T's. Edges that neighbours share are what tells closed
//! surfaces, the cells of space and the media around an edge.

use crate::bvh::{Box3, Bvh};
use crate::polygon::triangulate;
use crate::surface::Mesh;
use crate::vector::{Vector, dot, norm, scale, sub};
use parallel::prelude::*;
use std::collections::HashSet;

/// A vertex on a side of a triangle.
#[derive(Clone, Copy, Debug)]
struct Hanging {
    triangle: u32,
    side: usize,
    /// How far along.
    at: f64,
    /// How far from it.
    off: f64,
    vertex: u32,
}

/// Cuts triangles at vertices that lie within `tolerance` of their sides; no vertices are added.
/// Returns for each triangle which one it is part of. For valid meshes ([`Mesh::validate`]) of flat
/// triangles. O(n log n) for surfaces.
pub fn conform(mesh: &mut Mesh, tolerance: f64) -> Vec<u32> {
    let hanging = hanging(mesh, tolerance);
    let mut part_of: Vec<u32> = (0..mesh.triangles.len() as u32).collect();
    for on_one in hanging.chunk_by(|a, b| a.triangle == b.triangle) {
        let t = on_one[0].triangle;
        let corners = mesh.triangles[t as usize];
        let mut around = Vec::with_capacity(3 + on_one.len());
        for (side, corner) in corners.into_iter().enumerate() {
            around.push(corner);
            around.extend(on_one.iter().filter(|on| on.side == side).map(|on| on.vertex));
        }
        let points: Vec<Vector> = around.iter().map(|&v| mesh.vertices[v as usize]).collect();
        let parts = triangulate(&points, tolerance);
        let mut parts = parts.into_iter().map(|part| part.map(|k| around[k]));
        let Some(first) = parts.next() else { continue };
        mesh.triangles[t as usize] = first;
        for part in parts {
            mesh.triangles.push(part);
            mesh.membership.push(mesh.membership[t as usize]);
            part_of.push(t);
        }
    }
    part_of
}

/// All vertices on sides, in the order of triangles, sides and places. A vertex near two sides of a
/// triangle, as in a sharp corner, is on the nearer one, and not on the other for any triangle.
fn hanging(mesh: &Mesh, tolerance: f64) -> Vec<Hanging> {
    let bounds = |t: usize| {
        let Box3 { low, high } = Box3::around(&mesh.corners(t));
        Box3 { low: low.map(|x| x - tolerance), high: high.map(|x| x + tolerance) }
    };
    let boxes: Vec<Box3> = (0..mesh.triangles.len()).into_par_iter().map(bounds).collect();
    let tree = Bvh::new(&boxes);
    let mut found: Vec<Hanging> = tree.overlapping_leaves(|a, b, found| {
        for &s in tree.members(a) {
            for &t in tree.members(b) {
                if s != t && boxes[s as usize].overlaps(&boxes[t as usize]) {
                    on_sides(mesh, s, t, tolerance, found);
                    on_sides(mesh, t, s, tolerance, found);
                }
            }
        }
    });
    found.sort_unstable_by(|a, b| {
        (a.triangle, a.vertex).cmp(&(b.triangle, b.vertex)).then(a.off.total_cmp(&b.off))
    });
    let edge = |on: &Hanging| {
        let corners = mesh.triangles[on.triangle as usize];
        let (a, b) = (corners[on.side], corners[(on.side + 1) % 3]);
        (a.min(b), a.max(b), on.vertex)
    };
    let mut farther = HashSet::new();
    for near_one in found.chunk_by(|a, b| (a.triangle, a.vertex) == (b.triangle, b.vertex)) {
        let others = near_one.iter().filter(|on| on.side != near_one[0].side);
        farther.extend(others.map(edge));
    }
    found.retain(|on| !farther.contains(&edge(on)));
    found.sort_unstable_by(|a, b| {
        (a.triangle, a.side).cmp(&(b.triangle, b.side)).then(a.at.total_cmp(&b.at))
    });
    found.dedup_by_key(|on| (on.triangle, on.side, on.vertex));
    found
}

/// Adds the vertices of one triangle that lie on sides of another, inside of them.
fn on_sides(mesh: &Mesh, from: u32, on: u32, tolerance: f64, found: &mut Vec<Hanging>) {
    let corners = mesh.triangles[on as usize];
    let place = |v: u32| mesh.vertices[v as usize];
    for v in mesh.triangles[from as usize].into_iter().filter(|v| !corners.contains(v)) {
        for side in 0..3 {
            let (p, q) = (place(corners[side]), place(corners[(side + 1) % 3]));
            let along = sub(q, p);
            let length = norm(along);
            let arm = sub(place(v), p);
            let at = dot(arm, along) / length;
            let off = norm(sub(arm, scale(at / length, along)));
            if at > tolerance && at < length - tolerance && off <= tolerance {
                found.push(Hanging { triangle: on, side, at, off, vertex: v });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Report;
    use crate::quality;

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
        assert_eq!(crate::intersect::intersections(&mesh), []);
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
        let first = crate::weld::first_at(&vertices, 1e-9);
        triangles.iter_mut().flatten().for_each(|v| *v = first[*v as usize]);
        let mut mesh = flat(vertices, triangles);
        conform(&mut mesh, 1e-9);
        let report = Report::of(&mesh).unwrap();
        assert!(report.whole.closed && report.components.len() == 1);
        assert!((report.quality.area - 6.0).abs() < 1e-12);
        assert!(report.defects.is_empty());
        let cells = crate::cells::bounded(&mesh, |_| true);
        assert!(cells.len() == 1 && (cells[0].volume - 1.0).abs() < 1e-12);
    }
}
