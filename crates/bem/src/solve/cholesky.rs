//! Cholesky factorisation of a dense matrix, blocked and on all threads.

use nalgebra::{DMatrix, DMatrixViewMut};
use parallel::prelude::*;
use simd::{Simd, Task};

/// Columns factorised together.
const BLOCK: usize = 64;

/// Vectors solved for together: at most, and where they are few.
const WIDE: usize = 16;
const FEW: usize = 8;

/// Rows per task below a block, and columns of a block per sum.
const ROWS: usize = 64;
const COLUMNS: usize = 4;

/// A = L L^T in place: L below the diagonal and on it, A as it was above.
pub struct Factor {
    matrix: DMatrix<f64>,
}

impl Factor {
    /// Factorises a symmetric matrix. `None` if it is not positive definite.
    pub fn new(mut matrix: DMatrix<f64>) -> Option<Self> {
        factorise(&mut matrix).then_some(Self { matrix })
    }

    /// As [`Self::new`], for a matrix given column by column.
    pub(crate) fn of_columns(n: usize, columns: Vec<f64>) -> Option<Self> {
        let _span = tracing::debug_span!("factor of the coarse level").entered();
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

    /// x = A^-1 x for vectors one after the other, on all threads.
    pub fn solve_all(&self, x: &mut [f64]) {
        let n = self.len().max(1);
        for x in x.chunks_mut(n * WIDE) {
            match x.len() / n {
                0 | 1 => self.solve(x),
                2..=FEW => self.solve_together::<FEW>(x),
                _ => self.solve_together::<WIDE>(x),
            }
        }
    }

    /// Solves for up to `W` vectors, block by block: all threads share the update of the remaining
    /// rows by a block.
    fn solve_together<const W: usize>(&self, x: &mut [f64]) {
        let n = self.len();
        // Entries of all vectors, adjacent.
        let mut rows = vec![[0.0f64; W]; n];
        for (c, x) in x.chunks_exact(n).enumerate() {
            rows.iter_mut().zip(x).for_each(|(row, x)| row[c] = *x);
        }
        let of = |first: usize| Part { factor: self, first };
        for first in (0..n).step_by(BLOCK) {
            let (known, below) = rows.split_at_mut(n.min(first + BLOCK));
            let end = known.len();
            let own = &mut known[first..];
            simd::run(Own { part: of(first), rows: own, is_forward: true });
            let own = &*own;
            below.par_chunks_mut(ROWS).enumerate().for_each(|(k, rows)| {
                simd::run(Below { part: of(first), known: own, at: end + k * ROWS, rows });
            });
        }
        for first in (0..n).step_by(BLOCK).rev() {
            let end = n.min(first + BLOCK);
            let (own, below) = rows[first..].split_at_mut(end - first);
            let below = &*below;
            own.par_chunks_mut(COLUMNS).enumerate().for_each(|(k, rows)| {
                simd::run(Above { part: of(first + k * COLUMNS), at: end, below, rows });
            });
            simd::run(Own { part: of(first), rows: own, is_forward: false });
        }
        for (c, x) in x.chunks_exact_mut(n).enumerate() {
            x.iter_mut().zip(&rows).for_each(|(x, row)| *x = row[c]);
        }
    }

    /// x = A^-1 x.
    pub fn solve(&self, x: &mut [f64]) {
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

/// Columns of a factor from `first` on.
#[derive(Clone, Copy)]
struct Part<'a> {
    factor: &'a Factor,
    first: usize,
}

impl Part<'_> {
    /// Column `j` of the part, from row `from` on.
    #[inline(always)]
    fn column(&self, j: usize, from: usize) -> &[f64] {
        let n = self.factor.len();
        &self.factor.columns()[(self.first + j) * n..(self.first + j + 1) * n][from..]
    }
}

/// Solves for the rows of the part's own columns.
struct Own<'a, const W: usize> {
    part: Part<'a>,
    rows: &'a mut [[f64; W]],
    is_forward: bool,
}

impl<const W: usize> Task<f64> for Own<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { part, rows, is_forward } = self;
        let count = rows.len();
        for k in 0..count {
            let j = if is_forward { k } else { count - 1 - k };
            let column = part.column(j, part.first + j);
            let (own, below) = rows[j..].split_at_mut(1);
            let own = &mut own[0];
            if is_forward {
                own.iter_mut().for_each(|x| *x /= column[0]);
                for (row, l) in below.iter_mut().zip(&column[1..]) {
                    (0..W).for_each(|c| row[c] -= l * own[c]);
                }
            } else {
                for (row, l) in below.iter().zip(&column[1..]) {
                    (0..W).for_each(|c| own[c] -= l * row[c]);
                }
                own.iter_mut().for_each(|x| *x /= column[0]);
            }
        }
    }
}

/// Subtracts known values from rows from `at` on.
struct Below<'a, const W: usize> {
    part: Part<'a>,
    known: &'a [[f64; W]],
    at: usize,
    rows: &'a mut [[f64; W]],
}

impl<const W: usize> Task<f64> for Below<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { part, known, at, rows } = self;
        for (group, known) in known.chunks(COLUMNS).enumerate() {
            let column = |j: usize| &part.column(group * COLUMNS + j, at)[..rows.len()];
            if let [k0, k1, k2, k3] = known {
                let columns = [0, 1, 2, 3].map(column);
                for (i, row) in rows.iter_mut().enumerate() {
                    let [l0, l1, l2, l3] = columns.map(|column| column[i]);
                    for c in 0..W {
                        row[c] -= l0 * k0[c] + l1 * k1[c] + l2 * k2[c] + l3 * k3[c];
                    }
                }
            } else {
                for (j, known) in known.iter().enumerate() {
                    let column = part.column(group * COLUMNS + j, at);
                    for (row, l) in rows.iter_mut().zip(column) {
                        (0..W).for_each(|c| row[c] -= l * known[c]);
                    }
                }
            }
        }
    }
}

/// Subtracts the products of the part's first columns with all rows from `at` on from its rows.
struct Above<'a, const W: usize> {
    part: Part<'a>,
    at: usize,
    below: &'a [[f64; W]],
    rows: &'a mut [[f64; W]],
}

impl<const W: usize> Task<f64> for Above<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { part, at, below, rows } = self;
        for (j, own) in rows.iter_mut().enumerate() {
            let mut sums = [0.0; W];
            for (row, l) in below.iter().zip(part.column(j, at)) {
                (0..W).for_each(|c| sums[c] += l * row[c]);
            }
            (0..W).for_each(|c| own[c] -= sums[c]);
        }
    }
}

/// Right-looking, on the lower triangle; entries above the diagonal stay unchanged.
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
        // L21 = A21 L11^-T, also stored transposed: both operands of the update are then plain
        // matrices.
        let mut transposed = columns.rows(below, n - below).transpose();
        let chunks = transposed.as_mut_slice().par_chunks_mut(ROWS * width);
        let solve = |chunk: &mut [f64]| {
            let count = chunk.len() / width;
            factor.solve_lower_triangular_mut(&mut DMatrixViewMut::from_slice(chunk, width, count))
        };
        if !chunks.all(solve) {
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
