//! Truncation numbers to expect at a tolerance, for what is decided before errors are measured.

use crate::expansions::truncation_numbers::P_MAX;
use crate::model::Options;

/// One that hardly any class exceeds: the closest pairs converge like 0.55^p on average, the
/// corners of boxes like 0.6^p.
pub(crate) fn largest(options: &Options) -> usize {
    let derivatives = usize::from(options.gradient) + usize::from(options.dipoles);
    let p = (options.tolerance.ln() / 0.6f64.ln()).ceil() as usize + 6 + 3 * derivatives;
    p.min(P_MAX)
}

/// About what boxes store.
pub(crate) fn stored(tolerance: f64) -> f64 {
    -0.8 * tolerance.ln()
}

/// The mean over translations.
pub(crate) fn mean(tolerance: f64) -> f64 {
    -0.62 * tolerance.ln()
}

/// The p whose fourth power is the mean of fourth powers over translations on a GPU.
pub(crate) fn dense(options: &Options) -> f64 {
    let digits = -options.tolerance.ln();
    // Derivatives lose about two degrees.
    let derivatives = if options.gradient { 2.0 } else { 0.0 };
    f64::max(0.7 * digits, 1.2 * digits - 4.2).max(3.0) + derivatives
}
