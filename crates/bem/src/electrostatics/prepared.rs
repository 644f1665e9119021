//! The solver: geometry is worked once, media and excitations may change.

use std::sync::Arc;
use std::time::Instant;

use fmm::Precision;
use mesh::Mesh;
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use super::preconditioner::Preconditioner;
use super::rows::{Rows, System};
use super::{Electrostatics, Excitation, Media, Response, external};
use crate::accuracy::Accuracy;
use crate::gmres::{GmresParams, LinearOperator, Metric, Slack, StopReason, gmres};
use crate::ladder::Ladder;
use crate::layer::{self, Kernel, Layer, LayerPairs, Scratch};
use crate::lu::Lu;
use crate::near::{self, Near};
use crate::panels::Panels;
use crate::points::Points;
use crate::product::Rule;
use crate::{CapacitanceOptions, Error, Method, Progress, Stage, Timings, cost};

/// The fast sum's tolerance as a share of the solver's.
const FMM_SHARE: f64 = 0.3;

/// The least tolerance that a fast sum can meet.
const TIGHTEST: f64 = 1e-12;

/// Excitations that share one product with the operator at most.
const GROUP: usize = 8;

/// Above this many panels `auto` is the fast method: both take some 3 s of two cores here.
const DENSE_PANELS: usize = 1500;

/// Points at which the fast sum is compared with direct sums at the end.
const ERROR_SAMPLES: usize = 1000;

/// Surfaces with all that does not depend on permittivities and excitations: entries, fast sum, near field, local inverses.
pub struct Prepared {
    system: System,
    options: CapacitanceOptions,
    work: Work,
    /// Of the preparation, until it has been told.
    timings: Timings,
}

enum Work {
    Dense(Dense),
    Fast(Box<Fast>),
}

struct Dense {
    accuracy: Accuracy,
    /// Potentials and normal derivatives.
    matrix: DMatrix<f64>,
    sheets: Option<(Vec<Kernel>, DMatrix<f64>)>,
}

struct Fast {
    accuracy: Accuracy,
    tolerance: f64,
    precision: Option<Precision>,
    layer: Layer,
    preconditioner: Preconditioner,
    sheets: Option<(Vec<Kernel>, Layer)>,
}

/// How one column was solved.
struct Solved {
    iterations: usize,
    reason: StopReason,
    relative_residual: f64,
    history: Vec<f64>,
}

/// Numbers of one solve.
struct Found {
    charges: Vec<f64>,
    slopes: Vec<f64>,
    solved: Vec<Solved>,
    defect: f64,
}

impl Prepared {
    /// Works the geometry of `mesh` and `media`, for solves of up to `excitations` at a time.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Interrupted`], [`Error::Memory`], [`Error::Fmm`].
    pub fn new(
        mesh: &Mesh,
        media: Media<'_>,
        excitations: usize,
        options: &CapacitanceOptions,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let system = System::new(mesh, media)?;
        let dense = match options.method {
            // Without surfaces there is nothing to solve for.
            _ if system.panels.len() == 0 => true,
            Method::Auto => system.panels.len() < DENSE_PANELS,
            Method::Dense => true,
            Method::Fmm => false,
        };
        let mut timings = Timings::default();
        let work = if dense {
            Work::Dense(Dense::new(&system, options, progress, &mut timings)?)
        } else {
            let fast = Fast::new(&system, excitations, options, progress, &mut timings)?;
            Work::Fast(Box::new(fast))
        };
        Ok(Self { system, options: options.clone(), work, timings })
    }

    /// Takes other permittivities, as in [`Media::permittivity`]. False, and nothing is changed, where interfaces would come or go.
    pub fn set_permittivity(&mut self, permittivity: &[[f64; 2]]) -> bool {
        self.system.set_permittivity(permittivity)
    }

    /// Solves for the charges under each excitation.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Interrupted`], [`Error::Fmm`].
    pub fn solve(
        &mut self,
        excitations: &[Excitation],
        progress: &dyn Progress,
    ) -> Result<Electrostatics, Error> {
        for excitation in excitations {
            let (expected, found) = (self.system.conductors, excitation.potentials.len());
            if expected != found {
                return Err(Error::Length { what: "excitation.potentials", expected, found });
            }
        }
        let mut timings = std::mem::take(&mut self.timings);
        let started = Instant::now();
        let b: Vec<f64> = excitations
            .iter()
            .flat_map(|excitation| external::right_hand_side(&self.system, excitation))
            .collect();
        let columns = excitations.len();
        let (system, options) = (&self.system, &self.options);
        let found = match &mut self.work {
            Work::Dense(dense) => dense.solve(system, b, columns, options.tolerance, progress)?,
            Work::Fast(fast) => fast.solve(system, b, columns, options, progress)?,
        };
        timings.solve = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let sampled = match &self.work {
            // Where there is no charge nothing was summed.
            Work::Fast(fast) if found.charges.iter().any(|&q| q != 0.0) => {
                fast.layer.sampled_error(ERROR_SAMPLES)?
            }
            _ => None,
        };
        timings.fmm_check = started.elapsed().as_secs_f64();
        let (method, fast) = match &self.work {
            Work::Dense(_) => (Method::Dense, None),
            Work::Fast(fast) => (Method::Fmm, Some(fast)),
        };
        if let Some(fast) = fast {
            timings.matvec_mean = fast.layer.mean_seconds();
        }
        let gauss_defect = found.defect;
        Ok(Electrostatics {
            responses: self.responses(excitations, found),
            method,
            tolerance: self.options.tolerance,
            fmm_tolerance: fast.map(|fast| fast.tolerance),
            fmm_error_sampled: sampled,
            gauss_defect,
            fmm: fast.map(|fast| fast.layer.plan().info().clone()),
            timings,
        })
    }

    fn responses(&self, excitations: &[Excitation], found: Found) -> Vec<Response> {
        let Found { charges, slopes, solved, .. } = found;
        let system = &self.system;
        let n = system.panels.len().max(1);
        excitations
            .iter()
            .zip(solved)
            .enumerate()
            .map(|(column, (excitation, solved))| {
                let slopes = slopes.get(column * n..(column + 1) * n).unwrap_or_default();
                let x = &charges[column * system.panels.len()..][..system.panels.len()];
                let scale = system.panels.scale();
                // Of all charge there is.
                let mut slopes = slopes.to_vec();
                let external = external::sheet_slopes(system, excitation);
                slopes.iter_mut().zip(&external).for_each(|(slope, more)| *slope += more);
                if !slopes.is_empty() {
                    let all = system.images.excitation(excitation, |_| true);
                    let on_metal = (x, &mut slopes[..]);
                    system.rows.gauss.put_right_on_metal(&system.rows, on_metal, &all, scale);
                }
                let free = system.rows.free_charges(x, &slopes);
                let whole = scale * system.images.copies() as f64;
                let mut response = Response {
                    charge: vec![0.0; system.triangles],
                    free_charge: vec![0.0; system.triangles],
                    conductor_charge: vec![0.0; excitation.potentials.len()],
                    iterations: solved.iterations,
                    reason: solved.reason,
                    relative_residual: solved.relative_residual,
                    history: solved.history,
                };
                for (i, &triangle) in system.panels.triangles().iter().enumerate() {
                    response.charge[triangle as usize] = x[i] * scale;
                    if let Some(conductor) = system.rows.conductor[i] {
                        response.free_charge[triangle as usize] = free[i] * scale;
                        response.conductor_charge[conductor as usize] += free[i] * whole;
                    }
                }
                response
            })
            .collect()
    }
}

/// How exactly entries are worked, given how close sheets come to each other, and that distance.
fn accuracy(system: &System, options: &CapacitanceOptions) -> (Accuracy, f64) {
    let accuracy = Accuracy::new(options.tolerance, options.quadrature_increment);
    let closest = near::closest(&system.panels, accuracy.rule);
    (accuracy.for_closest(closest), closest)
}

impl Dense {
    fn new(
        system: &System,
        options: &CapacitanceOptions,
        progress: &dyn Progress,
        timings: &mut Timings,
    ) -> Result<Self, Error> {
        cost::check(
            "the dense matrix",
            3 * 8 * (system.panels.len() as u64).pow(2),
            options.memory_limit,
            "use method = \"fmm\" or a coarser mesh",
        )?;
        let started = Instant::now();
        let (accuracy, _) = accuracy(system, options);
        let matrix = entries(system, &accuracy, &system.rows.kernels, progress)?;
        timings.near_field = started.elapsed().as_secs_f64();
        Ok(Self { accuracy, matrix, sheets: None })
    }

    fn solve(
        &mut self,
        system: &System,
        mut charges: Vec<f64>,
        columns: usize,
        tolerance: f64,
        progress: &dyn Progress,
    ) -> Result<Found, Error> {
        let n = system.panels.len();
        let mut matrix = self.matrix.clone();
        let mut defect = 0.0f64;
        let mut unit = vec![0.0; n];
        for (j, column) in matrix.as_mut_slice().chunks_exact_mut(n.max(1)).enumerate() {
            unit[j] = 1.0;
            defect = defect.max(system.rows.complete(&unit, column));
            unit[j] = 0.0;
        }
        let factor = Lu::new(matrix.clone());
        let mut solved = Vec::new();
        if n == 0 {
            solved.extend((0..columns).map(|_| Solved {
                iterations: 0,
                reason: StopReason::Converged,
                relative_residual: 0.0,
                history: vec![0.0],
            }));
        }
        for b in charges.chunks_exact_mut(n.max(1)) {
            let measure = system.rows.measure(b);
            let residual = match &factor {
                Some(factor) => {
                    let mut x = b.to_vec();
                    factor.solve(&mut x);
                    let product = &matrix * DVector::from_column_slice(&x);
                    let r: Vec<f64> = b.iter().zip(product.iter()).map(|(b, y)| b - y).collect();
                    b.copy_from_slice(&x);
                    relative(system.rows.measure(&r), measure)
                }
                None => {
                    b.fill(0.0);
                    1.0
                }
            };
            solved.push(Solved {
                iterations: 0,
                reason: if residual.is_nan() {
                    StopReason::Nan
                } else if residual <= tolerance {
                    StopReason::Converged
                } else {
                    StopReason::Breakdown
                },
                relative_residual: residual,
                history: vec![1.0, residual],
            });
        }
        let mut slopes = Vec::new();
        if let Some(kernels) = system.rows.sheets() {
            if self.sheets.as_ref().is_none_or(|(known, _)| *known != kernels) {
                let matrix = entries(system, &self.accuracy, &kernels, progress)?;
                self.sheets = Some((kernels, matrix));
            }
            if let Some((_, matrix)) = &self.sheets {
                let columns = DMatrix::from_column_slice(n, columns, &charges);
                slopes = (matrix * columns).as_slice().to_vec();
            }
        }
        Ok(Found { charges, slopes, solved, defect })
    }
}

/// Entries of rows of these kinds in full.
fn entries(
    system: &System,
    accuracy: &Accuracy,
    kernels: &[Kernel],
    progress: &dyn Progress,
) -> Result<DMatrix<f64>, Error> {
    let panels = &system.panels;
    let pairs = LayerPairs::new(panels, kernels, accuracy.pairs);
    let n = panels.len();
    let mut matrix = DMatrix::zeros(n, n);
    let done = std::sync::atomic::AtomicU64::new(0);
    let column = |(j, column): (usize, &mut [f64])| {
        let mut scratch = Scratch::default();
        for (i, entry) in column.iter_mut().enumerate() {
            let of = |i: usize, j: usize| [pairs.entry(i, j, &mut scratch), 0.0];
            *entry = panels.over_images(i, j, of)[0];
        }
        let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        progress.advance(Stage::NearField, done, n as u64)
    };
    if n > 0 && !matrix.as_mut_slice().par_chunks_mut(n).enumerate().all(column) {
        return Err(Error::Interrupted);
    }
    Ok(matrix)
}

/// Exact entries on close pairs.
fn near(
    system: &System,
    accuracy: &Accuracy,
    kernels: &[Kernel],
    progress: &dyn Progress,
) -> Result<Near, Error> {
    let panels = &system.panels;
    let pairs = LayerPairs::new(panels, kernels, accuracy.pairs);
    let double = near::Precision::Double;
    Near::new(panels, &accuracy.selection, &pairs, double, |_| Ok(()), progress)
}

/// The fast sum for rows of these kinds.
fn plan(
    panels: &Panels,
    rule: &'static Rule,
    kernels: &[Kernel],
    options: fmm::Options,
) -> Result<fmm::Plan, Error> {
    let points = Points::new(panels, rule);
    let targets = points.all();
    let of_rows = layer::plan_options(kernels, options.tolerance, options.densities);
    let options = fmm::Options {
        precision: options.precision,
        backend: options.backend,
        gpu: options.gpu,
        ..of_rows
    };
    Ok(match points.with_images() {
        Some(sources) => fmm::Plan::new(&sources, Some(&targets), &options)?,
        None => fmm::Plan::new(&targets, None, &options)?,
    })
}

impl Fast {
    fn new(
        system: &System,
        columns: usize,
        options: &CapacitanceOptions,
        progress: &dyn Progress,
        timings: &mut Timings,
    ) -> Result<Self, Error> {
        let n = system.panels.len();
        let kernels = &system.rows.kernels;
        let (accuracy, closest) = accuracy(system, options);
        let rule = accuracy.rule;
        cost::check(
            "the fast solve",
            // Gradients are three more numbers a point.
            2 * cost::fast_bytes(system.panels.total(), rule.len(), n * cost::REGULAR_ROW, columns),
            options.memory_limit,
            "use a coarser mesh or fewer conductors",
        )?;
        let tolerance =
            options.fmm_tolerance.unwrap_or(FMM_SHARE * options.tolerance).clamp(TIGHTEST, 0.1);
        let go_on = |done: u64| {
            let on = progress.advance(Stage::Plan, done, 1);
            if on { Ok(()) } else { Err(Error::Interrupted) }
        };
        go_on(0)?;
        let started = Instant::now();
        let precision = (closest < layer::COINCIDENT).then_some(Precision::Double);
        let densities = columns.clamp(1, GROUP);
        let of_plan = Self::plan_options(options, tolerance, precision, densities);
        let first_plan = plan(&system.panels, rule, kernels, of_plan.clone())?;
        timings.plan = started.elapsed().as_secs_f64();
        go_on(1)?;

        let started = Instant::now();
        let mut near = near(system, &accuracy, kernels, progress)?;
        let preconditioner = Preconditioner::new(system, &near, &accuracy);
        let pairs = LayerPairs::new(&system.panels, kernels, accuracy.pairs);
        near.subtract_points(&system.panels, &pairs, rule);
        timings.near_field = started.elapsed().as_secs_f64();
        let panels = Arc::clone(&system.panels);
        let plans = if options.relax {
            let (panels, kernels) = (Arc::clone(&panels), kernels.clone());
            Ladder::new(first_plan, tolerance, move |tolerance| {
                plan(&panels, rule, &kernels, fmm::Options { tolerance, ..of_plan.clone() })
            })
        } else {
            Ladder::fixed(first_plan)
        };
        let layer = Layer::new(panels, rule, kernels.clone(), plans, near);
        Ok(Self { accuracy, tolerance, precision, layer, preconditioner, sheets: None })
    }

    fn plan_options(
        options: &CapacitanceOptions,
        tolerance: f64,
        precision: Option<Precision>,
        densities: usize,
    ) -> fmm::Options {
        let (backend, gpu) = (options.backend, options.gpu);
        fmm::Options { tolerance, precision, densities, backend, gpu, ..fmm::Options::default() }
    }

    fn solve(
        &mut self,
        system: &System,
        mut b: Vec<f64>,
        columns: usize,
        options: &CapacitanceOptions,
        progress: &dyn Progress,
    ) -> Result<Found, Error> {
        let n = system.panels.len();
        let mut operator = Operator { layer: &mut self.layer, rows: &system.rows, defect: 0.0 };
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
        let infos = gmres(
            &mut operator,
            &mut self.preconditioner.for_rows(&system.rows),
            Metric {
                weights: &system.rows.weights,
                measure: Some(&|r: &[f64]| system.rows.measure(r)),
            },
            &b,
            &mut charges,
            &params,
            &mut |iteration, residual| {
                progress.residual(iteration, residual);
                progress.advance(Stage::Solve, iteration as u64, 0)
            },
        )?;
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
        let mut slopes = Vec::new();
        if let Some(kernels) = system.rows.sheets() {
            if self.sheets.as_ref().is_none_or(|(known, _)| *known != kernels) {
                let sheets = self.sheet_layer(system, columns, &kernels, options, progress)?;
                self.sheets = Some((kernels, sheets));
            }
            if let Some((_, sheets)) = &mut self.sheets {
                slopes = vec![0.0; charges.len()];
                sheets.apply(&charges, &mut slopes, columns)?;
            }
        }
        Ok(Found { charges, slopes, solved, defect })
    }

    /// The layer that gives normal derivatives on conductors.
    fn sheet_layer(
        &self,
        system: &System,
        columns: usize,
        kernels: &[Kernel],
        options: &CapacitanceOptions,
        progress: &dyn Progress,
    ) -> Result<Layer, Error> {
        let (accuracy, rule) = (&self.accuracy, self.accuracy.rule);
        let mut near = near(system, accuracy, kernels, progress)?;
        let pairs = LayerPairs::new(&system.panels, kernels, accuracy.pairs);
        near.subtract_points(&system.panels, &pairs, rule);
        let densities = columns.clamp(1, GROUP);
        let of_plan = Self::plan_options(options, self.tolerance, self.precision, densities);
        let plan = plan(&system.panels, rule, kernels, of_plan)?;
        let plans = Ladder::fixed(plan);
        Ok(Layer::new(Arc::clone(&system.panels), rule, kernels.to_vec(), plans, near))
    }
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

fn relative(size: f64, of: f64) -> f64 {
    if of > 0.0 { size / of } else { size }
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

    fn apply_loosely(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        slack: Slack,
    ) -> Result<(), Error> {
        self.layer.apply_loosely(x, y, columns, slack)?;
        let n = self.layer.len().max(1);
        for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
            self.rows.complete(x, y);
        }
        Ok(())
    }
}
