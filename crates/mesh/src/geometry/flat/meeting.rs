//! Whether two flat triangles cross, or cover each other in a plane, by exact signs.

use robust::{Coord, Coord3D, orient2d, orient3d};

use crate::vector::{Vector, add, area_normal, scale};

/// How two triangles meet that should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Meeting {
    /// A side of one goes through the inside of the other.
    Crossing,
    /// They lie in one plane and share area.
    Overlap,
}

/// How two flat triangles meet that should not, by exact signs; neighbours do not by their shared
/// corners alone.
pub fn meet(s: [Vector; 3], t: [Vector; 3]) -> Option<Meeting> {
    let sides_of_t = t.map(|corner| side(s, corner));
    if apart(sides_of_t) {
        return None;
    }
    if sides_of_t == [0; 3] {
        return (!same_corners(s, t) && overlap(s, t)).then_some(Meeting::Overlap);
    }
    let sides_of_s = s.map(|corner| side(t, corner));
    if apart(sides_of_s) {
        return None;
    }
    (crosses(s, sides_of_s, t, sides_of_t)).then_some(Meeting::Crossing)
}

/// On which side of a triangle's plane a point lies: 1, -1, or 0 in it.
pub fn side([a, b, c]: [Vector; 3], point: Vector) -> i8 {
    // Exact arithmetic is slow to find the 0 of a shared corner, which most pairs of triangles
    // have.
    if [a, b, c].contains(&point) {
        return 0;
    }
    sign(orient3d(coordinates(a), coordinates(b), coordinates(c), coordinates(point)))
}

/// Whether all corners lie on one side, none in the plane.
pub fn apart(sides: [i8; 3]) -> bool {
    sides == [1; 3] || sides == [-1; 3]
}

/// Whether the insides of two triangles whose planes meet have a segment of the planes' line in
/// common.
///
/// Each triangle that the other's plane cuts takes an interval of the line, and the ends of
/// intervals are compared by four of the corners each (P. Guigue & O. Devillers, J. Graphics Tools
/// 8 (2003) 25), so that sides which meet sides are handled alike: two surfaces that mirror each
/// other meet only in such points.
fn crosses(s: [Vector; 3], sides_of_s: [i8; 3], t: [Vector; 3], sides_of_t: [i8; 3]) -> bool {
    let (Some((mut s, s_side)), Some((mut t, t_side))) =
        (one_apart(s, sides_of_s), one_apart(t, sides_of_t))
    else {
        return false;
    };
    // Both first corners on the side that `side` calls 1, which depends on the way around the other
    // triangle.
    if s_side < 0 {
        t.swap(1, 2);
    }
    if t_side < 0 {
        s.swap(1, 2);
    }
    let ([p, q, r], [u, v, w]) = (s.map(coordinates), t.map(coordinates));
    sign(orient3d(v, u, p, q)) > 0 && sign(orient3d(w, u, r, p)) > 0
}

/// The triangle begun at a corner that is alone on its side of a plane, and that side; `None` if
/// the plane does not cut it.
fn one_apart([a, b, c]: [Vector; 3], sides: [i8; 3]) -> Option<([Vector; 3], i8)> {
    if !(sides.contains(&1) && sides.contains(&-1)) {
        return None;
    }
    let alone = (0..3)
        .find(|&i| sides.iter().filter(|side| **side == sides[i]).count() == 1 && sides[i] != 0)?;
    Some(([[a, b, c], [b, c, a], [c, a, b]][alone], sides[alone]))
}

fn same_corners(s: [Vector; 3], t: [Vector; 3]) -> bool {
    s.iter().all(|corner| t.contains(corner))
}

/// Whether two triangles in one plane share area.
pub(crate) fn overlap(s: [Vector; 3], t: [Vector; 3]) -> bool {
    let normal = area_normal(s);
    // The projection along the largest component of the normal leaves coordinates as they are.
    let mut drop = 0;
    for i in 1..3 {
        if normal[i].abs() > normal[drop].abs() {
            drop = i;
        }
    }
    let flat = |point: Vector| Coord { x: point[(drop + 1) % 3], y: point[(drop + 2) % 3] };
    let (flat_s, flat_t) = (s.map(flat), t.map(flat));
    let turn = |a: Coord<f64>, b: Coord<f64>, c: Coord<f64>| {
        let same = a == b || b == c || c == a;
        if same { 0 } else { sign(orient2d(a, b, c)) }
    };
    let inside = |face: [Coord<f64>; 3], point: Coord<f64>| {
        let [a, b, c] = face;
        apart([turn(a, b, point), turn(b, c, point), turn(c, a, point)])
    };
    let cut = |a: Coord<f64>, b: Coord<f64>, c: Coord<f64>, d: Coord<f64>| {
        turn(a, b, c) * turn(a, b, d) < 0 && turn(c, d, a) * turn(c, d, b) < 0
    };
    let centre = |[a, b, c]: [Vector; 3]| flat(scale(1.0 / 3.0, add(add(a, b), c)));
    let next = |i: usize| (i + 1) % 3;
    // Sides that cut, a corner inside the other, or, where corners lie on sides, a centre inside
    // the other.
    (0..3).any(|i| {
        (0..3).any(|j| cut(flat_s[i], flat_s[next(i)], flat_t[j], flat_t[next(j)]))
            || inside(flat_s, flat_t[i])
            || inside(flat_t, flat_s[i])
    }) || inside(flat_s, centre(t))
        || inside(flat_t, centre(s))
}

fn coordinates([x, y, z]: Vector) -> Coord3D<f64> {
    Coord3D { x, y, z }
}

fn sign(value: f64) -> i8 {
    i8::from(value > 0.0) - i8::from(value < 0.0)
}
