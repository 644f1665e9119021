//! Potential and field at the probes of a case.

use std::path::Path;

use crate::case::Case;
use crate::case::probe::{Place, Probe};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::problem::Problem;
use crate::{memory, units};

/// Values of one probe, in SI units.
#[derive(Clone, Debug)]
pub(crate) struct Probed {
    pub(crate) name: String,
    pub(crate) file: String,
    /// In the mesh's unit.
    pub(crate) points: Vec<[f64; 3]>,
    /// Volt.
    pub(crate) potential: Vec<f64>,
    /// Volt a metre.
    pub(crate) field: Vec<[f64; 3]>,
    /// A line of points, or points, for ParaView.
    pub(crate) picture: Option<String>,
    pub(crate) is_line: bool,
    /// What a grid is made of.
    pub(crate) grid: Option<Grid>,
}

/// A grid of points along the axes, x fastest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub(crate) low: [f64; 3],
    pub(crate) spacing: [f64; 3],
    pub(crate) counts: [usize; 3],
}

/// Refuses points that do not fit into memory, within `limit` bytes if given.
pub(crate) fn check_memory(points: usize, limit: Option<u64>) -> Result<(), Failure> {
    /// At the peak, of a point: places, values, and what evaluating and writing them takes (measured).
    const POINT: u64 = 250;
    let what = format!("values at {} points of probes", units::count(points as u64));
    let needs = (points as u64).checked_mul(POINT);
    memory::check(&what, needs, limit, "ask for fewer points, or raise --memory-limit")
}

/// The points that the case itself asks for, those of files aside.
pub(crate) fn count(case: &Case) -> usize {
    let count = |probe: &Probe| match &probe.place {
        Place::File(_) => 0,
        Place::Line { count, .. } => *count,
        Place::Grid { counts, .. } => counts.iter().fold(1, |all: usize, n| all.saturating_mul(*n)),
    };
    case.probes.iter().fold(0, |all: usize, probe| all.saturating_add(count(probe)))
}

/// The points of every probe, so that what is wrong with them shows before the solve.
pub(crate) fn points(case: &Case) -> Result<Vec<Vec<[f64; 3]>>, Failure> {
    case.probes.iter().map(|probe| points_of(&probe.place)).collect()
}

fn points_of(place: &Place) -> Result<Vec<[f64; 3]>, Failure> {
    Ok(match place {
        Place::File(path) => read(path)?,
        Place::Line { from, to, count } => (0..*count)
            .map(|i| {
                let t = i as f64 / (*count - 1) as f64;
                std::array::from_fn(|k| from[k] * (1.0 - t) + to[k] * t)
            })
            .collect(),
        Place::Grid { .. } => {
            let Some(Grid { low, spacing, counts: [nx, ny, nz] }) = grid(place) else {
                return Ok(Vec::new());
            };
            let at = |i: usize| {
                let index = [i % nx, i / nx % ny, i / (nx * ny)];
                std::array::from_fn(|k| low[k] + spacing[k] * index[k] as f64)
            };
            (0..nx * ny * nz).map(at).collect()
        }
    })
}

fn grid(place: &Place) -> Option<Grid> {
    let Place::Grid { low, high, counts } = place else { return None };
    let spacing = |k: usize| match counts[k] {
        1 => 0.0,
        count => (high[k] - low[k]) / (count - 1) as f64,
    };
    Some(Grid { low: *low, spacing: std::array::from_fn(spacing), counts: *counts })
}

/// Points of a text file: three numbers a line, with commas or blanks between; the first line may be a heading.
fn read(path: &Path) -> Result<Vec<[f64; 3]>, Failure> {
    let text = files::text(path)?;
    let mut points = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> =
            line.split([',', ';', ' ', '\t']).filter(|w| !w.is_empty()).collect();
        if words.is_empty() || words[0].starts_with('#') {
            continue;
        }
        let numbers: Option<Vec<f64>> = words
            .iter()
            .map(|word| word.parse().ok().filter(|number: &f64| number.is_finite()))
            .collect();
        match numbers.as_deref() {
            Some(&[x, y, z]) => points.push([x, y, z]),
            // A heading has no numbers at all.
            _ if index == 0 && words.iter().all(|word| word.parse::<f64>().is_err()) => {}
            _ => {
                // Not quoted: a case may name any file.
                let numbers =
                    words.iter().filter(|word| word.parse::<f64>().is_ok_and(f64::is_finite));
                let message = format!(
                    "{}: line {}: expected three numbers x, y, z, found {} words, {} of them numbers",
                    path.display(),
                    index + 1,
                    words.len(),
                    numbers.count()
                );
                return Err(Failure::new(Exit::BadInput, message));
            }
        }
    }
    if points.is_empty() {
        let message = format!("{}: the file has no points", path.display());
        return Err(Failure::new(Exit::BadInput, message));
    }
    Ok(points)
}

/// Values at the probes of `case` in the state of these surface charges (over 4 pi eps0) and sources; 0 behind grounded planes.
pub(crate) fn find(
    case: &Case,
    problem: &Problem,
    charge: &[f64],
    sources: &bem::Excitation,
) -> Result<Vec<Probed>, Failure> {
    if case.probes.is_empty() {
        return Ok(Vec::new());
    }
    let symmetry = &problem.symmetry;
    let charges = symmetry.images.charges(charge);
    let conductor = &problem.conductors.of_triangle;
    let whole = symmetry.whole(&problem.mesh);
    let surface =
        bem::SurfaceCharge::recovered(whole, &charges, |t| conductor[t % conductor.len()])
            .with_tolerance(case.solver.tolerance);
    let sources = symmetry.images.excitation(sources, |_| true);
    let each = |(probe, points): (&Probe, &Vec<[f64; 3]>)| {
        let mut values = surface.evaluate(&sources, points, true)?;
        for (index, point) in points.iter().enumerate() {
            if symmetry.is_behind_ground(*point) {
                (values.potential[index], values.field[index]) = (0.0, [0.0; 3]);
            }
        }
        let per_metre = 1.0 / case.mesh.unit.metres();
        Ok(Probed {
            name: probe.name.value.clone(),
            file: probe.file(),
            picture: probe.picture(case.vtk),
            is_line: matches!(probe.place, Place::Line { .. }),
            points: points.clone(),
            potential: values.potential,
            field: values.field.into_iter().map(|field| field.map(|e| e * per_metre)).collect(),
            grid: grid(&probe.place),
        })
    };
    case.probes.iter().zip(&problem.probes).map(each).collect()
}
