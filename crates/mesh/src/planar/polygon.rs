//! Faces of more than three corners.

use crate::geometry::quality::relative_height;
use crate::geometry::weld::bounds;
use crate::vector::{Vector, add, area_normal, cross, dot, norm, scale, sub};

/// A diagonal must be shorter by this factor to be preferred, so that rounding does not choose in a
/// regular grid.
const SHORTER: f64 = 1.0 - 1e-10;

/// A quadrangle of which less than this share is folded back has rounded corners, as in files of
/// five digits, and is accepted.
const ROUNDED: f64 = 1e-3;

/// The two triangles that a diagonal cuts a quadrangle into: the shorter one, from the first corner
/// if they are alike, unless it runs outside, as one of a quadrangle with a notch does. `None` if
/// both do: then sides cross.
#[doc(hidden)]
pub fn split_quadrangle(vertices: &[Vector], [a, b, c, d]: [u32; 4]) -> Option<[[u32; 3]; 2]> {
    let along = |p: u32, q: u32| sub(vertices[q as usize], vertices[p as usize]);
    let squared = |p: u32, q: u32| dot(along(p, q), along(p, q));
    // Whether one of the triangles lies on the other or has no area, and how small the smaller one
    // is.
    let folded = |halves: [[u32; 3]; 2]| {
        let [m, n] = halves.map(|[p, q, r]| cross(along(p, q), along(p, r)));
        let (m_size, n_size) = (norm(m), norm(n));
        let (small, large) = (m_size.min(n_size), m_size.max(n_size));
        (dot(m, n) < 0.0 || small == 0.0).then(|| small / large)
    };
    let (first, second) = ([[a, b, c], [a, c, d]], [[a, b, d], [b, c, d]]);
    match (folded(first), folded(second)) {
        (None, Some(_)) => Some(first),
        (Some(_), None) => Some(second),
        (Some(x), Some(y)) if x > ROUNDED && y > ROUNDED => None,
        _ if squared(b, d) < SHORTER * squared(a, c) => Some(second),
        _ => Some(first),
    }
}

/// A part below this share of a polygon's area is none.
const NONE: f64 = 1e-12;

/// The area vector of a polygon in a plane.
pub fn area_vector(points: &[Vector]) -> Vector {
    let Some(&origin) = points.first() else { return [0.0; 3] };
    points.windows(2).fold([0.0; 3], |sum, pair| {
        add(sum, scale(0.5, cross(sub(pair[0], origin), sub(pair[1], origin))))
    })
}

/// Triangles, by index, that make up a convex polygon, of whose corners many may lie on its sides
/// within `tolerance`: cut off one by one, that with the best shape first. Those no higher than
/// that are made only where it cannot be avoided.
#[doc(hidden)]
pub fn triangulate(points: &[Vector], tolerance: f64) -> Vec<[usize; 3]> {
    let whole = area_vector(points);
    let all = norm(whole);
    let mut area = all;
    let normal = scale(1.0 / area, whole);
    let [low, high] = bounds(points);
    let size = norm(sub(high, low));
    let mut left: Vec<usize> = (0..points.len()).collect();
    let mut found = Vec::with_capacity(points.len().saturating_sub(2));
    let corners = |ear: [usize; 3]| ear.map(|k| points[k]);
    let area_of = |ear: [usize; 3]| 0.5 * dot(normal, area_normal(corners(ear)));
    while left.len() > 3 {
        let count = left.len();
        let ear = |i: usize| [left[(i + count - 1) % count], left[i], left[(i + 1) % count]];
        let best = (0..count).max_by(|&i, &j| {
            let value = |i: usize| {
                let [p, _, q] = ear(i);
                let own = area_of(ear(i));
                let base = norm(sub(points[q], points[p]));
                // The remaining corners must not be on one line either.
                let is_high = own > tolerance * base && area - own > tolerance * size;
                let is_some = own > NONE * all && area - own > NONE * all;
                ((is_high, is_some), relative_height(corners(ear(i))))
            };
            let ((kind_i, shape_i), (kind_j, shape_j)) = (value(i), value(j));
            kind_i.cmp(&kind_j).then(shape_i.total_cmp(&shape_j)).then(j.cmp(&i))
        });
        let Some(best) = best else { break };
        let cut = ear(best);
        area -= area_of(cut);
        found.push(cut);
        left.remove(best);
    }
    found.extend(<[usize; 3]>::try_from(left));
    found.retain(|&part| area_of(part) > NONE * all);
    found
}
