//! The equations by a fast sum and a near field: setup once per geometry, and solves with it.

use std::time::Instant;

use comm::Group;

use super::Excitation;
use super::cost;
use super::external;
use super::found::Found;
use super::iteration::{Iteration, scale};
use super::sampled::chosen;
use super::system::System;
use crate::collective;
use crate::constants::{GROUP, RESIDUAL_PER_FIELD, SAMPLES, TIGHTENINGS, TIGHTEST, WEAK};
use crate::near::RowKind;
use crate::near::{self, Requirements, Sources};
use crate::operator::discretisation::{Discretisation, NearFieldRequest, Target};
use crate::operator::fast_sum::{self, FastSum};
use crate::operator::layer::Layer;
use crate::solve::gmres::StopReason;
use crate::solve::linear_operator::LinearOperator;
use crate::solve::schedule::PlanSchedule;
use crate::space::Dofs;
use crate::{Error, Progress, SolveOptions, Stage, Timings};

/// Panels at which the fast sum is compared with direct sums when a state is iterated further,
/// unless there are more bodies.
const LOOKED_AT: usize = 64;

/// Fast sum, near field and preconditioner.
pub(super) struct Fast {
    discretisation: Discretisation,
    memory: cost::Fast,
    sum: FastSum,
    /// Tolerance of the fast sum.
    pub(super) tolerance: f64,
    pub(super) layer: Layer,
    /// The needs that the near field was built for, once there was something to solve for.
    requirements: Option<Requirements>,
    sheets: Option<(Vec<RowKind>, Layer)>,
}

/// Columns to solve for, each of shape (columns, rows).
pub(super) struct Columns {
    /// Right-hand sides.
    pub(super) b: Vec<f64>,
    /// Charges that the solve starts from; empty for none.
    pub(super) start: Vec<f64>,
}

/// The needs of these excitations, with right-hand sides `b`. Interfaces alone have none: their
/// densities and the fields of these have one norm, in which the panels' own weights bound errors.
fn requirements(system: &System, excitations: &[Excitation], b: &[f64]) -> Requirements {
    let _span = tracing::debug_span!("needs of charges in space").entered();
    let rows = &system.rows;
    let sources = |(excitation, b): (&Excitation, &[f64])| {
        external::sources(system, excitation, rows.measure(b))
    };
    let sources: Vec<Sources> =
        excitations.iter().zip(b.chunks_exact(rows.len().max(1))).map(sources).collect();
    let (parts, shares) = rows.shares();
    let has_metal = rows.kinds.contains(&RowKind::Single);
    let n = system.panels.len();
    Requirements::new(
        &system.panels,
        if has_metal { &sources } else { &[] },
        &parts[..n],
        &shares[..n],
    )
}

impl Fast {
    pub(super) fn new(
        system: &System,
        columns: usize,
        options: &SolveOptions,
        progress: &dyn Progress,
        timings: &mut Timings,
    ) -> Result<Self, Error> {
        let kinds = &system.rows.kinds;
        let group = options.group();
        let target = Target { backend: options.effective_backend()?, gpu: options.gpu, group };
        let (tolerance, increment) = (options.tolerance, options.quadrature_increment);
        let dofs = Dofs::Charges(system.density);
        let mut discretisation =
            Discretisation::new(&system.panels, kinds, dofs, tolerance, increment, target)?;
        let (accuracy, local) = (&discretisation.accuracy, discretisation.local());
        let memory = cost::Fast {
            panels: local,
            points: accuracy.rule.len(),
            entries: local[0] * near::REGULAR_ROW,
            precision: accuracy.precision,
            is_symmetric: !kinds.contains(&RowKind::Adjoint),
            gradient: kinds.contains(&RowKind::Adjoint),
            columns,
            limit: options.memory_limit,
        };
        let group = Group::clone(discretisation.group());
        let agreed = |own| collective::agreed(&*group, own);
        agreed(memory.check(memory.entries))?;
        let go_on = |done: u64| {
            let on = progress.advance(Stage::Plan, done, 1);
            agreed(if on { Ok(()) } else { Err(Error::Interrupted) })
        };
        go_on(0)?;
        let started = Instant::now();
        let sum = discretisation.fast_sum(options.tolerance, columns.min(GROUP));
        let tolerance = fast_sum::tolerance(options);
        let first_plan = sum.plan(tolerance)?;
        timings.plan = started.elapsed().as_secs_f64();
        go_on(1)?;
        // The near field is where the fast sum is, on all ranks.
        let elsewhere = if first_plan.is_on_gpu() { 0.0 } else { 1.0 };
        if collective::largest(&*group, elsewhere)? > 0.0 {
            discretisation.leave_device();
        }
        let plans = if options.relax {
            let sum = sum.clone();
            PlanSchedule::new(first_plan, tolerance, move |tolerance| sum.plan(tolerance))
        } else {
            PlanSchedule::fixed(first_plan)
        };
        let layer = discretisation.bare(plans);
        Ok(Self { discretisation, memory, sum, tolerance, layer, requirements: None, sheets: None })
    }

    /// Rebuilds the near field if these excitations, with right-hand sides `b`, need it.
    pub(super) fn close(
        &mut self,
        system: &System,
        excitations: &[Excitation],
        b: &[f64],
        progress: &dyn Progress,
        timings: &mut Timings,
    ) -> Result<(), Error> {
        let started = Instant::now();
        let mut requirements = requirements(system, excitations, b);
        if let Some(known) = self.requirements.take() {
            let serves = known.serve(&system.panels, &requirements);
            // Either all ranks build a near field, or none.
            if collective::largest(&**self.group(), if serves { 0.0 } else { 1.0 })? == 0.0 {
                self.requirements = Some(known);
                return Ok(());
            }
            requirements = requirements.with(&known);
        }
        self.sheets = None;
        let check = |entries| self.memory.check(entries);
        let request =
            NearFieldRequest { requirements: Some(&requirements), check: &check, progress };
        let conductor = Some(&system.rows.conductor[..]);
        self.layer.set_backend(self.discretisation.backend(&request, conductor)?);
        timings.near_field += started.elapsed().as_secs_f64();
        self.requirements = Some(requirements);
        Ok(())
    }

    /// Products of the rows with the charges of each column.
    pub(super) fn products(
        &mut self,
        system: &System,
        charges: &[Vec<f64>],
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let memory = self.memory;
        let check = |entries| memory.check(entries);
        let request = NearFieldRequest { requirements: None, check: &check, progress };
        self.layer.set_backend(self.discretisation.backend(&request, None)?);
        let mut products = Vec::with_capacity(charges.len());
        for group in charges.chunks(GROUP) {
            let x = group.concat();
            let mut y = vec![0.0; x.len()];
            self.layer.apply(&x, &mut y, group.len())?;
            products.extend(y.chunks_exact(system.rows.len().max(1)).map(<[f64]>::to_vec));
        }
        Ok(products)
    }

    /// Uses points and close pairs for a tolerance this share of the usual one, for all later
    /// solves.
    pub(super) fn make_finer(
        &mut self,
        system: &System,
        share: f64,
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        // Freed before the next ones are built.
        self.requirements = None;
        self.sheets = None;
        self.layer.set_backend(self.discretisation.without_near_field());
        let finer = options
            .clone()
            .tolerance((share * options.tolerance).max(TIGHTEST))
            .fmm_tolerance(Some(self.tolerance))
            .relax(false);
        tracing::info!(tolerance = finer.tolerance, "weak bodies ask for finer integrals");
        *self = Self::new(system, 1, &finer, progress, &mut Timings::default())?;
        Ok(())
    }

    /// The ranks that share the panels.
    pub(super) fn group(&self) -> &Group {
        self.discretisation.group()
    }

    /// Replaces the plan by a tighter one.
    fn tighten(&mut self, tolerance: f64) -> Result<(), Error> {
        self.tolerance = tolerance;
        self.layer.set_plan(self.sum.plan(tolerance)?, tolerance);
        Ok(())
    }

    /// Solves for the columns of these excitations.
    pub(super) fn solve(
        &mut self,
        system: &System,
        excitations: &[Excitation],
        columns: Columns,
        options: &SolveOptions,
        progress: &dyn Progress,
        timings: &mut Timings,
    ) -> Result<Found, Error> {
        let Columns { mut b, start } = columns;
        let (n, columns) = (system.rows.len(), excitations.len());
        self.close(system, excitations, &b, progress, timings)?;
        let rows = &system.rows;
        let mut charges = if start.is_empty() { vec![0.0; columns * n] } else { start };
        // Every column is measured by its own right-hand side, so that columns can advance
        // together.
        let sizes: Vec<f64> = b.chunks_exact(n.max(1)).map(|b| rows.measure(b)).collect();
        scale(&mut b, n, &sizes, |size| 1.0 / size);
        scale(&mut charges, n, &sizes, |size| 1.0 / size);
        let iteration = Iteration::new(rows, "solve", excitations, &b, options, progress);
        iteration.restore(&mut charges)?;
        let mut infos = iteration.run(&mut self.layer, &b, &mut charges)?;
        let mut checking = 0.0;
        let mut check = |layer: &Layer| {
            let started = Instant::now();
            let error = layer.sampled_error(SAMPLES);
            checking += started.elapsed().as_secs_f64();
            error
        };
        // Without charge nothing was summed.
        let charged = charges.iter().any(|&q| q != 0.0);
        let mut error = if charged { check(&self.layer)? } else { None };
        for _ in 0..TIGHTENINGS {
            let tighter = fast_sum::tighter_for(self.tolerance, error, options);
            let Some(tolerance) = tighter else { break };
            self.tighten(tolerance)?;
            let again = iteration.run(&mut self.layer, &b, &mut charges)?;
            infos.iter_mut().zip(again).for_each(|(info, again)| info.go_on(again));
            error = check(&self.layer)?;
        }
        let weak = iteration.weak(WEAK * options.tolerance);
        for (column, info) in infos.iter_mut().enumerate() {
            if info.reason == StopReason::Converged && weak[column] {
                let of_column = column * n..(column + 1) * n;
                let (b, x) = (&b[of_column.clone()], &mut charges[of_column]);
                let more = iteration.solve_on(&mut self.layer, column, b, x)?;
                info.iterations += more.iterations;
                info.history.extend(more.history.iter().skip(1));
            }
        }
        if fast_sum::is_hopeless(error, options.tolerance) {
            infos.iter_mut().for_each(|info| info.reason = StopReason::Breakdown);
        }
        let defect = iteration.defect();
        scale(&mut charges, n, &sizes, |size| size);
        let normal_derivatives = self.normal_derivatives(system, &charges, columns, progress)?;
        Ok(Found { charges, normal_derivatives, solved: infos, defect, sizes, error, checking })
    }

    /// Continues one state from charges `x` whose residual is within the tolerance relative to the
    /// largest potential of all. The action of conductors and interfaces on each other may be a
    /// small part of that: here the residual on each becomes small relative to the action on it.
    pub(super) fn refine(
        &mut self,
        system: &System,
        excitation: &Excitation,
        b: &[f64],
        mut x: Vec<f64>,
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<Found, Error> {
        let one = std::slice::from_ref(excitation);
        self.close(system, one, b, progress, &mut Timings::default())?;
        let rows = &system.rows;
        let iteration = Iteration::new(rows, "refine", one, b, options, progress);
        iteration.restore(&mut x)?;
        let mut solved = iteration.solve_on(&mut self.layer, 0, b, &mut x)?;
        // The fast sum's error is relative to the largest action of all.
        let looked_at = chosen(system, LOOKED_AT.max(rows.parts()));
        for _ in 0..TIGHTENINGS {
            let errors = self.layer.row_errors(&looked_at)?;
            let off = rows.worst_by_action(&x, &looked_at, &errors) / options.tolerance;
            let off = collective::largest(&**self.group(), off)?;
            let Some(tolerance) = fast_sum::tighter(self.tolerance, off) else { break };
            tracing::info!(fmm_tolerance = tolerance, "weak bodies ask for a tighter sum");
            self.tighten(tolerance)?;
            solved.go_on(iteration.solve_on(&mut self.layer, 0, b, &mut x)?);
        }
        let is_met = solved.relative_residual <= options.tolerance.max(RESIDUAL_PER_FIELD);
        solved.reason = match solved.reason {
            StopReason::Stagnation if is_met => StopReason::Converged,
            StopReason::Converged if !is_met => StopReason::Stagnation,
            reason => reason,
        };
        let defect = iteration.defect();
        let normal_derivatives = self.normal_derivatives(system, &x, 1, progress)?;
        let (sizes, solved) = (Vec::new(), vec![solved]);
        Ok(Found {
            charges: x,
            normal_derivatives,
            solved,
            defect,
            sizes,
            error: None,
            checking: 0.0,
        })
    }

    /// Normal derivatives on conductors between two media, if there are any.
    fn normal_derivatives(
        &mut self,
        system: &System,
        charges: &[f64],
        columns: usize,
        progress: &dyn Progress,
    ) -> Result<Vec<f64>, Error> {
        let Some(kinds) = system.rows.sheets() else { return Ok(Vec::new()) };
        let mut sheets = match self.sheets.take() {
            Some((known, sheets)) if known == kinds => sheets,
            _ => self.sheet_layer(columns, &kinds, progress)?,
        };
        let mut normal_derivatives = vec![0.0; charges.len()];
        sheets.apply(charges, &mut normal_derivatives, columns)?;
        self.sheets = Some((kinds, sheets));
        Ok(normal_derivatives)
    }

    /// The layer operator of normal derivatives on conductors.
    fn sheet_layer(
        &self,
        columns: usize,
        kinds: &[RowKind],
        progress: &dyn Progress,
    ) -> Result<Layer, Error> {
        let mut discretisation = self.discretisation.with_kinds(kinds);
        let known = self.layer.near_entries();
        let with_gradients = cost::Fast { is_symmetric: false, gradient: true, ..self.memory };
        let check = |entries| with_gradients.check(known + entries);
        let request =
            NearFieldRequest { requirements: self.requirements.as_ref(), check: &check, progress };
        let backend = discretisation.backend(&request, None)?;
        let sum = discretisation.fast_sum(self.sum.tolerance, columns.min(GROUP));
        let plans = PlanSchedule::fixed(sum.plan(self.tolerance)?);
        Ok(Layer::new(discretisation.layout.all, plans, backend))
    }
}
