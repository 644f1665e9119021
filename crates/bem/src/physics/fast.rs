//! The equations by a fast sum and a near field, solved by GMRES.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use super::preconditioner::Preconditioner;
use super::prepared::{Found, Solved};
use super::rows::{self, Rows, System, weighted_norm};
use super::sampled::chosen;
use super::{Excitation, external};
use crate::device::{
    DeviceGeometry, DeviceNear, DevicePreconditioner, DeviceProduct, DeviceVectors, Measure, Norms,
};
use crate::geometry::panels::Panels;
use crate::near::accuracy::Accuracy;
use crate::near::pairs::{LayerPairs, RowKind};
use crate::near::{self, Near, Needs, Sources};
use crate::operator::fast_sum::{self, GROUP, TIGHTENINGS, TIGHTEST};
use crate::operator::layer::{self, Correction, Layer};
use crate::operator::points::QuadraturePoints;
use crate::operator::schedule::PlanSchedule;
use crate::physics::cost;
use crate::quadrature::sums::Rule;
use crate::solve::gmres::{
    GmresInfo, GmresParams, InexactBudget, LinearOperator, Metric, StopReason, gmres, gmres_in,
};
use crate::{Error, Progress, SolveOptions, Stage, Timings};

/// What the residual of a state that was solved on for ([`Prepared::refine`](super::Prepared::refine)) is promised to be, relative to what
/// acts on each body, where the tolerance is smaller: action may be a small part of what the sums add up.
pub const OF_ACTION: f64 = 1e-3;

/// Among sources, residuals of so many tolerances relative to what acts on a body are solved on for: in the largest potential of all
/// the charge of others may have no digits.
const WEAK: f64 = 3.0;

/// How often a state is solved on for, before what is left is said to be.
const REFINEMENTS: usize = 3;

/// Panels at which the fast sum is compared with direct sums where a state is solved on for, unless there are more bodies.
const LOOKED_AT: usize = 64;

/// Panels from which on a GPU pays.
const WORTH_A_GPU: usize = 10_000;

/// Fast sum, near field and local inverses.
pub(super) struct Fast {
    accuracy: Accuracy,
    memory: cost::Fast,
    pub(super) sum: Sum,
    pub(super) layer: Layer,
    /// The panels on a GPU, if that is to do the whole solve.
    geometry: Option<DeviceGeometry>,
    /// Once there was something to solve for.
    close: Option<Close>,
    sheets: Option<(Vec<RowKind>, Layer)>,
}

/// What close pairs are good for beside the products, and what they were chosen for.
struct Close {
    needs: Needs,
    inverses: Inverses,
}

/// The preconditioner, where the near field is.
enum Inverses {
    Host(Box<Preconditioner>),
    Device(Box<DevicePreconditioner>),
}

/// The panels on the GPU, if that is to do the whole solve.
fn geometry_on_device(
    system: &System,
    options: &SolveOptions,
    diameters: f64,
) -> Result<Option<DeviceGeometry>, Error> {
    let (panels, kinds) = (&system.panels, &system.rows.kinds);
    let open = || DeviceGeometry::new(&gpu::Device::open(options.gpu)?, panels, kinds, diameters);
    match options.backend {
        fmm::Backend::Cuda => Ok(Some(open()?)),
        // Should there be no GPU, the plan says so.
        fmm::Backend::Auto if panels.len() >= WORTH_A_GPU => Ok(open().ok()),
        _ => Ok(None),
    }
}

/// Exact entries on close pairs.
fn near(
    system: &System,
    accuracy: &Accuracy,
    needs: &Needs,
    kinds: &[RowKind],
    check: impl Fn(usize) -> Result<(), Error> + Sync,
    progress: &dyn Progress,
) -> Result<Near, Error> {
    let panels = &system.panels;
    let pairs = LayerPairs::new(panels, kinds, accuracy.pairs);
    let pairs = pairs.with_solid_angles(accuracy.solid_angles).with_needs(needs);
    let (selection, precision) = (&accuracy.selection, accuracy.precision);
    Near::new(panels, selection, &pairs, precision, check, progress)
}

/// What these excitations, with right-hand sides `b`, ask of the near field. Interfaces alone ask for nothing: their densities and the
/// fields that these make have one norm, in which the panels' own weights bound errors.
fn needs(system: &System, excitations: &[Excitation], b: &[f64]) -> Needs {
    let rows = &system.rows;
    let n = system.panels.len().max(1);
    let sources = |(excitation, b): (&Excitation, &[f64])| {
        external::sources(system, excitation, rows.measure(b))
    };
    let sources: Vec<Sources> = excitations.iter().zip(b.chunks_exact(n)).map(sources).collect();
    let (parts, shares) = rows.shares();
    let has_metal = rows.kinds.contains(&RowKind::Single);
    Needs::new(&system.panels, if has_metal { &sources } else { &[] }, parts, shares)
}

/// The fast sum, whatever it sums for.
#[derive(Clone, Copy)]
pub(super) struct Sum {
    rule: &'static Rule,
    /// How close points come to each other, in sizes of a panel.
    closest: f64,
    pub(super) tolerance: f64,
}

impl Sum {
    /// Its plan for rows of these kinds and so many columns at once.
    fn plan(
        &self,
        panels: &Panels,
        kinds: &[RowKind],
        columns: usize,
        options: &SolveOptions,
    ) -> Result<fmm::Plan, Error> {
        let points = QuadraturePoints::new(panels, self.rule);
        let targets = points.all();
        let least = options.tolerance.max(fast_sum::serves(self.tolerance));
        let options = fmm::Options {
            precision: layer::precision(kinds, self.closest, least),
            backend: options.backend,
            gpu: options.gpu,
            ..layer::plan_options(kinds, self.tolerance, columns.clamp(1, GROUP))
        };
        Ok(match points.with_images() {
            Some(sources) => fmm::Plan::new(&sources, Some(&targets), &options)?,
            None => fmm::Plan::new(&targets, None, &options)?,
        })
    }
}

impl Fast {
    pub(super) fn new(
        system: &System,
        columns: usize,
        options: &SolveOptions,
        progress: &dyn Progress,
        timings: &mut Timings,
    ) -> Result<Self, Error> {
        let n = system.panels.len();
        let kinds = &system.rows.kinds;
        let accuracy = Accuracy::new(options.tolerance, options.quadrature_increment);
        let geometry = geometry_on_device(system, options, accuracy.selection.diameters)?;
        let closest = match &geometry {
            Some(geometry) => geometry.closest(accuracy.rule)?,
            None => near::closest(&system.panels, accuracy.rule),
        };
        let accuracy = accuracy.for_closest(closest);
        let rule = accuracy.rule;
        let memory = cost::Fast {
            panels: [n, system.panels.total()],
            points: rule.len(),
            entries: n * near::REGULAR_ROW,
            precision: accuracy.precision,
            is_symmetric: !kinds.contains(&RowKind::Adjoint),
            gradient: kinds.contains(&RowKind::Adjoint),
            columns,
            limit: options.memory_limit,
        };
        memory.check(memory.entries)?;
        let sum = Sum { rule, closest, tolerance: fast_sum::tolerance(options) };
        let go_on = |done: u64| {
            let on = progress.advance(Stage::Plan, done, 1);
            if on { Ok(()) } else { Err(Error::Interrupted) }
        };
        go_on(0)?;
        let started = Instant::now();
        let make = {
            let (panels, kinds) = (Arc::clone(&system.panels), kinds.clone());
            let options = options.clone();
            move |tolerance: f64| Sum { tolerance, ..sum }.plan(&panels, &kinds, columns, &options)
        };
        let first_plan = make(sum.tolerance)?;
        timings.plan = started.elapsed().as_secs_f64();
        go_on(1)?;
        let panels = Arc::clone(&system.panels);
        let plans = if options.relax {
            PlanSchedule::new(first_plan, sum.tolerance, make)
        } else {
            PlanSchedule::fixed(first_plan)
        };
        let layer = Layer::new(panels, rule, kinds.clone(), plans, Correction::Host(Near::none(n)));
        // Unless the plan had to do without it.
        let geometry = geometry.filter(|_| layer.plan().device().is_some());
        Ok(Self { accuracy, memory, sum, layer, geometry, close: None, sheets: None })
    }

    /// Close pairs as these excitations need them, with right-hand sides `b`: those that are known, if they serve.
    fn close(
        &mut self,
        system: &System,
        excitations: &[Excitation],
        b: &[f64],
        options: &SolveOptions,
        progress: &dyn Progress,
        timings: &mut Timings,
    ) -> Result<Close, Error> {
        let started = Instant::now();
        let mut needs = needs(system, excitations, b);
        if let Some(known) = self.close.take() {
            if known.needs.serve(&system.panels, &needs) {
                return Ok(known);
            }
            needs = needs.with(&known.needs);
        }
        self.sheets = None;
        let geometry = self.geometry.take();
        let there = geometry.map(|geometry| self.close_there(system, geometry, &needs, progress));
        let there = match there {
            Some(Err(Error::Gpu(error))) if options.backend == fmm::Backend::Auto => {
                tracing::warn!(%error, "the near field is evaluated on the processor");
                None
            }
            other => other.transpose()?,
        };
        if let Some(preconditioner) = there {
            timings.near_field += started.elapsed().as_secs_f64();
            return Ok(Close { needs, inverses: Inverses::Device(Box::new(preconditioner)) });
        }
        let (accuracy, kinds) = (&self.accuracy, &system.rows.kinds);
        let check = |entries| self.memory.check(entries);
        let mut near = near(system, accuracy, &needs, kinds, check, progress)?;
        let preconditioner = Preconditioner::new(system, &near);
        let pairs = LayerPairs::new(&system.panels, kinds, accuracy.pairs);
        near.subtract_points(&system.panels, &pairs, accuracy.rule);
        self.layer.set_correction(Correction::Host(near));
        timings.near_field += started.elapsed().as_secs_f64();
        Ok(Close { needs, inverses: Inverses::Host(Box::new(preconditioner)) })
    }

    /// Close pairs on the device.
    fn close_there(
        &mut self,
        system: &System,
        mut geometry: DeviceGeometry,
        needs: &Needs,
        progress: &dyn Progress,
    ) -> Result<DevicePreconditioner, Error> {
        let Accuracy { rule, selection, pairs, precision, .. } = &self.accuracy;
        let stream = geometry.device().clone();
        let check = |entries| self.memory.check(entries);
        geometry.set_needs(needs, self.accuracy.solid_angles)?;
        let mut near = DeviceNear::new(geometry, selection, *pairs, *precision, check, progress)?;
        let conductor = &system.rows.conductor;
        let preconditioner = DevicePreconditioner::new(&near, &system.panels, conductor)?;
        near.subtract_points(rule)?;
        stream.stream().synchronize()?;
        let product = DeviceProduct::new(near, rule)?;
        self.layer.set_correction(Correction::Device(Box::new(product)));
        Ok(preconditioner)
    }

    /// Takes points and close pairs for a tolerance this share of the usual one, for all that is solved for from now on.
    pub(super) fn make_finer(
        &mut self,
        system: &System,
        share: f64,
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        // Before the next ones are made.
        self.close = None;
        self.sheets = None;
        self.layer.set_correction(Correction::Host(Near::none(system.panels.len())));
        let finer = SolveOptions {
            tolerance: (share * options.tolerance).max(TIGHTEST),
            fmm_tolerance: Some(self.sum.tolerance),
            relax: false,
            ..options.clone()
        };
        tracing::info!(tolerance = finer.tolerance, "weak bodies ask for finer integrals");
        *self = Self::new(system, 1, &finer, progress, &mut Timings::default())?;
        Ok(())
    }

    pub(super) fn solve(
        &mut self,
        system: &System,
        excitations: &[Excitation],
        mut b: Vec<f64>,
        options: &SolveOptions,
        progress: &dyn Progress,
        timings: &mut Timings,
    ) -> Result<Found, Error> {
        let (n, columns) = (system.panels.len(), excitations.len());
        let mut close = self.close(system, excitations, &b, options, progress, timings)?;
        let rows = &system.rows;
        let mut operator = Operator { layer: &mut self.layer, rows, defect: 0.0 };
        let mut charges = vec![0.0; columns * n];
        let params = GmresParams {
            tolerance: options.tolerance,
            restart: options.restart.max(1),
            max_iterations: options.max_iterations,
            group: GROUP,
        };
        // Every column is measured by its own right-hand side, so that they can advance together.
        let sizes: Vec<f64> = b.chunks_exact(n.max(1)).map(|b| system.rows.measure(b)).collect();
        scale(&mut b, n, &sizes, |size| 1.0 / size);
        let has_sources = excitations.iter().any(Excitation::has_sources);
        // One for all columns, or one for each.
        let weights: Vec<f64> = if has_sources {
            b.chunks_exact(n.max(1)).flat_map(|b| rows.norm_weights(b)).collect()
        } else {
            rows.weights.clone()
        };
        // Of columns with sources: the last residual relative to what acts on each body.
        let by_action = RefCell::new(vec![0.0; columns]);
        let measure = |column: usize, x: &[f64], r: &[f64]| {
            if excitations[column].has_sources() {
                by_action.borrow_mut()[column] = system.rows.relative_to_action(x, r);
            }
            system.rows.measure(r)
        };
        let mut observe = |iteration: usize, residual: f64| {
            progress.residual(iteration, residual);
            progress.advance(Stage::Solve, iteration as u64, 0)
        };
        let metric = || Metric { weights: &weights, measure: Some(&measure) };
        let measure_parts = |column: usize, left: &[f64], balanced: &[f64]| {
            let [left, balanced] = [left, balanced].map(|of| of.iter().map(|s| s.sqrt()).collect());
            let left: Vec<f64> = left;
            if excitations[column].has_sources() {
                by_action.borrow_mut()[column] = rows::relative_to_action(&left, &balanced);
            }
            rows::largest(&left)
        };
        let mut iterate = |operator: &mut Operator<'_>, charges: &mut [f64]| {
            let observe = &mut observe;
            match &mut close.inverses {
                Inverses::Host(inverses) => {
                    let mut inverses = inverses.for_rows(&system.rows);
                    gmres(operator, &mut inverses, metric(), &b, charges, &params, observe)
                }
                Inverses::Device(inverses) => {
                    let norms = (&weights[..], has_sources, &measure_parts as &Measure<'_>);
                    solve_there(operator, inverses, norms, &b, charges, &params, observe)
                }
            }
        };
        let mut infos = iterate(&mut operator, &mut charges)?;
        let mut checking = 0.0;
        let mut check = |operator: &Operator<'_>| {
            let started = Instant::now();
            let error = operator.layer.sampled_error(fast_sum::SAMPLES);
            checking += started.elapsed().as_secs_f64();
            error
        };
        // Where there is no charge nothing was summed.
        let charged = charges.iter().any(|&q| q != 0.0);
        let mut error = if charged { check(&operator)? } else { None };
        for _ in 0..TIGHTENINGS {
            let tighter = fast_sum::tighter_for(self.sum.tolerance, error, options);
            let Some(tolerance) = tighter else { break };
            self.sum.tolerance = tolerance;
            let tighter = self.sum.plan(&system.panels, &rows.kinds, columns, options)?;
            operator.layer.set_plan(tighter, self.sum.tolerance);
            for (info, again) in infos.iter_mut().zip(iterate(&mut operator, &mut charges)?) {
                let earlier = info.iterations;
                let mut history = std::mem::take(&mut info.history);
                history.extend(again.history.iter().skip(1));
                *info = GmresInfo { iterations: earlier + again.iterations, history, ..again };
            }
            error = check(&operator)?;
        }
        for (column, info) in infos.iter_mut().enumerate() {
            let is_weak = by_action.borrow()[column] > WEAK * options.tolerance;
            if info.reason == StopReason::Converged && is_weak {
                let of_column = column * n..(column + 1) * n;
                let (b, x) = (&b[of_column.clone()], &mut charges[of_column]);
                let more = close.inverses.solve_on(&mut operator, b, x, options, progress)?;
                info.iterations += more.iterations;
                info.history.extend(more.history.iter().skip(1));
            }
        }
        if fast_sum::is_hopeless(error, options.tolerance) {
            infos.iter_mut().for_each(|info| info.reason = StopReason::Breakdown);
        }
        let defect = operator.defect;
        scale(&mut charges, n, &sizes, |size| size);
        let solved = infos
            .into_iter()
            .map(|info| Solved {
                iterations: info.iterations,
                reason: info.reason,
                relative_residual: info.relative_residual,
                history: info.history,
            })
            .collect();
        let slopes = self.slopes(system, &charges, columns, &close.needs, options, progress)?;
        self.close = Some(close);
        Ok(Found { charges, slopes, solved, defect, sizes, error, checking })
    }

    /// Solves on for one state from charges `x` that are known to the tolerance in the largest potential of all. What conductors and
    /// interfaces exert on each other may be a small part of that: here the residual on each gets small against what acts on it.
    pub(super) fn refine(
        &mut self,
        system: &System,
        excitation: &Excitation,
        b: &[f64],
        mut x: Vec<f64>,
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<Found, Error> {
        let (one, timings) = (std::slice::from_ref(excitation), &mut Timings::default());
        let mut close = self.close(system, one, b, options, progress, timings)?;
        let rows = &system.rows;
        let mut operator = Operator { layer: &mut self.layer, rows, defect: 0.0 };
        let mut solved = close.inverses.solve_on(&mut operator, b, &mut x, options, progress)?;
        // The fast sum's error is relative to the largest action of all.
        let looked_at = chosen(system, LOOKED_AT.max(rows.parts()));
        for _ in 0..TIGHTENINGS {
            let errors = operator.layer.row_errors(&looked_at)?;
            let off = rows.worst_by_action(&x, &looked_at, &errors) / options.tolerance;
            let Some(tolerance) = fast_sum::tighter(self.sum.tolerance, off) else { break };
            self.sum.tolerance = tolerance;
            tracing::info!(fmm_tolerance = self.sum.tolerance, "weak bodies ask for a tighter sum");
            let tighter = self.sum.plan(&system.panels, &rows.kinds, 1, options)?;
            operator.layer.set_plan(tighter, self.sum.tolerance);
            let again = close.inverses.solve_on(&mut operator, b, &mut x, options, progress)?;
            let known = std::mem::replace(&mut solved, again);
            solved.follow(known);
        }
        let is_met = solved.relative_residual <= options.tolerance.max(OF_ACTION);
        solved.reason = match solved.reason {
            StopReason::Stagnation if is_met => StopReason::Converged,
            StopReason::Converged if !is_met => StopReason::Stagnation,
            reason => reason,
        };
        let defect = operator.defect;
        let slopes = self.slopes(system, &x, 1, &close.needs, options, progress)?;
        self.close = Some(close);
        let solved = vec![solved];
        Ok(Found {
            charges: x,
            slopes,
            solved,
            defect,
            sizes: Vec::new(),
            error: None,
            checking: 0.0,
        })
    }

    /// Normal derivatives on conductors between two media, if there are any.
    fn slopes(
        &mut self,
        system: &System,
        charges: &[f64],
        columns: usize,
        needs: &Needs,
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<Vec<f64>, Error> {
        let mut slopes = Vec::new();
        if let Some(kinds) = system.rows.sheets() {
            if self.sheets.as_ref().is_none_or(|(known, _)| *known != kinds) {
                let sheets = self.sheet_layer(system, columns, needs, &kinds, options, progress)?;
                self.sheets = Some((kinds, sheets));
            }
            if let Some((_, sheets)) = &mut self.sheets {
                slopes = vec![0.0; charges.len()];
                sheets.apply(charges, &mut slopes, columns)?;
            }
        }
        Ok(slopes)
    }

    /// The layer that gives normal derivatives on conductors.
    fn sheet_layer(
        &self,
        system: &System,
        columns: usize,
        needs: &Needs,
        kinds: &[RowKind],
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<Layer, Error> {
        let (accuracy, rule) = (&self.accuracy, self.accuracy.rule);
        let known = self.layer.correction_entries();
        let with_slopes = cost::Fast { is_symmetric: false, gradient: true, ..self.memory };
        let check = |entries| with_slopes.check(known + entries);
        let mut near = near(system, accuracy, needs, kinds, check, progress)?;
        let pairs = LayerPairs::new(&system.panels, kinds, accuracy.pairs);
        near.subtract_points(&system.panels, &pairs, rule);
        let plans = PlanSchedule::fixed(self.sum.plan(&system.panels, kinds, columns, options)?);
        let (panels, correction) = (Arc::clone(&system.panels), Correction::Host(near));
        Ok(Layer::new(panels, rule, kinds.to_vec(), plans, correction))
    }
}

/// GMRES with all vectors on the device: weights of the inner product, whether any column has sources, how residuals are measured.
fn solve_there(
    operator: &mut Operator<'_>,
    inverses: &mut DevicePreconditioner,
    (weights, has_sources, measure): (&[f64], bool, &Measure<'_>),
    b: &[f64],
    charges: &mut [f64],
    params: &GmresParams,
    observe: &mut dyn FnMut(usize, f64) -> bool,
) -> Result<Vec<GmresInfo>, Error> {
    let Operator { layer, rows, defect } = operator;
    let rows = *rows;
    inverses.set_rows(|i| [rows.coupling(i), rows.diagonal(i)])?;
    let (parts, shares) = rows.shares();
    let diagonal: Vec<f64> =
        if has_sources { (0..parts.len()).map(|i| rows.diagonal(i)).collect() } else { Vec::new() };
    let mut complete = |x: &[f64], y: &mut [f64]| *defect = defect.max(rows.complete(x, y));
    let norms = Norms {
        weights,
        parts,
        count: rows.parts(),
        shares,
        diagonal: &diagonal,
        measure,
        complete: if rows.are_complete() { None } else { Some(&mut complete) },
    };
    let mut space = DeviceVectors::new(layer, inverses, norms)?;
    let (b, mut x) = (space.upload(b)?, space.upload(charges)?);
    let infos = gmres_in(&mut space, &b, &mut x, params, observe)?;
    let n = parts.len().max(1);
    for (x, charges) in x.iter().zip(charges.chunks_exact_mut(n)) {
        x.read(0, charges)?;
    }
    Ok(infos)
}

impl Inverses {
    /// As [`solve_on`].
    fn solve_on(
        &mut self,
        operator: &mut Operator<'_>,
        b: &[f64],
        x: &mut [f64],
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<Solved, Error> {
        match self {
            Self::Host(inverses) => {
                let mut inverses = inverses.for_rows(operator.rows);
                solve_on(operator, &mut inverses, b, x, options, progress)
            }
            Self::Device(inverses) => {
                let rows = operator.rows;
                inverses.set_rows(|i| [rows.coupling(i), rows.diagonal(i)])?;
                solve_on(operator, inverses.as_mut(), b, x, options, progress)
            }
        }
    }
}

/// Solves on from charges `x` until each conductor and interface meets its equations to the tolerance relative to what acts on it, or as
/// well as the fast sum lets it.
fn solve_on(
    operator: &mut Operator<'_>,
    preconditioner: &mut dyn LinearOperator,
    b: &[f64],
    x: &mut [f64],
    options: &SolveOptions,
    progress: &dyn Progress,
) -> Result<Solved, Error> {
    let rows = operator.rows;
    let mut solved = Solved {
        iterations: 0,
        reason: StopReason::Converged,
        relative_residual: 0.0,
        history: vec![1.0],
    };
    for pass in 0..=REFINEMENTS {
        let mut product = vec![0.0; x.len()];
        operator.apply(x, &mut product, 1)?;
        let r: Vec<f64> = b.iter().zip(&product).map(|(b, y)| b - y).collect();
        let weights = rows.weights_by_action(x, &r);
        solved.relative_residual = weighted_norm(&weights, &r);
        if solved.relative_residual <= options.tolerance || pass == REFINEMENTS {
            break;
        }
        let params = GmresParams {
            // Actions change with the charges that change.
            tolerance: 0.5 * options.tolerance / solved.relative_residual,
            restart: options.restart.max(1),
            max_iterations: options.max_iterations,
            group: 1,
        };
        let mut correction = vec![0.0; x.len()];
        let metric = Metric { weights: &weights, measure: None };
        let mut observe = |iteration: usize, residual: f64| {
            progress.residual(iteration, residual);
            progress.advance(Stage::Solve, iteration as u64, 0)
        };
        let correct = &mut correction;
        let infos = gmres(operator, preconditioner, metric, &r, correct, &params, &mut observe)?;
        for info in infos {
            solved.iterations += info.iterations;
            solved.reason = info.reason;
            solved.history.extend(info.history.iter().skip(1));
        }
        x.iter_mut().zip(&correction).for_each(|(x, more)| *x += more);
    }
    Ok(solved)
}

/// Multiplies each column of `n` values by a function of its size, unless that is 0.
fn scale(columns: &mut [f64], n: usize, sizes: &[f64], by: impl Fn(f64) -> f64) {
    for (column, &size) in columns.chunks_exact_mut(n.max(1)).zip(sizes) {
        if size > 0.0 {
            let factor = by(size);
            column.iter_mut().for_each(|v| *v *= factor);
        }
    }
}

/// The equations' left-hand side: the layer's rows, completed.
struct Operator<'a> {
    layer: &'a mut Layer,
    rows: &'a Rows,
    /// Largest relative defect of Gauss's law so far, in exact products.
    defect: f64,
}

impl LinearOperator for Operator<'_> {
    fn len(&self) -> usize {
        self.layer.len()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        self.layer.apply(x, y, columns)?;
        let n = self.layer.len().max(1);
        for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
            self.defect = self.defect.max(self.rows.complete(x, y));
        }
        Ok(())
    }

    fn apply_inexact(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        budget: InexactBudget,
    ) -> Result<(), Error> {
        self.layer.apply_inexact(x, y, columns, budget)?;
        let n = self.layer.len().max(1);
        for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
            self.rows.complete(x, y);
        }
        Ok(())
    }
}
