//! The library's texts of capacitance matrices for other programs.

use farad::formats::{self, Palace, Written};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::error::Failure;

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
    let rows: Vec<Vec<f64>> = maxwell.as_array().rows().into_iter().map(|r| r.to_vec()).collect();
    if rows.len() != names.len() || rows.iter().any(|row| row.len() != names.len()) {
        return Err(wrong("only a whole matrix is written, with a name for each row".to_owned()));
    }
    if !(threshold >= 0.0 && threshold.is_finite()) {
        return Err(wrong(format!("threshold is {threshold}; it must be 0 or more")));
    }
    let written = Written { title, reduction: None, mark, names: &names, maxwell_farad: &rows };
    let mut out = Vec::new();
    match form {
        "matrix_market" => formats::matrix_market(&mut out, &written),
        "spice" => formats::spice(&mut out, &written, threshold),
        "q3d" => formats::q3d(&mut out, &written),
        "palace-C" => formats::palace(&mut out, &written, Palace::Maxwell),
        "palace-Cm" => formats::palace(&mut out, &written, Palace::Mutual),
        "palace-Cinv" => formats::palace(&mut out, &written, Palace::Inverse),
        other => return Err(wrong(format!("there is no form \"{other}\" of matrices"))),
    }
    .map_err(|error| wrong(error.to_string()))?;
    String::from_utf8(out).map_err(|error| wrong(error.to_string()))
}
