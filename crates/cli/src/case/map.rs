//! The map of potentials around all atoms: a probe that the program adds for `[output] dx` and
//! `viewers`.

use farad::{LengthUnit, Probe, ProbePoints};

use super::definition::Case;
use super::diagnostics::{Defect, Sort};
use super::places::Entry;
use crate::terminal::exit::{Exit, Failure};

/// Its name as a probe.
const NAME: &str = "potential";

/// Distance from the outermost atoms to its sides, in angstrom.
const MARGIN: f64 = 10.0;

/// Its spacing in angstrom where viewers need one and the case does not say.
pub(super) const SPACING: f64 = 1.0;

/// More points than this are refused as a mistake.
const MOST_POINTS: f64 = 1e8;

/// Its file.
pub(crate) fn file() -> String {
    format!("probe_{NAME}.dx")
}

/// Adds the map to the probes of `case`, if one is wanted.
pub(super) fn add(case: &mut Case) -> Result<(), Failure> {
    let Some(spacing) = case.map_spacing else { return Ok(()) };
    if let Some(taken) = case.description.probes.iter().position(|probe| probe.name == NAME) {
        let message = format!("\"{NAME}\" is the name of the probe that `dx` and `viewers` add");
        let place = case.places.probes[taken].name.clone();
        return Err(
            case.failure(vec![Defect::new(Sort::Value, place, message).help("give it another")])
        );
    }
    let positions = || case.atoms.iter().flatten().map(|atom| atom.position);
    if positions().next().is_none() {
        let message = "maps of potentials (`dx`, `viewers`) are around the atoms of molecules, and the case has none";
        let help = "add a [[molecule]], or name a grid with [[probe]]";
        return Err(Failure::with_help(Exit::BadInput, message, help));
    }
    let range = |k: usize| {
        let along = positions().map(|x| x[k]);
        along.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
    };
    let ranges = [0, 1, 2].map(range);
    let steps = ranges.map(|[low, high]| ((high - low + 2.0 * MARGIN) / spacing).ceil().max(1.0));
    if steps.iter().map(|steps| steps + 1.0).product::<f64>() > MOST_POINTS {
        let message = format!(
            "a map with a spacing of {spacing} angstrom around all atoms has more than 1e8 points"
        );
        return Err(Failure::with_help(
            Exit::BadInput,
            message,
            "choose a larger `dx` in [output]",
        ));
    }
    let unit = LengthUnit::Angstrom.metres() / case.description.unit.metres();
    let end = |sign: f64| {
        std::array::from_fn(|k| {
            let [low, high] = ranges[k];
            unit * (0.5 * (low + high) + sign * 0.5 * spacing * steps[k])
        })
    };
    let place = ProbePoints::Grid {
        low: end(-1.0),
        high: end(1.0),
        counts: steps.map(|steps| steps as usize + 1),
    };
    case.description.probes.push(Probe::new(NAME, place));
    case.places.probes.push(Entry { is_made: true, ..Entry::default() });
    Ok(())
}
