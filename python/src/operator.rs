//! Layer operators of a mesh.

use std::sync::{Arc, Mutex};

use bem::{FunctionSpace, LinearOperator, OperatorOptions, Test};
use fmm::Stop;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::arrays::{self, Array1};
use crate::choices::{backend, check_gpu};
use crate::error::Failure;
use crate::run;
use crate::surface::Mesh;

/// The triangles of a mesh as the domain of operators.
#[pyclass(frozen, module = "farad._farad")]
pub(crate) struct Surface(Arc<bem::Surface>);

/// One of them, for one product at a time.
#[pyclass(frozen, module = "farad._farad")]
pub(crate) struct Operator {
    operator: Mutex<bem::Operator<'static>>,
    /// Ends the product that is taken.
    stop: Stop,
    /// Rows and columns.
    shape: (usize, usize),
}

/// Most vectors that are multiplied together: products can be interrupted after each such group,
/// and memory per vector is needed for one group only.
const FEW: usize = 32;

/// Choices for an operator.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
struct Choices {
    tolerance: f64,
    columns: usize,
    kappa: f64,
    backend: String,
    gpu: usize,
}

fn space(what: &str, word: &str) -> Result<FunctionSpace, Failure> {
    match word {
        "constant" => Ok(FunctionSpace::Constant),
        "linear" => Ok(FunctionSpace::Linear),
        other => Err(Failure::input(format!(
            "{what} is \"{other}\"; it must be \"constant\" or \"linear\""
        ))),
    }
}

fn test(word: &str) -> Result<Test, Failure> {
    match word {
        "centroids" => Ok(Test::Centroids),
        "constant" | "linear" => Ok(Test::Means(space("test", word)?)),
        other => Err(Failure::input(format!(
            "test is \"{other}\"; it must be \"constant\", \"linear\" or \"centroids\""
        ))),
    }
}

#[pymethods]
impl Surface {
    #[new]
    fn new(py: Python<'_>, mesh: &Mesh) -> PyResult<Self> {
        let mesh = Arc::clone(&mesh.mesh);
        run::watched(py, None, None, move |_, pool| {
            if mesh.triangles.is_empty() {
                return Err(Failure::input("the mesh has no triangles"));
            }
            mesh.validate()?;
            let defects = mesh::check::Defects::of(&mesh);
            if !defects.is_empty() {
                return Err(Failure::input(format!("the mesh has defects:\n{defects}")));
            }
            Ok(Self(Arc::new(pool.install(|| bem::Surface::new(&mesh)))))
        })
    }

    fn dimension(&self, py: Python<'_>, space: &str) -> PyResult<usize> {
        let space = self::space("space", space).map_err(|failure| failure.raise(py))?;
        Ok(self.0.dimension(space))
    }

    /// Integrals of the functions of a space.
    fn weights<'py>(&self, py: Python<'py>, space: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let space = self::space("space", space).map_err(|failure| failure.raise(py))?;
        Ok(PyArray1::from_vec(py, self.0.weights(space)))
    }

    /// The mesh's vertices that coefficients of linear functions belong to.
    #[getter]
    fn vertices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.0.vertices())
    }

    /// `kind` is single, double, adjoint or mass.
    fn operator(
        &self,
        py: Python<'_>,
        kind: &str,
        spaces: (String, String),
        choices: Choices,
    ) -> PyResult<Operator> {
        let surface = Arc::clone(&self.0);
        let raise = |failure: Failure| failure.raise(py);
        let test = test(&spaces.0).map_err(raise)?;
        let trial = space("trial", &spaces.1).map_err(raise)?;
        let backend = backend(&choices.backend).map_err(raise)?;
        let Choices { tolerance, columns, kappa, gpu, .. } = choices;
        let (columns, stop) = (columns.max(1), Stop::default());
        let options = OperatorOptions::default()
            .tolerance(tolerance)
            .columns(columns)
            .kernel(fmm::Kernel::Yukawa { kappa })
            .backend(backend)
            .gpu(gpu)
            .stop(Some(stop.clone()));
        let kind = kind.to_owned();
        run::watched(py, None, None, move |_, pool| {
            check_gpu(backend, gpu)?;
            let operator = pool.install(|| match &kind[..] {
                "single" => Ok(surface.single_layer_between(test, trial, &options)?),
                "double" => Ok(surface.double_layer_between(test, trial, &options)?),
                "adjoint" => Ok(surface.adjoint_double_layer_between(test, trial, &options)?),
                "mass" => Ok(surface.mass(test, trial)),
                other => Err(Failure::input(format!("there is no operator \"{other}\""))),
            })?;
            let shape = (operator.len(), operator.inputs());
            Ok(Operator { operator: Mutex::new(operator), stop, shape })
        })
    }
}

#[pymethods]
impl Operator {
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// Products with k vectors one after the other: k values of `shape[1]` to k of `shape[0]`.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        vectors: Array1<'py>,
        k: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let raise = |failure: Failure| failure.raise(py);
        let x = vectors.values(py, "vectors")?;
        let (rows, columns) = self.shape;
        if k.checked_mul(columns) != Some(x.len()) {
            return Err(raise(Failure::input("the vectors' length is not that of the operator")));
        }
        let mut y = arrays::zeros(k.saturating_mul(rows)).map_err(raise)?;
        let y = run::summed(py, move |ending| {
            if k > 0 {
                let (pool, mut operator) = (run::pool(None)?, ending.turn(&self.operator)?);
                let operator = &mut *operator;
                for first in (0..k).step_by(FEW) {
                    let few = FEW.min(k - first);
                    let x = x.part(first * columns..(first + few) * columns);
                    let y = &mut y[first * rows..(first + few) * rows];
                    ending.sum(&pool, &self.stop, || {
                        Ok(operator.apply(&x.widened("vectors")?, y, few)?)
                    })?;
                }
            }
            Ok(y)
        })?;
        Ok(PyArray1::from_vec(py, y))
    }
}
