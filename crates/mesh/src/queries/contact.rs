//! Where different conductors touch: along lines, where their mutual capacitance has no bound, or
//! at points.
//!
//! The charge between two conductors at different potentials that meet in a line grows like one
//! over the distance from it, and its integral like the logarithm of the element size: refinement
//! has no limit. At a point that two corners share the integral is finite. Vertices need not be
//! shared: hanging nodes, walls that stand on plates and the like are found too.

use crate::geometry::bvh::{Box3, Bvh, MIXED};
use crate::geometry::curved::bezier::Bezier;
use crate::geometry::curved::is_straight;
use crate::geometry::curved::probe;
use crate::geometry::flat::triangle::distance_squared;
use crate::geometry::weld::ROUNDINGS;
use crate::patch::MAX_ORDER;
use crate::surface::Mesh;
use crate::vector::{
    Vector, add, area_normal, cross, dot, longest_side, max_norm, norm, scale, sub,
};
use parallel::prelude::*;

/// Surfaces touch that are closer than this times the size of the smaller triangle, or than
/// coordinates are rounded by.
const TOUCHING: f64 = 1e-9;

/// A contact at least this many times as long as that distance is a line; shorter ones are points
/// where surfaces meet at a flat angle.
const LINE: f64 = 1e4;

/// How two triangles touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// In a line, or in an area that lines bound.
    Line,
    /// In a point.
    Point,
}

/// Two triangles of different conductors that touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// How.
    pub touch: Touch,
    /// The triangles, the lower index first.
    pub triangles: [u32; 2],
    /// A place that they share.
    pub place: [f64; 3],
}

/// Finds the contacts between triangles of different conductors of a valid mesh
/// ([`Mesh::validate`]), lines first, each sort in the order of triangles. `conductor_of` has an
/// entry for each triangle, `None` for those that are in no conductor.
///
/// Surfaces that go through each other are not looked for: [`crate::queries::intersect`] does that.
/// O(n log n) for surfaces. Curved triangles touch along sides with the same nodes or, where sides
/// are straight, the same line, and at corners that lie on the other.
#[must_use]
pub fn contacts(mesh: &Mesh, conductor_of: &[Option<u32>]) -> Vec<Contact> {
    let members: Vec<(u32, u32)> =
        (0..).zip(conductor_of).filter_map(|(t, owner)| Some((t, (*owner)?))).collect();
    let Some(&(_, first)) = members.first() else { return Vec::new() };
    if members.iter().all(|(_, owner)| *owner == first) {
        return Vec::new();
    }
    let faces: Vec<Face> = members.par_iter().map(|&(t, _)| Face::of(mesh, t)).collect();
    let boxes: Vec<Box3> = faces.iter().map(Face::bounds).collect();
    let tree = Bvh::new(&boxes);
    let owners = tree.common(|member| members[member as usize].1);
    let mut found = tree.overlapping_leaves_but(
        |a, b| owners[a] == owners[b] && owners[a] != MIXED,
        |a, b, found| {
            tree.pairs(a, b, |s, t| {
                let (s, t) = (s as usize, t as usize);
                if members[s].1 != members[t].1
                    && boxes[s].overlaps(&boxes[t])
                    && let Some((touch, place)) = faces[s].touches(&faces[t])
                {
                    let (s, t) = (members[s].0, members[t].0);
                    found.push(Contact { touch, triangles: [s.min(t), s.max(t)], place });
                }
            });
        },
    );
    found.sort_unstable_by_key(|contact| (contact.touch, contact.triangles));
    found
}

/// A triangle with what it is compared by.
struct Face {
    corners: [Vector; 3],
    /// Its shape, if it is curved.
    patch: Option<Bezier>,
    /// Longest side.
    size: f64,
    /// What its coordinates are rounded by.
    rounding: f64,
}

impl Face {
    fn of(mesh: &Mesh, triangle: u32) -> Self {
        let corners = mesh.corners(triangle as usize);
        let patch = mesh.patches.as_ref().and_then(|patches| {
            let nodes = patches.of(triangle as usize);
            (!is_straight(patches.order, nodes)).then(|| Bezier::of(patches.order, nodes))
        });
        let largest = corners.map(max_norm).into_iter().fold(0.0, f64::max);
        let rounding = ROUNDINGS * f64::EPSILON * largest;
        Self { corners, patch, size: longest_side(corners), rounding }
    }

    fn bounds(&self) -> Box3 {
        let margin = TOUCHING * self.size + self.rounding;
        let bounds = match &self.patch {
            Some(patch) => patch.bounds(),
            None => Box3::around(&self.corners),
        };
        bounds.grown(margin)
    }

    /// The control points of a side; of a flat triangle its ends.
    fn side(&self, side: usize) -> ([Vector; MAX_ORDER + 1], usize) {
        match &self.patch {
            Some(patch) => (patch.side(side), patch.order()),
            None => {
                let mut ends = [[0.0; 3]; MAX_ORDER + 1];
                (ends[0], ends[1]) = (self.corners[side], self.corners[(side + 1) % 3]);
                (ends, 1)
            }
        }
    }

    /// The ends of a side, if it is straight but for `near`.
    fn straight_side(&self, side: usize, near: f64) -> Option<[Vector; 2]> {
        let (along, order) = self.side(side);
        let [p, q] = [along[0], along[order]];
        let is_on = |x: &Vector| distance_squared(*x, [p, q, q]) <= near * near;
        along[1..order].iter().all(is_on).then_some([p, q])
    }

    /// Where this triangle and another touch, one of them curved.
    fn touches_curved(&self, other: &Self, near: f64) -> Option<(Touch, Vector)> {
        for (s, t) in (0..9).map(|pair| (pair / 3, pair % 3)) {
            let ((along, order), (mut across, other_order)) = (self.side(s), other.side(t));
            let is_near = |x: &Vector, y: &Vector| norm(sub(*x, *y)) <= near;
            let is_same = |across: &[Vector]| {
                order == other_order
                    && along[..=order].iter().zip(across).all(|(x, y)| is_near(x, y))
            };
            let forth = is_same(&across);
            across[..=other_order].reverse();
            if forth || is_same(&across) {
                return Some((Touch::Line, along[order / 2]));
            }
            if let (Some([p, q]), Some([r, s])) =
                (self.straight_side(s, near), other.straight_side(t, near))
                && let Some(place) = common([p, q], [r, s], near)
            {
                return Some((Touch::Line, place));
            }
        }
        for (face, on) in [(self, other), (other, self)] {
            // Straight sides in a flat triangle.
            if on.patch.is_none() {
                let sides = (0..3).filter_map(|side| face.straight_side(side, near));
                if let Some(place) =
                    sides.into_iter().find_map(|side| shared(side, on.corners, near))
                {
                    return Some((Touch::Line, place));
                }
            }
        }
        for (face, on) in [(self, other), (other, self)] {
            let touching = |corner: &Vector| match &on.patch {
                Some(patch) => probe::is_on(*corner, patch, near),
                None => distance_squared(*corner, on.corners) <= near * near,
            };
            if let Some(place) = face.corners.into_iter().find(touching) {
                return Some((Touch::Point, place));
            }
        }
        None
    }

    /// Whether and where this triangle and another touch.
    fn touches(&self, other: &Self) -> Option<(Touch, Vector)> {
        let near = TOUCHING * self.size.min(other.size) + self.rounding.max(other.rounding);
        if self.patch.is_some() || other.patch.is_some() {
            return self.touches_curved(other, near);
        }
        let sides = |face: &Self| {
            let [a, b, c] = face.corners;
            [[a, b], [b, c], [c, a]]
        };
        let pairs = [(self, other), (other, self)];
        let lines = pairs.into_iter().flat_map(|(face, on)| sides(face).map(|side| (side, on)));
        if let Some(place) = lines.into_iter().find_map(|(side, on)| shared(side, on.corners, near))
        {
            return Some((Touch::Line, place));
        }
        let corners =
            pairs.into_iter().flat_map(|(face, on)| face.corners.map(|corner| (corner, on)));
        let touching =
            |(corner, on): &(Vector, &Self)| distance_squared(*corner, on.corners) <= near * near;
        if let Some((place, _)) = corners.into_iter().find(touching) {
            return Some((Touch::Point, place));
        }
        let crossing = sides(self)
            .into_iter()
            .flat_map(|side| sides(other).map(|across| (side, across)))
            .find_map(|(side, across)| crossing(side, across, near));
        crossing.map(|place| (Touch::Point, place))
    }
}

/// The middle of the part of a segment that lies within `near` of a triangle's plane and sides, if
/// that is a line.
fn shared([p, q]: [Vector; 2], corners: [Vector; 3], near: f64) -> Option<Vector> {
    let along = sub(q, p);
    let normal = area_normal(corners);
    let [a, b, c] = corners;
    let area = norm(normal);
    if area == 0.0 {
        return None;
    }
    let normal = scale(1.0 / area, normal);
    let (mut from, mut to) = (0.0f64, 1.0f64);
    // Keeps of the segment where a linear function of it is -near or more.
    let mut keep = |at_p: f64, slope: f64| {
        let (start, room) = (at_p + near, at_p + near + slope);
        if start < 0.0 && room < 0.0 {
            to = -1.0;
        } else if start < 0.0 {
            from = from.max(-start / slope);
        } else if room < 0.0 {
            to = to.min(-start / slope);
        }
    };
    let height = dot(normal, sub(p, a));
    let climb = dot(normal, along);
    keep(height, climb);
    keep(-height, -climb);
    for (r, s) in [(a, b), (b, c), (c, a)] {
        let side = sub(s, r);
        let inward = scale(1.0 / norm(side), cross(normal, side));
        keep(dot(inward, sub(p, r)), dot(inward, along));
    }
    let length = (to - from) * norm(along);
    (length > LINE * near).then(|| add(p, scale(f64::midpoint(from, to), along)))
}

/// The middle of what two segments have in common, if they lie on one line within `near`.
fn common([p, q]: [Vector; 2], [r, s]: [Vector; 2], near: f64) -> Option<Vector> {
    let along = sub(q, p);
    let length = norm(along);
    let unit = scale(1.0 / length, along);
    let at = [r, s].map(|x| {
        let arm = sub(x, p);
        let place = dot(arm, unit);
        (place, norm(sub(arm, scale(place, unit))))
    });
    if at.iter().any(|(_, off)| *off > near) {
        return None;
    }
    let from = at[0].0.min(at[1].0).max(0.0);
    let to = at[0].0.max(at[1].0).min(length);
    (to - from > LINE * near).then(|| add(p, scale(f64::midpoint(from, to), unit)))
}

/// Where two segments come within `near` of each other, if they do and are not parallel.
fn crossing([p, q]: [Vector; 2], [r, s]: [Vector; 2], near: f64) -> Option<Vector> {
    let (u, v, w) = (sub(q, p), sub(s, r), sub(p, r));
    let (uu, vv, uv) = (dot(u, u), dot(v, v), dot(u, v));
    let (uw, vw) = (dot(u, w), dot(v, w));
    let determinant = uu * vv - uv * uv;
    if determinant <= 1e-12 * uu * vv {
        return None;
    }
    let on_first = ((uv * vw - uw * vv) / determinant).clamp(0.0, 1.0);
    let on_second = ((uv * on_first + vw) / vv).clamp(0.0, 1.0);
    let place = add(p, scale(on_first, u));
    (norm(sub(place, add(r, scale(on_second, v)))) <= near).then_some(place)
}
