//! `farad fmm bench`.

use std::num::NonZeroUsize;

use clap::ValueEnum;
use fmm::Densities;

use super::sum::{self, Problem};
use crate::exit::Failure;
use crate::output::Output;
use crate::points::Distribution;
use crate::random::Random;

/// Arguments of `farad fmm bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of points, sources and targets at once
    #[arg(long, value_name = "N")]
    n: NonZeroUsize,
    /// How the points are spread
    #[arg(long, value_enum)]
    distribution: Distribution,
    /// Signs of the charges
    #[arg(long, value_enum, default_value_t)]
    charges: Charges,
    /// Sum dipoles too
    #[arg(long)]
    dipoles: bool,
    /// Densities that go through one sum together
    #[arg(long, value_name = "K", default_value = "1")]
    densities: NonZeroUsize,
    /// Of points, charges and dipoles
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
    sum::prepare(&args.sum)?;
    let (n, k) = (args.n.get(), args.densities.get());
    let mut random = Random::new(args.seed);
    let points = args.distribution.points(n, &mut random);
    let shift = if args.charges == Charges::Mixed { 0.5 } else { 0.0 };
    let charges: Vec<f64> = (0..k * n).map(|_| random.uniform() - shift).collect();
    let dipoles: Option<Vec<f64>> =
        args.dipoles.then(|| (0..3 * k * n).map(|_| random.uniform() - 0.5).collect());
    let problem = Problem {
        sources: &points,
        targets: None,
        densities: Densities { charges: Some(&charges), dipoles: dipoles.as_deref() },
        count: k,
    };
    let mut report = sum::run(&args.sum, &problem)?.report;
    report.distribution = Some(args.distribution.name());
    let output = Output { json: args.sum.json, ..Output::default() };
    if output.json { output.data(&report.json()) } else { output.text(&report.text()) }
}
