//! The near field: panel pairs too close for an operator's quadrature points, with their exact
//! integrals.
//!
//! An operator with entries A_ij over panels is summed over points, which replaces each entry by
//! its quadrature sum. Where the two differ too much, [`Near`] holds the exact entry, and later the
//! difference ([`Near::subtract_points`]). The operator defines the entries: it implements
//! [`PairIntegrals`]. Where panels have mirror images, an entry is the sum over those of the second
//! panel.
//!
//! `select` decides which pairs are close enough, `accuracy` with which rules, `needs` what point
//! charges require. `single_layer`, `pairs`, `functions` and `curved` have the entries, `block`
//! stores them, `slopes` has those of the linear modes.

pub(crate) mod accuracy;
mod block;
mod curved;
mod entry;
pub(crate) mod functions;
pub(crate) mod needs;
pub(crate) mod pairs;
pub(crate) mod select;
pub(crate) mod single_layer;
pub(crate) mod slopes;

use std::sync::atomic::{AtomicU64, Ordering};

use parallel::prelude::*;

use crate::geometry::neighbours::Neighbours;
use crate::geometry::panels::Panels;
use crate::geometry::partition::Partition;
use crate::quadrature::rule::Rule;
use crate::{Error, Progress, Stage};
pub(crate) use block::FullRows;
use block::{Block, Builder, Value};
pub(crate) use entry::over_images;
pub use entry::{Entry, PairIntegrals, RowKind};
pub(crate) use needs::{Needs, Sources};
use select::Choice;
pub(crate) use select::{Selection, smallest_relative_gap, smallest_relative_height};

/// Entries per row of the near field on a mesh of regular triangles.
pub(crate) const REGULAR_ROW: usize = 45;

/// Pairs of panels in a rank's halo are needed, by the local inverses of nearby panels, if the
/// distance of their centroids is at most this multiple of the sum of their radii.
const OF_HALO: f64 = 2.0;

/// Whether a rank needs a pair of its local panels.
fn is_wanted(partition: &Partition, panels: &Panels, i: usize, j: usize) -> bool {
    let apart = || panels.nearest_distance(&panels.centroid(i), &panels.centroid(j));
    partition.is_owned(i)
        || partition.is_owned(j)
        || apart() <= OF_HALO * (panels.radius(i) + panels.radius(j))
}

/// Panels per block. A pair within a block is stored once, a pair across blocks twice: larger
/// blocks mean fewer of the latter, smaller blocks spread better over threads.
pub const BLOCK: usize = 1024;

/// Rows of one block per progress report: some rows take a second, with many images.
const REPORTED: usize = 32;

/// A pair of panels in different blocks, and both of its entries.
struct Across<V> {
    row: u32,
    column: u32,
    entries: [V; 2],
}

/// Blocks in which pairs across blocks are stored in both, in order of rows and columns.
fn joined<V: Value>(parts: Vec<(Builder<V>, Vec<Across<V>>)>, n: usize) -> Vec<Block<V>> {
    // Where the columns in earlier blocks of each row begin.
    let mut starts = vec![0usize; n + 1];
    let all = || parts.iter().flat_map(|(_, across)| across);
    all().for_each(|pair| starts[pair.column as usize + 1] += 1);
    (0..n).for_each(|i| starts[i + 1] += starts[i]);
    let mut earlier = vec![(0, V::default()); starts[n]];
    let mut next = starts.clone();
    for Across { row, column, entries: [_, back] } in all() {
        let at = &mut next[*column as usize];
        earlier[*at] = (*row, *back);
        *at += 1;
    }
    let block = |(index, (mut block, across)): (usize, (Builder<V>, Vec<Across<V>>))| {
        let mut later = across.into_iter().peekable();
        let rows = index * BLOCK..n.min((index + 1) * BLOCK);
        block.set_outside(rows.map(|i| {
            let mut row = earlier[starts[i]..starts[i + 1]].to_vec();
            while let Some(pair) = later.next_if(|pair| pair.row as usize == i) {
                row.push((pair.column, pair.entries[0]));
            }
            row
        }));
        block.finish()
    };
    parts.into_par_iter().enumerate().map(block).collect()
}

/// Floating-point format of stored entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Four bytes each.
    Single,
    /// Eight bytes each.
    Double,
}

/// Entries of close pairs of panels: a sparse matrix, with a symmetric pattern over panels.
#[derive(Debug)]
pub struct Near {
    rows: usize,
    columns: usize,
    blocks: Blocks,
}

#[derive(Debug)]
enum Blocks {
    Single(Vec<Block<f32>>),
    Double(Vec<Block<f64>>),
}

/// `$body` with the blocks, for either format.
macro_rules! with {
    ($blocks:expr, |$name:ident| $body:expr) => {
        match $blocks {
            Blocks::Single($name) => $body,
            Blocks::Double($name) => $body,
        }
    };
}

impl Near {
    /// No entries.
    pub(crate) fn none(panels: usize) -> Self {
        Self { rows: panels, columns: panels, blocks: Blocks::Double(Vec::new()) }
    }

    /// Exact entries of the pairs in `selection` of which this rank owns a panel, and of those
    /// among their neighbours; `panels` are the local ones of `partition`. `check(entries)` may
    /// refuse that number of entries.
    ///
    /// # Errors
    /// [`Error::Interrupted`], and errors of `check`.
    pub fn new<I: PairIntegrals<Entry = f64>>(
        panels: &Panels,
        partition: &Partition,
        selection: &Selection,
        integrals: &I,
        precision: Precision,
        check: &(dyn Fn(usize) -> Result<(), Error> + Sync),
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let blocks = match precision {
            Precision::Single => Blocks::Single(Self::assemble(
                panels, partition, selection, integrals, check, progress,
            )?),
            Precision::Double => Blocks::Double(Self::assemble(
                panels, partition, selection, integrals, check, progress,
            )?),
        };
        Ok(Self { rows: panels.len(), columns: panels.len(), blocks })
    }

    fn assemble<V: Value, I: PairIntegrals<Entry = f64>>(
        panels: &Panels,
        partition: &Partition,
        selection: &Selection,
        integrals: &I,
        check: &(dyn Fn(usize) -> Result<(), Error> + Sync),
        progress: &dyn Progress,
    ) -> Result<Vec<Block<V>>, Error> {
        let n = panels.len();
        let with_images = panels.total() > n;
        let symmetric = integrals.is_symmetric();
        let reach = selection.reach(panels);
        let search = Neighbours::new(panels.centroids(), &reach);
        let (done, entries) = (AtomicU64::new(0), AtomicU64::new(0));
        let report = |rows: usize| {
            let done = done.fetch_add(rows as u64, Ordering::Relaxed) + rows as u64;
            let goes_on = progress.advance(Stage::NearField, done, n as u64);
            if goes_on { Ok(()) } else { Err(Error::Interrupted) }
        };
        let block = |first: usize| -> Result<(Builder<V>, Vec<Across<V>>), Error> {
            let rows = first..n.min(first + BLOCK);
            let mut block = Builder::new(rows.clone(), symmetric);
            let mut across = Vec::new();
            let mut scratch = I::Scratch::default();
            let (mut candidates, mut pairs) = (Vec::new(), Vec::new());
            let mut choice = Choice::default();
            let mut walk = search.walk();
            for i in rows.clone() {
                candidates.clear();
                walk.of(i, &mut candidates);
                if with_images {
                    candidates.iter_mut().for_each(|j| *j %= n as u32);
                    candidates.sort_unstable();
                    candidates.dedup();
                }
                // Each pair once.
                candidates
                    .retain(|&j| j as usize > i && is_wanted(partition, panels, i, j as usize));
                // Always in the mesh's order, independent of the order of the rows.
                let ordered = |&j: &u32| <[usize; 2]>::from(panels.ordered(i, j as usize));
                pairs.clear();
                pairs.extend(candidates.iter().map(ordered));
                selection.choose(panels, integrals, &pairs, &mut choice, &mut scratch);
                for ((&j, pair), kept) in candidates.iter().zip(&pairs).zip(choice.kept()) {
                    let Some([forth, back]) = *kept else { continue };
                    let both = if pair[0] == i { [forth, back] } else { [back, forth] };
                    if rows.contains(&(j as usize)) {
                        block.push(j as usize, both);
                    } else {
                        across.push(Across { row: i as u32, column: j, entries: both.map(V::of) });
                    }
                }
                let own = |i, j| integrals.exact(i, j, &mut scratch);
                block.end_row(Some(over_images(panels, i, i, own)[0]));
                if (i + 1 - first).is_multiple_of(REPORTED) {
                    report(REPORTED)?;
                }
            }
            let added = (block.entries() + 2 * across.len()) as u64;
            check((entries.fetch_add(added, Ordering::Relaxed) + added) as usize)?;
            report(rows.len() % REPORTED)?;
            Ok((block, across))
        };
        let starts: Vec<usize> = (0..n).step_by(BLOCK).collect();
        let parts: Vec<_> = starts.into_par_iter().map(block).collect::<Result<_, Error>>()?;
        Ok(joined(parts, n))
    }

    /// The entries between `chosen` panels, in increasing order, which must be symmetric; in single
    /// precision.
    pub fn between(&self, chosen: &[u32]) -> Self {
        let mut index = vec![u32::MAX; self.rows];
        chosen.iter().enumerate().for_each(|(k, &i)| index[i as usize] = k as u32);
        let block = |first: usize| {
            let rows = first..chosen.len().min(first + BLOCK);
            let mut block = Builder::new(rows.clone(), true);
            let old = |k: usize| chosen[k] as usize / BLOCK;
            for source in old(rows.start)..=old(rows.end - 1) {
                let full = self.full_rows(source);
                for k in rows.clone().filter(|&k| old(k) == source) {
                    let i = chosen[k] as usize;
                    let new = |&(j, value): &(u32, f64)| (index[j as usize], value);
                    let entries = full.row(i).iter().map(new).filter(|&(j, _)| {
                        j != u32::MAX && (j as usize > k || !rows.contains(&(j as usize)))
                    });
                    let mut entries: Vec<(u32, f64)> = entries.collect();
                    entries.sort_unstable_by_key(|entry| entry.0);
                    entries.iter().for_each(|&(j, value)| block.push(j as usize, [value; 2]));
                    block.end_row(Some(self.diagonal(i)));
                }
            }
            block.finish()
        };
        let starts: Vec<usize> = (0..chosen.len()).step_by(BLOCK).collect();
        let blocks = Blocks::Single(starts.into_par_iter().map(block).collect());
        Self { rows: chosen.len(), columns: chosen.len(), blocks }
    }

    /// Number of rows.
    #[allow(clippy::len_without_is_empty)] // nobody asks
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Number of nonzero entries, including the diagonal.
    pub fn entries(&self) -> usize {
        with!(&self.blocks, |blocks| blocks.iter().map(Block::entries).sum())
    }

    /// Subtracts the quadrature sums from the exact entries: the rest corrects a sum over the
    /// points.
    pub fn subtract_points<I: PairIntegrals<Entry = f64>>(
        &mut self,
        panels: &Panels,
        integrals: &I,
        rule: &'static Rule,
    ) {
        let minus_points = |i: usize, j: usize| {
            let (first, second) = panels.ordered(i, j);
            let by_points = |i, j| integrals.by_points([rule; 2], i, j);
            let [forth, back] = over_images(panels, first, second, by_points);
            if first == i { [-forth, -back] } else { [-back, -forth] }
        };
        with!(&mut self.blocks, |blocks| {
            blocks.par_iter_mut().for_each(|block| block.update(minus_points));
        });
    }

    /// y += A x for `x` of shape (k, columns) and `y` of shape (k, rows).
    pub fn multiply_add(&self, x: &[f64], y: &mut [f64]) {
        for (x, y) in x.chunks_exact(self.columns.max(1)).zip(y.chunks_exact_mut(self.rows.max(1)))
        {
            let rows = y.par_chunks_mut(BLOCK);
            with!(&self.blocks, |blocks| {
                blocks.par_iter().zip(rows).for_each(|(block, y)| block.multiply_add(x, y));
            });
        }
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.rows.div_ceil(BLOCK)
    }

    /// The rows of one block in full.
    pub fn full_rows(&self, block: usize) -> FullRows {
        with!(&self.blocks, |blocks| blocks[block].full_rows())
    }

    /// The entry of a panel with itself.
    pub fn diagonal(&self, i: usize) -> f64 {
        with!(&self.blocks, |blocks| blocks[i / BLOCK].diagonal(i))
    }

    /// Calls `f(j, A_ij)` for the stored j > i, in increasing order.
    pub fn later(&self, i: usize, f: impl FnMut(usize, f64)) {
        with!(&self.blocks, |blocks| blocks[i / BLOCK].later(i, f));
    }
}
