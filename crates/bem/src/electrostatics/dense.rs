//! The equations in full, factorised.

use std::time::Instant;

use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use super::prepared::{Found, Solved, accuracy};
use super::rows::System;
use crate::accuracy::Accuracy;
use crate::gmres::StopReason;
use crate::layer::{Kernel, LayerPairs, Scratch};
use crate::lu::Lu;
use crate::{CapacitanceOptions, Error, Progress, Stage, Timings, cost};

/// Entries of all rows.
pub(super) struct Dense {
    accuracy: Accuracy,
    /// Potentials and normal derivatives.
    matrix: DMatrix<f64>,
    sheets: Option<(Vec<Kernel>, DMatrix<f64>)>,
}

impl Dense {
    pub(super) fn new(
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

    pub(super) fn solve(
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
        Ok(Found { charges, slopes, solved, defect, sizes: Vec::new(), error: None, checking: 0.0 })
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
    let pairs = pairs.with_solid_angles(accuracy.solid_angles_of_rows);
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

fn relative(size: f64, of: f64) -> f64 {
    if of > 0.0 { size / of } else { size }
}
