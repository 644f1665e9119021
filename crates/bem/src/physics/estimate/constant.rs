//! Local problems of constant densities: constants on the four children of a panel.

use std::f64::consts::PI;

use nalgebra::{Matrix3, Vector3};

use super::super::system::System;
use super::local::{CHILDREN, ChildFunctions, children, shared};
use super::values::Values;
use super::wide::Wide;
use crate::geometry::triangle::{Triangle, Vec3};
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

/// Constants on the children of a panel.
pub(super) struct Constants {
    matrix: [[f64; CHILDREN]; CHILDREN],
    /// A child's area.
    area: f64,
}

/// Functions that are 1 on one child and -1 on the last: their charge is 0.
const ADDED: usize = CHILDREN - 1;

impl ChildFunctions<CHILDREN, ADDED> for Constants {
    fn new(system: &System, i: usize, factor: f64, at: &Values) -> Self {
        let area = 0.25 * system.panels.areas()[i];
        let wide = at.of_children(i).and_then(|integrals| Wide::of_share(integrals, area));
        let matrix = match wide {
            Some(wide) => wide.matrix(),
            None => between(system.panels.vertices(i)),
        };
        Self { matrix: matrix.map(|row| row.map(|v| factor * v)), area }
    }

    fn missing(&self, held: f64, potential: &[f64; CHILDREN]) -> [f64; CHILDREN] {
        potential.map(|potential| self.area * (held - potential))
    }

    fn against_added(b: &[f64; CHILDREN]) -> [f64; ADDED] {
        std::array::from_fn(|k| b[k] - b[ADDED])
    }

    fn solve(&self, right: &[[f64; ADDED]]) -> Vec<[f64; ADDED]> {
        let (matrix, last) = (&self.matrix, ADDED);
        let apart = Matrix3::from_fn(|k, l| {
            matrix[k][l] - matrix[k][last] - matrix[last][l] + matrix[last][last]
        });
        let inverse = apart.try_inverse().unwrap_or_else(Matrix3::zeros);
        right.iter().map(|b| (inverse * Vector3::from(*b)).into()).collect()
    }

    fn charges(&self, density: &[f64; ADDED]) -> [f64; CHILDREN] {
        let density = Vector3::from(*density);
        [density.x, density.y, density.z, -density.sum()].map(|density| density * self.area)
    }

    fn sides(
        &self,
        permittivity: f64,
        tested: &[f64; CHILDREN],
        _right: &[f64; ADDED],
        _density: &[f64; ADDED],
    ) -> [f64; 3] {
        let (matrix, all) = (&self.matrix, 0..CHILDREN);
        let form = |x: [f64; CHILDREN]| -> f64 {
            let row = |k: usize| all.clone().map(move |l| x[k] * matrix[k][l] * x[l]).sum::<f64>();
            all.clone().map(row).sum()
        };
        let gain = |x: [f64; CHILDREN]| {
            let work: f64 = tested.iter().zip(x).map(|(b, x)| b * x).sum();
            permittivity * work * work / form(x).max(f64::MIN_POSITIVE)
        };
        let along = [[1.0, -1.0, 0.0, 0.0], [0.0, 1.0, -1.0, 0.0], [-1.0, 0.0, 1.0, 0.0]];
        shared(along.map(gain), gain([-1.0, -1.0, -1.0, 3.0]))
    }

    fn jump(
        system: &System,
        i: usize,
        x: &[f64],
        normal_derivative: &[f64; CHILDREN],
    ) -> [f64; CHILDREN] {
        let [front, back] = system.rows.permittivity(i);
        let own = 2.0 * PI * (front + back) * x[i] / system.panels.areas()[i];
        without_mean(normal_derivative.map(|d| (front - back) * d - own))
    }

    /// Where the permittivity is much larger on one side, the solution's own potential changes over
    /// a panel by little else than error.
    fn with_potential_of(
        &self,
        densities: &[f64; CHILDREN],
        potential: &[f64; CHILDREN],
    ) -> [f64; CHILDREN] {
        without_mean(std::array::from_fn(|k| {
            let more = (0..CHILDREN).map(|l| self.matrix[k][l] * densities[l]).sum::<f64>();
            potential[k] + more / self.area
        }))
    }

    fn free_charge(&self, jump: &[f64; CHILDREN]) -> [f64; CHILDREN] {
        jump.map(|jump| -jump * self.area / (4.0 * PI))
    }

    fn sides_of_interface(&self, potential: &[f64; CHILDREN], jump: &[f64; CHILDREN]) -> [f64; 3] {
        let (u, r) = (potential, self.free_charge(jump));
        let pair = |k: usize, l: usize| ((u[k] - u[l]) * (r[k] - r[l])).abs() / CHILDREN as f64;
        let rest = (0..3).map(|k| pair(k, CHILDREN - 1)).sum();
        shared([pair(0, 1), pair(1, 2), pair(2, 0)], rest)
    }
}

/// Values without their mean.
fn without_mean(values: [f64; CHILDREN]) -> [f64; CHILDREN] {
    let mean = values.iter().sum::<f64>() / CHILDREN as f64;
    values.map(|value| value - mean)
}

/// Single-layer integrals between the children of a triangle with these corners.
#[doc(hidden)]
pub fn between(corners: &[Vec3; 3]) -> [[f64; CHILDREN]; CHILDREN] {
    let wide = Wide::new(corners).map(|wide| wide.matrix());
    wide.unwrap_or_else(|| along_edges(&children(corners)))
}

/// These integrals of triangles of any shape.
fn along_edges(children: &[Triangle; CHILDREN]) -> [[f64; CHILDREN]; CHILDREN] {
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
