//! Excitations of a problem: each conductor at 1 V, the sources, fields along the axes; and the
//! given potentials and charges of conductors.

use crate::problem::Problem;
use crate::problem::sources::Source;
use crate::scene::description::{Setting, axis_name};
use crate::units;

/// The name of the solve for point charges and the external field.
const SOURCES: &str = "sources";

/// The name of the solve that refines the state alone.
pub(crate) const STATE: &str = "state";

/// Each conductor in turn at 1 V, or each of those that are chosen.
pub(crate) fn units(problem: &Problem) -> Vec<bem::Excitation> {
    let count = problem.conductors.names.len();
    let unit = |&excited: &usize| {
        bem::Excitation::default().potentials((0..count).map(|k| f64::from(k == excited)).collect())
    };
    problem.excited.iter().map(unit).collect()
}

/// Fields of unit strength along the axes that lie in all planes of symmetry.
pub(crate) fn along_planes(problem: &Problem) -> Vec<bem::Excitation> {
    let (along, _) = field_axes(problem);
    let field = |axis: usize| {
        let field = unit_field(axis, problem.conductors.names.len());
        let potentials = field_at_conductors(problem, &field);
        field.potentials(potentials)
    };
    along.into_iter().map(field).collect()
}

/// A field of unit strength along an axis, conductors at 0.
fn unit_field(axis: usize, conductors: usize) -> bem::Excitation {
    bem::Excitation::default()
        .potentials(vec![0.0; conductors])
        .field(std::array::from_fn(|k| f64::from(k == axis)))
}

/// The potential of an excitation's field at the centre of each conductor. At that potential a
/// conductor carries only the charge that the field moves on it, however far from the origin it
/// lies; its 1 V excitation, scaled, takes it from there to its own potential. Solved at 0 V
/// instead, the large charge due to its distance from the origin would appear twice, with opposite
/// signs and errors in proportion.
fn field_at_conductors(problem: &Problem, excitation: &bem::Excitation) -> Vec<f64> {
    let count = problem.conductors.names.len();
    let mut sums = vec![([0.0; 3], 0.0); count];
    for (t, conductor) in problem.conductors.of_triangle.iter().enumerate() {
        let Some((sum, total)) = conductor.and_then(|c| sums.get_mut(c as usize)) else { continue };
        let area = problem.areas[t];
        for corner in problem.mesh.corners(t) {
            (0..3).for_each(|k| sum[k] += area / 3.0 * corner[k]);
        }
        *total += area;
    }
    let potential = |(sum, total): &([f64; 3], f64)| {
        if *total <= 0.0 {
            return 0.0;
        }
        let along =
            |axis: usize| excitation.field[axis] * (sum[axis] / total - excitation.origin[axis]);
        -(0..3).map(along).sum::<f64>()
    };
    sums.iter().map(potential).collect()
}

/// The axes that lie in all planes of symmetry, and those that go through one.
pub(crate) fn field_axes(problem: &Problem) -> (Vec<usize>, Vec<usize>) {
    let crossed =
        |axis: &usize| problem.description.planes.iter().any(|mirror| mirror.plane.axis == *axis);
    (0..3).partition(|axis| !crossed(axis))
}

/// Fields through a plane of symmetry, each with the images that it needs. Such a field induces
/// opposite charges in the image, so that plane is odd here, for images and excitation. Conductors
/// that it cuts, or that are one with their image, are therefore at 0 V; all are uncharged.
pub(crate) fn across_planes(problem: &Problem) -> Vec<(bem::Images, bem::Excitation)> {
    let (_, across) = field_axes(problem);
    let solve = |axis: usize| {
        let mut mirrors = problem.symmetry.images.mirrors().to_vec();
        let mut excitation = unit_field(axis, problem.conductors.names.len());
        for mirror in mirrors.iter_mut().filter(|mirror| mirror.plane.axis == axis) {
            mirror.odd = true;
            excitation.origin[axis] = mirror.plane.at;
        }
        (bem::Images::new(&mirrors), excitation)
    };
    across.into_iter().map(solve).collect()
}

impl Problem {
    /// The name of a solve by its index: a conductor at 1 V, the sources, a field along an axis,
    /// the state.
    pub fn excitation_name(&self, index: usize) -> String {
        let Some(after) = index.checked_sub(self.excited.len()) else {
            return self.conductors.names[self.excited[index]].clone();
        };
        let fields = if self.description.polarisability { 3 } else { 0 };
        match after.checked_sub(usize::from(self.description.has_sources())) {
            None => SOURCES.to_owned(),
            Some(field) if field >= fields => STATE.to_owned(),
            Some(field) => {
                let (along, across) = field_axes(self);
                let axis = along.iter().chain(&across).nth(field);
                format!("field along {}", axis.map_or("", |&axis| axis_name(axis)))
            }
        }
    }
}

/// Point charges and field; conductors at the potential of the field where they are.
pub(crate) fn sources(problem: &Problem) -> bem::Excitation {
    let unit = problem.description.unit;
    let charge = |source: &Source| bem::PointCharge {
        position: source.position,
        charge: source.coulomb / units::farads(1.0, unit),
        permittivity: source.relative_permittivity,
    };
    let excitation = bem::Excitation::default()
        .potentials(Vec::new())
        .charges(problem.sources.iter().map(charge).collect())
        .field(problem.description.field.map(|component| component * unit.metres()))
        .origin(problem.symmetry.origin());
    let potentials = field_at_conductors(problem, &excitation);
    excitation.potentials(potentials)
}

/// The given potential or charge of a conductor.
pub(crate) fn setting(problem: &Problem, name: &str) -> Option<Setting> {
    let mut set = problem.description.conductors.iter();
    set.find(|conductor| conductor.name == name).and_then(|conductor| conductor.setting)
}

/// The given potential or charge of each conductor; 0 V where nothing is set.
pub(crate) fn conditions(problem: &Problem) -> Vec<bem::Condition> {
    // A charge over 4 pi eps0 is a potential times a length.
    let coulomb = units::farads(1.0, problem.description.unit);
    let condition = |name: &String| match setting(problem, name) {
        Some(Setting::Charge(charge)) => bem::Condition::Charge(charge / coulomb),
        Some(Setting::Potential(volt)) => bem::Condition::Potential(volt),
        None => bem::Condition::Potential(0.0),
    };
    problem.conductors.names.iter().map(condition).collect()
}

/// The conductors whose potential follows from their charge.
pub(crate) fn floating(conditions: &[bem::Condition]) -> Vec<usize> {
    let is_floating = |k: &usize| matches!(conditions[*k], bem::Condition::Charge(_));
    (0..conditions.len()).filter(is_floating).collect()
}

/// The index of the excitation that the state is built on, if there is one: the refined state, or
/// else the sources.
pub(crate) fn driven(problem: &Problem, answer: &bem::Electrostatics) -> Option<usize> {
    let count = problem.conductors.names.len();
    let first = count + usize::from(problem.description.has_sources());
    let refined = first + if problem.description.polarisability { 3 } else { 0 };
    if refined < answer.responses.len() {
        return Some(refined);
    }
    problem.description.has_sources().then_some(count)
}
