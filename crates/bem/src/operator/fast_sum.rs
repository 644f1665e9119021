//! The fast sum of an operator: its plan, its error, and when it is tightened.

use crate::constants::{COINCIDENT, COINCIDENT_POTENTIALS, ROUNDING, SHARE, TIGHTEST};
use crate::near::RowKind;
use crate::sampling::Layout;
use crate::sampling::points::QuadraturePoints;
use crate::solve::plan::Plan;
use crate::{Error, SolveOptions};

/// Above this multiple of the tolerance the FMM error invalidates the solution: sheets face each
/// other so closely that too few digits are left, however tight the sum.
const HOPELESS: f64 = 10.0;

/// Error of a fast sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledError {
    /// L2 norm of the error over that of the sum.
    pub relative: f64,
    /// Root mean square, as a potential.
    pub absolute: f64,
}

/// The fast sum over the points of an operator, for any tolerance.
#[derive(Clone)]
pub struct FastSum {
    pub(crate) layout: Layout,
    /// The smallest gap between panels, in units of panel size.
    pub(crate) gap: f64,
    /// The solver's tolerance.
    pub(crate) tolerance: f64,
    pub(crate) columns: usize,
    /// Inverse of the screening length, in scaled coordinates.
    pub(crate) kappa: f64,
    pub(crate) backend: fmm::Backend,
    pub(crate) gpu: usize,
    /// Ends sums early.
    pub(crate) stop: Option<fmm::Stop>,
}

impl FastSum {
    /// A plan for this tolerance.
    pub fn plan(&self, tolerance: f64) -> Result<Plan, Error> {
        let _span = tracing::debug_span!("plan", tolerance).entered();
        let Layout { partition, all, owned, .. } = &self.layout;
        let (panels, rules) = (&all.panels, all.rules);
        let options = fmm::Options::default()
            .tolerance(tolerance)
            .kernel(fmm::Kernel::Yukawa { kappa: self.kappa })
            .densities(self.columns.max(1) * panels.regions())
            .gradient(all.has(RowKind::Adjoint))
            .dipoles(all.has(RowKind::Double))
            .precision(self.precision(tolerance))
            .backend(self.backend)
            .gpu(self.gpu)
            .stop(self.stop.clone());
        let [sources, targets] = rules.map(|rule| QuadraturePoints::new(&owned.panels, rule));
        let (points, targets) = (sources.of_all_images(), targets.all());
        // The same on all ranks, including those without panels.
        let has_images = panels.total() > panels.len();
        let are_same = !has_images && rules[0].degree() == rules[1].degree();
        Ok(Plan::new(partition.group(), &points, (!are_same).then_some(&targets[..]), &options)?)
    }

    /// Precision of the sum: the correction subtracts what close points add, which needs digits.
    /// `None` leaves the choice to the sum.
    fn precision(&self, tolerance: f64) -> Option<fmm::Precision> {
        let all = &self.layout.all;
        let has_gradients = all.has(RowKind::Adjoint) || all.has(RowKind::Double);
        // Rounding errors may reach the solver's tolerance, or that of a looser sum.
        let allowed = self.tolerance.max(tolerance / SHARE);
        let least =
            if has_gradients { COINCIDENT } else { COINCIDENT_POTENTIALS.max(ROUNDING / allowed) };
        (self.gap < least).then_some(fmm::Precision::Double)
    }
}

/// The tolerance that a solve starts with.
pub fn tolerance(options: &SolveOptions) -> f64 {
    options.fmm_tolerance.unwrap_or(SHARE * options.tolerance).clamp(TIGHTEST, 0.1)
}

/// A tighter tolerance that removes an error of `off` times the allowed one; `None` if the error is
/// within that, or if no tighter tolerance is left.
pub(crate) fn tighter(tolerance: f64, off: f64) -> Option<f64> {
    let serves = off.is_nan() || off <= 1.0 || tolerance <= TIGHTEST;
    (!serves).then(|| (SHARE * tolerance / off).max(TIGHTEST))
}

/// The same from a measured error of potentials. Charges that face each other closely cancel, and
/// the sum's relative error is large compared with the remainder. A tolerance that the user asked
/// for is kept.
pub fn tighter_for(
    tolerance: f64,
    error: Option<SampledError>,
    options: &SolveOptions,
) -> Option<f64> {
    let off = error.map_or(0.0, |error| error.absolute) / options.tolerance;
    let found = if options.fmm_tolerance.is_none() { tighter(tolerance, off) } else { None };
    if let Some(fmm_tolerance) = found {
        let error = off * options.tolerance;
        tracing::info!(
            error,
            fmm_tolerance,
            "charges nearly cancel: solving on with a tighter sum"
        );
    }
    found
}

/// True if the FMM error invalidates the solution; a smaller excess is only logged.
pub fn is_hopeless(error: Option<SampledError>, tolerance: f64) -> bool {
    let absolute = error.map_or(0.0, |error| error.absolute);
    if absolute > tolerance {
        tracing::warn!(error = absolute, "the fast sum's error exceeds the solver's tolerance");
    }
    absolute > HOPELESS * tolerance || absolute.is_nan()
}
