//! `farad mesh molecule`.

use std::path::PathBuf;

use mesh::generate::{Ball, DECAY, Molecule, helix};
use mesh::pqr;

use super::convert::Target;
use super::generate::ResolutionArgs;
use crate::commands::arguments::parse_positive;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::output::Output;
use crate::problem::unreadable;

/// Arguments of `farad mesh molecule`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// PQR file of the atoms
    #[arg(required_unless_present = "helix")]
    atoms: Option<PathBuf>,
    /// Instead of a file, N atoms on a helix with charges that alternate in sign
    #[arg(long, value_name = "N", conflicts_with = "atoms", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    helix: Option<u32>,
    /// Write the atoms of --helix as a PQR file
    #[arg(long, value_name = "FILE.pqr", requires = "helix")]
    write_atoms: Option<PathBuf>,
    /// How fast the atoms' Gaussians fall, from 0.5 to 20: the smaller, the more they blend
    #[arg(long, value_name = "D", default_value_t = DECAY, value_parser = parse_positive)]
    decay: f64,
    #[command(flatten)]
    resolution: ResolutionArgs,
    #[command(flatten)]
    target: Target,
}

/// Makes the surface and writes it.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.target.check()?;
    if let Some(path) = &args.write_atoms {
        files::check_vacant(path, args.target.overwrite)?;
    }
    let balls = match (&args.atoms, args.helix) {
        (Some(path), _) => {
            let atoms = pqr::read(path).map_err(unreadable)?;
            let hollow = atoms.iter().filter(|atom| atom.radius == 0.0).count();
            if hollow > 0 {
                Output::default().note(&format!(
                    "{}: {hollow} atoms have radius 0 and do not count for the surface",
                    path.display()
                ));
            }
            atoms.iter().map(|atom| Ball { centre: atom.position, radius: atom.radius }).collect()
        }
        (None, count) => helix(count.unwrap_or(1) as usize),
    };
    if let Some(path) = &args.write_atoms {
        files::replace(path, |out| write_atoms(out, &balls))?;
    }
    let molecule = Molecule { balls, decay: args.decay, resolution: args.resolution.resolution() };
    let mesh = molecule.build().map_err(|error| Failure::new(Exit::Usage, error))?;
    args.target.write(&mesh)
}

/// The atoms as a PQR file, charges +0.4 and -0.4 in turn.
fn write_atoms(out: &mut impl std::io::Write, balls: &[Ball]) -> std::io::Result<()> {
    writeln!(out, "REMARK   1 {} atoms on a helix, made by farad", balls.len())?;
    for (index, Ball { centre: [x, y, z], radius }) in (1..).zip(balls) {
        let charge = if index % 2 == 1 { 0.4 } else { -0.4 };
        writeln!(
            out,
            "ATOM {index:>6} C   HLX {index:>6} {x:>12.6} {y:>12.6} {z:>12.6} {charge:>7.4} {radius:>7.4}"
        )?;
    }
    writeln!(out, "END")
}
