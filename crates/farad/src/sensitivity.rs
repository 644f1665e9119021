//! What the capacitance matrix changes by when bodies are shifted, or permittivities and
//! thicknesses change: from the charges that are known, without further solves (docs/math.md,
//! "Derivatives").

use bem::derivatives::{self, OfPairs};
use mesh::regions;

use crate::forces;
use crate::layers;
use crate::media::SURROUNDINGS;
use crate::problem::Problem;
use crate::units;

/// By what share permittivities and thicknesses of layers change on both sides: the error of the
/// quotient is of the order of its square.
const STEP: f64 = 0.02;

/// The tolerances that images of changed layers are fitted to, if they can be; else that of the
/// layers.
const TOLERANCES: [f64; 2] = [1e-7, 1e-6];

/// Tolerance of the potentials that belong to these, which differences are taken of.
const OF_WORKS: f64 = 1e-6;

/// A derivative that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// Its name in results.
    pub name: String,
    /// By what.
    pub by: Parameter,
}

/// What changes.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// The places of these conductors and dielectrics, which are shifted together.
    Shift(Vec<String>),
    /// The relative permittivity of a dielectric, or of the surrounding medium
    /// ([`SURROUNDINGS`]).
    Permittivity(String),
    /// That of a layer: 0 is what is below all of them, 1 the lowest, and the last what is above
    /// all.
    OfLayer(usize),
    /// The thickness of a layer, from 1 on. What is above it moves with it.
    Thickness(usize),
}

/// The derivative of the capacitance matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Derivative {
    /// The name of the [`Sensitivity`].
    pub name: String,
    /// By what.
    pub by: Parameter,
    /// Permittivity or, in metres, thickness; `None` for shifts.
    pub at: Option<f64>,
    /// Farad for a relative permittivity, farad a metre else: one matrix, or three for shifts along
    /// the axes.
    pub matrices: Vec<Vec<Vec<f64>>>,
}

/// Why there is no derivative.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SensitivityFault {
    /// Nothing to shift.
    #[error("nothing is shifted")]
    Nothing,
    /// No body of this name.
    #[error(
        "there is no conductor or dielectric \"{name}\" to shift; there is {}",
        listed(available)
    )]
    Unknown {
        /// The name.
        name: String,
        /// What there is.
        available: Vec<String>,
    },
    /// A body that does not lie in one medium.
    #[error(
        "\"{0}\" cannot be shifted: it lies in an interface of layers, on a grounded plane, or in more than one medium"
    )]
    Bound(String),
    /// A plane of symmetry.
    #[error("bodies cannot be shifted one by one where planes of symmetry mirror them")]
    Mirrored,
    /// No dielectric of this name.
    #[error("there is no dielectric \"{name}\"; there is {}", listed(available))]
    NoDielectric {
        /// The name.
        name: String,
        /// What there is.
        available: Vec<String>,
    },
    /// Media that are listed by surfaces.
    #[error("media by surfaces have no names that a permittivity could be changed by")]
    BySurfaces,
    /// An interface that carries no charge.
    #[error(
        "on both sides of a part of the surface of \"{0}\" the permittivity is the same: make it differ a little"
    )]
    Alike(String),
    /// No such layer.
    #[error(
        "there is no layer {layer} with {what}; layers are counted from 1, the lowest, to {last}"
    )]
    NoLayer {
        /// Which.
        layer: usize,
        /// What it should have.
        what: &'static str,
        /// The highest.
        last: usize,
    },
    /// A layer with surfaces in the interfaces on both sides of it.
    #[error(
        "layer {0} has surfaces in the interfaces above and below: its thickness would cut through them"
    )]
    Between(usize),
    /// The layer around bodies of other media.
    #[error("layer {0} surrounds dielectrics: its permittivity cannot be changed")]
    Around(usize),
    /// No images for the changed layers.
    #[error("images of the changed layers cannot be fitted")]
    TooCoarse,
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// What is wrong with those of the problem's description.
pub(crate) fn faults(problem: &Problem) -> Vec<(usize, SensitivityFault)> {
    let wanted = problem.description.sensitivities.iter().enumerate();
    wanted.filter_map(|(k, of)| Some((k, plan(problem, &of.by).err()?))).collect()
}

/// What has to be computed.
enum Plan {
    /// The derivatives by the shifts of these bodies are added.
    Bodies(Vec<bem::Body>),
    /// Of a dielectric: `None` is the surrounding medium.
    Dielectric(Option<usize>),
    /// The parameter, and the layers with it less and more by a step.
    Layers { at: f64, step: f64, stacks: [bem::Stack; 2] },
}

fn plan(problem: &Problem, by: &Parameter) -> Result<Plan, SensitivityFault> {
    match by {
        Parameter::Shift(names) => shifted(problem, names),
        Parameter::Permittivity(name) => {
            let description = &problem.description;
            if !description.surfaces.is_empty() {
                return Err(SensitivityFault::BySurfaces);
            }
            let all = &description.dielectrics;
            let index = all.iter().position(|dielectric| dielectric.name == *name);
            if index.is_none() && (name != SURROUNDINGS || description.stack.is_some()) {
                let available = all.iter().map(|dielectric| dielectric.name.clone());
                let around = description.stack.is_none().then(|| SURROUNDINGS.to_owned());
                let (name, available) = (name.clone(), available.chain(around).collect());
                return Err(SensitivityFault::NoDielectric { name, available });
            }
            weights(problem, index)?;
            Ok(Plan::Dielectric(index))
        }
        Parameter::OfLayer(layer) => changed(problem, *layer, false),
        Parameter::Thickness(layer) => changed(problem, *layer, true),
    }
}

fn shifted(problem: &Problem, names: &[String]) -> Result<Plan, SensitivityFault> {
    if problem.symmetry.images.mirrors().iter().any(|mirror| !mirror.odd) {
        return Err(SensitivityFault::Mirrored);
    }
    if names.is_empty() {
        return Err(SensitivityFault::Nothing);
    }
    let bodies = forces::bodies(problem);
    let of = |name: &String| {
        if let Some((_, body)) = bodies.iter().find(|(known, _)| known == name) {
            return Ok(body.clone());
        }
        let dielectrics = problem.description.dielectrics.iter().map(|d| d.name.clone());
        let all = problem.conductors.names.iter().cloned();
        let available: Vec<String> = all.chain(dielectrics).collect();
        Err(match available.contains(name) {
            true => SensitivityFault::Bound(name.clone()),
            false => SensitivityFault::Unknown { name: name.clone(), available },
        })
    };
    Ok(Plan::Bodies(names.iter().map(of).collect::<Result<_, _>>()?))
}

/// The layers with one of them changed by a step to both sides.
fn changed(problem: &Problem, layer: usize, thickness: bool) -> Result<Plan, SensitivityFault> {
    let Some(stack) = &problem.description.stack else {
        let what = "a stack";
        return Err(SensitivityFault::NoLayer { layer, what, last: 0 });
    };
    let last = stack.layers.len();
    let missing = |what| SensitivityFault::NoLayer { layer, what, last };
    let at = if thickness {
        let of = layer.checked_sub(1).and_then(|k| stack.layers.get(k));
        of.ok_or(missing("a thickness"))?.thickness
    } else {
        stack.permittivity(layer).ok_or(missing("a permittivity"))?
    };
    let is_around = problem.in_layers.is_some_and(|place| place.region == layer);
    if !thickness && is_around && problem.media.is_some() {
        return Err(SensitivityFault::Around(layer));
    }
    let below = if thickness { moves_below(problem, stack, layer)? } else { false };
    let step = STEP * at;
    let by = |step: f64| {
        let mut stack = stack.clone();
        match layer.checked_sub(1) {
            Some(k) if k < last && thickness => {
                stack.layers[k].thickness += step;
                if below {
                    stack.at -= step;
                }
            }
            Some(k) if k < last => stack.layers[k].permittivity += step,
            Some(_) => stack.above = bem::Beyond::Dielectric(at + step),
            None => stack.below = bem::Beyond::Dielectric(at + step),
        }
        let all = TOLERANCES.into_iter().filter(|tolerance| *tolerance < stack.tolerance);
        let mut all = all.chain([stack.tolerance]).map(|tolerance| {
            let finer = bem::Stack { tolerance, ..stack.clone() };
            images(problem, &finer).map(|_| finer)
        });
        all.find_map(|stack| stack).ok_or(SensitivityFault::TooCoarse)
    };
    Ok(Plan::Layers { at, step, stacks: [by(-step)?, by(step)?] })
}

/// Whether surfaces stay where they are while what is below a layer's top moves down: those above
/// it do, and those in that top.
fn moves_below(
    problem: &Problem,
    stack: &bem::Stack,
    layer: usize,
) -> Result<bool, SensitivityFault> {
    let Some(layers::Place { low, high, .. }) = problem.in_layers else { return Ok(false) };
    let [bottom, top] = stack.bounds(layer);
    // Surfaces are exactly in interfaces.
    match (low <= bottom, high >= top) {
        _ if low >= top => Ok(true),
        _ if high <= bottom => Ok(false),
        (true, true) => Err(SensitivityFault::Between(layer)),
        (_, is_at_top) => Ok(is_at_top),
    }
}

/// Images in layers for the surfaces of the problem, and the permittivity there.
fn images(problem: &Problem, stack: &bem::Stack) -> Option<(bem::Images, f64)> {
    let layers::Place { region, .. } = problem.in_layers?;
    let found = stack.images(region, layers::size(&problem.mesh)).ok()?;
    let all = problem.symmetry.images.mirrored().with_layers(found, &problem.mesh);
    Some((all, stack.permittivity(region)?))
}

/// For the derivative by the permittivity of a dielectric: of each triangle, what charge on metal
/// counts there, by free and total charge; and what charge times potential counts on interfaces.
fn weights(
    problem: &Problem,
    dielectric: Option<usize>,
) -> Result<(Vec<[f64; 2]>, Vec<f64>), SensitivityFault> {
    let count = problem.mesh.triangles.len();
    let around = problem.description.relative_permittivity;
    let Some(media) = &problem.media else {
        return Ok((vec![[0.0, 1.0]; count], vec![0.0; count]));
    };
    let own =
        dielectric.map_or(around, |k| problem.description.dielectrics[k].relative_permittivity);
    let whole = problem.symmetry.whole(&problem.mesh);
    let sides = regions::on_both_sides(whole, &media.regions);
    let of = dielectric.map(|k| k as u32);
    let name = || match dielectric {
        Some(k) => problem.description.dielectrics[k].name.clone(),
        None => SURROUNDINGS.to_owned(),
    };
    let (mut on_metal, mut on_interfaces) = (vec![[0.0; 2]; count], vec![0.0; count]);
    for t in 0..count {
        let eps = media.permittivity[t];
        let is_own = [0, 1].map(|side| sides[t][side] == of && eps[side] == own);
        if !is_own[0] && !is_own[1] {
            continue;
        }
        let other = if is_own[0] { eps[1] } else { eps[0] };
        let is_metal = problem.conductors.of_triangle[t].is_some();
        match (is_metal, other == own) {
            // The fields on both sides add up to the total charge.
            (true, true) => on_metal[t] = [0.0, 1.0],
            (true, false) => {
                let factor = 1.0 / (own - other);
                on_metal[t] = [factor, -other * factor];
            }
            (false, false) => on_interfaces[t] = other / (other - own),
            // Inside of it nothing is bounded.
            (false, true) if is_own == [true; 2] => {}
            (false, true) => return Err(SensitivityFault::Alike(name())),
        }
    }
    Ok((on_metal, on_interfaces))
}

/// All that the description wants, for answers to each conductor in turn at 1 V.
pub(crate) fn find(
    problem: &Problem,
    responses: &[bem::Response],
) -> Result<Vec<Derivative>, bem::Error> {
    let wanted = problem.description.sensitivities.iter();
    let count = problem.conductors.names.len();
    let units = &responses[..count.min(responses.len())];
    // Problems are checked before they are solved.
    let planned = wanted.filter_map(|of| Some((of, plan(problem, &of.by).ok()?)));
    let of = |(sensitivity, plan): (&Sensitivity, Plan)| {
        let unit = problem.description.unit;
        let (at, matrices) = match plan {
            Plan::Bodies(bodies) => (None, by_shifts(problem, units, &bodies)?),
            Plan::Dielectric(index) => {
                let around = problem.description.relative_permittivity;
                let dielectrics = &problem.description.dielectrics;
                let at = index.map_or(around, |k| dielectrics[k].relative_permittivity);
                (Some(at), vec![by_permittivity(problem, units, index)?])
            }
            Plan::Layers { at, step, stacks } => {
                let is_length = matches!(sensitivity.by, Parameter::Thickness(_));
                let per = if is_length { unit.metres() } else { 1.0 };
                let matrix = by_layers(problem, units, (step, per), &stacks)?;
                (Some(at * per), vec![matrix])
            }
        };
        let by = sensitivity.by.clone();
        Ok(Derivative { name: sensitivity.name.clone(), by, at, matrices })
    };
    planned.map(of).collect()
}

fn charges(units: &[bem::Response]) -> Vec<bem::Charges<'_>> {
    units.iter().map(bem::Charges::from).collect()
}

/// Entries of both halves, which differ by errors alone, are their mean.
fn even(matrix: &OfPairs<f64>, factor: f64) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let entry = |i: usize, j: usize| 0.5 * factor * (matrix[i][j] + matrix[j][i]);
    (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
}

fn by_shifts(
    problem: &Problem,
    units: &[bem::Response],
    bodies: &[bem::Body],
) -> Result<Vec<Vec<Vec<f64>>>, bem::Error> {
    let images = &problem.symmetry.images;
    let whole = problem.symmetry.sources(&problem.mesh);
    let all: Vec<_> = charges(units)
        .iter()
        .map(|of| (images.charges(of.total), images.at_corners(of.at_corners)))
        .collect();
    let of_all: Vec<bem::Charges<'_>> =
        all.iter().map(|(total, at_corners)| bem::Charges { total, at_corners }).collect();
    let found = derivatives::by_shifts(whole, &of_all, bodies)?;
    // A capacitance over 4 pi eps0 is a length, so this is a number whatever the unit.
    let farad_per_metre = units::farads(1.0, units::LengthUnit::Metre);
    let along = |axis: usize| {
        let n = units.len();
        let entry = |i: usize, j: usize| found.iter().map(|of| of[i][j][axis]).sum::<f64>();
        let rows: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect();
        even(&rows, farad_per_metre)
    };
    Ok([0, 1, 2].map(along).to_vec())
}

fn by_permittivity(
    problem: &Problem,
    units: &[bem::Response],
    dielectric: Option<usize>,
) -> Result<Vec<Vec<f64>>, bem::Error> {
    let Ok((on_metal, on_interfaces)) = weights(problem, dielectric) else { return Ok(Vec::new()) };
    let images = &problem.symmetry.images;
    let on_interfaces = derivatives::works(&problem.mesh, &charges(units), images, &on_interfaces)?;
    let owner = &problem.conductors.of_triangle;
    let entry = |i: usize, j: usize| {
        let held = (0..owner.len()).filter(|&t| owner[t] == Some(i as u32));
        let on_metal = held.map(|t| {
            let [free, total] = on_metal[t];
            free * units[j].free_charge[t] + total * units[j].charge[t]
        });
        on_metal.sum::<f64>() + on_interfaces[j][i]
    };
    let n = units.len();
    let rows: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect();
    let whole = images.copies() as f64;
    Ok(even(&rows, whole * units::farads(1.0, problem.description.unit)))
}

fn density_of(units: &[bem::Response]) -> bem::Density {
    let is_linear = units.iter().any(|unit| !unit.at_corners.is_empty());
    if is_linear { bem::Density::Linear } else { bem::Density::Constant }
}

/// `step` in the mesh's unit or as a number, and what one of it is in SI units.
fn by_layers(
    problem: &Problem,
    units: &[bem::Response],
    (step, per): (f64, f64),
    stacks: &[bem::Stack; 2],
) -> Result<Vec<Vec<f64>>, bem::Error> {
    let own = problem.description.relative_permittivity;
    let count = problem.mesh.triangles.len();
    // All that carries charge, on interfaces too, has a potential here.
    let is_charged = |t: usize| units.iter().any(|unit| unit.charge[t] != 0.0);
    let charged: Vec<Option<u32>> = (0..count).map(|t| is_charged(t).then_some(0)).collect();
    let (density, method) = (density_of(units), bem::Method::Fmm);
    let options =
        bem::SolveOptions { density, method, tolerance: OF_WORKS, ..bem::SolveOptions::default() };
    let works = |stack: &bem::Stack| -> Result<_, bem::Error> {
        let Some((images, permittivity)) = images(problem, stack) else { return Ok(Vec::new()) };
        let media = bem::Media {
            conductor: &charged,
            conductors: 1,
            permittivity: &vec![[1.0; 2]; count],
            images: &images,
            bodies: &[],
        };
        let prepared = bem::Prepared::new(&problem.mesh, media, units.len(), &options)?;
        let found = prepared.works(&charges(units), &bem::Quiet)?;
        // Free charges, which stay, are own times these; the potential is that over the
        // permittivity.
        let factor = own * own / permittivity;
        Ok(found.into_iter().map(|row| row.into_iter().map(|x| factor * x).collect()).collect())
    };
    let [less, more]: [OfPairs<f64>; 2] = [works(&stacks[0])?, works(&stacks[1])?];
    let row = |(less, more): (&Vec<f64>, &Vec<f64>)| {
        less.iter().zip(more).map(|(less, more)| (less - more) / (2.0 * step * per)).collect()
    };
    let rows: Vec<Vec<f64>> = less.iter().zip(&more).map(row).collect();
    let whole = problem.symmetry.images.copies() as f64;
    Ok(even(&rows, whole * units::farads(1.0, problem.description.unit)))
}
