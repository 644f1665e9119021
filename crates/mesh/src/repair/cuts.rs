//! Two surfaces cut along the lines where they go through each other.

use super::cut::{self, Point};
use super::hits::Hits;
use crate::surface::Mesh;
use crate::topology::disjoint::DisjointSets;
use std::collections::{HashMap, HashSet};

/// Pieces of triangles, in patches between the lines.
pub(super) struct Pieces {
    /// Vertices of the mesh, then those on the lines.
    pub mesh: Mesh,
    /// The triangle that each was cut from.
    pub parent: Vec<u32>,
    /// A number for the patch that each is of, that of its first piece.
    pub patch: Vec<u32>,
}

/// Cuts triangles that go through each other, pair by pair; `None` where they meet in a vertex or
/// along an edge exactly, or where lines on a triangle cross.
pub(super) fn cut(mesh: &Mesh, pairs: &[[u32; 2]]) -> Option<Pieces> {
    let hits = Hits::of(mesh, pairs)?;
    let first = mesh.vertices.len() as u32;
    let mut cut = Mesh { vertices: mesh.vertices.clone(), ..Mesh::default() };
    cut.groups.clone_from(&mesh.groups);
    cut.memberships.clone_from(&mesh.memberships);
    cut.vertices.extend(&hits.points);
    let mut parent = Vec::new();
    for t in 0..mesh.triangles.len() as u32 {
        let triangles = of_triangle(mesh, t, &hits, first)?;
        parent.resize(parent.len() + triangles.len(), t);
        cut.triangles.extend(triangles);
    }
    cut.membership = parent.iter().map(|&t| mesh.membership[t as usize]).collect();
    // What a line is not between is one patch.
    let lines: HashSet<[u32; 2]> =
        hits.lines.values().flatten().map(|&[p, q]| [first + p.min(q), first + p.max(q)]).collect();
    let mut sets = DisjointSets::new(cut.triangles.len());
    let mut seen: HashMap<[u32; 2], u32> = HashMap::with_capacity(3 * cut.triangles.len() / 2);
    for (t, &[a, b, c]) in cut.triangles.iter().enumerate() {
        for [a, b] in [[a, b], [b, c], [c, a]] {
            let edge = [a.min(b), a.max(b)];
            if lines.contains(&edge) {
                continue;
            }
            if let Some(other) = seen.insert(edge, t as u32) {
                sets.join(other, t as u32);
            }
        }
    }
    let patch = (0..cut.triangles.len() as u32).map(|t| sets.root(t)).collect();
    Some(Pieces { mesh: cut, parent, patch })
}

/// The pieces of one triangle: itself where nothing meets it.
fn of_triangle(mesh: &Mesh, t: u32, hits: &Hits, first: u32) -> Option<Vec<[u32; 3]>> {
    let corners = mesh.triangles[t as usize];
    let mut points: Vec<Point> = vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];
    let mut numbers: Vec<u32> = corners.to_vec();
    let [a, b, c] = corners;
    for (k, (p, q)) in [(a, b), (b, c), (c, a)].into_iter().enumerate() {
        for &(along, id) in hits.on_edge.get(&[p.min(q), p.max(q)]).into_iter().flatten() {
            let s = if p < q { along } else { 1.0 - along };
            points.push([[s, 0.0], [1.0 - s, s], [0.0, 1.0 - s]][k]);
            numbers.push(first + id);
        }
    }
    for &(place, id) in hits.within.get(&t).into_iter().flatten() {
        points.push(place);
        numbers.push(first + id);
    }
    if points.len() == 3 {
        return Some(vec![corners]);
    }
    let local: HashMap<u32, usize> = numbers.iter().enumerate().map(|(i, &n)| (n, i)).collect();
    let mut lines = Vec::new();
    for &[p, q] in hits.lines.get(&t).into_iter().flatten() {
        lines.push([*local.get(&(first + p))?, *local.get(&(first + q))?]);
    }
    let pieces = cut::pieces(&points, &lines)?;
    Some(pieces.into_iter().map(|piece| piece.map(|i| numbers[i])).collect())
}
