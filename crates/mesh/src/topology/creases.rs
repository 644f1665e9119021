//! Sharp edges of a surface: where charge densities are singular or jump, so that triangles have to
//! be small across them.

use std::sync::atomic::{AtomicU8, Ordering};

use parallel::prelude::*;

use crate::surface::Mesh;
use crate::topology::{Side, Sides};
use crate::vector::{Vector, area_normal, cross, dot, max_norm, norm, scale};

/// Angles that differ by no more than this, in degrees, count as equal: regular shapes have many of
/// one angle, of which rounding should not choose some.
pub(crate) const EQUAL: f64 = 1e-7;

/// The sharp edges of a mesh; by default none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Creases {
    /// Pairs of vertices, the lower first, sorted.
    pub(crate) edges: Vec<(u32, u32)>,
    /// For each vertex whether it is an end of a sharp edge; vertices beyond are not.
    pub(crate) on: Vec<bool>,
}

impl Creases {
    /// All sharp edges as pairs of vertices, the lower first, sorted.
    pub fn edges(&self) -> &[(u32, u32)] {
        &self.edges
    }

    /// Whether the edge between two vertices, in either order, is sharp. O(log n).
    pub fn is_sharp(&self, p: u32, q: u32) -> bool {
        // Most edges are rejected by their ends, without a search.
        self.is_on(p) && self.is_on(q) && self.edges.binary_search(&(p.min(q), p.max(q))).is_ok()
    }

    /// Whether a vertex is an end of a sharp edge. O(1).
    pub fn is_on(&self, vertex: u32) -> bool {
        self.on.get(vertex as usize).is_some_and(|&on| on)
    }
}

/// The sharp edges of a valid mesh ([`Mesh::validate`]), in O(n).
///
/// Only triangles to which `surface` gives a number count. An edge is sharp where it has one of
/// them (a film ends), more than two (sheets meet), two of different surfaces, or two whose planes
/// (tangent planes in its middle, where they are curved) differ by more than `angle_degrees`: 0 is
/// flat, and 180 are two triangles that lie on each other. Which way the normals point makes no
/// difference. A triangle without area counts as flat.
pub fn find(
    mesh: &Mesh,
    surface: impl Fn(usize) -> Option<u32> + Sync,
    angle_degrees: f64,
) -> Creases {
    of_bends(mesh, surface, angle_degrees, |_, _| ())
}

/// As [`find`], and for each triangle whether all of its sides would be sharp edges if planes were
/// to differ by more than `plane_degrees`.
pub fn with_facets(
    mesh: &Mesh,
    surface: impl Fn(usize) -> Option<u32> + Sync,
    angle_degrees: f64,
    plane_degrees: f64,
) -> (Creases, Vec<bool>) {
    let bent: Vec<AtomicU8> = mesh.triangles.par_iter().map(|_| AtomicU8::new(0)).collect();
    let count = |edge: &[Side], bend: f64| {
        if bend > plane_degrees + EQUAL {
            let of = edge.iter().map(|side| &bent[side.triangle as usize]);
            of.for_each(|bent| _ = bent.fetch_add(1, Ordering::Relaxed));
        }
    };
    let creases = of_bends(mesh, surface, angle_degrees, count);
    (creases, bent.into_par_iter().map(|sides| sides.into_inner() == 3).collect())
}

/// The edges that bend by more than an angle; `each` gets the bend of every edge.
fn of_bends(
    mesh: &Mesh,
    surface: impl Fn(usize) -> Option<u32> + Sync,
    angle_degrees: f64,
    each: impl Fn(&[Side], f64) + Sync,
) -> Creases {
    let bend = |edge: &[Side]| {
        let mut at = edge.iter().filter_map(|side| Some((side, surface(side.triangle as usize)?)));
        match (at.next(), at.next(), at.next()) {
            (None, ..) => f64::NEG_INFINITY,
            (Some((first, s)), Some((second, t)), None) if s == t => {
                bend_degrees(mesh, first, second)
            }
            _ => f64::INFINITY,
        }
    };
    let sides = Sides::of(mesh);
    let sharp = |edge: &[Side]| {
        let bend = bend(edge);
        each(edge, bend);
        (bend > angle_degrees + EQUAL).then_some((edge[0].low, edge[0].high))
    };
    let edges: Vec<(u32, u32)> = sides.par_edges().filter_map(sharp).collect();
    let mut on = vec![false; mesh.vertices.len()];
    for &(p, q) in &edges {
        (on[p as usize], on[q as usize]) = (true, true);
    }
    Creases { edges, on }
}

/// By how much two triangles at an edge deviate from one plane, from 0 to 180; curved ones in the
/// middle of the edge.
fn bend_degrees(mesh: &Mesh, first: &Side, second: &Side) -> f64 {
    if mesh.patches.is_some() {
        let normal = |side: &Side| {
            let [along, into] = mesh.directions_at(side.triangle as usize, [side.low, side.high]);
            cross(along, into)
        };
        // Directions into neighbours in one plane are opposite.
        let [m, n] = [normal(first), scale(-1.0, normal(second))];
        return norm(cross(m, n)).atan2(dot(m, n)).to_degrees();
    }
    let [m, n] = [first, second].map(|side| normal(mesh.corners(side.triangle as usize)));
    // Triangles that run through an edge the same way have their normals on different sides.
    let n = if first.forward == second.forward { scale(-1.0, n) } else { n };
    // Unlike an arc cosine this is precise at 0 and 180 degrees, and 0 without area.
    norm(cross(m, n)).atan2(dot(m, n)).to_degrees()
}

/// A normal of about unit length; zero without area.
fn normal(corners: [Vector; 3]) -> Vector {
    let area = area_normal(corners);
    // Products of area vectors overflow where coordinates are large.
    let size = max_norm(area);
    if size > 0.0 { area.map(|x| x / size) } else { area }
}
