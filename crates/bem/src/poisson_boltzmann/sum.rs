//! The fast sums of regions: potentials and gradients of the layers around one, at its points.

use std::sync::Arc;

use parallel::prelude::*;

use super::nodes::Nodes;
use super::regions::{Boundary, Regions};
use crate::geometry::triangle::Vec3;
use crate::solve::plan::Plan;
use crate::solve::schedule::PlanSchedule;
use crate::{Error, Method, SolveOptions};

/// Charges and dipoles of one sum; of dipoles shape (points, 3).
pub(super) struct Layers {
    pub(super) charges: Vec<f64>,
    pub(super) dipoles: Vec<f64>,
}

impl Layers {
    /// At the points around a region, those that generate the potential in it: sum_j sign (V flux /
    /// eps - K potential), of `potentials` and `fluxes` at all points.
    pub(super) fn around(
        regions: &Regions,
        nodes: &Nodes,
        boundary: &Boundary,
        [potentials, fluxes]: [&[f64]; 2],
    ) -> Self {
        let points = nodes.degree.points();
        let permittivity = regions.media[boundary.region].permittivity;
        let of_node = |&node: &u32| {
            let node = node as usize;
            let weight = nodes.weights[node] * regions.sign(node / points, boundary.region);
            let dipole: Vec3 = nodes.normals[node] * (-weight * potentials[node]);
            (weight * fluxes[node] / permittivity, <[f64; 3]>::from(dipole))
        };
        let (charges, dipoles): (Vec<f64>, Vec<[f64; 3]>) =
            boundary.nodes.par_iter().map(of_node).unzip();
        Self { charges, dipoles: dipoles.into_flattened() }
    }
}

/// The potential and its gradient on the boundary of a region, from its layers.
pub(super) struct Sum {
    pub(super) boundary: Arc<Boundary>,
    pub(super) plans: PlanSchedule,
}

impl Sum {
    /// By expansions, or direct if the method is dense. Collective.
    pub(super) fn new(
        boundary: &Arc<Boundary>,
        regions: &Regions,
        tolerance: f64,
        options: &SolveOptions,
    ) -> Result<Self, Error> {
        let is_dense = options.method == Method::Dense;
        let own = fmm::Options::default()
            .mode(if is_dense { fmm::Mode::Direct } else { fmm::Mode::Fmm })
            .kernel(regions.media[boundary.region].kernel())
            .gradient(true)
            .dipoles(true)
            .backend(options.effective_backend()?)
            .gpu(options.gpu);
        let of = Arc::clone(boundary);
        let group = if is_dense { comm::alone() } else { options.group() };
        let make = move |tolerance: f64| {
            let options = own.clone().tolerance(tolerance);
            Ok(Plan::replicated(&group, &of.places, None, &options)?)
        };
        let tight = make(tolerance)?;
        let plans = match options.relax && !is_dense {
            true => PlanSchedule::new(tight, tolerance, make),
            false => PlanSchedule::fixed(tight),
        };
        Ok(Self { boundary: Arc::clone(boundary), plans })
    }
}

/// Applies a plan to charges and dipoles. Collective if the plan is.
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
