//! What a solve found, as arrays, numbers and dictionaries in SI units; lengths are in the
//! problem's unit.

use bem::StopReason;
use farad::units::EPSILON_0;
use farad::{Key, Level, Measured, Note, Remedy};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{of_points, of_rows};
use crate::surface::Mesh;

/// A matrix and its bars, if they are known.
type WithBars<'py> = (Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray2<f64>>>);

/// A solution with the problem on the mesh that it was found on.
#[pyclass(frozen, module = "farad._farad")]
pub(crate) struct Solution {
    problem: farad::Problem,
    solution: farad::Solution,
    levels: Vec<Level>,
    ended: Option<(&'static str, String)>,
}

impl Solution {
    pub(crate) fn new(
        problem: farad::Problem,
        solution: farad::Solution,
        levels: Vec<Level>,
        ended: Option<(&'static str, String)>,
    ) -> Self {
        Self { problem, solution, levels, ended }
    }

    fn names(&self) -> &[String] {
        &self.problem.conductors().names
    }

    /// Charge of each triangle over its area, C/m^2.
    fn per_area<'py>(&self, py: Python<'py>, charges: &[f64]) -> Bound<'py, PyArray1<f64>> {
        let square = self.solution.unit.metres().powi(2);
        let areas = self.problem.areas();
        PyArray1::from_iter(py, charges.iter().zip(areas).map(|(q, area)| q / (area * square)))
    }
}

/// What one mesh gave.
pub(crate) fn level<'py>(py: Python<'py>, level: &Level) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("triangles", level.triangles)?;
    found.set_item("worst", level.name())?;
    found.set_item("value", level.value)?;
    found.set_item("error", level.bar)?;
    found.set_item("unit", level.unit())?;
    found.set_item("relative", level.relative)?;
    found.set_item("tolerance", level.tolerance)?;
    found.set_item("seconds", level.seconds)?;
    Ok(found)
}

#[pymethods]
impl Solution {
    /// Names of conductors.
    #[getter]
    fn conductors(&self) -> Vec<String> {
        self.names().to_vec()
    }

    /// Names of those that were excited: the columns of matrices.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.solution.columns.iter().map(|&index| self.names()[index].clone()).collect()
    }

    /// The matrices, shape (conductors, columns), and their bars where there are any: `maxwell`,
    /// `mutual`, `maxwell_error`, `mutual_error`, `length`.
    fn matrices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (of, columns) = (self.solution.matrices(), self.solution.columns.len());
        let found = PyDict::new(py);
        found.set_item("maxwell", of_rows(py, &of.maxwell_farad, columns)?)?;
        found.set_item("mutual", of_rows(py, &of.mutual_farad, columns)?)?;
        found.set_item("length", of_rows(py, &of.maxwell_length, columns)?)?;
        if let Some(bars) = self.solution.matrix_bars() {
            found.set_item("maxwell_error", of_rows(py, &bars.maxwell_farad, columns)?)?;
            found.set_item("mutual_error", of_rows(py, &bars.mutual_farad, columns)?)?;
        }
        Ok(found)
    }

    #[getter]
    fn converged(&self) -> bool {
        self.solution.converged()
    }

    #[getter]
    fn failed_checks(&self) -> bool {
        self.solution.failed_checks()
    }

    /// What self-checks found wrong.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let told = |warning: &farad::Warning| {
            let found = PyDict::new(py);
            found.set_item("check", warning.check)?;
            found.set_item("what", &warning.what)?;
            found.set_item("value", warning.value)?;
            found.set_item("promise", warning.promise)?;
            found.set_item("is_error", warning.is_error)?;
            let remedy = warning.remedy.map_or("", |remedy| match remedy {
                Remedy::Tolerance => "; ask for a smaller tolerance",
                Remedy::Sums => {
                    "; ask for a tighter sum with fmm_tolerance, or use method=\"dense\""
                }
                Remedy::Dense => "; use method=\"dense\", or solve the parts apart",
                Remedy::Mesh => "; look at the mesh",
            });
            found.set_item("message", format!("{}{remedy}", warning.message))?;
            Ok(found)
        };
        self.solution.warnings.iter().map(told).collect()
    }

    /// What one should know of the surfaces, and whether it is routine or told by a warning.
    #[getter]
    fn notes(&self) -> Vec<(String, bool)> {
        let is_routine = |note: &Note| matches!(note, Note::Split { .. } | Note::Allowed(_));
        self.problem.notes().iter().map(|note| (note.to_string(), is_routine(note))).collect()
    }

    /// How each solve went.
    #[getter]
    fn solves<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let told = |solve: &bem::Solve| {
            let found = PyDict::new(py);
            found.set_item("excitation", self.problem.excitation_name(solve.excitation))?;
            found.set_item("iterations", solve.iterations)?;
            found.set_item("residual", solve.relative_residual)?;
            found.set_item("converged", solve.reason == StopReason::Converged)?;
            let reason = match solve.reason {
                StopReason::MaxIterations => "the iteration limit was reached",
                StopReason::Stagnation => "restarts no longer lowered the residual",
                StopReason::Breakdown => "the Krylov space was exhausted",
                StopReason::Nan => "a NaN or infinity appeared",
                StopReason::Converged => "it converged",
            };
            found.set_item("reason", reason)?;
            Ok(found)
        };
        self.solution.answer.solves.iter().map(told).collect()
    }

    /// How it was solved.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let answer = &self.solution.answer;
        let found = PyDict::new(py);
        let is_dense = answer.method == bem::Method::Dense;
        found.set_item("method", if is_dense { "dense" } else { "fmm" })?;
        let backend = answer.fmm.as_ref().map_or(fmm::Backend::Cpu, |info| info.backend);
        found.set_item(
            "backend",
            match backend {
                fmm::Backend::Cuda => "cuda",
                fmm::Backend::Hybrid => "hybrid",
                fmm::Backend::Cpu | fmm::Backend::Auto => "cpu",
            },
        )?;
        let is_linear = self.solution.density == bem::Density::Linear;
        found.set_item("density", if is_linear { "linear" } else { "constant" })?;
        found.set_item("tolerance", answer.tolerance)?;
        found.set_item("fmm_tolerance", answer.fmm_tolerance)?;
        found.set_item("fmm_error", answer.fmm_error_sampled)?;
        found.set_item("gauss_defect", self.solution.gauss_defect)?;
        found.set_item("triangles", self.problem.mesh().triangles.len())?;
        found.set_item("plan_seconds", answer.timings.plan)?;
        found.set_item("near_field_seconds", answer.timings.near_field)?;
        found.set_item("solve_seconds", answer.timings.solve)?;
        found.set_item("error_bars_seconds", self.solution.estimate_seconds)?;
        found.set_item("checks_seconds", self.solution.check_seconds)?;
        Ok(found)
    }

    /// What each mesh of a solve to an accuracy gave.
    #[getter]
    fn levels<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.levels.iter().map(|found| level(py, found)).collect()
    }

    /// Why there was no further mesh, and more words on it; none without an accuracy.
    #[getter]
    fn ended(&self) -> Option<(&'static str, String)> {
        self.ended.clone()
    }

    /// The conductors of the state; empty without one.
    #[getter]
    fn states<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let bars = self.solution.bars().map_or(&[][..], |bars| &bars.conductors);
        let state = self.solution.state.iter().flat_map(|state| &state.conductors);
        let told = |(index, of): (usize, &farad::ConductorState)| {
            let found = PyDict::new(py);
            found.set_item("name", &of.name)?;
            found.set_item("potential", of.potential_v)?;
            found.set_item("charge", of.charge_c)?;
            found.set_item("floating", of.floating)?;
            let bar = bars.get(index);
            found.set_item("potential_error", bar.map(|bar| bar.potential_v))?;
            found.set_item("charge_error", bar.map(|bar| bar.charge_c))?;
            Ok(found)
        };
        state.enumerate().map(told).collect()
    }

    #[getter]
    fn has_state(&self) -> bool {
        self.solution.state.is_some()
    }

    /// The point charges' energies in joule, potentials at each in volt; none without any.
    #[getter]
    fn solvation<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let state = self.solution.state.as_ref();
        let Some(of) = state.and_then(|state| state.solvation.as_ref()) else { return Ok(None) };
        let found = PyDict::new(py);
        found.set_item("reaction", of.energies.reaction_j)?;
        found.set_item("reaction_error", self.solution.bars().and_then(|bars| bars.reaction_j))?;
        found.set_item("coulomb", of.energies.coulomb_j)?;
        found.set_item("reaction_potential", PyArray1::from_slice(py, &of.reaction_v))?;
        found.set_item("coulomb_potential", PyArray1::from_slice(py, &of.coulomb_v))?;
        Ok(Some(found))
    }

    /// Values at probes.
    #[getter]
    fn probes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let bars = self.solution.bars().map_or(&[][..], |bars| &bars.probes);
        let names = self.problem.description().probes.iter().map(|probe| &probe.name);
        let probed = self.solution.state.iter().flat_map(|state| &state.probes);
        let told = |(index, (name, of)): (usize, (&String, &farad::Probed))| {
            let found = PyDict::new(py);
            found.set_item("name", name)?;
            found.set_item("points", of_points(py, &of.points)?)?;
            found.set_item("potential", PyArray1::from_slice(py, &of.potential))?;
            found.set_item("field", of_points(py, &of.field)?)?;
            let of_values = |values: &[f64]| {
                (values.len() == of.points.len()).then(|| PyArray1::from_slice(py, values))
            };
            let bar = bars.get(index);
            let potential = bar.and_then(|bar| of_values(&bar.potential_v));
            found.set_item("potential_error", potential)?;
            found.set_item("field_error", bar.and_then(|bar| of_values(&bar.field_v_per_m)))?;
            Ok(found)
        };
        names.zip(probed).enumerate().map(told).collect()
    }

    /// Forces and torques on bodies.
    #[getter]
    fn forces<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let bars = self.solution.bars().map_or(&[][..], |bars| &bars.forces);
        let state = self.solution.state.iter();
        let forces = state.flat_map(|state| state.forces.iter().flatten());
        let told = |(index, of): (usize, &farad::Force)| {
            let found = PyDict::new(py);
            found.set_item("name", &of.name)?;
            found.set_item("force", of.newton)?;
            found.set_item("torque", of.newton_metre)?;
            found.set_item("about", of.about)?;
            let bar = bars.get(index);
            found.set_item("force_error", bar.map(|bar| bar.newton))?;
            found.set_item("torque_error", bar.map(|bar| bar.newton_metre))?;
            Ok(found)
        };
        forces.enumerate().map(told).collect()
    }

    /// Shares of the energy in films: one for each conductor at a potential, and their bars.
    #[getter]
    fn films<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let told = |film: &farad::FilmShare| {
            let found = PyDict::new(py);
            found.set_item("name", &film.name)?;
            found.set_item("thickness", film.thickness)?;
            found.set_item("permittivity", film.relative_permittivity)?;
            found.set_item("participation", PyArray1::from_slice(py, &film.participation))?;
            found.set_item("errors", PyArray1::from_slice(py, &film.bars))?;
            Ok(found)
        };
        self.solution.films.iter().map(told).collect()
    }

    /// Derivatives of the Maxwell matrix: name, where, one matrix, or three for shifts, shares of
    /// the energy by permittivities, and the bars of both.
    #[getter]
    fn derivatives<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let told = |derivative: &farad::Derivative| {
            let found = PyDict::new(py);
            found.set_item("name", &derivative.name)?;
            found.set_item("at", derivative.at)?;
            let matrices = derivative.matrices.iter();
            let matrices: PyResult<Vec<_>> =
                matrices.map(|rows| of_rows(py, rows, rows.len())).collect();
            found.set_item("matrices", matrices?)?;
            let bars = derivative.bars.iter();
            let bars: PyResult<Vec<_>> = bars.map(|rows| of_rows(py, rows, rows.len())).collect();
            found.set_item("errors", bars?)?;
            found.set_item("participation", PyArray1::from_slice(py, &derivative.participation))?;
            let bars = PyArray1::from_slice(py, &derivative.participation_bars);
            found.set_item("participation_errors", bars)?;
            Ok(found)
        };
        self.solution.derivatives.iter().map(told).collect()
    }

    /// Polarisability over 4 pi eps0 in the cube of the unit, and its bars.
    #[getter]
    fn polarisability<'py>(&self, py: Python<'py>) -> PyResult<Option<WithBars<'py>>> {
        let Some(of) = &self.solution.polarisability else { return Ok(None) };
        let bars = self.solution.bars().and_then(|bars| bars.polarisability);
        let bars = bars.map(|bars| of_points(py, &bars)).transpose()?;
        Ok(Some((of_points(py, &of.over_4pi_eps0)?, bars)))
    }

    /// Numbers other than the matrix: name, unit, value, bar.
    #[getter]
    fn quantities(&self) -> Vec<(String, &'static str, f64, Option<f64>)> {
        let told = |(key, found): (Key, Measured)| {
            (key.to_string(), found.unit.as_str(), found.value, found.bar)
        };
        self.solution.quantities().into_iter().map(told).collect()
    }

    /// The mesh that was solved on.
    #[getter]
    fn mesh(&self) -> Mesh {
        Mesh::new(self.problem.mesh().clone(), self.solution.unit)
    }

    /// The conductor of each triangle, -1 for none.
    #[getter]
    fn conductor_of_triangle<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let of = &self.problem.conductors().of_triangle;
        PyArray1::from_iter(py, of.iter().map(|of| of.map_or(-1, i64::from)))
    }

    /// Charge density in C/m^2 of each triangle with the column's conductor at 1 V, free or all.
    fn unit_density<'py>(
        &self,
        py: Python<'py>,
        column: usize,
        free: bool,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let missing = || {
            crate::error::Failure::input(format!("there is no column {column} of charges"))
                .raise(py)
        };
        if !free {
            if let Some(all) = self.solution.all_charge.get(column) {
                return Ok(self.per_area(py, all));
            }
            if self.problem.media().is_some() {
                return Err(missing());
            }
        }
        let density = self.solution.answer.density.get(column).ok_or_else(missing)?;
        // The solver's is per permittivity and in 1/(mesh unit).
        let eps = EPSILON_0 * self.problem.description().relative_permittivity;
        let factor = eps / self.solution.unit.metres();
        Ok(PyArray1::from_iter(py, density.iter().map(|value| value * factor)))
    }

    /// Of the state in each triangle: charge density in C/m^2, free and bound and free alone, and
    /// potential in volt; none without a state.
    #[getter]
    fn state_values<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(state) = &self.solution.state else { return Ok(None) };
        let found = PyDict::new(py);
        found.set_item("charge_density", self.per_area(py, &state.charge))?;
        found.set_item("free_charge_density", self.per_area(py, &state.free_charge))?;
        if let Some(potential) = &state.potential {
            found.set_item("potential", PyArray1::from_slice(py, potential))?;
        }
        Ok(Some(found))
    }
}
