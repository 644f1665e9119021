//! `farad surface`.

use std::path::PathBuf;

use surface::{Cavities, Kind, Options, Resolution};

use super::arguments::{parse_count, parse_positive};
use super::mesh::convert::Target;
use crate::molecules;
use crate::report::text_table::aligned_table;
use crate::report::units;
use crate::terminal::exit::Failure;
use crate::terminal::output::Output;
use crate::words;

/// Arguments of `farad surface`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Atoms with radii: a PQR file, lengths in angstrom
    atoms: PathBuf,
    /// Which surface
    #[arg(long, default_value = "ses", value_parser = words::parser::<Kind>(&[
        "Solvent excluded: what a probe that rolls over the atoms does not reach",
        "A level set of a sum of Gaussian functions",
        "The union of the atoms",
        "Solvent accessible: where centres of probes can be",
    ]))]
    kind: Kind,
    /// Radius of the probe in angstrom, for surfaces of solvent
    #[arg(long, value_name = "LENGTH", default_value_t = 1.4, allow_negative_numbers = true)]
    probe: f64,
    /// Triangles per square angstrom [default: 4]
    #[arg(long, value_name = "NUMBER", value_parser = parse_positive, conflicts_with = "elements")]
    density: Option<f64>,
    /// Number of triangles, about
    #[arg(long, value_name = "N", value_parser = parse_count)]
    elements: Option<std::num::NonZeroUsize>,
    /// Order of the triangles: 1 flat, 2 curved, with nodes on the surface
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    order: u8,
    /// Whether cavities stay parts of the surface, or are filled
    #[arg(long, default_value = "keep", value_parser = words::parser::<Cavities>(&[]))]
    cavities: Cavities,
    /// Fill cavities of less volume than this, in cubic angstrom
    #[arg(long, value_name = "VOLUME", default_value_t = 0.0, allow_negative_numbers = true)]
    min_cavity: f64,
    #[command(flatten)]
    target: Target,
}

/// Makes the surface, writes it and says what it has.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.target.check()?;
    let atoms = molecules::atoms(&args.atoms)?;
    let mut without = atoms.iter().filter(|atom| atom.radius == 0.0).peekable();
    if without.peek().is_some() {
        let named = formats::atoms::named(without);
        Output::default().note(&format!("atoms of radius 0 are skipped: {named}"));
    }
    let options = Options::default()
        .kind(args.kind)
        .probe(args.probe)
        .resolution(match (args.density, args.elements) {
            (_, Some(elements)) => Resolution::Elements(elements.get()),
            (Some(density), None) => Resolution::Density(density),
            (None, None) => molecules::usual_resolution(&atoms),
        })
        .order(usize::from(args.order))
        .cavities(args.cavities)
        .min_cavity(args.min_cavity);
    let made = molecules::surface(&args.atoms, &atoms, &options)?;
    args.target.write(&made.mesh)?;
    if let Some(denser) = molecules::denser(&made.info, &options) {
        Output::default().note(&format!("{}: {denser}", args.atoms.display()));
    }
    Output::default().text(&describe(&made.info))
}

/// The table of parts, and what was left out.
fn describe(info: &surface::Info) -> String {
    let header = ["part", "triangles", "area [A^2]", "volume [A^3]", "min. angle"];
    let rows = info.parts.iter().map(|part| {
        vec![
            part.name.clone(),
            units::count(part.triangles as u64),
            format!("{:.3}", part.area),
            format!("{:.3}", part.volume),
            format!("{:.1}", part.min_angle),
        ]
    });
    let mut text = aligned_table(header, rows);
    if info.filled.count > 0 {
        let surface::Filled { count, volume, .. } = info.filled;
        text += &format!("{count} cavities filled, {volume:.3} A^3 in all\n");
    }
    if info.unresolved > 0 {
        text += &format!("{} parts too small for these triangles left out\n", info.unresolved);
    }
    if let Some(surface::Union { area, volume }) = info.union {
        text += &format!("the union of the balls: {area:.3} A^2, {volume:.3} A^3");
        text += &molecules::off_area(info)
            .map_or_else(|| "\n".to_owned(), |off| format!("; triangles {off}\n"));
    }
    text
}
