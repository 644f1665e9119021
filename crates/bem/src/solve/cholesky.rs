//! Cholesky factorisation of a dense matrix, blocked and on all threads.

use nalgebra::{DMatrix, DMatrixViewMut};
use rayon::prelude::*;

/// Columns that are factorised together.
const BLOCK: usize = 64;

/// A = L L^T in place: L below the diagonal and on it, A as it was above.
pub(crate) struct Factor {
    matrix: DMatrix<f64>,
}

impl Factor {
    /// Factorises a symmetric matrix. `None` if it is not positive definite.
    pub(crate) fn new(mut matrix: DMatrix<f64>) -> Option<Self> {
        factorise(&mut matrix).then_some(Self { matrix })
    }

    /// The same of a matrix given column by column.
    pub(crate) fn of_columns(n: usize, columns: Vec<f64>) -> Option<Self> {
        Self::new(DMatrix::from_vec(n, n, columns))
    }

    /// The matrix as it is stored, column by column: L in the lower triangle.
    pub(crate) fn columns(&self) -> &[f64] {
        self.matrix.as_slice()
    }

    pub(crate) fn len(&self) -> usize {
        self.matrix.nrows()
    }

    /// Entry (i, j) of A, i < j.
    pub(crate) fn above(&self, i: usize, j: usize) -> f64 {
        self.matrix[(i, j)]
    }

    /// x = A^-1 x.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        let n = self.len();
        let column = |j: usize| &self.matrix.as_slice()[j * n + j..(j + 1) * n];
        for j in 0..n {
            let (diagonal, below) = (column(j)[0], &column(j)[1..]);
            x[j] /= diagonal;
            let xj = x[j];
            x[j + 1..].iter_mut().zip(below).for_each(|(x, l)| *x -= l * xj);
        }
        for j in (0..n).rev() {
            let (diagonal, below) = (column(j)[0], &column(j)[1..]);
            let sum: f64 = x[j + 1..].iter().zip(below).map(|(x, l)| l * x).sum();
            x[j] = (x[j] - sum) / diagonal;
        }
    }
}

/// Right-looking, on the lower triangle; what is above the diagonal is left as it is.
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
