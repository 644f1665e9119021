//! The commands, one a file.

pub(crate) mod arguments;
pub(crate) mod batch;
mod completions;
pub(crate) mod fastercap;
mod fgt;
pub(crate) mod fmm;
pub(crate) mod forecast;
mod import;
mod info;
mod mesh;
mod opening;
mod passed;
mod report;
mod schema;
pub(crate) mod series;
mod solve;
mod study;
mod surface;
mod sweep;

use clap::{ArgAction, CommandFactory as _, Parser, Subcommand};

use crate::report::made::VERSION;
use crate::terminal::exit::{Exit, Failure};

/// Boundary element electrostatics: capacitances, charges and fields of real meshes
#[derive(Debug, Parser)]
#[command(name = "farad", version = VERSION, after_help = Exit::help(), after_long_help = Exit::help())]
pub struct Cli {
    /// Log what happens to stderr; twice for details, three times for everything
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Solve a case for its capacitance matrix
    Solve(solve::Args),
    /// Solve a case on refinements of its mesh: observed order and extrapolated values
    Study(study::Args),
    /// Solve a case for every combination of the values in its [[sweep]] tables
    Sweep(sweep::Args),
    /// Solve one case for each of many molecules, with a table of all
    Batch(batch::Args),
    /// Make a page for browsers of a folder of results
    Report(report::Args),
    /// Turn a FastCap list file into a case and a mesh
    Import(import::Args),
    /// FasterCap's command line and text, for programs that call FasterCap
    #[command(name = "fastercap")]
    FasterCap(fastercap::Args),
    /// FastCap's command line and text, for programs that call FastCap
    #[command(name = "fastcap")]
    FastCap(fastercap::Args),
    /// Make the mesh of a molecule's surface from its atoms
    Surface(surface::Args),
    /// Look at meshes, check them, make simple ones
    #[command(subcommand)]
    Mesh(mesh::Command),
    /// The fast sums alone: time them, or use them on your own points
    #[command(subcommand)]
    Fmm(fmm::Command),
    /// The fast Gauss transform alone: time it
    #[command(subcommand)]
    Fgt(fgt::Command),
    /// Show the version, and the hardware that farad uses
    Info(info::Args),
    /// Print the JSON schema of case files, for editors that check and complete them
    Schema(schema::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
}

impl Command {
    /// The name of a command that runs in one process: it neither shares its work, nor writes
    /// nothing.
    fn alone(&self) -> Option<&'static str> {
        match self {
            Self::Report(_) => Some("report"),
            Self::Import(_) => Some("import"),
            Self::FasterCap(_) => Some("fastercap"),
            Self::FastCap(_) => Some("fastcap"),
            Self::Surface(_) => Some("surface"),
            Self::Mesh(_) => Some("mesh"),
            Self::Fgt(_) => Some("fgt"),
            _ => None,
        }
    }
}

/// Runs the command that was asked for.
pub(crate) fn run(cli: Cli) -> Result<(), Failure> {
    // An instruction set that is not there is refused before any work.
    simd::check()?;
    if matches!(
        cli.command,
        Command::Import(_) | Command::Surface(_) | Command::Mesh(_) | Command::Info(_)
    ) {
        // No option of these says how many.
        crate::machine::backend::use_threads(None)?;
    }
    if let Some(name) = cli.command.alone() {
        crate::machine::ranks::refuse(name)?;
    }
    match cli.command {
        Command::Solve(args) => solve::run(&args, cli.verbose > 0),
        Command::Study(args) => study::run(&args, cli.verbose > 0),
        Command::Sweep(args) => sweep::run(&args, cli.verbose > 0),
        Command::Batch(args) => batch::run(&args, cli.verbose > 0),
        Command::Report(args) => report::run(&args),
        Command::Import(args) => import::run(&args),
        // The program reads these before everything else (`fastercap::asked`).
        Command::FasterCap(_) | Command::FastCap(_) => Ok(()),
        Command::Surface(args) => surface::run(&args),
        Command::Mesh(command) => mesh::run(&command),
        Command::Fmm(command) => fmm::run(&command),
        Command::Fgt(command) => fgt::run(&command),
        Command::Info(args) => info::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => completions::run(&args, Cli::command()),
    }
}

/// The middle one of measured times, the lower of two.
fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[(seconds.len() - 1) / 2]
}
