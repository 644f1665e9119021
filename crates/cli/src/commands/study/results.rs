//! The results of a study: its meshes, and each number with its limit.

use bem::convergence::Range;
use farad::{MeshValues, Problem, Solution, Unit, Verdict};
use serde::{Deserialize, Serialize};

use crate::commands::series;
use crate::report::warnings::{self, Warning};

/// What results.json lists of a study.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Results {
    /// "flat", "curved", "spheres", "graded" or, of molecules' surfaces, "remade".
    pub(super) refinement: &'static str,
    pub(super) meshes: Vec<MeshResult>,
    /// The mesh that failed, and why; those before it are reported.
    pub(super) failed: Option<Failed>,
    pub(super) entries: Vec<Entry>,
}

/// A mesh without results.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Failed {
    pub(super) triangles: usize,
    pub(super) message: String,
}

/// What results.json lists of a mesh.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MeshResult {
    pub(super) triangles: usize,
    /// Element size relative to that of the first mesh.
    pub(super) relative_size: f64,
    pub(super) iterations: usize,
    pub(super) warnings: Vec<Warning>,
}

/// The results on one mesh.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) mesh: MeshResult,
    pub(super) values: MeshValues,
}

impl series::Row for Row {}

impl Row {
    /// Of the solution on the mesh that was refined `level` times.
    pub(super) fn new(level: usize, problem: &Problem, solution: &Solution) -> Self {
        let solves = solution.answer.solves.iter();
        let mesh = MeshResult {
            triangles: problem.mesh().triangles.len(),
            relative_size: 0.5f64.powi(level as i32),
            iterations: solves.map(|solve| solve.iterations).max().unwrap_or(0),
            warnings: warnings::of(solution),
        };
        Self { mesh, values: MeshValues::new(problem, solution) }
    }
}

/// One number of the result on all meshes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) unit: Unit,
    pub(super) values: Vec<f64>,
    /// Error bar of each value, of its mesh alone; null where there is none.
    pub(super) bars: Vec<Option<f64>>,
    /// Error of each value that does not come from the mesh.
    pub(super) solver_error: f64,
    pub(super) range: &'static str,
    pub(super) order: Option<f64>,
    pub(super) extrapolated: f64,
    /// `None` where the values support no estimate.
    pub(super) error: Option<f64>,
}

impl From<farad::Entry> for Entry {
    fn from(found: farad::Entry) -> Self {
        Self {
            name: found.key.to_string(),
            unit: found.unit,
            values: found.values,
            bars: found.bars,
            solver_error: found.solver_error,
            range: word(found.verdict),
            order: found.order,
            extrapolated: found.extrapolated,
            error: found.error,
        }
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Of(Range::Asymptotic) => "asymptotic",
        Verdict::Of(Range::Noise) => "noise",
        Verdict::Of(Range::Constant) => "constant",
        Verdict::Of(Range::Oscillating) => "oscillating",
        Verdict::Of(Range::Slow) => "slow",
        Verdict::Of(Range::Unsettled) => "unsettled",
        Verdict::TooFewMeshes => "too few meshes",
        Verdict::UnresolvedGap => "unresolved gap",
    }
}
