//! Whether two curved triangles cross, or cover each other in a plane.
//!
//! Their control points ([`crate::bezier`]) are parted, by a plane, by a plane through the corner
//! that they share, or by a surface through the side that they share; or their flat triangles go
//! through each other deeper than the curved ones are off from them. If neither, both are cut into
//! quarters, whose bulges are four times as small, and so on. What is undecided in the end is so
//! near to touching that it counts as such.

use crate::bezier::{Bezier, longest};
use crate::bvh::Box3;
use crate::intersect::{Meeting, meet, overlap};
use crate::sheet::Sheet;
use crate::vector::{Vector, add, cross, dot, max_norm, norm, scale, sub};
use crate::weld::ROUNDINGS;

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
pub(crate) struct Part {
    patch: Bezier,
    corners: [Vector; 3],
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
    pub fn of(patch: Bezier) -> Self {
        Self::at(patch, longest(patch.corners()), 0)
    }

    fn at(patch: Bezier, whole: f64, depth: u32) -> Self {
        let corners = patch.corners();
        let (bounds, size, bulge) = (patch.bounds(), longest(corners), patch.bulge());
        let largest = corners.map(max_norm).into_iter().fold(0.0, f64::max);
        let rounding = (ROUNDINGS * f64::EPSILON * largest).max(FLAT * size);
        let bulge = if bulge > rounding { bulge } else { 0.0 };
        Self { patch, corners, bounds, bulge, size, whole, rounding, depth }
    }

    fn quarters(&self) -> [Self; 4] {
        self.patch.quarters().map(|patch| Self::at(patch, self.whole, self.depth + 1))
    }

    /// Whether there is nothing to be gained by quartering.
    fn is_last(&self) -> bool {
        self.depth == DEPTH || self.bulge == 0.0
    }
}

/// What is known of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    /// They have nothing in common but what they share.
    Apart,
    Meet(Meeting),
    /// Their parts have to be looked at; whether those of both at once.
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

/// What is known of two triangles that are nearly parallel, seen over one of them.
fn as_sheets(a: &Part, b: &Part) -> Option<Verdict> {
    let unit = |[a, b, c]: [Vector; 3]| {
        let normal = cross(sub(b, a), sub(c, a));
        scale(1.0 / norm(normal), normal)
    };
    let (n, m) = (unit(a.corners), unit(b.corners));
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
        let [x, y, z] = unit(corners);
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
    let normal = |[a, b, c]: [Vector; 3]| cross(sub(b, a), sub(c, a));
    if parts(normal(a.corners)) || parts(normal(b.corners)) {
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
    let normal = |[a, b, c]: [Vector; 3]| {
        let normal = cross(sub(b, a), sub(c, a));
        scale(1.0 / norm(normal), normal)
    };
    let (n, m) = (normal(s), normal(t));
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
    let [a, b, c] = corners;
    // The inscribed circle.
    let radius = norm(cross(sub(b, a), sub(c, a))) / sum;
    let centre: Vector =
        std::array::from_fn(|i| (0..3).map(|k| sides[k] * corners[k][i]).sum::<f64>() / sum);
    let left = 1.0 - by / radius;
    (left > 0.0).then(|| corners.map(|x| add(centre, scale(left, sub(x, centre)))))
}

/// Whether both lie in the plane of one of them but for rounding, curved as their sides may be.
fn is_within_plane(a: &Part, b: &Part) -> bool {
    let [p, q, r] = a.corners;
    let normal = cross(sub(q, p), sub(r, p));
    let most = FLAT * a.size.max(b.size) * norm(normal);
    let mut points = a.patch.hull().iter().chain(b.patch.hull());
    points.all(|x| dot(sub(*x, p), normal).abs() <= most)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::curved::{self, QUARTERS};
    use crate::generate::{
        ConcentricSpheres, Cylinder, Disk, Ellipsoid, Molecule, Resolution, Sphere, SphereBase,
        Torus, TwoSpheres,
    };
    use crate::intersect::{Intersection, intersections};
    use crate::join::joined;
    use crate::lift::smooth;
    use crate::patch::MAX_ORDER;
    use crate::refine;
    use crate::surface::{Mesh, Patches};
    use crate::transform::{Motion, moved};

    fn sphere(radius: f64, base: SphereBase, elements: usize, order: usize) -> Mesh {
        let resolution = Resolution::Elements(elements);
        let mesh = Sphere { radius, base, resolution }.build_curved(order).unwrap();
        assert_eq!(mesh.triangles.len(), elements);
        mesh
    }

    fn shifted(mesh: &Mesh, shift: Vector) -> Mesh {
        moved(mesh, |_| true, &Motion::along(shift))
    }

    fn both(a: &Mesh, b: &Mesh) -> Mesh {
        joined(vec![("a".into(), a.clone()), ("b".into(), b.clone())])
    }

    /// Pairs of flat triangles after so many halvings.
    fn flat_parts(mesh: &Mesh, halvings: usize) -> Vec<Intersection> {
        let mut fine = mesh.clone();
        for _ in 0..halvings {
            fine = refine::uniform(&fine, |_, _| [f64::NAN; 3]).unwrap();
        }
        intersections(&Mesh { patches: None, ..fine })
    }

    /// A hood over another one of the opposite bend whose corners are in the same plane.
    #[test]
    fn hoods_that_bend_away_from_each_other_are_apart_whatever_the_unit() {
        for unit in [1e-6, 1e-3, 1.0, 1e3] {
            let hood = |low: f64, high: f64, bend: f64| {
                let corner = |x: f64, y: f64| [unit * x, unit * y, 0.0];
                let mut mesh = Mesh {
                    vertices: vec![corner(low, low), corner(high, low), corner(low, high)],
                    triangles: vec![[0, 1, 2]],
                    membership: vec![0],
                    memberships: vec![vec![]],
                    ..Mesh::default()
                };
                let mut patches = Patches::straight(&mesh, 2);
                patches.nodes[3..].iter_mut().for_each(|node| node[2] = unit * bend);
                mesh.patches = Some(patches);
                mesh
            };
            let apart = both(&hood(0.0, 1.0, 2e-3), &hood(0.2, 0.4, -1e-3));
            assert_eq!(intersections(&apart), [], "{unit}");
            // One that bends upwards more goes through.
            let through = both(&hood(0.0, 1.0, 2e-3), &hood(0.2, 0.4, 5e-3));
            assert_eq!(intersections(&through).len(), 1, "{unit}");
        }
    }

    #[test]
    fn arcs_that_cross_are_found_where_chords_do_not() {
        for order in 2..=MAX_ORDER {
            for base in [SphereBase::Octahedron, SphereBase::Icosahedron] {
                // Eight triangles of order 3 fold.
                if base == SphereBase::Octahedron && order == 3 {
                    continue;
                }
                let one =
                    sphere(1.0, base, if base == SphereBase::Octahedron { 8 } else { 20 }, order);
                let way = if base == SphereBase::Octahedron {
                    [3f64.sqrt().recip(); 3]
                } else {
                    [1.0, 0.0, 0.0]
                };
                for (distance, crosses) in [(1.2, true), (1.5, true), (1.9, true), (2.1, false)] {
                    let other = shifted(&one, scale(distance, way));
                    let found = intersections(&both(&one, &other));
                    // Of order 2 the middle of a large triangle is less far out than its nodes.
                    let is_short = order == 2 && base == SphereBase::Octahedron;
                    let crosses = crosses && (!is_short || distance < 1.75);
                    assert_eq!(!found.is_empty(), crosses, "{order} {base:?} {distance}");
                    let half = one.triangles.len() as u32;
                    assert!(found.iter().all(|pair| pair.triangles[0] < half
                        && pair.triangles[1] >= half
                        && pair.meeting == Meeting::Crossing));
                }
            }
        }
    }

    #[test]
    fn shells_thinner_than_what_triangles_are_off_from_flat_ones_do_not_cross() {
        for order in 2..=MAX_ORDER {
            let core = sphere(1.0, SphereBase::Icosahedron, 80, order);
            for gap in [0.04, 0.02, 0.01] {
                let coat = sphere(1.0 + gap, SphereBase::Octahedron, 72, order);
                let mesh = both(&core, &coat);
                assert!(!intersections(&Mesh { patches: None, ..mesh.clone() }).is_empty());
                let found = intersections(&mesh);
                // Where curved triangles are that far off from the sphere, their parts tell. Within
                // a coat that is wider than one that none crosses there is no need to.
                if gap < 0.02 || (order == 2 && gap < 0.04) {
                    let expected = flat_parts(&mesh, 5);
                    assert_eq!(found.is_empty(), expected.is_empty(), "{order} {gap}");
                }
                assert!(order == 2 && gap < 0.02 || found.is_empty(), "{order} {gap} {found:?}");
            }
            let coat = sphere(1.0, SphereBase::Octahedron, 72, order);
            assert!(!intersections(&both(&core, &shifted(&coat, [0.2, 0.1, 0.0]))).is_empty());
        }
    }

    #[test]
    fn sound_curved_surfaces_have_none() {
        let resolution = Resolution::Elements(300);
        let base = SphereBase::Icosahedron;
        for order in 2..=MAX_ORDER {
            let ellipsoid = Ellipsoid { semi_axes: [1.0, 0.1, 3.0], base, resolution };
            let meshes = [
                sphere(1.0, SphereBase::Octahedron, 32, order),
                sphere(1.0, base, 20, order),
                sphere(1.0, base, 320, order),
                Torus { ring_radius: 1.0, tube_radius: 0.9, resolution }
                    .build_curved(order)
                    .unwrap(),
                Molecule { atoms: 12, resolution }.build_curved(order).unwrap(),
                Disk { radius: 1.0, grade: 30.0, resolution }.build_curved(order).unwrap(),
                Cylinder { radius: 1.0, length: 2.0, resolution }.build_curved(order).unwrap(),
                ellipsoid.build_curved(order).unwrap(),
                TwoSpheres { radius: 1.0, distance: 2.001, base, resolution }
                    .build_curved(3.0, order)
                    .unwrap(),
                ConcentricSpheres { inner_radius: 1.0, outer_radius: 1.01, base, resolution }
                    .build_curved(order)
                    .unwrap(),
            ];
            for (index, mesh) in meshes.iter().enumerate() {
                assert_eq!(intersections(mesh), [], "{order}: {index}");
                // The same elsewhere, turned over, and in another unit.
                let motion = Motion {
                    axis: [1.0, 2.0, -0.5],
                    angle: 0.7,
                    shift: [300.0, -20.0, 7.0],
                    ..Motion::along([0.0; 3])
                };
                assert_eq!(intersections(&moved(mesh, |_| true, &motion)), [], "{order}: {index}");
            }
        }
    }

    #[test]
    fn curved_bodies_that_share_faces_or_touch_do_not_cross() {
        let resolution = Resolution::Elements(200);
        for order in 2..=MAX_ORDER {
            let cylinder = Cylinder { radius: 1.0, length: 2.0, resolution };
            let cylinder = cylinder.build_curved(order).unwrap();
            // End to end with the same triangles, seen from both sides.
            let on_top = shifted(&cylinder, [0.0, 0.0, 2.0]);
            assert_eq!(intersections(&both(&cylinder, &on_top)), []);
            // Within a plane they do, as the flat triangles there.
            let beside = shifted(&cylinder, [0.3, 0.0, 2.0]);
            let found = intersections(&both(&cylinder, &beside));
            assert!(found.iter().any(|pair| pair.meeting == Meeting::Overlap), "{order}");
            // The same body twice.
            assert_eq!(intersections(&both(&cylinder, &cylinder)), []);
        }
        // At a vertex, where those of order 2 are pointed.
        let ball = sphere(1.0, SphereBase::Octahedron, 32, 2);
        assert_eq!(intersections(&both(&ball, &shifted(&ball, [2.0, 0.0, 0.0]))), []);
    }

    /// The middles of sides of one are those of the other, and no side goes through an inside.
    #[test]
    fn curved_spheres_that_mirror_each_other_cross() {
        for order in 2..=MAX_ORDER {
            let mut one = sphere(1.0, SphereBase::Octahedron, 32, order);
            one = shifted(&one, [0.8, 0.0, 0.0]);
            let mut other = one.clone();
            other.vertices.iter_mut().for_each(|x| x[0] = -x[0]);
            let patches = other.patches.as_mut().unwrap();
            patches.nodes.iter_mut().for_each(|x| x[0] = -x[0]);
            assert!(!intersections(&both(&one, &other)).is_empty(), "{order}");
        }
    }

    #[test]
    fn parts_of_a_mesh_made_curved_that_cross_are_found() {
        let flat = sphere(1.0, SphereBase::Octahedron, 32, 1);
        // Facing faces, whose flat triangles are apart.
        let way = [3f64.sqrt().recip(); 3];
        let mesh = both(&flat, &shifted(&flat, scale(1.9, way)));
        assert_eq!(intersections(&mesh), []);
        let lifted = smooth(&mesh, 60.0);
        assert!(!intersections(&lifted).is_empty());
        let apart = smooth(&both(&flat, &shifted(&flat, scale(2.01, way))), 60.0);
        assert_eq!(intersections(&apart), []);
    }

    /// Two triangles with random nodes, which share nothing, a corner, or a side: as their flat
    /// parts.
    #[test]
    fn random_patches_meet_as_their_parts_do() {
        let mut seed = 3u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let pairs = [[[0, 1, 2], [3, 4, 5]], [[0, 1, 2], [0, 3, 4]], [[0, 1, 2], [1, 0, 3]]];
        for triangles in pairs {
            let mut counts = [[0; 2]; 2];
            for trial in 0..400 {
                let order = 2 + trial % 3;
                let mut mesh = Mesh {
                    vertices: (0..6).map(|_| [random(), random(), 0.3 * random()]).collect(),
                    triangles: triangles.to_vec(),
                    membership: vec![0; 2],
                    memberships: vec![vec![]],
                    ..Mesh::default()
                };
                let mut patches = Patches::straight(&mesh, order);
                for t in 0..2 {
                    patches.of_mut(t)[3..].iter_mut().flatten().for_each(|x| *x += 0.1 * random());
                }
                if triangles[1][1] == 0 {
                    let side: Vec<Vector> = patches.of(0)[3..order + 2].to_vec();
                    let others = patches.of_mut(1)[3..order + 2].iter_mut().rev();
                    others.zip(side).for_each(|(to, from)| *to = from);
                }
                mesh.patches = Some(patches);
                mesh.validate().unwrap();
                if !curved::folds(&mesh).is_empty() {
                    continue;
                }
                let meets = |pairs: Vec<Intersection>, per: u32| {
                    pairs.iter().any(|pair| pair.triangles.map(|t| t / per) == [0, 1])
                };
                let expected = meets(flat_parts(&mesh, 4), 256);
                let found = meets(intersections(&mesh), 1);
                counts[usize::from(expected)][usize::from(found)] += 1;
            }
            // Next to what they share, crossings are smaller than flat parts show; some pairs
            // nearly touch.
            let [[neither, only_found], [missed, both]] = counts;
            assert!(missed <= 2 && only_found <= 6, "{triangles:?}: {counts:?}");
            assert!(neither > 25 && both > 25, "{triangles:?}: {counts:?}");
        }
    }

    #[test]
    fn parts_of_triangles_are_in_the_order_of_their_mesh() {
        let mesh = sphere(1.0, SphereBase::Octahedron, 32, 3);
        let nodes = mesh.patches.as_ref().unwrap().of(0);
        let patch = Part::of(Bezier::of(3, nodes));
        for (part, corners) in patch.quarters().iter().zip(QUARTERS) {
            for (own, at) in part.corners.iter().zip(corners) {
                assert!(norm(sub(*own, curved::point(3, nodes, at))) < 1e-15);
            }
        }
    }
}
