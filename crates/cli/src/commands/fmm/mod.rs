//! `farad fmm`: the fast sums alone, for timing them and for people who need nothing else.

mod bench;
mod eval;
pub(crate) mod npy;
pub(crate) mod sum;

use clap::Subcommand;

use crate::terminal::exit::Failure;

/// The commands under `farad fmm`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Time the sum over random points, and measure its error
    Bench(bench::Args),
    /// Sum charges at points from .npy files: potential_i = sum_j q_j / |x_i - y_j|
    Eval(eval::Args),
}

/// Runs the command that was asked for.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Bench(args) => bench::run(args),
        Command::Eval(args) => eval::run(args),
    }
}
