//! All modes of linear densities on conductors by local inverses below the coarse level of means;
//! interfaces by their diagonal.
//!
//! The potential of a linear mode on a panel decays like that of a dipole, so the coarse level
//! needs only means.

use super::interfaces::Preconditioner;
use super::mode_inverse::ModeInverse;
use crate::Error;
use crate::solve::linear_operator::LinearOperator;

/// Preconditioner for all modes of densities.
pub(crate) struct WithSlopes {
    means: Box<Preconditioner>,
    /// For linear densities.
    modes: Option<OfModes>,
}

struct OfModes {
    /// For the panels of conductors, if there are any.
    inverse: Option<ModeInverse>,
    /// The diagonal of each interface's row; 0 on conductors.
    diagonal: Vec<f64>,
}

impl WithSlopes {
    /// For constant densities.
    pub(crate) fn without(means: Box<Preconditioner>) -> Self {
        Self { means, modes: None }
    }

    /// For linear densities.
    pub(crate) fn with_slopes(self, is_interface: &[bool], inverse: Option<ModeInverse>) -> Self {
        let diagonal = is_interface.iter().map(|&is| if is { 1.0 } else { 0.0 }).collect();
        Self { modes: Some(OfModes { inverse, diagonal }), ..self }
    }

    /// As [`Preconditioner::set_rows`].
    pub(crate) fn set_rows(&mut self, row: &dyn Fn(usize) -> [f64; 2]) {
        self.means.set_rows(row);
        for (i, diagonal) in self.modes.iter_mut().flat_map(|modes| &mut modes.diagonal).enumerate()
        {
            if *diagonal != 0.0 {
                [_, *diagonal] = row(i);
            }
        }
    }
}

impl LinearOperator for WithSlopes {
    fn len(&self) -> usize {
        self.means.len() + self.modes.as_ref().map_or(0, |modes| 2 * modes.diagonal.len())
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        let Self { means, modes } = self;
        let Some(OfModes { inverse, diagonal }) = modes else {
            return means.apply(x, y, columns);
        };
        let n = diagonal.len();
        for column in 0..columns {
            let of_column = 3 * n * column..3 * n * (column + 1);
            let (x, y) = (&x[of_column.clone()], &mut y[of_column]);
            match inverse {
                Some(inverse) => means.apply_modes(inverse, x, y)?,
                None => means.apply(&x[..n], &mut y[..n], 1)?,
            }
            for (i, diagonal) in diagonal.iter().enumerate().filter(|(_, d)| **d != 0.0) {
                y[n + i] = x[n + i] / diagonal;
                y[2 * n + i] = x[2 * n + i] / diagonal;
            }
        }
        Ok(())
    }
}
