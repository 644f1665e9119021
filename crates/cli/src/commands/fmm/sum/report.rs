//! The report of a sum, its warnings, and when it is a failure.

use fmm::{Info, Span, StageSeconds};
use serde::Serialize;

use super::error::{Errors, worse};
use super::memory::MemoryTaken;
use super::ranks::OnRanks;
use crate::commands::median;
use crate::machine;
use crate::machine::backend::of_plan;
use crate::report::units;
use crate::terminal::exit::{Exit, Failure};
use crate::words::Word as _;

/// A measured error above this many tolerances is a failure: bounds that only hold on average
/// cannot explain it.
const FAR_BEYOND: f64 = 10.0;

/// The object that `--json` prints.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(super) n: usize,
    pub(super) targets: usize,
    /// How the sum was done: never `auto`.
    pub(super) mode: &'static str,
    /// `None` for points from a file.
    pub(crate) distribution: Option<&'static str>,
    pub(super) tolerance: f64,
    pub(super) precision: &'static str,
    /// Precision of the near pairs.
    pub(super) near_precision: &'static str,
    pub(super) backend: &'static str,
    /// Instruction set of the sums on a CPU.
    pub(super) simd: &'static str,
    /// Why `auto` took the CPU although there is enough work for a GPU.
    pub(super) fallback: Option<String>,
    pub(super) gpu: Option<OnGpu>,
    /// Threads of each rank.
    pub(super) threads: usize,
    /// Where several processes share the sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ranks: Option<OnRanks>,
    pub(super) p: usize,
    pub(super) mean_p_prime: f64,
    pub(super) leaf_size: usize,
    pub(super) depth: usize,
    pub(super) setup_s: f64,
    /// The median over the repetitions.
    pub(super) apply_s: f64,
    /// The first repetition, which is the first to write the plan's and the results' memory.
    pub(super) first_apply_s: f64,
    /// Times of the stages in the repetition whose time is the median.
    pub(super) stages: Stages,
    /// Stages of the last repetition, where processor cores and a GPU share the work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) timeline: Vec<StageSpan>,
    pub(super) m2l_count: u64,
    pub(super) m2l_per_box: f64,
    /// Evaluations of one box at one target, in a treecode.
    pub(super) m2p_count: u64,
    pub(super) p2p_pairs: u64,
    /// Error of the potential; with gradients the larger of the two errors; of several densities
    /// the worst; NaN (null) where a sum is no finite number.
    pub(super) relative_l2_error: f64,
    pub(super) potential_l2_error: f64,
    pub(super) gradient_l2_error: Option<f64>,
    /// How many potentials and components of gradients are no finite numbers.
    pub(super) not_finite: usize,
    /// Warnings about the sums.
    pub(super) warnings: Vec<String>,
    /// Memory of the plan between sums.
    pub(super) plan_memory_bytes: u64,
    /// Peak memory of planning and summing, without points, strengths and results.
    pub(super) working_memory_bytes: Option<u64>,
    pub(super) peak_memory_bytes: Option<u64>,
}

/// The report on a GPU.
#[derive(Clone, Debug, Serialize)]
pub(super) struct OnGpu {
    pub(super) name: String,
    /// The median over the repetitions, input and output in the GPU's memory.
    pub(super) apply_s: f64,
    /// Tree and lists, from points in the GPU's memory.
    pub(super) tree_s: f64,
    /// Multiplications and additions of M2L.
    pub(super) m2l_operations: f64,
    pub(super) close_pairs: u64,
    pub(super) boxes: u64,
    /// Memory of the plan, and the peak during planning.
    pub(super) memory_bytes: u64,
    pub(super) planning_bytes: u64,
}

/// When a stage ran, in seconds from the start of the sum.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StageSpan {
    pub(super) stage: &'static str,
    pub(super) on: &'static str,
    pub(super) begin: f64,
    pub(super) end: f64,
}

impl From<&Span> for StageSpan {
    fn from(span: &Span) -> Self {
        let on = if span.gpu { "gpu" } else { "cpu" };
        Self { stage: span.stage, on, begin: span.begin, end: span.end }
    }
}

/// On a GPU: of each stage alone; the sum as a whole overlaps them.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Stages {
    pub(super) p2m: f64,
    pub(super) m2m: f64,
    pub(super) m2l: f64,
    pub(super) l2l: f64,
    pub(super) l2p: f64,
    pub(super) m2p: f64,
    pub(super) p2p: f64,
}

impl From<StageSeconds> for Stages {
    fn from(StageSeconds { p2m, m2m, m2l, l2l, l2p, m2p, p2p, .. }: StageSeconds) -> Self {
        Self { p2m, m2m, m2l, l2l, l2p, m2p, p2p }
    }
}

/// The report of a plan.
pub(super) struct OfPlan {
    pub(super) info: Info,
    pub(super) on_ranks: Option<OnRanks>,
    pub(super) timeline: Vec<StageSpan>,
}

impl Report {
    /// The report of the `runs` of a plan for these numbers of sources and targets.
    pub(super) fn of(
        OfPlan { info, on_ranks, timeline }: OfPlan,
        [points, targets]: [usize; 2],
        tolerance: f64,
        mut runs: Vec<StageSeconds>,
        memory: &MemoryTaken,
        errors: &Errors,
    ) -> Self {
        let first_apply_s = runs[0].total;
        runs.sort_by(|a, b| a.total.total_cmp(&b.total));
        let middle = runs[(runs.len() - 1) / 2];
        let relative_l2_error = worse(errors.potential, errors.gradient.unwrap_or(0.0));
        Self {
            n: points,
            targets,
            mode: info.mode.word(),
            distribution: None,
            tolerance,
            precision: name_of(info.precision),
            near_precision: name_of(info.near_precision),
            backend: of_plan(Some(&info)).word(),
            simd: simd::Level::chosen().name(),
            fallback: info.fallback.clone(),
            gpu: info.gpu.as_ref().map(|gpu| OnGpu {
                name: gpu.name.clone(),
                apply_s: median(runs.iter().map(|run| run.device).collect()),
                tree_s: gpu.tree_seconds,
                m2l_operations: gpu.m2l_operations,
                close_pairs: gpu.close_pairs,
                boxes: gpu.boxes,
                memory_bytes: info.memory_bytes,
                planning_bytes: gpu.planning_bytes,
            }),
            threads: machine::threads(),
            ranks: on_ranks,
            p: info.truncation_number,
            mean_p_prime: info.mean_truncation_number,
            leaf_size: info.leaf_size,
            depth: info.depth,
            setup_s: info.setup_seconds,
            apply_s: middle.total,
            first_apply_s,
            stages: middle.into(),
            timeline,
            m2l_count: info.m2l_count,
            m2l_per_box: info.m2l_per_box,
            m2p_count: info.m2p_count,
            p2p_pairs: info.p2p_pairs,
            relative_l2_error,
            potential_l2_error: errors.potential,
            gradient_l2_error: errors.gradient,
            not_finite: errors.not_finite,
            warnings: warnings(relative_l2_error, tolerance, errors.not_finite),
            plan_memory_bytes: info.memory_bytes,
            working_memory_bytes: memory.working,
            peak_memory_bytes: memory.peak,
        }
    }

    /// A failure where the sums are worse than any bound that is good on average would explain;
    /// `what` says what they are.
    pub(crate) fn judge(&self, what: &str) -> Result<(), Failure> {
        if self.not_finite == 0 && self.relative_l2_error <= FAR_BEYOND * self.tolerance {
            return Ok(());
        }
        Err(Failure::with_help(
            Exit::NotConverged,
            format!("{what}: {}", self.warnings.join("; ")),
            "sum with --precision double, or all pairs with --direct; where those agree with each other and not with this, \
             please report it",
        ))
    }
}

/// The warnings for sums of this error.
pub fn warnings(error: f64, tolerance: f64, not_finite: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    if not_finite > 0 {
        warnings
            .push(format!("{} of the sums are no finite numbers", units::count(not_finite as u64)));
    }
    if error.is_nan() && not_finite == 0 {
        warnings.push(
            "the direct sums that the error is measured against are no finite numbers".to_owned(),
        );
    }
    if error > tolerance {
        let times = error / tolerance;
        warnings.push(format!(
            "the error is {error:.1e}, {times:.1} times the tolerance of {tolerance:.1e}"
        ));
    }
    warnings
}

fn name_of(precision: Option<fmm::Precision>) -> &'static str {
    match precision {
        Some(fmm::Precision::Single) => "single",
        Some(fmm::Precision::Double) | None => "double",
    }
}
