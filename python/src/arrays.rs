//! Arrays between numpy and the library.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use numpy::ndarray::ArrayView2;
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::error::{Failure, Kind};

/// An array of shape (n,) that is read where it is.
#[derive(FromPyObject)]
pub(crate) enum Array1<'py> {
    Double(PyReadonlyArray1<'py, f64>),
    Single(PyReadonlyArray1<'py, f32>),
}

/// An array of shape (n, 3) that is read where it is.
#[derive(FromPyObject)]
pub(crate) enum Array2<'py> {
    Double(PyReadonlyArray2<'py, f64>),
    Single(PyReadonlyArray2<'py, f32>),
}

/// Numbers in the memory of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Values<'a> {
    Double(&'a [f64]),
    Single(&'a [f32]),
}

/// Points in the memory of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rows<'a> {
    Double(&'a [[f64; 3]]),
    Single(&'a [[f32; 3]]),
}

impl Array1<'_> {
    pub(crate) fn values(&self, py: Python<'_>, what: &str) -> PyResult<Values<'_>> {
        let values = match self {
            Self::Double(array) => array.as_slice().map(Values::Double),
            Self::Single(array) => array.as_slice().map(Values::Single),
        };
        values.map_err(|_| Failure::input(format!("{what} are not contiguous")).raise(py))
    }
}

impl Array2<'_> {
    pub(crate) fn rows(&self, py: Python<'_>, what: &str) -> PyResult<Rows<'_>> {
        let wrong = |why: &str| Failure::input(format!("{what} {why}")).raise(py);
        let found = match self {
            Self::Double(array) => rows_of(array).map(|(rows, whole)| (Rows::Double(rows), whole)),
            Self::Single(array) => rows_of(array).map(|(rows, whole)| (Rows::Single(rows), whole)),
        };
        let (rows, is_whole) = found.ok_or_else(|| wrong("is not contiguous in C order"))?;
        if is_whole { Ok(rows) } else { Err(wrong("is not of shape (n, 3)")) }
    }

    /// The points as the library has its own: one pass over the array.
    pub(crate) fn points(&self, py: Python<'_>, what: &str) -> PyResult<Vec<[f64; 3]>> {
        let rows = self.rows(py, what)?;
        py.detach(|| rows.points(what)).map_err(|failure| failure.raise(py))
    }
}

impl<'a> Values<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Double(values) => values.len(),
            Self::Single(values) => values.len(),
        }
    }

    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        match self {
            Self::Double(values) => Self::Double(&values[range]),
            Self::Single(values) => Self::Single(&values[range]),
        }
    }

    pub(crate) fn at(&self, index: usize) -> f64 {
        match self {
            Self::Double(values) => values[index],
            Self::Single(values) => f64::from(values[index]),
        }
    }

    /// In double precision: where they are, or widened by the threads of the pool.
    pub(crate) fn widened(self, what: &str) -> Result<Cow<'a, [f64]>, Failure> {
        match self {
            Self::Double(values) => Ok(Cow::Borrowed(values)),
            Self::Single(values) => {
                let mut all = room(what, values.len())?;
                values.par_iter().map(|x| f64::from(*x)).collect_into_vec(&mut all);
                Ok(Cow::Owned(all))
            }
        }
    }
}

impl Rows<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Double(rows) => rows.len(),
            Self::Single(rows) => rows.len(),
        }
    }

    pub(crate) fn at(&self, index: usize) -> [f64; 3] {
        match self {
            Self::Double(rows) => rows[index],
            Self::Single(rows) => rows[index].map(f64::from),
        }
    }

    /// On the caller's thread: those of the pool may have a long sum to finish.
    fn points(&self, what: &str) -> Result<Vec<[f64; 3]>, Failure> {
        let mut all = room(what, self.len())?;
        match self {
            Self::Double(rows) => all.extend_from_slice(rows),
            Self::Single(rows) => all.extend(rows.iter().map(|row| row.map(f64::from))),
        }
        Ok(all)
    }
}

/// Points in double precision, shared by all plans of a sum.
#[pyclass(frozen, module = "farad._farad")]
pub(crate) struct Points(pub(crate) Arc<Vec<[f64; 3]>>);

#[pymethods]
impl Points {
    #[new]
    fn new(py: Python<'_>, what: &str, array: Array2<'_>) -> PyResult<Self> {
        Ok(Self(Arc::new(array.points(py, what)?)))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// Rows of three and whether these are those of the array; none in another order.
pub(crate) fn rows_of<'a, T: Element>(
    array: &'a PyReadonlyArray2<'_, T>,
) -> Option<(&'a [[T; 3]], bool)> {
    let values = array.as_slice().ok().filter(|_| array.is_c_contiguous())?;
    let (rows, rest) = values.as_chunks::<3>();
    Some((rows, rest.is_empty() && array.shape()[1] == 3))
}

/// Room for `length` values, or a failure if memory does not suffice.
fn room<T>(what: &str, length: usize) -> Result<Vec<T>, Failure> {
    let mut all = Vec::new();
    all.try_reserve_exact(length).map_err(|_| {
        let bytes = size_of::<T>() as f64 * length as f64;
        let why = format!("{what} of {bytes:.1e} bytes do not fit into memory; take fewer at once");
        Failure::new(Kind::Memory, why)
    })?;
    Ok(all)
}

/// So many zeros for results.
pub(crate) fn zeros(length: usize) -> Result<Vec<f64>, Failure> {
    let mut all = room("results", length)?;
    all.resize(length, 0.0);
    Ok(all)
}

/// Results in single precision, rounded by the threads of the pool.
pub(crate) fn narrowed(values: &[f64]) -> Result<Vec<f32>, Failure> {
    let mut all = room("results", values.len())?;
    values.par_iter().map(|x| *x as f32).collect_into_vec(&mut all);
    Ok(all)
}

/// Points as an array of shape (n, 3).
pub(crate) fn of_points<'py>(
    py: Python<'py>,
    points: &[[f64; 3]],
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_slice(py, points.as_flattened()).reshape([points.len(), 3])
}

/// A matrix given by rows of `columns` entries.
pub(crate) fn of_rows<'py>(
    py: Python<'py>,
    rows: &[Vec<f64>],
    columns: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_vec(py, rows.concat()).reshape([rows.len(), columns])
}

/// The rows as an array that is read-only and has their own memory.
///
/// # Safety
/// The rows stay where they are, and do not change, as long as `owner` lives.
pub(crate) unsafe fn borrowed<'py, T: Element + Copy>(
    rows: &[[T; 3]],
    owner: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    let wrong = |error| Failure::input(error).raise(owner.py());
    let view = ArrayView2::from_shape((rows.len(), 3), rows.as_flattened()).map_err(wrong)?;
    // SAFETY: the caller's; nobody writes, since the array is made read-only before it is seen.
    let array = unsafe { PyArray2::borrow_from_array(&view, owner.clone()) };
    array.readwrite().make_nonwriteable();
    Ok(array)
}
