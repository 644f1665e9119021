//! The work of a sum, by stage: points are distributed by it.
//!
//! It is counted from lists and truncation numbers as they are. Vectors that are not full cost as
//! much as full ones, and a translation costs what its truncation number makes it: where points lie
//! far apart half of the lanes are empty and truncation numbers are large, so that as many
//! translations take several times as long as elsewhere.

use parallel::prelude::*;

use super::code::code;
use super::essential::Essential;
use super::top::Top;
use super::tuning::Costs;
use crate::expansions::truncation_numbers::TruncationNumbers;
use crate::stages::parent_child::ParentChildBatch;
use crate::stages::{l2l, m2m};
use crate::tree::lists::{Lists, TargetBlock};

/// Work of the stages of a sum of one density, or of a part of it, in multiply-adds of a
/// translation. On GPUs near pairs and M2L alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageWork {
    /// Particles to multipoles.
    pub p2m: f64,
    /// Multipoles to the parent's.
    pub m2m: f64,
    /// Multipoles to locals.
    pub m2l: f64,
    /// Locals to the children's.
    pub l2l: f64,
    /// Locals to particles.
    pub l2p: f64,
    /// Near pairs.
    pub p2p: f64,
}

/// Numbers of [`StageWork`].
const STAGES: usize = 6;

impl StageWork {
    /// Of all stages, in the order in which they are listed above.
    pub fn stages(&self) -> [f64; STAGES] {
        [self.p2m, self.m2m, self.m2l, self.l2l, self.l2p, self.p2p]
    }

    /// Of all stages together.
    pub fn total(&self) -> f64 {
        self.stages().iter().sum()
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.p2m += more.p2m;
        self.m2m += more.m2m;
        self.m2l += more.m2l;
        self.l2l += more.l2l;
        self.l2p += more.l2p;
        self.p2p += more.p2p;
    }
}

/// What a rank does in a sum.
pub(super) struct Counted<'a> {
    pub essential: &'a Essential,
    pub lists: &'a Lists,
    pub numbers: &'a TruncationNumbers,
    /// Which boxes hold sources of this rank.
    pub own: &'a [bool],
    pub costs: &'a Costs,
}

impl Counted<'_> {
    /// The work for the points of each grain, and that for boxes above grains.
    pub(super) fn of_grains(&self, top: &Top) -> (Vec<StageWork>, StageWork) {
        let tree = &self.essential.tree;
        let grains = top.grains.len();
        let by_grain = |(cell, work): (usize, StageWork)| {
            let cell = &tree.cells[cell];
            (top.grain_of(code(cell.level, cell.place)).unwrap_or(grains), work)
        };
        let leaves = (0..self.lists.near.cells.len()).into_par_iter().map(|row| self.of_row(row));
        let sources = (0..tree.cells.len()).into_par_iter().filter_map(|cell| self.of_leaf(cell));
        let blocks =
            self.lists.target_blocks.par_iter().flat_map_iter(|block| self.of_block(block));
        let levels = (1..tree.levels.len()).into_par_iter();
        let between = levels.flat_map_iter(|level| self.above(level));
        // Added in their order: who has which grains does not depend on threads.
        let mut all: Vec<(usize, StageWork)> = leaves.map(by_grain).collect();
        all.par_extend(sources.map(by_grain));
        all.par_extend(blocks.map(by_grain));
        all.par_extend(between.map(by_grain));
        let mut work = vec![StageWork::default(); grains + 1];
        all.iter().for_each(|(grain, more)| work[*grain].add(more));
        let above = work.pop().unwrap_or_default();
        (work, above)
    }

    /// Near pairs and L2P of a target leaf.
    fn of_row(&self, row: usize) -> (usize, StageWork) {
        let tree = &self.essential.tree;
        let near = &self.lists.near;
        let leaf = near.cells[row] as usize;
        let (cell, near) = (&tree.cells[leaf], near.row(row));
        let sources: usize = near.iter().map(|&s| tree.cells[s as usize].sources.len()).sum();
        let p = self.numbers.local[usize::from(cell.level)];
        let p2p = self.costs.p2p(cell.targets.len(), sources, near.len());
        (
            leaf,
            StageWork { p2p, l2p: self.costs.l2p(cell.targets.len(), p), ..StageWork::default() },
        )
    }

    /// P2M of a leaf of own sources.
    fn of_leaf(&self, index: usize) -> Option<(usize, StageWork)> {
        let cell = &self.essential.tree.cells[index];
        let p = self.numbers.multipole[usize::from(cell.level)];
        let p2m = self.costs.p2m(cell.sources.len(), p);
        (cell.is_leaf() && self.own[index])
            .then_some((index, StageWork { p2m, ..StageWork::default() }))
    }

    /// M2L of a block, by target.
    fn of_block(&self, block: &TargetBlock) -> Vec<(usize, StageWork)> {
        let mut works = vec![0.0; block.cells.len()];
        for batch in &block.batches {
            let pairs = &block.pairs[batch.pairs.start as usize..batch.pairs.end as usize];
            let each = self.costs.m2l(pairs.len(), usize::from(batch.order)) / pairs.len() as f64;
            pairs.iter().for_each(|pair| works[pair[1] as usize] += each);
        }
        let work = |m2l| StageWork { m2l, ..StageWork::default() };
        block.cells.clone().zip(works.into_iter().map(work)).collect()
    }

    /// M2M from a level and L2L to it, by the box below.
    fn above(&self, level: usize) -> Vec<(usize, StageWork)> {
        let tree = &self.essential.tree;
        let between = |stored: &[usize], pairs: usize| {
            self.costs.between(pairs, [stored[level - 1], stored[level]]) / pairs as f64
        };
        let mut works = Vec::new();
        let each = |batches: Vec<ParentChildBatch>,
                    of: &mut dyn FnMut(&ParentChildBatch, &[[u32; 2]])| {
            for batch in &batches {
                batch
                    .octants
                    .iter()
                    .filter(|pairs| !pairs.is_empty())
                    .for_each(|pairs| of(batch, pairs));
            }
        };
        each(m2m::parents(tree, level - 1, |cell| self.own[cell]), &mut |_, pairs| {
            let m2m = between(&self.numbers.multipole, pairs.len());
            let below = tree.levels[level].start;
            let work = StageWork { m2m, ..StageWork::default() };
            works.extend(pairs.iter().map(|&[child, _]| (below + child as usize, work)));
        });
        each(l2l::children(tree, level), &mut |batch, pairs| {
            let l2l = between(&self.numbers.local, pairs.len());
            let work = StageWork { l2l, ..StageWork::default() };
            works
                .extend(pairs.iter().map(|&[_, child]| (batch.cells.start + child as usize, work)));
        });
        works
    }
}
