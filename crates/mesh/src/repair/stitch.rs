//! Joins triangles that have separate vertices where they should share them.
//!
//! Some programs write every facet with its own three vertices, or every patch with its own rim.
//! Only edges are joined that lie on each other and at which the surface would end otherwise;
//! bodies that touch have no such edges and stay apart.

use crate::bodies::check::coincident;
use crate::geometry::curved;
use crate::surface::Mesh;
use crate::topology::{Side, Sides};
use crate::vector::Vector;
use std::collections::HashMap;

/// Stands for a vertex that is not at an open edge.
const NONE: u32 = u32::MAX;

/// Merges the vertices at the ends of open edges that lie on each other; the number of such edges,
/// 0 if nothing changed.
///
/// For valid meshes ([`Mesh::validate`]). O(n).
pub fn stitch(mesh: &mut Mesh) -> usize {
    let open = open_edges(mesh);
    if open.is_empty() {
        return 0;
    }
    // The ends of open edges alone are compared: other vertices stay as they are.
    let mut ends: Vec<u32> = open.iter().flatten().copied().collect();
    ends.sort_unstable();
    ends.dedup();
    let points: Vec<Vector> = ends.iter().map(|&v| mesh.vertices[v as usize]).collect();
    let mut place = vec![NONE; mesh.vertices.len()];
    for (&vertex, first) in ends.iter().zip(coincident(&points, &mesh.vertices)) {
        place[vertex as usize] = first;
    }
    let mut at: HashMap<[u32; 2], Vec<[u32; 2]>> = HashMap::with_capacity(open.len());
    for edge in open {
        let mut key = edge.map(|v| place[v as usize]);
        key.sort_unstable();
        if key[0] != key[1] {
            at.entry(key).or_default().push(edge);
        }
    }
    let mut joined = 0;
    // For each place the least vertex that an edge joined there has.
    let mut vertex_at = vec![NONE; points.len()];
    let mut moves = vec![false; mesh.vertices.len()];
    for edges in at.values().filter(|edges| edges.len() > 1) {
        joined += edges.len();
        for &vertex in edges.iter().flatten() {
            moves[vertex as usize] = true;
            let kept = &mut vertex_at[place[vertex as usize] as usize];
            *kept = vertex.min(*kept);
        }
    }
    if joined == 0 {
        return 0;
    }
    for vertex in mesh.triangles.iter_mut().flatten() {
        if moves[*vertex as usize] {
            *vertex = vertex_at[place[*vertex as usize] as usize];
        }
    }
    mesh.drop_unused();
    mesh.with_patches(|mesh, patches| {
        curved::share_sides(mesh, patches);
    });
    joined
}

/// The edges of one triangle, as pairs of vertices.
pub(crate) fn open_edges(mesh: &Mesh) -> Vec<[u32; 2]> {
    let sides = Sides::of(mesh);
    let alone = sides.edges().filter(|edge| edge.len() == 1);
    let ends = |edge: &[Side]| {
        let Side { low, high, forward, .. } = edge[0];
        if forward { [low, high] } else { [high, low] }
    };
    alone.map(ends).collect()
}
