//! Options of a sum on the command line, their checks, and the options of the plan.

use std::num::NonZeroUsize;

use clap::ValueEnum;
use fmm::{Mode, Options};

use super::input::Input;
use crate::commands::arguments::{Several, parse_count, parse_tolerance};
use crate::machine::ranks::Ranks;
use crate::machine::{backend, memory};
use crate::report::units;
use crate::terminal::exit::Failure;
use crate::terminal::output::Output;
use crate::words;

/// Options of every sum.
#[derive(Debug, clap::Args)]
#[group(id = "accuracy")]
pub(crate) struct Args {
    /// Relative L2 error that the potential may have
    #[arg(long, value_name = "T", value_parser = parse_tolerance)]
    pub(super) tolerance: f64,

    /// Sum exp(-K r) / r, the Yukawa kernel; K in the inverse of the unit of coordinates
    #[arg(long, value_name = "K", default_value_t = 0.0, value_parser = parse_kappa)]
    pub(super) kappa: f64,
    /// Floating-point format
    #[arg(long, value_enum, default_value_t)]
    pub(super) precision: Precision,
    #[command(flatten)]
    pub(crate) on: backend::Args,
    #[command(flatten)]
    pub(crate) several: Several,
    /// How to sum [default: bench fmm, eval auto]
    #[arg(long, value_parser = words::parser::<Mode>(&[
        "The fastest for this number of sources and targets",
        "Fast multipole method",
        "Treecode: for targets far fewer than sources",
        "All pairs, in double precision on processors",
    ]))]
    pub(super) mode: Option<Mode>,
    /// Sum all pairs: --mode direct
    #[arg(long, conflicts_with = "mode")]
    pub(super) direct: bool,
    /// Most points that a leaf may hold [default: by the cost model]
    #[arg(long, value_name = "L", value_parser = parse_count)]
    pub(super) leaf_size: Option<NonZeroUsize>,
    /// Compute gradients too
    #[arg(long)]
    pub(crate) gradient: bool,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(super) threads: Option<NonZeroUsize>,
    /// Times to apply the sum; the median is reported
    #[arg(long, value_name = "R", default_value = "3", value_parser = parse_repeats)]
    pub(super) repeat: NonZeroUsize,
    /// Random targets at which the error is measured; all where there are fewer
    #[arg(long, value_name = "M", default_value = "1000", value_parser = parse_count)]
    pub(super) samples: NonZeroUsize,
    /// Print one JSON object to stdout, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Precision {
    /// Single where the tolerance allows it
    #[default]
    Auto,
    /// 32-bit
    Single,
    /// 64-bit
    Double,
}

/// Checks that the backend is there and starts the threads, before any work.
pub(crate) fn prepare(args: &Args, ranks: &Ranks) -> Result<(), Failure> {
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
pub(crate) fn check_memory(
    args: &Args,
    ranks: &Ranks,
    points: usize,
    densities: usize,
    dipoles: bool,
) -> Result<(), Failure> {
    // Coordinates of points, charges and dipoles, results; the least that a plan keeps of each
    // point. One that is wholly on a GPU keeps nothing.
    let values = 2 + 3 * u64::from(dipoles) + 3 * u64::from(args.gradient);
    let on_gpu = ranks.size() == 1 && args.on.backend == fmm::Backend::Cuda;
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
pub(super) fn options(args: &Args, input: &Input<'_>, ranks: &Ranks) -> Result<Options, Failure> {
    let on = args.on.of_rank(ranks);
    Ok(Options::default()
        .kernel(fmm::Kernel::Yukawa { kappa: args.kappa })
        .tolerance(args.tolerance)
        .precision(match args.precision {
            Precision::Auto => None,
            Precision::Single => Some(fmm::Precision::Single),
            Precision::Double => Some(fmm::Precision::Double),
        })
        .densities(input.count)
        .gradient(args.gradient)
        .dipoles(input.densities.dipoles.is_some())
        .mode(if args.direct { Mode::Direct } else { args.mode.unwrap_or(input.mode) })
        .leaf_size(args.leaf_size.map(NonZeroUsize::get))
        .backend(on.resolve()?)
        .gpu(on.gpu))
}
