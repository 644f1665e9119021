//! Matrices with names of rows and columns.

use crate::result::unit::Unit;

/// A matrix with the names of its rows and columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Labelled<'a> {
    /// Names of rows.
    pub rows: &'a [String],
    /// Names of columns.
    pub columns: &'a [String],
    /// In `unit`, shape (rows, columns).
    pub values: &'a [Vec<f64>],
    /// Error bars of the values, in their shape; NaN where none is known. `None` without any.
    pub bars: Option<&'a [Vec<f64>]>,
    /// Unit of values and bars.
    pub unit: Unit,
}

impl Labelled<'_> {
    /// The largest absolute value.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.values.iter().flatten().fold(0.0, |largest, value| value.abs().max(largest))
    }

    /// The bar of an entry, if it is known.
    #[must_use]
    pub fn bar(&self, row: usize, column: usize) -> Option<f64> {
        let bar = self.bars?.get(row)?.get(column).copied();
        bar.filter(|bar| bar.is_finite())
    }

    /// Its bars as a matrix of their own.
    #[must_use]
    pub fn of_bars(self) -> Option<Self> {
        self.bars.map(|values| Self { values, bars: None, ..self })
    }
}
