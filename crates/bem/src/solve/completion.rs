//! Converts rows of charges into equations: a few laws correct sums over rows. The laws are data,
//! applied where the rows are stored.

use std::borrow::Cow;
use std::sync::Arc;

use nalgebra::DMatrix;

use crate::Error;
use crate::geometry::partition::Partition;

/// A sparse matrix as a list of its entries; repeated entries at one place add up.
#[derive(Clone, Debug)]
pub struct Entries {
    /// Rows and columns.
    pub(crate) shape: [usize; 2],
    /// The row of each entry.
    pub(crate) rows: Vec<u32>,
    /// Its column.
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<f64>,
}

impl Entries {
    fn new(shape: [usize; 2]) -> Self {
        Self { shape, rows: Vec::new(), columns: Vec::new(), values: Vec::new() }
    }

    /// Adds an entry.
    pub fn add(&mut self, row: usize, column: usize, value: f64) {
        self.rows.push(row as u32);
        self.columns.push(column as u32);
        self.values.push(value);
    }

    /// Row, column and value of each entry.
    fn iter(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let places = self.rows.iter().zip(&self.columns);
        places.zip(&self.values).map(|((&i, &j), &value)| (i as usize, j as usize, value))
    }
}

/// Converts the rows `y` of charges `x` into left-hand sides of equations: `y` is shifted to meet
/// the first laws, then y_i = a_i x_i + b_i y_i, then `y` is shifted to meet the second laws.
pub trait Completion {
    /// The first laws.
    fn first(&self) -> &Laws;

    /// a_i and b_i.
    fn row(&self, i: usize) -> [f64; 2];

    /// The second laws.
    fn second(&self) -> &Laws;

    /// The largest relative defect of a first law, from the defects of one column and from
    /// `Laws::sizes`. `vectors` provides `x` and the uncorrected `y`: most columns do not need
    /// them.
    fn defect(
        &self,
        missing: &[f64],
        sizes: &[f64],
        vectors: &mut Vectors<'_>,
    ) -> Result<f64, Error>;
}

/// Provides `x` and `y`.
pub type Vectors<'a> = dyn FnMut() -> Result<[Vec<f64>; 2], Error> + 'a;

/// Completes the rows of one column that this rank has whole. Returns the largest defect of a first
/// law if wanted, else 0.
pub fn complete(
    completion: &dyn Completion,
    x: &[f64],
    y: &mut [f64],
    asks_for_defect: bool,
) -> Result<f64, Error> {
    let partition = Arc::new(Partition::whole(x.len()));
    LocalCompletion::new(completion, partition, 1).complete(x, y, asks_for_defect)
}

/// Completes the rows of local panels.
pub(crate) struct LocalCompletion<'a> {
    completion: &'a dyn Completion,
    partition: Arc<Partition>,
    modes: usize,
    /// The laws, with entries at this rank's indices.
    first: Cow<'a, Laws>,
    second: Cow<'a, Laws>,
}

impl<'a> LocalCompletion<'a> {
    /// For rows with this number of modes per panel.
    pub(crate) fn new(
        completion: &'a dyn Completion,
        partition: Arc<Partition>,
        modes: usize,
    ) -> Self {
        let indices = partition.indices_of_owned(modes);
        let local = modes * partition.local_len();
        let local_laws = |laws: &'a Laws| match &indices {
            None => Cow::Borrowed(laws),
            Some(indices) => Cow::Owned(laws.at(indices, local)),
        };
        let (first, second) = (local_laws(completion.first()), local_laws(completion.second()));
        Self { completion, partition, modes, first, second }
    }

    /// As [`complete`](fn@complete). Collective.
    pub(crate) fn complete(
        &self,
        x: &[f64],
        y: &mut [f64],
        asks_for_defect: bool,
    ) -> Result<f64, Error> {
        let Self { completion, partition, modes, first, second } = self;
        let missing = self.missing(first, x, y)?;
        let mut defect = 0.0;
        if asks_for_defect && !missing.is_empty() {
            let mut sizes = first.sizes(x);
            partition.sum(&mut sizes)?;
            let mut vectors = || {
                let all = |local: &[f64]| -> Result<Vec<f64>, Error> {
                    let mut all = vec![0.0; modes * partition.len()];
                    partition.gather(local, &mut all)?;
                    Ok(all)
                };
                Ok([all(x)?, all(y)?])
            };
            defect = completion.defect(&missing, &sizes, &mut vectors)?;
        }
        first.shift(&missing, y);
        for (i, (y, x)) in y.iter_mut().zip(x).enumerate() {
            let [own, factor] = completion.row(partition.global(i));
            *y = own * x + factor * *y;
        }
        second.shift(&self.missing(second, x, y)?, y);
        Ok(defect)
    }

    /// The defect of each law over the rows of all ranks. Collective.
    fn missing(&self, laws: &Laws, x: &[f64], y: &[f64]) -> Result<Vec<f64>, Error> {
        let mut missing = laws.missing(x, y);
        if !missing.is_empty() {
            self.partition.sum(&mut missing)?;
        }
        Ok(missing)
    }
}

/// Laws for linear sums of `y`: y += S M (E x + F y), where row k of E x + F y is the defect of law
/// k.
#[derive(Clone, Debug)]
pub struct Laws {
    /// E, shape (laws, n).
    pub expected: Entries,
    /// F, shape (laws, n): minus the sum that each law tests.
    pub found: Entries,
    /// M, shape (laws, laws): the inverse of the matrix of the effects of unit shifts of each law
    /// on all laws.
    pub(crate) inverse: Entries,
    /// S, shape (n, laws): effect on rows of a unit of each law's shift.
    pub shifts: Entries,
}

impl Laws {
    /// `count` laws on `n` rows, without entries.
    pub fn new(count: usize, n: usize) -> Self {
        Self {
            expected: Entries::new([count, n]),
            found: Entries::new([count, n]),
            inverse: Entries::new([count, count]),
            shifts: Entries::new([n, count]),
        }
    }

    /// Sets M on consecutive laws from `first` on.
    pub fn set_inverse(&mut self, first: usize, block: &DMatrix<f64>) {
        for (l, column) in block.column_iter().enumerate() {
            for (k, &value) in column.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                self.inverse.add(first + k, first + l, value);
            }
        }
    }

    /// The part for some rows, given their indices among `n` others; `u32::MAX` for none.
    fn at(&self, indices: &[u32], n: usize) -> Self {
        let mut of_part = Self::new(self.len(), n);
        of_part.inverse = self.inverse.clone();
        let place = |row: usize| Some(indices[row] as usize).filter(|&at| at < n);
        for (from, to) in
            [(&self.expected, &mut of_part.expected), (&self.found, &mut of_part.found)]
        {
            for (law, row, value) in from.iter() {
                if let Some(row) = place(row) {
                    to.add(law, row, value);
                }
            }
        }
        for (row, law, value) in self.shifts.iter() {
            if let Some(row) = place(row) {
                of_part.shifts.add(row, law, value);
            }
        }
        of_part
    }

    pub(crate) fn len(&self) -> usize {
        self.inverse.shape[0]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The defect of each law.
    pub fn missing(&self, x: &[f64], y: &[f64]) -> Vec<f64> {
        let mut missing = vec![0.0; self.len()];
        multiply_add(&self.expected, x, &mut missing);
        multiply_add(&self.found, y, &mut missing);
        missing
    }

    /// The sum of |x_j| over the entries of each law.
    pub(crate) fn sizes(&self, x: &[f64]) -> Vec<f64> {
        let mut sizes = vec![0.0; self.len()];
        for (law, j, _) in self.expected.iter() {
            sizes[law] += x[j].abs();
        }
        sizes
    }

    /// Shifts `y` to remove these defects.
    pub fn shift(&self, missing: &[f64], y: &mut [f64]) {
        let mut shifts = vec![0.0; self.len()];
        multiply_add(&self.inverse, missing, &mut shifts);
        multiply_add(&self.shifts, &shifts, y);
    }
}

/// y += A x.
pub fn multiply_add(a: &Entries, x: &[f64], y: &mut [f64]) {
    for (row, column, value) in a.iter() {
        y[row] += value * x[column];
    }
}
