//! A flat triangle and a point or a line: solid angle, distance, where they meet.

use crate::vector::{Vector, add, area_normal, cross, dot, norm, scale, sub};

/// A line that meets a triangle at a barycentric coordinate below this may miss it.
pub(crate) const RIM: f64 = 1e-6;

/// Where a line meets a triangle, or passes it so near that rounding decides: how far along it, and
/// the least barycentric coordinate there. T. Möller and B. Trumbore, 1997.
pub fn meeting(from: Vector, direction: Vector, [a, b, c]: [Vector; 3]) -> Option<(f64, f64)> {
    let (ab, ac) = (sub(b, a), sub(c, a));
    let p = cross(direction, ac);
    let determinant = dot(ab, p);
    if determinant == 0.0 {
        return None;
    }
    let s = sub(from, a);
    let u = dot(s, p) / determinant;
    let q = cross(s, ab);
    let v = dot(direction, q) / determinant;
    let along = dot(ac, q) / determinant;
    let margin = u.min(v).min(1.0 - u - v);
    (margin >= -RIM && along > 0.0).then_some((along, margin))
}

/// The solid angle under which a point sees a triangle, positive from behind: A. van Oosterom and
/// J. Strackee, 1983.
pub fn solid_angle(point: Vector, corners: [Vector; 3]) -> f64 {
    let [a, b, c] = corners.map(|corner| sub(corner, point));
    let (la, lb, lc) = (norm(a), norm(b), norm(c));
    let triple = dot(a, cross(b, c));
    let denominator = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb;
    if triple == 0.0 && denominator == 0.0 { 0.0 } else { 2.0 * triple.atan2(denominator) }
}

/// The square of the distance of a point from a triangle.
pub fn distance_squared(point: Vector, corners: [Vector; 3]) -> f64 {
    let off = to_triangle(point, corners);
    dot(off, off)
}

/// From a point to the nearest place of a triangle.
pub fn to_triangle(point: Vector, corners @ [a, b, c]: [Vector; 3]) -> Vector {
    let normal = area_normal(corners);
    let squared = dot(normal, normal);
    let is_outside = |p: Vector, q: Vector| dot(cross(sub(q, p), sub(point, p)), normal) < 0.0;
    if squared > 0.0 && !is_outside(a, b) && !is_outside(b, c) && !is_outside(c, a) {
        return scale(dot(sub(a, point), normal) / squared, normal);
    }
    let to_side = |p: Vector, q: Vector| {
        let side = sub(q, p);
        let length = dot(side, side);
        let along =
            if length > 0.0 { (dot(sub(point, p), side) / length).clamp(0.0, 1.0) } else { 0.0 };
        sub(add(p, scale(along, side)), point)
    };
    let nearer = |x: Vector, y: Vector| if dot(y, y) < dot(x, x) { y } else { x };
    nearer(nearer(to_side(a, b), to_side(b, c)), to_side(c, a))
}
