//! Some consecutive rows of a near field.

use std::ops::Range;

/// Floating-point format of stored entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Single,
    Double,
}

/// Entries in one format.
#[derive(Debug, Default)]
struct Entries<V> {
    /// Entries (i, j) of pairs within the block.
    upper: Vec<V>,
    /// Entries (j, i); none if they are the same.
    lower: Vec<V>,
    /// Entries with panels outside.
    outside: Vec<V>,
}

impl<V> Entries<V> {
    fn lower(&self) -> &[V] {
        if self.lower.is_empty() { &self.upper } else { &self.lower }
    }

    fn shrink(&mut self) {
        for values in [&mut self.upper, &mut self.lower, &mut self.outside] {
            values.shrink_to_fit();
        }
    }
}

/// Entries in either format.
#[derive(Debug)]
enum Values {
    Single(Entries<f32>),
    Double(Entries<f64>),
}

/// `$body` with the entries and a conversion from f64, whichever the format is.
macro_rules! with {
    ($values:expr, |$entries:ident, $of:ident| $body:expr) => {
        match $values {
            Values::Single($entries) => {
                let $of = |value: f64| value as f32;
                $body
            }
            Values::Double($entries) => {
                let $of = |value: f64| value;
                $body
            }
        }
    };
}

/// Entries of consecutive rows.
///
/// Pairs within the block are stored once, in the row of the first panel, with a 16-bit column; those with panels outside in
/// their row alone.
#[derive(Debug)]
pub(crate) struct Block {
    rows: Range<usize>,
    diagonal: Vec<f64>,
    /// Where the pairs of each row begin and, at last, where they end.
    starts: Vec<u32>,
    /// Panels of the block, counted from its first.
    columns: Vec<u16>,
    outside_starts: Vec<u32>,
    outside_columns: Vec<u32>,
    symmetric: bool,
    values: Values,
}

impl Block {
    /// No entries. Rows are filled in order, by [`Self::push`] and [`Self::end_row`].
    pub(crate) fn new(rows: Range<usize>, precision: Precision, symmetric: bool) -> Self {
        Self {
            diagonal: vec![0.0; rows.len()],
            rows,
            starts: vec![0],
            columns: Vec::new(),
            outside_starts: vec![0],
            outside_columns: Vec::new(),
            symmetric,
            values: match precision {
                Precision::Single => Values::Single(Entries::default()),
                Precision::Double => Values::Double(Entries::default()),
            },
        }
    }

    pub(crate) fn set_diagonal(&mut self, i: usize, value: f64) {
        self.diagonal[i - self.rows.start] = value;
    }

    /// Appends to the current row its entries (i, j) and (j, i). Columns of the block come after i; all in increasing order.
    pub(crate) fn push(&mut self, j: usize, [forth, back]: [f64; 2]) {
        if self.rows.contains(&j) {
            self.columns.push((j - self.rows.start) as u16);
            with!(&mut self.values, |entries, of| {
                entries.upper.push(of(forth));
                if !self.symmetric {
                    entries.lower.push(of(back));
                }
            });
        } else {
            self.outside_columns.push(j as u32);
            with!(&mut self.values, |entries, of| entries.outside.push(of(forth)));
        }
    }

    pub(crate) fn end_row(&mut self) {
        self.starts.push(self.columns.len() as u32);
        self.outside_starts.push(self.outside_columns.len() as u32);
    }

    /// Gives back what the vectors have reserved in vain.
    pub(crate) fn shrink(&mut self) {
        self.columns.shrink_to_fit();
        self.outside_columns.shrink_to_fit();
        with!(&mut self.values, |entries, _of| entries.shrink());
    }

    pub(crate) fn entries(&self) -> usize {
        self.diagonal.len() + 2 * self.columns.len() + self.outside_columns.len()
    }

    pub(crate) fn diagonal(&self, i: usize) -> f64 {
        self.diagonal[i - self.rows.start]
    }

    fn row(&self, r: usize) -> Range<usize> {
        self.starts[r] as usize..self.starts[r + 1] as usize
    }

    fn outside_row(&self, r: usize) -> Range<usize> {
        self.outside_starts[r] as usize..self.outside_starts[r + 1] as usize
    }

    /// Adds `f(i, j)`, which gives entries (i, j) and (j, i), to all entries.
    pub(crate) fn update(&mut self, f: impl Fn(usize, usize) -> [f64; 2]) {
        for r in 0..self.rows.len() {
            let i = self.rows.start + r;
            let (row, outside_row) = (self.row(r), self.outside_row(r));
            self.diagonal[r] += f(i, i)[0];
            with!(&mut self.values, |entries, of| {
                for at in row {
                    let [forth, back] = f(i, self.rows.start + usize::from(self.columns[at]));
                    entries.upper[at] = of(f64::from(entries.upper[at]) + forth);
                    if !self.symmetric {
                        entries.lower[at] = of(f64::from(entries.lower[at]) + back);
                    }
                }
                for at in outside_row {
                    let [forth, _] = f(i, self.outside_columns[at] as usize);
                    entries.outside[at] = of(f64::from(entries.outside[at]) + forth);
                }
            });
        }
    }

    /// y += A x for the rows of the block; `x` covers all panels.
    pub(crate) fn multiply_add(&self, x: &[f64], y: &mut [f64]) {
        with!(&self.values, |entries, _of| self.multiply(entries, x, y));
    }

    fn multiply<V: Copy + Into<f64>>(&self, entries: &Entries<V>, x: &[f64], y: &mut [f64]) {
        let (upper, lower) = (&entries.upper, entries.lower());
        let own = &x[self.rows.clone()];
        for r in 0..self.rows.len() {
            let xi = own[r];
            let mut sum = self.diagonal[r] * xi;
            let row = self.row(r);
            let pairs = self.columns[row.clone()].iter().zip(&upper[row.clone()]).zip(&lower[row]);
            for ((&j, &forth), &back) in pairs {
                let j = usize::from(j);
                sum += forth.into() * own[j];
                y[j] += back.into() * xi;
            }
            let row = self.outside_row(r);
            for (&j, &entry) in self.outside_columns[row.clone()].iter().zip(&entries.outside[row])
            {
                sum += entry.into() * x[j as usize];
            }
            y[r] += sum;
        }
    }

    /// Calls `f(j, A_ij)` for the stored j > i, in increasing order.
    pub(crate) fn later(&self, i: usize, mut f: impl FnMut(usize, f64)) {
        let r = i - self.rows.start;
        with!(&self.values, |entries, _of| {
            for at in self.row(r) {
                f(self.rows.start + usize::from(self.columns[at]), entries.upper[at].into());
            }
            for at in self.outside_row(r) {
                let j = self.outside_columns[at] as usize;
                if j > i {
                    f(j, entries.outside[at].into());
                }
            }
        });
    }

    /// All entries, row by row.
    pub(crate) fn full_rows(&self) -> FullRows {
        let n = self.rows.len();
        let mut ends: Vec<usize> =
            (0..n).map(|r| 1 + self.row(r).len() + self.outside_row(r).len()).collect();
        self.columns.iter().for_each(|&j| ends[usize::from(j)] += 1);
        let mut starts = Vec::with_capacity(n + 1);
        let mut total = 0;
        for end in &mut ends {
            starts.push(total);
            total += *end;
            *end = total - *end;
        }
        starts.push(total);
        let mut entries = vec![(0, 0.0); total];
        let mut put = |r: usize, entry: (u32, f64)| {
            entries[ends[r]] = entry;
            ends[r] += 1;
        };
        with!(&self.values, |stored, _of| {
            for r in 0..n {
                let i = self.rows.start + r;
                put(r, (i as u32, self.diagonal[r]));
                for at in self.row(r) {
                    let c = usize::from(self.columns[at]);
                    put(r, ((self.rows.start + c) as u32, stored.upper[at].into()));
                    put(c, (i as u32, stored.lower()[at].into()));
                }
                for at in self.outside_row(r) {
                    put(r, (self.outside_columns[at], stored.outside[at].into()));
                }
            }
        });
        FullRows { rows: self.rows.clone(), starts, entries }
    }
}

/// Rows with all their entries, in no order.
#[derive(Debug)]
pub(crate) struct FullRows {
    pub(crate) rows: Range<usize>,
    starts: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

impl FullRows {
    /// Columns and entries of row `i`.
    pub(crate) fn row(&self, i: usize) -> &[(u32, f64)] {
        let r = i - self.rows.start;
        &self.entries[self.starts[r]..self.starts[r + 1]]
    }
}
