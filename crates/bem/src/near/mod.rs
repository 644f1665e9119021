//! The near field: panel pairs too close for an operator's quadrature points, with their exact
//! integrals.
//!
//! An operator with entries A_ij over panels is summed over points, which replaces each entry by
//! its quadrature sum. Where the two differ too much, [`Near`] holds the exact entry, and later the
//! difference ([`Near::subtract_points`]), or only that ([`Near::corrections`]). The operator
//! defines the entries, numbers or blocks: it implements [`PairIntegrals`]. Where panels have
//! mirror images, an entry is the sum over those of the second panel.
//!
//! `select` decides which pairs are close enough, `accuracy` with which rules, `requirements` what
//! point charges require. `pairs` has the entries between constants, `modes` those between modes
//! of linear densities, `functions` those between functions of a space, `curved` all of curved
//! panels. `assembly` finds the pairs, `block` stores their entries.
//!
//! Between functions of a space, sums over all panels at a vertex are stored: ten times fewer
//! numbers than one block per pair of panels, as linear densities have.

pub(crate) mod accuracy;
mod assembly;
mod block;
mod curved;
mod entry;
pub(crate) mod functions;
pub(crate) mod modes;
pub(crate) mod pairs;
pub(crate) mod requirements;
pub(crate) mod select;

use parallel::prelude::*;

use crate::geometry::panels::Panels;
use crate::quadrature::rule::Rule;
pub use assembly::Assembly;
use block::{Block, Builder};
pub(crate) use block::{Coefficient, FullRows, Value};
use entry::in_mesh_order;
pub use entry::{Entry, PairIntegrals, RowKind};
pub(crate) use entry::{largest, over_images};
pub(crate) use requirements::{Requirements, Sources};
pub(crate) use select::{Selection, smallest_relative_gap, smallest_relative_height};

/// Entries per row of the near field on a mesh of regular triangles.
pub(crate) const REGULAR_ROW: usize = 45;

/// Rows per block between constants. A pair within a block is stored once, a pair across blocks
/// twice: larger blocks mean fewer of the latter, smaller blocks spread better over threads.
pub const BLOCK: usize = 1024;

/// Floating-point format of stored entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Four bytes each.
    Single,
    /// Eight bytes each.
    Double,
}

/// Entries of which a matrix can be stored.
pub trait Stored: Entry + Coefficient {
    /// In single precision.
    type Single: Value<Entry = Self>;
    /// In double precision.
    type Double: Value<Entry = Self>;
    /// Functions per panel.
    const MODES: usize;
    /// Stored numbers per entry.
    const NUMBERS: usize;
    /// Rows per block.
    const ROWS: usize;

    /// Calls `multiply_add` with the values of each panel, given those of each mode: `x` and `y` of
    /// shape (modes, panels).
    fn by_panels(
        x: &[f64],
        y: &mut [f64],
        multiply_add: impl FnOnce(&[Self::Values], &mut [Self::Values]),
    );
}

impl Stored for f64 {
    type Single = f32;
    type Double = Self;
    const MODES: usize = 1;
    const NUMBERS: usize = 1;
    const ROWS: usize = BLOCK;

    fn by_panels(x: &[f64], y: &mut [f64], multiply_add: impl FnOnce(&[f64], &mut [f64])) {
        multiply_add(x, y);
    }
}

/// Entries of close pairs of panels: a sparse matrix, with a symmetric pattern over panels.
#[derive(Debug)]
pub struct Near<E: Stored = f64> {
    rows: usize,
    columns: usize,
    blocks: Blocks<E>,
}

#[derive(Debug)]
enum Blocks<E: Stored> {
    Single(Vec<Block<E::Single>>),
    Double(Vec<Block<E::Double>>),
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
}

impl<E: Stored> Near<E> {
    /// Number of rows.
    #[allow(clippy::len_without_is_empty)] // nobody asks
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Number of stored numbers, those of pairs that are stored once counted twice.
    pub fn entries(&self) -> usize {
        with!(&self.blocks, |blocks| {
            blocks.iter().map(|block| E::NUMBERS * block.entries()).sum()
        })
    }

    /// Subtracts the quadrature sums from the exact entries: the rest corrects a sum over the
    /// points.
    pub fn subtract_points<I: PairIntegrals<Entry = E>>(
        &mut self,
        panels: &Panels,
        integrals: &I,
        rule: &'static Rule,
    ) {
        let by_points = |i, j| assembly::by_points(panels, integrals, rule, [i, j]);
        with!(&mut self.blocks, |blocks| {
            blocks.par_iter_mut().for_each(|block| block.subtract(&by_points));
        });
    }

    /// y += A x for `x` of shape (k, modes, columns) and `y` of shape (k, modes, rows).
    pub fn multiply_add(&self, x: &[f64], y: &mut [f64]) {
        let [columns, rows] = [self.columns, self.rows].map(|count| E::MODES * count.max(1));
        let vectors = x.par_chunks_exact(columns).zip(y.par_chunks_exact_mut(rows));
        vectors.for_each(|(x, y)| {
            E::by_panels(x, y, |x, y| {
                let rows = y.par_chunks_mut(E::ROWS);
                with!(&self.blocks, |blocks| {
                    blocks.par_iter().zip(rows).for_each(|(block, y)| block.multiply_add(x, y));
                });
            });
        });
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.rows.div_ceil(E::ROWS)
    }

    /// The rows of one block in full.
    pub fn full_rows(&self, block: usize) -> FullRows<E> {
        with!(&self.blocks, |blocks| blocks[block].full_rows())
    }

    /// The entry of a panel with itself.
    pub fn diagonal(&self, i: usize) -> E {
        with!(&self.blocks, |blocks| blocks[i / E::ROWS].diagonal(i))
    }

    /// Calls `f(j, A_ij)` for the stored j > i, in increasing order.
    pub fn later(&self, i: usize, f: impl FnMut(usize, E)) {
        with!(&self.blocks, |blocks| blocks[i / E::ROWS].later(i, f));
    }
}
