//! The commands, one a file.

mod completions;
mod info;

use clap::{ArgAction, Parser, Subcommand};

use crate::exit::{Exit, Failure};

/// Boundary element electrostatics: capacitances, charges and fields of real meshes
#[derive(Debug, Parser)]
#[command(name = "farad", version, after_help = Exit::help(), after_long_help = Exit::help())]
pub(crate) struct Cli {
    /// Log what happens to stderr; twice for details, three times for everything
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the version, and what of this machine farad uses
    Info,
    /// Print a completion script for a shell
    Completions(completions::Args),
}

/// Runs the command that was asked for.
pub(crate) fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Info => info::run(),
        Command::Completions(args) => completions::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
