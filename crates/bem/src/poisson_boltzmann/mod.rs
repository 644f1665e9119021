//! The linearised Poisson-Boltzmann equation: charges in regions of different permittivities, some
//! of which contain screening ions.
//!
//! In each region phi satisfies div grad phi = kappa^2 phi except at its charges; phi and the flux
//! eps dphi/dn are continuous across interfaces. Both are the unknowns, in the equations of second
//! kind of A. H. Juffer et al. (J. Comput. Phys. 97 (1991) 144) for any number of regions
//! (docs/math.md, "Salt"), whose condition number does not depend on the mesh.
//!
//! `nodes` are the points of panels, `regions` the regions on both sides of each, `kernel` the
//! kernels of the four layers, `close` the integrals over near panels, `pairs` the entries of the
//! near field, `sum` the fast sum of a region, `memory` what both take, `gauss` the defect of
//! constant layers, `system` the equations, `field` right-hand sides and values at points, and
//! `sampled` checks whole rows.

mod close;
pub(crate) mod field;
mod gauss;
mod kernel;
mod memory;
mod nodes;
mod pairs;
mod regions;
mod sampled;
mod sum;
mod system;

use std::f64::consts::PI;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Instant;

use comm::Group;
use mesh::Mesh;

use crate::collective;
use crate::geometry::panels::Panels;
use crate::geometry::partition::Partition;
use crate::solve::gmres::{self, GmresInfo, GmresParams};
use crate::solve::observer::Checkpoints;
use crate::solve::plan::Plan;
use crate::solve::vectors::HostVectors;
use crate::{Capacitance, Density, Error, Method, Progress, Solve, SolveOptions, Stage, Timings};
use memory::Memory;
use nodes::{Degree, Nodes};
use pairs::LAYERS;
pub use regions::Medium;
use regions::{Boundary, Regions};
use sum::Sum;
use system::{Equations, Local, LocalParts, NearField};

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
    /// Of integrals over panels near a point, relative.
    accuracy: f64,
    options: SolveOptions,
    /// At all points, in scaled coordinates.
    potentials: Vec<f64>,
    fluxes: Vec<f64>,
    /// Of right-hand sides of potentials and of fluxes, as [`sizes`](Self::sizes) has them.
    right_sizes: [f64; 2],
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
/// [`Error::Length`], [`Error::Memory`], [`Error::Interrupted`], [`Error::Fmm`].
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
    let started = Instant::now();
    let mut screened = Screened::unsolved(mesh, cells, options);
    let group = if screened.is_dense() { comm::alone() } else { options.group() };
    collective::agreed(&*group, screened.memory(&group).check_regular())?;
    let mut sums = screened.sums(&group, progress)?;
    screened.timings.plan = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let partition = Arc::new(Partition::new(&group, &screened.panels, || reach(&screened.panels))?);
    let local = screened.local(&partition, progress)?;
    screened.timings.near_field = started.elapsed().as_secs_f64();
    let started = Instant::now();
    screened.solve(local, &mut sums, charges, progress)?;
    screened.timings.solve = started.elapsed().as_secs_f64();
    if !screened.is_dense() {
        let started = Instant::now();
        screened.fmm_error = screened.sampled_error(&mut sums)?;
        screened.timings.fmm_check = started.elapsed().as_secs_f64();
    }
    Ok(screened)
}

/// The near field's product with a value for each unknown, potentials and then fluxes of shape
/// (points of a panel, panels) each; for tests.
///
/// # Errors
/// As [`poisson_boltzmann`].
pub fn near_field_product(
    mesh: &Mesh,
    cells: Cells<'_>,
    options: &SolveOptions,
    value: impl Fn(usize) -> f64,
) -> Result<Vec<f64>, Error> {
    let screened = Screened::unsolved(mesh, cells, options);
    let whole = Arc::new(Partition::new(&comm::alone(), &screened.panels, Vec::new)?);
    let local = screened.local(&whole, &crate::NoProgress)?;
    let x: Vec<f64> = (0..2 * screened.nodes.len()).map(value).collect();
    let mut y = vec![0.0; x.len()];
    local.near.multiply_add(&x, &mut y)?;
    Ok(y)
}

/// The number that identifies the equations with this right-hand side.
fn number(right: &[f64], weights: &[f64]) -> u64 {
    let mut hasher = DefaultHasher::new();
    right.iter().chain(weights).for_each(|value| value.to_bits().hash(&mut hasher));
    hasher.finish()
}

/// Distance from its centroid within which each panel is integrated.
fn reach(panels: &Panels) -> Vec<f64> {
    (0..panels.len()).map(|i| REACH * panels.radius(i)).collect()
}

impl Screened {
    /// Interfaces without potential and flux.
    fn unsolved(mesh: &Mesh, cells: Cells<'_>, options: &SolveOptions) -> Self {
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
        Self {
            info: GmresInfo {
                iterations: 0,
                reason: crate::StopReason::Converged,
                relative_residual: 0.0,
                history: vec![1.0],
            },
            fmm: None,
            fmm_tolerance: options.fmm_tolerance.unwrap_or(OF_TOLERANCE * options.tolerance),
            fmm_error: None,
            points: nodes.len(),
            potentials: vec![0.0; nodes.len()],
            fluxes: vec![0.0; nodes.len()],
            right_sizes: [1.0; 2],
            timings: Timings::default(),
            boundaries: regions.boundaries(&nodes).into_iter().map(Arc::new).collect(),
            panels,
            nodes,
            regions,
            accuracy: 0.1 * options.tolerance.max(1e-10),
            options: options.clone(),
        }
    }

    fn is_dense(&self) -> bool {
        self.options.method == Method::Dense
    }

    /// What takes memory in the part of one of these ranks.
    fn memory(&self, group: &Group) -> Memory {
        let points: usize = self.boundaries.iter().map(|boundary| boundary.nodes.len()).sum();
        Memory {
            points: points.div_ceil(group.size()),
            is_dense: self.is_dense(),
            tolerance: self.options.tolerance,
            panels: self.panels.len().div_ceil(group.size()),
            numbers: LAYERS * self.nodes.degree.points().pow(2),
            limit: self.options.memory_limit,
        }
    }

    /// The sums of all regions. Collective.
    fn sums(&self, group: &Group, progress: &dyn Progress) -> Result<Vec<Sum>, Error> {
        let advance = |done: u64| {
            let goes_on = progress.advance(Stage::Plan, done, 1);
            collective::agreed(&**group, if goes_on { Ok(()) } else { Err(Error::Interrupted) })
        };
        advance(0)?;
        let sum = |of| Sum::new(of, &self.regions, self.fmm_tolerance, &self.options);
        let sums = self.boundaries.iter().map(sum).collect::<Result<_, Error>>()?;
        advance(1)?;
        Ok(sums)
    }

    /// Near field and preconditioner of a rank's panels. Collective.
    fn local(
        &self,
        partition: &Arc<Partition>,
        progress: &dyn Progress,
    ) -> Result<LocalParts, Error> {
        let panels = partition.local_part(&self.panels, Panels::subset);
        let degree = self.nodes.degree;
        let local = Local {
            panels: &panels,
            nodes: &partition.local_part(&self.nodes, |_, _| Nodes::new(&panels, degree)),
            regions: &partition.local_part(&self.regions, Regions::subset),
            partition,
            memory: self.memory(partition.group()),
        };
        let (reach, options) = (reach(&panels), &self.options);
        let near = NearField::new(&local, &reach, self.accuracy, options, progress);
        let near = collective::agreed(&**partition.group(), near)?;
        tracing::debug!(points = self.nodes.len(), entries = near.entries(), "salt");
        let unscreened = |places: &[[f64; 3]]| {
            let backend = self.options.effective_backend()?;
            let own = fmm::Options::default().dipoles(true).backend(backend).gpu(self.options.gpu);
            Ok(Plan::new(&comm::alone(), places, None, &own.tolerance(self.fmm_tolerance))?)
        };
        Ok(LocalParts {
            defects: gauss::defects(&self.panels, &self.nodes, &self.regions, REACH, unscreened)?,
            inverses: system::inverses(&local, &near),
            near,
            partition: Arc::clone(partition),
        })
    }

    /// Solves for potentials and fluxes. Collective.
    fn solve(
        &mut self,
        local: LocalParts,
        sums: &mut [Sum],
        charges: &[FixedCharge],
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let right = self.right_hand_side(charges)?;
        self.right_sizes = self.sizes(&right);
        let weights = self.weights();
        let [right, weights] = [right, weights].map(|values| self.unknowns(&values));
        let mut solution = vec![0.0; right.len()];
        let params = GmresParams {
            tolerance: self.options.tolerance,
            restart: self.options.restart,
            max_iterations: self.options.max_iterations,
            group: 1,
        };
        let checkpoints = Checkpoints::new(progress, || vec![Some(number(&right, &weights))]);
        checkpoints.restore(&self.options.ranks, &mut solution)?;
        let mut equations = Equations {
            space: HostVectors::new(Arc::clone(&local.partition), &weights, right.len()),
            nodes: &self.nodes,
            regions: &self.regions,
            sums: &mut *sums,
            local,
        };
        let mut observer = checkpoints.observer(0, &[]);
        let infos = gmres::solve(&mut equations, &right, &mut solution, &params, &mut observer)?;
        drop(equations);
        if let Some(info) = infos.into_iter().next() {
            self.info = info;
        }
        let (potentials, fluxes) = solution.split_at(self.nodes.len());
        let q = self.nodes.degree.points();
        [self.potentials, self.fluxes] = [potentials, fluxes].map(|of| system::by_panels(of, q));
        self.timings.matvec_mean = sums.iter().map(|sum| sum.plans.mean_seconds()).sum();
        if !self.is_dense() {
            let largest = sums.iter().max_by_key(|sum| sum.boundary.nodes.len());
            self.fmm = largest.map(|sum| sum.plans.tight().info().clone());
        }
        Ok(())
    }

    /// Values at all points, potentials and then fluxes, in the order of unknowns.
    fn unknowns(&self, values: &[f64]) -> Vec<f64> {
        let halves = values.chunks_exact(self.nodes.len().max(1));
        halves.flat_map(|half| system::by_unknowns(half, self.nodes.degree.points())).collect()
    }

    /// How the solve went, in the form of answers about conductors, of which there are none.
    pub fn report(&self) -> Capacitance {
        let (is_dense, info) = (self.is_dense(), &self.info);
        Capacitance {
            method: if is_dense { Method::Dense } else { Method::Fmm },
            maxwell: Vec::new(),
            replaced: Vec::new(),
            unresolved: Vec::new(),
            density: Vec::new(),
            solves: vec![Solve {
                excitation: 0,
                iterations: info.iterations,
                reason: info.reason,
                relative_residual: info.relative_residual,
                history: info.history.clone(),
            }],
            tolerance: self.options.tolerance,
            fmm_tolerance: (!is_dense).then_some(self.fmm_tolerance),
            fmm_error_sampled: self.fmm_error,
            fmm_error_potential: None,
            fmm: self.fmm.clone(),
            timings: self.timings,
        }
    }

    /// Whether the solve met its tolerance.
    pub fn has_converged(&self) -> bool {
        self.info.reason == crate::StopReason::Converged
    }

    /// Squares of right-hand sides of potentials and of fluxes, times areas; 1 where there are
    /// none.
    fn sizes(&self, right: &[f64]) -> [f64; 2] {
        let (potentials, fluxes) = right.split_at(self.nodes.len());
        [potentials, fluxes].map(|of| {
            let squares = of.iter().zip(&self.nodes.weights).map(|(b, w)| w * b * b);
            let size: f64 = squares.sum();
            if size > 0.0 { size } else { 1.0 }
        })
    }

    /// Weights of residuals: areas; fluxes and potentials each relative to their right-hand sides.
    fn weights(&self) -> Vec<f64> {
        let of = |size: f64| self.nodes.weights.iter().map(move |w| w / size);
        self.right_sizes.into_iter().flat_map(of).collect()
    }

    /// Potentials at the centres of the mesh's triangles, by triangle index, in the unit of charges
    /// divided by the mesh's unit; NaN where there is no interface.
    pub fn surface_potentials(&self, triangles: usize) -> Vec<f64> {
        self.means(&self.potentials, triangles, 1.0 / self.panels.scale())
    }

    /// As [`surface_potentials`](Self::surface_potentials), for eps dphi/dn along the normals.
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
