//! The results of a study: its meshes, and each number with its limit.

use farad::{Entry, MeshValues, Problem, Solution};
use serde::{Deserialize, Serialize};

use crate::commands::series;
use crate::report::warnings::{self, Warning};

/// The content of results.json of a study.
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

/// The entry of a mesh in results.json.
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
    /// The entry of the solution on the mesh that was refined `level` times.
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
