//! A block of consecutive rows of a near field.

use std::fmt::Debug;
use std::ops::{AddAssign, Range};

use super::entry::Entry;

/// A number, or a block of numbers between the modes of two panels, that multiplies the values of a
/// panel.
pub trait Coefficient: Copy + Default + Send + Sync + Debug {
    /// Values of a panel: a number, or one per mode.
    type Values: Copy + Default + Send + Sync + AddAssign;
    /// Adds the product with the values `x` to `sum`.
    fn add_product(self, x: Self::Values, sum: &mut Self::Values);
}

/// Format in which entries are stored.
pub trait Value: Coefficient<Values = <Self::Entry as Coefficient>::Values> {
    /// The type of a stored entry.
    type Entry: Entry + Coefficient;
    /// Rounds an entry.
    fn of(entry: Self::Entry) -> Self;
    /// The entry.
    fn entry(self) -> Self::Entry;
    /// Exchanges rows and columns.
    fn transposed(self) -> Self;
    /// An entry of the diagonal, which is stored in double precision.
    fn of_diagonal(entry: Self::Entry) -> Self::Entry {
        entry
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Coefficient for $number {
            type Values = f64;

            fn add_product(self, x: f64, sum: &mut f64) {
                *sum += f64::from(self) * x;
            }
        }

        impl Value for $number {
            type Entry = f64;

            fn of(entry: f64) -> Self {
                entry as Self
            }

            fn entry(self) -> f64 {
                self.into()
            }

            fn transposed(self) -> Self {
                self
            }
        }
    )*};
}

numbers!(f32, f64);

/// Entries of consecutive rows.
///
/// Over panels, pairs within the block are stored once, in the row of the first panel, with a
/// 16-bit column: potentials take half the memory, and memory is what a product waits for. Pairs
/// with panels outside, and all of functions, are plain sparse rows.
#[derive(Debug)]
pub(crate) struct Block<V: Value> {
    rows: Range<usize>,
    /// Columns of pairs that are stored once: the block's own rows, or an empty range.
    inside: Range<usize>,
    /// One per row if pairs are stored once, else empty.
    diagonal: Vec<V::Entry>,
    /// Where the pairs of each row begin; last, where they end.
    starts: Vec<u32>,
    /// Column of each pair, counted from the first panel of the block.
    columns: Vec<u16>,
    /// Entries (i, j) of these pairs.
    upper: Vec<V>,
    /// Entries (j, i); none if they are the transposed ones.
    lower: Vec<V>,
    /// All other entries, as compressed rows.
    outside_starts: Vec<u32>,
    outside_columns: Vec<u32>,
    outside: Vec<V>,
}

/// A block under construction.
#[derive(Debug)]
pub(crate) struct Builder<V: Value> {
    block: Block<V>,
    symmetric: bool,
}

impl<V: Value> Builder<V> {
    /// Starts a block with these rows of a square matrix over panels.
    pub(crate) fn new(rows: Range<usize>, symmetric: bool) -> Self {
        let mut builder = Self::plain(rows.clone());
        builder.block.inside = rows;
        builder.symmetric = symmetric;
        builder
    }

    /// Starts a block with these rows of a matrix in which no pair is stored once.
    pub(crate) fn plain(rows: Range<usize>) -> Self {
        let block = Block {
            rows,
            inside: 0..0,
            diagonal: Vec::new(),
            starts: vec![0],
            columns: Vec::new(),
            upper: Vec::new(),
            lower: Vec::new(),
            outside_starts: vec![0],
            outside_columns: Vec::new(),
            outside: Vec::new(),
        };
        Self { block, symmetric: false }
    }

    /// Appends to the current row its entries (i, j) and (j, i). Columns of the block come after i;
    /// all in increasing order.
    pub(crate) fn push(&mut self, j: usize, [forth, back]: [V::Entry; 2]) {
        let block = &mut self.block;
        if block.inside.contains(&j) {
            block.columns.push((j - block.rows.start) as u16);
            block.upper.push(V::of(forth));
            if !self.symmetric {
                block.lower.push(V::of(back));
            }
        } else {
            block.outside_columns.push(j as u32);
            block.outside.push(V::of(forth));
        }
    }

    /// Appends the entries outside the block for all rows at once, replacing what [`Self::push`]
    /// appended: for each row its entries, columns in increasing order.
    pub(crate) fn set_outside<R: IntoIterator<Item = (u32, V)>>(
        &mut self,
        rows: impl Iterator<Item = R>,
    ) {
        let block = &mut self.block;
        block.outside_starts.truncate(1);
        for row in rows {
            for (column, entry) in row {
                block.outside_columns.push(column);
                block.outside.push(entry);
            }
            block.outside_starts.push(block.outside_columns.len() as u32);
        }
    }

    /// Ends the current row, with its diagonal entry if that is stored separately.
    pub(crate) fn end_row(&mut self, diagonal: Option<V::Entry>) {
        let block = &mut self.block;
        block.diagonal.extend(diagonal.map(V::of_diagonal));
        block.starts.push(block.columns.len() as u32);
        block.outside_starts.push(block.outside_columns.len() as u32);
    }

    /// Number of entries so far.
    pub(crate) fn entries(&self) -> usize {
        self.block.entries()
    }

    /// The block, in no more memory than it needs.
    pub(crate) fn finish(self) -> Block<V> {
        let mut block = self.block;
        block.columns.shrink_to_fit();
        block.outside_columns.shrink_to_fit();
        for values in [&mut block.upper, &mut block.lower, &mut block.outside] {
            values.shrink_to_fit();
        }
        block
    }
}

impl<V: Value> Block<V> {
    pub(crate) fn entries(&self) -> usize {
        self.diagonal.len() + 2 * self.columns.len() + self.outside.len()
    }

    pub(crate) fn diagonal(&self, i: usize) -> V::Entry {
        self.diagonal[i - self.rows.start]
    }

    fn row(&self, r: usize) -> Range<usize> {
        self.starts[r] as usize..self.starts[r + 1] as usize
    }

    fn places_outside(&self, r: usize) -> Range<usize> {
        self.outside_starts[r] as usize..self.outside_starts[r + 1] as usize
    }

    fn outside_row(&self, r: usize) -> impl Iterator<Item = (usize, V)> {
        let row = self.places_outside(r);
        let columns = &self.outside_columns[row.clone()];
        columns.iter().map(|&j| j as usize).zip(self.outside[row].iter().copied())
    }

    /// Entry (j, i) of the pair at this place, which is stored in row i.
    fn back(&self, place: usize) -> V {
        self.lower.get(place).copied().unwrap_or_else(|| self.upper[place].transposed())
    }

    /// Subtracts from all entries what `f(i, j)` gives for (i, j) and (j, i).
    pub(crate) fn subtract(&mut self, f: impl Fn(usize, usize) -> [V::Entry; 2]) {
        let subtract = |value: &mut V, less| *value = V::of(value.entry().plus(-1.0, less));
        for r in 0..self.rows.len() {
            let i = self.rows.start + r;
            self.diagonal[r] = self.diagonal[r].plus(-1.0, f(i, i)[0]);
            for place in self.row(r) {
                let [forth, back] = f(i, self.rows.start + usize::from(self.columns[place]));
                subtract(&mut self.upper[place], forth);
                if let Some(value) = self.lower.get_mut(place) {
                    subtract(value, back);
                }
            }
        }
        for r in 0..self.rows.len() {
            for place in self.places_outside(r) {
                let j = self.outside_columns[place] as usize;
                subtract(&mut self.outside[place], f(self.rows.start + r, j)[0]);
            }
        }
    }

    /// y += A x for the rows of the block; `x` covers all columns.
    pub(crate) fn multiply_add(&self, x: &[V::Values], y: &mut [V::Values]) {
        let own = &x[self.inside.clone()];
        for r in 0..self.rows.len() {
            let (mut sum, mut outside) = (V::Values::default(), V::Values::default());
            if let Some(&xi) = own.get(r) {
                self.diagonal[r].add_product(xi, &mut sum);
                let row = self.row(r);
                let pairs = self.columns[row.clone()].iter().zip(&self.upper[row.clone()]);
                if self.lower.is_empty() {
                    for (&j, forth) in pairs {
                        let j = usize::from(j);
                        forth.add_product(own[j], &mut sum);
                        forth.transposed().add_product(xi, &mut y[j]);
                    }
                } else {
                    for ((&j, forth), back) in pairs.zip(&self.lower[row]) {
                        let j = usize::from(j);
                        forth.add_product(own[j], &mut sum);
                        back.add_product(xi, &mut y[j]);
                    }
                }
            }
            self.outside_row(r).for_each(|(j, entry)| entry.add_product(x[j], &mut outside));
            sum += outside;
            y[r] += sum;
        }
    }

    /// Calls `f(j, A_ij)` for the stored j > i, in increasing order.
    pub(crate) fn later(&self, i: usize, mut f: impl FnMut(usize, V::Entry)) {
        let r = i - self.rows.start;
        for place in self.row(r) {
            f(self.rows.start + usize::from(self.columns[place]), self.upper[place].entry());
        }
        self.outside_row(r).filter(|&(j, _)| j > i).for_each(|(j, entry)| f(j, entry.entry()));
    }

    /// All entries, row by row.
    pub(crate) fn full_rows(&self) -> FullRows<V::Entry> {
        let n = self.rows.len();
        let mut counts: Vec<usize> =
            (0..n).map(|r| 1 + self.row(r).len() + self.outside_row(r).count()).collect();
        self.columns.iter().for_each(|&j| counts[usize::from(j)] += 1);
        let mut starts = vec![0; n + 1];
        for r in 0..n {
            starts[r + 1] = starts[r] + counts[r];
        }
        let mut ends = starts.clone();
        let mut entries = vec![(0, V::Entry::default()); starts[n]];
        let mut put = |r: usize, j: usize, entry: V::Entry| {
            entries[ends[r]] = (j as u32, entry);
            ends[r] += 1;
        };
        for r in 0..n {
            let i = self.rows.start + r;
            put(r, i, self.diagonal[r]);
            for place in self.row(r) {
                let c = usize::from(self.columns[place]);
                put(r, self.rows.start + c, self.upper[place].entry());
                put(c, i, self.back(place).entry());
            }
            self.outside_row(r).for_each(|(j, entry)| put(r, j, entry.entry()));
        }
        FullRows { rows: self.rows.clone(), starts, entries }
    }
}

/// Rows with all their entries, in no order.
#[derive(Debug)]
pub struct FullRows<E = f64> {
    pub rows: Range<usize>,
    starts: Vec<usize>,
    entries: Vec<(u32, E)>,
}

impl<E> FullRows<E> {
    /// Columns and entries of row `i`.
    pub fn row(&self, i: usize) -> &[(u32, E)] {
        let r = i - self.rows.start;
        &self.entries[self.starts[r]..self.starts[r + 1]]
    }
}
