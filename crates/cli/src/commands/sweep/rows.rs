//! The results of a run, as the checkpoint has them and as results.json lists them.

use serde::{Deserialize, Serialize};

use super::runs::Parameter;
use crate::commands::series;
use crate::report::warnings::Warning;

/// The results of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) values: Values,
    pub(super) conductors: Vec<String>,
    /// Indices of the excited conductors, one per column of the matrix.
    pub(super) excited: Vec<usize>,
    /// Names and units of [`Values::quantities`].
    pub(super) quantities: Vec<String>,
    /// Whether equations were solved; if not, it differs from another run by a factor.
    pub(super) is_solved: bool,
    /// How often near field and fast sums were set up.
    pub(super) prepared: usize,
}

/// The entry of a run in results.json.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Values {
    pub(super) maxwell_farad: Vec<Vec<f64>>,
    /// The results other than the matrix.
    pub(super) quantities: Vec<f64>,
    pub(super) triangles: usize,
    /// Warnings of self-checks.
    pub(super) warnings: Vec<Warning>,
    /// The picture of the run in the folder.
    pub(super) surface: Option<String>,
    /// Files of the probes' values.
    pub(super) probes: Vec<String>,
}

/// A run in results.json.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Listed {
    pub(super) parameters: Vec<Parameter>,
    #[serde(flatten)]
    pub(super) values: Values,
}

impl series::Row for Row {
    fn files(&self) -> Vec<String> {
        self.values.surface.iter().chain(&self.values.probes).cloned().collect()
    }
}
