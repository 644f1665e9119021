//! `farad completions`.

use clap::Command;
use clap_complete::Shell;

use crate::terminal::exit::Failure;
use crate::terminal::output::Output;

/// Arguments of `farad completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell to complete for
    shell: Shell,
}

/// Prints the script for `command` to stdout.
pub(crate) fn run(args: &Args, mut command: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "farad", &mut script);
    Output::default().data(&String::from_utf8_lossy(&script))
}
