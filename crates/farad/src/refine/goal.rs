//! How exact a refinement is to be, and what solves need for that.

use bem::SolveOptions;

use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::refine::numbers;
use crate::refine::target::Target;
use crate::scene::ranges;

/// Least accuracy that double precision, and integrals made for it, support.
pub const FINEST: f64 = *ranges::ACCURACY.start();

/// Accuracies below this are reached sooner by linear densities, those above about as soon by
/// constant ones.
const LINEAR: f64 = 5e-3;

/// The solver's tolerance is this share of the accuracy, or of the bar expected next where that is
/// larger, but never looser than the last.
pub const TOLERANCE_PER_ACCURACY: f64 = 0.1;
const TOLERANCE_PER_BAR: f64 = 0.05;
pub(crate) const LOOSEST: f64 = 1e-4;

const BY_THE_CLOCK: &str = "a refinement that a time limit (max_time) may end has not the same results each time, as a deterministic one must; leave one of the two out";

/// How exact an answer has to be, and what it may take.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// Relative, [`FINEST`] or more.
    pub accuracy: f64,
    /// The numbers that must reach it.
    pub target: Target,
    /// Seconds that all solves may take.
    pub max_seconds: Option<f64>,
}

impl Goal {
    /// Refuses what no refinement of this problem, with these options, can reach; on surfaces that
    /// are made again, or by splitting triangles. A refinement does this before its first solve.
    ///
    /// # Errors
    /// [`Error::Accuracy`].
    pub fn check(
        &self,
        problem: &Problem,
        options: &SolveOptions,
        on_finer_surfaces: bool,
    ) -> Result<(), Error> {
        if self.accuracy.is_nan() || self.accuracy < FINEST {
            return Err(Error::Accuracy(format!(
                "an accuracy of {:e} is beyond what double precision supports; ask for {FINEST:e} or more",
                self.accuracy
            )));
        }
        if problem.description.has_salt() && !on_finer_surfaces {
            return Err(Error::Accuracy(
                "with ions (kappa, ionic_strength) an accuracy needs surfaces that are made of atoms ([[molecule]] with pqr, without a mesh): to split the triangles of a mesh does not make it rounder, which is most of the error"
                    .to_owned(),
            ));
        }
        if self.max_seconds.is_some() && options.deterministic {
            return Err(Error::Accuracy(BY_THE_CLOCK.to_owned()));
        }
        numbers::check(problem, &self.target)
    }
}

/// The solver's tolerance for an accuracy, where bars of this length are expected next.
#[must_use]
pub fn tolerance_for(accuracy: f64, expected: f64) -> f64 {
    (TOLERANCE_PER_BAR * expected).max(TOLERANCE_PER_ACCURACY * accuracy).min(LOOSEST)
}

/// The density by which an accuracy of these numbers is reached soonest: shares of films are of
/// the charges of single triangles, and forces, fields and polarisabilities are moments of charges,
/// which constant densities find with larger errors than their sums.
#[must_use]
pub fn density_for(accuracy: f64, target: &Target) -> bem::Density {
    let is_of_moments =
        matches!(target, Target::Force(_) | Target::Field(_) | Target::Polarisability);
    let is_linear = accuracy < LINEAR || is_of_moments || target.is_of_films();
    if is_linear { bem::Density::Linear } else { bem::Density::Constant }
}
