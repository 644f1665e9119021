//! Makes flat surfaces meet in common edges: triangles are cut at vertices of others that lie on
//! their sides.
//!
//! Panels of layout programs meet in T's. Edges that neighbours share are what tells closed
//! surfaces, the cells of space and the media around an edge.

use crate::geometry::bvh::{Box3, Bvh};
use crate::planar::polygon::triangulate;
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
    let bounds = |t: usize| Box3::around(&mesh.corners(t)).grown(tolerance);
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
