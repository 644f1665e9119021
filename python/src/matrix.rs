//! The library's texts of capacitance matrices for other programs.

use farad::Reduction;
use formats::matrices::{self, Palace, Written};
use numpy::{PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::arrays::of_rows;
use crate::error::Failure;

/// Rows of a matrix.
fn rows(matrix: &PyReadonlyArray2<'_, f64>) -> Vec<Vec<f64>> {
    matrix.as_array().rows().into_iter().map(|row| row.to_vec()).collect()
}

/// A reduction of a matrix.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wanted {
    groups: Vec<(String, Vec<String>)>,
    grounded: Vec<String>,
    floating: Vec<String>,
    between: Option<[String; 2]>,
}

/// Names, matrix and bars of a reduction; the capacitance between two nets and its bar.
type Made<'py> = (
    Vec<String>,
    Bound<'py, PyArray2<f64>>,
    Option<Bound<'py, PyArray2<f64>>>,
    Option<(f64, Option<f64>)>,
);

/// Nets joined, grounded, eliminated.
#[pyfunction]
#[pyo3(signature = (names, maxwell, errors, wanted))]
pub(crate) fn reduced<'py>(
    py: Python<'py>,
    names: Vec<String>,
    maxwell: PyReadonlyArray2<'py, f64>,
    errors: Option<PyReadonlyArray2<'py, f64>>,
    wanted: Wanted,
) -> PyResult<Made<'py>> {
    let Wanted { groups, grounded, floating, between } = wanted;
    let (maxwell, errors) = (rows(&maxwell), errors.map(|errors| rows(&errors)));
    let is_square = |rows: &Vec<Vec<f64>>| {
        rows.len() == names.len() && rows.iter().all(|row| row.len() == names.len())
    };
    if !is_square(&maxwell) || !errors.as_ref().is_none_or(is_square) {
        let why = "only a whole matrix is reduced, with a name for each row";
        return Err(Failure::input(why).raise(py));
    }
    let reduction =
        Reduction::default().groups(groups).grounded(grounded).floating(floating).between(between);
    let reducer = reduction.over(&names).map_err(|faults| {
        let all: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Failure::input(all.join("\n")).raise(py)
    })?;
    let found = reducer.apply(&maxwell, errors.as_deref());
    let is_finite = |rows: &[Vec<f64>]| rows.iter().flatten().all(|x| x.is_finite());
    let between = found.between.is_none_or(f64::is_finite);
    if is_finite(&maxwell) && !(is_finite(&found.maxwell) && between) {
        let why = "nets that float have no capacitance to the others or to ground, and so no potential; do not let them float";
        return Err(Failure::input(why).raise(py));
    }
    let count = found.nets.len();
    let bars = found.bars.map(|bars| of_rows(py, &bars, count)).transpose()?;
    let between = found.between.map(|value| (value, found.between_bar));
    Ok((found.nets, of_rows(py, &found.maxwell, count)?, bars, between))
}

/// The text of a matrix in one of the forms `matrix_market`, `spice`, `q3d`, `palace-C`,
/// `palace-Cm`, `palace-Cinv`.
#[pyfunction]
pub(crate) fn matrix_text(
    py: Python<'_>,
    form: &str,
    names: Vec<String>,
    maxwell: PyReadonlyArray2<'_, f64>,
    title: &str,
    mark: &str,
    threshold: f64,
) -> PyResult<String> {
    let wrong = |why: String| Failure::input(why).raise(py);
    let rows = rows(&maxwell);
    if rows.len() != names.len() || rows.iter().any(|row| row.len() != names.len()) {
        return Err(wrong("only a whole matrix is written, with a name for each row".to_owned()));
    }
    if !(threshold >= 0.0 && threshold.is_finite()) {
        return Err(wrong(format!("threshold is {threshold}; it must be 0 or more")));
    }
    let written = Written { title, reduction: None, mark, names: &names, maxwell_farad: &rows };
    let mut out = Vec::new();
    match form {
        "matrix_market" => matrices::matrix_market(&mut out, &written),
        "spice" => matrices::spice(&mut out, &written, threshold),
        "q3d" => matrices::q3d(&mut out, &written),
        "palace-C" => matrices::palace(&mut out, &written, Palace::Maxwell),
        "palace-Cm" => matrices::palace(&mut out, &written, Palace::Mutual),
        "palace-Cinv" => matrices::palace(&mut out, &written, Palace::Inverse),
        other => return Err(wrong(format!("there is no form \"{other}\" of matrices"))),
    }
    .map_err(|error| wrong(error.to_string()))?;
    String::from_utf8(out).map_err(|error| wrong(error.to_string()))
}
