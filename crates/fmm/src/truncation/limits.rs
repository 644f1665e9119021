//! What options ask of the choice: how translations are computed, the largest truncation number,
//! and when it is raised.

use std::collections::BTreeMap;

use super::class::Class;
use super::expected;
use super::optimise::{Goal, Method, Statistics, error, optimise};
use crate::expansions::truncation_numbers::P_MAX;
use crate::model::{Backend, Options};

/// Margin between the tolerance and the error that is predicted. The prediction rests on a sample,
/// which misses rare pairs the more the higher the truncation numbers are, and one set of charges
/// may do worse than the mean. Seen: 2 at 1e-3, 5 at 1e-9. Derivatives depend even more on the
/// points nearest to the corners of their boxes.
pub(super) fn margin(options: &Options) -> f64 {
    let derivatives = if options.gradient || options.dipoles { 2.0 } else { 1.0 };
    derivatives * (2.0 - 0.25 * options.tolerance.ln())
}

/// How translations are computed.
pub(super) fn method(options: &Options) -> Method {
    match options.backend {
        Backend::Hybrid => Method::Hybrid,
        Backend::Cuda => Method::Dense,
        Backend::Cpu | Backend::Auto => Method::Rotated,
    }
}

/// The largest truncation number that is considered.
pub(crate) fn largest(options: &Options) -> usize {
    options.truncation_number.unwrap_or_else(|| expected::largest(options)).min(P_MAX)
}

/// Share of the tolerance beyond which an error that is predicted asks for more terms.
const MISSED: f64 = 0.5;

/// The truncation numbers of least cost by the errors that `measure` finds up to a largest
/// truncation number, for errors that are `margin` times as small as the tolerance; measured up to
/// larger ones while errors are too large.
pub(crate) fn choose_by<E>(
    options: &Options,
    margin: f64,
    method: Method,
    mut measure: impl FnMut(usize, Goal) -> Result<BTreeMap<Class, Statistics>, E>,
) -> Result<BTreeMap<Class, usize>, E> {
    let (mut p_max, goal) = (largest(options), Goal::new(options, margin));
    loop {
        let classes = measure(p_max, goal)?;
        let chosen = optimise(&classes, p_max, goal, options.truncation, method);
        match more_terms(options, &classes, &chosen, p_max) {
            Some(more) => p_max = more,
            None => return Ok(chosen),
        }
    }
}

/// The largest truncation number to try next, if the errors of `chosen` are too large: more points
/// than elsewhere lie at the corners of their boxes, as those of a lattice may.
fn more_terms(
    options: &Options,
    classes: &BTreeMap<Class, Statistics>,
    chosen: &BTreeMap<Class, usize>,
    p_max: usize,
) -> Option<usize> {
    // Hybrid sums have room for as many terms as were expected.
    let free = options.truncation_number.is_none() && method(options) != Method::Hybrid;
    let missed = error(classes, |class| chosen[class]).sqrt() > MISSED * options.tolerance;
    (free && missed && p_max < P_MAX).then(|| (p_max + p_max / 2).min(P_MAX))
}
