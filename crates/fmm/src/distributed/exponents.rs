//! Scales of strengths that all ranks agree on.

use comm::{Communicator, Operation};

use crate::model::Densities;
use crate::particles::scale::Scale;

/// Exponents of the largest strength of each density on all ranks, over `n` sources of this one.
/// Collective.
pub(super) fn exponents(
    group: &dyn Communicator,
    densities: &Densities<'_>,
    [k, n]: [usize; 2],
    side: f64,
) -> Result<Vec<Option<i32>>, comm::Error> {
    let exponent = |density| {
        let (charges, dipoles) = densities.of(density, n);
        Scale::exponent(charges, dipoles, side).map_or(f64::NEG_INFINITY, f64::from)
    };
    let mut exponents: Vec<f64> = (0..k).map(exponent).collect();
    group.all_reduce(&mut exponents, Operation::Max)?;
    Ok(exponents.iter().map(|&e| e.is_finite().then_some(e as i32)).collect())
}
