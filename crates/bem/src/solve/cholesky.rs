//! Cholesky factorisation of a dense matrix, blocked and on all threads.

use nalgebra::{DMatrix, DMatrixViewMut};
use rayon::prelude::*;
use simd::{Simd, Task};

/// Columns that are factorised together.
const BLOCK: usize = 64;

/// Vectors that one thread solves for together, and columns of the factor that it takes at a time.
const TOGETHER: usize = 8;
const AT_A_TIME: usize = 4;

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

    /// x = A^-1 x for vectors one after the other, on all threads: each of these reads the factor
    /// once for several of them.
    pub(crate) fn solve_all(&self, x: &mut [f64]) {
        let n = self.len();
        let columns = x.len() / n.max(1);
        if columns <= 1 {
            return self.solve(x);
        }
        let each = columns.div_ceil(rayon::current_num_threads()).min(TOGETHER);
        x.par_chunks_mut(n * each).for_each(|x| simd::run(Together { factor: self, x }));
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

/// Solves for up to [`TOGETHER`] vectors.
struct Together<'a> {
    factor: &'a Factor,
    x: &'a mut [f64],
}

impl Task<f64> for Together<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { factor, x } = self;
        let (n, matrix) = (factor.len(), factor.columns());
        // Entry i of all vectors side by side.
        let mut rows = vec![[0.0f64; TOGETHER]; n];
        for (c, x) in x.chunks_exact(n).enumerate() {
            for i in 0..n {
                rows[i][c] = x[i];
            }
        }
        for first in (0..n).step_by(AT_A_TIME) {
            let end = n.min(first + AT_A_TIME);
            for j in first..end {
                let column = &matrix[j * n..(j + 1) * n];
                for c in 0..TOGETHER {
                    rows[j][c] /= column[j];
                }
                for i in j + 1..end {
                    for c in 0..TOGETHER {
                        rows[i][c] -= column[i] * rows[j][c];
                    }
                }
            }
            let (known, below) = rows.split_at_mut(end);
            for (i, row) in below.iter_mut().enumerate() {
                for (j, known) in known[first..].iter().enumerate() {
                    let entry = matrix[(first + j) * n + end + i];
                    for c in 0..TOGETHER {
                        row[c] -= entry * known[c];
                    }
                }
            }
        }
        for first in (0..n).step_by(AT_A_TIME).rev() {
            let end = n.min(first + AT_A_TIME);
            let mut sums = [[0.0f64; TOGETHER]; AT_A_TIME];
            for i in end..n {
                for j in 0..end - first {
                    let entry = matrix[(first + j) * n + i];
                    for c in 0..TOGETHER {
                        sums[j][c] += entry * rows[i][c];
                    }
                }
            }
            for j in (first..end).rev() {
                let column = &matrix[j * n..(j + 1) * n];
                for i in j + 1..end {
                    for c in 0..TOGETHER {
                        sums[j - first][c] += column[i] * rows[i][c];
                    }
                }
                for c in 0..TOGETHER {
                    rows[j][c] = (rows[j][c] - sums[j - first][c]) / column[j];
                }
            }
        }
        for (c, x) in x.chunks_exact_mut(n).enumerate() {
            for i in 0..n {
                x[i] = rows[i][c];
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Any number of vectors, of any length.
    #[test]
    fn vectors_together_are_solved_for_as_one_by_one() {
        for n in [1, 3, 4, 5, 70] {
            let entry = |i: usize, j: usize| 1.0 / (1.0 + (i as f64 - j as f64).powi(2));
            let factor = Factor::new(DMatrix::from_fn(n, n, entry)).unwrap();
            for columns in [1, 2, 7, 19] {
                let x: Vec<f64> = (0..n * columns).map(|k| (0.7 * k as f64).sin()).collect();
                let (mut one, mut all) = (x.clone(), x);
                one.chunks_exact_mut(n).for_each(|x| factor.solve(x));
                factor.solve_all(&mut all);
                let off = one.iter().zip(&all).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                let size = one.iter().fold(0.0f64, |size, x| size.max(x.abs()));
                assert!(off <= 1e-12 * size, "{n} {columns}: {off:e}");
            }
        }
    }
}
