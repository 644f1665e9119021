//! What runs have given: a row of the tables for each, and what all have in common.

use serde::{Deserialize, Serialize};

use super::runs::Parameter;
use crate::report::warnings::{SentWarning, Warning};

/// One run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) parameters: Vec<Parameter>,
    pub(super) maxwell_farad: Vec<Vec<f64>>,
    /// The results other than the matrix, in the order of [`Common::quantities`].
    pub(super) quantities: Vec<f64>,
    pub(super) triangles: usize,
    /// What self-checks found wrong.
    pub(super) warnings: Vec<Warning>,
    /// The picture of the run in the folder.
    pub(super) surface: Option<String>,
    /// Files of the probes' values.
    pub(super) probes: Vec<String>,
}

/// What all runs have in common, and how much work they were.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Common {
    /// `None` before the first run.
    pub(super) conductors: Option<Vec<String>>,
    /// Those of the matrix's columns.
    pub(super) excited: Vec<usize>,
    /// Names and units of the results other than the matrix.
    pub(super) quantities: Vec<String>,
    /// Runs for which equations were solved; the others differ from one of them by a factor.
    pub(super) solved: usize,
    /// How often near field and fast sums were set up: once per geometry.
    pub(super) prepared: usize,
}

impl Common {
    /// Adds runs of others.
    pub(super) fn add(&mut self, others: Self) {
        self.solved += others.solved;
        self.prepared += others.prepared;
        if self.conductors.is_none() {
            let (solved, prepared) = (self.solved, self.prepared);
            *self = Self { solved, prepared, ..others };
        }
    }
}

/// What runs have given: of one rank, in the end of all.
pub(super) struct Found {
    /// `None` for runs of other ranks.
    pub(super) rows: Vec<Option<Row>>,
    pub(super) common: Common,
}

impl Found {
    /// Nothing yet of so many runs.
    pub(super) fn none(runs: usize) -> Self {
        Self { rows: vec![None; runs], common: Common::default() }
    }
}

/// A row on its way, with the bits of its numbers: JSON has no NaN, and may round.
#[derive(Serialize, Deserialize)]
pub(super) struct Sent {
    pub(super) run: usize,
    maxwell_farad: Vec<Vec<u64>>,
    quantities: Vec<u64>,
    triangles: usize,
    warnings: Vec<SentWarning>,
    surface: Option<String>,
    probes: Vec<String>,
}

impl Sent {
    pub(super) fn of(run: usize, row: &Row) -> Self {
        let bits = |values: &Vec<f64>| values.iter().map(|value| value.to_bits()).collect();
        Self {
            run,
            maxwell_farad: row.maxwell_farad.iter().map(bits).collect(),
            quantities: bits(&row.quantities),
            triangles: row.triangles,
            warnings: row.warnings.iter().map(SentWarning::of).collect(),
            surface: row.surface.clone(),
            probes: row.probes.clone(),
        }
    }

    pub(super) fn into_row(self, parameters: Vec<Parameter>) -> Row {
        let values = |bits: Vec<u64>| bits.into_iter().map(f64::from_bits).collect();
        Row {
            parameters,
            maxwell_farad: self.maxwell_farad.into_iter().map(values).collect(),
            quantities: values(self.quantities),
            triangles: self.triangles,
            warnings: self.warnings.into_iter().map(SentWarning::into_warning).collect(),
            surface: self.surface,
            probes: self.probes,
        }
    }
}
