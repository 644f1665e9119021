//! Input of results: a run, how it ended, and how far to trust it.

use std::path::Path;
use std::time::Instant;

use farad::{CapacitanceMatrix, Goal, Level, MANY, Outcome, Problem, Reduced, Solution};

use crate::case::Case;
use crate::report::units;

/// Everything that the results are made from.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) case: &'a Case,
    pub(crate) problem: &'a Problem,
    pub(crate) solution: &'a Solution,
    pub(crate) requested: fmm::Backend,
    pub(crate) used: fmm::Backend,
    /// Whether all is the same to the bit each time.
    pub(crate) deterministic: bool,
    /// How the mesh came about, if an accuracy was asked for.
    pub(crate) refinement: Option<&'a Refinement<'a>>,
    pub(crate) folder: &'a Path,
    /// Pieces of the surface, one of each rank; `None` where it is one file.
    pub(crate) pieces: Option<usize>,
    pub(crate) started: Instant,
    pub(crate) read_seconds: f64,
    /// Whether a page is made of them.
    pub(crate) has_page: bool,
}

impl Run<'_> {
    /// The matrix, with bars as they are written.
    pub(super) fn capacitance(&self) -> CapacitanceMatrix {
        let mut found = self.solution.capacitance();
        if let Some(bars) = &mut found.bars {
            let all = [&mut bars.maxwell_farad, &mut bars.mutual_farad, &mut bars.maxwell_length];
            all.into_iter().for_each(|bars| shorten(bars));
        }
        found
    }

    /// The reduced matrices of the case, with bars as they are written.
    pub(super) fn reduced(&self) -> Vec<Reduced> {
        let mut reduced = self.solution.reduced();
        reduced.iter_mut().filter_map(|found| found.bars.as_mut()).for_each(|bars| shorten(bars));
        reduced
    }

    /// Whether only some of the conductors were excited.
    pub(super) fn is_of_chosen(&self) -> bool {
        self.solution.columns.len() < self.problem.conductors().names.len()
    }
}

/// The way to an accuracy.
#[derive(Debug)]
pub(crate) struct Refinement<'a> {
    pub(crate) goal: &'a Goal,
    pub(crate) levels: Vec<Level>,
    pub(crate) ended: Outcome,
}

/// Leaves the bars of many conductors three digits.
fn shorten(bars: &mut [Vec<f64>]) {
    if bars.len() > MANY {
        bars.iter_mut().flatten().for_each(|bar| *bar = units::three_digits(*bar));
    }
}

/// How far the results are to be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Complete,
    NotConverged,
    ChecksFailed,
    AccuracyNotReached,
}

impl Status {
    /// The word in results.json.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::NotConverged => "not_converged",
            Self::ChecksFailed => "checks_failed",
            Self::AccuracyNotReached => "accuracy_not_reached",
        }
    }
}

/// How far the results of a run are to be trusted, in the word of results.json.
pub(crate) fn status_name(run: &Run<'_>) -> &'static str {
    status(run).name()
}

pub(super) fn status(run: &Run<'_>) -> Status {
    if !run.solution.converged() {
        Status::NotConverged
    } else if run.solution.failed_checks() {
        Status::ChecksFailed
    } else if run.refinement.is_some_and(|refinement| refinement.ended != Outcome::Reached) {
        Status::AccuracyNotReached
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
