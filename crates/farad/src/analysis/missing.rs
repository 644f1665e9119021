//! The charge that a state misses, of which bars of values at probes and of forces are made
//! (docs/math.md, "Error estimates").

use bem::{ChildCharges, Electrostatics, Prepared, Progress};
use mesh::Mesh;
use mesh::refine;
use mesh::vector::{self, Vector, norm};
use nalgebra::{DMatrix, DVector};

use crate::analysis::bars::{self, ConductorBars, EstimatedBars};
use crate::analysis::excitations;
use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::result::charges::Known;
use crate::units;

/// Parts of a triangle in [`refine::uniform`].
const CHILDREN: usize = 4;

/// Local problems on interfaces leave out that neighbouring panels act on each other's normal
/// fields, most of all across edges: they find down to half of what is missing.
const OF_INTERFACES: f64 = 2.0;

/// Errors of charges may cancel in what is missing, though not in fact: this share of the
/// conductors' own bars counts at a distance.
const OF_CHARGES: f64 = 0.05;

/// The estimated errors of the answers to all excitations.
pub(crate) struct Estimate {
    pub(crate) bars: EstimatedBars,
    /// Missing part of the energies of all pairs of excitations.
    pub(crate) energies: Vec<Vec<f64>>,
    /// The factor of each triangle's missing charge.
    pub(crate) weights: Vec<f64>,
}

/// A state's charge and what it misses, on the children of triangles.
pub(crate) struct Missing {
    /// The children.
    pub(crate) mesh: Mesh,
    pub(crate) images: bem::Images,
    pub(crate) charge: ChildCharges,
    pub(crate) missing: ChildCharges,
    /// The charge on the triangles themselves.
    pub(crate) coarse: Known,
    pub(crate) conductors: Vec<Far>,
    /// Estimates are multiplied by this.
    pub(crate) factor: f64,
}

/// The far field of a conductor.
pub(crate) struct Far {
    centre: Vector,
    /// Radius of a ball around it.
    radius: f64,
    /// The share of the bar of its charge that counts, over 4 pi eps.
    charge: f64,
    pub(crate) volt: f64,
}

impl Far {
    /// Bar of the potential there; next to the conductor, whose potential is given, none is left.
    pub(crate) fn potential(&self, point: Vector, to_surface: f64) -> f64 {
        self.charge / self.distance(point) * (to_surface / self.radius).min(1.0)
    }

    /// The potential there, about.
    pub(crate) fn volt_at(&self, point: Vector) -> f64 {
        self.volt.abs() * self.radius / self.distance(point)
    }

    pub(crate) fn distance(&self, point: Vector) -> f64 {
        norm(vector::sub(point, self.centre)).max(self.radius)
    }
}

/// All conductors, with the bars of their charges and potentials.
fn far(problem: &Problem, state: &bem::State, bars: &[ConductorBars]) -> Vec<Far> {
    let coulomb = units::farads(1.0, problem.description.unit);
    let eps = problem.description.relative_permittivity;
    // Images of the opposite charge are as far away.
    let is_alone = !problem.description.planes.iter().any(|mirror| mirror.odd);
    let owner = &problem.conductors.of_triangle;
    let conductor = |(k, bars): (usize, &ConductorBars)| {
        let own = (0..owner.len()).filter(|&t| owner[t] == Some(k as u32));
        let [low, high] = own.flat_map(|t| problem.mesh.corners(t)).fold(
            [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]],
            |[low, high], x| {
                let each =
                    |of: fn(f64, f64) -> f64, a: Vector| std::array::from_fn(|i| of(a[i], x[i]));
                [each(f64::min, low), each(f64::max, high)]
            },
        );
        Far {
            centre: std::array::from_fn(|i| f64::midpoint(low[i], high[i])),
            radius: 0.5 * norm(vector::sub(high, low)),
            charge: if is_alone { OF_CHARGES * bars.charge_c / (coulomb * eps) } else { 0.0 },
            volt: state.potentials[k],
        }
    };
    bars.iter().enumerate().map(conductor).collect()
}

/// The missing part of the state of this solution; `None` if there is no state.
pub(crate) fn find(
    problem: &Problem,
    prepared: &mut Prepared,
    answer: &Electrostatics,
    estimate: &Estimate,
    progress: &dyn Progress,
) -> Result<Option<Missing>, Error> {
    let _span = tracing::debug_span!("missing charge").entered();
    let driven = excitations::driven(problem, answer);
    let Some(state) = answer.state(&excitations::conditions(problem), driven) else {
        return Ok(None);
    };
    let excitation = excitations::sources(problem).potentials(state.potentials.clone());
    let images = problem.symmetry.images.of_parts(CHILDREN);
    let children = refine::uniform(&problem.mesh, |_, point| point)
        .map_err(|error| Error::Accuracy(error.to_string()))?;
    let weights = of_all(problem, &estimate.weights);
    let mut missing = prepared.missing(&excitation, &state, &weights)?;
    let induced = prepared.induced_by(&missing, progress)?;
    missing.add(1.0, &induced);
    for (conductor, volt) in floating(problem, answer, &state, &estimate.energies) {
        missing.add(volt, &ChildCharges::of(&answer.responses[conductor]));
    }
    Ok(Some(Missing {
        charge: ChildCharges::of(&state),
        missing,
        coarse: Known { total: state.charge.clone(), at_corners: state.at_corners.clone() },
        conductors: far(problem, &state, &estimate.bars.conductors),
        factor: bars::factor(problem),
        mesh: children,
        images,
    }))
}

/// The weights of all triangles, those of interfaces included.
fn of_all(problem: &Problem, weights: &[f64]) -> Vec<f64> {
    let weight = |(weight, owner): (&f64, &Option<u32>)| {
        if owner.is_some() { *weight } else { OF_INTERFACES * weight }
    };
    weights.iter().zip(&problem.conductors.of_triangle).map(weight).collect()
}

/// Missing charge on each triangle, for each conductor in turn at 1 V, as far as the next finer
/// densities find it, with all charge that it induces.
pub(crate) fn of_units(
    problem: &Problem,
    prepared: &mut Prepared,
    excitations: &[bem::Excitation],
    answer: &Electrostatics,
    weights: &[f64],
    progress: &dyn Progress,
) -> Result<Vec<Vec<f64>>, Error> {
    let _span = tracing::debug_span!("missing charges of units").entered();
    let weights = of_all(problem, weights);
    let units = problem.conductors.names.len().min(answer.responses.len());
    let of_unit = |(excitation, unit): (&bem::Excitation, &bem::Response)| {
        let mut missing = prepared.missing(excitation, unit, &weights)?;
        let induced = prepared.induced_by(&missing, progress)?;
        missing.add(1.0, &induced);
        Ok(missing.total.chunks(CHILDREN).map(|children| children.iter().sum()).collect())
    };
    excitations.iter().zip(&answer.responses).take(units).map(of_unit).collect()
}

/// Errors of the potentials of floating conductors: the charge that is missing at fixed potentials
/// is not theirs.
fn floating(
    problem: &Problem,
    answer: &Electrostatics,
    state: &bem::State,
    energies: &[Vec<f64>],
) -> Vec<(usize, f64)> {
    let count = problem.conductors.names.len();
    let floating = excitations::floating(&excitations::conditions(problem));
    let sources = problem.description.has_sources().then_some(count);
    let missing = |&i: &usize| -> f64 {
        let had = |k: usize| sources.map_or(0.0, |s| answer.responses[s].potentials[k]);
        let of_units: f64 =
            (0..count).map(|k| energies[i][k] * (state.potentials[k] - had(k))).sum();
        of_units + sources.map_or(0.0, |s| energies[i][s])
    };
    if floating.is_empty() {
        return Vec::new();
    }
    let m = floating.len();
    let matrix =
        DMatrix::from_fn(m, m, |a, b| answer.responses[floating[b]].conductor_charge[floating[a]]);
    let charges = DVector::from_iterator(m, floating.iter().map(missing));
    let volts = matrix.lu().solve(&charges).unwrap_or_else(|| DVector::zeros(m));
    floating.into_iter().zip(volts.iter().map(|volt| -volt)).collect()
}
