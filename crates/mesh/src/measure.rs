//! Areas and volumes of curved triangles, by quadrature.
//!
//! Gauss's rule in both directions of a square that is collapsed to the triangle: exact for
//! volumes, whose integrand is a polynomial of degree 3 p - 2, and of order 12 in the size of
//! triangles for areas.

use std::sync::OnceLock;

use crate::patch::{self, MAX_ORDER};
use crate::surface::{Mesh, Patches};
use crate::vector::{Vector, cross, dot, norm, sub};

/// Points in each direction: exact up to degree 11, one more than volumes of order 4 need, since
/// collapsing takes one.
const POINTS: usize = 6;

/// Polynomials of the nodes and their derivatives at a point, with its weight.
pub struct Sample {
    pub weight: f64,
    pub shapes: Vec<[f64; 3]>,
}

/// Gauss's rule from 0 to 1: Newton's method on the Legendre polynomial.
fn gauss(count: usize) -> Vec<[f64; 2]> {
    let n = count as f64;
    let legendre = |x: f64| {
        let (mut before, mut value) = (1.0, x);
        for k in 2..=count {
            let k = k as f64;
            (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
        }
        (value, n * (x * value - before) / (x * x - 1.0))
    };
    let point = |k: usize| {
        let mut x = (std::f64::consts::PI * (k as f64 + 0.75) / (n + 0.5)).cos();
        for _ in 0..10 {
            let (value, slope) = legendre(x);
            x -= value / slope;
        }
        let (_, slope) = legendre(x);
        [0.5 * (1.0 + x), 1.0 / ((1.0 - x * x) * slope * slope)]
    };
    (0..count).map(point).collect()
}

/// The rule of an order; weights add up to one half.
pub fn samples(order: usize) -> &'static [Sample] {
    static RULES: OnceLock<Vec<Vec<Sample>>> = OnceLock::new();
    let rule = |order: usize| -> Vec<Sample> {
        let line = gauss(POINTS);
        let pairs = line.iter().flat_map(|u| line.iter().map(move |v| (u, v)));
        pairs
            .map(|(&[u, of_u], &[v, of_v])| {
                let (b, c) = (u, (1.0 - u) * v);
                let shapes = patch::shapes(order, [1.0 - b - c, b, c]);
                Sample { weight: of_u * of_v * (1.0 - u), shapes }
            })
            .collect()
    };
    &RULES.get_or_init(|| (0..=MAX_ORDER).map(rule).collect())[order]
}

/// The sum over a patch of a function of point and area vector, times their weights.
fn sum(patches: &Patches, triangle: usize, of: impl Fn(Vector, Vector) -> f64) -> f64 {
    let nodes = patches.of(triangle);
    let origin = nodes[0];
    let at = |sample: &Sample| {
        let mut values = [[0.0; 3]; 3];
        for (node, shape) in nodes.iter().zip(&sample.shapes) {
            let x = sub(*node, origin);
            for (value, shape) in values.iter_mut().zip(shape) {
                (0..3).for_each(|i| value[i] += shape * x[i]);
            }
        }
        let [x, u, v] = values;
        sample.weight * of(x, cross(u, v))
    };
    samples(patches.order).iter().map(at).sum()
}

/// The area of a curved triangle.
pub(crate) fn area(patches: &Patches, triangle: usize) -> f64 {
    sum(patches, triangle, |_, normal| norm(normal))
}

impl Mesh {
    /// The centre of area of a triangle, of its patch if it is curved.
    pub fn centre_of_area(&self, triangle: usize) -> Vector {
        let Some(patches) = &self.patches else {
            return self.point(triangle, [1.0 / 3.0; 3]);
        };
        let area = area(patches, triangle);
        let origin = patches.of(triangle)[0];
        let moment = |i: usize| sum(patches, triangle, |x, normal| x[i] * norm(normal));
        std::array::from_fn(|i| origin[i] + if area > 0.0 { moment(i) / area } else { 0.0 })
    }
}

/// The volume, with its sign, of the cone from a point over a curved triangle.
pub(crate) fn cone(patches: &Patches, triangle: usize, apex: Vector) -> f64 {
    let arm = sub(patches.of(triangle)[0], apex);
    let height =
        |x: Vector, normal: Vector| dot(std::array::from_fn(|i| arm[i] + x[i]), normal) / 3.0;
    sum(patches, triangle, height)
}
