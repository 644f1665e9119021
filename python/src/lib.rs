//! The extension module `farad._farad`: the library's meshes, problems, solutions, fast sums and
//! layer operators as classes of Python. What users call is in the Python modules of `farad/`,
//! which give these classes their documentation and check what is passed to them.

mod arrays;
mod choices;
mod dictionaries;
mod error;
mod matrix;
mod molecule;
mod operator;
mod problem;
mod run;
mod solution;
mod sum;
mod surface;

use pyo3::prelude::*;

/// Built by maturin from `python/`.
#[pymodule(gil_used = true)]
fn _farad(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<surface::Mesh>()?;
    module.add_class::<problem::Problem>()?;
    module.add_class::<problem::Solver>()?;
    module.add_class::<solution::Solution>()?;
    module.add_class::<arrays::Points>()?;
    module.add_class::<sum::Plan>()?;
    module.add_class::<operator::Surface>()?;
    module.add_class::<operator::Operator>()?;
    module.add_function(wrap_pyfunction!(matrix::matrix_text, module)?)?;
    module.add_function(wrap_pyfunction!(matrix::reduced, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
