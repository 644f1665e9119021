//! `farad mesh refine`.

use std::path::PathBuf;

use mesh::refine;

use super::convert::Target;
use crate::surfaces;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// Arguments of `farad mesh refine`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Mesh: .msh, .vert or .face, .off, .ply, .stl, or FastCap's .lst, .qui or .neu
    file: PathBuf,
    /// How many times; each makes four times as many triangles
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    times: u32,
    /// Put new vertices of components that are spheres onto the sphere
    #[arg(long)]
    spheres: bool,
    #[command(flatten)]
    target: Target,
}

/// Reads, refines and writes a mesh.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.target.check()?;
    let mut mesh = surfaces::read_to_convert(&args.file, None, &Output::default())?;
    // Known before hours of work and all memory are gone.
    refine::count_after(&mesh, args.times).map_err(too_many)?;
    for time in 0..args.times {
        let (refined, notes) = refined(&mesh, args.spheres)?;
        mesh = refined;
        // Flat triangles stay flat: once is enough.
        for note in notes.iter().filter(|_| time == 0) {
            Output::default().note(&format!("{}: {note}", args.file.display()));
        }
    }
    args.target.write(&mesh)
}

/// The mesh with four triangles for each, and notes on what `spheres` leaves flat.
pub(crate) fn refined(
    mesh: &mesh::Mesh,
    spheres: bool,
) -> Result<(mesh::Mesh, Vec<String>), Failure> {
    if !spheres {
        let refined = refine::uniform(mesh, |_, point| point).map_err(too_many)?;
        return Ok((refined, Vec::new()));
    }
    let refined = refine::on_spheres(mesh).map_err(too_many)?;
    let notes = refined.flat.iter().map(ToString::to_string).collect();
    Ok((refined.mesh, notes))
}

fn too_many(error: refine::Error) -> Failure {
    let help = "refine fewer times, or begin with a coarser mesh";
    Failure::with_help(Exit::BadInput, error, help)
}
