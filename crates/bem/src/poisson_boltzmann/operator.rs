//! The equations of second kind on all interfaces (A. H. Juffer et al., J. Comput. Phys. 97 (1991)
//! 144): docs/math.md, "Salt".

use std::f64::consts::PI;
use std::sync::Arc;

use nalgebra::Matrix2;
use parallel::prelude::*;

use super::correction::Correction;
use super::nodes::Nodes;
use super::regions::{Boundary, Layers, Regions};
use crate::Error;
use crate::geometry::triangle::Vec3;
use crate::solve::linear_operator::{InexactBudget, LinearOperator};
use crate::solve::plan::Plan;
use crate::solve::schedule::PlanSchedule;

/// The potential and its gradient on the boundary of a region, from its layers.
pub(super) struct Sum {
    pub(super) boundary: Arc<Boundary>,
    pub(super) plans: PlanSchedule,
}

/// Unknowns are potentials at all points, then normal fluxes eps dphi/dn; rows likewise.
pub(super) struct Equations<'a> {
    pub(super) nodes: &'a Nodes,
    pub(super) regions: &'a Regions,
    pub(super) correction: &'a Correction,
    pub(super) sums: &'a mut [Sum],
    /// Defect of constant double layers at each point; empty if not corrected.
    pub(super) defects: Vec<f64>,
}

/// Means of the permittivities on both sides of a panel, and of their inverses.
pub(super) fn means(regions: &Regions, panel: usize) -> [f64; 2] {
    let [a, b] = regions.permittivities(panel);
    [0.5 * (a + b), 0.5 * (1.0 / a + 1.0 / b)]
}

impl Equations<'_> {
    fn product(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        budget: Option<InexactBudget>,
    ) -> Result<(), Error> {
        let n = self.nodes.len();
        let (potentials, fluxes) = x.split_at(n);
        let (of_potentials, of_fluxes) = y.split_at_mut(n);
        of_potentials.fill(0.0);
        of_fluxes.fill(0.0);
        for Sum { boundary, plans } in &mut *self.sums {
            let layers = self.regions.layers(self.nodes, boundary, potentials, fluxes);
            let count = boundary.nodes.len();
            let (mut found, mut gradient) = (vec![0.0; count], vec![0.0; 3 * count]);
            apply(plans.for_step(budget, 1)?, &layers, &mut found, &mut gradient)?;
            plans.finished();
            let permittivity = self.regions.media[boundary.region].permittivity;
            for (k, &node) in boundary.nodes.iter().enumerate() {
                let node = node as usize;
                let gradient = Vec3::from_column_slice(&gradient[3 * k..3 * k + 3]);
                of_potentials[node] += permittivity * found[k];
                of_fluxes[node] += gradient.dot(&self.nodes.normals[node]);
            }
        }
        let q = self.nodes.degree.points();
        let rows = of_potentials.par_chunks_mut(q).zip(of_fluxes.par_chunks_mut(q));
        rows.enumerate().for_each(|(panel, (of_potentials, of_fluxes))| {
            let more = self.correction.rows(panel, potentials, fluxes);
            let [mean, inverse] = means(self.regions, panel);
            let [front, back] = self.regions.permittivities(panel);
            let (behind, over) = (back - front, 1.0 / back - 1.0 / front);
            for k in 0..q {
                let node = panel * q + k;
                let [u, flux] = [potentials[node], fluxes[node]];
                let defect = self.defects.get(node).copied().unwrap_or(0.0);
                let of_potential = of_potentials[k] + more[0][k] - behind * defect * u;
                let of_flux = of_fluxes[k] + more[1][k] + over * defect * flux;
                of_potentials[k] = mean * u - of_potential / (4.0 * PI);
                of_fluxes[k] = inverse * flux - of_flux / (4.0 * PI);
            }
        });
        Ok(())
    }
}

/// Applies a plan to charges and dipoles.
pub(super) fn apply(
    plan: &mut Plan,
    layers: &Layers,
    potential: &mut [f64],
    gradient: &mut [f64],
) -> Result<(), Error> {
    let densities =
        fmm::Densities { charges: Some(&layers.charges), dipoles: Some(&layers.dipoles) };
    let into = fmm::Potentials {
        potential: Some(potential),
        gradient: (!gradient.is_empty()).then_some(gradient),
    };
    Ok(plan.apply(densities, into)?)
}

impl LinearOperator for Equations<'_> {
    fn len(&self) -> usize {
        2 * self.nodes.len()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], _columns: usize) -> Result<(), Error> {
        self.product(x, y, None)
    }

    fn apply_inexact(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        _columns: usize,
        budget: InexactBudget,
    ) -> Result<(), Error> {
        self.product(x, y, Some(budget))
    }
}

/// Inverses of the two by two blocks of each point with itself.
pub(super) struct PointInverses(Vec<[[f64; 2]; 2]>);

impl PointInverses {
    pub(super) fn new(nodes: &Nodes, regions: &Regions, correction: &Correction) -> Self {
        let q = nodes.degree.points();
        let of_node = |node: usize| {
            let (panel, own) = (node / q, node % q);
            let [mean, inverse] = means(regions, panel);
            // Sums have no self-interaction of points.
            let entries = correction.own(panel).get(own * q + own).copied().unwrap_or_default();
            let [single, double, adjoint, hypersingular] =
                entries.map(|e| f64::from(e) / (4.0 * PI));
            let block = Matrix2::new(mean - double, -single, -hypersingular, inverse - adjoint);
            let inverse = block.try_inverse().unwrap_or_else(Matrix2::identity);
            [[inverse[(0, 0)], inverse[(0, 1)]], [inverse[(1, 0)], inverse[(1, 1)]]]
        };
        Self((0..nodes.len()).into_par_iter().map(of_node).collect())
    }
}

impl LinearOperator for PointInverses {
    fn len(&self) -> usize {
        2 * self.0.len()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], _columns: usize) -> Result<(), Error> {
        let (potentials, fluxes) = x.split_at(self.0.len());
        let (first, second) = y.split_at_mut(self.0.len());
        for (node, [of_potential, of_flux]) in self.0.iter().enumerate() {
            let (u, flux) = (potentials[node], fluxes[node]);
            first[node] = of_potential[0] * u + of_potential[1] * flux;
            second[node] = of_flux[0] * u + of_flux[1] * flux;
        }
        Ok(())
    }
}
