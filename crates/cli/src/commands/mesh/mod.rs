//! `farad mesh`: what a mesh is like, whether it can be solved on, other formats, and meshes of
//! simple shapes.

mod check;
pub(crate) mod convert;
mod generate;
mod info;
mod info_json;
mod info_text;
pub(crate) mod refine;
mod repair;

use clap::Subcommand;

use crate::terminal::exit::Failure;
use crate::terminal::interrupt;

/// The commands under `farad mesh`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Describe a mesh: counts, groups, closedness, orientation, quality
    Info(info::Args),
    /// Check a mesh: defects are errors, and written to a VTK file
    Check(check::Args),
    /// Write a mesh of any format as a Gmsh mesh
    Convert(convert::Args),
    /// Repair a surface with small defects, and list the changes
    Repair(repair::Args),
    /// Split every triangle into four
    Refine(refine::Args),
    /// Make the mesh of a simple shape
    Generate(generate::Args),
}

/// Runs the command that was asked for.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    // Whole files alone are written, at the end: there is nothing to stop in good order.
    interrupt::ends_at_once();
    match command {
        Command::Info(args) => info::run(args),
        Command::Check(args) => check::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Repair(args) => repair::run(args),
        Command::Refine(args) => refine::run(args),
        Command::Generate(args) => generate::run(args),
    }
}
