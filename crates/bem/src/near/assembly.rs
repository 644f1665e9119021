//! Assembly of a near field: its pairs row by row, and their entries in blocks of rows.

use std::sync::atomic::{AtomicU64, Ordering};

use parallel::prelude::*;

use super::block::{Block, Builder, Value};
use super::select::Choice;
use super::{
    Blocks, Entry, Near, PairIntegrals, Precision, Selection, Stored, in_mesh_order, over_images,
};
use crate::geometry::neighbours::{Neighbours, Walk};
use crate::geometry::panels::Panels;
use crate::geometry::partition::Partition;
use crate::quadrature::rule::Rule;
use crate::{Error, Progress, Stage};

/// Rows of one task, and per progress report: some rows take a second, with many images.
const TOGETHER: usize = 16;

/// Pairs of panels in a rank's halo are needed, by the local inverses of nearby panels, if the
/// distance of their centroids is at most this multiple of the sum of their radii.
const OF_HALO: f64 = 2.0;

/// Input of the assembly of a near field, next to its integrals.
#[derive(Clone, Copy)]
pub struct Assembly<'a> {
    /// Panels, including their images.
    pub panels: &'a Panels,
    /// Only pairs of panels that this rank owns, and of those among their neighbours, are needed;
    /// `panels` are the local ones.
    pub partition: &'a Partition,
    /// Which pairs are close.
    pub selection: &'a Selection,
    /// Format of the entries.
    pub precision: Precision,
    /// May refuse a number of entries.
    pub check: &'a (dyn Fn(usize) -> Result<(), Error> + Sync),
    /// Hears of finished rows, and may interrupt.
    pub progress: &'a dyn Progress,
}

impl Assembly<'_> {
    /// Whether a rank needs a pair of its local panels.
    fn is_wanted(&self, i: usize, j: usize) -> bool {
        let Self { partition, panels, .. } = self;
        let apart = || panels.nearest_distance(&panels.centroid(i), &panels.centroid(j));
        partition.is_owned(i)
            || partition.is_owned(j)
            || apart() <= OF_HALO * (panels.radius(i) + panels.radius(j))
    }
}

/// Entries (i, j) and (j, i), summed over the points of `rule` on both panels and over all images.
pub(super) fn by_points<I: PairIntegrals>(
    panels: &Panels,
    integrals: &I,
    rule: &'static Rule,
    [i, j]: [usize; 2],
) -> [I::Entry; 2] {
    in_mesh_order(panels, i, j, |first, second| {
        over_images(panels, first, second, |i, j| integrals.by_points([rule; 2], i, j))
    })
}

/// Rows and entries assembled so far, on all threads.
pub(super) struct Tally<'a> {
    assembly: &'a Assembly<'a>,
    rows: u64,
    done: AtomicU64,
    entries: AtomicU64,
}

impl<'a> Tally<'a> {
    /// For this number of rows.
    pub(super) fn new(assembly: &'a Assembly<'a>, rows: usize) -> Self {
        let (done, entries) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { assembly, rows: rows as u64, done, entries }
    }

    /// Reports finished rows.
    pub(super) fn add_rows(&self, rows: usize) -> Result<(), Error> {
        let done = self.done.fetch_add(rows as u64, Ordering::Relaxed) + rows as u64;
        let goes_on = self.assembly.progress.advance(Stage::NearField, done, self.rows);
        if goes_on { Ok(()) } else { Err(Error::Interrupted) }
    }

    /// Counts entries.
    pub(super) fn add_entries(&self, entries: usize) -> Result<(), Error> {
        let all = self.entries.fetch_add(entries as u64, Ordering::Relaxed) + entries as u64;
        (self.assembly.check)(all as usize)
    }
}

/// Close pairs of panels, one row after the other.
pub(super) struct ClosePairs<'a, I: PairIntegrals> {
    assembly: &'a Assembly<'a>,
    integrals: &'a I,
    /// Rule whose sums are subtracted from the entries, if any.
    subtracted: Option<&'static Rule>,
    walk: Walk<'a>,
    candidates: Vec<u32>,
    ordered: Vec<[usize; 2]>,
    choice: Choice<I::Entry>,
    scratch: I::Scratch,
}

impl<'a, I: PairIntegrals> ClosePairs<'a, I> {
    /// Exact entries, or what the sums over the points of a rule leave of them.
    pub(super) fn new(
        assembly: &'a Assembly<'a>,
        integrals: &'a I,
        subtracted: Option<&'static Rule>,
        search: &'a Neighbours<'_>,
    ) -> Self {
        Self {
            assembly,
            integrals,
            subtracted,
            walk: search.walk(),
            candidates: Vec::new(),
            ordered: Vec::new(),
            choice: Choice::default(),
            scratch: I::Scratch::default(),
        }
    }

    /// Calls `f(j, [A_ij, A_ji])` for the close pairs of panel i with panels that `is_wanted`
    /// accepts, in increasing order.
    pub(super) fn of_row(
        &mut self,
        i: usize,
        is_wanted: impl Fn(usize) -> bool,
        mut f: impl FnMut(usize, [I::Entry; 2]),
    ) {
        let Self { assembly, integrals, subtracted, candidates, ordered, choice, .. } = self;
        let (panels, n) = (assembly.panels, assembly.panels.len());
        candidates.clear();
        self.walk.of(i, candidates);
        if panels.total() > n {
            candidates.iter_mut().for_each(|j| *j %= n as u32);
            candidates.sort_unstable();
            candidates.dedup();
        }
        candidates.retain(|&j| is_wanted(j as usize));
        ordered.clear();
        // Always in the mesh's order, independent of the order of the rows.
        let pair = |&j: &u32| <[usize; 2]>::from(panels.ordered(i, j as usize));
        ordered.extend(candidates.iter().map(pair));
        assembly.selection.choose(panels, *integrals, ordered, choice, &mut self.scratch);
        for ((&j, pair), kept) in candidates.iter().zip(&*ordered).zip(choice.kept()) {
            let (Some([forth, back]), j) = (*kept, j as usize) else { continue };
            let exact = if pair[0] == i { [forth, back] } else { [back, forth] };
            f(j, rest(panels, *integrals, *subtracted, [i, j], exact));
        }
    }

    /// The row of panel i, each pair once.
    fn row(&mut self, i: usize) -> Row<I::Entry> {
        let (assembly, mut later) = (self.assembly, Vec::new());
        let is_wanted = |j: usize| j > i && assembly.is_wanted(i, j);
        self.of_row(i, is_wanted, |j, entries| later.push((j, entries)));
        Row { diagonal: self.of_diagonal(i), later }
    }

    /// The entry of a panel with itself.
    pub(super) fn of_diagonal(&mut self, i: usize) -> I::Entry {
        let exact = |i, j| self.integrals.exact(i, j, &mut self.scratch);
        let exact = over_images(self.assembly.panels, i, i, exact);
        rest(self.assembly.panels, self.integrals, self.subtracted, [i, i], exact)[0]
    }
}

/// Entries of a panel with itself, and of its pairs with later panels.
struct Row<E> {
    diagonal: E,
    later: Vec<(usize, [E; 2])>,
}

/// Entries minus their sums over the points of a rule, if any are subtracted.
fn rest<I: PairIntegrals>(
    panels: &Panels,
    integrals: &I,
    subtracted: Option<&'static Rule>,
    pair: [usize; 2],
    exact: [I::Entry; 2],
) -> [I::Entry; 2] {
    let Some(rule) = subtracted else { return exact };
    let points = by_points(panels, integrals, rule, pair);
    [0, 1].map(|side| exact[side].plus(-1.0, points[side]))
}

/// An entry between panels of different blocks.
struct Across<V> {
    row: u32,
    column: u32,
    entry: V,
}

/// A block under construction, and its entries with panels of later blocks, by rows and columns.
type Unjoined<V> = (Builder<V>, Vec<Across<V>>);

/// A block under construction, and its pairs with panels of later blocks.
struct Part<V: Value> {
    block: Builder<V>,
    /// Entries in its own rows.
    later: Vec<Across<V>>,
    /// Entries in the rows of later blocks, by block, row and column.
    backward: Vec<(usize, Vec<Across<V>>)>,
}

impl<E: Stored> Near<E> {
    /// Exact entries of the close pairs.
    pub fn new<I: PairIntegrals<Entry = E>>(
        assembly: &Assembly<'_>,
        integrals: &I,
    ) -> Result<Self, Error> {
        Self::assembled(assembly, integrals, None)
    }

    /// The entries minus the sums over the points of `rule`.
    pub fn corrections<I: PairIntegrals<Entry = E>>(
        assembly: &Assembly<'_>,
        integrals: &I,
        rule: &'static Rule,
    ) -> Result<Self, Error> {
        Self::assembled(assembly, integrals, Some(rule))
    }

    fn assembled<I: PairIntegrals<Entry = E>>(
        assembly: &Assembly<'_>,
        integrals: &I,
        subtracted: Option<&'static Rule>,
    ) -> Result<Self, Error> {
        let blocks = match assembly.precision {
            Precision::Single => Blocks::Single(blocks(assembly, integrals, subtracted)?),
            Precision::Double => Blocks::Double(blocks(assembly, integrals, subtracted)?),
        };
        let panels = assembly.panels.len();
        Ok(Self { rows: panels, columns: panels, blocks })
    }
}

fn blocks<V: Value<Entry: Stored>, I: PairIntegrals<Entry = V::Entry>>(
    assembly: &Assembly<'_>,
    integrals: &I,
    subtracted: Option<&'static Rule>,
) -> Result<Vec<Block<V>>, Error> {
    let n = assembly.panels.len();
    let reach = integrals.reach(assembly.panels, assembly.selection);
    let search = Neighbours::new(assembly.panels.centroids(), &reach);
    let tally = Tally::new(assembly, n);
    let (rows_of_block, numbers) = (V::Entry::ROWS, V::Entry::NUMBERS);
    let part = |first: usize| -> Result<Part<V>, Error> {
        let rows = first..n.min(first + rows_of_block);
        // Rows are found by tasks of their own: few panels are few blocks.
        let of_rows = |first: usize| {
            let rows = first..rows.end.min(first + TOGETHER);
            let mut pairs = ClosePairs::new(assembly, integrals, subtracted, &search);
            let found: Vec<Row<V::Entry>> = rows.map(|i| pairs.row(i)).collect();
            tally.add_rows(found.len())?;
            Ok(found)
        };
        let starts: Vec<usize> = rows.clone().step_by(TOGETHER).collect();
        let found: Vec<_> = starts.into_par_iter().map(of_rows).collect::<Result<_, Error>>()?;
        let mut block = Builder::new(rows.clone(), integrals.is_symmetric());
        let (mut later, mut backward) = (Vec::new(), Vec::new());
        for (i, row) in rows.clone().zip(found.into_iter().flatten()) {
            for (j, entries) in row.later {
                if rows.contains(&j) {
                    block.push(j, entries);
                } else {
                    let ([forth, back], i, j) = (entries.map(V::of), i as u32, j as u32);
                    later.push(Across { row: i, column: j, entry: forth });
                    backward.push(Across { row: j, column: i, entry: back });
                }
            }
            block.end_row(Some(row.diagonal));
        }
        tally.add_entries(numbers * (block.entries() + 2 * later.len()))?;
        backward.sort_by_key(|entry| entry.row);
        let block_of = |entry: &Across<V>| entry.row as usize / rows_of_block;
        let mut all = backward.into_iter().peekable();
        let mut backward = Vec::new();
        while let Some(index) = all.peek().map(block_of) {
            let of_block = std::iter::from_fn(|| all.next_if(|entry| block_of(entry) == index));
            backward.push((index, of_block.collect()));
        }
        Ok(Part { block, later, backward })
    };
    let starts: Vec<usize> = (0..n).step_by(rows_of_block).collect();
    let parts: Vec<_> = starts.into_par_iter().map(part).collect::<Result<_, Error>>()?;
    Ok(joined(parts, n, rows_of_block))
}

/// Blocks in which pairs across blocks are stored in both, in order of rows and columns.
fn joined<V: Value>(parts: Vec<Part<V>>, n: usize, rows_of_block: usize) -> Vec<Block<V>> {
    let mut earlier: Vec<Vec<Vec<Across<V>>>> = parts.iter().map(|_| Vec::new()).collect();
    let mut unjoined = Vec::with_capacity(parts.len());
    for Part { block, later, backward } in parts {
        backward.into_iter().for_each(|(block, entries)| earlier[block].push(entries));
        unjoined.push((block, later));
    }
    let block = |(index, ((mut block, later), earlier)): (usize, (Unjoined<V>, Vec<_>))| {
        let rows = index * rows_of_block..n.min((index + 1) * rows_of_block);
        let mut earlier: Vec<Across<V>> = earlier.into_iter().flatten().collect();
        // Columns stay in order.
        earlier.sort_by_key(|entry| entry.row);
        let (mut earlier, mut later) =
            (earlier.into_iter().peekable(), later.into_iter().peekable());
        block.set_outside(rows.map(|i| {
            let mut row = Vec::new();
            for entries in [&mut earlier, &mut later] {
                while let Some(entry) = entries.next_if(|entry| entry.row as usize == i) {
                    row.push((entry.column, entry.entry));
                }
            }
            row
        }));
        block.finish()
    };
    unjoined.into_par_iter().zip(earlier).enumerate().map(block).collect()
}
