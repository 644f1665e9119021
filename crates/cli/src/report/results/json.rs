//! `results.json`: the whole outcome of a run for other programs. Every key is always there; what
//! is absent is null.

use serde::Serialize;

use farad::{CapacitanceMatrix, Medium, Record, Reduced};

use super::run::{self, Run, reason_name, status};
use crate::case::probe_file;
use crate::machine;
use crate::report::made::Made;
use crate::report::warnings::{self, Warning};
use crate::words::Word as _;

/// Name and version of what [`Document`] looks like.
const SCHEMA: &str = "farad-results/1";

/// The content of results.json.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Document {
    schema: &'static str,
    status: &'static str,
    warnings: Vec<Warning>,
    program: String,
    made: Made,
    case: String,
    title: String,
    case_text: Option<String>,
    pub(crate) files: Vec<String>,
    backend: Backend,
    mesh: Mesh,
    media: Vec<Medium>,
    refinement: Option<Refinement>,
    #[serde(flatten)]
    record: Record,
    solves: Vec<Solve>,
    solver: Solver,
    accuracy: Accuracy,
    pub(crate) timings_s: Timings,
    memory_bytes: Memory,
}

#[derive(Clone, Debug, Serialize)]
struct Backend {
    requested: &'static str,
    used: &'static str,
    /// Why `auto` took the CPU although there is enough work for a GPU.
    fallback: Option<String>,
    device: Option<String>,
    threads: usize,
    /// Vector instructions of the processor.
    simd: &'static str,
    /// Whether the same run gives the same bits.
    deterministic: bool,
}

#[derive(Clone, Debug, Serialize)]
struct Mesh {
    triangles: usize,
    unit: &'static str,
    conductors: Vec<Conductor>,
}

#[derive(Clone, Debug, Serialize)]
struct Conductor {
    name: String,
    triangles: usize,
    area_m2: f64,
    closed: bool,
}

/// How the mesh came about, if an accuracy was asked for.
#[derive(Clone, Debug, Serialize)]
struct Refinement {
    accuracy: f64,
    accuracy_of: String,
    /// "reached", "time", "size", "stalled", "vanishing" or "unsolved".
    ended: &'static str,
    meshes: Vec<RefinedMesh>,
}

#[derive(Clone, Debug, Serialize)]
struct RefinedMesh {
    triangles: usize,
    /// The number with the longest bar, its value, bar and unit.
    number: String,
    value: f64,
    error: f64,
    unit: &'static str,
    relative_error: f64,
    solver_tolerance: f64,
    seconds: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Solve {
    excitation: String,
    iterations: usize,
    converged: bool,
    reason: &'static str,
    relative_residual: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Solver {
    method: &'static str,
    density: &'static str,
}

#[derive(Clone, Debug, Serialize)]
struct Accuracy {
    solver_tolerance: f64,
    fmm_tolerance: Option<f64>,
    fmm_error_sampled: Option<f64>,
    fmm_error_potential_v: Option<f64>,
    gauss_defect: Option<f64>,
}

/// Wall seconds of the parts of a run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Timings {
    pub(crate) read: f64,
    pub(crate) plan: f64,
    pub(crate) near_field: f64,
    pub(crate) solve: f64,
    pub(crate) fmm_check: f64,
    /// The error bars.
    pub(crate) error_estimate: f64,
    pub(crate) self_checks: f64,
    /// State, energies, forces, probes.
    pub(crate) evaluation: f64,
    pub(crate) matvec_mean: f64,
    pub(crate) output: Option<f64>,
    pub(crate) total: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Memory {
    peak: Option<u64>,
}

impl Document {
    /// Everything but the list of files and the time that writing them takes.
    pub(crate) fn new(
        run: &Run<'_>,
        capacitance: CapacitanceMatrix,
        reduced: Vec<Reduced>,
    ) -> Self {
        let answer = &run.solution.answer;
        let probes = run.case.description.probes.iter().map(probe_file).collect();
        Self {
            schema: SCHEMA,
            status: status(run).name(),
            warnings: warnings::of(run.solution),
            program: format!("farad {}", env!("CARGO_PKG_VERSION")),
            made: Made::now(),
            case: crate::paths::relative(run.folder, run.case.path()),
            title: run.case.title.clone(),
            case_text: run.case.text(),
            files: Vec::new(),
            backend: Backend {
                requested: run.requested.word(),
                used: run.used.word(),
                fallback: answer.fmm.as_ref().and_then(|info| info.fallback.clone()),
                device: match answer.fmm.as_ref().and_then(|info| info.gpu.as_ref()) {
                    Some(gpu) => Some(gpu.name.clone()),
                    None => machine::processor(),
                },
                threads: machine::threads(),
                simd: machine::simd(),
                deterministic: run.deterministic,
            },
            mesh: Mesh {
                triangles: run.problem.mesh().triangles.len(),
                unit: run.case.description.unit.name(),
                conductors: conductors(run),
            },
            media: media(run),
            refinement: run.refinement.map(refinement),
            record: Record::new(run.solution, capacitance, reduced, run.case.kelvin(), probes),
            solves: answer.solves.iter().map(|solve| solved(run, solve)).collect(),
            solver: Solver { method: answer.method.word(), density: run.solution.density.word() },
            accuracy: Accuracy {
                solver_tolerance: answer.tolerance,
                fmm_tolerance: answer.fmm_tolerance,
                fmm_error_sampled: answer.fmm_error_sampled,
                fmm_error_potential_v: answer.fmm_error_potential,
                gauss_defect: run.solution.gauss_defect,
            },
            timings_s: Timings {
                read: run.read_seconds,
                plan: answer.timings.plan,
                near_field: answer.timings.near_field,
                solve: answer.timings.solve,
                fmm_check: answer.timings.fmm_check,
                error_estimate: run.solution.estimate_seconds,
                self_checks: run.solution.check_seconds,
                evaluation: run.solution.evaluation_seconds,
                matvec_mean: answer.timings.matvec_mean,
                output: None,
                total: run.started.elapsed().as_secs_f64(),
            },
            memory_bytes: Memory { peak: machine::peak_memory() },
        }
    }

    /// The text of the file.
    pub(crate) fn text(&self) -> String {
        crate::report::json::text(self)
    }
}

fn conductors(run: &Run<'_>) -> Vec<Conductor> {
    let square = run.case.description.unit.metres().powi(2);
    let described = run.problem.conductors().summaries.iter();
    described
        .map(|summary| Conductor {
            name: summary.name.clone(),
            triangles: summary.triangles,
            area_m2: summary.area * square,
            closed: summary.closed,
        })
        .collect()
}

/// The surrounding medium, then the dielectrics; layers where surfaces are in several.
fn media(run: &Run<'_>) -> Vec<Medium> {
    let medium = |name: String, relative_permittivity| Medium {
        name,
        relative_permittivity,
        kappa: 0.0,
        triangles: 0,
    };
    let layers = run.problem.layers();
    if layers.len() > 1 {
        let layer = |(layer, permittivity)| medium(format!("layer {layer}"), permittivity);
        return layers.into_iter().map(layer).collect();
    }
    let permittivity = run.problem.description().relative_permittivity;
    run.problem.media().map_or_else(
        || vec![medium(farad::SURROUNDINGS.to_owned(), permittivity)],
        |media| media.summaries.clone(),
    )
}

fn refinement(found: &run::Refinement<'_>) -> Refinement {
    let mesh = |level: &farad::Level| RefinedMesh {
        triangles: level.triangles,
        number: level.name(),
        value: level.value,
        error: level.bar,
        unit: level.unit(),
        relative_error: level.relative,
        solver_tolerance: level.tolerance,
        seconds: level.seconds,
    };
    Refinement {
        accuracy: found.goal.accuracy,
        accuracy_of: found.goal.target.to_string(),
        ended: match found.ended {
            farad::Outcome::Reached => "reached",
            farad::Outcome::Time => "time",
            farad::Outcome::Size(_) => "size",
            farad::Outcome::Stalled => "stalled",
            farad::Outcome::Vanishing => "vanishing",
            farad::Outcome::Unsolved | farad::Outcome::Next(_) => "unsolved",
        },
        meshes: found.levels.iter().map(mesh).collect(),
    }
}

fn solved(run: &Run<'_>, solve: &bem::Solve) -> Solve {
    Solve {
        excitation: run.problem.excitation_name(solve.excitation),
        iterations: solve.iterations,
        converged: solve.reason == bem::StopReason::Converged,
        reason: reason_name(solve.reason),
        relative_residual: solve.relative_residual,
    }
}
