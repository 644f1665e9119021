//! Results of a solve, as arrays, numbers and dictionaries in SI units; lengths are in the
//! problem's unit.

use bem::StopReason;
use farad::units::EPSILON_0;
use farad::{Key, Level, Measured, Note, Remedy};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{of_points, of_rows};
use crate::dictionaries::{dictionary, level};
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

    /// Charge of each triangle over its area, C/m^2.
    fn per_area<'py>(&self, py: Python<'py>, charges: &[f64]) -> Bound<'py, PyArray1<f64>> {
        let square = self.solution.unit.metres().powi(2);
        let areas = self.problem.areas();
        PyArray1::from_iter(py, charges.iter().zip(areas).map(|(q, area)| q / (area * square)))
    }
}

/// The matrices of these rows, each with its rows' number of columns.
fn square<'py>(
    py: Python<'py>,
    matrices: &[Vec<Vec<f64>>],
) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
    matrices.iter().map(|rows| of_rows(py, rows, rows.len())).collect()
}

#[pymethods]
impl Solution {
    /// Names of conductors.
    #[getter]
    fn conductors(&self) -> Vec<String> {
        self.solution.conductors.clone()
    }

    /// Names of those that were excited: the columns of matrices.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.solution.column_names()
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

    /// Warnings of self-checks.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let one = |warning: &farad::Warning| {
            let remedy = warning.remedy.map_or("", |remedy| match remedy {
                Remedy::Tolerance => "; ask for a smaller tolerance",
                Remedy::Sums => {
                    "; ask for a tighter sum with fmm_tolerance, or use method=\"dense\""
                }
                Remedy::Dense => "; use method=\"dense\", or solve the parts apart",
                Remedy::Mesh => "; look at the mesh",
            });
            dictionary!(py:
                "check" => warning.check,
                "what" => &warning.what,
                "value" => warning.value,
                "promise" => warning.promise,
                "is_error" => warning.is_error,
                "message" => format!("{}{remedy}", warning.message),
            )
        };
        self.solution.warnings.iter().map(one).collect()
    }

    /// Notes on the surfaces, and whether each is routine rather than a warning.
    #[getter]
    fn notes(&self) -> Vec<(String, bool)> {
        let is_routine = |note: &Note| matches!(note, Note::Split { .. } | Note::Allowed(_));
        self.problem.notes().iter().map(|note| (note.to_string(), is_routine(note))).collect()
    }

    /// How each solve went.
    #[getter]
    fn solves<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let one = |solve: &bem::Solve| {
            let reason = match solve.reason {
                StopReason::MaxIterations => "the iteration limit was reached",
                StopReason::Stagnation => "restarts no longer lowered the residual",
                StopReason::Breakdown => "the Krylov space was exhausted",
                StopReason::Nan => "a NaN or infinity appeared",
                StopReason::Converged => "it converged",
            };
            dictionary!(py:
                "excitation" => self.problem.excitation_name(solve.excitation),
                "iterations" => solve.iterations,
                "residual" => solve.relative_residual,
                "converged" => solve.reason == StopReason::Converged,
                "reason" => reason,
            )
        };
        self.solution.answer.solves.iter().map(one).collect()
    }

    /// How it was solved.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (answer, solution) = (&self.solution.answer, &self.solution);
        let backend = answer.fmm.as_ref().map_or(fmm::Backend::Cpu, |info| info.backend);
        let backend = match backend {
            fmm::Backend::Cuda => "cuda",
            fmm::Backend::Hybrid => "hybrid",
            fmm::Backend::Cpu | fmm::Backend::Auto => "cpu",
        };
        let is_dense = answer.method == bem::Method::Dense;
        let is_linear = solution.density == bem::Density::Linear;
        dictionary!(py:
            "method" => if is_dense { "dense" } else { "fmm" },
            "backend" => backend,
            "density" => if is_linear { "linear" } else { "constant" },
            "tolerance" => answer.tolerance,
            "fmm_tolerance" => answer.fmm_tolerance,
            "fmm_error" => answer.fmm_error_sampled,
            "gauss_defect" => solution.gauss_defect,
            "triangles" => self.problem.mesh().triangles.len(),
            "plan_seconds" => answer.timings.plan,
            "near_field_seconds" => answer.timings.near_field,
            "solve_seconds" => answer.timings.solve,
            "error_bars_seconds" => solution.estimate_seconds,
            "checks_seconds" => solution.check_seconds,
        )
    }

    /// Results on each mesh of a solve to an accuracy.
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
        let one = |found: &farad::ConductorState| {
            dictionary!(py:
                "name" => &found.name,
                "potential" => found.potential_v,
                "charge" => found.charge_c,
                "floating" => found.floating,
                "potential_error" => found.potential_error_v,
                "charge_error" => found.charge_error_c,
            )
        };
        let state = self.solution.state.iter();
        state.flat_map(|state| &state.conductors).map(one).collect()
    }

    #[getter]
    fn has_state(&self) -> bool {
        self.solution.state.is_some()
    }

    /// The point charges' energies in joule, potentials at each in volt; none without any.
    #[getter]
    fn solvation<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let state = self.solution.state.as_ref();
        let one = |found: &farad::Solvation| {
            dictionary!(py:
                "reaction" => found.energies.reaction_j,
                "reaction_error" => found.reaction_error_j,
                "coulomb" => found.energies.coulomb_j,
                "reaction_potential" => PyArray1::from_slice(py, &found.reaction_v),
                "coulomb_potential" => PyArray1::from_slice(py, &found.coulomb_v),
            )
        };
        state.and_then(|state| state.solvation.as_ref()).map(one).transpose()
    }

    /// Values at probes.
    #[getter]
    fn probes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let one = |found: &farad::Probed| {
            let bars = found.bars.as_ref();
            let array = |values: &Vec<f64>| PyArray1::from_slice(py, values);
            dictionary!(py:
                "name" => &found.name,
                "points" => of_points(py, &found.points)?,
                "potential" => array(&found.potential),
                "field" => of_points(py, &found.field)?,
                "potential_error" => bars.map(|bars| array(&bars.potential_v)),
                "field_error" => bars.map(|bars| array(&bars.field_v_per_m)),
            )
        };
        self.solution.state.iter().flat_map(|state| &state.probes).map(one).collect()
    }

    /// Forces and torques on bodies.
    #[getter]
    fn forces<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let one = |found: &farad::Force| {
            dictionary!(py:
                "name" => &found.name,
                "force" => found.newton,
                "torque" => found.newton_metre,
                "about" => found.about,
                "force_error" => found.newton_error,
                "torque_error" => found.newton_metre_error,
            )
        };
        let state = self.solution.state.iter();
        state.flat_map(|state| state.forces.iter().flatten()).map(one).collect()
    }

    /// Shares of the energy in films: one for each conductor at a potential, and their bars.
    #[getter]
    fn films<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let one = |film: &farad::FilmShare| {
            dictionary!(py:
                "name" => &film.name,
                "thickness" => film.thickness,
                "permittivity" => film.relative_permittivity,
                "participation" => PyArray1::from_slice(py, &film.participation),
                "errors" => PyArray1::from_slice(py, &film.bars),
            )
        };
        self.solution.films.iter().map(one).collect()
    }

    /// Derivatives of the Maxwell matrix: name, where, one matrix, or three for shifts, shares of
    /// the energy by permittivities, and the bars of both.
    #[getter]
    fn derivatives<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let one = |found: &farad::Derivative| {
            dictionary!(py:
                "name" => &found.name,
                "at" => found.at,
                "matrices" => square(py, &found.matrices)?,
                "errors" => square(py, &found.bars)?,
                "participation" => PyArray1::from_slice(py, &found.participation),
                "participation_errors" => PyArray1::from_slice(py, &found.participation_bars),
            )
        };
        self.solution.derivatives.iter().map(one).collect()
    }

    /// Polarisability over 4 pi eps0 in the cube of the unit, and its bars.
    #[getter]
    fn polarisability<'py>(&self, py: Python<'py>) -> PyResult<Option<WithBars<'py>>> {
        let Some(found) = &self.solution.polarisability else { return Ok(None) };
        let bars = found.over_4pi_eps0_error.map(|bars| of_points(py, &bars)).transpose()?;
        Ok(Some((of_points(py, &found.over_4pi_eps0)?, bars)))
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

    /// Values of the state on each triangle: charge density in C/m^2, free and bound and free
    /// alone, and potential in volt; none without a state.
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
