//! What the sensitivities and the films of a description ask for, and whether it can be right.

use crate::analysis::{checks, films, sensitivity};
use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::result::solution::Solution;

impl Solution {
    /// Finds the derivatives and the shares of films that the description of its problem wants.
    pub(crate) fn find_derivatives(
        &mut self,
        problem: &Problem,
        progress: &dyn bem::Progress,
    ) -> Result<(), Error> {
        let (matrix, bars) = (self.matrices().maxwell_farad, self.matrix_bars());
        let matrix = (&matrix, bars.as_ref().map(|bars| &bars.maxwell_farad));
        self.derivatives = sensitivity::find(problem, &self.units, matrix, progress)?;
        self.warnings.extend(checks::participations(problem, &self.derivatives));
        let relative = matrix.1.map(|bars| {
            let own = bars.iter().zip(matrix.0).enumerate();
            // There are no films where some of the conductors alone are excited.
            let relative = |(k, (bars, row)): (usize, (&Vec<f64>, &Vec<f64>))| {
                Some((bars.get(k)? / row.get(k)?).abs())
            };
            own.filter_map(relative).collect::<Vec<f64>>()
        });
        let capacitances = relative.as_deref();
        let missing = films::Missing { capacitances, charges: &self.missing };
        self.films = films::find(problem, &self.units, &missing)?;
        self.warnings.extend(checks::films(&self.films));
        Ok(())
    }
}
