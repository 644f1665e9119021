//! Chooses p' of every batch of translations.

use std::collections::BTreeMap;

use super::candidates::{self, PointSets};
use super::class::{Class, class_of};
use super::limits::{largest, margin, method, more_terms};
use super::measure;
use super::norms::Measures;
use super::optimise::{Goal, Rule, optimise};
use crate::expansions::truncation_numbers::TruncationNumbers;
use crate::model::Options;
use crate::tree::lists::Lists;
use simd::Level;

/// Chooses p' of every batch of `lists`.
pub(crate) fn choose(
    points: &PointSets<'_>,
    lists: &mut Lists,
    options: &Options,
    simd: Level,
) -> TruncationNumbers {
    let candidates = candidates::collect(points.tree, lists, None);
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

/// Writes the truncation numbers into the batches and derives those of the stored expansions.
pub(super) fn assign(
    levels: usize,
    lists: &mut Lists,
    chosen: &BTreeMap<Class, usize>,
) -> TruncationNumbers {
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
