//! Curved triangles seen over a surface of second degree that nearly goes through one of them.
//!
//! Two sheets close to each other bend alike. What they differ by shows where the common bend is
//! taken off: heights over z = q(x, y) along one direction, polynomials of twice the order of the
//! patches, lie within their own control points. These close in with the third power of the size.

use std::sync::OnceLock;

use crate::geometry::curved::bezier::{Bezier, index};
use crate::geometry::curved::places;
use crate::patch::{MAX_ORDER, node_count};
use crate::vector::{Vector, cross, dot, norm, scale, sub};

/// Control points of twice the highest order.
const MOST: usize = node_count(2 * MAX_ORDER);

/// A term of a product of two polynomials: the control points of the factors, that of the product,
/// and its share there.
struct Term {
    of: [usize; 2],
    to: usize,
    weight: f64,
}

/// The terms of products of polynomials of an order.
fn terms(order: usize) -> &'static [Term] {
    static TERMS: OnceLock<Vec<Vec<Term>>> = OnceLock::new();
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    let count = |p: [usize; 3]| {
        factorial(p.iter().sum()) / p.iter().map(|&k| factorial(k)).product::<f64>()
    };
    let all = |order: usize| -> Vec<Term> {
        let pairs = places(order).iter().flat_map(|a| places(order).iter().map(move |b| (*a, *b)));
        pairs
            .map(|(a, b)| {
                let sum: [usize; 3] = std::array::from_fn(|m| a[m] + b[m]);
                Term {
                    of: [index(a[1], a[2]), index(b[1], b[2])],
                    to: index(sum[1], sum[2]),
                    weight: count(a) * count(b) / count(sum),
                }
            })
            .collect()
    };
    &TERMS.get_or_init(|| (0..=MAX_ORDER).map(all).collect())[order]
}

/// A surface of second degree over a plane.
#[derive(Clone, Copy, Debug)]
pub struct Sheet {
    origin: Vector,
    /// Two directions of the plane and its normal.
    pub axes: [Vector; 3],
    /// Coefficients of x x, x y and y y.
    pub bend: [f64; 3],
    /// Coefficients of 1, x and y.
    pub plane: [f64; 3],
}

/// A patch seen over a sheet.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Its corners, the third coordinate the height over the sheet.
    pub corners: [Vector; 3],
    /// Least and greatest height of its points, at most.
    pub heights: [f64; 2],
    /// How far its points are off from those of the flat triangle: along the plane, and in height.
    pub off: [f64; 2],
}

impl Sheet {
    /// Nearly through a patch, over a plane with a unit normal.
    pub fn through(patch: &Bezier, normal: Vector) -> Option<Self> {
        let [a, b, c] = patch.corners();
        let along = sub(b, a);
        let flat = sub(along, scale(dot(along, normal), normal));
        let length = norm(flat);
        if length == 0.0 || length.is_nan() {
            return None;
        }
        let x = scale(1.0 / length, flat);
        let axes = [x, cross(normal, x), normal];
        let local = |v: Vector| axes.map(|axis| dot(axis, v));
        let (u, v) = (local(sub(b, a)), local(sub(c, a)));
        let determinant = u[0] * v[1] - u[1] * v[0];
        if determinant == 0.0 {
            return None;
        }
        // Second derivatives by the barycentric coordinates, in the mean, and then by x and y.
        let [uu, uv, vv] = patch.second().map(|second| dot(second, normal));
        let ux = [v[1] / determinant, -v[0] / determinant];
        let vx = [-u[1] / determinant, u[0] / determinant];
        let second = |i: usize, j: usize| {
            uu * ux[i] * ux[j] + uv * (ux[i] * vx[j] + vx[i] * ux[j]) + vv * vx[i] * vx[j]
        };
        let bend = [0.5 * second(0, 0), second(0, 1), 0.5 * second(1, 1)];
        let mut sheet = Self { origin: a, axes, bend, plane: [0.0; 3] };
        // Level at the corners.
        let at = |p: Vector| p[2] - sheet.bent(p[0], p[1]);
        let (at_b, at_c) = (at(u), at(v));
        sheet.plane = [
            0.0,
            (at_b * v[1] - at_c * u[1]) / determinant,
            (at_c * u[0] - at_b * v[0]) / determinant,
        ];
        Some(sheet)
    }

    /// What the terms of second degree add to the height at a point of the plane.
    pub fn bent(&self, x: f64, y: f64) -> f64 {
        (self.bend[0] * x + self.bend[1] * y) * x + self.bend[2] * y * y
    }

    /// A patch seen over it.
    pub fn seen(&self, patch: &Bezier) -> Seen {
        let order = patch.order();
        let mut local = [[0.0; 3]; node_count(MAX_ORDER)];
        for (to, x) in local.iter_mut().zip(patch.hull()) {
            let arm = sub(*x, self.origin);
            *to = self.axes.map(|axis| dot(axis, arm));
        }
        let mut heights = [0.0; MOST];
        for Term { of: [a, b], to, weight } in terms(order) {
            let ([x, y, z], [s, t, _]) = (local[*a], local[*b]);
            let flat = z - self.plane[0] - self.plane[1] * x - self.plane[2] * y;
            let bent = (self.bend[0] * x + self.bend[1] * y) * s + self.bend[2] * y * t;
            heights[*to] += weight * (flat - bent);
        }
        let heights = &heights[..node_count(2 * order)];
        let corner = |order: usize| [0, index(order, 0), index(0, order)];
        let (own, of_heights) = (corner(order), corner(2 * order));
        let corners: [Vector; 3] =
            std::array::from_fn(|k| [local[own[k]][0], local[own[k]][1], heights[of_heights[k]]]);
        let [a, b, c] = corners;
        let mut off = [0.0f64; 2];
        for [i, j, k] in places(order) {
            let shares = [*i, *j, *k].map(|n| n as f64 / order as f64);
            let x = local[index(*j, *k)];
            let gap = |m: usize| x[m] - shares[0] * a[m] - shares[1] * b[m] - shares[2] * c[m];
            off[0] = off[0].max(gap(0).hypot(gap(1)));
        }
        let mut range = [f64::INFINITY, f64::NEG_INFINITY];
        for sum in 0..=2 * order {
            for k in 0..=sum {
                let height = heights[index(sum - k, k)];
                range = [range[0].min(height), range[1].max(height)];
                let shares = [2 * order - sum, sum - k, k].map(|n| n as f64 / (2 * order) as f64);
                let flat = shares[0] * a[2] + shares[1] * b[2] + shares[2] * c[2];
                off[1] = off[1].max((height - flat).abs());
            }
        }
        Seen { corners, heights: range, off }
    }
}
