//! A block of consecutive rows of a near field.

use std::ops::Range;

/// Storage type of entries.
pub(crate) trait Value: Copy + Default + Send + Sync + Into<f64> + std::fmt::Debug {
    fn of(value: f64) -> Self;
}

impl Value for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }
}

impl Value for f64 {
    fn of(value: f64) -> Self {
        value
    }
}

/// Entries of consecutive rows.
///
/// Over panels, pairs within the block are stored once, in the row of the first panel, with a
/// 16-bit column: potentials take half the memory, and memory is what a product waits for. Pairs
/// with panels outside, and all of functions, are plain sparse rows.
#[derive(Debug)]
pub(crate) struct Block<V> {
    rows: Range<usize>,
    /// Columns of pairs that are stored once: the block's own rows, or an empty range.
    inside: Range<usize>,
    /// One per row if pairs are stored once, else empty.
    diagonal: Vec<f64>,
    /// Where the pairs of each row begin; last, where they end.
    starts: Vec<u32>,
    /// Column of each pair, counted from the first panel of the block.
    columns: Vec<u16>,
    /// Entries (i, j) of these pairs.
    upper: Vec<V>,
    /// Entries (j, i); none if they are the same.
    lower: Vec<V>,
    /// All other entries, as compressed rows.
    outside_starts: Vec<u32>,
    outside_columns: Vec<u32>,
    outside: Vec<V>,
}

/// A block under construction.
#[derive(Debug)]
pub(crate) struct Builder<V> {
    rows: Range<usize>,
    inside: Range<usize>,
    symmetric: bool,
    diagonal: Vec<f64>,
    starts: Vec<u32>,
    columns: Vec<u16>,
    upper: Vec<V>,
    lower: Vec<V>,
    outside_starts: Vec<u32>,
    outside_columns: Vec<u32>,
    outside: Vec<V>,
}

impl<V: Value> Builder<V> {
    /// Starts a block with these rows of a square matrix over panels.
    pub(crate) fn new(rows: Range<usize>, symmetric: bool) -> Self {
        Self { symmetric, inside: rows.clone(), ..Self::plain(rows) }
    }

    /// Starts a block with these rows of a matrix in which no pair is stored once.
    pub(crate) fn plain(rows: Range<usize>) -> Self {
        Self {
            rows,
            inside: 0..0,
            symmetric: false,
            diagonal: Vec::new(),
            starts: vec![0],
            columns: Vec::new(),
            upper: Vec::new(),
            lower: Vec::new(),
            outside_starts: vec![0],
            outside_columns: Vec::new(),
            outside: Vec::new(),
        }
    }

    /// Appends to the current row its entries (i, j) and (j, i). Columns of the block come after i;
    /// all in increasing order.
    pub(crate) fn push(&mut self, j: usize, [forth, back]: [f64; 2]) {
        if self.inside.contains(&j) {
            self.columns.push((j - self.rows.start) as u16);
            self.upper.push(V::of(forth));
            if !self.symmetric {
                self.lower.push(V::of(back));
            }
        } else {
            self.outside_columns.push(j as u32);
            self.outside.push(V::of(forth));
        }
    }

    /// Appends the entries outside the block for all rows at once, replacing what [`Self::push`]
    /// appended: for each row its entries, columns in increasing order.
    pub(crate) fn set_outside<R: IntoIterator<Item = (u32, V)>>(
        &mut self,
        rows: impl Iterator<Item = R>,
    ) {
        self.outside_starts.truncate(1);
        for row in rows {
            for (column, entry) in row {
                self.outside_columns.push(column);
                self.outside.push(entry);
            }
            self.outside_starts.push(self.outside_columns.len() as u32);
        }
    }

    /// Ends the current row, with its diagonal entry if that is stored separately.
    pub(crate) fn end_row(&mut self, diagonal: Option<f64>) {
        self.diagonal.extend(diagonal);
        self.starts.push(self.columns.len() as u32);
        self.outside_starts.push(self.outside_columns.len() as u32);
    }

    /// Number of entries so far.
    pub(crate) fn entries(&self) -> usize {
        self.diagonal.len() + 2 * self.columns.len() + self.outside.len()
    }

    /// The block, in no more memory than it needs.
    pub(crate) fn finish(mut self) -> Block<V> {
        self.columns.shrink_to_fit();
        self.outside_columns.shrink_to_fit();
        for values in [&mut self.upper, &mut self.lower, &mut self.outside] {
            values.shrink_to_fit();
        }
        Block {
            rows: self.rows,
            inside: self.inside,
            diagonal: self.diagonal,
            starts: self.starts,
            columns: self.columns,
            upper: self.upper,
            lower: self.lower,
            outside_starts: self.outside_starts,
            outside_columns: self.outside_columns,
            outside: self.outside,
        }
    }
}

impl<V: Value> Block<V> {
    pub(crate) fn entries(&self) -> usize {
        self.diagonal.len() + 2 * self.columns.len() + self.outside.len()
    }

    pub(crate) fn diagonal(&self, i: usize) -> f64 {
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

    fn lower(&self) -> &[V] {
        if self.lower.is_empty() { &self.upper } else { &self.lower }
    }

    /// Adds `f(i, j)`, which gives entries (i, j) and (j, i), to all entries.
    pub(crate) fn update(&mut self, f: impl Fn(usize, usize) -> [f64; 2]) {
        let add = |value: &mut V, more: f64| *value = V::of((*value).into() + more);
        for r in 0..self.rows.len() {
            let i = self.rows.start + r;
            self.diagonal[r] += f(i, i)[0];
            for at in self.row(r) {
                let [forth, back] = f(i, self.rows.start + usize::from(self.columns[at]));
                add(&mut self.upper[at], forth);
                if let Some(value) = self.lower.get_mut(at) {
                    add(value, back);
                }
            }
        }
        for r in 0..self.rows.len() {
            for at in self.places_outside(r) {
                let j = self.outside_columns[at] as usize;
                add(&mut self.outside[at], f(self.rows.start + r, j)[0]);
            }
        }
    }

    /// y += A x for the rows of the block; `x` covers all columns.
    pub(crate) fn multiply_add(&self, x: &[f64], y: &mut [f64]) {
        let (own, lower) = (&x[self.inside.clone()], self.lower());
        for r in 0..self.rows.len() {
            let mut sum = 0.0;
            if let Some(&xi) = own.get(r) {
                sum = self.diagonal[r] * xi;
                let row = self.row(r);
                let values = self.upper[row.clone()].iter().zip(&lower[row.clone()]);
                for (&j, (&forth, &back)) in self.columns[row].iter().zip(values) {
                    let j = usize::from(j);
                    sum += forth.into() * own[j];
                    y[j] += back.into() * xi;
                }
            }
            sum += self.outside_row(r).map(|(j, entry)| entry.into() * x[j]).sum::<f64>();
            y[r] += sum;
        }
    }

    /// Calls `f(j, A_ij)` for the stored j > i, in increasing order.
    pub(crate) fn later(&self, i: usize, mut f: impl FnMut(usize, f64)) {
        let r = i - self.rows.start;
        for at in self.row(r) {
            f(self.rows.start + usize::from(self.columns[at]), self.upper[at].into());
        }
        self.outside_row(r).filter(|&(j, _)| j > i).for_each(|(j, entry)| f(j, entry.into()));
    }

    /// All entries, row by row.
    pub(crate) fn full_rows(&self) -> FullRows {
        let n = self.rows.len();
        let mut counts: Vec<usize> =
            (0..n).map(|r| 1 + self.row(r).len() + self.outside_row(r).count()).collect();
        self.columns.iter().for_each(|&j| counts[usize::from(j)] += 1);
        let mut starts = vec![0; n + 1];
        for r in 0..n {
            starts[r + 1] = starts[r] + counts[r];
        }
        let mut ends = starts.clone();
        let mut entries = vec![(0, 0.0); starts[n]];
        let mut put = |r: usize, j: usize, entry: f64| {
            entries[ends[r]] = (j as u32, entry);
            ends[r] += 1;
        };
        for r in 0..n {
            let i = self.rows.start + r;
            put(r, i, self.diagonal[r]);
            for at in self.row(r) {
                let c = usize::from(self.columns[at]);
                put(r, self.rows.start + c, self.upper[at].into());
                put(c, i, self.lower()[at].into());
            }
            self.outside_row(r).for_each(|(j, entry)| put(r, j, entry.into()));
        }
        FullRows { rows: self.rows.clone(), starts, entries }
    }
}

/// Rows with all their entries, in no order.
#[derive(Debug)]
pub struct FullRows {
    pub rows: Range<usize>,
    starts: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

impl FullRows {
    /// Columns and entries of row `i`.
    pub fn row(&self, i: usize) -> &[(u32, f64)] {
        let r = i - self.rows.start;
        &self.entries[self.starts[r]..self.starts[r + 1]]
    }
}
