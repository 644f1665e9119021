//! The translations of each class, and the points that they serve.

use std::collections::BTreeMap;

use parallel::prelude::*;

use super::class::{Class, class_of};
use crate::expansions::screened::Screening;
use crate::tree::lists::{Lists, TargetBlock};
use crate::tree::{MortonOrder, Root, Tree};

/// Pairs per batch that represent the weight of the whole batch.
const WEIGHED: usize = 64;

/// Parts of the blocks of targets that are looked through in parallel.
const PARTS: usize = 64;

/// The points that are sampled, in their boxes.
#[derive(Clone, Copy)]
pub(crate) struct PointSets<'a> {
    pub root: &'a Root,
    pub screening: Screening,
    pub tree: &'a Tree,
    pub sources: (&'a MortonOrder, &'a [[f64; 3]]),
    pub targets: (&'a MortonOrder, &'a [[f64; 3]]),
}

/// Properties of a class before its errors are measured.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    /// Translations.
    pub(super) count: f64,
    /// Their number on all ranks.
    pub(super) of_all: f64,
    /// `sum N_source N_target` over them.
    pub(super) weight: f64,
    /// Pairs of boxes, each with the weight that it stands for.
    pub(super) pairs: Vec<([u32; 2], f64)>,
}

/// Counts, weights and candidate pairs of boxes of every class. `source_counts`: the sources of
/// each box, if not all are here.
pub(super) fn collect(
    tree: &Tree,
    lists: &Lists,
    source_counts: Option<&[f64]>,
) -> BTreeMap<Class, Candidates> {
    let sources_of = |index: usize| match source_counts {
        Some(counts) => counts[index],
        None => tree.cells[index].sources.len() as f64,
    };
    let add = |classes: &mut BTreeMap<Class, Candidates>, block: &TargetBlock| {
        for batch in &block.batches {
            let class = class_of(block.level, &lists.vectors[batch.vector as usize]);
            let candidates = classes.entry(class).or_default();
            let base = tree.levels[batch.source_level as usize].start as u32;
            let pairs = &block.pairs[batch.pairs.start as usize..batch.pairs.end as usize];
            let weight_of = |&[s, t]: &[u32; 2]| {
                sources_of((base + s) as usize)
                    * tree.cells[block.cells.start + t as usize].targets.len() as f64
            };
            let step = pairs.len().div_ceil(WEIGHED);
            let weighed = pairs.len().div_ceil(step) as f64;
            let weights: Vec<f64> = pairs.iter().step_by(step).map(weight_of).collect();
            let sum: f64 = weights.iter().sum();
            let weight = sum / weighed * pairs.len() as f64;
            candidates.count += pairs.len() as f64;
            candidates.weight += weight;
            // A few pairs in proportion to their weight.
            let few = pairs.len().min(4);
            let (mut cumulative, mut taken) = (0.0, 0);
            for (pair, of_pair) in pairs.iter().step_by(step).zip(weights) {
                cumulative += of_pair / sum * few as f64;
                while taken < few && cumulative > taken as f64 + 0.5 {
                    let pair = [base + pair[0], block.cells.start as u32 + pair[1]];
                    candidates.pairs.push((pair, weight / few as f64));
                    taken += 1;
                }
            }
        }
    };
    // As many parts whatever the threads, so that sums are the same.
    let part = lists.target_blocks.len().div_ceil(PARTS).max(1);
    let of_part = |blocks: &[TargetBlock]| {
        let mut classes = BTreeMap::new();
        blocks.iter().for_each(|block| add(&mut classes, block));
        classes
    };
    let maps: Vec<_> = lists.target_blocks.par_chunks(part).map(of_part).collect();
    let mut classes = BTreeMap::<Class, Candidates>::new();
    for (class, found) in maps.into_iter().flatten() {
        let candidates = classes.entry(class).or_default();
        candidates.count += found.count;
        candidates.weight += found.weight;
        candidates.pairs.extend(found.pairs);
    }
    for candidates in classes.values_mut() {
        candidates.of_all = candidates.count;
    }
    classes
}
