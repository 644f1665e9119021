//! Values of results.json, which an older version of the program may have written: what is not
//! there is nothing.

use serde_json::Value;

/// A number; what JSON has no number for is null.
pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

/// A number to six digits.
pub(super) fn plain(value: &Value) -> String {
    super::numbers::plain(number(value).unwrap_or(f64::NAN))
}

/// A text, or none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The elements of a list, or none.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn texts(value: &Value) -> Vec<String> {
    list(value).iter().map(|value| text(value).to_owned()).collect()
}

/// Numbers, NaN for those that are missing.
pub(super) fn numbers(value: &Value) -> Vec<f64> {
    list(value).iter().map(|value| number(value).unwrap_or(f64::NAN)).collect()
}

/// A matrix of this number of rows and columns; `None` if it is not there or has another shape.
pub(super) fn matrix(value: &Value, [rows, columns]: [usize; 2]) -> Option<Vec<Vec<f64>>> {
    let found: Vec<Vec<f64>> = list(value).iter().map(numbers).collect();
    (found.len() == rows && found.iter().all(|row| row.len() == columns)).then_some(found)
}

/// A count, "1,200".
pub(super) fn count(value: &Value) -> Option<String> {
    value.as_u64().map(crate::units::count)
}
