//! Flat triangles that cover each other in a plane, as pieces that do not; and triangles on which
//! others stand, as pieces that meet these.
//!
//! Lists of panels describe one place more than once: a box on another brings its own lower face,
//! metal in the wall of a dielectric has its own end there. What such a place is depends on all of
//! the panels on it. Boxes without a lower face stand in the middle of panels.

use crate::geometry::bvh::{Box3, Bvh};
use crate::planar::polygon::{area_vector, triangulate};
use crate::surface::Mesh;
use crate::topology::disjoint::DisjointSets;
use crate::vector::{Vector, add, cross, dot, norm, scale, sub};
use parallel::prelude::*;

/// Triangles whose normals differ by more than this do not lie in one plane, however small they
/// are.
const PARALLEL: f64 = 1e-3;

/// A convex part of a plane, covered by the same triangles all over.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Around it.
    pub corners: Vec<[f64; 3]>,
    /// The triangles on it, in their order.
    pub triangles: Vec<u32>,
}

impl Piece {
    /// Triangles that it consists of, as indices of its corners; none lower than `tolerance` but
    /// where it is all that low.
    pub fn parts(&self, tolerance: f64) -> Vec<[usize; 3]> {
        triangulate(&self.corners, tolerance)
    }

    /// A vector across it as long as its area, from where its corners run anticlockwise.
    pub fn area_vector(&self) -> [f64; 3] {
        area_vector(&self.corners)
    }
}

/// A side of a triangle that lies in another one.
type Standing = (u32, [Vector; 2]);

/// The pieces that triangles consist of which share area with others in one plane, or on which
/// sides of others stand, within `tolerance`; all other triangles are in none. For valid meshes
/// ([`Mesh::validate`]) of flat triangles, none of them without area.
pub fn pieces(mesh: &Mesh, tolerance: f64) -> Vec<Piece> {
    let (pairs, standing) = meetings(mesh, tolerance);
    let mut sets = DisjointSets::new(mesh.triangles.len());
    let mut members: Vec<u32> = pairs.iter().flatten().copied().collect();
    members.extend(standing.iter().map(|(on, _)| *on));
    for [s, t] in pairs {
        sets.join(s, t);
    }
    members.sort_unstable();
    members.dedup();
    let mut keyed: Vec<(u32, u32)> = members.into_iter().map(|t| (sets.root(t), t)).collect();
    keyed.sort_unstable();
    let groups: Vec<&[(u32, u32)]> = keyed.chunk_by(|a, b| a.0 == b.0).collect();
    let of_group = |group: &&[(u32, u32)]| {
        let mut found = Vec::new();
        for &(_, t) in *group {
            cover(&mut found, mesh.corners(t as usize).to_vec(), t, tolerance);
        }
        for &(_, t) in *group {
            let first = standing.partition_point(|(on, _)| *on < t);
            for (_, ends) in standing[first..].iter().take_while(|(on, _)| *on == t) {
                found = cut_along(found, *ends, tolerance);
            }
        }
        found
    };
    groups.par_iter().flat_map_iter(of_group).collect()
}

/// Pairs of triangles that share area, and sides that lie in triangles, by these.
fn meetings(mesh: &Mesh, tolerance: f64) -> (Vec<[u32; 2]>, Vec<Standing>) {
    let bounds = |t: usize| Box3::around(&mesh.corners(t)).grown(tolerance);
    let boxes: Vec<Box3> = (0..mesh.triangles.len()).into_par_iter().map(bounds).collect();
    let tree = Bvh::new(&boxes);
    let found: Vec<(u32, u32, Option<[Vector; 2]>)> = tree.overlapping_leaves(|a, b, found| {
        tree.pairs(a, b, |s, t| {
            if !boxes[s as usize].overlaps(&boxes[t as usize]) {
                return;
            }
            let [p, q] = [s, t].map(|t| mesh.corners(t as usize));
            if !is_in_plane(&p, &q, tolerance) {
                found.extend(standing(&p, &q, tolerance).map(|ends| (t, s, Some(ends))));
                found.extend(standing(&q, &p, tolerance).map(|ends| (s, t, Some(ends))));
            } else if intersection(&p, &q, tolerance).is_some() {
                found.push((s.min(t), s.max(t), None));
            }
        });
    });
    let mut pairs: Vec<[u32; 2]> =
        found.iter().filter(|(.., ends)| ends.is_none()).map(|&(s, t, _)| [s, t]).collect();
    pairs.sort_unstable();
    let mut standing: Vec<(u32, u32, [Vector; 2])> =
        found.into_iter().filter_map(|(on, from, ends)| Some((on, from, ends?))).collect();
    standing.sort_by_key(|(on, from, _)| (*on, *from));
    (pairs, standing.into_iter().map(|(on, _, ends)| (on, ends)).collect())
}

/// The side of a triangle that lies in another one, not along its rim.
fn standing(of: &[Vector; 3], on: &[Vector; 3], tolerance: f64) -> Option<[Vector; 2]> {
    let normal = normal(on);
    let is_on = |x: &Vector| dot(normal, sub(*x, on[0])).abs() <= tolerance;
    let sides = (0..3).map(|k| [of[k], of[(k + 1) % 3]]);
    sides.into_iter().find(|ends| ends.iter().all(is_on) && is_through(on, *ends, tolerance))
}

/// Whether a part of a line in the plane of a convex polygon lies inside of it.
fn is_through(polygon: &[Vector], [p, q]: [Vector; 2], tolerance: f64) -> bool {
    let (mut from, mut to) = (0.0f64, 1.0f64);
    for (at, inward) in lines(polygon, tolerance) {
        let [start, end] = [p, q].map(|x| dot(inward, sub(x, at)) - tolerance);
        match (start > 0.0, end > 0.0) {
            (true, true) => {}
            (false, false) => return false,
            (false, true) => from = from.max(start / (start - end)),
            (true, false) => to = to.min(start / (start - end)),
        }
    }
    (to - from) * norm(sub(q, p)) > tolerance
}

/// Cuts the pieces that a line goes through, all across.
fn cut_along(pieces: Vec<Piece>, ends: [Vector; 2], tolerance: f64) -> Vec<Piece> {
    let mut found = Vec::with_capacity(pieces.len() + 1);
    for Piece { corners, triangles } in pieces {
        if !is_through(&corners, ends, tolerance) {
            found.push(Piece { corners, triangles });
            continue;
        }
        let across = cross(area_vector(&corners), sub(ends[1], ends[0]));
        let line = (ends[0], scale(1.0 / norm(across), across));
        let (left, right) = cut(&corners, line, tolerance);
        let halves = [left, right].into_iter().flatten();
        found.extend(halves.map(|corners| Piece { corners, triangles: triangles.clone() }));
    }
    found
}

/// Whether two triangles lie in one plane.
#[doc(hidden)]
pub fn is_in_plane(p: &[Vector; 3], q: &[Vector; 3], tolerance: f64) -> bool {
    let [n, m] = [p, q].map(|corners| normal(corners));
    let off = |normal: Vector, from: Vector, corners: &[Vector; 3]| {
        corners.iter().map(|x| dot(normal, sub(*x, from)).abs()).fold(0.0, f64::max)
    };
    norm(cross(n, m)) <= PARALLEL && off(n, p[0], q).min(off(m, q[0], p)) <= tolerance
}

/// Adds a triangle to pieces that do not overlap.
fn cover(pieces: &mut Vec<Piece>, corners: Vec<Vector>, triangle: u32, tolerance: f64) {
    // Parts of it, and the first piece that each has not been compared with.
    let mut left = vec![(corners, 0)];
    while let Some((part, first)) = left.pop() {
        let hit = (first..pieces.len()).find_map(|k| {
            let common = intersection(&part, &pieces[k].corners, tolerance)?;
            Some((k, common))
        });
        let Some((k, common)) = hit else {
            pieces.push(Piece { corners: part, triangles: vec![triangle] });
            continue;
        };
        left.extend(outside(part, &common, tolerance).into_iter().map(|part| (part, k + 1)));
        let mut both = pieces[k].triangles.clone();
        both.push(triangle);
        let whole =
            std::mem::replace(&mut pieces[k], Piece { corners: common.clone(), triangles: both });
        let rest = outside(whole.corners, &common, tolerance).into_iter();
        pieces.extend(rest.map(|corners| Piece { corners, triangles: whole.triangles.clone() }));
    }
}

/// What two convex polygons of one plane share, if it is an area.
fn intersection(part: &[Vector], of: &[Vector], tolerance: f64) -> Option<Vec<Vector>> {
    let mut inner = part.to_vec();
    for line in lines(of, tolerance) {
        inner = cut(&inner, line, tolerance).0?;
    }
    Some(inner)
}

/// The parts of a convex polygon outside of another.
fn outside(part: Vec<Vector>, of: &[Vector], tolerance: f64) -> Vec<Vec<Vector>> {
    let (mut found, mut inner) = (Vec::new(), part);
    for line in lines(of, tolerance) {
        let (left, right) = cut(&inner, line, tolerance);
        found.extend(right);
        let Some(left) = left else { break };
        inner = left;
    }
    found
}

/// A point of a side, and the direction across it to the inside.
type Line = (Vector, Vector);

/// The normal of a polygon, of length 1.
fn normal(polygon: &[Vector]) -> Vector {
    let area = area_vector(polygon);
    scale(1.0 / norm(area), area)
}

fn lines(polygon: &[Vector], tolerance: f64) -> impl Iterator<Item = Line> {
    let normal = normal(polygon);
    let ends = (0..polygon.len()).map(move |k| (polygon[k], polygon[(k + 1) % polygon.len()]));
    let long = ends.filter(move |(p, q)| norm(sub(*q, *p)) > tolerance);
    long.map(move |(p, q)| {
        let along = sub(q, p);
        (p, scale(1.0 / norm(along), cross(normal, along)))
    })
}

/// The parts of a convex polygon on the inner and on the outer side of a line. Corners within the
/// tolerance are on it.
fn cut(
    polygon: &[Vector],
    (from, inward): Line,
    tolerance: f64,
) -> (Option<Vec<Vector>>, Option<Vec<Vector>>) {
    let heights: Vec<f64> = polygon
        .iter()
        .map(|x| dot(inward, sub(*x, from)))
        .map(|height| if height.abs() <= tolerance { 0.0 } else { height })
        .collect();
    let any = |side: f64| heights.iter().any(|height| height * side > 0.0);
    match (any(1.0), any(-1.0)) {
        (false, false) => return (None, None),
        (true, false) => return (Some(polygon.to_vec()), None),
        (false, true) => return (None, Some(polygon.to_vec())),
        (true, true) => {}
    }
    let (mut inner, mut outer) = (Vec::new(), Vec::new());
    for k in 0..polygon.len() {
        let next = (k + 1) % polygon.len();
        let (here, there) = (heights[k], heights[next]);
        if here >= 0.0 {
            inner.push(polygon[k]);
        }
        if here <= 0.0 {
            outer.push(polygon[k]);
        }
        if here * there < 0.0 {
            let share = here / (here - there);
            let crossing = add(polygon[k], scale(share, sub(polygon[next], polygon[k])));
            inner.push(crossing);
            outer.push(crossing);
        }
    }
    (Some(inner), Some(outer))
}
