//! `farad mesh info`.

use std::path::{Path, PathBuf};

use mesh::Mesh;
use mesh::check::Report;
use mesh::files::Reading;

use super::info_json;
use super::info_text::describe;
use crate::surfaces;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// Arguments of `farad mesh info`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Mesh: .msh, .vert or .face, .off, .ply, .stl, FastCap's .lst, .qui or .neu, or a
    /// layout: .pex25d, or .gds with its --stack
    file: PathBuf,
    /// The file that says what the layers of a GDSII layout are
    #[arg(long, value_name = "STACK.toml")]
    stack: Option<PathBuf>,
    /// Print one JSON document instead, with every group and component
    #[arg(long)]
    json: bool,
}

/// Prints properties of the mesh.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let (_, read, report) = study(&args.file, args.stack.as_deref())?;
    Output::default().data(&if args.json {
        info_json::text(&args.file, &read, &report)?
    } else {
        describe(&args.file, &read, &report)
    })
}

/// Reads a mesh and studies it.
pub(super) fn study(file: &Path, stack: Option<&Path>) -> Result<(Mesh, Reading, Report), Failure> {
    let (mesh, read) = surfaces::read(file, stack, true)?;
    let report = Report::of(&mesh).map_err(|error| Failure::new(Exit::BadInput, error))?;
    Ok((mesh, read, report))
}
