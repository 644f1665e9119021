//! Single triangles: their normals, their smallest angles, and whether they turn over.

pub(crate) use mesh::vector::area_normal;
use mesh::vector::{Vector, dot, norm, sub};

/// Cosine of the largest angle between a triangle's normals before and after a change.
const TURNING: f64 = 0.2;

/// Triangles with a smallest angle of a smaller sine have no normal that says much.
pub(crate) const SLIVER: f64 = 0.05;

/// Sine of a triangle's smallest angle.
pub(crate) fn quality([a, b, c]: [Vector; 3]) -> f64 {
    quality_over(area_normal([a, b, c]), [a, b, c])
}

/// As [`quality`], with the triangle's normal.
pub(crate) fn quality_over(normal: Vector, [a, b, c]: [Vector; 3]) -> f64 {
    let [u, v, w] = [sub(b, a), sub(c, b), sub(a, c)].map(|side| dot(side, side));
    // Of the two longest sides.
    let sides = (u * v).max(v * w).max(w * u);
    if sides > 0.0 { (dot(normal, normal) / sides).sqrt() } else { 0.0 }
}

/// Whether a triangle that is no sliver turns away from how it faced.
pub(crate) fn turns(before: [Vector; 3], after: [Vector; 3]) -> bool {
    let [old, new] = [before, after].map(area_normal);
    quality_over(old, before) > SLIVER && dot(new, old) < TURNING * norm(new) * norm(old)
}
