//! Derivatives of the capacitance matrix by shifts of bodies, permittivities and thicknesses: from
//! the known charges, without further solves (docs/math.md, "Derivatives").

use bem::derivatives::{self, OfPairs};

use crate::analysis::interface::{Analysis, Answers, Conclusion, Results};
use crate::analysis::permittivities::{self, Matrix, Medium, Shares};
use crate::analysis::{checks, forces};
use crate::problem::fault::{Error, Fault};
use crate::problem::planes::Seen;
use crate::problem::request_fault::SensitivityFault;
use crate::problem::{Problem, layers};
use crate::result::matrices::square;
use crate::result::participation::Derivative;
use crate::result::solution::Solution;
use crate::scene::description::Description;
use crate::scene::requests::{Parameter, Sensitivity};
use crate::units;

/// By what share permittivities and thicknesses of layers change on both sides: the error of the
/// quotient is of the order of its square.
const STEP: f64 = 0.02;

/// The tolerances that images of changed layers are fitted to, if they can be; else that of the
/// layers.
const TOLERANCES: [f64; 2] = [1e-7, 1e-6];

/// Relative error of a share by such a step and by the fit of images.
const OF_STEPS: f64 = 5e-4;

/// Tolerance of the potentials that belong to these, which differences are taken of.
const OF_WORKS: f64 = 1e-6;

/// Derivatives of the capacitance matrix.
pub(crate) struct SensitivityAnalysis;

impl Analysis for SensitivityAnalysis {
    fn is_requested(&self, description: &Description) -> bool {
        !description.sensitivities.is_empty()
    }

    fn name_with_all_nets(&self) -> Option<&'static str> {
        Some("a sensitivity")
    }

    fn name_in_one_layer(&self) -> Option<&'static str> {
        Some("sensitivities")
    }

    fn faults_on_mesh(&self, problem: &Problem) -> Vec<Fault> {
        let requests = problem.description.sensitivities.iter().enumerate();
        let fault = |(index, request): (usize, &Sensitivity)| {
            Some(fault(index, request, plan(problem, &request.by).err()?))
        };
        requests.filter_map(fault).collect()
    }

    fn find(&self, answers: &Answers<'_>, results: &mut Results) -> Result<(), Error> {
        results.units = answers.units();
        Ok(())
    }

    fn conclude(&self, conclusion: &Conclusion<'_>, solution: &mut Solution) -> Result<(), Error> {
        let Conclusion { problem, progress, .. } = conclusion;
        let (matrix, bars) = (solution.matrices().maxwell_farad, solution.matrix_bars());
        let size = Size::new(&matrix, bars.as_ref().map(|bars| &bars.maxwell_farad));
        solution.derivatives = find(problem, &solution.units, &size, *progress)?;
        solution.warnings.extend(checks::participations(problem, &solution.derivatives));
        Ok(())
    }

    fn is_of_last_mesh(&self, _for_films: bool) -> bool {
        true
    }
}

/// Whether one can be found of the problem's surfaces as they are.
pub(crate) fn can_be_found(problem: &Problem, of: &Sensitivity) -> bool {
    plan(problem, &of.by).is_ok()
}

fn fault(index: usize, of: &Sensitivity, problem: SensitivityFault) -> Fault {
    Fault::Sensitivity { sensitivity: index, name: of.name.clone(), problem }
}

/// A quantity to be computed.
enum Plan {
    /// The derivatives by the shifts of these bodies are added.
    Bodies(Vec<bem::Body>),
    Permittivity(Medium),
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
        Parameter::Permittivity(name) => Ok(Plan::Permittivity(Medium::new(problem, name)?)),
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
        let stack = stack.clone().tolerance(tolerance);
        stack.images(region, layers::size(&problem.mesh)).ok()
    });
    let all = problem.symmetry.images.mirrored().with_layers(found?, &problem.mesh);
    Some((all, stack.permittivity(region)?))
}

/// All that the description wants, for answers to each conductor in turn at 1 V.
fn find(
    problem: &Problem,
    responses: &[bem::Response],
    size: &Size,
    progress: &dyn bem::Progress,
) -> Result<Vec<Derivative>, Error> {
    let sensitivities = &problem.description.sensitivities;
    let count = problem.conductors.names.len();
    let units = &responses[..count.min(responses.len())];
    let mut plans = Vec::new();
    for (index, wanted) in sensitivities.iter().enumerate() {
        let faulty = |problem| Error::Faults(vec![fault(index, wanted, problem)]);
        plans.push(plan(problem, &wanted.by).map_err(faulty)?);
    }
    let media = plans.iter().filter_map(|plan| match plan {
        Plan::Permittivity(medium) => Some(medium),
        _ => None,
    });
    let media: Vec<&Medium> = media.collect();
    let relative = size.relative.as_deref();
    let mut shares =
        permittivities::shares(problem, units, &media, relative, progress)?.into_iter();
    let mut found = Vec::new();
    for (index, (wanted, plan)) in sensitivities.iter().zip(plans).enumerate() {
        found.push(match plan {
            Plan::Bodies(bodies) => {
                let matrices = by_shifts(problem, units, &bodies)?;
                size.by_length(wanted, None, matrices)
            }
            Plan::Permittivity(medium) => {
                let shares = shares.next().unwrap_or_default();
                size.by_permittivity(wanted, medium.at, shares)
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
                    let problem = SensitivityFault::TooCoarse;
                    return Err(Error::Faults(vec![fault(index, wanted, problem)]));
                };
                let matrix = by_images(problem, units, &[less, more], step * per, progress)?;
                match change.is_thickness {
                    true => size.by_length(wanted, Some(change.at * per), vec![matrix]),
                    false => {
                        let shares = size.shares(change.at, &matrix);
                        size.by_permittivity(wanted, change.at, shares)
                    }
                }
            }
        });
    }
    Ok(found)
}

/// Sizes with which derivatives and their errors are compared.
struct Size {
    /// Square roots of the conductors' own capacitances.
    roots: Vec<f64>,
    /// Square roots of their bars relative to them.
    relative: Option<Vec<f64>>,
}

impl Size {
    fn new(matrix: &Matrix, bars: Option<&Matrix>) -> Self {
        let own = |of: &Matrix| -> Vec<f64> {
            of.iter().enumerate().map(|(k, row)| row[k].abs()).collect()
        };
        let all = own(matrix);
        let relative = bars.map(|bars| {
            let each = own(bars).into_iter().zip(&all);
            each.map(|(bar, own)| (bar / own).sqrt()).collect()
        });
        Self { roots: all.into_iter().map(f64::sqrt).collect(), relative }
    }

    /// A matrix over all conductors.
    fn entries(&self, entry: impl Fn(usize, usize) -> f64) -> Matrix {
        square(self.roots.len(), entry)
    }

    /// A derivative by a place or a thickness. It is a form of two charges, each of which may be
    /// off by as much as they make the capacitance.
    fn by_length(
        &self,
        wanted: &Sensitivity,
        at: Option<f64>,
        matrices: Vec<Matrix>,
    ) -> Derivative {
        let rows = |i: usize| matrices.iter().flat_map(move |matrix| &matrix[i]);
        let largest = |i: usize| rows(i).fold(0.0, |most: f64, entry| most.max(entry.abs()));
        let largest: Vec<f64> = (0..self.roots.len()).map(largest).collect();
        let of_all = largest.iter().copied().fold(0.0, f64::max);
        let bars = self.relative.as_ref().map_or_else(Vec::new, |relative| {
            let of = |k: usize| relative[k] * largest[k].sqrt();
            let bar = |i: usize, j: usize| 2.0 * (of(i) * of(j) + OF_STEPS * of_all);
            vec![self.entries(bar); matrices.len()]
        });
        let (participation, participation_bars) = (Vec::new(), Vec::new());
        let (name, by) = (wanted.name.clone(), wanted.by.clone());
        let unit = by.unit_of_derivative();
        Derivative { name, by, at, unit, matrices, bars, participation, participation_bars }
    }

    /// Shares of a layer by this derivative.
    fn shares(&self, at: f64, matrix: &Matrix) -> Shares {
        let shares = self.entries(|i, j| at * matrix[i][j] / (self.roots[i] * self.roots[j]));
        let bars = self.entries(|_, _| OF_STEPS);
        Shares { shares, bars, are_of_charges: true }
    }

    fn by_permittivity(
        &self,
        wanted: &Sensitivity,
        at: f64,
        Shares { shares, bars, are_of_charges }: Shares,
    ) -> Derivative {
        let (name, by) = (wanted.name.clone(), wanted.by.clone());
        let own = |of: &Matrix| -> Vec<f64> { (0..of.len()).map(|k| of[k][k]).collect() };
        let participation = own(&shares);
        let farad = |i: usize, j: usize| self.roots[i] * self.roots[j] / at;
        let matrices = vec![self.entries(|i, j| shares[i][j] * farad(i, j))];
        // An error in one of two parts of all energy is one in the other.
        let off_by_charges = if are_of_charges { 2.0 } else { 0.0 };
        let parts: Vec<f64> = participation.iter().map(|p| (p * (1.0 - p)).abs().sqrt()).collect();
        let with_bars = self.relative.as_ref().map(|relative| {
            let of_charges = |i: usize, j: usize| relative[i] * relative[j];
            let off = self.entries(|i, j| {
                bars[i][j] + off_by_charges * of_charges(i, j) * parts[i] * parts[j]
            });
            let bar = |i: usize, j: usize| {
                (off[i][j] + of_charges(i, j) * shares[i][j].abs()) * farad(i, j)
            };
            (vec![self.entries(bar)], own(&off))
        });
        let (bars, participation_bars) = with_bars.unwrap_or_default();
        let (at, unit) = (Some(at), by.unit_of_derivative());
        Derivative { name, by, at, unit, matrices, bars, participation, participation_bars }
    }
}

/// Entries of both halves, which differ by errors alone, are their mean.
fn even(matrix: &OfPairs<f64>, factor: f64) -> Vec<Vec<f64>> {
    square(matrix.len(), |i, j| 0.5 * factor * (matrix[i][j] + matrix[j][i]))
}

fn by_shifts(
    problem: &Problem,
    units: &[bem::Response],
    bodies: &[bem::Body],
) -> Result<Vec<Vec<Vec<f64>>>, bem::Error> {
    let images = &problem.symmetry.images;
    let whole = problem.symmetry.sources(&problem.mesh);
    let all: Vec<Seen> =
        permittivities::charges(units).iter().map(|of| Seen::new(*of, images, 0)).collect();
    let of_all: Vec<bem::Charges<'_>> = all.iter().map(bem::Charges::from).collect();
    let found = derivatives::by_shifts(whole, &of_all, bodies)?;
    // A capacitance over 4 pi eps0 is a length, so this is a number whatever the unit.
    let farad_per_metre = units::farads(1.0, units::LengthUnit::Metre);
    let along = |axis: usize| {
        let entry = |i: usize, j: usize| found.iter().map(|of| of[i][j][axis]).sum::<f64>();
        even(&square(units.len(), entry), farad_per_metre)
    };
    Ok([0, 1, 2].map(along).to_vec())
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
    step: f64,
    progress: &dyn bem::Progress,
) -> Result<Vec<Vec<f64>>, bem::Error> {
    let own = problem.description.relative_permittivity;
    let count = problem.mesh.triangles.len();
    // All that carries charge, on interfaces too, has a potential here.
    let is_charged = |t: usize| units.iter().any(|unit| unit.charge[t] != 0.0);
    let charged: Vec<Option<u32>> = (0..count).map(|t| is_charged(t).then_some(0)).collect();
    let (density, method) = (density_of(units), bem::Method::Fmm);
    let options = bem::SolveOptions::default().density(density).method(method).tolerance(OF_WORKS);
    let works = |(images, permittivity): &(bem::Images, f64)| -> Result<OfPairs<f64>, bem::Error> {
        let media = bem::Media {
            conductor: &charged,
            conductors: 1,
            permittivity: &vec![[1.0; 2]; count],
            images,
            bodies: &[],
        };
        let prepared = bem::Prepared::new(&problem.mesh, media, units.len(), &options)?;
        let mut found = prepared.works(&permittivities::charges(units), progress)?;
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
