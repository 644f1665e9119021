//! Arrays between numpy and the library.

use numpy::ndarray::ArrayView2;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::{Failure, Kind};

/// The rows of an array of shape (n, 3), contiguous in C order, without a copy.
pub(crate) fn points<'a>(
    py: Python<'_>,
    what: &str,
    array: &'a PyReadonlyArray2<'_, f64>,
) -> PyResult<&'a [[f64; 3]]> {
    let wrong = |why: &str| Failure::input(format!("{what} {why}")).raise(py);
    let (rows, is_whole) = rows_of(array).ok_or_else(|| wrong("is not contiguous in C order"))?;
    if is_whole { Ok(rows) } else { Err(wrong("is not of shape (n, 3)")) }
}

/// Rows of three and whether these are those of the array; none in another order.
pub(crate) fn rows_of<'a, T: Element>(
    array: &'a PyReadonlyArray2<'_, T>,
) -> Option<(&'a [[T; 3]], bool)> {
    let view = array.as_array();
    let (rows, rest) = view.to_slice()?.as_chunks::<3>();
    Some((rows, rest.is_empty() && view.ncols() == 3))
}

/// So many zeros, or what says that there is no room for them.
pub(crate) fn zeros(length: usize) -> Result<Vec<f64>, Failure> {
    let mut all = Vec::new();
    all.try_reserve_exact(length).map_err(|_| {
        let bytes = 8.0 * length as f64;
        let why =
            format!("results of {bytes:.1e} bytes do not fit into memory; ask for fewer at once");
        Failure::new(Kind::Memory, why)
    })?;
    all.resize(length, 0.0);
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
