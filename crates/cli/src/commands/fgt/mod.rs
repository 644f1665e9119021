//! `farad fgt`: the fast Gauss transform alone.

mod bench;

use clap::Subcommand;

use crate::terminal::exit::Failure;

/// The commands under `farad fgt`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Time the sum over random points, and measure its error
    Bench(bench::Args),
}

/// Runs the command that was asked for.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Bench(args) => bench::run(args),
    }
}
