//! Chooses p' of every batch of translations.

use std::collections::BTreeMap;
use std::convert::Infallible;

use super::candidates::{self, PointSets};
use super::class::{Class, class_of};
use super::limits::{choose_by, margin, method};
use super::measure;
use super::norms::Measures;
use super::optimise::Rule;
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
            let count = candidates.len();
            let of_all = |p_max, goal| {
                let found =
                    measure::measure(points, &candidates, measures, count, p_max, goal, simd);
                Ok::<_, Infallible>(found)
            };
            let Ok(chosen) = choose_by(options, margin(options), method(options), of_all);
            chosen
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
