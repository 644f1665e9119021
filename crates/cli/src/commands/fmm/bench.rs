//! `farad fmm bench`.

use std::num::NonZeroUsize;

use clap::ValueEnum;
use fmm::{Densities, Mode};
use samples::{Distribution, Random};

use super::sum::{self, Input};
use crate::commands::arguments::{distributions, parse_count};
use crate::machine::ranks::Ranks;
use crate::terminal::exit::Failure;
use crate::terminal::output::Output;

/// Arguments of `farad fmm bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of points, sources and targets at once
    #[arg(long, alias = "n", value_name = "N", value_parser = parse_count)]
    points: NonZeroUsize,
    /// Number of targets, of the same distribution [default: the points themselves]
    #[arg(long, value_name = "M", value_parser = parse_count)]
    targets: Option<NonZeroUsize>,
    /// How the points are spread: uniform in the unit cube, uniform on the unit sphere, Plummer's
    /// star cluster, or on both faces of a thin plate with spacings graded 1:1000 toward the edges
    #[arg(long, value_parser = distributions())]
    distribution: Distribution,
    /// Signs of the charges
    #[arg(long, value_enum, default_value_t)]
    charges: Charges,
    /// Sum dipoles too
    #[arg(long)]
    dipoles: bool,
    /// Densities that go through one sum together
    #[arg(long, value_name = "K", default_value = "1", value_parser = parse_count)]
    densities: NonZeroUsize,
    /// Seed of random points, charges and dipoles
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    sum: sum::Args,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Charges {
    /// Uniform in [-0.5, 0.5)
    #[default]
    Mixed,
    /// Uniform in [0, 1)
    Positive,
}

/// Makes the points, sums, reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.sum.several.run(args.sum.on, |ranks| on_rank(args, ranks))
}

/// One rank's share.
fn on_rank(args: &Args, ranks: &Ranks) -> Result<(), Failure> {
    sum::prepare(&args.sum, ranks)?;
    let share = |all: usize| {
        let (rank, size) = (ranks.rank() as u128, ranks.size() as u128);
        let end = |rank: u128| (all as u128 * rank / size) as usize;
        end(rank + 1) - end(rank)
    };
    let (n, k) = (share(args.points.get()), args.densities.get());
    let m = args.targets.map(|targets| share(targets.get()));
    let here = ranks.here()[1] * (n + m.unwrap_or(0));
    ranks.agree(sum::check_memory(&args.sum, ranks, here, k, args.dipoles))?;
    // Each rank has random numbers of its own; the first those of one process.
    let mut random = Random::new(args.seed.wrapping_add((ranks.rank() as u64) << 32));
    let points = args.distribution.points(n, &mut random);
    let shift = if args.charges == Charges::Mixed { 0.5 } else { 0.0 };
    let charges: Vec<f64> = (0..k * n).map(|_| random.uniform() - shift).collect();
    let dipoles: Option<Vec<f64>> =
        args.dipoles.then(|| (0..3 * k * n).map(|_| random.uniform() - 0.5).collect());
    let targets = m.map(|m| args.distribution.points(m, &mut random));
    let input = Input {
        sources: &points,
        targets: targets.as_deref(),
        densities: Densities { charges: Some(&charges), dipoles: dipoles.as_deref() },
        count: k,
        mode: Mode::Fmm,
    };
    let mut report = sum::run(&args.sum, &input, ranks)?.report;
    report.distribution = Some(args.distribution.name());
    let show = || {
        Output::report(args.sum.json, &report, || report.text())?;
        report.judge("the sums are wrong")
    };
    ranks.on_first(show).map(|_| ())
}
