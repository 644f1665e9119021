//! Interface between a solve and its device: processor cores or a GPU.

use std::cell::Cell;

use super::completion::Completion;
use super::gmres::{GmresInfo, GmresParams};
use super::observer::Observer;
use super::schedule::PlanSchedule;
use crate::Error;

/// Near field, products, preconditioner and Krylov vectors of one operator, on their device.
pub trait Backend: Send {
    /// Number of entries of the near field.
    fn entries(&self) -> usize;

    /// y = A x for `columns` vectors by the tight plan.
    fn multiply(
        &mut self,
        plans: &mut PlanSchedule,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
    ) -> Result<(), Error>;

    /// Values of the first column of the last product at some of the fast sum's points, and direct
    /// sums there. `None` before the first product, and if no row has such values.
    fn samples(
        &self,
        of: Sampled,
        chosen: &[usize],
        places: &[[f64; 3]],
    ) -> Result<Option<[Vec<f64>; 2]>, Error>;

    /// Solves `equations` for right-hand sides `b` by GMRES, starting from `x`.
    fn solve(
        &mut self,
        plans: &mut PlanSchedule,
        equations: Equations<'_>,
        b: &[f64],
        x: &mut [f64],
        params: &GmresParams,
        observer: &mut dyn Observer,
    ) -> Result<Vec<GmresInfo>, Error>;
}

/// Which of a fast sum's values are compared with direct sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampled {
    Potentials,
    /// Three for each point.
    Gradients,
}

/// Converts an operator's rows into equations, and measures their residuals.
#[derive(Clone, Copy)]
pub struct Equations<'a> {
    /// Weights of the inner product, shape (n) or (columns, n).
    pub(crate) weights: &'a [f64],
    /// Part (conductor or interface) of each row, number of parts, and the row's share of its
    /// part's area.
    pub(crate) parts: &'a [u32],
    pub(crate) count: usize,
    pub(crate) shares: &'a [f64],
    /// Factor of a normal derivative on panel i in its row, and the row's diagonal.
    pub(crate) row: &'a dyn Fn(usize) -> [f64; 2],
    /// Residual measure, if it is not the norm of the inner product.
    pub(crate) measure: Option<Measure<'a>>,
    /// Completes rows of charges; `None` if they are the equations.
    pub(crate) completion: Option<&'a dyn Completion>,
    /// The largest defect found by the completion so far, in exact products.
    pub(crate) defect: &'a Cell<f64>,
}

/// Measures the residual of a column by mean squares over each part.
#[derive(Clone, Copy)]
pub(crate) struct Measure<'a> {
    /// From the column, and mean squares of the residual and of the action that charges balance by
    /// their diagonals (empty if not needed).
    pub(crate) size: &'a SizeOfColumn<'a>,
    pub(crate) asks_for_balance: bool,
}

/// The size of a residual.
pub(crate) type SizeOfColumn<'a> = dyn Fn(usize, &[f64], &[f64]) -> f64 + 'a;

/// Mean squares of values over each of `count` parts; `shares` are those of the values in their
/// part's area.
pub(crate) fn mean_squares(
    parts: &[u32],
    count: usize,
    shares: &[f64],
    values: impl Iterator<Item = f64>,
) -> Vec<f64> {
    let mut squares = vec![0.0; count];
    for ((&part, share), value) in parts.iter().zip(shares).zip(values) {
        squares[part as usize] += share * value * value;
    }
    squares
}
