//! Bars of potential and field at probes: what the charge that a state misses makes there, and what
//! else values may be off by.

use mesh::Mesh;
use mesh::locate::Locator;
use mesh::vector::norm;

use crate::analysis::bars::SAFETY;
use crate::analysis::excitations;
use crate::analysis::interface::MissingInState;
use crate::problem::Problem;
use crate::problem::planes::Charged;
use crate::result::state::{ProbeBars, Probed};

/// Errors of potentials change sign in space. A place counts as one within this share of its
/// distance from the surfaces, where they are as large as anywhere near.
pub(crate) const AROUND: f64 = 0.3;

/// Relative error of what images far away make of the charge that is missing.
const ROUGHLY: f64 = 1e-4;

/// A potential differs from that of a conductor by no more than the field times this many
/// distances.
const BY_FIELD: f64 = 2.0;

/// Sets the bars of values at each of the problem's probes.
pub(crate) fn set(missing: &MissingInState<'_>, probes: &mut [Probed]) -> Result<(), bem::Error> {
    let _span = tracing::debug_span!("bars of probes").entered();
    if probes.is_empty() {
        return Ok(());
    }
    let whole = missing.problem.symmetry.whole(&missing.problem.mesh);
    // Distances to flat triangles are as good here, and found sooner.
    let flat = Mesh { patches: None, ..whole.clone() };
    let near = Locator::of_part(&flat, (0..flat.triangles.len() as u32).collect());
    let points = AtPoints { missing, near };
    for probed in probes {
        probed.bars = Some(points.bars(probed)?);
    }
    Ok(())
}

/// Data for bars at points.
struct AtPoints<'a> {
    missing: &'a MissingInState<'a>,
    near: Locator,
}

/// Potential and field at a point in the state, from the solve's charges as they are, and of the
/// charge that is missing; fields in volt per unit of length but for the first.
struct Values {
    potential: f64,
    field: [f64; 3],
    raw: (f64, [f64; 3]),
    missing: (f64, [f64; 3]),
}

impl AtPoints<'_> {
    fn per_metre(&self) -> f64 {
        1.0 / self.missing.problem.description.unit.metres()
    }

    fn bars(&self, probed: &Probed) -> Result<ProbeBars, bem::Error> {
        let problem = self.missing.problem;
        let off = self.of_missing(&probed.points)?;
        let raw = self.as_they_are(probed)?;
        let mut bars = ProbeBars::default();
        for (k, &point) in probed.points.iter().enumerate() {
            let [potential, field] = match problem.symmetry.is_behind_ground(point) {
                true => [0.0; 2],
                false => self.at_point(
                    point,
                    &Values {
                        potential: probed.potential[k],
                        field: probed.field[k],
                        raw: (raw.potential[k], raw.field[k]),
                        missing: (off.potential[k], off.field[k]),
                    },
                ),
            };
            bars.potential_v.push(potential);
            bars.field_v_per_m.push(field);
        }
        Ok(bars)
    }

    /// Values of the charge that is missing.
    fn of_missing(&self, points: &[[f64; 3]]) -> Result<bem::Values, bem::Error> {
        let MissingInState { problem, missing, .. } = self.missing;
        let none = bem::Excitation::default();
        let values = |mesh: &Mesh, charges: bem::Charges<'_>, points: &[[f64; 3]]| {
            bem::SurfaceCharge::new(mesh, charges).roughly().evaluate(&none, points, true)
        };
        let charges = (&missing.missing).into();
        let charged = Charged { mesh: &missing.mesh, charges, images: &missing.images };
        problem.symmetry.values(charged, points, ROUGHLY, values)
    }

    /// Values of the solve's charges as they are, beyond which values at probes have more; of
    /// curved triangles they are these.
    fn as_they_are(&self, probed: &Probed) -> Result<bem::Values, bem::Error> {
        let MissingInState { problem, missing, tolerance, .. } = self.missing;
        if problem.mesh.patches.is_some() {
            let per_metre = self.per_metre();
            let field = probed.field.iter().map(|field| field.map(|e| e / per_metre));
            let (potential, field) = (probed.potential.clone(), field.collect());
            return Ok(bem::Values { potential, field });
        }
        let images = &problem.symmetry.images;
        let sources = excitations::sources(problem).with_images(images, |_| true);
        let values = |mesh: &Mesh, charges: bem::Charges<'_>, points: &[[f64; 3]]| {
            let surface = bem::SurfaceCharge::new(mesh, charges);
            surface.with_tolerance(*tolerance).evaluate(&sources, points, true)
        };
        let charged = Charged { mesh: &problem.mesh, charges: (&missing.coarse).into(), images };
        problem.symmetry.values(charged, &probed.points, *tolerance, values)
    }

    /// The bars of potential and field at a point.
    fn at_point(&self, point: [f64; 3], values: &Values) -> [f64; 2] {
        let MissingInState { problem, missing, tolerance, .. } = self.missing;
        let (areas, per_metre) = (&problem.areas, self.per_metre());
        let nearest = self.near.nearest(point);
        let distance = nearest.as_ref().map_or(0.0, |found| found.distance);
        let nearest = nearest.map(|found| found.triangle as usize);
        let size = nearest.map_or(0.0, |t| areas[t % areas.len()].sqrt());
        let (potential, gradient) = (values.missing.0.abs(), norm(values.missing.1));
        let around = [
            potential + AROUND * distance * gradient,
            gradient + AROUND * potential / (distance + size).max(f64::MIN_POSITIVE),
        ];
        let moved_field =
            std::array::from_fn(|axis| values.field[axis] - per_metre * values.raw.1[axis]);
        let moved = [(values.potential - values.raw.0).abs(), norm(moved_field)];
        // The solver's error.
        let volt = missing.conductors.iter().map(|far| far.volt_at(point));
        let volt = volt.fold(values.potential.abs(), f64::max);
        let left = [volt, norm(values.field)].map(|size| tolerance * size);
        let [mut volt, mut field] = [0.0; 2];
        for far in &missing.conductors {
            let potential = far.potential(point, distance);
            volt += potential;
            field += potential / far.distance(point);
        }
        // On a conductor the potential is known, and next to it from the field.
        let to_surface = distance * norm(values.field) / per_metre;
        let of_conductor = nearest.filter(|_| distance < size).and_then(|t| self.held(problem, t));
        let seen = of_conductor.map_or(0.0, |held| (values.potential - held).abs());
        let volt = volt.max(SAFETY * around[0]).max(seen - BY_FIELD * to_surface);
        let field = field.max(missing.factor * around[1]) * per_metre;
        [volt + moved[0] + left[0], field + moved[1] + left[1]]
    }

    /// The potential of the conductor that a triangle of the whole surface belongs to.
    fn held(&self, problem: &Problem, triangle: usize) -> Option<f64> {
        let owner = &problem.conductors.of_triangle;
        let conductor = owner[triangle % owner.len()]?;
        let sign = problem.symmetry.images.factor(triangle / owner.len());
        Some(sign * self.missing.missing.conductors[conductor as usize].volt)
    }
}
