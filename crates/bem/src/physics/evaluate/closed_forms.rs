//! Closed forms of potentials and fields: for few points, and for triangles near a point.

use parallel::prelude::*;

use super::SurfaceCharge;
use crate::geometry::patch::Patch;
use crate::geometry::triangle::{Triangle, Vec3};
use crate::integrals::curved_potentials::{self, Wanted};
use crate::quadrature::TriangleNode;
use crate::quadrature::modes;
use crate::quadrature::rule::Rule;

/// Triangles per task.
const PIECE: usize = 1024;

/// Beyond this many radii of a triangle, the closed form keeps only the rounding error of what it
/// subtracts, which grows as the square of the distance; a rule of [`FAR_DEGREE`] is equally
/// accurate at this distance: (1/60)^7.
const FAR: f64 = 30.0;

/// Degree of the rule on triangles that are far away.
const FAR_DEGREE: usize = 6;

/// Accuracy of the contribution of a curved triangle, as a share of the tolerance.
const OF_CURVED: f64 = 0.1;

/// The same where an accuracy of 1e-3 is enough.
const ROUGH_OF_CURVED: f64 = 1e-3;

impl SurfaceCharge {
    /// Potential and scaled gradient at a scaled point.
    #[doc(hidden)]
    pub fn closed_form(&self, x: &Vec3, with_gradient: bool) -> [f64; 4] {
        let n = self.panels.len();
        let piece = |piece: usize| {
            let start = piece * PIECE;
            let mut sum = [0.0; 4];
            for i in start..n.min(start + PIECE) {
                let part = self.of_panel(i, x, with_gradient);
                (0..4).for_each(|k| sum[k] += part[k]);
            }
            sum
        };
        // Pieces in order: the same sum on any number of threads.
        let pieces: Vec<[f64; 4]> = (0..n.div_ceil(PIECE)).into_par_iter().map(piece).collect();
        pieces.iter().fold([0.0; 4], |sum, part| std::array::from_fn(|k| sum[k] + part[k]))
    }

    /// Contribution of one panel, in closed form unless it is far away.
    pub(super) fn of_panel(&self, i: usize, x: &Vec3, with_gradient: bool) -> [f64; 4] {
        if (x - self.panels.centroid(i)).norm() > FAR * self.panels.radius(i) {
            let mut sum = [0.0; 4];
            for (y, q) in self.strengths(i, Rule::of_degree(FAR_DEGREE)) {
                add_point(&mut sum, x, &y, q, with_gradient);
            }
            return sum;
        }
        if let Some(patch) = self.panels.curved(i) {
            return self.of_curved(i, patch, x, with_gradient);
        }
        let (panel, densities): (Triangle, _) = (self.panels.panel(i), &self.densities[i]);
        if self.constant {
            let density = densities[0];
            let gradient =
                if with_gradient { panel.gradient_at(x) * density } else { Vec3::zeros() };
            return [density * panel.potential_at(x), gradient.x, gradient.y, gradient.z];
        }
        let linear = panel.rounded_linear_potentials((*x).into(), &self.rounding[i]);
        let mut sum = [0.0; 4];
        for (k, density) in densities.iter().enumerate() {
            sum[0] += density * linear.single_layer[k];
            (0..3).for_each(|c| sum[c + 1] += density * linear.gradient[k][c]);
        }
        sum
    }

    /// Contribution of a curved panel.
    fn of_curved(&self, i: usize, patch: &Patch, x: &Vec3, with_gradient: bool) -> [f64; 4] {
        let wanted = if with_gradient { Wanted::Gradient } else { Wanted::Potential };
        let found = curved_potentials::at(patch, x, wanted, self.accuracy_of_curved());
        let mut sum = [0.0; 4];
        for (m, amplitude) in modes::of_corners(self.densities[i]).into_iter().enumerate() {
            let charge = amplitude * self.panels.areas()[i];
            sum[0] += charge * found.potential[m];
            (0..3).for_each(|k| sum[k + 1] += charge * found.gradient[m][k]);
        }
        sum
    }

    /// Accuracy of the contribution of a curved triangle.
    fn accuracy_of_curved(&self) -> f64 {
        if self.is_rough() { ROUGH_OF_CURVED } else { OF_CURVED * self.tolerance }
    }

    /// Strengths of the rule's points on a panel.
    #[doc(hidden)]
    pub fn strengths(&self, i: usize, rule: &'static Rule) -> impl Iterator<Item = (Vec3, f64)> {
        let (area, densities) = (self.panels.areas()[i], self.densities[i]);
        let strength = move |node: &TriangleNode| {
            let density: f64 = (0..3).map(|k| node.barycentric[k] * densities[k]).sum();
            node.weight * area * density
        };
        let points = self.panels.points(rule, i).map(|(y, _)| y);
        points.zip(rule.nodes().iter().map(strength))
    }
}

/// Adds potential and gradient of a point charge; a charge that coincides with the point adds
/// nothing.
pub fn add_point(value: &mut [f64; 4], x: &Vec3, y: &Vec3, q: f64, with_gradient: bool) {
    let r = x - y;
    let r2 = r.norm_squared();
    if r2 == 0.0 {
        return;
    }
    let inverse = 1.0 / r2.sqrt();
    value[0] += q * inverse;
    if with_gradient {
        let factor = -q * inverse / r2;
        (0..3).for_each(|k| value[k + 1] += factor * r[k]);
    }
}

/// The gradient of a point charge's potential.
pub(in crate::physics) fn gradient_of_point(x: &Vec3, y: &Vec3, q: f64) -> Vec3 {
    let mut value = [0.0; 4];
    add_point(&mut value, x, y, q, true);
    let [_, gradient @ ..] = value;
    gradient.into()
}
