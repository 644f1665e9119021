//! Sheets that share an edge or a vertex, parted so that each edge has two triangles and each
//! vertex one ring of them.

use super::report::{List, What};
use crate::surface::Mesh;
use crate::topology::disjoint::DisjointSets;
use crate::topology::{Side, Sides};
use crate::vector::{Vector, add, cross, dot, norm, scale, sub};

/// Parts sheets: vertices are doubled, and where two sheets go through one edge that is not enough
/// for, the edge of one gets a vertex in its middle.
pub(super) fn part(mesh: &mut Mesh, list: &mut List) {
    let (pairs, crowded) = paired(mesh);
    let place = crowded.first().map(|&v| mesh.vertices[v as usize]);
    list.add(What::EdgeParted, crowded.len(), place.unwrap_or_default());
    double_vertices(mesh, &pairs, crowded.is_empty(), list);
    if !crowded.is_empty() {
        halve_edges(mesh);
    }
}

/// The triangles that go on in each other, side by side, and a vertex of each edge of more than
/// two.
fn paired(mesh: &Mesh) -> (Vec<[Side; 2]>, Vec<u32>) {
    let (mut pairs, mut crowded) = (Vec::new(), Vec::new());
    for edge in Sides::of(mesh).edges() {
        match edge {
            [_] => {}
            [a, b] => pairs.push([*a, *b]),
            _ => {
                crowded.push(edge[0].low);
                pairs.extend(around_edge(mesh, edge));
            }
        }
    }
    (pairs, crowded)
}

/// The corner of a triangle that is at none of an edge's vertices.
fn opposite(mesh: &Mesh, side: &Side) -> Vector {
    let corners = mesh.triangles[side.triangle as usize];
    let other = corners.into_iter().find(|&v| v != side.low && v != side.high);
    mesh.vertices[other.unwrap_or(side.low) as usize]
}

/// Pairs the triangles around an edge: those on both sides of one wedge of the solid, and then what
/// is left in order of the angles.
fn around_edge(mesh: &Mesh, edge: &[Side]) -> Vec<[Side; 2]> {
    let from = mesh.vertices[edge[0].low as usize];
    let axis = sub(mesh.vertices[edge[0].high as usize], from);
    let axis = scale(1.0 / norm(axis).max(f64::MIN_POSITIVE), axis);
    let arm = |side: &Side| {
        let arm = sub(opposite(mesh, side), from);
        sub(arm, scale(dot(arm, axis), axis))
    };
    let zero = arm(&edge[0]);
    let quarter = cross(axis, zero);
    let angle = |side: &Side| dot(arm(side), quarter).atan2(dot(arm(side), zero));
    let mut open: Vec<(f64, Side)> = edge.iter().map(|side| (angle(side), *side)).collect();
    open.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut open: Vec<Side> = open.into_iter().map(|(_, side)| side).collect();
    let mut pairs = Vec::new();
    // With the angle a triangle that runs backward is where a wedge of the solid begins.
    let wedge = |open: &[Side]| {
        let next = |k: usize| (k + 1) % open.len();
        (0..open.len()).find(|&k| !open[k].forward && open[next(k)].forward)
    };
    while let Some(k) = wedge(&open).filter(|_| open.len() > 1) {
        let next = (k + 1) % open.len();
        pairs.push([open[k], open[next]]);
        open.remove(k.max(next));
        open.remove(k.min(next));
    }
    pairs.extend(open.chunks_exact(2).map(|pair| [pair[0], pair[1]]));
    pairs
}

/// Gives each ring of triangles around a vertex one of its own.
fn double_vertices(mesh: &mut Mesh, pairs: &[[Side; 2]], is_reported: bool, list: &mut List) {
    let mut corners = DisjointSets::new(3 * mesh.triangles.len());
    let corner = |mesh: &Mesh, side: &Side, vertex: u32| {
        let at = mesh.triangles[side.triangle as usize].iter().position(|&v| v == vertex);
        3 * side.triangle + at.unwrap_or(0) as u32
    };
    for [a, b] in pairs {
        for vertex in [a.low, a.high] {
            corners.join(corner(mesh, a, vertex), corner(mesh, b, vertex));
        }
    }
    const NONE: u32 = u32::MAX;
    let mut ring_of = vec![NONE; mesh.vertices.len()];
    let mut own = vec![NONE; 3 * mesh.triangles.len()];
    let (mut count, mut first): (usize, Option<Vector>) = (0, None);
    for c in 0..own.len() as u32 {
        let root = corners.root(c) as usize;
        let vertex = mesh.triangles[c as usize / 3][c as usize % 3];
        if own[root] == NONE {
            let ring = &mut ring_of[vertex as usize];
            own[root] = if *ring == NONE {
                *ring = vertex;
                vertex
            } else {
                let place = mesh.vertices[vertex as usize];
                count += 1;
                first.get_or_insert(place);
                mesh.vertices.push(place);
                mesh.vertices.len() as u32 - 1
            };
        }
        mesh.triangles[c as usize / 3][c as usize % 3] = own[root];
    }
    // Those at edges are reported with the edges.
    list.add(What::VertexParted, if is_reported { count } else { 0 }, first.unwrap_or_default());
}

/// Gives edges that still have more than two triangles vertices in the middle, for all pairs but
/// the first.
fn halve_edges(mesh: &mut Mesh) {
    let mut cuts: Vec<[Side; 2]> = Vec::new();
    for edge in Sides::of(mesh).edges().filter(|edge| edge.len() > 2) {
        cuts.extend(around_edge(mesh, edge).into_iter().skip(1));
    }
    // A triangle is cut once; the next round finds the rest.
    let mut is_cut = vec![false; mesh.triangles.len()];
    for pair in cuts {
        if pair.iter().any(|side| is_cut[side.triangle as usize]) {
            continue;
        }
        let [a, b] = [pair[0].low, pair[0].high].map(|v| mesh.vertices[v as usize]);
        mesh.vertices.push(scale(0.5, add(a, b)));
        let middle = mesh.vertices.len() as u32 - 1;
        for side in pair {
            let t = side.triangle as usize;
            is_cut[t] = true;
            let half = |end: u32| mesh.triangles[t].map(|v| if v == end { middle } else { v });
            let halves = [half(side.low), half(side.high)];
            mesh.triangles[t] = halves[0];
            mesh.triangles.push(halves[1]);
            mesh.membership.push(mesh.membership[t]);
        }
    }
}
