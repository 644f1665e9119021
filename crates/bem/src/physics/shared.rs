//! Excitations distributed over several ranks.

use std::ops::Range;

use comm::Communicator;

use super::{Electrostatics, Response};
use crate::Error;
use crate::collective::{agreed, lost};
use crate::solve::gmres::StopReason;

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
    let own = agreed(group, own)?;
    let mut messages = vec![Vec::new(); group.size()];
    if let (Some(own), Some(first)) = (&own, messages.first_mut())
        && group.rank() > 0
    {
        *first = sent(own);
    }
    let all = comm::exchange(group, &messages).map_err(lost)?;
    let (0, Some(mut whole)) = (group.rank(), own) else { return Ok(None) };
    for (rank, words) in all.iter().enumerate().filter(|(_, words)| !words.is_empty()) {
        let mut words = Words(words);
        take(&mut whole, &mut words).filter(|()| words.0.is_empty()).ok_or_else(|| {
            let cause = "its answers cannot be read".to_owned();
            lost(comm::Error::Elsewhere { rank, cause })
        })?;
    }
    Ok(Some(whole))
}

/// Reasons why a solve stopped, by their index in this list.
pub const REASONS: [StopReason; 5] = [
    StopReason::Converged,
    StopReason::MaxIterations,
    StopReason::Stagnation,
    StopReason::Breakdown,
    StopReason::Nan,
];

/// An answer as integers, bit by bit; each array is preceded by its length.
fn sent(answer: &Electrostatics) -> Vec<u64> {
    let mut words = Vec::new();
    let timings = &answer.timings;
    let numbers = [
        answer.gauss_defect,
        answer.fmm_tolerance.unwrap_or(f64::NAN),
        answer.fmm_error_sampled.unwrap_or(f64::NAN),
        answer.fmm_error_potential.unwrap_or(f64::NAN),
        timings.plan,
        timings.near_field,
        timings.solve,
        timings.fmm_check,
        timings.matvec_mean,
    ];
    words.extend(numbers.map(f64::to_bits));
    let array = |words: &mut Vec<u64>, values: &[f64]| {
        words.push(values.len() as u64);
        words.extend(values.iter().map(|value| value.to_bits()));
    };
    words.push(answer.responses.len() as u64);
    for response in &answer.responses {
        array(&mut words, &response.potentials);
        array(&mut words, &response.charge);
        array(&mut words, response.at_corners.as_flattened());
        array(&mut words, &response.free_charge);
        array(&mut words, &response.conductor_charge);
        array(&mut words, &response.history);
        let reason = REASONS.iter().position(|reason| *reason == response.reason);
        let rest = [response.iterations as u64, response.relative_residual.to_bits()];
        words.extend([reason.unwrap_or(0) as u64, rest[0], rest[1]]);
    }
    words
}

/// Words not yet read.
struct Words<'a>(&'a [u64]);

impl Words<'_> {
    fn word(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<f64> {
        self.word().map(f64::from_bits)
    }

    fn array(&mut self) -> Option<Vec<f64>> {
        let length = self.word()? as usize;
        let (values, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(values.iter().map(|bits| f64::from_bits(*bits)).collect())
    }

    fn response(&mut self) -> Option<Response> {
        let potentials = self.array()?;
        let charge = self.array()?;
        let at_corners = self.array()?.as_chunks().0.to_vec();
        let [free_charge, conductor_charge, history] =
            [self.array()?, self.array()?, self.array()?];
        Some(Response {
            potentials,
            charge,
            at_corners,
            free_charge,
            conductor_charge,
            history,
            reason: *REASONS.get(self.word()? as usize)?,
            iterations: self.word()? as usize,
            relative_residual: self.number()?,
        })
    }
}

/// Adds another rank's answers.
fn take(whole: &mut Electrostatics, words: &mut Words<'_>) -> Option<()> {
    let worse = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
    let known = |value: f64| Some(value).filter(|value| !value.is_nan());
    let either = |a: Option<f64>, b: Option<f64>, of: fn(f64, f64) -> f64| match (a, b) {
        (Some(a), Some(b)) => Some(of(a, b)),
        (a, b) => a.or(b),
    };
    whole.gauss_defect = worse(whole.gauss_defect, words.number()?);
    whole.fmm_tolerance = either(whole.fmm_tolerance, known(words.number()?), f64::min);
    whole.fmm_error_sampled = either(whole.fmm_error_sampled, known(words.number()?), f64::max);
    whole.fmm_error_potential = either(whole.fmm_error_potential, known(words.number()?), f64::max);
    let timings = &mut whole.timings;
    for time in [
        &mut timings.plan,
        &mut timings.near_field,
        &mut timings.solve,
        &mut timings.fmm_check,
        &mut timings.matvec_mean,
    ] {
        *time = time.max(words.number()?);
    }
    for _ in 0..words.word()? {
        whole.responses.push(words.response()?);
    }
    Some(())
}
