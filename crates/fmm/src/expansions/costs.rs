//! What one translation costs.

/// Multiply-adds of a translation by rotations, gathering and scattering counted as such.
pub(crate) fn rotated_cost(p: f64) -> f64 {
    2.0 * p * p * p + 10.0 * p * p + 30.0
}

/// Multiply-adds of a translation by a dense product, in whole rows of eight, with the sum at its
/// target.
pub(crate) fn dense_cost(p: f64) -> f64 {
    let p2 = p * p;
    (p2 + 4.0) * (p2 + 30.0)
}
