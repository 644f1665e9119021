//! Conductors, dielectric interfaces, point charges and a uniform field in piecewise constant media.
//!
//! All surface charge, free and bound, is one density in vacuum (docs/math.md, "Media"). On conductors the potential is given,
//! an equation of the first kind; on interfaces the jump of the permittivity relates the density to the normal field, an
//! equation of the second kind. Both share one fast sum.

mod evaluate;
mod external;
mod forces;
mod preconditioner;
mod rows;
mod state;

use std::sync::Arc;
use std::time::Instant;

use fmm::Precision;
use mesh::Mesh;
use nalgebra::DMatrix;
use rayon::prelude::*;

use crate::accuracy::Accuracy;
use crate::gmres::{GmresParams, LinearOperator, Metric, StopReason, gmres};
use crate::layer::{self, Kernel, Layer, LayerPairs, Scratch};
use crate::lu::Lu;
use crate::near::{self, Near};
use crate::points::Points;
use crate::{
    Capacitance, CapacitanceOptions, Error, Method, Progress, Solve, Stage, Timings, cost,
};
pub use evaluate::{SurfaceCharge, Values};
pub use forces::{Body, Force, dipole_moment, forces};
use preconditioner::Preconditioner;
use rows::{Rows, System};
pub use state::{Condition, State};

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

/// Surfaces in piecewise constant media.
#[derive(Clone, Copy, Debug)]
pub struct Media<'a> {
    /// Index of the conductor, one a triangle; `None` = an interface between two media, or nothing where these are alike.
    pub conductor: &'a [Option<u32>],
    /// How many conductors there are.
    pub conductors: usize,
    /// Relative permittivity on the side that the triangle's normal points to and on the other side, one pair a triangle. For
    /// the surface of a metal body give the medium around it on both sides.
    pub permittivity: &'a [[f64; 2]],
}

/// A point charge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointCharge {
    /// In the mesh's unit.
    pub position: [f64; 3],
    /// Charge over 4 pi eps0, so that the potential in vacuum is `charge` / distance.
    pub charge: f64,
    /// Relative permittivity of the medium that it is in.
    pub permittivity: f64,
}

/// What drives one solve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Excitation {
    /// Potential of each conductor.
    pub potentials: Vec<f64>,
    /// Charges outside of conductors.
    pub charges: Vec<PointCharge>,
    /// Uniform external field E, of potential -E . x: potential over the mesh's unit of length.
    pub field: [f64; 3],
}

/// The answer to one excitation. Charges are over 4 pi eps0: a potential times the mesh's unit of length.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// All charge of each triangle, free and bound: the potential of the surface is sum_j charge_j <1/|x - y|>_j.
    pub charge: Vec<f64>,
    /// Free charge of each triangle of a conductor, 0 elsewhere.
    pub free_charge: Vec<f64>,
    /// Free charge on each conductor.
    pub conductor_charge: Vec<f64>,
    /// GMRES iterations, 0 when dense.
    pub iterations: usize,
    /// Why the solve stopped.
    pub reason: StopReason,
    /// True residual at the end: the largest over conductors and interfaces of its root mean square over the area (fields
    /// times the interface's radius, to be potentials), relative to the largest of the right-hand side.
    pub relative_residual: f64,
    /// Relative residual after each iteration, beginning with 1.
    pub history: Vec<f64>,
}

/// All answers, and how they were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Electrostatics {
    /// One for each excitation.
    pub responses: Vec<Response>,
    /// Dense or fast, as it was done.
    pub method: Method,
    /// The solver tolerance that was used.
    pub tolerance: f64,
    /// The FMM tolerance that was used, none when dense.
    pub fmm_tolerance: Option<f64>,
    /// Relative L2 error of the FMM for the first solved density at 1000 or more points, against direct sums.
    pub fmm_error_sampled: Option<f64>,
    /// Largest defect of Gauss's law on a closed interface that was put right, relative to the charge that makes the flux.
    pub gauss_defect: f64,
    /// The FMM's plan, none when dense.
    pub fmm: Option<fmm::Info>,
    /// Wall seconds.
    pub timings: Timings,
}

/// Solves for the surface charges of `media` under each excitation.
///
/// A solve that does not converge is no error here: its [`Response::reason`] says so.
///
/// # Errors
/// [`Error::Length`], [`Error::Interrupted`], [`Error::Memory`], [`Error::Fmm`].
pub fn electrostatics(
    mesh: &Mesh,
    media: Media<'_>,
    excitations: &[Excitation],
    options: &CapacitanceOptions,
    progress: &dyn Progress,
) -> Result<Electrostatics, Error> {
    let system = System::new(mesh, media)?;
    for excitation in excitations {
        let (expected, found) = (media.conductors, excitation.potentials.len());
        if expected != found {
            return Err(Error::Length { what: "excitation.potentials", expected, found });
        }
    }
    let dense = match options.method {
        Method::Auto => system.panels.len() < DENSE_PANELS,
        Method::Dense => true,
        Method::Fmm => false,
    };
    let solver = Solver { system: &system, excitations, options, progress };
    if dense { solver.dense() } else { solver.fast() }
}

impl Electrostatics {
    /// The capacitance matrix, if the first excitations were each conductor in turn at potential 1 and the others at 0, in the
    /// form of [`crate::capacitance`] for a medium of relative permittivity `eps`: `maxwell` and `density` are over 4 pi eps and
    /// eps, whatever media there are. `areas` are those of the triangles.
    pub fn into_capacitance(self, eps: f64, areas: &[f64]) -> Capacitance {
        let conductors = self.responses.first().map_or(0, |r| r.conductor_charge.len());
        let columns = &self.responses[..conductors.min(self.responses.len())];
        let row = |i: usize| columns.iter().map(|r| r.conductor_charge[i] / eps).collect();
        let density = |response: &Response| {
            let of = |(q, area): (&f64, &f64)| 4.0 * std::f64::consts::PI * q / (area * eps);
            response.free_charge.iter().zip(areas).map(of).collect()
        };
        Capacitance {
            method: self.method,
            maxwell: (0..conductors).map(row).collect(),
            density: columns.iter().map(density).collect(),
            solves: self
                .responses
                .into_iter()
                .enumerate()
                .map(|(excitation, response)| Solve {
                    excitation,
                    iterations: response.iterations,
                    reason: response.reason,
                    relative_residual: response.relative_residual,
                    history: response.history,
                })
                .collect(),
            tolerance: self.tolerance,
            fmm_tolerance: self.fmm_tolerance,
            fmm_error_sampled: self.fmm_error_sampled,
            fmm: self.fmm,
            timings: self.timings,
        }
    }
}

struct Solver<'a> {
    system: &'a System,
    excitations: &'a [Excitation],
    options: &'a CapacitanceOptions,
    progress: &'a dyn Progress,
}

/// How one column was solved.
struct Solved {
    iterations: usize,
    reason: StopReason,
    relative_residual: f64,
    history: Vec<f64>,
}

impl Solver<'_> {
    /// How exactly entries are worked, given how close sheets come to each other.
    fn accuracy(&self) -> (Accuracy, f64) {
        let accuracy = Accuracy::new(self.options.tolerance, self.options.quadrature_increment);
        let closest = near::closest(&self.system.panels, accuracy.rule);
        (accuracy.for_closest(closest), closest)
    }

    fn pairs<'k>(&'k self, accuracy: &Accuracy, kernels: &'k [Kernel]) -> LayerPairs<'k> {
        LayerPairs::new(&self.system.panels, kernels, accuracy.pairs)
    }

    fn dense(&self) -> Result<Electrostatics, Error> {
        let (system, n) = (self.system, self.system.panels.len());
        cost::check(
            "the dense matrix",
            2 * 8 * (n as u64).pow(2),
            self.options.memory_limit,
            "use method = \"fmm\" or a coarser mesh",
        )?;
        let started = Instant::now();
        let (accuracy, _) = self.accuracy();
        let mut matrix = self.matrix(&self.pairs(&accuracy, &system.rows.kernels))?;
        let mut defect = 0.0f64;
        let mut unit = vec![0.0; n];
        for (j, column) in matrix.as_mut_slice().chunks_exact_mut(n.max(1)).enumerate() {
            unit[j] = 1.0;
            defect = defect.max(system.rows.complete(&unit, column));
            unit[j] = 0.0;
        }
        let timings = Timings { near_field: started.elapsed().as_secs_f64(), ..Timings::default() };
        let started = Instant::now();
        let factor = Lu::new(matrix.clone());
        let mut charges = self.right_hand_sides();
        let mut solved = Vec::new();
        for b in charges.chunks_exact_mut(n.max(1)) {
            let measure = system.rows.measure(b);
            let residual = match &factor {
                Some(factor) => {
                    let mut x = b.to_vec();
                    factor.solve(&mut x);
                    let product = &matrix * nalgebra::DVector::from_column_slice(&x);
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
                } else if residual <= self.options.tolerance {
                    StopReason::Converged
                } else {
                    StopReason::Breakdown
                },
                relative_residual: residual,
                history: vec![1.0, residual],
            });
        }
        let slopes = match system.rows.sheets() {
            Some(kernels) => {
                let matrix = self.matrix(&self.pairs(&accuracy, &kernels))?;
                let columns = DMatrix::from_column_slice(n, self.excitations.len(), &charges);
                (matrix * columns).as_slice().to_vec()
            }
            None => Vec::new(),
        };
        let timings = Timings { solve: started.elapsed().as_secs_f64(), ..timings };
        Ok(self.answer(Method::Dense, &charges, &slopes, solved, defect, timings))
    }

    /// The matrix of rows of these kinds in full.
    fn matrix(&self, pairs: &LayerPairs<'_>) -> Result<DMatrix<f64>, Error> {
        let n = self.system.panels.len();
        let mut matrix = DMatrix::zeros(n, n);
        let done = std::sync::atomic::AtomicU64::new(0);
        let column = |(j, column): (usize, &mut [f64])| {
            let mut scratch = Scratch::default();
            for (i, entry) in column.iter_mut().enumerate() {
                *entry = pairs.entry(i, j, &mut scratch);
            }
            let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            self.progress.advance(Stage::NearField, done, n as u64)
        };
        if n > 0 && !matrix.as_mut_slice().par_chunks_mut(n).enumerate().all(column) {
            return Err(Error::Interrupted);
        }
        Ok(matrix)
    }

    fn fast(&self) -> Result<Electrostatics, Error> {
        let (system, options) = (self.system, self.options);
        let n = system.panels.len();
        let columns = self.excitations.len();
        let kernels = &system.rows.kernels;
        let (accuracy, closest) = self.accuracy();
        let rule = accuracy.rule;
        cost::check(
            "the fast solve",
            // Gradients are three more numbers a point.
            2 * cost::fast_bytes(n, rule.len(), n * cost::REGULAR_ROW, columns),
            options.memory_limit,
            "use a coarser mesh or fewer conductors",
        )?;
        let fmm_tolerance =
            options.fmm_tolerance.unwrap_or(FMM_SHARE * options.tolerance).clamp(TIGHTEST, 0.1);
        let mut timings = Timings::default();
        self.go_on(Stage::Plan, 0)?;
        let started = Instant::now();
        let precision = (closest < layer::COINCIDENT).then_some(Precision::Double);
        let points = Points::new(&system.panels, rule).all();
        let plan = |kernels: &[Kernel]| {
            let of_rows = layer::plan_options(kernels, fmm_tolerance, columns.clamp(1, GROUP));
            let (backend, gpu) = (options.backend, options.gpu);
            let options = fmm::Options { precision, backend, gpu, ..of_rows };
            fmm::Plan::new(&points, None, &options)
        };
        let first_plan = plan(kernels)?;
        timings.plan = started.elapsed().as_secs_f64();
        self.go_on(Stage::Plan, 1)?;

        let started = Instant::now();
        let mut near = self.near(&accuracy, kernels)?;
        let mut preconditioner = Preconditioner::new(system, &near, &accuracy, self.progress)?;
        near.subtract_points(&system.panels, &self.pairs(&accuracy, kernels), rule);
        timings.near_field = started.elapsed().as_secs_f64();

        let started = Instant::now();
        let panels = Arc::clone(&system.panels);
        let layer = Layer::new(panels, rule, kernels.clone(), first_plan, near);
        let mut operator = Operator { layer, rows: &system.rows, defect: 0.0 };
        let mut charges = vec![0.0; columns * n];
        let params = GmresParams {
            tolerance: options.tolerance,
            restart: options.restart.max(1),
            max_iterations: options.max_iterations,
            group: GROUP,
        };
        let mut b = self.right_hand_sides();
        // Every column is measured by its own right-hand side, so that they can advance together.
        let sizes: Vec<f64> = b.chunks_exact(n.max(1)).map(|b| system.rows.measure(b)).collect();
        scale(&mut b, n, &sizes, |size| 1.0 / size);
        let infos = gmres(
            &mut operator,
            &mut preconditioner,
            Metric {
                weights: &system.rows.weights,
                measure: Some(&|r: &[f64]| system.rows.measure(r)),
            },
            &b,
            &mut charges,
            &params,
            &mut |iteration, residual| {
                self.progress.residual(iteration, residual);
                self.progress.advance(Stage::Solve, iteration as u64, 0)
            },
        )?;
        drop(b);
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
        let Operator { mut layer, defect, .. } = operator;
        let first = charges.get(..n).unwrap_or_default();
        let sampled =
            if n > 0 && columns > 0 { layer.sampled_error(first, ERROR_SAMPLES)? } else { None };
        let mut slopes = Vec::new();
        if let Some(kernels) = system.rows.sheets() {
            let mut near = self.near(&accuracy, &kernels)?;
            near.subtract_points(&system.panels, &self.pairs(&accuracy, &kernels), rule);
            let plan = plan(&kernels)?;
            let panels = Arc::clone(&system.panels);
            let mut sheets = Layer::new(panels, rule, kernels, plan, near);
            slopes = vec![0.0; charges.len()];
            sheets.apply(&charges, &mut slopes, columns)?;
        }
        timings.solve = started.elapsed().as_secs_f64();
        timings.matvec_mean = layer.mean_seconds();
        let mut answer = self.answer(Method::Fmm, &charges, &slopes, solved, defect, timings);
        answer.fmm_tolerance = Some(fmm_tolerance);
        answer.fmm_error_sampled = sampled;
        answer.fmm = Some(layer.plan().info().clone());
        Ok(answer)
    }

    /// Exact entries on close pairs.
    fn near(&self, accuracy: &Accuracy, kernels: &[Kernel]) -> Result<Near, Error> {
        let pairs = self.pairs(accuracy, kernels);
        let panels = &self.system.panels;
        Near::new(
            panels,
            &accuracy.selection,
            &pairs,
            near::Precision::Double,
            |_| Ok(()),
            self.progress,
        )
    }

    fn go_on(&self, stage: Stage, done: u64) -> Result<(), Error> {
        if self.progress.advance(stage, done, 1) { Ok(()) } else { Err(Error::Interrupted) }
    }

    fn right_hand_sides(&self) -> Vec<f64> {
        self.excitations.iter().flat_map(|e| external::right_hand_side(self.system, e)).collect()
    }

    fn answer(
        &self,
        method: Method,
        charges: &[f64],
        slopes: &[f64],
        solved: Vec<Solved>,
        gauss_defect: f64,
        timings: Timings,
    ) -> Electrostatics {
        let system = self.system;
        let n = system.panels.len().max(1);
        let responses = self
            .excitations
            .iter()
            .zip(solved)
            .enumerate()
            .map(|(column, (excitation, solved))| {
                let slopes = slopes.get(column * n..(column + 1) * n).unwrap_or_default();
                let x = &charges[column * system.panels.len()..][..system.panels.len()];
                let external = external::sheet_slopes(system, excitation);
                let free = system.rows.free_charges(x, slopes, &external);
                let scale = system.panels.scale();
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
                        response.conductor_charge[conductor as usize] += free[i] * scale;
                    }
                }
                response
            })
            .collect();
        Electrostatics {
            responses,
            method,
            tolerance: self.options.tolerance,
            fmm_tolerance: None,
            fmm_error_sampled: None,
            gauss_defect,
            fmm: None,
            timings,
        }
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
    layer: Layer,
    rows: &'a Rows,
    /// Largest relative defect of Gauss's law so far.
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
}
