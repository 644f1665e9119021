//! The truncation number p' of every batch of translations, from measured errors (docs/math.md,
//! "Truncation").
//!
//! For charges of random sign the squared errors of all translations add up, each weighted by the
//! sources and targets that it serves. So the batches of one level and class (equal up to the
//! symmetries of the cube) are given the truncation numbers that cost least for a given sum:
//! minimise `sum count cost(p') + lambda sum weight error(p')^2`, with the multiplier lambda that
//! meets the tolerance. Errors are measured on the plan's own points: pairs of points placed in two
//! boxes of the class, the truncated expansion against 1/r, for every p' at once. High powers of
//! the radius decide, which few points near the corners of a box contribute, so those are sampled
//! more often and weighted less. Paper 001's eq. 24 equalises worst-case bounds instead, which is
//! far from optimal (docs/experiments.md has the comparison).

mod class;
pub(crate) mod expected;
mod measure;
mod norms;
mod optimise;
mod ranks;
mod sampling;
mod screened;
pub(crate) mod series;
pub(crate) mod treecode;

use std::collections::BTreeMap;

pub use class::Class;
pub(crate) use measure::PointSets;
pub(crate) use norms::ENCOUNTER;
use norms::Measures;
use optimise::error;
pub(crate) use optimise::{Goal, Method, Rule, Statistics, optimise};
pub(crate) use ranks::choose_on_ranks;
pub(crate) use treecode::choose_for_treecode;

use crate::lists::Lists;
use crate::model::{Backend, Options};
use crate::translate::{Kind, Vector};
use simd::Level;

/// Largest truncation number.
pub(crate) const P_MAX: usize = 60;

/// Margin between the tolerance and the error that is predicted. The prediction rests on a sample,
/// which misses rare pairs the more the higher the truncation numbers are, and one set of charges
/// may do worse than the mean. Seen: 2 at 1e-3, 5 at 1e-9. Derivatives depend even more on the
/// points nearest to the corners of their boxes.
fn margin(options: &Options) -> f64 {
    let derivatives = if options.gradient || options.dipoles { 2.0 } else { 1.0 };
    derivatives * (2.0 - 0.25 * options.tolerance.ln())
}

/// A child's expansion needs this fraction of its parent's truncation number, and [`CHILD_MORE`]:
/// it is seen from at least twice as far in units of its own side, `ln 0.7637 / ln 0.62 = 0.56` in
/// the worst case.
const CHILD_FRACTION: f64 = 0.7;

/// At two digits, where truncation numbers are 2 to 5, the fraction alone leaves errors of the size
/// of the tolerance.
const CHILD_MORE: usize = 1;

/// The truncation numbers of a plan's expansions.
#[derive(Clone, Debug, Default)]
pub struct TruncationNumbers {
    /// Of the multipole expansions of each level; 0 = none is needed.
    pub multipole: Vec<usize>,
    /// Of the local expansions of each level; 0 = none is needed.
    pub local: Vec<usize>,
    /// Mean p' over all translations.
    pub mean: f64,
}

impl TruncationNumbers {
    /// Those that M2L with given truncation numbers needs in a tree of so many levels;
    /// `translations`: levels of source and target, p', and pairs of boxes.
    pub(crate) fn new(
        levels: usize,
        translations: impl Iterator<Item = ([usize; 2], usize, f64)>,
    ) -> Self {
        let mut numbers = Self { multipole: vec![0; levels], local: vec![0; levels], mean: 0.0 };
        let mut all_pairs = 0.0;
        for ([source, target], p, pairs) in translations {
            numbers.multipole[source] = numbers.multipole[source].max(p);
            numbers.local[target] = numbers.local[target].max(p);
            numbers.mean += p as f64 * pairs;
            all_pairs += pairs;
        }
        numbers.mean /= f64::max(all_pairs, 1.0);
        inherit(&mut numbers.multipole);
        inherit(&mut numbers.local);
        numbers
    }

    /// Those of multipole expansions that are evaluated themselves; `evaluated`: levels and p'.
    fn of_multipoles(levels: usize, evaluated: impl Iterator<Item = (usize, usize)>) -> Self {
        let mut numbers = Self { multipole: vec![0; levels], local: vec![0; levels], mean: 0.0 };
        for (level, p) in evaluated {
            numbers.multipole[level] = numbers.multipole[level].max(p);
        }
        inherit(&mut numbers.multipole);
        numbers
    }

    /// The largest of all; 0 if nothing is translated.
    pub(crate) fn max(&self) -> usize {
        self.multipole.iter().chain(&self.local).copied().max().unwrap_or(0)
    }

    /// Terms that both expansions of a class's translations have.
    fn common(&self, class: &Class) -> usize {
        let [source, target] = class.levels();
        self.multipole[source].min(self.local[target])
    }
}

/// Raises the truncation numbers of levels to what those above need of them.
fn inherit(stored: &mut [usize]) {
    for level in 1..stored.len() {
        let above = stored[level - 1];
        if above > 0 {
            let inherited = (CHILD_FRACTION * above as f64).ceil() as usize + CHILD_MORE;
            stored[level] = stored[level].max(inherited.min(above));
        }
    }
}

/// Chooses p' of every batch of `lists`.
pub(crate) fn choose(
    points: &PointSets<'_>,
    lists: &mut Lists,
    options: &Options,
    simd: Level,
) -> TruncationNumbers {
    let candidates = measure::collect(points.tree, lists, None);
    let chosen = match Rule::given(options) {
        Some(rule) => candidates.keys().map(|class| (*class, rule.of(class))).collect(),
        None => {
            let measures = Measures::new(points, lists, &candidates, options);
            let (mut p_max, goal) = (largest(options), Goal::new(options, margin(options)));
            let count = candidates.len();
            loop {
                let classes =
                    measure::measure(points, &candidates, measures, count, p_max, goal, simd);
                let chosen = optimise(&classes, p_max, goal, options.truncation, method(options));
                match more_terms(options, &classes, &chosen, p_max) {
                    Some(more) => p_max = more,
                    None => break chosen,
                }
            }
        }
    };
    assign(points.tree.levels.len(), lists, &chosen)
}

/// How translations are computed.
fn method(options: &Options) -> Method {
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

/// The largest truncation number to try next, if the errors of `chosen` are too large: more points
/// than elsewhere lie at the corners of their boxes, as those of a lattice may.
pub(crate) fn more_terms(
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

/// The class of translations by `vector` to boxes of `level`.
fn class_of(level: u8, vector: &Vector) -> Class {
    let finer_target = match vector.kind {
        Kind::M2l { finer_target } => finer_target,
        Kind::M2m | Kind::L2l => 0,
    };
    Class::new(level, finer_target, vector.offset)
}

/// Writes the truncation numbers into the batches and derives those of the stored expansions.
fn assign(levels: usize, lists: &mut Lists, chosen: &BTreeMap<Class, usize>) -> TruncationNumbers {
    for block in &mut lists.target_blocks {
        for batch in &mut block.batches {
            let class = class_of(block.level, &lists.vectors[batch.vector as usize]);
            batch.order = chosen[&class] as u16;
        }
    }
    let translations = lists.target_blocks.iter().flat_map(|block| {
        block.batches.iter().map(|batch| {
            let levels = [batch.source_level, block.level].map(usize::from);
            (levels, usize::from(batch.order), batch.pairs.len() as f64)
        })
    });
    TruncationNumbers::new(levels, translations)
}
