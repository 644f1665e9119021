//! The full equations, factorised.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use nalgebra::{DMatrix, DVector};
use parallel::prelude::*;

use super::found::{Found, accuracy};
use super::system::System;
use crate::geometry::panels::Panels;
use crate::near::RowKind;
use crate::near::accuracy::{Accuracy, IntegralAccuracy};
use crate::near::modes::{ModeBlock, ModePairs};
use crate::near::pairs::{LayerPairs, Scratch};
use crate::near::{PairIntegrals, over_images};
use crate::operator::dense;
use crate::physics::cost;
use crate::quadrature::modes::MODES;
use crate::solve::completion::complete;
use crate::solve::gmres::{GmresInfo, StopReason};
use crate::solve::lu::Lu;
use crate::space::Density;
use crate::{Error, Progress, SolveOptions, Stage, Timings};

/// Columns computed before they are copied into the matrix.
const COLUMNS: usize = 256;

/// Entries of all rows.
enum Matrix {
    /// For conductors alone, factorised.
    Symmetric(dense::Dense),
    /// Potentials and normal derivatives, for any media.
    General(DMatrix<f64>),
}

/// A matrix that can solve for charges.
trait Solves {
    /// A^-1 b, and A times that.
    fn solve(&self, b: &[f64]) -> [Vec<f64>; 2];
}

/// The full equations.
pub(super) struct Dense {
    accuracy: Accuracy,
    matrix: Matrix,
    sheets: Option<(Vec<RowKind>, DMatrix<f64>)>,
}

impl Dense {
    pub(super) fn new(
        system: &System,
        columns: usize,
        options: &SolveOptions,
        progress: &dyn Progress,
        timings: &mut Timings,
    ) -> Result<Self, Error> {
        let kinds = &system.rows.kinds;
        let is_symmetric = !kinds.contains(&RowKind::Adjoint);
        let squares = if is_symmetric { 1 } else { 3 };
        let (n, limit) = (system.rows.len(), options.memory_limit);
        let (matrix, answers) = (squares * dense::Dense::bytes(n), cost::answers(n, columns));
        let check = |what, bytes, advice| cost::check(what, bytes, limit, advice);
        check("the dense matrix", matrix, "use the fast method or a coarser mesh")?;
        check("the dense solve", matrix + answers, "use a coarser mesh or fewer conductors")?;
        let started = Instant::now();
        let accuracy = accuracy(system, options);
        let panels = &system.panels;
        let pairs = LayerPairs::new(panels, &[RowKind::Single], accuracy.pairs);
        let linear = system.density == Density::Linear;
        let symmetric = match (is_symmetric, linear) {
            (true, false) => dense::Dense::new(panels, &pairs, progress)?,
            (true, true) => dense::Dense::of(entries(system, &accuracy, kinds, progress)?),
            (false, _) => None,
        };
        let matrix = match symmetric {
            Some(matrix) => Matrix::Symmetric(matrix),
            // Or panels overlap, so that the matrix is not positive definite.
            None => Matrix::General(entries(system, &accuracy, kinds, progress)?),
        };
        timings.near_field = started.elapsed().as_secs_f64();
        Ok(Self { accuracy, matrix, sheets: None })
    }

    pub(super) fn solve(
        &mut self,
        system: &System,
        mut charges: Vec<f64>,
        columns: usize,
        tolerance: f64,
        progress: &dyn Progress,
    ) -> Result<Found, Error> {
        let n = system.rows.len();
        let mut defect = 0.0f64;
        let completed;
        let solves: Option<&dyn Solves> = match &self.matrix {
            Matrix::Symmetric(matrix) => Some(matrix),
            Matrix::General(matrix) => {
                let mut matrix = matrix.clone();
                let mut unit = vec![0.0; n];
                for (j, column) in matrix.as_mut_slice().chunks_exact_mut(n.max(1)).enumerate() {
                    unit[j] = 1.0;
                    defect = defect.max(complete(&*system.rows, &unit, column, true)?);
                    unit[j] = 0.0;
                }
                completed = Lu::new(matrix.clone()).map(|factor| Completed { factor, matrix });
                completed.as_ref().map(|completed| completed as &dyn Solves)
            }
        };
        let mut solved = Vec::new();
        if n == 0 {
            solved.extend((0..columns).map(|_| GmresInfo {
                iterations: 0,
                reason: StopReason::Converged,
                relative_residual: 0.0,
                history: vec![0.0],
            }));
        }
        for b in charges.chunks_exact_mut(n.max(1)) {
            let measure = system.rows.measure(b);
            let residual = match solves {
                Some(matrix) => {
                    let [x, product] = matrix.solve(b);
                    let r: Vec<f64> = b.iter().zip(product.iter()).map(|(b, y)| b - y).collect();
                    b.copy_from_slice(&x);
                    relative(system.rows.measure(&r), measure)
                }
                None => {
                    b.fill(0.0);
                    1.0
                }
            };
            solved.push(GmresInfo {
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
        let mut normal_derivatives = Vec::new();
        if let Some(kinds) = system.rows.sheets() {
            if self.sheets.as_ref().is_none_or(|(known, _)| *known != kinds) {
                let matrix = entries(system, &self.accuracy, &kinds, progress)?;
                self.sheets = Some((kinds, matrix));
            }
            if let Some((_, matrix)) = &self.sheets {
                let columns = DMatrix::from_column_slice(n, columns, &charges);
                normal_derivatives = (matrix * columns).as_slice().to_vec();
            }
        }
        Ok(Found {
            charges,
            normal_derivatives,
            solved,
            defect,
            sizes: Vec::new(),
            error: None,
            checking: 0.0,
        })
    }
}

/// The equations for given media.
struct Completed {
    matrix: DMatrix<f64>,
    factor: Lu,
}

impl Solves for Completed {
    fn solve(&self, b: &[f64]) -> [Vec<f64>; 2] {
        let mut x = b.to_vec();
        self.factor.solve(&mut x);
        let product = &self.matrix * DVector::from_column_slice(&x);
        [x, product.as_slice().to_vec()]
    }
}

impl Solves for dense::Dense {
    fn solve(&self, b: &[f64]) -> [Vec<f64>; 2] {
        let x = self.solve(b);
        let product = self.multiply(&x);
        [x, product]
    }
}

/// All entries of rows of these kinds.
fn entries(
    system: &System,
    accuracy: &Accuracy,
    kinds: &[RowKind],
    progress: &dyn Progress,
) -> Result<DMatrix<f64>, Error> {
    let panels = &system.panels;
    let solid_angles = accuracy.solid_angles_of_rows;
    let pairs = LayerPairs::new(panels, kinds, accuracy.pairs).with_solid_angles(solid_angles);
    let even = |[i, j]: [usize; 2], scratch: &mut Scratch| {
        over_images(panels, i, j, |i, j| pairs.exact(i, j, scratch))
    };
    let n = panels.len();
    if system.density == Density::Constant {
        let mut matrix = DMatrix::zeros(n, n);
        for_each_pair(panels, even, progress, |[i, j], entry| matrix[(i, j)] = entry)?;
        return Ok(matrix);
    }
    let integrals = IntegralAccuracy { pairs: accuracy.pairs, solid_angles };
    let linear = ModePairs { even: &pairs, accuracy, integrals };
    let of_modes = |[i, j]: [usize; 2], scratch: &mut Scratch| {
        over_images(panels, i, j, |i, j| linear.exact(i, j, scratch))
    };
    let mut matrix = DMatrix::zeros(MODES * n, MODES * n);
    for_each_pair(panels, of_modes, progress, |[i, j], block: ModeBlock| {
        for (m, row) in block.entries().iter().enumerate() {
            row.iter().enumerate().for_each(|(l, value)| matrix[(m * n + i, l * n + j)] = *value);
        }
    })?;
    Ok(matrix)
}

/// Stores the entries of all pairs, each pair computed once for both rows, in the mesh's order.
fn for_each_pair<E: Copy + Send>(
    panels: &Panels,
    entries: impl Fn([usize; 2], &mut Scratch) -> [E; 2] + Sync,
    progress: &dyn Progress,
    mut put: impl FnMut([usize; 2], E),
) -> Result<(), Error> {
    let n = panels.len();
    let done = AtomicU64::new(0);
    for first in (0..n).step_by(COLUMNS) {
        let column = |j: usize| -> Option<Vec<[E; 2]>> {
            let mut scratch = Scratch::default();
            let of = |i: usize| {
                let (first, second) = panels.ordered(i, j);
                let [forth, back] = entries([first, second], &mut scratch);
                if first == i { [forth, back] } else { [back, forth] }
            };
            let column = (0..=j).map(of).collect();
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress.advance(Stage::NearField, done, n as u64).then_some(column)
        };
        let columns = first..n.min(first + COLUMNS);
        let found: Option<Vec<Vec<[E; 2]>>> = columns.clone().into_par_iter().map(column).collect();
        for (j, column) in columns.zip(found.ok_or(Error::Interrupted)?) {
            for (i, [forth, back]) in column.into_iter().enumerate() {
                put([i, j], forth);
                put([j, i], back);
            }
        }
    }
    Ok(())
}

fn relative(size: f64, of: f64) -> f64 {
    if of > 0.0 { size / of } else { size }
}
