//! Makes flat surfaces meet in common edges: triangles are cut at vertices of others that lie on
//! their sides.
//!
//! Panels of layout programs meet in T's. Edges that neighbours share are what tells closed
//! surfaces, the cells of space and the media around an edge.

use crate::bvh::{Box3, Bvh};
use crate::polygon::triangulate;
use crate::surface::Mesh;
use crate::vector::{Vector, dot, norm, scale, sub};
use rayon::prelude::*;

/// A vertex on a side of a triangle: the triangle, its side, how far along, the vertex.
type Hanging = (u32, usize, f64, u32);

/// Cuts triangles at vertices that lie within `tolerance` of their sides; no vertices are added.
/// Returns for each triangle which one it is part of. For valid meshes ([`Mesh::validate`]) of flat
/// triangles. O(n log n) for surfaces.
pub fn conform(mesh: &mut Mesh, tolerance: f64) -> Vec<u32> {
    let hanging = hanging(mesh, tolerance);
    let mut part_of: Vec<u32> = (0..mesh.triangles.len() as u32).collect();
    for on_one in hanging.chunk_by(|a, b| a.0 == b.0) {
        let t = on_one[0].0;
        let corners = mesh.triangles[t as usize];
        let mut around = Vec::with_capacity(3 + on_one.len());
        for (side, corner) in corners.into_iter().enumerate() {
            around.push(corner);
            around.extend(on_one.iter().filter(|found| found.1 == side).map(|found| found.3));
        }
        // A vertex near a corner may seem to lie on both sides there.
        let mut seen = around.clone();
        seen.sort_unstable();
        if seen.windows(2).any(|pair| pair[0] == pair[1]) {
            continue;
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

/// All vertices on sides, in the order of triangles, sides and places.
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
        (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)).then(a.3.cmp(&b.3))
    });
    found.dedup_by_key(|found| (found.0, found.1, found.3));
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
            let off = sub(arm, scale(at / length, along));
            if at > tolerance && at < length - tolerance && norm(off) <= tolerance {
                found.push((on, side, at, v));
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
