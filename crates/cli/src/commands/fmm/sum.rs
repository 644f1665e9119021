//! One timed sum with its error, as `bench` and `eval` report it, by one process or by several.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use clap::ValueEnum;
use fmm::distributed::{self, RankInfo};
use fmm::samples::Random;
use fmm::{Densities, Info, Options, Potentials, Span, StageSeconds, direct};
use serde::Serialize;

use crate::commands::arguments::{Several, parse_count, parse_tolerance};
use crate::machine;
use crate::machine::backend::Backend;
use crate::machine::ranks::Ranks;
use crate::machine::{backend, memory};
use crate::report::units;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::interrupt;
use crate::terminal::output::Output;

/// Fixed, so that a repeated run measures the same targets.
const SAMPLE_SEED: u64 = 0x5eed;

/// A measured error above this many tolerances is a failure: bounds that only hold on average
/// cannot explain it.
const FAR_BEYOND: f64 = 10.0;

/// Options of every sum.
#[derive(Debug, clap::Args)]
#[group(id = "accuracy")]
pub(super) struct Args {
    /// Relative L2 error that the potential may have
    #[arg(long, value_name = "T", value_parser = parse_tolerance)]
    tolerance: f64,

    /// Sum exp(-K r) / r, the Yukawa kernel; K in the inverse of the unit of coordinates
    #[arg(long, value_name = "K", default_value_t = 0.0, value_parser = parse_kappa)]
    kappa: f64,
    /// Floating-point format
    #[arg(long, value_enum, default_value_t)]
    precision: Precision,
    #[command(flatten)]
    pub(super) on: backend::Args,
    #[command(flatten)]
    pub(super) several: Several,
    /// How to sum [default: bench fmm, eval auto]
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Sum all pairs: --mode direct
    #[arg(long, conflicts_with = "mode")]
    direct: bool,
    /// Most points that a leaf may hold [default: by the cost model]
    #[arg(long, value_name = "L", value_parser = parse_count)]
    leaf_size: Option<NonZeroUsize>,
    /// Compute gradients too
    #[arg(long)]
    pub(super) gradient: bool,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    threads: Option<NonZeroUsize>,
    /// Times to apply the sum; the median is reported
    #[arg(long, value_name = "R", default_value = "3", value_parser = parse_repeats)]
    repeat: NonZeroUsize,
    /// Random targets at which the error is measured; all where there are fewer
    #[arg(long, value_name = "M", default_value = "1000", value_parser = parse_count)]
    samples: NonZeroUsize,
    /// Print one JSON object to stdout, and nothing else
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Precision {
    /// Single where the tolerance allows it
    #[default]
    Auto,
    /// 32-bit
    Single,
    /// 64-bit
    Double,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// What takes the least time for so many sources and targets
    Auto,
    /// Fast multipole method
    Fmm,
    /// Treecode: for targets far fewer than sources
    Treecode,
    /// All pairs, in double precision on processors
    Direct,
}

/// The input of a sum, this rank's; shapes as in [`Densities`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a> {
    pub(super) sources: &'a [[f64; 3]],
    pub(super) targets: Option<&'a [[f64; 3]]>,
    pub(super) densities: Densities<'a>,
    /// Number of densities k.
    pub(super) count: usize,
    /// Where `--mode` says nothing.
    pub(super) mode: Mode,
}

/// The sums, shapes (k, m) and (k, m, 3), with a report.
#[derive(Debug)]
pub(super) struct Sums {
    pub(super) potential: Vec<f64>,
    pub(super) gradient: Vec<f64>,
    pub(super) report: Report,
}

/// The object that `--json` prints.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    n: usize,
    targets: usize,
    /// How the sum was done: never `auto`.
    mode: &'static str,
    /// `None` for points from a file.
    pub(super) distribution: Option<&'static str>,
    tolerance: f64,
    precision: &'static str,
    /// Of the near pairs.
    near_precision: &'static str,
    backend: &'static str,
    /// Instruction set of the sums on a CPU.
    simd: &'static str,
    /// Why `auto` took the CPU although there is enough work for a GPU.
    fallback: Option<String>,
    gpu: Option<OnGpu>,
    /// Of each rank.
    threads: usize,
    /// Where several processes share the sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<OnRanks>,
    p: usize,
    mean_p_prime: f64,
    leaf_size: usize,
    depth: usize,
    setup_s: f64,
    /// The median over the repetitions.
    apply_s: f64,
    /// The first repetition, which is the first to write the plan's and the results' memory.
    first_apply_s: f64,
    /// Of the repetition whose time is the median.
    stages: Stages,
    /// Of the last repetition, where processor cores and a GPU share the work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    timeline: Vec<StageSpan>,
    m2l_count: u64,
    m2l_per_box: f64,
    /// Of a treecode: evaluations of one box at one target.
    m2p_count: u64,
    p2p_pairs: u64,
    /// Of the potential; with gradients the larger of the two errors. Of several densities the
    /// worst; NaN (null) where a sum is no finite number.
    relative_l2_error: f64,
    potential_l2_error: f64,
    gradient_l2_error: Option<f64>,
    /// How many potentials and components of gradients are no finite numbers.
    not_finite: usize,
    /// Warnings about the sums.
    warnings: Vec<String>,
    /// What the plan holds between sums.
    plan_memory_bytes: u64,
    /// Peak memory of planning and summing, without points, strengths and results.
    working_memory_bytes: Option<u64>,
    peak_memory_bytes: Option<u64>,
}

/// The report on a GPU.
#[derive(Clone, Debug, Serialize)]
struct OnGpu {
    name: String,
    /// The median over the repetitions, input and output in the GPU's memory.
    apply_s: f64,
    /// Tree and lists, from points in the GPU's memory.
    tree_s: f64,
    /// Multiplications and additions of M2L.
    m2l_operations: f64,
    close_pairs: u64,
    boxes: u64,
    /// What the plan keeps, and the most that planning held.
    memory_bytes: u64,
    planning_bytes: u64,
}

/// How ranks share a sum; of what they differ in the largest.
#[derive(Clone, Debug, Serialize)]
struct OnRanks {
    count: usize,
    /// How messages pass: "MPI" or "threads", through the memory of the host.
    messages: &'static str,
    /// Largest work over the mean, by the cost model.
    imbalance: f64,
    /// Sources and targets that one computes with.
    points: [u64; 2],
    /// Parts of the octree that are dealt out.
    grains: usize,
    /// Other ranks' sources and multipole expansions that one gets.
    halo_sources: u64,
    halo_multipoles: u64,
    /// Sent by one in the sum of one density.
    bytes_sent: u64,
    /// Seconds that bring strengths to the ranks that hold the points, and sums back, of the last
    /// sum.
    routes_s: f64,
}

/// When a stage ran, in seconds from the start of the sum.
#[derive(Clone, Debug, Serialize)]
struct StageSpan {
    stage: &'static str,
    on: &'static str,
    begin: f64,
    end: f64,
}

impl From<&Span> for StageSpan {
    fn from(span: &Span) -> Self {
        let on = if span.gpu { "gpu" } else { "cpu" };
        Self { stage: span.stage, on, begin: span.begin, end: span.end }
    }
}

/// On a GPU: of each stage alone; the sum as a whole overlaps them.
#[derive(Clone, Debug, Serialize)]
struct Stages {
    p2m: f64,
    m2m: f64,
    m2l: f64,
    l2l: f64,
    l2p: f64,
    m2p: f64,
    p2p: f64,
}

impl From<StageSeconds> for Stages {
    fn from(StageSeconds { p2m, m2m, m2l, l2l, l2p, m2p, p2p, .. }: StageSeconds) -> Self {
        Self { p2m, m2m, m2l, l2l, l2p, m2p, p2p }
    }
}

/// Checks that the backend is there and starts the threads, before any work.
pub(super) fn prepare(args: &Args, ranks: &Ranks<'_>) -> Result<(), Failure> {
    ranks.agree(args.on.of_rank(ranks).resolve())?;
    match ranks.agree(backend::use_threads_of(ranks, args.threads))? {
        Some(note) if ranks.is_first() => Output::default().note(&note),
        _ => {}
    }
    Ok(())
}

/// More repetitions than this are refused as a mistake.
const MOST_REPEATS: usize = 1_000_000;

fn parse_repeats(text: &str) -> Result<NonZeroUsize, String> {
    match parse_count(text)? {
        count if count.get() <= MOST_REPEATS => Ok(count),
        _ => Err(format!("must be at most {MOST_REPEATS}")),
    }
}

/// Refuses sums that do not fit into memory, before anything is made for them.
pub(super) fn check_memory(
    args: &Args,
    ranks: &Ranks<'_>,
    points: usize,
    densities: usize,
    dipoles: bool,
) -> Result<(), Failure> {
    // Coordinates of points, charges and dipoles, results; the least that a plan keeps of each
    // point. One that is wholly on a GPU keeps nothing.
    let values = 2 + 3 * u64::from(dipoles) + 3 * u64::from(args.gradient);
    let on_gpu = ranks.size() == 1 && args.on.backend == Backend::Cuda;
    let planned = if on_gpu && args.mode != Some(Mode::Treecode) { 0 } else { 100 };
    let point = (densities as u64)
        .checked_mul(8 * values)
        .and_then(|bytes| bytes.checked_add(24 + planned));
    let all = point.and_then(|bytes| bytes.checked_mul(points as u64));
    let what = format!(
        "the sum of {} points and {} densities",
        units::count(points as u64),
        units::count(densities as u64)
    );
    memory::check(&what, all, None, "ask for fewer points or densities")
}

fn parse_kappa(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(kappa) if (0.0..f64::INFINITY).contains(&kappa) => Ok(kappa),
        _ => Err("must be a finite number, 0 or more".to_owned()),
    }
}

/// The options of a plan.
fn options(args: &Args, input: &Input<'_>, ranks: &Ranks<'_>) -> Result<Options, Failure> {
    let on = args.on.of_rank(ranks);
    Ok(Options {
        kernel: fmm::Kernel::Yukawa { kappa: args.kappa },
        tolerance: args.tolerance,
        precision: match args.precision {
            Precision::Auto => None,
            Precision::Single => Some(fmm::Precision::Single),
            Precision::Double => Some(fmm::Precision::Double),
        },
        densities: input.count,
        gradient: args.gradient,
        dipoles: input.densities.dipoles.is_some(),
        mode: match args.mode.unwrap_or(input.mode) {
            _ if args.direct => fmm::Mode::Direct,
            Mode::Auto => fmm::Mode::Auto,
            Mode::Fmm => fmm::Mode::Fmm,
            Mode::Treecode => fmm::Mode::Treecode,
            Mode::Direct => fmm::Mode::Direct,
        },
        leaf_size: args.leaf_size.map(NonZeroUsize::get),
        backend: on.resolve()?,
        gpu: on.gpu,
        ..Options::default()
    })
}

/// A plan for this process, or for all ranks.
enum Plan<'a> {
    Alone(Box<fmm::Plan>),
    OnRanks(Box<distributed::Plan<'a>>),
}

impl<'a> Plan<'a> {
    fn new(
        ranks: &'a Ranks<'_>,
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &Options,
    ) -> Result<Self, fmm::Error> {
        match ranks.group() {
            None => Ok(Self::Alone(Box::new(fmm::Plan::new(sources, targets, options)?))),
            Some(group) => {
                let plan = distributed::Plan::new(group, sources, targets, options)?;
                Ok(Self::OnRanks(Box::new(plan)))
            }
        }
    }

    fn apply(
        &mut self,
        densities: Densities<'_>,
        potentials: Potentials<'_>,
    ) -> Result<(), fmm::Error> {
        match self {
            Self::Alone(plan) => plan.apply(densities, potentials),
            Self::OnRanks(plan) => plan.apply(densities, potentials),
        }
    }

    fn info(&self) -> &Info {
        match self {
            Self::Alone(plan) => plan.info(),
            Self::OnRanks(plan) => plan.info(),
        }
    }

    fn rank_info(&self) -> Option<&RankInfo> {
        match self {
            Self::Alone(_) => None,
            Self::OnRanks(plan) => Some(plan.rank_info()),
        }
    }

    fn stages(&self) -> &StageSeconds {
        match self {
            Self::Alone(plan) => plan.stages(),
            Self::OnRanks(plan) => plan.stages(),
        }
    }

    fn timeline(&self) -> &[Span] {
        match self {
            Self::Alone(plan) => plan.timeline(),
            Self::OnRanks(plan) => plan.timeline(),
        }
    }
}

/// Plans, sums `args.repeat` times, and measures the error. Collective.
pub(super) fn run(args: &Args, input: &Input<'_>, ranks: &Ranks<'_>) -> Result<Sums, Failure> {
    let options = ranks.agree(options(args, input, ranks))?;
    let memory = Memory::before();
    let plan = Plan::new(ranks, input.sources, input.targets, &options);
    let mut plan = ranks.agree(plan.map_err(Failure::from))?;
    ranks.agree(interrupt::check())?;

    let targets = input.targets.unwrap_or(input.sources);
    let mut potential = vec![0.0; input.count * targets.len()];
    let mut gradient = vec![0.0; if args.gradient { 3 * potential.len() } else { 0 }];
    let mut runs: Vec<StageSeconds> = Vec::with_capacity(args.repeat.get());
    for _ in 0..args.repeat.get() {
        let outputs = Potentials {
            potential: Some(&mut potential),
            gradient: args.gradient.then_some(&mut gradient[..]),
        };
        ranks.agree(plan.apply(input.densities, outputs).map_err(Failure::from))?;
        runs.push(slowest(plan.stages(), ranks)?);
        ranks.agree(interrupt::check())?;
    }
    // Before the direct sums, which are no part of what is measured.
    let memory = memory.after((size_of_val(&potential[..]) + size_of_val(&gradient[..])) as u64);
    let errors = Errors::of(args, input, targets, (&potential, &gradient), ranks)?;
    let mut sizes = [input.sources.len() as f64, targets.len() as f64];
    ranks.sum(&mut sizes)?;
    let of_ranks = |info| OnRanks::of(info, plan.timeline(), ranks);
    let of_plan = OfPlan {
        info: of_all(plan.info(), ranks)?,
        on_ranks: plan.rank_info().map(of_ranks).transpose()?,
        timeline: plan.timeline().iter().map(StageSpan::from).collect(),
    };
    let memory = memory.largest(ranks)?;
    let sizes = sizes.map(|size| size as usize);
    let report = Report::of(of_plan, sizes, args.tolerance, runs, &memory, &errors);
    Ok(Sums { potential, gradient, report })
}

/// What a plan has to report.
struct OfPlan {
    info: Info,
    on_ranks: Option<OnRanks>,
    timeline: Vec<StageSpan>,
}

/// The times of the slowest rank, stage by stage. Collective.
fn slowest(own: &StageSeconds, ranks: &Ranks<'_>) -> Result<StageSeconds, Failure> {
    let StageSeconds { p2m, m2m, m2l, l2l, l2p, m2p, p2p, device, total } = *own;
    let mut seconds = [p2m, m2m, m2l, l2l, l2p, m2p, p2p, device, total];
    ranks.max(&mut seconds)?;
    let [p2m, m2m, m2l, l2l, l2p, m2p, p2p, device, total] = seconds;
    Ok(StageSeconds { p2m, m2m, m2l, l2l, l2p, m2p, p2p, device, total })
}

/// What the plans of all ranks resolved to together. Collective.
fn of_all(own: &Info, ranks: &Ranks<'_>) -> Result<Info, Failure> {
    let receivers = |count: f64, each: f64| if each > 0.0 { count / each } else { 0.0 };
    let m2l = own.m2l_count as f64;
    let counts = [own.p2p_pairs, own.m2p_count, own.memory_bytes].map(|count| count as f64);
    let mut sums = [m2l, receivers(m2l, own.m2l_per_box), counts[0], counts[1], counts[2]];
    let mut most = [own.depth as f64, own.setup_seconds, own.truncation_number as f64];
    ranks.sum(&mut sums)?;
    ranks.max(&mut most)?;
    let [m2l, receivers, p2p_pairs, m2p_count, memory_bytes] = sums;
    Ok(Info {
        m2l_count: m2l as u64,
        m2l_per_box: m2l / receivers.max(1.0),
        p2p_pairs: p2p_pairs as u64,
        m2p_count: m2p_count as u64,
        memory_bytes: memory_bytes as u64,
        depth: most[0] as usize,
        setup_seconds: most[1],
        truncation_number: most[2] as usize,
        ..own.clone()
    })
}

impl OnRanks {
    /// Of all ranks. Collective.
    fn of(own: &RankInfo, timeline: &[Span], ranks: &Ranks<'_>) -> Result<Self, Failure> {
        let RankInfo { points, halo_sources, halo_multipoles, bytes_sent, .. } = *own;
        let routes =
            |span: &&Span| [distributed::STRENGTHS, distributed::SUMS].contains(&span.stage);
        let mut routes_s =
            [timeline.iter().filter(routes).map(|span| span.end - span.begin).sum::<f64>()];
        ranks.max(&mut routes_s)?;
        let mut most =
            [points[0], points[1], halo_sources, halo_multipoles, bytes_sent].map(|n| n as f64);
        ranks.max(&mut most)?;
        let [sources, targets, halo_sources, halo_multipoles, bytes_sent] =
            most.map(|most| most as u64);
        Ok(Self {
            count: own.ranks,
            messages: ranks.messages(),
            imbalance: own.imbalance,
            points: [sources, targets],
            grains: own.grains,
            halo_sources,
            halo_multipoles,
            bytes_sent,
            routes_s: routes_s[0],
        })
    }
}

/// The warnings for sums of this error.
fn warnings(error: f64, tolerance: f64, not_finite: usize) -> Vec<String> {
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

/// The memory of the process before the plan was made.
struct Memory {
    resident: Option<u64>,
    peak: Option<u64>,
    /// The peak counts from here on.
    restarted: bool,
}

impl Memory {
    fn before() -> Self {
        let peak = machine::peak_memory();
        let restarted = machine::restart_peak_memory();
        Self { resident: machine::resident_memory(), peak, restarted }
    }

    /// What was taken since; `results` bytes are the caller's.
    fn after(&self, results: u64) -> MemoryTaken {
        let peak = machine::peak_memory();
        let working = match (self.restarted, peak, self.resident) {
            (true, Some(peak), Some(resident)) => Some(peak.saturating_sub(resident + results)),
            _ => None,
        };
        MemoryTaken { working, peak: self.peak.max(peak) }
    }
}

impl MemoryTaken {
    /// That of the rank that took most. Collective.
    fn largest(self, ranks: &Ranks<'_>) -> Result<Self, Failure> {
        let number = |bytes: Option<u64>| bytes.map_or(-1.0, |bytes| bytes as f64);
        let mut most = [number(self.working), number(self.peak)];
        ranks.max(&mut most)?;
        let [working, peak] = most.map(|most| (most >= 0.0).then_some(most as u64));
        Ok(Self { working, peak })
    }
}

/// Bytes; `None` where the system does not say.
struct MemoryTaken {
    /// The most that plan and sums held.
    working: Option<u64>,
    /// The most that the process ever held.
    peak: Option<u64>,
}

/// How good sums are: relative L2 errors at random targets, against direct sums in double
/// precision, of the worst density.
struct Errors {
    potential: f64,
    /// `None` without gradients.
    gradient: Option<f64>,
    /// How many of all results are no finite numbers.
    not_finite: usize,
}

impl Errors {
    /// Collective: each rank sums over its own sources, at the targets that all have drawn.
    fn of(
        args: &Args,
        input: &Input<'_>,
        targets: &[[f64; 3]],
        (potential, gradient): (&[f64], &[f64]),
        ranks: &Ranks<'_>,
    ) -> Result<Self, Failure> {
        let mut all = [targets.len() as f64];
        ranks.sum(&mut all)?;
        let share = args.samples.get() as f64 * targets.len() as f64 / f64::max(all[0], 1.0);
        let chosen = sample(targets.len(), share.ceil() as usize);
        let places: Vec<[f64; 3]> = chosen.iter().map(|&target| targets[target]).collect();
        let places = ranks.gather(&places)?.concat();
        let mut exact = vec![0.0; input.count * places.len()];
        let mut exact_gradient = vec![0.0; if args.gradient { 3 * exact.len() } else { 0 }];
        let mut outputs = Potentials {
            potential: Some(&mut exact),
            gradient: args.gradient.then_some(&mut exact_gradient[..]),
        };
        let kernel = fmm::Kernel::Yukawa { kappa: args.kappa };
        let summed = direct::sum(kernel, input.sources, &places, input.densities, &mut outputs);
        ranks.agree(summed.map_err(Failure::from))?;
        ranks.sum(&mut exact)?;
        ranks.sum(&mut exact_gradient)?;

        let worst = |values: &[f64], exact: &[f64], width: usize| -> Result<f64, Failure> {
            let mut worst = 0.0;
            for (density, exact) in exact.chunks_exact((width * places.len()).max(1)).enumerate() {
                let row = &values[density * width * targets.len()..];
                let picked = chosen.iter().flat_map(|&t| &row[width * t..width * (t + 1)]);
                let picked: Vec<f64> = picked.copied().collect();
                worst = worse(worst, relative_l2(&ranks.gather(&picked)?.concat(), exact));
            }
            Ok(worst)
        };
        let of_gradient = args.gradient.then(|| worst(gradient, &exact_gradient, 3));
        let mut not_finite =
            [potential.iter().chain(gradient).filter(|v| !v.is_finite()).count() as f64];
        ranks.sum(&mut not_finite)?;
        Ok(Self {
            potential: worst(potential, &exact, 1)?,
            gradient: of_gradient.transpose()?,
            not_finite: not_finite[0] as usize,
        })
    }
}

/// The middle one, the lower of two.
fn median_of(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) / 2]
}

/// Distinct indices below `count`: `samples` random ones, or all. The first of a shuffle, of which
/// only what was moved is stored.
fn sample(count: usize, samples: usize) -> Vec<usize> {
    if count <= samples {
        return (0..count).collect();
    }
    let mut random = Random::new(SAMPLE_SEED);
    let mut moved = HashMap::<usize, usize>::new();
    let one = |place: usize| {
        let other = place + random.below(count - place);
        let here = moved.get(&place).copied().unwrap_or(place);
        moved.insert(other, here).unwrap_or(other)
    };
    (0..samples).map(one).collect()
}

/// The larger of two errors; NaN is worse than any.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// Relative to the largest of all, so that squares neither overflow nor vanish; NaN if any value is
/// no finite number.
fn relative_l2(values: &[f64], exact: &[f64]) -> f64 {
    let both = values.iter().chain(exact);
    let most = both.fold(0.0, |most, v| worse(most, v.abs()));
    if most == 0.0 {
        return 0.0;
    }
    let norm = |squares: f64| squares.sqrt();
    let squares = |a: f64, b: f64| (a / most - b / most).powi(2);
    let difference = norm(values.iter().zip(exact).map(|(&a, &b)| squares(a, b)).sum());
    let size = norm(exact.iter().map(|&b| squares(b, 0.0)).sum());
    if difference == 0.0 { 0.0 } else { difference / size }
}

impl Report {
    /// The report of the `runs` of a plan for so many sources and targets.
    fn of(
        OfPlan { info, on_ranks, timeline }: OfPlan,
        [points, targets]: [usize; 2],
        tolerance: f64,
        mut runs: Vec<StageSeconds>,
        memory: &MemoryTaken,
        errors: &Errors,
    ) -> Self {
        let first_apply_s = runs[0].total;
        runs.sort_by(|a, b| a.total.total_cmp(&b.total));
        let median = runs[(runs.len() - 1) / 2];
        let relative_l2_error = worse(errors.potential, errors.gradient.unwrap_or(0.0));
        Self {
            n: points,
            targets,
            mode: match info.mode {
                fmm::Mode::Fmm | fmm::Mode::Auto => "fmm",
                fmm::Mode::Treecode => "treecode",
                fmm::Mode::Direct => "direct",
            },
            distribution: None,
            tolerance,
            precision: name_of(info.precision),
            near_precision: name_of(info.near_precision),
            backend: Backend::of_plan(&info).name(),
            simd: simd::Level::chosen().name(),
            fallback: info.fallback.clone(),
            gpu: info.gpu.as_ref().map(|gpu| OnGpu {
                name: gpu.name.clone(),
                apply_s: median_of(runs.iter().map(|run| run.device).collect()),
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
            apply_s: median.total,
            first_apply_s,
            stages: median.into(),
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
    pub(super) fn judge(&self, what: &str) -> Result<(), Failure> {
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

    /// One line of JSON.
    pub(super) fn json(&self) -> String {
        // Only maps with strange keys can fail, and there are none here.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The same for people.
    pub(super) fn text(&self) -> String {
        let Stages { p2m, m2m, m2l, l2l, l2p, m2p, p2p } = self.stages;
        let targets = if self.targets == self.n {
            String::new()
        } else {
            format!(" at {} targets", units::count(self.targets as u64))
        };
        let (evaluated, evaluation) = if self.mode == "treecode" {
            (format!(", {} M2P", units::count(self.m2p_count)), format!(", M2P {m2p:.4}"))
        } else {
            Default::default()
        };
        let points = self.distribution.map_or_else(String::new, |name| format!(" ({name})"));
        let memory = self.peak_memory_bytes.map_or("not known".to_owned(), units::bytes);
        let near = if self.near_precision == self.precision {
            String::new()
        } else {
            format!(" (near pairs {})", self.near_precision)
        };
        let of_gradient = self.gradient_l2_error.map_or_else(String::new, |error| {
            format!("; potential {:.2e}, gradient {error:.2e}", self.potential_l2_error)
        });
        let per_second = self.n as f64 / self.apply_s;
        let first = if self.first_apply_s > self.apply_s {
            format!("; the first {}", units::duration(self.first_apply_s))
        } else {
            String::new()
        };
        let gpu = self.gpu.as_ref().map_or_else(String::new, |gpu| {
            format!(
                "\n gpu      {}: {} with data in its memory, tree and lists {}\n\
                 \x20          {} of its memory, {} while it was planned",
                gpu.name,
                units::duration(gpu.apply_s),
                units::duration(gpu.tree_s),
                units::bytes(gpu.memory_bytes),
                units::bytes(gpu.planning_bytes),
            )
        });
        let ranks = self.ranks.as_ref().map_or_else(String::new, |ranks| {
            format!(
                "\n  ranks    {}, messages by {} through the host's memory; the busiest {:.2} times the mean\n\
                 \x20          most of one: {} sources and {} expansions of others, {} sent for each density\n\
                 \x20          strengths to their ranks and sums back {}",
                ranks.count,
                ranks.messages,
                ranks.imbalance,
                units::count(ranks.halo_sources),
                units::count(ranks.halo_multipoles),
                units::bytes(ranks.bytes_sent),
                units::duration(ranks.routes_s),
            )
        });
        let warnings: String = self.warnings.iter().map(|w| format!("\n  warning  {w}")).collect();
        format!(
            "{} points{points}{targets}, {}, {} precision{near}, {} with {} threads\n\
             \x20 tree     depth {}, leaves of at most {}\n\
             \x20 orders   p = {}, mean p' = {:.2}\n\
             \x20 pairs    {} M2L ({:.1} per box){evaluated}, {} P2P\n\
             \x20 setup    {}\n\
             \x20 apply    {} ({per_second:.2e} points/s{first})\n\
             \x20          P2M {p2m:.4}, M2M {m2m:.4}, M2L {m2l:.4}, L2L {l2l:.4}, L2P {l2p:.4}{evaluation}, P2P {p2p:.4} s\n\
             \x20 error    {:.2e} relative L2 against direct sums (asked for {:.1e}){of_gradient}\n\
             \x20 memory   {memory} at the peak{gpu}{ranks}{warnings}",
            units::count(self.n as u64),
            self.mode,
            self.precision,
            self.backend,
            self.threads,
            self.depth,
            self.leaf_size,
            self.p,
            self.mean_p_prime,
            units::count(self.m2l_count),
            self.m2l_per_box,
            units::count(self.p2p_pairs),
            units::duration(self.setup_s),
            units::duration(self.apply_s),
            self.relative_l2_error,
            self.tolerance,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_distinct_and_repeatable() {
        let mut chosen = sample(5000, 1000);
        assert_eq!(chosen, sample(5000, 1000));
        chosen.sort_unstable();
        chosen.dedup();
        assert_eq!(chosen.len(), 1000);
        assert_eq!(sample(3, 1000), [0, 1, 2]);
        // As a shuffle of all has them.
        let (count, mut random) = (1200, Random::new(SAMPLE_SEED));
        let mut all: Vec<usize> = (0..count).collect();
        (0..1000).for_each(|place| all.swap(place, place + random.below(count - place)));
        assert_eq!(sample(count, 1000), all[..1000]);
    }

    #[test]
    fn the_error_is_relative_to_the_exact_values() {
        assert_eq!(relative_l2(&[0.0], &[0.0]), 0.0);
        // Squares of the last two sizes are beyond what doubles hold.
        for size in [1.0, 1e-300, 1e300] {
            let error = relative_l2(&[3.0 * size, 5.0 * size], &[3.0 * size, 4.0 * size]);
            assert!((error - 0.2).abs() < 1e-15, "{size:e}: {error}");
            assert_eq!(relative_l2(&[0.0], &[size]), 1.0);
        }
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(relative_l2(&[bad, 1.0], &[1.0, 1.0]).is_nan());
        }
        assert!(relative_l2(&[0.0, 1.0], &[0.0, 0.0]) > 1e300);
    }

    #[test]
    fn errors_beyond_the_tolerance_are_told() {
        assert!(warnings(1e-6, 1e-6, 0).is_empty());
        assert_eq!(
            warnings(3e-6, 1e-6, 0),
            ["the error is 3.0e-6, 3.0 times the tolerance of 1.0e-6"]
        );
        assert_eq!(warnings(f64::NAN, 1e-6, 7), ["7 of the sums are no finite numbers"]);
        assert_eq!(warnings(f64::NAN, 1e-6, 0).len(), 1);
    }
}
