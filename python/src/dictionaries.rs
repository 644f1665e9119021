//! Dictionaries of Python.

use farad::Level;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A dictionary of these items.
macro_rules! dictionary {
    ($py:ident: $($key:literal => $value:expr),+ $(,)?) => {{
        let dictionary = PyDict::new($py);
        $(dictionary.set_item($key, $value)?;)+
        Ok(dictionary)
    }};
}

pub(crate) use dictionary;

/// Results on one mesh.
pub(crate) fn level<'py>(py: Python<'py>, level: &Level) -> PyResult<Bound<'py, PyDict>> {
    dictionary!(py:
        "triangles" => level.triangles,
        "worst" => level.name(),
        "value" => level.value,
        "error" => level.bar,
        "unit" => level.unit(),
        "relative" => level.relative,
        "tolerance" => level.tolerance,
        "seconds" => level.seconds,
    )
}
