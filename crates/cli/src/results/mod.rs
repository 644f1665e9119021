//! What a run leaves behind: one module a file format, and the rules of the folder they go to.

mod commit;
mod csv;
mod folder;
mod json;
mod lock;
mod probe;
mod surface;
mod table;

use std::path::Path;
use std::time::Instant;

pub(crate) use folder::Folder;
pub(crate) use json::Document;
pub(crate) use probe::{tagged, write_all as write_probe};
pub(crate) use surface::write as write_surface;
pub(crate) use table::text as table;

use crate::backend::Backend;
use crate::case::probe::Probe;
use crate::case::{Case, VtkMode};
use crate::exit::Failure;
use crate::problem::Problem;
use crate::state::More;
use crate::units::{self, LengthUnit};
use crate::{checks, interrupt};

const MAXWELL: &str = "capacitance_maxwell.csv";
const MUTUAL: &str = "capacitance_mutual.csv";
const RESIDUALS: &str = "residuals.csv";
const RESOLVED: &str = "case.resolved.toml";
const SURFACE: &str = "surface.vtu";
const REACTION: &str = "reaction_potential.csv";

/// Everything that the results are made from.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) case: &'a Case,
    pub(crate) problem: &'a Problem,
    pub(crate) answer: &'a bem::Capacitance,
    pub(crate) more: &'a More,
    pub(crate) requested: Backend,
    pub(crate) used: Backend,
    pub(crate) folder: &'a Path,
    pub(crate) started: Instant,
    pub(crate) read_seconds: f64,
}

/// The capacitance matrix in the forms that are reported, rows as they were computed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrices {
    /// C/(4 pi eps0) in the mesh's unit.
    pub(crate) maxwell_length: Vec<Vec<f64>>,
    pub(crate) maxwell_farad: Vec<Vec<f64>>,
    pub(crate) mutual_farad: Vec<Vec<f64>>,
    /// max |C_ij - C_ji| / max |C_ij|.
    pub(crate) relative_asymmetry: f64,
}

impl Matrices {
    /// Converts the solver's C/(4 pi eps), a length in the mesh's unit.
    pub(crate) fn new(over_4pi_eps: &[Vec<f64>], permittivity: f64, unit: LengthUnit) -> Self {
        let each = |rows: &[Vec<f64>], f: &dyn Fn(f64) -> f64| -> Vec<Vec<f64>> {
            rows.iter().map(|row| row.iter().map(|&value| f(value)).collect()).collect()
        };
        let maxwell_length = each(over_4pi_eps, &|length| length * permittivity);
        let maxwell_farad = each(&maxwell_length, &|length| units::farads(length, unit));
        Self {
            mutual_farad: mutual(&maxwell_farad),
            relative_asymmetry: relative_asymmetry(&maxwell_length),
            maxwell_length,
            maxwell_farad,
        }
    }
}

/// The SPICE form: capacitances between conductors, and on the diagonal those to infinity.
fn mutual(maxwell: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let row = |(i, row): (usize, &Vec<f64>)| -> Vec<f64> {
        let to_infinity: f64 = row.iter().sum();
        row.iter().enumerate().map(|(j, &c)| if i == j { to_infinity } else { -c }).collect()
    };
    maxwell.iter().enumerate().map(row).collect()
}

fn relative_asymmetry(matrix: &[Vec<f64>]) -> f64 {
    let (mut largest, mut difference) = (0.0_f64, 0.0_f64);
    for (i, row) in matrix.iter().enumerate() {
        for (j, value) in row.iter().enumerate() {
            largest = largest.max(value.abs());
            difference = difference.max((value - matrix[j][i]).abs());
        }
    }
    if largest > 0.0 { difference / largest } else { 0.0 }
}

/// The files that a run of `case` writes besides results.json.
pub(crate) fn file_names(case: &Case) -> Vec<String> {
    let mut names = vec![MAXWELL, MUTUAL, RESIDUALS, RESOLVED];
    if case.has_charges() {
        names.push(REACTION);
    }
    if case.vtk != VtkMode::None {
        names.push(SURFACE);
    }
    let names = names.into_iter().map(str::to_owned);
    names.chain(probe_files(case)).collect()
}

/// The files of the probes of `case`.
pub(crate) fn probe_files(case: &Case) -> Vec<String> {
    let files = case.probes.iter().map(Probe::file);
    files.chain(case.probes.iter().filter_map(|probe| probe.picture(case.vtk))).collect()
}

/// Writes all files and returns what results.json holds.
pub(crate) fn write(
    run: &Run<'_>,
    matrices: &Matrices,
    mut folder: Folder,
) -> Result<Document, Failure> {
    let begun = Instant::now();
    let names = &run.problem.conductors.names;
    let mark = match status(run) {
        Status::Complete => "",
        Status::NotConverged => "; NOT CONVERGED",
        Status::ChecksFailed => "; SELF-CHECKS FAILED",
    };
    let maxwell = format!("farad; Maxwell matrix: Q_i = sum_j C_ij V_j{mark}");
    folder.stage(MAXWELL, |out| csv::matrix(out, &maxwell, names, &matrices.maxwell_farad))?;
    let mutual =
        format!("farad; mutual (SPICE) form: C_ij between i and j; C_ii from i to infinity{mark}");
    folder.stage(MUTUAL, |out| csv::matrix(out, &mutual, names, &matrices.mutual_farad))?;
    folder.stage(RESIDUALS, |out| csv::residuals(out, run.case, names, &run.answer.solves))?;
    let state = run.more.state.as_ref();
    for probed in state.map_or(&[][..], |state| &state.probes) {
        interrupt::check()?;
        probe::write_all(&mut folder, run.case, probed, "")?;
    }
    if let Some(solvation) = state.and_then(|state| state.solvation.as_ref()) {
        folder
            .stage(REACTION, |out| csv::reaction(out, run.case, &run.problem.sources, solvation))?;
    }
    let resolved = run.case.resolved(folder.path(), &run.problem.conductors.resolved);
    folder.stage(RESOLVED, |out| std::io::Write::write_all(out, resolved.as_bytes()))?;
    if run.case.vtk != VtkMode::None {
        interrupt::check()?;
        folder.stage(SURFACE, |out| surface::write(out, run))?;
    }
    interrupt::check()?;

    let mut document = Document::new(run, matrices);
    document.files = folder.names();
    document.timings_s.output = Some(begun.elapsed().as_secs_f64());
    folder.commit(&document.text())?;
    Ok(document)
}

/// Whether every solve met the tolerance.
pub(crate) fn converged(answer: &bem::Capacitance) -> bool {
    answer.solves.iter().all(|solve| solve.reason == bem::StopReason::Converged)
}

/// How far the results are to be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Complete,
    NotConverged,
    ChecksFailed,
}

impl Status {
    /// The word in results.json.
    fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::NotConverged => "not_converged",
            Self::ChecksFailed => "checks_failed",
        }
    }
}

fn status(run: &Run<'_>) -> Status {
    if !converged(run.answer) {
        Status::NotConverged
    } else if checks::failed(&run.more.warnings) {
        Status::ChecksFailed
    } else {
        Status::Complete
    }
}

/// The word for a reason in all results.
pub(crate) fn reason_name(reason: bem::StopReason) -> &'static str {
    match reason {
        bem::StopReason::Converged => "converged",
        bem::StopReason::MaxIterations => "max_iterations",
        bem::StopReason::Stagnation => "stagnation",
        bem::StopReason::Breakdown => "breakdown",
        bem::StopReason::Nan => "nan",
    }
}

/// The word for the method that was used; `auto` is never left in an answer.
fn method_name(method: bem::Method) -> &'static str {
    match method {
        bem::Method::Dense => "dense",
        bem::Method::Fmm => "fmm",
        bem::Method::Auto => "auto",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutual_capacitances_of_two_conductors() {
        let maxwell = [vec![3.0, -1.0], vec![-1.5, 2.0]];
        assert_eq!(mutual(&maxwell), [vec![2.0, 1.0], vec![1.5, 0.5]]);
        assert_eq!(relative_asymmetry(&maxwell), 0.5 / 3.0);
    }

    #[test]
    fn permittivity_and_unit_enter_once() {
        let matrices = Matrices::new(&[vec![2.0]], 3.0, LengthUnit::Micrometre);
        assert_eq!(matrices.maxwell_length, [vec![6.0]]);
        assert_eq!(matrices.maxwell_farad, [vec![units::farads(6e-6, LengthUnit::Metre)]]);
        assert_eq!(matrices.mutual_farad, matrices.maxwell_farad);
    }
}
