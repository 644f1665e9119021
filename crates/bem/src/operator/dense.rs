//! The full Galerkin matrix and its Cholesky factor: the reference, and the faster method for small
//! problems.

use nalgebra::DMatrix;
use parallel::prelude::*;

use crate::geometry::panels::Panels;
use crate::near::PairIntegrals;
use crate::near::over_images;
use crate::near::pairs::{LayerPairs, Scratch};
use crate::solve::cholesky::Factor;
use crate::{Error, Progress, Stage};

/// The matrix A_ij = 1/(A_i A_j) int_i int_j 1/|x - y|, summed over images of j, and its factor,
/// stored in one square array.
pub(crate) struct Dense {
    factor: Factor,
    diagonal: Vec<f64>,
}

impl Dense {
    /// Bytes of a matrix over `n` panels.
    pub(crate) fn bytes(n: usize) -> u64 {
        8 * (n as u64).pow(2)
    }

    /// Assembles and factorises. `None` if the matrix is not positive definite: panels overlap, or
    /// one has no area.
    pub(crate) fn new(
        panels: &Panels,
        integrals: &LayerPairs<'_>,
        progress: &dyn Progress,
    ) -> Result<Option<Self>, Error> {
        let n = panels.len();
        let mut matrix = DMatrix::zeros(n, n);
        let done = std::sync::atomic::AtomicU64::new(0);
        let column = |(j, column): (usize, &mut [f64])| {
            let mut scratch = Scratch::default();
            for (i, entry) in column.iter_mut().enumerate().skip(j) {
                let (first, second) = panels.ordered(i, j);
                let exact = |i, j| {
                    let (i, j) = panels.ordered(i, j);
                    integrals.exact(i, j, &mut scratch)
                };
                *entry = over_images(panels, first, second, exact)[0];
            }
            let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            progress.advance(Stage::NearField, done, n as u64)
        };
        if n > 0 && !matrix.as_mut_slice().par_chunks_mut(n).enumerate().all(column) {
            return Err(Error::Interrupted);
        }
        matrix.fill_upper_triangle_with_lower_triangle();
        Ok(Self::of(matrix))
    }

    /// Factorises a symmetric matrix; `None` if it is not positive definite.
    pub(crate) fn of(matrix: DMatrix<f64>) -> Option<Self> {
        let diagonal = matrix.diagonal().iter().copied().collect();
        Factor::new(matrix).map(|factor| Self { factor, diagonal })
    }

    /// A^-1 b for one right-hand side.
    pub(crate) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        self.factor.solve(&mut x);
        x
    }

    /// A x.
    pub(crate) fn multiply(&self, x: &[f64]) -> Vec<f64> {
        let n = x.len();
        let mut y: Vec<f64> = self.diagonal.iter().zip(x).map(|(d, x)| d * x).collect();
        for j in 0..n {
            let mut sum = 0.0;
            for i in 0..j {
                let entry = self.factor.above(i, j);
                y[i] += entry * x[j];
                sum += entry * x[i];
            }
            y[j] += sum;
        }
        y
    }
}
