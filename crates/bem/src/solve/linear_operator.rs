//! Matrices known by their products.

use crate::Error;

/// A matrix given by its products; GMRES takes square ones.
pub trait LinearOperator {
    /// Rows.
    fn len(&self) -> usize;

    /// Number of columns: the length of its input.
    fn inputs(&self) -> usize {
        self.len()
    }

    /// Whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// y = A x for `columns` vectors; `x` has shape (columns, inputs) and `y` (columns, len). `y`
    /// is overwritten.
    ///
    /// # Errors
    /// Any error that prevents the product; GMRES returns it.
    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error>;

    /// As [`apply`](Self::apply) for a step of GMRES, which tolerates a larger error as the
    /// residual falls; residuals use `apply`. Operators with only one accuracy keep the default.
    ///
    /// # Errors
    /// As for `apply`.
    fn apply_inexact(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        _slack: InexactBudget,
    ) -> Result<(), Error> {
        self.apply(x, y, columns)
    }
}

/// Error allowed in a product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InexactBudget {
    /// Factor by which the error may exceed that of the first product of a solve: |b| over the
    /// residual's norm, at least 1.
    pub factor: f64,
    /// Expected number of remaining products, including this one.
    pub products: usize,
}

/// No preconditioner.
#[derive(Clone, Copy, Debug)]
pub struct Identity(
    /// Rows.
    pub usize,
);

impl LinearOperator for Identity {
    fn len(&self) -> usize {
        self.0
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], _columns: usize) -> Result<(), Error> {
        y.copy_from_slice(x);
        Ok(())
    }
}
