//! The linearised Poisson-Boltzmann equation: charges in regions of different permittivities, some
//! of which contain screening ions.
//!
//! In each region phi satisfies div grad phi = kappa^2 phi except at its charges; phi and the flux
//! eps dphi/dn are continuous across interfaces. Both are the unknowns, in the equations of second
//! kind of A. H. Juffer et al. (J. Comput. Phys. 97 (1991) 144) for any number of regions
//! (docs/math.md, "Salt"), whose condition number does not depend on the mesh.
//!
//! `nodes` are the points of panels, `regions` the regions on both sides of each, `kernel` the
//! kernels of the four layers, `close` the integrals over near panels, `correction` their
//! difference from sums over points, `gauss` the defect of constant layers, `operator` the
//! equations over one fast sum per region, and `field` right-hand sides and values at points.

mod close;
mod correction;
pub(crate) mod field;
mod gauss;
mod kernel;
mod nodes;
mod operator;
mod regions;

use std::f64::consts::PI;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Instant;

use mesh::Mesh;

use crate::geometry::panels::Panels;
use crate::solve::gmres::{self, GmresInfo, GmresParams};
use crate::solve::kept::Kept;
use crate::solve::plan::Plan;
use crate::solve::schedule::PlanSchedule;
use crate::solve::system::OperatorSystem;
use crate::solve::vectors::Metric;
use crate::{Density, Error, Method, Progress, SolveOptions, Stage, Timings};
use correction::{Closeness, Correction};
use nodes::{Degree, Nodes};
use operator::{Equations, PointInverses, Sum};
pub use regions::Medium;
use regions::{Boundary, Regions};

/// Regions of space, each of one medium.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'a> {
    /// The medium of each region.
    pub media: &'a [Medium],
    /// The region that each triangle's normal points to, and the one behind it; triangles with the
    /// same region on both sides are ignored.
    pub sides: &'a [[u32; 2]],
}

/// A point charge in a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedCharge {
    /// In the mesh's unit.
    pub position: [f64; 3],
    /// Charge over 4 pi eps0, so that the potential in vacuum is `charge` / distance.
    pub charge: f64,
    /// Its region.
    pub region: u32,
}

/// Potential and flux on all interfaces, from which potentials anywhere follow.
#[derive(Debug)]
pub struct Screened {
    panels: Panels,
    nodes: Nodes,
    regions: Regions,
    boundaries: Vec<Arc<Boundary>>,
    closeness: Closeness,
    options: SolveOptions,
    /// At all points, in scaled coordinates.
    potentials: Vec<f64>,
    fluxes: Vec<f64>,
    /// How the solve went.
    pub info: GmresInfo,
    /// Plan of the largest region's fast sum.
    pub fmm: Option<fmm::Info>,
    /// Tolerance of the fast sums.
    pub fmm_tolerance: f64,
    /// Their largest relative error of a region's potentials at some of its points, against direct
    /// sums.
    pub fmm_error: Option<f64>,
    /// Number of points that carry densities.
    pub points: usize,
    /// Wall seconds.
    pub timings: Timings,
}

/// A panel is close within this many of its radii.
const REACH: f64 = 4.0;

/// Errors of fast sums as a share of the solver's tolerance: derivatives of double layers nearly
/// cancel between the two sides of an interface.
const OF_TOLERANCE: f64 = 0.3;

/// Solves for the potential of `charges` in `cells`, whose interfaces are the triangles of `mesh`.
///
/// Sums are direct, without expansions, if `options.method` is dense. Densities are constant on
/// flat triangles if `options.density` is constant, otherwise linear on flat triangles and on
/// curved ones of order 2, and quadratic on those of higher order. A solve that does not converge
/// is not an error here: [`Screened::info`] says so.
///
/// # Errors
/// [`Error::Length`], [`Error::Interrupted`], [`Error::Fmm`].
pub fn poisson_boltzmann(
    mesh: &Mesh,
    cells: Cells<'_>,
    charges: &[FixedCharge],
    options: &SolveOptions,
    progress: &dyn Progress,
) -> Result<Screened, Error> {
    let (expected, found) = (mesh.triangles.len(), cells.sides.len());
    if expected != found {
        return Err(Error::Length { what: "sides", expected, found });
    }
    let mut timings = Timings::default();
    let started = Instant::now();
    let panels = Panels::new(mesh, |t| cells.sides[t][0] != cells.sides[t][1]);
    let scale = panels.scale();
    let sides = panels.triangles().iter().map(|&t| cells.sides[t as usize]).collect();
    let scaled = |medium: &Medium| Medium { kappa: medium.kappa * scale, ..*medium };
    let regions = Regions { media: cells.media.iter().map(scaled).collect(), sides };
    let degree = match (options.density, mesh.patches.as_ref().map_or(1, |p| p.order)) {
        (Density::Constant, 1) => Degree::Constant,
        (_, 1 | 2) => Degree::Linear,
        _ => Degree::Quadratic,
    };
    let nodes = Nodes::new(&panels, degree);
    let boundaries: Vec<Arc<Boundary>> =
        regions.boundaries(&nodes).into_iter().map(Arc::new).collect();
    let is_dense = options.method == Method::Dense;
    let tolerance = options.fmm_tolerance.unwrap_or(OF_TOLERANCE * options.tolerance);
    let go_on = |done: u64| match progress.advance(Stage::Plan, done, 1) {
        true => Ok(()),
        false => Err(Error::Interrupted),
    };
    go_on(0)?;
    let sum = |boundary| sum(boundary, &regions, tolerance, options);
    let mut sums: Vec<Sum> = boundaries.iter().map(sum).collect::<Result<_, Error>>()?;
    timings.plan = started.elapsed().as_secs_f64();
    go_on(1)?;
    let started = Instant::now();
    let closeness = Closeness { reach: REACH, accuracy: 0.1 * options.tolerance.max(1e-10) };
    let correction = Correction::new(&panels, &nodes, &regions, closeness, progress)?;
    let unscreened = |places: &[[f64; 3]]| {
        let backend = options.effective_backend()?;
        let own = fmm::Options::default().dipoles(true).backend(backend).tolerance(tolerance);
        Ok(Plan::new(&comm::alone(), places, None, &own.gpu(options.gpu))?)
    };
    let defects = gauss::defects(&panels, &nodes, &regions, closeness.reach, unscreened)?;
    let mut inverses = PointInverses::new(&nodes, &regions, &correction);
    timings.near_field = started.elapsed().as_secs_f64();
    tracing::debug!(
        points = nodes.len(),
        regions = boundaries.len(),
        blocks = correction.len(),
        "salt"
    );
    let started = Instant::now();
    let mut screened = Screened {
        info: GmresInfo {
            iterations: 0,
            reason: crate::StopReason::Converged,
            relative_residual: 0.0,
            history: vec![1.0],
        },
        fmm: None,
        fmm_tolerance: tolerance,
        fmm_error: None,
        points: nodes.len(),
        potentials: vec![0.0; nodes.len()],
        fluxes: vec![0.0; nodes.len()],
        timings,
        panels,
        nodes,
        regions,
        boundaries,
        closeness,
        options: options.clone(),
    };
    let right = screened.right_hand_side(charges)?;
    let (mut solution, weights) = (vec![0.0; right.len()], screened.weights(&right));
    let mut equations = Equations {
        nodes: &screened.nodes,
        regions: &screened.regions,
        correction: &correction,
        sums: &mut sums,
        defects,
    };
    let params = GmresParams {
        tolerance: options.tolerance,
        restart: options.restart,
        max_iterations: options.max_iterations,
        group: 1,
    };
    let metric = Metric { weights: &weights, measure: None };
    let kept = Kept::new(progress, || vec![Some(number(&right, &weights))]);
    kept.restore(&mut solution);
    let mut system = OperatorSystem::new(&mut equations, &mut inverses, metric);
    let infos = gmres::solve(&mut system, &right, &mut solution, &params, &mut kept.watch(0, &[]))?;
    let largest = equations.sums.iter().max_by_key(|sum| sum.boundary.nodes.len());
    let fmm = largest.map(|sum| sum.plans.tight().info().clone());
    let matvec_mean = equations.sums.iter().map(|sum| sum.plans.mean_seconds()).sum();
    drop(equations);
    let checking = Instant::now();
    if let Some(info) = infos.into_iter().next() {
        screened.info = info;
    }
    screened.fluxes.copy_from_slice(&solution[screened.nodes.len()..]);
    solution.truncate(screened.nodes.len());
    screened.potentials = solution;
    if !is_dense {
        screened.fmm = fmm;
        screened.fmm_error = screened.sampled_error(&mut sums)?;
    }
    screened.timings.fmm_check = checking.elapsed().as_secs_f64();
    screened.timings.matvec_mean = matvec_mean;
    screened.timings.solve = started.elapsed().as_secs_f64() - screened.timings.fmm_check;
    Ok(screened)
}

/// The number that identifies the equations with this right-hand side.
fn number(right: &[f64], weights: &[f64]) -> u64 {
    let mut hasher = DefaultHasher::new();
    right.iter().chain(weights).for_each(|value| value.to_bits().hash(&mut hasher));
    hasher.finish()
}

/// The fast sums of one region, or direct sums.
fn sum(
    boundary: &Arc<Boundary>,
    regions: &Regions,
    tolerance: f64,
    options: &SolveOptions,
) -> Result<Sum, Error> {
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
    Ok(Sum { boundary: Arc::clone(boundary), plans })
}

impl Screened {
    /// Whether the solve met its tolerance.
    pub fn has_converged(&self) -> bool {
        self.info.reason == crate::StopReason::Converged
    }

    /// Weights of residuals: areas; fluxes and potentials each relative to their right-hand sides.
    fn weights(&self, right: &[f64]) -> Vec<f64> {
        let n = self.nodes.len();
        let (potentials, fluxes) = right.split_at(n);
        let size = |of: &[f64]| -> f64 {
            let squares = of.iter().zip(&self.nodes.weights).map(|(b, w)| w * b * b);
            squares.sum()
        };
        let factors = [potentials, fluxes].map(size).map(|s| if s > 0.0 { 1.0 / s } else { 1.0 });
        factors.iter().flat_map(|f| self.nodes.weights.iter().map(move |w| f * w)).collect()
    }

    /// Potentials at the centres of the mesh's triangles, by triangle index, in the unit of charges
    /// divided by the mesh's unit; NaN where there is no interface.
    pub fn surface_potentials(&self, triangles: usize) -> Vec<f64> {
        self.means(&self.potentials, triangles, 1.0 / self.panels.scale())
    }

    /// The same for eps dphi/dn along the triangles' normals.
    pub fn surface_fluxes(&self, triangles: usize) -> Vec<f64> {
        self.means(&self.fluxes, triangles, self.panels.scale().powi(-2))
    }

    fn means(&self, of: &[f64], triangles: usize, factor: f64) -> Vec<f64> {
        let mut means = vec![f64::NAN; triangles];
        for (panel, &t) in self.panels.triangles().iter().enumerate() {
            let own = self.nodes.of_panel(panel);
            let area: f64 = self.nodes.weights[own.clone()].iter().sum();
            let sum: f64 = own.map(|node| self.nodes.weights[node] * of[node]).sum();
            means[t as usize] = factor * sum / area;
        }
        means
    }

    /// For each region without ions, the difference between the flux out of it and the charge in
    /// it, divided by the sum of the magnitudes of both: Gauss's law, which the equations do not
    /// enforce.
    pub fn flux_defects(&self, charges: &[FixedCharge]) -> Vec<(usize, f64)> {
        let of = |boundary: &Arc<Boundary>| {
            let region = boundary.region;
            if self.regions.media[region].kappa > 0.0
                || self.regions.is_unbounded(&self.nodes, boundary)
            {
                return None;
            }
            let q = self.nodes.degree.points();
            let flux = |&node: &u32| {
                let node = node as usize;
                let sign = self.regions.sign(node / q, region);
                sign * self.nodes.weights[node] * self.fluxes[node]
            };
            let through: f64 = boundary.nodes.iter().map(flux).sum();
            let own = charges.iter().filter(|charge| charge.region as usize == region);
            let charge: f64 = own.map(|charge| charge.charge).sum();
            let size: f64 = boundary.nodes.iter().map(|node| flux(node).abs()).sum();
            let expected = -4.0 * PI * charge;
            let size = size.max(expected.abs());
            (size > 0.0).then(|| (region, (through - expected) / size))
        };
        self.boundaries.iter().filter_map(of).collect()
    }
}
