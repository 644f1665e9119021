//! The program `farad`: case files, commands, progress, results. It holds no numerics.

mod backend;
mod bodies;
mod case;
mod commands;
mod contradictions;
mod exit;
mod files;
mod grid;
mod interrupt;
mod logging;
mod machine;
mod media;
mod npy;
mod output;
mod paths;
mod plot;
mod probes;
mod problem;
mod progress;
mod results;
mod sources;
mod state;
mod symmetry;
mod units;
mod vtk;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::exit::Exit;

fn main() -> ExitCode {
    let cli = match commands::Cli::try_parse() {
        Ok(cli) => cli,
        Err(refusal) => return refuse(&refusal),
    };
    logging::install(cli.verbose);
    interrupt::install();
    output::install_error_style();
    match commands::run(cli) {
        Ok(()) => Exit::Success.into(),
        Err(failure) => {
            output::failure(&failure);
            failure.exit.into()
        }
    }
}

/// Shows what clap has to say: help and version are no errors.
fn refuse(refusal: &clap::Error) -> ExitCode {
    // A closed pipe leaves nobody to tell.
    let _ = refusal.print();
    match refusal.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Success.into(),
        _ => Exit::Usage.into(),
    }
}
