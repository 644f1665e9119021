//! The equations in full, factorised.

use std::time::Instant;

use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use super::prepared::{Found, accuracy};
use super::rows::System;
use crate::integrals::potentials::WeightedPoints;
use crate::near::accuracy::Accuracy;
use crate::near::over_images;
use crate::near::pairs::{LayerPairs, RowKind, Scratch};
use crate::near::single_layer::SingleLayerPairs;
use crate::near::slopes::{Modes, SlopePairs};
use crate::operator::dense;
use crate::physics::cost;
use crate::quadrature::modes::MODES;
use crate::solve::completion::complete;
use crate::solve::gmres::{GmresInfo, StopReason};
use crate::solve::lu::Lu;
use crate::space::Density;
use crate::{Error, Progress, SolveOptions, Stage, Timings};

/// Entries of all rows.
enum Matrix {
    /// Of conductors alone, factorised.
    Symmetric(dense::Dense),
    /// Potentials and normal derivatives, whatever the media are.
    General(DMatrix<f64>),
}

/// A matrix that solves for charges.
trait Solves {
    /// A^-1 b, and A times that.
    fn solve(&self, b: &[f64]) -> [Vec<f64>; 2];
}

/// The equations in full.
pub(super) struct Dense {
    accuracy: Accuracy,
    matrix: Matrix,
    sheets: Option<(Vec<RowKind>, DMatrix<f64>)>,
}

impl Dense {
    pub(super) fn new(
        system: &System,
        options: &SolveOptions,
        progress: &dyn Progress,
        timings: &mut Timings,
    ) -> Result<Self, Error> {
        let kinds = &system.rows.kinds;
        let is_symmetric = !kinds.contains(&RowKind::Adjoint);
        let squares = if is_symmetric { 1 } else { 3 };
        cost::check(
            "the dense matrix",
            squares * dense::Dense::bytes(system.rows.len()),
            options.memory_limit,
            "use the fast method or a coarser mesh",
        )?;
        let started = Instant::now();
        let accuracy = accuracy(system, options);
        let panels = &system.panels;
        let pairs = SingleLayerPairs { panels, quadrature: accuracy.pairs };
        let linear = system.density == Density::Linear;
        let symmetric = match (is_symmetric, linear) {
            (true, false) => dense::Dense::new(panels, &pairs, progress)?,
            (true, true) => dense::Dense::of(entries(system, &accuracy, kinds, progress)?),
            (false, _) => None,
        };
        let matrix = match symmetric {
            Some(matrix) => Matrix::Symmetric(matrix),
            // Or what overlaps is not positive definite.
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
                    defect = defect.max(complete(&system.rows, &unit, column, true)?);
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

/// The equations with these media.
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

/// Entries of rows of these kinds in full.
fn entries(
    system: &System,
    accuracy: &Accuracy,
    kinds: &[RowKind],
    progress: &dyn Progress,
) -> Result<DMatrix<f64>, Error> {
    let panels = &system.panels;
    let pairs = LayerPairs::new(panels, kinds, accuracy.pairs);
    let pairs = pairs.with_solid_angles(accuracy.solid_angles_of_rows);
    let n = panels.len();
    let done = std::sync::atomic::AtomicU64::new(0);
    let advance = || {
        let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        progress.advance(Stage::NearField, done, n as u64)
    };
    let even = |(j, column): (usize, &mut [f64])| {
        let mut scratch = Scratch::default();
        for (i, entry) in column.iter_mut().enumerate() {
            let of = |i: usize, j: usize| [pairs.entry(i, j, &mut scratch), 0.0];
            *entry = over_images(panels, i, j, of)[0];
        }
        advance()
    };
    let mut matrix = DMatrix::zeros(n, n);
    if n > 0 && !matrix.as_mut_slice().par_chunks_mut(n).enumerate().all(even) {
        return Err(Error::Interrupted);
    }
    if system.density == Density::Constant {
        return Ok(matrix);
    }
    let solid_angles = accuracy.solid_angles_of_rows;
    let slopes = SlopePairs { even: &pairs, accuracy, solid_angles };
    let mut whole = DMatrix::zeros(MODES * n, MODES * n);
    whole.view_mut((0, 0), (n, n)).copy_from(&matrix);
    let columns = |j: usize| -> Vec<Modes> {
        let mut points = WeightedPoints::default();
        let row = |i: usize| {
            let of = |i: usize, j: usize| [slopes.entries(i, j, &mut points), Modes::default()];
            over_images(panels, i, j, of)[0]
        };
        let column = (0..n).map(row).collect();
        if advance() { column } else { Vec::new() }
    };
    let all: Vec<Vec<Modes>> = (0..n).into_par_iter().map(columns).collect();
    for (j, column) in all.iter().enumerate() {
        if column.len() < n {
            return Err(Error::Interrupted);
        }
        for (i, modes) in column.iter().enumerate() {
            for (m, l, value) in modes.of_slopes() {
                whole[(m * n + i, l * n + j)] = value;
            }
        }
    }
    Ok(whole)
}

fn relative(size: f64, of: f64) -> f64 {
    if of > 0.0 { size / of } else { size }
}
