//! `farad completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use crate::terminal::exit::Failure;
use crate::terminal::output::Output;

/// Arguments of `farad completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell to complete for
    shell: Shell,
}

/// Prints the script to stdout.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "farad", &mut script);
    Output::default().data(&String::from_utf8_lossy(&script))
}
