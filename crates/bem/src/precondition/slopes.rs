//! Slopes of linear densities next to what a preconditioner makes of means: each panel's own,
//! alone.
//!
//! The potential of a slope on a panel fades as that of a dipole, so that slopes of different
//! panels hardly see each other, and means hardly see slopes: the sum of the two inverses has
//! bounded condition numbers, whatever the sizes of the panels.

use super::interfaces::Preconditioner;
use crate::Error;
use crate::solve::gmres::LinearOperator;

/// What makes charges of residuals, for all modes of densities.
pub(crate) struct WithSlopes {
    means: Box<Preconditioner>,
    /// Those of each panel; empty for constant densities.
    slopes: Vec<OfPanel>,
}

#[derive(Clone, Copy)]
enum OfPanel {
    /// The symmetric inverse of the entries of a conductor's panel.
    Conductor([f64; 3]),
    /// The diagonal of an interface's row.
    Interface(f64),
}

impl WithSlopes {
    /// For constant densities.
    pub(crate) fn without(means: Box<Preconditioner>) -> Self {
        Self { means, slopes: Vec::new() }
    }

    /// For linear densities, from entries (1, 1), (1, 2) and (2, 2) between the slopes of each
    /// panel itself.
    pub(crate) fn with_slopes(
        self,
        own: &[[f64; 3]],
        is_conductor: impl Fn(usize) -> bool,
    ) -> Self {
        let of_panel = |(i, &[a, b, c]): (usize, &[f64; 3])| {
            let determinant = a * c - b * b;
            if is_conductor(i) {
                OfPanel::Conductor([c, -b, a].map(|entry| entry / determinant))
            } else {
                OfPanel::Interface(1.0)
            }
        };
        Self { slopes: own.iter().enumerate().map(of_panel).collect(), ..self }
    }

    /// As [`Preconditioner::set_rows`].
    pub(crate) fn set_rows(&mut self, row: &dyn Fn(usize) -> [f64; 2]) {
        self.means.set_rows(row);
        for (i, slopes) in self.slopes.iter_mut().enumerate() {
            if let OfPanel::Interface(diagonal) = slopes {
                [_, *diagonal] = row(i);
            }
        }
    }
}

impl LinearOperator for WithSlopes {
    fn len(&self) -> usize {
        self.means.len() + 2 * self.slopes.len()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        let n = self.slopes.len();
        if n == 0 {
            return self.means.apply(x, y, columns);
        }
        for (x, y) in x.chunks_exact(3 * n).zip(y.chunks_exact_mut(3 * n)) {
            self.means.apply(&x[..n], &mut y[..n], 1)?;
            for (i, slopes) in self.slopes.iter().enumerate() {
                let [first, second] = [x[n + i], x[2 * n + i]];
                [y[n + i], y[2 * n + i]] = match slopes {
                    OfPanel::Conductor([a, b, c]) => {
                        [a * first + b * second, b * first + c * second]
                    }
                    OfPanel::Interface(diagonal) => [first / diagonal, second / diagonal],
                };
            }
        }
        Ok(())
    }
}
