//! The capacitance problem in scaled panels, solved densely or fast.

use std::time::Instant;

use fmm::Precision;
use mesh::Mesh;

use crate::accuracy::Accuracy;
use crate::capacitance::check_conductors;
use crate::coarse::Coarse;
use crate::dense::Dense;
use crate::device::{DeviceGeometry, DeviceNear, DevicePreconditioner, DeviceProduct, DeviceSpace};
use crate::gmres::{GmresInfo, GmresParams, Metric, StopReason, gmres, gmres_in};
use crate::ladder::Ladder;
use crate::near::{self, Near};
use crate::panels::Panels;
use crate::points::Points;
use crate::preconditioner::{LocalInverse, TwoLevel};
use crate::single_layer::{Correction, SingleLayer, SingleLayerPairs};
use crate::{
    Capacitance, CapacitanceOptions, Conductors, Error, Method, Progress, Solve, Stage, Timings,
    cost, fast_sum,
};

/// Points nearer than this share of their panels' size add terms that dwarf what the correction leaves of them.
const COINCIDENT: f64 = 1e-3;

/// What near pairs in single precision leave in potentials, times the share of the panels' size that points are apart (measured: 2e-6
/// at 0.014, between plates).
const ROUNDING: f64 = 3e-8;

/// Panels from which on a GPU pays.
const WORTH_A_GPU: usize = 10_000;

/// Local inverses over a coarse level, and where they are.
enum Preconditioner {
    Host(Box<TwoLevel>),
    Device(Box<DevicePreconditioner>),
}

/// What of the problem does not depend on how it is solved.
pub(crate) struct Problem {
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
    pub(crate) fn new(mesh: &Mesh, conductors: Conductors<'_>) -> Result<Self, Error> {
        let found = conductors.of_triangle.len();
        let expected = mesh.triangles.len();
        if found != expected {
            return Err(Error::Length { what: "conductors.of_triangle", expected, found });
        }
        let count = conductors.count;
        check_conductors(conductors.of_triangle, count)?;
        let of = |i: usize| conductors.of_triangle[i];
        let panels = Panels::new(mesh, |i| of(i).is_some());
        let conductor: Vec<u32> =
            panels.triangles().iter().filter_map(|&i| of(i as usize)).collect();
        let panels = panels.with_parts(conductor.clone());
        let mut area = vec![0.0; count];
        for (&c, a) in conductor.iter().zip(panels.areas()) {
            area[c as usize] += a;
        }
        let weights =
            conductor.iter().zip(panels.areas()).map(|(&c, a)| a / area[c as usize]).collect();
        Ok(Self { panels, conductor, count, weights, triangles: mesh.triangles.len() })
    }

    /// Number of panels.
    pub(crate) fn len(&self) -> usize {
        self.panels.len()
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

    pub(crate) fn dense(
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
        let closest = near::closest(&self.panels, accuracy.rule);
        let quadrature = accuracy.clone().for_closest(closest).pairs;
        let integrals = SingleLayerPairs { panels: &self.panels, quadrature };
        let dense = Dense::new(&self.panels, &integrals, progress)?;
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

    pub(crate) fn fast(
        &self,
        options: &CapacitanceOptions,
        accuracy: &Accuracy,
        progress: &dyn Progress,
    ) -> Result<Capacitance, Error> {
        let n = self.panels.len();
        let memory = cost::Fast {
            panels: [n; 2],
            points: accuracy.rule.len(),
            entries: n * cost::REGULAR_ROW,
            precision: accuracy.precision,
            is_symmetric: true,
            gradient: false,
            columns: self.count,
            limit: options.memory_limit,
        };
        let check = |entries: usize| memory.check(entries);
        check(memory.entries)?;
        let mut fmm_tolerance = fast_sum::tolerance(options);
        let mut timings = Timings::default();
        go_on(progress.advance(Stage::Plan, 0, 1))?;
        let started = Instant::now();
        let points = Points::new(&self.panels, accuracy.rule);
        let geometry = self.geometry_on_device(options, accuracy.selection.diameters)?;
        let closest = match &geometry {
            Some(geometry) => geometry.closest(accuracy.rule)?,
            None => near::closest(&self.panels, accuracy.rule),
        };
        let closest_s = started.elapsed().as_secs_f64();
        let all_points = points.all();
        let points_s = started.elapsed().as_secs_f64() - closest_s;
        let plan = |tolerance: f64| -> Result<fmm::Plan, Error> {
            let least = options.tolerance.max(fast_sum::serves(tolerance));
            let plan_options = fmm::Options {
                tolerance,
                // What close points add to the sum the correction takes away again: that needs digits, all if they nearly coincide.
                precision: (closest < COINCIDENT.max(ROUNDING / least))
                    .then_some(Precision::Double),
                densities: self.count.clamp(1, fast_sum::GROUP),
                backend: options.backend,
                gpu: options.gpu,
                ..fmm::Options::default()
            };
            Ok(fmm::Plan::new(&all_points, None, &plan_options)?)
        };
        let first_plan = plan(fmm_tolerance)?;
        timings.plan = started.elapsed().as_secs_f64();
        tracing::debug!(
            closest_s,
            points_s,
            plan_s = first_plan.info().setup_seconds,
            "points and plan"
        );
        go_on(progress.advance(Stage::Plan, 1, 1))?;

        let started = Instant::now();
        let Accuracy { rule, selection, pairs, precision, neighbours, .. } =
            accuracy.clone().for_closest(closest);
        let integrals = SingleLayerPairs { panels: &self.panels, quadrature: pairs };
        let mut assembled = 0.0;
        let mut on_device =
            |geometry: DeviceGeometry| -> Result<(usize, Correction, Preconditioner), Error> {
                let device = geometry.device().clone();
                let mut near =
                    DeviceNear::new(geometry, &selection, pairs, precision, check, progress)?;
                device.stream().synchronize()?;
                assembled = started.elapsed().as_secs_f64();
                let preconditioner =
                    DevicePreconditioner::new(&near, &self.panels, &self.conductor, neighbours)?;
                near.subtract_points(rule)?;
                device.stream().synchronize()?;
                let product = Box::new(DeviceProduct::new(near, rule)?);
                let preconditioner = Preconditioner::Device(Box::new(preconditioner));
                Ok((product.entries(), Correction::Device(product), preconditioner))
            };
        // Unless the plan had to do without the GPU.
        let geometry = geometry.filter(|_| first_plan.device().is_some());
        let there = match geometry.map(&mut on_device) {
            Some(Err(Error::Gpu(error))) if options.backend == fmm::Backend::Auto => {
                tracing::warn!(%error, "the near field is worked on the processor");
                None
            }
            other => other.transpose()?,
        };
        let (entries, correction, mut preconditioner) = match there {
            Some(there) => there,
            None => {
                let panels = &self.panels;
                let mut near =
                    Near::new(panels, &selection, &integrals, precision, check, progress)?;
                assembled = started.elapsed().as_secs_f64();
                let local = LocalInverse::new(&near, panels, neighbours);
                let coarse = Coarse::new(panels, &self.conductor, &near);
                let two_level = Preconditioner::Host(Box::new(TwoLevel::new(local, coarse)));
                near.subtract_points(panels, &integrals, rule);
                (near.entries(), Correction::Host(near), two_level)
            }
        };
        timings.near_field = started.elapsed().as_secs_f64();
        tracing::debug!(
            rows = n,
            entries_per_row = entries as f64 / n.max(1) as f64,
            assembly_s = assembled,
            preconditioner_s = timings.near_field - assembled,
            "near field"
        );

        let started = Instant::now();
        let plans = if options.relax {
            Ladder::new(first_plan, fmm_tolerance, plan)
        } else {
            Ladder::fixed(first_plan)
        };
        let mut operator = SingleLayer::new(points, plans, correction);
        let mut charges = vec![0.0; self.count * n];
        let mut solves =
            self.iterate(&mut operator, &mut preconditioner, &mut charges, options, progress)?;
        let mut checking = 0.0;
        let mut check = |operator: &SingleLayer<'_>| {
            let started = Instant::now();
            let error = operator.sampled_error(fast_sum::SAMPLES);
            checking += started.elapsed().as_secs_f64();
            error
        };
        let mut error = check(&operator)?;
        for _ in 0..fast_sum::TIGHTENINGS {
            let tighter = fast_sum::tighter_for(fmm_tolerance, error, options);
            let Some(tolerance) = tighter else { break };
            fmm_tolerance = tolerance;
            operator.set_plan(plan(fmm_tolerance)?, fmm_tolerance);
            let again =
                self.iterate(&mut operator, &mut preconditioner, &mut charges, options, progress)?;
            for (solve, again) in solves.iter_mut().zip(again) {
                let earlier = solve.iterations;
                solve.history.extend(again.history.into_iter().skip(1));
                *solve = Solve {
                    iterations: earlier + again.iterations,
                    history: std::mem::take(&mut solve.history),
                    ..again
                };
            }
            error = check(&operator)?;
        }
        if fast_sum::is_hopeless(error, options.tolerance) {
            solves.iter_mut().for_each(|solve| solve.reason = StopReason::Breakdown);
        }
        timings.fmm_check = checking;
        timings.solve = started.elapsed().as_secs_f64() - checking;
        timings.matvec_mean = operator.mean_seconds();
        let mut answer = self.answer(Method::Fmm, options, &charges, solves, timings);
        answer.fmm_tolerance = Some(fmm_tolerance);
        answer.fmm_error_sampled = error.map(|error| error.relative);
        answer.fmm_error_potential = error.map(|error| error.absolute);
        answer.fmm = Some(operator.plan().info().clone());
        Ok(answer)
    }

    /// The panels on the GPU, if that is to do the whole solve.
    fn geometry_on_device(
        &self,
        options: &CapacitanceOptions,
        diameters: f64,
    ) -> Result<Option<DeviceGeometry>, Error> {
        let panels = &self.panels;
        let open = || DeviceGeometry::new(&gpu::Device::open(options.gpu)?, panels, diameters);
        match options.backend {
            fmm::Backend::Cuda => Ok(Some(open()?)),
            // Should there be no GPU, the plan says so.
            fmm::Backend::Auto if panels.len() >= WORTH_A_GPU => Ok(open().ok()),
            _ => Ok(None),
        }
    }

    /// GMRES for all excitations from the charges that are there.
    fn iterate(
        &self,
        operator: &mut SingleLayer<'_>,
        preconditioner: &mut Preconditioner,
        charges: &mut [f64],
        options: &CapacitanceOptions,
        progress: &dyn Progress,
    ) -> Result<Vec<Solve>, Error> {
        let params = GmresParams {
            tolerance: options.tolerance,
            restart: options.restart.max(1),
            max_iterations: options.max_iterations,
            group: fast_sum::GROUP,
        };
        let mut observe = |iteration: usize, residual: f64| {
            progress.residual(iteration, residual);
            progress.advance(Stage::Solve, iteration as u64, 0)
        };
        let excitations = self.excitations();
        let infos = match preconditioner {
            Preconditioner::Host(preconditioner) => gmres(
                operator,
                preconditioner.as_mut(),
                Metric { weights: &self.weights, measure: Some(&|_, _, r| self.measure(r)) },
                &excitations,
                charges,
                &params,
                &mut observe,
            )?,
            Preconditioner::Device(preconditioner) => {
                let (weights, conductor) = (&self.weights, &self.conductor);
                let mut space =
                    DeviceSpace::new(operator, preconditioner, weights, conductor, self.count)?;
                let (b, mut x) = (space.upload(&excitations)?, space.upload(charges)?);
                let infos = gmres_in(&mut space, &b, &mut x, &params, &mut observe)?;
                for (x, charges) in x.iter().zip(charges.chunks_exact_mut(self.len().max(1))) {
                    x.read(0, charges)?;
                }
                infos
            }
        };
        let solve = |(excitation, info): (usize, GmresInfo)| Solve {
            excitation,
            iterations: info.iterations,
            reason: info.reason,
            relative_residual: info.relative_residual,
            history: info.history,
        };
        Ok(infos.into_iter().enumerate().map(solve).collect())
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
            replaced: Vec::new(),
            density,
            solves,
            tolerance: options.tolerance,
            fmm_tolerance: None,
            fmm_error_sampled: None,
            fmm_error_potential: None,
            fmm: None,
            timings,
        }
    }
}

fn go_on(go_on: bool) -> Result<(), Error> {
    if go_on { Ok(()) } else { Err(Error::Interrupted) }
}
