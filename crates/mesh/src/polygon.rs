//! Faces of more than three corners.

use crate::vector::{Vector, dot, sub};

/// A diagonal must be shorter by this factor to be preferred, so that rounding does not choose in a regular grid.
const SHORTER: f64 = 1.0 - 1e-10;

/// The two triangles that the shorter diagonal cuts a quadrangle into; from the first corner if they are alike.
pub(crate) fn split_quadrangle(vertices: &[Vector], [a, b, c, d]: [u32; 4]) -> [[u32; 3]; 2] {
    let squared = |p: u32, q: u32| {
        let edge = sub(vertices[p as usize], vertices[q as usize]);
        dot(edge, edge)
    };
    if squared(b, d) < SHORTER * squared(a, c) {
        [[a, b, d], [b, c, d]]
    } else {
        [[a, b, c], [a, c, d]]
    }
}
