//! `farad mesh repair`.

use std::path::PathBuf;

use mesh::repair::{self, Action, Error, Options};

use super::convert::Target;
use super::{info, info_text};
use crate::commands::arguments::parse_whole;
use crate::report::text::printable;
use crate::surfaces;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// Arguments of `farad mesh repair`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Mesh of flat triangles: .msh, .vert or .face, .off, .ply or .stl
    file: PathBuf,
    #[command(flatten)]
    target: Target,
    /// Vertices at open edges are joined that are closer than this times the edges next to them,
    /// and triangles removed that are lower than this times their longest side
    #[arg(long, value_name = "T", default_value_t = Options::default().tolerance, value_parser = tolerance)]
    tolerance: f64,
    /// Holes of more edges are left open
    #[arg(long, value_name = "EDGES", default_value_t = Options::default().largest_hole, value_parser = parse_whole)]
    largest_hole: usize,
    /// Leave out cavities of less volume, in the cube of the mesh's unit
    #[arg(long, value_name = "V", default_value_t = 0.0, value_parser = volume)]
    drop_cavities_below: f64,
}

/// Writes the repaired mesh, with the list of what was done and a description of the result. A mesh
/// that could not be repaired is not written.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.target.check()?;
    let output = Output::default();
    let mesh = surfaces::read_to_convert(&args.file, None, &output)?;
    let options = Options::default()
        .tolerance(args.tolerance)
        .largest_hole(args.largest_hole)
        .drop_cavities_below(args.drop_cavities_below);
    let (mesh, actions) = repair::repair(mesh, &options).map_err(|error| failure(args, &error))?;
    args.target.write(&mesh)?;
    let (_, read, report) = info::study(&args.target.output, None)?;
    let description = info_text::describe(&args.target.output, &read, &report);
    let done = if actions.is_empty() {
        format!("{}: nothing had to be repaired", args.file.display())
    } else {
        format!("{}: repaired\n{}", args.file.display(), list(&actions))
    };
    output.data(&printable(&format!(
        "{done}\n\n{description}\nOK: the surface is closed and faces outward, and no triangles cross."
    )))
}

/// A line for each kind of change.
fn list(actions: &[Action]) -> String {
    let lines: Vec<String> = actions.iter().map(|action| format!("  {action}")).collect();
    lines.join("\n")
}

fn failure(args: &Args, error: &Error) -> Failure {
    let file = args.file.display();
    let done = match error.actions() {
        [] => String::new(),
        actions => format!("\nwhat was done:\n{}", list(actions)),
    };
    let help = match error {
        Error::Curved => "mesh the geometry again with flat triangles",
        _ => {
            "`farad mesh check` writes the triangles to a VTK file; raise --tolerance or --largest-hole, leave out small \
             cavities with --drop-cavities-below, or make the surface again, as by `farad surface`"
        }
    };
    let message = format!("{file} could not be repaired, nothing is written:\n{error}{done}");
    Failure::with_help(Exit::BadInput, message, help)
}

fn tolerance(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=0.5).contains(&value) { Ok(value) } else { Err("must lie between 0 and 0.5".into()) }
}

fn volume(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let is_volume = value.is_finite() && value >= 0.0;
    if is_volume { Ok(value) } else { Err("must be a volume, 0 or more".into()) }
}
