//! The Maxwell capacitance matrix of conductors in a homogeneous medium.

use crate::Error;
use crate::dense::Dense;
use crate::gmres::{GmresParams, Metric, StopReason, gmres};
use crate::near;
use crate::pair::PairQuadrature;
use crate::panels::Panels;
use crate::points::Points;
use crate::preconditioner::{LocalInverse, NEIGHBOURS};
use crate::quadrature::TriangleRule;
use crate::single_layer::SingleLayer;
use std::time::Instant;

use mesh::Mesh;

/// The fast sum's tolerance as a share of the solver's.
const FMM_SHARE: f64 = 0.3;

/// Excitations that share one product with the operator at most.
const GROUP: usize = 8;

/// Points at which the fast sum is compared with direct sums at the end.
const ERROR_SAMPLES: usize = 1000;

/// Which conductor each triangle belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Conductors<'a> {
    /// Index of the conductor, one a triangle; `None` = the triangle is ignored.
    pub of_triangle: &'a [Option<u32>],
    /// How many conductors there are; each has at least one triangle.
    pub count: usize,
}

/// Dense or fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Whichever the cost model says is faster.
    #[default]
    Auto,
    /// Dense Galerkin matrix, factorised.
    Dense,
    /// GMRES over the FMM with near-field correction.
    Fmm,
}

/// Choices for [`capacitance`].
#[derive(Clone, Debug, PartialEq)]
pub struct CapacitanceOptions {
    /// Dense or fast.
    pub method: Method,
    /// Relative residual of each conductor's rows in the area-scaled norm.
    pub tolerance: f64,
    /// Relative L2 error of the FMM; `None` follows the solver's.
    pub fmm_tolerance: Option<f64>,
    /// Krylov vectors before GMRES restarts.
    pub restart: usize,
    /// Iterations after which a solve is given up.
    pub max_iterations: usize,
    /// Orders added to every quadrature rule (0 = as the accuracy asks), for checking that quadrature does not limit C.
    pub quadrature_increment: usize,
    /// Bytes the solve may use; `None` = no limit.
    pub memory_limit: Option<u64>,
}

impl Default for CapacitanceOptions {
    fn default() -> Self {
        Self {
            method: Method::Auto,
            tolerance: 1e-6,
            fmm_tolerance: None,
            restart: 60,
            max_iterations: 200,
            quadrature_increment: 0,
            memory_limit: None,
        }
    }
}

/// Parts of a solve, in the order they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Tree, lists, tables.
    Plan,
    /// Exact integrals of close pairs (rows done of all rows), preconditioner.
    NearField,
    /// GMRES iterations.
    Solve,
}

/// How a caller follows and stops a solve.
pub trait Progress: Sync {
    /// Called as work advances; `total` 0 = unknown. Returns false to stop, which ends in [`Error::Interrupted`].
    fn advance(&self, stage: Stage, done: u64, total: u64) -> bool;
    /// Called after each GMRES iteration with the largest relative residual of the columns still running.
    fn residual(&self, _iteration: usize, _relative: f64) {}
}

/// No progress, never stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn advance(&self, _: Stage, _: u64, _: u64) -> bool {
        true
    }
}

/// One excitation: conductor `excitation` at potential 1, the others at 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Solve {
    /// Index of the conductor at potential 1.
    pub excitation: usize,
    /// Matvecs taken.
    pub iterations: usize,
    /// Why it stopped.
    pub reason: StopReason,
    /// True relative residual at the end: the largest over the conductors, in the area-scaled norm.
    pub relative_residual: f64,
    /// Relative residual after each iteration, beginning with 1.
    pub history: Vec<f64>,
}

/// Wall seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timings {
    /// Tree, lists, tables.
    pub plan: f64,
    /// Close pairs and preconditioner.
    pub near_field: f64,
    /// Iterations.
    pub solve: f64,
    /// Mean of one matvec over all its densities.
    pub matvec_mean: f64,
}

/// The answer, in the mesh's unit of length.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacitance {
    /// Dense or fast, as it was done.
    pub method: Method,
    /// Maxwell matrix over 4 pi eps: a length, rows as computed (not symmetrised), shape (conductors, conductors).
    pub maxwell: Vec<Vec<f64>>,
    /// For each excitation the charge density over eps at 1 V, in 1/length: sigma_j = eps * density * V. 0 on ignored triangles. Shape (conductors, triangles).
    pub density: Vec<Vec<f64>>,
    /// How each solve went.
    pub solves: Vec<Solve>,
    /// The solver tolerance that was used.
    pub tolerance: f64,
    /// The FMM tolerance that was used, none when dense.
    pub fmm_tolerance: Option<f64>,
    /// Relative L2 error of the FMM for a solved density at 1000 or more sampled targets (all, if fewer), against direct sums.
    pub fmm_error_sampled: Option<f64>,
    /// The FMM's plan, none when dense.
    pub fmm: Option<fmm::Info>,
    /// Wall seconds.
    pub timings: Timings,
}

/// Solves for the Maxwell capacitance matrix: V s = eps phi with phi = 1 on each conductor in turn.
///
/// A solve that does not converge is no error here: its [`Solve::reason`] says so and its column is partial.
///
/// # Errors
/// [`Error::Interrupted`], [`Error::Memory`], [`Error::Fmm`].
pub fn capacitance(
    mesh: &Mesh,
    conductors: Conductors<'_>,
    options: &CapacitanceOptions,
    progress: &dyn Progress,
) -> Result<Capacitance, Error> {
    let problem = Problem::new(mesh, conductors)?;
    let n = problem.panels.len();
    let accuracy = Accuracy::new(options.quadrature_increment);
    let method = match options.method {
        Method::Auto if cost::dense_is_faster(n, conductors.count) => Method::Dense,
        Method::Auto => Method::Fmm,
        asked => asked,
    };
    match method {
        Method::Dense => problem.dense(options, &accuracy, progress),
        _ => problem.fast(options, &accuracy, progress),
    }
}

/// How exactly the Galerkin matrix is worked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accuracy {
    /// Points that stand for a panel in the fast sum.
    pub rule: TriangleRule,
    /// Pairs closer than this many diameters of either panel are integrated exactly.
    pub reach: f64,
    /// Exact integrals.
    pub pairs: PairQuadrature,
    /// Panels in a neighbourhood of the preconditioner.
    pub neighbours: usize,
}

impl Accuracy {
    pub(crate) fn new(increment: usize) -> Self {
        let rules = TriangleRule::ALL;
        Self {
            rule: rules[(1 + increment).min(rules.len() - 1)],
            reach: 2.0,
            pairs: PairQuadrature::new(1e-6, increment),
            neighbours: NEIGHBOURS,
        }
    }
}

/// What of the problem does not depend on how it is solved.
struct Problem {
    panels: Panels,
    /// Conductor of each panel.
    conductor: Vec<u32>,
    /// How many conductors.
    count: usize,
    /// Weights of the residual's norm: each conductor's weights are its panels' shares of its area.
    weights: Vec<f64>,
    triangles: usize,
}

impl Problem {
    fn new(mesh: &Mesh, conductors: Conductors<'_>) -> Result<Self, Error> {
        let found = conductors.of_triangle.len();
        let expected = mesh.triangles.len();
        if found != expected {
            return Err(Error::Length { what: "conductors.of_triangle", expected, found });
        }
        let count = conductors.count;
        let of = |i: usize| conductors.of_triangle[i].filter(|&c| (c as usize) < count);
        let panels = Panels::new(mesh, |i| of(i).is_some());
        let conductor: Vec<u32> =
            panels.triangles().iter().filter_map(|&i| of(i as usize)).collect();
        let mut area = vec![0.0; count];
        for (&c, a) in conductor.iter().zip(panels.areas()) {
            area[c as usize] += a;
        }
        let weights =
            conductor.iter().zip(panels.areas()).map(|(&c, a)| a / area[c as usize]).collect();
        Ok(Self { panels, conductor, count, weights, triangles: mesh.triangles.len() })
    }

    /// Potential 1 on each conductor in turn, shape (conductors, panels).
    fn excitations(&self) -> Vec<f64> {
        let column =
            |k: usize| self.conductor.iter().map(move |&c| if c as usize == k { 1.0 } else { 0.0 });
        (0..self.count).flat_map(column).collect()
    }

    /// The largest over the conductors of the root mean square of a residual, relative to the excitation's potential 1.
    fn measure(&self, r: &[f64]) -> f64 {
        let mut squares = vec![0.0; self.count];
        for ((&c, w), r) in self.conductor.iter().zip(&self.weights).zip(r) {
            squares[c as usize] += w * r * r;
        }
        // NaN must come through: f64::max drops it.
        squares.into_iter().fold(0.0, |a: f64, b| if b > a || b.is_nan() { b } else { a }).sqrt()
    }

    fn dense(
        &self,
        options: &CapacitanceOptions,
        accuracy: &Accuracy,
        progress: &dyn Progress,
    ) -> Result<Capacitance, Error> {
        let n = self.panels.len();
        cost::check(
            "the dense matrix",
            Dense::bytes(n),
            options.memory_limit,
            "use method = \"fmm\" or a coarser mesh",
        )?;
        let mut timings = Timings::default();
        let started = Instant::now();
        let dense = Dense::new(&self.panels, &accuracy.pairs, progress)?;
        timings.near_field = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let mut charges = Vec::with_capacity(self.count * n);
        let mut solves = Vec::with_capacity(self.count);
        for (excitation, b) in self.excitations().chunks_exact(n.max(1)).enumerate() {
            let (x, relative_residual) = match &dense {
                Some(dense) => {
                    let x = dense.solve(b);
                    let y = dense.multiply(&x);
                    let r: Vec<f64> = b.iter().zip(&y).map(|(b, y)| b - y).collect();
                    (x, self.measure(&r))
                }
                None => (vec![0.0; n], 1.0),
            };
            let reason = if relative_residual.is_nan() {
                StopReason::Nan
            } else if relative_residual <= options.tolerance {
                StopReason::Converged
            } else {
                StopReason::Breakdown
            };
            let history = vec![1.0, relative_residual];
            solves.push(Solve { excitation, iterations: 0, reason, relative_residual, history });
            charges.extend(x);
            if !progress.advance(Stage::Solve, excitation as u64 + 1, self.count as u64) {
                return Err(Error::Interrupted);
            }
        }
        timings.solve = started.elapsed().as_secs_f64();
        Ok(self.answer(Method::Dense, options, &charges, solves, timings))
    }

    fn fast(
        &self,
        options: &CapacitanceOptions,
        accuracy: &Accuracy,
        progress: &dyn Progress,
    ) -> Result<Capacitance, Error> {
        let n = self.panels.len();
        cost::check(
            "the fast solve",
            cost::fast_bytes(n, accuracy.rule.len(), self.count),
            options.memory_limit,
            "use a coarser mesh or fewer conductors",
        )?;
        let fmm_tolerance =
            options.fmm_tolerance.unwrap_or(FMM_SHARE * options.tolerance).clamp(1e-12, 0.1);
        let mut timings = Timings::default();
        go_on(progress.advance(Stage::Plan, 0, 1))?;
        let started = Instant::now();
        let points = Points::new(&self.panels, accuracy.rule);
        let plan_options = fmm::Options {
            tolerance: fmm_tolerance,
            densities: self.count.clamp(1, GROUP),
            ..fmm::Options::default()
        };
        let plan = fmm::Plan::new(points.at(), None, &plan_options)?;
        timings.plan = started.elapsed().as_secs_f64();
        go_on(progress.advance(Stage::Plan, 1, 1))?;

        let started = Instant::now();
        let (mut operator, mut preconditioner) =
            self.operators(points, plan, accuracy, progress)?;
        timings.near_field = started.elapsed().as_secs_f64();

        let started = Instant::now();
        let mut charges = vec![0.0; self.count * n];
        let params = GmresParams {
            tolerance: options.tolerance,
            restart: options.restart.max(1),
            max_iterations: options.max_iterations,
            group: GROUP,
        };
        let infos = gmres(
            &mut operator,
            &mut preconditioner,
            Metric { weights: &self.weights, measure: Some(&|r| self.measure(r)) },
            &self.excitations(),
            &mut charges,
            &params,
            &mut |iteration, residual| {
                progress.residual(iteration, residual);
                progress.advance(Stage::Solve, iteration as u64, 0)
            },
        )?;
        timings.solve = started.elapsed().as_secs_f64();
        timings.matvec_mean = operator.mean_seconds();
        let solves = infos.into_iter().enumerate().map(|(excitation, info)| Solve {
            excitation,
            iterations: info.iterations,
            reason: info.reason,
            relative_residual: info.relative_residual,
            history: info.history,
        });
        let solves = solves.collect();
        let error = match charges.get(..n) {
            Some(first) if n > 0 => Some(operator.sampled_error(first, ERROR_SAMPLES)?),
            _ => None,
        };
        let mut answer = self.answer(Method::Fmm, options, &charges, solves, timings);
        answer.fmm_tolerance = Some(fmm_tolerance);
        answer.fmm_error_sampled = error;
        answer.fmm = Some(operator.plan().info().clone());
        Ok(answer)
    }

    fn operators(
        &self,
        points: Points,
        plan: fmm::Plan,
        accuracy: &Accuracy,
        progress: &dyn Progress,
    ) -> Result<(SingleLayer, LocalInverse), Error> {
        let started = Instant::now();
        let reach: Vec<f64> = (0..self.panels.len())
            .map(|i| accuracy.reach * self.panels.panel(i).diameter())
            .collect();
        let pattern = near::pattern(&self.panels, &reach);
        let searched = started.elapsed().as_secs_f64();
        let near = near::assemble(&self.panels, pattern, &accuracy.pairs, progress)?;
        let assembled = started.elapsed().as_secs_f64();
        let preconditioner = LocalInverse::new(&near, &points, accuracy.neighbours);
        let inverted = started.elapsed().as_secs_f64();
        let near = near::subtract_quadrature(near, &points);
        tracing::debug!(
            rows = near.rows(),
            entries_per_row = near.nnz() as f64 / near.rows().max(1) as f64,
            search_s = searched,
            assembly_s = assembled - searched,
            preconditioner_s = inverted - assembled,
            "near field"
        );
        Ok((SingleLayer::new(points, plan, near), preconditioner))
    }

    fn answer(
        &self,
        method: Method,
        options: &CapacitanceOptions,
        charges: &[f64],
        solves: Vec<Solve>,
        timings: Timings,
    ) -> Capacitance {
        let n = self.panels.len();
        let scale = self.panels.scale();
        let mut maxwell = vec![vec![0.0; self.count]; self.count];
        let mut density = vec![vec![0.0; self.triangles]; self.count];
        for (k, x) in charges.chunks_exact(n.max(1)).enumerate() {
            for (i, x) in x.iter().enumerate() {
                // The potential of a charge q is q / (4 pi eps r): x is q / (4 pi eps), a length, at 1 V.
                maxwell[self.conductor[i] as usize][k] += x * scale;
                density[k][self.panels.triangles()[i] as usize] =
                    4.0 * std::f64::consts::PI * x / (self.panels.areas()[i] * scale);
            }
        }
        Capacitance {
            method,
            maxwell,
            density,
            solves,
            tolerance: options.tolerance,
            fmm_tolerance: None,
            fmm_error_sampled: None,
            fmm: None,
            timings,
        }
    }
}

fn go_on(go_on: bool) -> Result<(), Error> {
    if go_on { Ok(()) } else { Err(Error::Interrupted) }
}

/// What a solve will take, before it is begun.
mod cost {
    use crate::Error;

    /// Whether a dense solve of `n` panels and `k` conductors beats the fast one.
    ///
    /// Seconds of one core, measured: a pair integral 0.4e-6, a multiply-add of the factorisation 1.5e-10; near field and
    /// preconditioner of a panel 40e-6, a fast sum over its points 12e-6 and about 10 of them.
    pub(super) fn dense_is_faster(n: usize, k: usize) -> bool {
        let (n, k) = (n as f64, k as f64);
        let dense = n * n * (0.2e-6 + n / 6.0 * 1.5e-10 + 2e-9 * k);
        let fast = n * (40e-6 + 10.0 * 12e-6 * (1.0 + 0.3 * (k - 1.0)));
        dense < fast
    }

    /// Bytes at the peak of a fast solve: points, plan, near field, preconditioner and Krylov vectors.
    pub(super) fn fast_bytes(n: usize, points: usize, conductors: usize) -> u64 {
        const POINT: usize = 200;
        const NEAR: usize = 45 * 12 + 30 * 8 + 150;
        const KRYLOV: usize = 20 * 8;
        let columns = conductors.clamp(1, super::GROUP);
        (n * (points * (POINT + 16 * columns) + NEAR + KRYLOV * columns + 16 * conductors)) as u64
    }

    pub(super) fn check(
        what: &'static str,
        needed: u64,
        limit: Option<u64>,
        advice: &'static str,
    ) -> Result<(), Error> {
        match limit {
            Some(available) if needed > available => {
                Err(Error::Memory { what, needed, available, advice })
            }
            _ => Ok(()),
        }
    }
}
