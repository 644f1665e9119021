//! The charge that a state misses, and what it does to values at probes and to forces: their error
//! bars (docs/math.md, "Error estimates").

use bem::{ChildCharges, Electrostatics, Prepared, Progress};
use mesh::Mesh;
use mesh::locate::Locator;
use mesh::refine;
use mesh::vector::{self, Vector, norm};
use nalgebra::{DMatrix, DVector};

use crate::analysis::bars::{self, ConductorBars};
use crate::analysis::{excitations, forces};
use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::problem::planes::Seen;
use crate::result::state::{Force, ProbeBars, Probed};
use crate::units;

/// Errors of potentials change sign in space. A place counts as one within this share of its
/// distance from the surfaces, where they are as large as anywhere near.
const AROUND: f64 = 0.3;

/// Parts of a triangle in [`refine::uniform`].
const CHILDREN: usize = 4;

/// Local problems on interfaces leave out that neighbouring panels act on each other's normal
/// fields, most of all across edges: they find down to half of what is missing.
const OF_INTERFACES: f64 = 2.0;

/// Errors of charges may cancel in what is missing, though not in fact: so much of the conductors'
/// own bars counts at a distance.
const OF_CHARGES: f64 = 0.1;

/// Relative error of what images far away make of the charge that is missing.
const ROUGHLY: f64 = 1e-4;

/// A potential differs from that of a conductor by no more than the field times so many distances.
const BY_FIELD: f64 = 2.0;

/// A state's charge and what it misses, on the children of triangles.
pub(crate) struct Missing {
    /// The children.
    mesh: Mesh,
    images: bem::Images,
    charge: ChildCharges,
    missing: ChildCharges,
    /// The charge on the triangles themselves.
    coarse: OnTriangles,
    conductors: Vec<Far>,
    /// Estimates are multiplied by this.
    factor: f64,
}

/// What is known of a conductor far from it.
struct Far {
    centre: Vector,
    /// Of a ball around it.
    radius: f64,
    /// The share of the bar of its charge that counts, over 4 pi eps.
    charge: f64,
    volt: f64,
}

impl Far {
    /// Bar of the potential there; next to the conductor, whose potential is given, none is left.
    fn potential(&self, point: Vector, to_surface: f64) -> f64 {
        self.charge / self.distance(point) * (to_surface / self.radius).min(1.0)
    }

    /// The potential there, about.
    fn volt(&self, point: Vector) -> f64 {
        self.volt.abs() * self.radius / self.distance(point)
    }

    fn distance(&self, point: Vector) -> f64 {
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

struct OnTriangles {
    total: Vec<f64>,
    at_corners: Vec<[f64; 3]>,
}

impl<'a> From<&'a OnTriangles> for bem::Charges<'a> {
    fn from(of: &'a OnTriangles) -> Self {
        Self { total: &of.total, at_corners: &of.at_corners }
    }
}

/// What is missing of the state of this answer, whose matrix of all excitations misses `energies`;
/// `None` where there is no state.
pub(crate) fn find(
    problem: &Problem,
    prepared: &mut Prepared,
    answer: &Electrostatics,
    (energies, weights, bars): (&[Vec<f64>], &[f64], &[ConductorBars]),
    progress: &dyn Progress,
) -> Result<Option<Missing>, Error> {
    let _span = tracing::debug_span!("missing charge").entered();
    let driven = excitations::driven(problem, answer);
    let Some(state) = answer.state(&excitations::conditions(problem), driven) else {
        return Ok(None);
    };
    let excitation =
        bem::Excitation { potentials: state.potentials.clone(), ..excitations::sources(problem) };
    let images = problem.symmetry.images.of_parts(CHILDREN);
    let children = refine::uniform(&problem.mesh, |_, point| point)
        .map_err(|error| Error::Accuracy(error.to_string()))?;
    let weights = of_all(problem, weights);
    let mut missing = prepared.missing(&excitation, &state, &weights)?;
    let induced = prepared.induced_by(&missing, progress)?;
    missing.add(1.0, &induced);
    for (conductor, volt) in floating(problem, answer, &state, energies) {
        missing.add(volt, &ChildCharges::of(&answer.responses[conductor]));
    }
    Ok(Some(Missing {
        charge: ChildCharges::of(&state),
        missing,
        coarse: OnTriangles { total: state.charge.clone(), at_corners: state.at_corners.clone() },
        conductors: far(problem, &state, bars),
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

/// What the charges of each conductor in turn at 1 V miss on each triangle, as far as the next
/// finer densities find it, all that they induce included.
pub(crate) fn of_units(
    problem: &Problem,
    prepared: &mut Prepared,
    (excitations, answer): (&[bem::Excitation], &Electrostatics),
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

/// What the potentials of floating conductors are off by: the charge that is missing at fixed
/// potentials is not theirs.
fn floating(
    problem: &Problem,
    answer: &Electrostatics,
    state: &bem::State,
    energies: &[Vec<f64>],
) -> Vec<(usize, f64)> {
    let count = problem.conductors.names.len();
    let conditions = excitations::conditions(problem);
    let is_floating = |k: &usize| matches!(conditions[*k], bem::Condition::Charge(_));
    let floating: Vec<usize> = (0..count).filter(is_floating).collect();
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

impl Missing {
    /// Sets the bars of values at each of the problem's probes, which a solve to `tolerance` found.
    pub(crate) fn of_probes(
        &self,
        problem: &Problem,
        found: &mut [Probed],
        tolerance: f64,
    ) -> Result<(), Error> {
        let _span = tracing::debug_span!("bars of probes").entered();
        if found.is_empty() {
            return Ok(());
        }
        let symmetry = &problem.symmetry;
        let is_recovered = problem.mesh.patches.is_none();
        let none = bem::Excitation::default();
        let sources = excitations::sources(problem).with_images(&problem.symmetry.images, |_| true);
        let missing = |mesh: &Mesh, charges: bem::Charges<'_>, points: &[[f64; 3]]| {
            bem::SurfaceCharge::new(mesh, charges).roughly().evaluate(&none, points, true)
        };
        // What values at probes have beyond those of the solve's charges as they are; of curved
        // triangles they are these.
        let as_it_is = |mesh: &Mesh, charges: bem::Charges<'_>, points: &[[f64; 3]]| {
            let surface = bem::SurfaceCharge::new(mesh, charges);
            surface.with_tolerance(tolerance).evaluate(&sources, points, true)
        };
        let whole = problem.symmetry.whole(&problem.mesh);
        // Distances to flat triangles are as good here, and found sooner.
        let flat = Mesh { patches: None, ..whole.clone() };
        let near = Locator::of_part(&flat, (0..flat.triangles.len() as u32).collect());
        let areas = &problem.areas;
        let per_metre = 1.0 / problem.description.unit.metres();
        let of_probe = |probed: &Probed| -> Result<ProbeBars, Error> {
            let points = &probed.points;
            let of_children = (&self.mesh, (&self.missing).into(), &self.images);
            let off = symmetry.values(of_children, points, ROUGHLY, missing)?;
            let raw = if is_recovered {
                {
                    let of = (&problem.mesh, (&self.coarse).into(), &symmetry.images);
                    symmetry.values(of, points, tolerance, as_it_is)?
                }
            } else {
                let field = probed.field.iter().map(|field| field.map(|e| e / per_metre));
                bem::Values { potential: probed.potential.clone(), field: field.collect() }
            };
            let mut bars = ProbeBars::default();
            for (k, &point) in points.iter().enumerate() {
                if problem.symmetry.is_behind_ground(point) {
                    bars.potential_v.push(0.0);
                    bars.field_v_per_m.push(0.0);
                    continue;
                }
                let nearest = near.nearest(point);
                let distance = nearest.as_ref().map_or(0.0, |found| found.distance);
                let nearest = nearest.map(|found| found.triangle as usize);
                let size = nearest.map_or(0.0, |t| areas[t % areas.len()].sqrt());
                let (potential, gradient) = (off.potential[k].abs(), norm(off.field[k]));
                let around = [
                    potential + AROUND * distance * gradient,
                    gradient + AROUND * potential / (distance + size).max(f64::MIN_POSITIVE),
                ];
                let moved_field = std::array::from_fn(|axis| {
                    probed.field[k][axis] - per_metre * raw.field[k][axis]
                });
                let moved = [(probed.potential[k] - raw.potential[k]).abs(), norm(moved_field)];
                // What the solver leaves.
                let volt = self.conductors.iter().map(|far| far.volt(point));
                let volt = volt.fold(probed.potential[k].abs(), f64::max);
                let left = [volt, norm(probed.field[k])].map(|size| tolerance * size);
                let [mut volt, mut field] = [0.0; 2];
                for far in &self.conductors {
                    let potential = far.potential(point, distance);
                    volt += potential;
                    field += potential / far.distance(point);
                }
                // On a conductor the potential is known, and next to it from the field.
                let to_surface = distance * norm(probed.field[k]) / per_metre;
                let of_conductor =
                    nearest.filter(|_| distance < size).and_then(|t| self.held(problem, t));
                let seen = of_conductor.map_or(0.0, |held| (probed.potential[k] - held).abs());
                let volt = volt.max(self.factor * around[0]).max(seen - BY_FIELD * to_surface);
                let field = field.max(self.factor * around[1]) * per_metre;
                bars.potential_v.push(volt + moved[0] + left[0]);
                bars.field_v_per_m.push(field + moved[1] + left[1]);
            }
            Ok(bars)
        };
        for probed in found {
            probed.bars = Some(of_probe(probed)?);
        }
        Ok(())
    }

    /// The potential of the conductor that a triangle of the whole surface belongs to.
    fn held(&self, problem: &Problem, triangle: usize) -> Option<f64> {
        let owner = &problem.conductors.of_triangle;
        let conductor = owner[triangle % owner.len()]?;
        let sign = problem.symmetry.images.factor(triangle / owner.len());
        Some(sign * self.conductors[conductor as usize].volt)
    }

    /// Sets the bars of forces and torques on these bodies.
    pub(crate) fn of_forces(&self, problem: &Problem, found: &mut [Force]) -> Result<(), Error> {
        let _span = tracing::debug_span!("bars of forces").entered();
        // Bodies with forces are in one layer.
        let [charge, missing] =
            [&self.charge, &self.missing].map(|of| Seen::new(of.into(), &self.images, 0));
        let mesh = self.images.mesh(&self.mesh);
        let changes = forces::changes(problem, &mesh, ((&charge).into(), (&missing).into()))?;
        let [low, high] = mesh::quality::bounding_box(&problem.mesh);
        let size = norm(std::array::from_fn(|k| high[k] - low[k]));
        let lever = size * problem.description.unit.metres();
        for force in found {
            let change = changes.iter().find(|change| change.name == force.name);
            let [newton, newton_metre] = change.map_or([0.0; 2], |change| {
                [
                    self.factor * norm(change.newton) + force.known_to,
                    self.factor * norm(change.newton_metre) + force.known_to * lever,
                ]
            });
            (force.newton_error, force.newton_metre_error) = (Some(newton), Some(newton_metre));
        }
        Ok(())
    }
}
