//! Fast sums over points.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use fmm::{Densities, Kernel, Mode, Options, Potentials, Precision, Stop};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

use crate::arrays::{self, Array1, Points, Values};
use crate::choices::{backend, check_gpu, choice};
use crate::error::Failure;
use crate::run::{self, locked};

/// Potentials and gradients, those that are wanted, of float64 or float32.
type Sums<'py> = (Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// Sums as the caller wants them.
enum Found {
    Double(Vec<f64>),
    Single(Vec<f32>),
}

impl Found {
    fn of(sums: Vec<f64>, single: bool) -> Result<Self, Failure> {
        match single {
            true => arrays::narrowed(&sums).map(Self::Single),
            false => Ok(Self::Double(sums)),
        }
    }

    fn array(self, py: Python<'_>) -> Bound<'_, PyAny> {
        match self {
            Self::Double(sums) => PyArray1::from_vec(py, sums).into_any(),
            Self::Single(sums) => PyArray1::from_vec(py, sums).into_any(),
        }
    }
}

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
        Ok(Options::default()
            .kernel(Kernel::Yukawa { kappa: self.kappa })
            .tolerance(self.tolerance)
            .precision(precision.map(|word| choice("precision", word, &precisions)).transpose()?)
            .mode(choice("mode", &self.mode, &modes)?)
            .densities(self.densities.max(1))
            .gradient(self.gradient)
            .dipoles(self.dipoles)
            .backend(backend(&self.backend)?)
            .gpu(self.gpu))
    }
}

/// Charges or dipoles in double precision, all of them finite.
fn strengths<'a>(
    what: &str,
    values: Option<Values<'a>>,
) -> Result<Option<Cow<'a, [f64]>>, Failure> {
    let Some(values) = values else { return Ok(None) };
    let values = values.widened(what)?;
    match values.par_iter().all(|x| x.is_finite()) {
        true => Ok(Some(values)),
        false => Err(Failure::input("charges or dipoles are NaN or infinite")),
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
        sources: &Points,
        targets: Option<&Points>,
        choices: Choices,
    ) -> PyResult<Self> {
        let options = choices.options().map_err(|failure| failure.raise(py))?;
        let sources = Arc::clone(&sources.0);
        let targets = targets.map(|targets| Arc::clone(&targets.0));
        let (n, m) = (sources.len(), targets.as_ref().unwrap_or(&sources).len());
        let stop = Stop::default();
        let options = options.stop(Some(stop.clone()));
        let plan = run::watched(py, None, None, move |_, pool| {
            check_gpu(options.backend, options.gpu)?;
            let targets = targets.as_ref().map(|targets| &targets[..]);
            Ok(pool.install(|| fmm::Plan::new(&sources, targets, &options))?)
        })?;
        Ok(Self { plan: Mutex::new(plan), stop, sources: n, targets: m })
    }

    /// Sums of k densities: `charges` of k n values, `dipoles` of 3 k n. Potentials of k m values
    /// and gradients of 3 k m, those of the two that are wanted; rounded to float32 for `single`.
    #[pyo3(signature = (k, charges, dipoles, wanted, single))]
    fn apply<'py>(
        &self,
        py: Python<'py>,
        k: usize,
        charges: Option<Array1<'py>>,
        dipoles: Option<Array1<'py>>,
        wanted: (bool, bool),
        single: bool,
    ) -> PyResult<Sums<'py>> {
        let raise = |failure: Failure| failure.raise(py);
        let charges = charges.as_ref().map(|array| array.values(py, "charges")).transpose()?;
        let dipoles = dipoles.as_ref().map(|array| array.values(py, "dipoles")).transpose()?;
        for (what, each, values) in [("charges", 1, charges), ("dipoles", 3, dipoles)] {
            let expected = k.saturating_mul(each * self.sources);
            if let Some(found) = values.map(|v| v.len()).filter(|found| *found != expected) {
                let why = format!("{what} have {found} values, expected {expected}");
                return Err(raise(Failure::input(why)));
            }
        }
        let length = k.saturating_mul(self.targets);
        let room = |is_wanted: bool, length: usize| match is_wanted {
            true => arrays::zeros(length).map(Some).map_err(raise),
            false => Ok(None),
        };
        let mut potentials = room(wanted.0, length)?;
        let mut gradients = room(wanted.1, length.saturating_mul(3))?;
        let sums = run::summed(py, move |ending| {
            let (pool, mut plan) = (run::pool(None)?, ending.turn(&self.plan)?);
            let plan = &mut *plan;
            ending.sum(&pool, &self.stop, || {
                let charges = strengths("charges", charges)?;
                let dipoles = strengths("dipoles", dipoles)?;
                if k > 0 {
                    let densities =
                        Densities { charges: charges.as_deref(), dipoles: dipoles.as_deref() };
                    let out = Potentials {
                        potential: potentials.as_deref_mut(),
                        gradient: gradients.as_deref_mut(),
                    };
                    plan.apply(densities, out)?;
                }
                drop((charges, dipoles));
                let found = |sums: Vec<f64>| Found::of(sums, single);
                Ok((potentials.map(found).transpose()?, gradients.map(found).transpose()?))
            })
        })?;
        let array = |found: Found| found.array(py);
        Ok((sums.0.map(array), sums.1.map(array)))
    }

    /// Properties of the plan.
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
