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
pub(crate) use block::FullRows;
use block::{Block, Builder, Value};
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

/// Floating-point format of stored entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Single,
    Double,
}

/// Entries on close pairs of panels, a sparse matrix with a symmetric pattern.
#[derive(Debug)]
pub(crate) struct Near {
    panels: usize,
    blocks: Blocks,
}

#[derive(Debug)]
enum Blocks {
    Single(Vec<Block<f32>>),
    Double(Vec<Block<f64>>),
}

/// `$body` with the blocks, whichever their format is.
macro_rules! with {
    ($blocks:expr, |$name:ident| $body:expr) => {
        match $blocks {
            Blocks::Single($name) => $body,
            Blocks::Double($name) => $body,
        }
    };
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
        let blocks = match precision {
            Precision::Single => {
                Blocks::Single(Self::assemble(panels, selection, integrals, check, progress)?)
            }
            Precision::Double => {
                Blocks::Double(Self::assemble(panels, selection, integrals, check, progress)?)
            }
        };
        Ok(Self { panels: panels.len(), blocks })
    }

    fn assemble<V: Value, I: PairIntegrals>(
        panels: &Panels,
        selection: &Selection,
        integrals: &I,
        check: impl Fn(usize) -> Result<(), Error> + Sync,
        progress: &dyn Progress,
    ) -> Result<Vec<Block<V>>, Error> {
        let n = panels.len();
        let centroids: Vec<_> = (0..n).map(|i| panels.centroid(i)).collect();
        let reach = selection.reach(panels);
        let search = Neighbours::new(&centroids, &reach);
        let (done, entries) = (AtomicU64::new(0), AtomicU64::new(0));
        let block = |first: usize| -> Result<Block<V>, Error> {
            let rows = first..n.min(first + BLOCK);
            let mut block = Builder::new(rows.clone(), n, I::SYMMETRIC);
            let mut scratch = I::Scratch::default();
            let mut candidates = Vec::new();
            for i in rows.clone() {
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
                block.end_row(integrals.exact(i, i, &mut scratch)[0]);
            }
            let block = block.finish();
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
        starts.into_par_iter().map(block).collect()
    }

    /// Rows, and columns.
    pub(crate) fn len(&self) -> usize {
        self.panels
    }

    /// Entries that are not zero, the diagonal among them.
    pub(crate) fn entries(&self) -> usize {
        with!(&self.blocks, |blocks| blocks.iter().map(Block::entries).sum())
    }

    /// Takes what the points give from exact entries: the rest corrects a sum over the points.
    pub(crate) fn subtract_points<I: PairIntegrals>(
        &mut self,
        panels: &Panels,
        integrals: &I,
        rule: &Rule,
    ) {
        let minus_points = |i: usize, j: usize| {
            let (first, second) = panels.ordered(i, j);
            let [forth, back] = integrals.by_points(rule, first, second);
            if first == i { [-forth, -back] } else { [-back, -forth] }
        };
        with!(&mut self.blocks, |blocks| {
            blocks.par_iter_mut().for_each(|block| block.update(minus_points));
        });
    }

    /// y += A x for `x` and `y` of shape (k, n).
    pub(crate) fn multiply_add(&self, x: &[f64], y: &mut [f64]) {
        for (x, y) in x.chunks_exact(self.panels).zip(y.chunks_exact_mut(self.panels)) {
            let rows = y.par_chunks_mut(BLOCK);
            with!(&self.blocks, |blocks| {
                blocks.par_iter().zip(rows).for_each(|(block, y)| block.multiply_add(x, y));
            });
        }
    }

    /// How many blocks of rows there are.
    pub(crate) fn blocks(&self) -> usize {
        self.panels.div_ceil(BLOCK)
    }

    /// The rows of one block in full.
    pub(crate) fn full_rows(&self, block: usize) -> FullRows {
        with!(&self.blocks, |blocks| blocks[block].full_rows())
    }

    pub(crate) fn diagonal(&self, i: usize) -> f64 {
        with!(&self.blocks, |blocks| blocks[i / BLOCK].diagonal(i))
    }

    /// Calls `f(j, A_ij)` for the stored j > i, in increasing order.
    pub(crate) fn later(&self, i: usize, f: impl FnMut(usize, f64)) {
        with!(&self.blocks, |blocks| blocks[i / BLOCK].later(i, f));
    }
}
