//! The solution of the equations, and the accuracy of their entries.

use super::system::System;
use crate::near::accuracy::Accuracy;
use crate::operator::fast_sum::SampledError;
use crate::solve::gmres::GmresInfo;
use crate::{SolveOptions, near};

/// Numbers of one solve.
pub(super) struct Found {
    pub(super) charges: Vec<f64>,
    pub(super) normal_derivatives: Vec<f64>,
    pub(super) solved: Vec<GmresInfo>,
    pub(super) defect: f64,
    /// Sizes of the right-hand sides, where the solve was relative to these.
    pub(super) sizes: Vec<f64>,
    /// Error of the fast sum, potentials relative to the size of the right-hand side, and the
    /// seconds that took.
    pub(super) error: Option<SampledError>,
    pub(super) checking: f64,
}

/// Accuracy of entries, given the smallest gap between sheets.
pub(super) fn accuracy(system: &System, options: &SolveOptions) -> Accuracy {
    let accuracy = Accuracy::new(options.tolerance, options.quadrature_increment);
    let gap = near::smallest_relative_gap(&system.panels, accuracy.rule);
    let height = near::smallest_relative_height(&system.panels, accuracy.rule);
    accuracy.for_gap(gap.min(height))
}
