//! Fast sums over points.

use std::sync::Mutex;

use fmm::{Densities, Kernel, Mode, Options, Potentials, Precision, Stop};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays;
use crate::error::Failure;
use crate::problem::{backend, check_gpu, choice};
use crate::run::{self, locked};

/// Potentials and gradients, those that are wanted.
type Sums<'py> = (Option<Bound<'py, PyArray1<f64>>>, Option<Bound<'py, PyArray1<f64>>>);

/// Choices for a plan.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
struct Choices {
    tolerance: f64,
    kappa: f64,
    precision: Option<String>,
    mode: String,
    densities: usize,
    gradient: bool,
    dipoles: bool,
    backend: String,
    gpu: usize,
}

impl Choices {
    fn options(&self) -> Result<Options, Failure> {
        let precisions = [("single", Precision::Single), ("double", Precision::Double)];
        let precision = self.precision.as_ref();
        let modes = [
            ("auto", Mode::Auto),
            ("fmm", Mode::Fmm),
            ("treecode", Mode::Treecode),
            ("direct", Mode::Direct),
        ];
        Ok(Options {
            kernel: Kernel::Yukawa { kappa: self.kappa },
            tolerance: self.tolerance,
            precision: precision.map(|word| choice("precision", word, &precisions)).transpose()?,
            mode: choice("mode", &self.mode, &modes)?,
            densities: self.densities.max(1),
            gradient: self.gradient,
            dipoles: self.dipoles,
            backend: backend(&self.backend)?,
            gpu: self.gpu,
            ..Options::default()
        })
    }
}

/// A sum whose geometry has been processed.
#[pyclass(frozen, module = "farad._farad")]
pub(crate) struct Plan {
    plan: Mutex<fmm::Plan>,
    /// Ends the sum that runs.
    stop: Stop,
    sources: usize,
    targets: usize,
}

#[pymethods]
impl Plan {
    #[new]
    #[pyo3(signature = (sources, targets, choices))]
    fn new(
        py: Python<'_>,
        sources: PyReadonlyArray2<'_, f64>,
        targets: Option<PyReadonlyArray2<'_, f64>>,
        choices: Choices,
    ) -> PyResult<Self> {
        let options = choices.options().map_err(|failure| failure.raise(py))?;
        let sources = arrays::points(py, "sources", &sources)?;
        let targets = match &targets {
            Some(targets) => Some(arrays::points(py, "targets", targets)?),
            None => None,
        };
        let (n, m) = (sources.len(), targets.map_or(sources.len(), <[_]>::len));
        let (sources, targets) = (sources.to_vec(), targets.map(<[_]>::to_vec));
        let stop = Stop::default();
        let options = Options { stop: Some(stop.clone()), ..options };
        let plan = run::watched(py, None, None, move |_, pool| {
            check_gpu(options.backend, options.gpu)?;
            Ok(pool.install(|| fmm::Plan::new(&sources, targets.as_deref(), &options))?)
        })?;
        Ok(Self { plan: Mutex::new(plan), stop, sources: n, targets: m })
    }

    /// Sums of k densities: `charges` of k n values, `dipoles` of 3 k n. Potentials of k m values
    /// and gradients of 3 k m.
    #[pyo3(signature = (k, charges, dipoles, potential, gradient))]
    fn apply<'py>(
        &self,
        py: Python<'py>,
        k: usize,
        charges: Option<PyReadonlyArray1<'py, f64>>,
        dipoles: Option<PyReadonlyArray1<'py, f64>>,
        potential: bool,
        gradient: bool,
    ) -> PyResult<Sums<'py>> {
        let wrong = |why: String| Failure::input(why).raise(py);
        let not_contiguous = |what: &str| wrong(format!("{what} are not contiguous"));
        let read = charges.as_ref().map(|charges| charges.as_slice()).transpose();
        let charges = read.map_err(|_| not_contiguous("charges"))?;
        let read = dipoles.as_ref().map(|dipoles| dipoles.as_slice()).transpose();
        let dipoles = read.map_err(|_| not_contiguous("dipoles"))?;
        for (what, each, values) in [("charges", 1, charges), ("dipoles", 3, dipoles)] {
            let expected = k.saturating_mul(each * self.sources);
            if let Some(found) = values.map(<[_]>::len).filter(|found| *found != expected) {
                return Err(wrong(format!("{what} have {found} values, expected {expected}")));
            }
        }
        let length = k.saturating_mul(self.targets);
        let room = |is_wanted: bool, length: usize| match is_wanted {
            true => arrays::zeros(length).map(Some).map_err(|failure| failure.raise(py)),
            false => Ok(None),
        };
        let potentials = room(potential, length)?;
        let gradients = room(gradient, length.saturating_mul(3))?;
        let sums = run::summed(py, move |ending| {
            let finite = |values: &[f64]| values.iter().all(|x| x.is_finite());
            if !charges.is_none_or(finite) || !dipoles.is_none_or(finite) {
                return Err(Failure::input("charges or dipoles are NaN or infinite"));
            }
            let (mut potentials, mut gradients) = (potentials, gradients);
            if k > 0 {
                let (pool, mut plan) = (run::pool(None)?, ending.turn(&self.plan)?);
                let plan = &mut *plan;
                let densities = Densities { charges, dipoles };
                let out = Potentials {
                    potential: potentials.as_deref_mut(),
                    gradient: gradients.as_deref_mut(),
                };
                ending.sum(&self.stop, || Ok(pool.install(|| plan.apply(densities, out))?))?;
            }
            Ok([potentials, gradients])
        })?;
        let [potentials, gradients] = sums.map(|values| values.map(|v| PyArray1::from_vec(py, v)));
        Ok((potentials, gradients))
    }

    /// What the plan resolved to.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = py.detach(|| locked(&self.plan).info().clone());
        let found = PyDict::new(py);
        let precision = info.precision.map(|precision| match precision {
            Precision::Single => "single",
            Precision::Double => "double",
        });
        found.set_item("precision", precision)?;
        found.set_item("mode", format!("{:?}", info.mode).to_lowercase())?;
        found.set_item("backend", format!("{:?}", info.backend).to_lowercase())?;
        found.set_item("truncation_number", info.truncation_number)?;
        found.set_item("leaf_size", info.leaf_size)?;
        found.set_item("depth", info.depth)?;
        found.set_item("pairs", info.p2p_pairs)?;
        found.set_item("setup_seconds", info.setup_seconds)?;
        found.set_item("memory_bytes", info.memory_bytes)?;
        Ok(found)
    }
}
