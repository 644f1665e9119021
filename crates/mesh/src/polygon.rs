//! Faces of more than three corners.

use crate::vector::{Vector, cross, dot, norm, sub};

/// A diagonal must be shorter by this factor to be preferred, so that rounding does not choose in a
/// regular grid.
const SHORTER: f64 = 1.0 - 1e-10;

/// A quadrangle of which less than this share is folded back has rounded corners, as in files of
/// five digits, and is accepted.
const ROUNDED: f64 = 1e-3;

/// The two triangles that a diagonal cuts a quadrangle into: the shorter one, from the first corner
/// if they are alike, unless it runs outside, as one of a quadrangle with a notch does. `None` if
/// both do: then sides cross.
pub(crate) fn split_quadrangle(
    vertices: &[Vector],
    [a, b, c, d]: [u32; 4],
) -> Option<[[u32; 3]; 2]> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn split(corners: [[f64; 2]; 4], lift: f64) -> Option<[[u32; 3]; 2]> {
        let mut vertices = corners.map(|[x, y]| [x, y, 0.0]);
        vertices[2][2] = lift;
        let found = split_quadrangle(&vertices, [0, 1, 2, 3]);
        // It is the same one whichever corner comes first, and seen from the other side.
        let area = |halves: [[u32; 3]; 2]| -> f64 {
            let [m, n] = halves.map(|t| {
                let [p, q, r] = t.map(|v| vertices[v as usize]);
                norm(cross(sub(q, p), sub(r, p)))
            });
            m + n
        };
        for order in [[1, 2, 3, 0], [2, 3, 0, 1], [3, 2, 1, 0], [1, 0, 3, 2]] {
            let other = split_quadrangle(&vertices, order);
            assert_eq!(other.is_some(), found.is_some(), "{corners:?}");
            if let (Some(other), Some(found)) = (other, found) {
                assert!((area(other) - area(found)).abs() <= 1e-12 * area(found), "{corners:?}");
            }
        }
        found
    }

    #[test]
    fn the_diagonal_runs_inside() {
        let square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        assert_eq!(split(square, 0.0), Some([[0, 1, 2], [0, 2, 3]]));
        assert_eq!(split(square, 0.4), Some([[0, 1, 3], [1, 2, 3]]));
        // The shorter diagonal, from 1 to 3, lies outside of the arrow's head.
        let arrow = [[0.0, 10.0], [-1.0, 0.0], [0.0, 5.0], [1.0, 0.0]];
        assert_eq!(split(arrow, 0.0), Some([[0, 1, 2], [0, 2, 3]]));
        assert_eq!(split(arrow, 0.1), Some([[0, 1, 2], [0, 2, 3]]));
        // A corner on a side, and inside by rounding.
        for y in [0.0, 1e-7] {
            let corner_on_side = [[0.0, 0.0], [0.5, y], [1.0, 0.0], [0.0, 1.0]];
            assert_eq!(split(corner_on_side, 0.0), Some([[0, 1, 3], [1, 2, 3]]));
        }
    }

    #[test]
    fn crossed_sides_are_told() {
        let bowtie = [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]];
        assert_eq!(split(bowtie, 0.0), None);
        assert_eq!(split(bowtie, 0.1), None);
        assert_eq!(split([[0.0, 0.0], [3.0, 0.0], [0.5, 1.0], [0.6, -1.0]], 0.0), None);
        // Two corners that are one but for the digits of the file.
        let rounded = [[0.0, 0.0], [1.0, 0.0], [0.500_01, 1.0], [0.500_02, 1.0]];
        assert!(split(rounded, 0.0).is_some());
        // Of no area, whichever corners are one: those are left out or refused as such.
        for [p, q, r, s] in [[0, 0, 1, 2], [0, 1, 0, 2], [0, 1, 2, 1], [0, 0, 1, 1], [0, 0, 0, 0]] {
            let corners = [[0.0, 0.0], [2.0, 0.5], [1.0, 3.0]];
            assert!(split([p, q, r, s].map(|k: usize| corners[k]), 0.0).is_some());
        }
    }
}
