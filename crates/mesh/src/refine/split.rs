//! Refinement by marked edges: every marked edge gets a vertex, and the triangles at it are cut
//! accordingly.
//!
//! Any set of edges may be marked. The mesh stays conforming where triangles share vertices, since
//! a cut of a side is that of all triangles at it. Parts that touch without shared vertices, as
//! panels of FastCap do, are cut independently: only where both have the same edge, with the same
//! ends on creases, and both are marked, do they get vertices at the same place. Which edges to
//! mark so that triangles keep good shapes is left to the caller.
//!
//! Next to a sharp edge densities behave like a power of the distance from it, which equal halves
//! resolve slowly. Edges that lead away from one are therefore cut closer to it: repeated, that
//! makes layers along the edge which get thinner by the same factor each time. Each time there is
//! one diagonal more through the innermost layer, for each triangle at a sharp edge that is not
//! cut.

use parallel::prelude::*;

use crate::geometry::curved::{self, Barycentric, CORNERS};
use crate::refine::local_refine::EQUAL;
use crate::refine::{Error, numbered};
use crate::surface::{Mesh, Patches};
use crate::topology::creases::Creases;
use crate::vector::{Vector, norm, sub};

/// A mesh of which marked edges are split.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// The mesh. Its first vertices are those of the old mesh; new ones follow in the order of
    /// their edges.
    pub mesh: Mesh,
    /// For each triangle that of the old mesh which it is a part of, in increasing order.
    pub parent: Vec<u32>,
    /// The corners of each triangle, relative to the triangle that it is part of.
    pub within: Vec<[Barycentric; 3]>,
}

/// Where an edge is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// In its middle.
    Middle,
    /// At this fraction of its length from its lower vertex, between 0 and 1.
    FromLower(f64),
    /// The same from its upper vertex: a coordinate that both ends share is kept exactly.
    FromUpper(f64),
}

/// An edge, the lower vertex first, and where it is cut.
pub type Cut = ((u32, u32), Place);

/// Splits the `marked` edges (pairs of vertices, in any order) of a valid mesh
/// ([`Mesh::validate`]), as [`at`] does: in the middle, or, where one end of an edge alone is on a
/// crease, at the fraction of its length from that end which `grading` gives for the edge (its
/// lower vertex first), between 0 and 1.
///
/// # Errors
/// [`Error::TooMany`].
pub fn edges(
    mesh: &Mesh,
    creases: &Creases,
    marked: &[(u32, u32)],
    grading: impl Fn((u32, u32)) -> f64,
) -> Result<Split, Error> {
    let place = |(p, q): (u32, u32)| match (creases.is_on(p), creases.is_on(q)) {
        (true, false) => Place::FromLower(grading((p, q))),
        (false, true) => Place::FromUpper(grading((p, q))),
        // A sharp edge, one that leads from crease to crease, or one away from all.
        _ => Place::Middle,
    };
    let sorted = |&(p, q): &(u32, u32)| (p.min(q), p.max(q));
    at(mesh, marked.iter().map(sorted).map(|edge| (edge, place(edge))).collect())
}

/// Cuts edges of a valid mesh ([`Mesh::validate`]); of several cuts of an edge the first counts.
///
/// A triangle becomes one more triangle than it has cut sides, of its own orientation and groups,
/// in its plane; those without cut sides stay as they are. Parts of a curved triangle are parts of
/// its patch, and new vertices are on its curved sides, at these fractions of the parameter. Pairs
/// that are no edges of the mesh count for nothing. The result does not depend on the order of
/// different edges, and but for the order of triangles not on that of the mesh's triangles.
///
/// # Errors
/// [`Error::TooMany`].
pub fn at(mesh: &Mesh, mut marked: Vec<Cut>) -> Result<Split, Error> {
    marked.retain(|((p, q), _)| p != q);
    marked.par_sort_by_key(|(edge, _)| *edge);
    marked.dedup_by_key(|(edge, _)| *edge);
    let find = |(p, q): (u32, u32)| {
        marked.binary_search_by_key(&(p.min(q), p.max(q)), |(edge, _)| *edge).ok()
    };
    let sides = |&[a, b, c]: &[u32; 3]| [(a, b), (b, c), (c, a)].map(find);
    let sides: Vec<[Option<usize>; 3]> = mesh.triangles.par_iter().map(sides).collect();
    let cuts = || sides.iter().flatten().flatten();
    let count = numbered((mesh.triangles.len() + cuts().count()) as u64)?;

    let mut is_edge = vec![false; marked.len()];
    cuts().for_each(|&k| is_edge[k] = true);
    let mut vertices = mesh.vertices.clone();
    let mut vertex_of = vec![0; marked.len()];
    for (k, cut) in marked.iter().enumerate().filter(|(k, _)| is_edge[*k]) {
        vertex_of[k] = vertices.len() as u32;
        vertices.push(point(mesh, cut));
    }
    if let Some(patches) = &mesh.patches {
        // All triangles at a side have the same place there.
        for (t, sides) in sides.iter().enumerate() {
            for (side, k) in sides.iter().enumerate().filter_map(|(side, k)| Some((side, (*k)?))) {
                let at = on_side(mesh.triangles[t], side, marked[k].1);
                vertices[vertex_of[k] as usize] = curved::point(patches.order, patches.of(t), at);
            }
        }
    }

    let mut triangles = Vec::with_capacity(count);
    let mut membership = Vec::with_capacity(count);
    let mut parent = Vec::with_capacity(count);
    let mut within = Vec::with_capacity(count);
    for (t, (&corners, sides)) in mesh.triangles.iter().zip(sides).enumerate() {
        let on_sides = sides.map(|k| k.map(|k| vertex_of[k]));
        cut(&vertices, corners, on_sides, &mut triangles);
        let at = |v: u32| match corners.iter().position(|&corner| corner == v) {
            Some(corner) => CORNERS[corner],
            None => match on_sides.iter().position(|&vertex| vertex == Some(v)) {
                Some(side) => {
                    let place = sides[side].map_or(Place::Middle, |k| marked[k].1);
                    on_side(corners, side, place)
                }
                None => CORNERS[0],
            },
        };
        let parts = &triangles[parent.len()..];
        within.extend(parts.iter().map(|part: &[u32; 3]| part.map(at)));
        membership.resize(triangles.len(), mesh.membership[t]);
        parent.resize(triangles.len(), t as u32);
    }
    let patches = mesh.patches.as_ref().map(|from| {
        let nodes = |t: usize| {
            let (of, own) = (parent[t] as usize, triangles[t].map(|v| vertices[v as usize]));
            curved::triangle_of(from.order, from.of(of), within[t], own)
        };
        let nodes = (0..triangles.len()).into_par_iter().flat_map_iter(nodes).collect();
        Patches { order: from.order, nodes }
    });
    let (groups, memberships) = (mesh.groups.clone(), mesh.memberships.clone());
    Ok(Split {
        mesh: Mesh { vertices, triangles, groups, membership, memberships, patches },
        parent,
        within,
    })
}

/// As [`point`], in barycentric coordinates: where a side of a triangle is cut.
fn on_side(corners: [u32; 3], side: usize, place: Place) -> Barycentric {
    let (p, q) = (side, (side + 1) % 3);
    let (lower, upper) = if corners[p] < corners[q] { (p, q) } else { (q, p) };
    let mut at = [0.0; 3];
    (at[lower], at[upper]) = match place {
        Place::Middle => (0.5, 0.5),
        Place::FromLower(fraction) => (1.0 - fraction, fraction),
        Place::FromUpper(fraction) => (fraction, 1.0 - fraction),
    };
    at
}

/// Where an edge is cut. Both ways through an edge have the same place, bit by bit, so that edges
/// that lie on each other stay so.
fn point(mesh: &Mesh, ((p, q), place): &Cut) -> Vector {
    let [a, b] = [p, q].map(|v| mesh.vertices[*v as usize]);
    let toward = |near: Vector, far: Vector, fraction: f64| {
        std::array::from_fn(|i| near[i] + fraction * (far[i] - near[i]))
    };
    match *place {
        Place::Middle => std::array::from_fn(|i| f64::midpoint(a[i], b[i])),
        Place::FromLower(fraction) => toward(a, b, fraction),
        Place::FromUpper(fraction) => toward(b, a, fraction),
    }
}

/// Adds the parts of the triangle a, b, c with these vertices on its sides ab, bc and ca.
fn cut(
    vertices: &[Vector],
    [a, b, c]: [u32; 3],
    on_sides: [Option<u32>; 3],
    parts: &mut Vec<[u32; 3]>,
) {
    match on_sides {
        [None, None, None] => parts.push([a, b, c]),
        [Some(ab), None, None] => parts.extend([[a, ab, c], [ab, b, c]]),
        [Some(ab), None, Some(ca)] => {
            parts.push([a, ab, ca]);
            let length = |p: u32, q: u32| norm(sub(vertices[p as usize], vertices[q as usize]));
            let (from_b, from_c) = (length(b, ca), length(c, ab));
            // Equal but for rounding, that of the lower old vertex.
            let is_from_b = if from_b.max(from_c) <= from_b.min(from_c) * EQUAL {
                b < c
            } else {
                from_b < from_c
            };
            if is_from_b {
                parts.extend([[ab, b, ca], [b, c, ca]]);
            } else {
                parts.extend([[ab, b, c], [ab, c, ca]]);
            }
        }
        [Some(ab), Some(bc), Some(ca)] => {
            parts.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        }
        // One of these, turned.
        [ab, bc, ca] => cut(vertices, [b, c, a], [bc, ca, ab], parts),
    }
}
