//! Predicted cost of a long solve of few triangles, with many images or excitations: pieces grow,
//! first by triangles and then by excitations, until they take long enough to show how their cost
//! grows.

use farad::{Method, Options, Problem, Solver};

use super::watch::{Beginning, Cost, PATIENCE, Until, Watch};
use crate::case::Case;
use crate::terminal::exit::Failure;
use crate::terminal::output::Output;

/// Triangles and excitations of the first piece.
const FIRST: [usize; 2] = [64, 8];

/// Seconds of a piece that tell what larger ones take.
const TELLING: f64 = 0.5;

/// Cost of a piece, or of the part after its near field, with its triangles and excitations.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub panels: f64,
    pub excited: f64,
    pub cost: Cost,
}

/// Cost of the whole by the method that `options` name, from pieces, and from its own beginning
/// where that got so far.
pub(super) fn cost(
    case: &Case,
    problem: &Problem,
    options: &Options,
    beginning: Option<Beginning>,
    output: &Output,
) -> Result<Cost, Failure> {
    let whole = [problem.panels(), problem.excited().len()];
    let solved = |triangles: usize, excited: usize, until: Until| {
        let piece = problem.piece(triangles, excited).map_err(|error| case.failed(error))?;
        let watch = Watch::new(output, until, options.backend);
        match Solver::default().solve(&piece, options, &watch) {
            Ok(_) => {
                let (panels, excited) = (piece.panels() as f64, piece.excited().len() as f64);
                let (whole, later) = watch.took();
                let cost = beginning.and(later).unwrap_or(whole);
                Ok(Some(Known { panels, excited, cost }))
            }
            Err(_) if watch.has_stopped() => Ok(None),
            Err(error) => Err(case.failed(error)),
        }
    };
    let [mut triangles, mut excited] = [FIRST[0].min(whole[0]), FIRST[1].min(whole[1])];
    // Threads start, and memory is taken for good, in the first one.
    solved(triangles, excited, Until::End)?;
    let mut by_size: Vec<Known> = Vec::new();
    by_size.extend(solved(triangles, excited, Until::End)?);
    while by_size.last().is_some_and(|known| known.cost.seconds < TELLING)
        && 2 * triangles < whole[0]
    {
        triangles *= 2;
        match solved(triangles, excited, Until::Seconds(PATIENCE))? {
            Some(known) => by_size.push(known),
            None => {
                triangles /= 2;
                break;
            }
        }
    }
    let mut by_excitations: Vec<Known> = by_size.last().copied().into_iter().collect();
    while excited < whole[1]
        && (by_excitations.len() < 2
            || by_excitations.last().is_some_and(|known| known.cost.seconds < TELLING))
    {
        excited = (2 * excited).min(whole[1]);
        match solved(triangles, excited, Until::Seconds(2.0 * PATIENCE))? {
            Some(known) => by_excitations.push(known),
            None => break,
        }
    }
    tracing::debug!(?by_size, ?by_excitations, ?beginning, ?whole, "pieces");
    let power = if options.method == Method::Dense { 3.0 } else { 2.0 };
    let pieces = carried_on(&by_size, &by_excitations, whole.map(|n| n as f64), power);
    Ok(beginning.map_or(pieces, |beginning| beginning.followed_by(pieces)))
}

/// Cost of the whole, from pieces of more and more triangles, and then excitations. It grows by a
/// power of triangles that is at most `power`.
pub fn carried_on(
    by_size: &[Known],
    by_excitations: &[Known],
    [panels, excited]: [f64; 2],
    power: f64,
) -> Cost {
    let Some(last) = by_excitations.last() else { return Cost { seconds: 0.0, bytes: None } };
    // Matrices grow as the square of triangles; what excitations have of each, as these.
    let seconds = |known: &Known| Some(known.cost.seconds);
    let bytes = |known: &Known| known.cost.bytes;
    let times = panels / last.panels;
    let of = |value: fn(&Known) -> Option<f64>, power: f64, of_excitation: Option<f64>| {
        let exponent = match by_size {
            [.., a, b] => {
                let grown = (value(b)? / value(a)?).ln() / (b.panels / a.panels).ln();
                if grown.is_finite() { grown.clamp(1.0, power) } else { 1.0 }
            }
            _ => power,
        };
        let slope = |a: &Known, b: &Known| {
            Some((value(b)? - value(a)?).max(0.0) / (b.excited - a.excited).max(1.0))
        };
        // Error bars are of pairs of excitations.
        let (slope, bend, before) = match by_excitations {
            [.., a, b, c] => {
                let slopes = [slope(a, b)?, slope(b, c)?];
                let bend = (slopes[1] - slopes[0]).max(0.0) / (c.excited - a.excited);
                (slopes[1], bend, b.excited)
            }
            [a, b] => (slope(a, b)?, 0.0, 0.0),
            _ => (0.0, 0.0, 0.0),
        };
        let value = value(last)?;
        let at = |k: f64| {
            let more = k - last.excited;
            (value + more * (slope + bend * (k - before))).max(0.0)
        };
        let (once, all) = (at(0.0), at(excited));
        let of_excitations = (all - once).max(0.0) * times.powf(of_excitation.unwrap_or(exponent));
        Some(once * times.powf(exponent) + of_excitations)
    };
    Cost { seconds: of(seconds, power, None).unwrap_or_default(), bytes: of(bytes, 2.0, Some(1.0)) }
}
