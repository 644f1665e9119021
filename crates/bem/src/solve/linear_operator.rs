//! Matrices known by their products.

use crate::Error;

/// A matrix known by its products; GMRES takes square ones.
pub trait LinearOperator {
    /// Rows.
    fn len(&self) -> usize;

    /// Columns: the length of what it is applied to.
    fn inputs(&self) -> usize {
        self.len()
    }

    /// Whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// y = A x for `columns` vectors; `x` has shape (columns, inputs) and `y` (columns, len). What
    /// was in `y` is overwritten.
    ///
    /// # Errors
    /// Whatever keeps the product from being made; GMRES passes it on.
    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error>;

    /// As [`apply`](Self::apply) for a step of GMRES, which tolerates a larger error as the
    /// residual falls; residuals are taken with `apply`. Operators of one accuracy leave this as it
    /// is.
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

/// How inexact a product may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InexactBudget {
    /// Its error may be this many times what the first product of a solve may have: |b| over the
    /// residual's norm, at least 1.
    pub factor: f64,
    /// About as many products are still to come, this one included.
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
