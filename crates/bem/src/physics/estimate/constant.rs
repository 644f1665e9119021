//! Local problems of constant densities: constants on the four children of a panel.

use std::f64::consts::PI;

use nalgebra::{Matrix3, Vector3};

use super::super::rows::System;
use super::products::Products;
use super::values::Values;
use super::{CHILDREN, Shares, children, shared};
use crate::geometry::triangle::Triangle;
use crate::integrals::pair::PairQuadrature;
use crate::integrals::potentials::WeightedPoints;

/// Barycentric coordinates of the children's centroids: those at the corners, and the one in the
/// middle.
pub(super) const PLACES: [[f64; 3]; CHILDREN] = [
    [2.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0],
    [1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0],
    [1.0 / 6.0, 1.0 / 6.0, 2.0 / 3.0],
    [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0],
];

/// Accuracy of the integrals between children.
const OF_CHILDREN: f64 = 1e-2;

/// The problem on the children of a panel of a conductor.
struct OnMetal {
    matrix: [[f64; CHILDREN]; CHILDREN],
    /// Against densities that are 1 on one child and -1 on the last: their charge is 0.
    inverse: Matrix3<f64>,
    /// A child's area.
    area: f64,
}

impl OnMetal {
    fn new(system: &System, i: usize) -> Self {
        // In an interface of layers the panel's own image contributes too.
        let factor = system.panels.factor(i, i);
        let matrix =
            between(&children(system.panels.vertices(i))).map(|row| row.map(|v| factor * v));
        let last = CHILDREN - 1;
        let apart = Matrix3::from_fn(|k, l| {
            matrix[k][l] - matrix[k][last] - matrix[last][l] + matrix[last][last]
        });
        let inverse = apart.try_inverse().unwrap_or_else(Matrix3::zeros);
        Self { matrix, inverse, area: 0.25 * system.panels.areas()[i] }
    }

    /// The missing potential, tested with the children.
    fn missing(&self, held: f64, potential: [f64; CHILDREN]) -> [f64; CHILDREN] {
        potential.map(|potential| self.area * (held - potential))
    }
}

/// That, tested with densities that are 1 on one child and -1 on the last.
fn against(b: &[f64; CHILDREN]) -> Vector3<f64> {
    Vector3::from_fn(|k, _| b[k] - b[CHILDREN - 1])
}

/// The charges missing on the children of panel `i` of a conductor, held at this potential.
pub(super) fn missing_on_conductor(
    system: &System,
    i: usize,
    held: f64,
    potential: [f64; CHILDREN],
) -> [f64; CHILDREN] {
    let local = OnMetal::new(system, i);
    let density = local.inverse * against(&local.missing(held, potential));
    [density.x, density.y, density.z, -density.sum()].map(|density| density * local.area)
}

/// The charges missing on the children of panel `i` of an interface, with unknowns `x`.
pub(super) fn missing_on_interface(
    system: &System,
    i: usize,
    x: &[f64],
    normal_derivative: [f64; CHILDREN],
) -> [f64; CHILDREN] {
    let [front, back] = system.rows.permittivity(i);
    let child = system.panels.areas()[i] / CHILDREN as f64;
    jump(system, i, x, normal_derivative).map(|jump| jump * child / (2.0 * PI * (front + back)))
}

/// The shares of panel `i` of a conductor, held at this potential in each excitation.
pub(super) fn of_conductor(
    system: &System,
    i: usize,
    held: &[f64],
    at: &Values,
    with_sides: bool,
) -> Shares {
    let local = OnMetal::new(system, i);
    let [front, back] = system.rows.permittivity(i);
    let permittivity = 0.5 * (front + back);
    let missing = |(p, &held): (usize, &f64)| local.missing(held, at.potential(i, p));
    let tested: Vec<[f64; CHILDREN]> = held.iter().enumerate().map(missing).collect();
    let right: Vec<Vector3<f64>> = tested.iter().map(against).collect();
    let densities: Vec<Vector3<f64>> = right.iter().map(|b| local.inverse * b).collect();
    let densities = densities.iter().map(|density| (density * permittivity).into());
    let products = Products::new::<3>(densities, right.iter().map(|&b| b.into()));
    let matrix = &local.matrix;
    let form = |x: [f64; CHILDREN]| -> f64 {
        (0..CHILDREN).map(|k| (0..CHILDREN).map(|l| x[k] * matrix[k][l] * x[l]).sum::<f64>()).sum()
    };
    let gain = |b: &[f64; CHILDREN], x: [f64; CHILDREN]| {
        let work: f64 = b.iter().zip(x).map(|(b, x)| b * x).sum();
        permittivity * work * work / form(x).max(f64::MIN_POSITIVE)
    };
    let of_sides = |b: &[f64; CHILDREN]| {
        let along = [[1.0, -1.0, 0.0, 0.0], [0.0, 1.0, -1.0, 0.0], [-1.0, 0.0, 1.0, 0.0]];
        shared(along.map(|x| gain(b, x)), gain(b, [-1.0, -1.0, -1.0, 3.0]))
    };
    Shares { products, sides: with_sides.then(|| tested.iter().map(of_sides).collect()) }
}

/// Values without their mean.
fn without_mean(values: [f64; CHILDREN]) -> [f64; CHILDREN] {
    let mean = values.iter().sum::<f64>() / CHILDREN as f64;
    values.map(|value| value - mean)
}

/// The remaining jump of eps du/dn on the children of panel `i` of an interface, minus its mean.
fn jump(
    system: &System,
    i: usize,
    x: &[f64],
    normal_derivative: [f64; CHILDREN],
) -> [f64; CHILDREN] {
    let [front, back] = system.rows.permittivity(i);
    let own = 2.0 * PI * (front + back) * x[i] / system.panels.areas()[i];
    without_mean(normal_derivative.map(|d| (front - back) * d - own))
}

/// The shares of panel `i` of an interface, with unknowns `x` in each excitation.
pub(super) fn of_interface(
    system: &System,
    i: usize,
    x: &[Vec<f64>],
    at: &Values,
    with_sides: bool,
) -> Shares {
    let [front, back] = system.rows.permittivity(i);
    let area = system.panels.areas()[i];
    let count = x.len();
    let of_excitation = |p: usize| jump(system, i, &x[p], at.normal_derivative(i, p));
    let jumps: Vec<[f64; CHILDREN]> = (0..count).map(of_excitation).collect();
    // The density that removes the jump, and its potential: where the permittivity is much larger
    // on one side, the solution's own potential changes over a panel by little else than error.
    let matrix = between(&children(system.panels.vertices(i)));
    let child = area / CHILDREN as f64;
    let potential = |p: usize| {
        let densities = jumps[p].map(|jump| jump / (2.0 * PI * (front + back)));
        let potential: [f64; CHILDREN] = at.potential(i, p);
        without_mean(std::array::from_fn(|k| {
            let more = (0..CHILDREN).map(|l| matrix[k][l] * densities[l]).sum::<f64>();
            potential[k] + more / child
        }))
    };
    let potentials: Vec<[f64; CHILDREN]> = (0..count).map(potential).collect();
    // A jump of eps du/dn divided by -4 pi is free charge, which should not be there.
    let jumps: Vec<[f64; CHILDREN]> =
        jumps.into_iter().map(|jump| jump.map(|jump| -jump * child / (4.0 * PI))).collect();
    let products = Products::new::<CHILDREN>(potentials.iter().copied(), jumps.iter().copied());
    let of_sides = |(u, r): (&[f64; CHILDREN], &[f64; CHILDREN])| {
        let pair = |k: usize, l: usize| ((u[k] - u[l]) * (r[k] - r[l])).abs() / CHILDREN as f64;
        let rest = (0..3).map(|k| pair(k, CHILDREN - 1)).sum();
        shared([pair(0, 1), pair(1, 2), pair(2, 0)], rest)
    };
    let sides = || potentials.iter().zip(&jumps).map(of_sides).collect();
    Shares { products, sides: with_sides.then(sides) }
}

/// Single-layer integrals between the children of a triangle.
fn between(children: &[Triangle; CHILDREN]) -> [[f64; CHILDREN]; CHILDREN] {
    let rule = PairQuadrature::new(OF_CHILDREN, 0);
    let mut nodes = WeightedPoints::default();
    let mut matrix = [[0.0; CHILDREN]; CHILDREN];
    for k in 0..CHILDREN {
        matrix[k][k] = children[k].self_integral();
        for l in 0..k {
            matrix[k][l] = rule.single_layer_with(&children[k], &children[l], &mut nodes);
            matrix[l][k] = matrix[k][l];
        }
    }
    matrix
}
