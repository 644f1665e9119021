//! The Galerkin matrix in full and its Cholesky factor: the oracle, and the faster way for small problems.

use nalgebra::{DMatrix, DMatrixViewMut};
use rayon::prelude::*;

use crate::pair::PairQuadrature;
use crate::panels::Panels;
use crate::{Error, Progress, Stage};

/// Columns that are factorised together.
const BLOCK: usize = 64;

/// The matrix A_ij = 1/(A_i A_j) int_i int_j 1/|x - y| and its factor A = L L^T in one square: L below and on the diagonal,
/// A above it.
pub(crate) struct Dense {
    matrix: DMatrix<f64>,
    diagonal: Vec<f64>,
}

impl Dense {
    /// Bytes that a matrix over `n` panels takes.
    pub(crate) fn bytes(n: usize) -> u64 {
        8 * (n as u64).pow(2)
    }

    /// Assembles and factorises. `None` if the matrix is not positive definite: panels overlap, or one has no area.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub(crate) fn new(
        panels: &Panels,
        pairs: &PairQuadrature,
        progress: &dyn Progress,
    ) -> Result<Option<Self>, Error> {
        let n = panels.len();
        let triangles: Vec<_> = (0..n).map(|i| panels.panel(i)).collect();
        let mut matrix = DMatrix::zeros(n, n);
        let done = std::sync::atomic::AtomicU64::new(0);
        let column = |(j, column): (usize, &mut [f64])| {
            for (i, entry) in column.iter_mut().enumerate().skip(j) {
                let (s, t) = (&triangles[i], &triangles[j]);
                *entry = pairs.single_layer(s, t) / (s.area * t.area);
            }
            let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            progress.advance(Stage::NearField, done, n as u64)
        };
        if n > 0 && !matrix.as_mut_slice().par_chunks_mut(n).enumerate().all(column) {
            return Err(Error::Interrupted);
        }
        matrix.fill_upper_triangle_with_lower_triangle();
        let diagonal = matrix.diagonal().iter().copied().collect();
        Ok(factorise(&mut matrix).then_some(Self { matrix, diagonal }))
    }

    /// A^-1 b for one right-hand side.
    pub(crate) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let n = b.len();
        let mut x = b.to_vec();
        for j in 0..n {
            let column = self.matrix.column(j);
            x[j] /= column[j];
            let xj = x[j];
            x[j + 1..].iter_mut().zip(column.iter().skip(j + 1)).for_each(|(x, l)| *x -= l * xj);
        }
        for j in (0..n).rev() {
            let column = self.matrix.column(j);
            let sum: f64 =
                x[j + 1..].iter().zip(column.iter().skip(j + 1)).map(|(x, l)| l * x).sum();
            x[j] = (x[j] - sum) / column[j];
        }
        x
    }

    /// A x.
    pub(crate) fn multiply(&self, x: &[f64]) -> Vec<f64> {
        let n = x.len();
        let mut y: Vec<f64> = self.diagonal.iter().zip(x).map(|(d, x)| d * x).collect();
        for j in 0..n {
            let column = self.matrix.column(j);
            let mut sum = 0.0;
            for i in 0..j {
                y[i] += column[i] * x[j];
                sum += column[i] * x[i];
            }
            y[j] += sum;
        }
        y
    }
}

/// Right-looking blocked Cholesky of the lower triangle; what is above the diagonal is neither read nor kept up, except in
/// diagonal blocks' columns, which it does not touch either.
fn factorise(matrix: &mut DMatrix<f64>) -> bool {
    let n = matrix.nrows();
    for start in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - start);
        let below = start + width;
        let (left, right) = matrix.as_mut_slice().split_at_mut(below * n);
        let mut columns = DMatrixViewMut::from_slice(&mut left[start * n..], n, width);
        let Some(factor) = columns.rows(start, width).clone_owned().cholesky() else {
            return false;
        };
        let factor = factor.unpack();
        for j in 0..width {
            for i in j..width {
                columns[(start + i, j)] = factor[(i, j)];
            }
        }
        if below == n {
            continue;
        }
        // L21 = A21 L11^-T, kept as its transpose too: both operands of the update are then plain.
        let mut transposed = columns.rows(below, n - below).transpose();
        if !factor.solve_lower_triangular_mut(&mut transposed) {
            return false;
        }
        let panel = transposed.transpose();
        columns.rows_mut(below, n - below).copy_from(&panel);
        right.par_chunks_mut(BLOCK * n).enumerate().for_each(|(block, chunk)| {
            let first = block * BLOCK;
            let width = chunk.len() / n;
            let mut target = DMatrixViewMut::from_slice(chunk, n, width);
            let rows = n - below - first;
            let mut update = DMatrix::zeros(rows, width);
            update.gemm(1.0, &panel.rows(first, rows), &transposed.columns(first, width), 0.0);
            for j in 0..width {
                for i in j..rows {
                    target[(below + first + i, j)] -= update[(i, j)];
                }
            }
        });
    }
    true
}
