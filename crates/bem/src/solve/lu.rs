//! LU factorisation of a dense matrix with row exchanges, blocked and on all threads.

use nalgebra::{DMatrix, DMatrixViewMut};
use parallel::prelude::*;

/// Columns factorised together.
const BLOCK: usize = 48;

/// P A = L U in place: L below the diagonal (its diagonal is 1), U on it and above.
pub struct Lu {
    matrix: DMatrix<f64>,
    /// Row with which row k was exchanged at step k.
    exchanges: Vec<usize>,
}

impl Lu {
    /// Factorises a square matrix. `None` if it is singular, or not finite.
    pub fn new(mut matrix: DMatrix<f64>) -> Option<Self> {
        let n = matrix.nrows();
        let mut exchanges = Vec::with_capacity(n);
        for start in (0..n).step_by(BLOCK) {
            let width = BLOCK.min(n - start);
            let below = start + width;
            let data = matrix.as_mut_slice();
            for k in start..below {
                let column = &data[k * n..(k + 1) * n];
                let pivot =
                    (k..n).fold(k, |p, i| if column[i].abs() > column[p].abs() { i } else { p });
                if !(column[pivot].abs() > 0.0 && column[pivot].is_finite()) {
                    return None;
                }
                exchanges.push(pivot);
                data[start * n..below * n].chunks_exact_mut(n).for_each(|c| c.swap(k, pivot));
                let (left, right) = data.split_at_mut((k + 1) * n);
                let column = &mut left[k * n..];
                let inverse = 1.0 / column[k];
                column[k + 1..].iter_mut().for_each(|v| *v *= inverse);
                for other in right[..(below - k - 1) * n].chunks_exact_mut(n) {
                    let factor = other[k];
                    axpy(-factor, &column[k + 1..], &mut other[k + 1..]);
                }
            }
            let exchanges = &exchanges[start..below];
            let exchange = |column: &mut [f64]| {
                exchanges.iter().enumerate().for_each(|(k, &p)| column.swap(start + k, p));
            };
            data[..start * n].par_chunks_exact_mut(n).for_each(exchange);
            if below == n {
                break;
            }
            let (left, right) = data.split_at_mut(below * n);
            let panel = &left[start * n..];
            let lower = DMatrix::from_fn(n - below, width, |i, j| panel[j * n + below + i]);
            right.par_chunks_mut(BLOCK * n).for_each(|chunk| {
                for column in chunk.chunks_exact_mut(n) {
                    exchange(column);
                    for k in 0..width {
                        let factor = column[start + k];
                        let l = &panel[k * n + start + k + 1..k * n + below];
                        axpy(-factor, l, &mut column[start + k + 1..below]);
                    }
                }
                let columns = chunk.len() / n;
                let upper = DMatrix::from_fn(width, columns, |i, j| chunk[j * n + start + i]);
                let mut target = DMatrixViewMut::from_slice(chunk, n, columns);
                target.rows_mut(below, n - below).gemm(-1.0, &lower, &upper, 1.0);
            });
        }
        Some(Self { matrix, exchanges })
    }

    /// x = A^-1 x.
    pub fn solve(&self, x: &mut [f64]) {
        let n = self.exchanges.len();
        let column = |j: usize| &self.matrix.as_slice()[j * n..(j + 1) * n];
        self.exchanges.iter().enumerate().for_each(|(k, &p)| x.swap(k, p));
        for j in 0..n {
            let (known, rest) = x.split_at_mut(j + 1);
            axpy(-known[j], &column(j)[j + 1..], rest);
        }
        for j in (0..n).rev() {
            x[j] /= column(j)[j];
            let (rest, known) = x.split_at_mut(j);
            axpy(-known[0], &column(j)[..j], rest);
        }
    }
}

fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}
