//! The near field: pairs of panels that an operator's quadrature points do not do justice to, and their exact integrals.
//!
//! An operator with entries A_ij over panels is summed over points, which replaces each entry by its value under a rule.
//! Where the two differ too much, [`Near`] holds the exact entry, and later the difference ([`Near::subtract_points`]). What
//! the entries are is the operator's business: it implements [`PairIntegrals`].

mod block;
mod select;

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::panels::{Neighbours, Panels};
use crate::product::Rule;
use crate::{Error, Progress, Stage};
use block::Block;
pub(crate) use block::{FullRows, Precision};
pub(crate) use select::{Selection, closest};

/// Entries of an operator between two panels: what its near field is made of.
pub(crate) trait PairIntegrals: Sync {
    /// Whether (i, j) and (j, i) are the same.
    const SYMMETRIC: bool;
    /// Room that many pairs share.
    type Scratch: Default;
    /// Entries (i, j) and (j, i), integrated; j may be i.
    fn exact(&self, i: usize, j: usize, scratch: &mut Self::Scratch) -> [f64; 2];
    /// The same entries summed over the points of `rule` on both panels; coincident points contribute nothing.
    fn by_points(&self, rule: &Rule, i: usize, j: usize) -> [f64; 2];
}

/// Panels of a block. A pair within a block is stored once, one across blocks in both: the more panels, the fewer of those;
/// the fewer, the better blocks spread over threads.
const BLOCK: usize = 1024;

/// Entries on close pairs of panels, a sparse matrix with a symmetric pattern.
#[derive(Debug)]
pub(crate) struct Near {
    panels: usize,
    blocks: Vec<Block>,
}

impl Near {
    /// Exact entries on the pairs of `selection`. `check(entries)` may refuse that many.
    ///
    /// # Errors
    /// [`Error::Interrupted`], and what `check` says.
    pub(crate) fn new<I: PairIntegrals>(
        panels: &Panels,
        selection: &Selection,
        integrals: &I,
        precision: Precision,
        check: impl Fn(usize) -> Result<(), Error> + Sync,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let n = panels.len();
        let centroids: Vec<_> = (0..n).map(|i| panels.centroid(i)).collect();
        let reach = selection.reach(panels);
        let search = Neighbours::new(&centroids, &reach);
        let (done, entries) = (AtomicU64::new(0), AtomicU64::new(0));
        let block = |first: usize| -> Result<Block, Error> {
            let rows = first..n.min(first + BLOCK);
            let mut block = Block::new(rows.clone(), precision, I::SYMMETRIC);
            let mut scratch = I::Scratch::default();
            let mut candidates = Vec::new();
            for i in rows.clone() {
                block.set_diagonal(i, integrals.exact(i, i, &mut scratch)[0]);
                candidates.clear();
                search.of(i, &mut candidates);
                for &j in &candidates {
                    let j = j as usize;
                    // What belongs to an earlier row of this block, or to none.
                    if j == i || (j < i && rows.contains(&j)) {
                        continue;
                    }
                    // Always in the same order, so that both blocks of a pair agree on it.
                    let (first, second) = panels.ordered(i, j);
                    if !selection.keeps(panels, integrals, first, second) {
                        continue;
                    }
                    let [forth, back] = integrals.exact(first, second, &mut scratch);
                    let pair = if first == i { [forth, back] } else { [back, forth] };
                    block.push(j, pair);
                }
                block.end_row();
            }
            block.shrink();
            let added = block.entries() as u64;
            check((entries.fetch_add(added, Ordering::Relaxed) + added) as usize)?;
            let rows = rows.len() as u64;
            let done = done.fetch_add(rows, Ordering::Relaxed) + rows;
            if progress.advance(Stage::NearField, done, n as u64) {
                Ok(block)
            } else {
                Err(Error::Interrupted)
            }
        };
        let starts: Vec<usize> = (0..n).step_by(BLOCK).collect();
        let blocks: Result<Vec<Block>, Error> = starts.into_par_iter().map(block).collect();
        Ok(Self { panels: n, blocks: blocks? })
    }

    /// Rows, and columns.
    pub(crate) fn len(&self) -> usize {
        self.panels
    }

    /// Entries that are not zero, the diagonal among them.
    pub(crate) fn entries(&self) -> usize {
        self.blocks.iter().map(Block::entries).sum()
    }

    /// Takes what the points give from exact entries: the rest corrects a sum over the points.
    pub(crate) fn subtract_points<I: PairIntegrals>(
        &mut self,
        panels: &Panels,
        integrals: &I,
        rule: &Rule,
    ) {
        self.blocks.par_iter_mut().for_each(|block| {
            block.update(|i, j| {
                let (first, second) = panels.ordered(i, j);
                let [forth, back] = integrals.by_points(rule, first, second);
                let by_points = if first == i { [forth, back] } else { [back, forth] };
                by_points.map(|value| -value)
            });
        });
    }

    /// y += A x for `x` and `y` of shape (k, n).
    pub(crate) fn multiply_add(&self, x: &[f64], y: &mut [f64]) {
        for (x, y) in x.chunks_exact(self.panels).zip(y.chunks_exact_mut(self.panels)) {
            let rows = y.par_chunks_mut(BLOCK);
            self.blocks.par_iter().zip(rows).for_each(|(block, y)| block.multiply_add(x, y));
        }
    }

    /// How many blocks of rows there are.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The rows of one block in full.
    pub(crate) fn full_rows(&self, block: usize) -> FullRows {
        self.blocks[block].full_rows()
    }

    pub(crate) fn diagonal(&self, i: usize) -> f64 {
        self.blocks[i / BLOCK].diagonal(i)
    }

    /// Calls `f(j, A_ij)` for the stored j > i, in increasing order.
    pub(crate) fn later(&self, i: usize, f: impl FnMut(usize, f64)) {
        self.blocks[i / BLOCK].later(i, f);
    }
}
