//! Vertices that should be shared.

use super::report::{List, What};
use crate::repair::stitch::{open_edges, stitch};
use crate::surface::Mesh;
use crate::topology::disjoint::DisjointSets;
use crate::vector::{Vector, norm, sub};
use std::collections::HashSet;

/// Joins open edges that lie on each other.
pub(super) fn exactly(mesh: &mut Mesh, list: &mut List) {
    let place = open_edges(mesh).first().map(|edge| mesh.vertices[edge[0] as usize]);
    let joined = stitch(mesh);
    list.add(What::Joined, joined, place.unwrap_or_default());
}

/// Joins vertices at open edges that are closer than `tolerance` times the shorter of the edges at
/// them, the nearest first; none with its neighbour.
pub(super) fn nearby(mesh: &mut Mesh, tolerance: f64, list: &mut List) {
    let open = open_edges(mesh);
    if open.is_empty() {
        return;
    }
    let edges: HashSet<[u32; 2]> = open.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
    // The least length of an open edge at each vertex.
    let mut reach = vec![f64::INFINITY; mesh.vertices.len()];
    for &[a, b] in &open {
        let length = norm(sub(mesh.vertices[a as usize], mesh.vertices[b as usize]));
        for v in [a, b] {
            reach[v as usize] = reach[v as usize].min(tolerance * length);
        }
    }
    let mut ends: Vec<u32> = open.into_iter().flatten().collect();
    let along = |v: u32| mesh.vertices[v as usize][0];
    ends.sort_unstable_by(|&a, &b| along(a).total_cmp(&along(b)).then(a.cmp(&b)));
    ends.dedup();
    let mut pairs: Vec<(f64, u32, u32)> = Vec::new();
    for (k, &a) in ends.iter().enumerate() {
        let most = reach[a as usize];
        for &b in ends[k + 1..].iter().take_while(|&&b| along(b) - along(a) <= most) {
            let distance = norm(sub(mesh.vertices[a as usize], mesh.vertices[b as usize]));
            if distance <= most.min(reach[b as usize]) && !edges.contains(&[a, b]) {
                pairs.push((distance, a, b));
            }
        }
    }
    pairs.sort_unstable_by(|p, q| p.0.total_cmp(&q.0).then((p.1, p.2).cmp(&(q.1, q.2))));
    let mut sets = DisjointSets::new(mesh.vertices.len());
    let (mut count, mut first): (usize, Option<Vector>) = (0, None);
    for (_, a, b) in pairs {
        if sets.root(a) != sets.root(b) {
            sets.join(a, b);
            count += 1;
            first.get_or_insert(mesh.vertices[b as usize]);
        }
    }
    for vertex in mesh.triangles.iter_mut().flatten() {
        *vertex = sets.root(*vertex);
    }
    if count > 0 {
        mesh.drop_unused();
    }
    list.add(What::Welded, count, first.unwrap_or_default());
}
