//! Whether two curved triangles cross, or cover each other in a plane.
//!
//! Their control points ([`crate::geometry::curved::bezier`]) are parted, by a plane, by a plane
//! through the corner that they share, or by a surface through the side that they share; or their
//! flat triangles go through each other deeper than the curved ones are off from them. If neither,
//! both are cut into quarters, whose bulges are four times as small, and so on. What is undecided
//! in the end is so near to touching that it counts as such.

use crate::geometry::bvh::Box3;
use crate::geometry::curved::bezier::Bezier;
use crate::geometry::curved::sheet::Sheet;
use crate::geometry::flat::meeting::{Meeting, meet, overlap};
use crate::geometry::weld::ROUNDINGS;
use crate::vector::{
    Vector, add, area_normal, cross, dot, longest_side, max_norm, norm, scale, sub,
};

/// Quarterings of a triangle, at most: in all, and at each attempt.
const DEPTH: u32 = DEPTHS[2];
const DEPTHS: [u32; 3] = [3, 6, 10];

/// Bulges below this share of the size of a triangle are rounding.
const FLAT: f64 = 1e-13;

/// Steps to a plane between two sets of points.
const STEPS: usize = 12;

/// Sheets within this share of the size of their triangles cover each other.
const COVERING: f64 = 1e-7;

/// Parts of more quarterings are so small that sheets which touch in a point do so there, too.
const COVERS: u32 = 6;

/// Least cosine between the normals of triangles that are compared as sheets.
const PARALLEL: f64 = 0.7;

/// Points whose sides of a plane rounding decides are on neither.
const ROUNDING: f64 = 1e-14;

/// A curved triangle, or a part of one, with what it is compared by.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    patch: Bezier,
    /// Its corners.
    pub corners: [Vector; 3],
    bounds: Box3,
    bulge: f64,
    size: f64,
    /// The size of the triangle that it is a part of.
    whole: f64,
    /// Points that are so near are one.
    rounding: f64,
    depth: u32,
}

impl Part {
    /// The whole of a curved triangle.
    pub fn of(patch: Bezier) -> Self {
        Self::at(patch, longest_side(patch.corners()), 0)
    }

    fn at(patch: Bezier, whole: f64, depth: u32) -> Self {
        let corners = patch.corners();
        let (bounds, size, bulge) = (patch.bounds(), longest_side(corners), patch.bulge());
        let largest = corners.map(max_norm).into_iter().fold(0.0, f64::max);
        let rounding = (ROUNDINGS * f64::EPSILON * largest).max(FLAT * size);
        let bulge = if bulge > rounding { bulge } else { 0.0 };
        Self { patch, corners, bounds, bulge, size, whole, rounding, depth }
    }

    /// Its four parts ([`Bezier::quarters`]).
    pub fn quarters(&self) -> [Self; 4] {
        self.patch.quarters().map(|patch| Self::at(patch, self.whole, self.depth + 1))
    }

    /// Whether there is nothing to be gained by quartering.
    fn is_last(&self) -> bool {
        self.depth == DEPTH || self.bulge == 0.0
    }
}

/// State of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    /// They have nothing in common but what they share.
    Apart,
    Meet(Meeting),
    /// Their parts have to be compared; true if both are split at once.
    Open(bool),
}

/// Whether a pair needs no closer look, with the answer.
pub(crate) fn at_once(a: &Part, b: &Part) -> Option<Option<Meeting>> {
    match judge(a, b) {
        Verdict::Apart => Some(None),
        Verdict::Meet(meeting) => Some(Some(meeting)),
        Verdict::Open(_) if a.is_last() && b.is_last() => Some(None),
        Verdict::Open(_) => None,
    }
}

/// Parts of a triangle, each made once.
struct Parts {
    all: Vec<Part>,
    /// The first of the four parts of each; 0 where there are none yet.
    first: Vec<usize>,
}

impl Parts {
    fn of(whole: Part) -> Self {
        Self { all: vec![whole], first: vec![0] }
    }

    fn quarters(&mut self, index: usize) -> std::ops::Range<usize> {
        if self.first[index] == 0 {
            self.first[index] = self.all.len();
            self.all.extend(self.all[index].quarters());
            self.first.resize(self.all.len(), 0);
        }
        self.first[index]..self.first[index] + 4
    }
}

/// How two curved triangles meet that should not, found by looking at `most` pairs of parts, at
/// most.
///
/// Each time to a greater depth: first where there is much to be seen at a glance.
pub(crate) fn meeting(a: Part, b: Part, most: usize) -> Option<Meeting> {
    let (mut left, mut right) = (Parts::of(a), Parts::of(b));
    let mut seen = 0;
    for depth in DEPTHS {
        let mut open = vec![(0, 0)];
        let mut is_cut_short = false;
        while let Some((s, t)) = open.pop() {
            seen += 1;
            if seen > most {
                return None;
            }
            let (p, q) = (&left.all[s], &right.all[t]);
            let cuts_both = match judge(p, q) {
                Verdict::Apart => continue,
                Verdict::Meet(meeting) => return Some(meeting),
                Verdict::Open(cuts_both) => cuts_both,
            };
            if p.depth.min(q.depth) >= depth {
                is_cut_short = true;
                continue;
            }
            let cuts = match (p.is_last(), q.is_last()) {
                (true, true) => continue,
                _ if cuts_both => [true; 2],
                (true, false) => [false, true],
                (false, true) => [true, false],
                (false, false) => [p.size >= q.size, p.size < q.size],
            };
            let of_left = if cuts[0] { left.quarters(s) } else { s..s + 1 };
            let of_right = if cuts[1] { right.quarters(t) } else { t..t + 1 };
            for s in of_left {
                let bounds = &left.all[s].bounds;
                let near = of_right.clone().filter(|&t| bounds.overlaps(&right.all[t].bounds));
                open.extend(near.map(|t| (s, t)));
            }
        }
        if !is_cut_short {
            return None;
        }
    }
    None
}

fn judge(a: &Part, b: &Part) -> Verdict {
    if !a.bounds.overlaps(&b.bounds) {
        return Verdict::Apart;
    }
    let near = a.rounding.max(b.rounding);
    let mut shared = [(0, 0); 3];
    let mut count = 0;
    for i in 0..3 {
        if let Some(j) = (0..3).find(|&j| is_near(a.corners[i], b.corners[j], near)) {
            shared[count] = (i, j);
            count += 1;
        }
    }
    let (apart, cuts_both) = match count {
        0 => (by_plane(a, b), false),
        1 => (at_corner(a, b, a.corners[shared[0].0], near), false),
        2 => match common_sides(&a.patch, &b.patch, near).next() {
            Some([s, t]) => (at_side(a, b, s, t), true),
            None => (false, true),
        },
        // Triangles with the same corners and the same shape are found elsewhere.
        _ => (is_same(&a.patch, &b.patch, near), true),
    };
    if apart {
        return Verdict::Apart;
    }
    let tolerance = a.bulge + b.bulge;
    match meet(a.corners, b.corners) {
        Some(Meeting::Crossing)
            if tolerance == 0.0 || crosses_by(a.corners, b.corners, [2.0 * tolerance; 2]) =>
        {
            Verdict::Meet(Meeting::Crossing)
        }
        Some(Meeting::Overlap)
            if tolerance == 0.0
                || matches!(
                    (shrunk(a.corners, tolerance), shrunk(b.corners, tolerance)),
                    (Some(s), Some(t)) if is_within_plane(a, b) && overlap(s, t)
                ) =>
        {
            Verdict::Meet(Meeting::Overlap)
        }
        _ if count == 0 => as_sheets(a, b).unwrap_or(Verdict::Open(false)),
        _ => Verdict::Open(cuts_both),
    }
}

/// The verdict on two triangles that are nearly parallel, seen over one of them.
fn as_sheets(a: &Part, b: &Part) -> Option<Verdict> {
    let (n, m) = (unit_normal(a.corners), unit_normal(b.corners));
    let cosine = dot(n, m);
    if cosine.is_nan() || cosine.abs() < PARALLEL {
        return None;
    }
    let sum = add(n, scale(cosine.signum(), m));
    let sheet = Sheet::through(&a.patch, scale(1.0 / norm(sum), sum))?;
    let (s, t) = (sheet.seen(&a.patch), sheet.seen(&b.patch));
    let ([low, high], [from, to]) = (s.heights, t.heights);
    let rounding = a.rounding.max(b.rounding);
    if high + rounding < from || to + rounding < low {
        return Some(Verdict::Apart);
    }
    // Along the plane, and in height.
    let along = s.off[0] + t.off[0];
    let slope = |corners: [Vector; 3]| {
        let [x, y, z] = unit_normal(corners);
        x.hypot(y) / z.abs()
    };
    let steepest = slope(s.corners).max(slope(t.corners));
    let upward = s.off[1] + t.off[1] + steepest * along;
    let is_crossing = meet(s.corners, t.corners) == Some(Meeting::Crossing)
        && crosses_by(s.corners, t.corners, [2.0 * upward, 2.0 * along].map(|x| x.max(rounding)));
    if is_crossing {
        return Some(Verdict::Meet(Meeting::Crossing));
    }
    let is_thin = high.max(to) - low.min(from) <= COVERING * a.whole.min(b.whole);
    let flat = |corners: [Vector; 3]| shrunk(corners.map(|[x, y, _]| [x, y, 0.0]), along);
    let covers = is_thin
        && a.depth.max(b.depth) <= COVERS
        && matches!((flat(s.corners), flat(t.corners)), (Some(s), Some(t)) if overlap(s, t));
    covers.then_some(Verdict::Meet(Meeting::Overlap))
}

fn is_near(x: Vector, y: Vector, near: f64) -> bool {
    max_norm(sub(x, y)) <= near
}

/// The sides that two patches share, by their indices.
fn common_sides<'a>(
    a: &'a Bezier,
    b: &'a Bezier,
    near: f64,
) -> impl Iterator<Item = [usize; 2]> + 'a {
    let order = a.order();
    let same = move |s: usize, t: usize| {
        let (along, mut other) = (a.side(s), b.side(t));
        let is_same = |other: &[Vector]| {
            along[..=order].iter().zip(other).all(|(x, y)| is_near(*x, *y, near))
        };
        if is_same(&other) {
            return true;
        }
        other[..=order].reverse();
        is_same(&other)
    };
    (0..3).flat_map(move |s| (0..3).filter(move |&t| same(s, t)).map(move |t| [s, t]))
}

/// Whether two patches have the same control points.
pub(crate) fn is_same(a: &Bezier, b: &Bezier, near: f64) -> bool {
    let is_in_other = |x: &Vector| b.hull().iter().any(|y| is_near(*x, *y, near));
    common_sides(a, b, near).count() >= 3 && a.hull().iter().all(is_in_other)
}

/// The direction in which all of these points lie, if one is found: that of the point of their hull
/// that is nearest to 0 (E. Gilbert, SIAM J. Control 4 (1966) 61).
fn direction(points: &[Vector]) -> Option<Vector> {
    let sum = points.iter().fold([0.0; 3], |sum, x| add(sum, *x));
    let mut nearest = scale(1.0 / points.len() as f64, sum);
    for _ in 0..STEPS {
        let (mut least, mut support) = (f64::INFINITY, [0.0; 3]);
        for &x in points {
            let along = dot(nearest, x);
            if along < least {
                (least, support) = (along, x);
            }
        }
        if least > ROUNDING * norm(nearest) * norm(support) {
            return Some(nearest);
        }
        // The nearest point of the segment to it.
        let way = sub(support, nearest);
        let length = dot(way, way);
        if length == 0.0 {
            return None;
        }
        let share = (-dot(nearest, way) / length).clamp(0.0, 1.0);
        nearest = add(nearest, scale(share, way));
    }
    None
}

/// Whether a plane has them on different sides.
fn by_plane(a: &Part, b: &Part) -> bool {
    let (ours, others) = (a.patch.hull(), b.patch.hull());
    let span = |hull: &[Vector], axis: Vector| {
        hull.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| {
            let along = dot(axis, *x);
            [low.min(along), high.max(along)]
        })
    };
    let parts = |axis: Vector| {
        let ([a, b], [c, d]) = (span(ours, axis), span(others, axis));
        let rounding = ROUNDING * [a, b, c, d].iter().fold(0.0f64, |most, x| most.max(x.abs()));
        b + rounding < c || d + rounding < a
    };
    if parts(area_normal(a.corners)) || parts(area_normal(b.corners)) {
        return true;
    }
    let middle = |hull: &[Vector]| {
        scale(1.0 / hull.len() as f64, hull.iter().fold([0.0; 3], |sum, x| add(sum, *x)))
    };
    let mut nearest = sub(middle(others), middle(ours));
    for _ in 0..STEPS {
        let furthest = |hull: &[Vector], sign: f64| {
            let along = |x: &&Vector| sign * dot(nearest, **x);
            hull.iter().max_by(|x, y| along(x).total_cmp(&along(y))).copied().unwrap_or_default()
        };
        let support = sub(furthest(others, -1.0), furthest(ours, 1.0));
        if dot(support, nearest) > 0.0 && parts(nearest) {
            return true;
        }
        let way = sub(support, nearest);
        let length = dot(way, way);
        if length == 0.0 {
            return false;
        }
        let share = (-dot(nearest, way) / length).clamp(0.0, 1.0);
        if share == 0.0 {
            return false;
        }
        nearest = add(nearest, scale(share, way));
    }
    false
}

/// Whether a plane through the corner that they share has them on different sides.
fn at_corner(a: &Part, b: &Part, corner: Vector, near: f64) -> bool {
    let mut points = [[0.0; 3]; 2 * crate::patch::MAX_NODES];
    let mut count = 0;
    for (hull, sign) in [(a.patch.hull(), -1.0), (b.patch.hull(), 1.0)] {
        for x in hull.iter().filter(|x| !is_near(**x, corner, near)) {
            let arm = sub(*x, corner);
            points[count] = scale(sign / norm(arm), arm);
            count += 1;
        }
    }
    // A control point that falls on the corner makes a cusp there.
    count == a.patch.hull().len() + b.patch.hull().len() - 2
        && direction(&points[..count]).is_some()
}

/// Whether a surface through the side that they share has them on different sides.
///
/// Seen along a direction across the side, which is monotonous along its chord, the side is a
/// curve of slopes up to some value, and so is the surface; whatever leaves it more steeply stays
/// on its side of it.
fn at_side(a: &Part, b: &Part, side: usize, other: usize) -> bool {
    let order = a.patch.order();
    let along = a.patch.side(side);
    let chord = sub(along[order], along[0]);
    let way = scale(1.0 / norm(chord), chord);
    let apex = |part: &Part, side: usize| {
        let [p, q, apex] = [0, 1, 2].map(|k| part.corners[(side + k) % 3]);
        let base = sub(q, p);
        let share = (dot(sub(apex, p), base) / dot(base, base)).clamp(0.0, 1.0);
        let rise = sub(sub(apex, p), scale(share, base));
        let across = sub(rise, scale(dot(rise, way), way));
        ([1.0 - share, share], scale(1.0 / norm(across), across))
    };
    let ((shares, down), (other_shares, up)) = (apex(a, side), apex(b, other));
    let across = sub(up, down);
    let length = norm(across);
    if length.is_nan() || length < 1e-6 {
        return false;
    }
    let across = scale(1.0 / length, across);
    let mut slope = 0.0f64;
    for ends in along[..=order].windows(2) {
        let step = sub(ends[1], ends[0]);
        let forward = dot(step, way);
        if forward <= 0.0 {
            return false;
        }
        slope = slope.max((dot(step, across) / forward).abs());
    }
    let leaves = |part: &Part, side: usize, shares: [f64; 2], sign: f64| {
        part.patch.rises(side, shares).all(|rise| {
            let rest = slope * dot(rise, way).abs() + ROUNDING * norm(rise);
            sign * dot(rise, across) > rest
        })
    };
    leaves(a, side, shares, -1.0) && leaves(b, other, other_shares, 1.0)
}

/// Whether two flat triangles that cross would go on doing so if either were moved a little: each
/// has corners further than `depth` on both sides of the other's plane, and the line that they have
/// in common is longer than `length`.
fn crosses_by(s: [Vector; 3], t: [Vector; 3], [depth, length]: [f64; 2]) -> bool {
    let (n, m) = (unit_normal(s), unit_normal(t));
    let heights = |of: [Vector; 3], over: [Vector; 3], normal: Vector| {
        of.map(|corner| dot(sub(corner, over[0]), normal))
    };
    let (of_s, of_t) = (heights(s, t, m), heights(t, s, n));
    let is_deep = |heights: [f64; 3]| {
        let [low, high] = heights.iter().fold([0.0f64; 2], |[a, b], x| [a.min(*x), b.max(*x)]);
        -low > depth && high > depth
    };
    if !(is_deep(of_s) && is_deep(of_t)) {
        return false;
    }
    let line = cross(n, m);
    let line = scale(1.0 / norm(line), line);
    let span = |corners: [Vector; 3], heights: [f64; 3]| {
        let mut span = [f64::INFINITY, f64::NEG_INFINITY];
        for i in 0..3 {
            let (p, q) = (heights[i], heights[(i + 1) % 3]);
            if p * q <= 0.0 && p != q {
                let ends = [i, (i + 1) % 3].map(|k| dot(sub(corners[k], s[0]), line));
                let at = ends[0] + p / (p - q) * (ends[1] - ends[0]);
                span = [span[0].min(at), span[1].max(at)];
            }
        }
        span
    };
    let (ours, others) = (span(s, of_s), span(t, of_t));
    ours[1].min(others[1]) - ours[0].max(others[0]) > length
}

/// A triangle with its sides moved inward.
fn shrunk(corners: [Vector; 3], by: f64) -> Option<[Vector; 3]> {
    let side = |k: usize| norm(sub(corners[(k + 2) % 3], corners[(k + 1) % 3]));
    let sides = [side(0), side(1), side(2)];
    let sum: f64 = sides.iter().sum();
    // The inscribed circle.
    let radius = norm(area_normal(corners)) / sum;
    let centre: Vector =
        std::array::from_fn(|i| (0..3).map(|k| sides[k] * corners[k][i]).sum::<f64>() / sum);
    let left = 1.0 - by / radius;
    (left > 0.0).then(|| corners.map(|x| add(centre, scale(left, sub(x, centre)))))
}

/// Whether both lie in the plane of one of them but for rounding, curved as their sides may be.
fn is_within_plane(a: &Part, b: &Part) -> bool {
    let normal = area_normal(a.corners);
    let most = FLAT * a.size.max(b.size) * norm(normal);
    let mut points = a.patch.hull().iter().chain(b.patch.hull());
    points.all(|x| dot(sub(*x, a.corners[0]), normal).abs() <= most)
}

fn unit_normal(corners: [Vector; 3]) -> Vector {
    let normal = area_normal(corners);
    scale(1.0 / norm(normal), normal)
}
