//! What the capacitance matrix changes by when bodies are shifted, or permittivities and
//! thicknesses change: from the charges that are known, without further solves (docs/math.md,
//! "Derivatives").

use bem::derivatives::{self, OfPairs};
use mesh::regions;

use crate::fault::{Error, Fault};
use crate::forces;
use crate::layers;
use crate::media::SURROUNDINGS;
use crate::planes::Seen;
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
        "there is no layer {layer} with {what}; there {}",
        match (first, last) {
            (_, 0) => "are no layers".to_owned(),
            (0, last) => format!("is 0, what is below all layers, to {last}, what is above"),
            (first, last) => format!("is {first}, the lowest, to {last}"),
        }
    )]
    NoLayer {
        /// Which.
        layer: usize,
        /// What it should have.
        what: &'static str,
        /// The lowest that may have it.
        first: usize,
        /// The highest; 0: there are none.
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

/// Names with commas between them, or "none".
pub(crate) fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// What is wrong with those of the problem's description.
pub(crate) fn faults(problem: &Problem) -> Vec<Fault> {
    let wanted = problem.description.sensitivities.iter().enumerate();
    wanted.filter_map(|(k, of)| Some(fault(k, of, plan(problem, &of.by).err()?))).collect()
}

/// Whether one can be found of the problem's surfaces as they are.
pub(crate) fn can_be_found(problem: &Problem, of: &Sensitivity) -> bool {
    plan(problem, &of.by).is_ok()
}

fn fault(index: usize, of: &Sensitivity, problem: SensitivityFault) -> Fault {
    Fault::Sensitivity { sensitivity: index, name: of.name.clone(), problem }
}

/// What has to be computed.
enum Plan {
    /// The derivatives by the shifts of these bodies are added.
    Bodies(Vec<bem::Body>),
    Permittivity {
        at: f64,
        /// What free charge, and all charge, of each triangle of metal counts.
        on_metal: Vec<[f64; 2]>,
        /// What charge times potential of each triangle of an interface counts.
        on_interfaces: Vec<f64>,
    },
    Layer(Change),
}

/// A change of a layer.
struct Change {
    layer: usize,
    is_thickness: bool,
    at: f64,
    /// Whether surfaces stay where they are while what is below the layer's top moves down.
    moves_below: bool,
}

impl Change {
    /// The layers with more of it by this step.
    fn by(&self, step: f64, stack: &bem::Stack) -> bem::Stack {
        let mut stack = stack.clone();
        let value = self.at + step;
        let layer = self.layer.checked_sub(1).map(|k| stack.layers.get_mut(k));
        match layer {
            Some(Some(layer)) if self.is_thickness => layer.thickness = value,
            Some(Some(layer)) => layer.permittivity = value,
            Some(None) => stack.above = bem::Beyond::Dielectric(value),
            None => stack.below = bem::Beyond::Dielectric(value),
        }
        if self.moves_below {
            stack.at -= step;
        }
        stack
    }
}

fn plan(problem: &Problem, by: &Parameter) -> Result<Plan, SensitivityFault> {
    match by {
        Parameter::Shift(names) => shifted(problem, names),
        Parameter::Permittivity(name) => permittivity(problem, name),
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

/// A layer that changes.
fn changed(problem: &Problem, layer: usize, is_thickness: bool) -> Result<Plan, SensitivityFault> {
    let Some(stack) = &problem.description.stack else {
        let what = "a stack";
        return Err(SensitivityFault::NoLayer { layer, what, first: 0, last: 0 });
    };
    let last = stack.layers.len();
    let (first, highest) = if is_thickness { (1, last) } else { (0, last + 1) };
    let missing = |what| SensitivityFault::NoLayer { layer, what, first, last: highest };
    let at = if is_thickness {
        let of = layer.checked_sub(1).and_then(|k| stack.layers.get(k));
        of.ok_or(missing("a thickness"))?.thickness
    } else {
        stack.permittivity(layer).ok_or(missing("a permittivity"))?
    };
    let is_around = problem.in_layers.as_ref().is_some_and(|place| place.regions.contains(&layer));
    if !is_thickness && is_around && problem.media.is_some() {
        return Err(SensitivityFault::Around(layer));
    }
    let moves_below = is_thickness && moves_below(problem, stack, layer)?;
    Ok(Plan::Layer(Change { layer, is_thickness, at, moves_below }))
}

/// Whether surfaces stay where they are while what is below a layer's top moves down: those above
/// it do, and those in that top.
fn moves_below(
    problem: &Problem,
    stack: &bem::Stack,
    layer: usize,
) -> Result<bool, SensitivityFault> {
    let Some(&layers::Place { low, high, .. }) = problem.in_layers.as_ref() else {
        return Ok(false);
    };
    let [bottom, top] = stack.bounds(layer);
    // Surfaces are exactly in interfaces.
    match (low <= bottom, high >= top) {
        _ if low >= top => Ok(true),
        _ if high <= bottom => Ok(false),
        (true, true) => Err(SensitivityFault::Between(layer)),
        (_, is_at_top) => Ok(is_at_top),
    }
}

/// Images in layers for the surfaces of the problem, as exact as can be, and the permittivity
/// there.
fn images(problem: &Problem, stack: &bem::Stack) -> Option<(bem::Images, f64)> {
    let region = problem.in_layers.as_ref()?.region()?;
    let finer = TOLERANCES.into_iter().filter(|tolerance| *tolerance < stack.tolerance);
    let found = finer.chain([stack.tolerance]).find_map(|tolerance| {
        let stack = bem::Stack { tolerance, ..stack.clone() };
        stack.images(region, layers::size(&problem.mesh)).ok()
    });
    let all = problem.symmetry.images.mirrored().with_layers(found?, &problem.mesh);
    Some((all, stack.permittivity(region)?))
}

/// A dielectric, or the surrounding medium, whose permittivity changes.
fn permittivity(problem: &Problem, name: &str) -> Result<Plan, SensitivityFault> {
    let description = &problem.description;
    if !description.surfaces.is_empty() {
        return Err(SensitivityFault::BySurfaces);
    }
    let all = &description.dielectrics;
    let index = all.iter().position(|dielectric| dielectric.name == name);
    if index.is_none() && (name != SURROUNDINGS || description.stack.is_some()) {
        let available = all.iter().map(|dielectric| dielectric.name.clone());
        let around = description.stack.is_none().then(|| SURROUNDINGS.to_owned());
        let (name, available) = (name.to_owned(), available.chain(around).collect());
        return Err(SensitivityFault::NoDielectric { name, available });
    }
    let at = index.map_or(description.relative_permittivity, |k| all[k].relative_permittivity);
    let count = problem.mesh.triangles.len();
    let Some(media) = &problem.media else {
        let on_metal = vec![[0.0, 1.0]; count];
        return Ok(Plan::Permittivity { at, on_metal, on_interfaces: vec![0.0; count] });
    };
    let sides = regions::on_both_sides(problem.symmetry.whole(&problem.mesh), &media.regions);
    let of = index.map(|k| k as u32);
    let (mut on_metal, mut on_interfaces) = (vec![[0.0; 2]; count], vec![0.0; count]);
    for t in 0..count {
        let eps = media.permittivity[t];
        let is_own = [0, 1].map(|side| sides[t][side] == of && eps[side] == at);
        if is_own == [false; 2] {
            continue;
        }
        let other = if is_own[0] { eps[1] } else { eps[0] };
        let is_metal = problem.conductors.of_triangle[t].is_some();
        match (is_metal, other == at) {
            // The fields on both sides add up to the total charge.
            (true, true) => on_metal[t] = [0.0, 1.0],
            (true, false) => on_metal[t] = [1.0, -other].map(|share| share / (at - other)),
            (false, false) => on_interfaces[t] = other / (other - at),
            // Inside of it nothing is bounded.
            (false, true) if is_own == [true; 2] => {}
            (false, true) => return Err(SensitivityFault::Alike(name.to_owned())),
        }
    }
    Ok(Plan::Permittivity { at, on_metal, on_interfaces })
}

/// All that the description wants, for answers to each conductor in turn at 1 V.
pub(crate) fn find(
    problem: &Problem,
    responses: &[bem::Response],
    progress: &dyn bem::Progress,
) -> Result<Vec<Derivative>, Error> {
    let count = problem.conductors.names.len();
    let units = &responses[..count.min(responses.len())];
    let of = |(index, wanted): (usize, &Sensitivity)| {
        let faulty = |problem| Error::Faults(vec![fault(index, wanted, problem)]);
        let (at, matrices) = match plan(problem, &wanted.by).map_err(faulty)? {
            Plan::Bodies(bodies) => (None, by_shifts(problem, units, &bodies)?),
            Plan::Permittivity { at, on_metal, on_interfaces } => {
                let weights = (&on_metal[..], &on_interfaces[..]);
                (Some(at), vec![by_permittivity(problem, units, weights)?])
            }
            Plan::Layer(change) => {
                let unit = problem.description.unit.metres();
                let per = if change.is_thickness { unit } else { 1.0 };
                let step = STEP * change.at;
                let fitted = |step: f64| {
                    let stack = problem.description.stack.as_ref()?;
                    images(problem, &change.by(step, stack))
                };
                let [less, more] = [fitted(-step), fitted(step)];
                let (Some(less), Some(more)) = (less, more) else {
                    return Err(faulty(SensitivityFault::TooCoarse));
                };
                let matrix = by_images(problem, units, &[less, more], (step * per, progress))?;
                (Some(change.at * per), vec![matrix])
            }
        };
        Ok(Derivative { name: wanted.name.clone(), by: wanted.by.clone(), at, matrices })
    };
    problem.description.sensitivities.iter().enumerate().map(of).collect()
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
    let all: Vec<Seen> = charges(units).iter().map(|of| Seen::new(*of, images, 0)).collect();
    let of_all: Vec<bem::Charges<'_>> = all.iter().map(bem::Charges::from).collect();
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

/// With the weights of a [`Plan::Permittivity`].
fn by_permittivity(
    problem: &Problem,
    units: &[bem::Response],
    (on_metal, on_interfaces): (&[[f64; 2]], &[f64]),
) -> Result<Vec<Vec<f64>>, bem::Error> {
    let images = &problem.symmetry.images;
    let mut rows = derivatives::works(&problem.mesh, &charges(units), images, on_interfaces)?;
    // Row j: the field of solution j at conductors at 1 V in others.
    for (row, unit) in rows.iter_mut().zip(units) {
        for (t, owner) in problem.conductors.of_triangle.iter().enumerate() {
            if let Some(to) = owner.and_then(|i| row.get_mut(i as usize)) {
                let [free, total] = on_metal[t];
                *to += free * unit.free_charge[t] + total * unit.charge[t];
            }
        }
    }
    let whole = images.copies() as f64;
    Ok(even(&rows, whole * units::farads(1.0, problem.description.unit)))
}

fn density_of(units: &[bem::Response]) -> bem::Density {
    let is_linear = units.iter().any(|unit| !unit.at_corners.is_empty());
    if is_linear { bem::Density::Linear } else { bem::Density::Constant }
}

/// From the images, and the permittivities where surfaces are, of less and more of a parameter by
/// this step.
fn by_images(
    problem: &Problem,
    units: &[bem::Response],
    changed: &[(bem::Images, f64); 2],
    (step, progress): (f64, &dyn bem::Progress),
) -> Result<Vec<Vec<f64>>, bem::Error> {
    let own = problem.description.relative_permittivity;
    let count = problem.mesh.triangles.len();
    // All that carries charge, on interfaces too, has a potential here.
    let is_charged = |t: usize| units.iter().any(|unit| unit.charge[t] != 0.0);
    let charged: Vec<Option<u32>> = (0..count).map(|t| is_charged(t).then_some(0)).collect();
    let (density, method) = (density_of(units), bem::Method::Fmm);
    let options =
        bem::SolveOptions { density, method, tolerance: OF_WORKS, ..bem::SolveOptions::default() };
    let works = |(images, permittivity): &(bem::Images, f64)| -> Result<OfPairs<f64>, bem::Error> {
        let media = bem::Media {
            conductor: &charged,
            conductors: 1,
            permittivity: &vec![[1.0; 2]; count],
            images,
            bodies: &[],
        };
        let prepared = bem::Prepared::new(&problem.mesh, media, units.len(), &options)?;
        let mut found = prepared.works(&charges(units), progress)?;
        // Free charges, which stay, are own times these; the potential is that over the
        // permittivity.
        let factor = own * own / permittivity;
        found.iter_mut().flatten().for_each(|work| *work *= factor);
        Ok(found)
    };
    let (mut rows, more) = (works(&changed[0])?, works(&changed[1])?);
    let pairs = rows.iter_mut().flatten().zip(more.iter().flatten());
    pairs.for_each(|(less, more)| *less = (*less - more) / (2.0 * step));
    let whole = problem.symmetry.images.copies() as f64;
    Ok(even(&rows, whole * units::farads(1.0, problem.description.unit)))
}
