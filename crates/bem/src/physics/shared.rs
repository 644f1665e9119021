//! Excitations distributed over several ranks.

use std::ops::Range;

use comm::Communicator;
use serde::{Deserialize, Serialize};

use super::{Electrostatics, Response};
use crate::collective::{agreed, decoded, encoded, lost};
use crate::{Error, Timings};

/// Range of the `excitations` that this rank solves for: consecutive, as even as possible.
pub fn local_excitations(group: &dyn Communicator, excitations: usize) -> Range<usize> {
    let (rank, ranks) = (group.rank(), group.size());
    let (each, more) = (excitations / ranks, excitations % ranks);
    let begin = rank * each + rank.min(more);
    begin..begin + each + usize::from(rank < more)
}

/// Gathers the answers of all ranks: rank 0, which must have some, gets all of them, the others
/// `None`. Ranks with an empty range have no answer. Collective.
///
/// Rank 0 gets the largest of all errors and times.
///
/// # Errors
/// The rank's own error; on other ranks [`fmm::Error::Ranks`] with its message.
pub fn gather_responses<E: From<Error> + ToString>(
    group: &dyn Communicator,
    own: Result<Option<Electrostatics>, E>,
) -> Result<Option<Electrostatics>, E> {
    let mut own = agreed(group, own)?;
    let mut messages = vec![Vec::new(); group.size()];
    if group.rank() > 0
        && let (Some(own), Some(first)) = (own.take(), messages.first_mut())
    {
        *first = encoded(&Answers::of(own));
    }
    let all = comm::exchange(group, &messages).map_err(lost)?;
    let Some(mut whole) = own else { return Ok(None) };
    for (rank, message) in all.iter().enumerate().filter(|(_, message)| !message.is_empty()) {
        add(&mut whole, decoded(rank, message)?);
    }
    Ok(Some(whole))
}

/// What a rank sends of its answers.
#[derive(Serialize, Deserialize)]
struct Answers {
    responses: Vec<Response>,
    gauss_defect: f64,
    fmm_tolerance: Option<f64>,
    fmm_error_sampled: Option<f64>,
    fmm_error_potential: Option<f64>,
    timings: Timings,
}

impl Answers {
    fn of(own: Electrostatics) -> Self {
        Self {
            responses: own.responses,
            gauss_defect: own.gauss_defect,
            fmm_tolerance: own.fmm_tolerance,
            fmm_error_sampled: own.fmm_error_sampled,
            fmm_error_potential: own.fmm_error_potential,
            timings: own.timings,
        }
    }
}

/// Adds another rank's answers.
fn add(whole: &mut Electrostatics, other: Answers) {
    let worse = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
    let either = |a: Option<f64>, b: Option<f64>, choose: fn(f64, f64) -> f64| match (a, b) {
        (Some(a), Some(b)) => Some(choose(a, b)),
        (a, b) => a.or(b),
    };
    whole.responses.extend(other.responses);
    whole.gauss_defect = worse(whole.gauss_defect, other.gauss_defect);
    whole.fmm_tolerance = either(whole.fmm_tolerance, other.fmm_tolerance, f64::min);
    whole.fmm_error_sampled = either(whole.fmm_error_sampled, other.fmm_error_sampled, f64::max);
    whole.fmm_error_potential =
        either(whole.fmm_error_potential, other.fmm_error_potential, f64::max);
    let (own, other) = (whole.timings, other.timings);
    whole.timings = Timings {
        plan: own.plan.max(other.plan),
        near_field: own.near_field.max(other.near_field),
        solve: own.solve.max(other.solve),
        fmm_check: own.fmm_check.max(other.fmm_check),
        matvec_mean: own.matvec_mean.max(other.matvec_mean),
    };
}
