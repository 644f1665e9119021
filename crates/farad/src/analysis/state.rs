//! From solves for unit excitations to the state that potentials, charges and field make, in SI
//! units.

use std::time::Instant;

use crate::analysis::{forces, probes};
use crate::problem::Problem;
use crate::problem::planes::Seen;
use crate::problem::sources::Source;
use crate::result::body::Polarisability;
use crate::result::state::{ConductorState, Energies, Molecule, Solvation, State};
use crate::scene::description::{Dielectric, Setting, axis_name};
use crate::units;

/// The name of the solve for point charges and the external field.
const SOURCES: &str = "sources";

/// The name of the solve that refines the state alone.
pub(crate) const STATE: &str = "state";

/// Every solve: each conductor in turn at 1 V, or each of those that are chosen, then the sources
/// if there are any, then fields along the axes if wanted; those through planes of symmetry come
/// after them ([`across_planes`]).
pub(crate) fn excitations(problem: &Problem) -> Vec<bem::Excitation> {
    let count = problem.conductors.names.len();
    let excited = problem.excited.iter();
    let mut all: Vec<bem::Excitation> = excited
        .map(|&k| bem::Excitation {
            potentials: (0..count).map(|i| f64::from(i == k)).collect(),
            ..bem::Excitation::default()
        })
        .collect();
    if problem.description.has_sources() {
        all.push(sources(problem));
    }
    if problem.description.polarisability {
        let (along, _) = field_axes(problem);
        all.extend(along.into_iter().map(|axis| {
            let field = unit_field(axis, count);
            let potentials = field_at_conductors(problem, &field);
            bem::Excitation { potentials, ..field }
        }));
    }
    all
}

/// A field of unit strength along an axis, conductors at 0.
fn unit_field(axis: usize, conductors: usize) -> bem::Excitation {
    bem::Excitation {
        potentials: vec![0.0; conductors],
        field: std::array::from_fn(|k| f64::from(k == axis)),
        ..bem::Excitation::default()
    }
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

/// The solves for polarisability in fields through a plane of symmetry. Such a field induces
/// opposite charges in the image, so that plane is odd here, for images and excitation. Conductors
/// that it cuts, or that are one with their image, are therefore at 0 V; all are uncharged.
pub(crate) fn across_planes(problem: &Problem) -> Vec<(bem::Images, bem::Excitation)> {
    if !problem.description.polarisability {
        return Vec::new();
    }
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
    let excitation = bem::Excitation {
        potentials: Vec::new(),
        charges: problem.sources.iter().map(charge).collect(),
        field: problem.description.field.map(|component| component * unit.metres()),
        origin: problem.symmetry.origin(),
    };
    let potentials = field_at_conductors(problem, &excitation);
    bem::Excitation { potentials, ..excitation }
}

/// What a conductor is held at or given.
fn setting(problem: &Problem, name: &str) -> Option<Setting> {
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

/// Whether the state is refined until each body's charge is accurate relative to what acts on it.
/// Forces need that; so do charges and energies with sources, since some conductors may be at
/// potentials compared with which all that acts on the others is small.
fn is_refined(problem: &Problem) -> bool {
    let has_both = problem.description.has_sources() && !problem.conductors.names.is_empty();
    problem.description.has_state() && (problem.description.forces || has_both)
}

/// The refined state, where [`is_refined`] requires it.
pub(crate) fn refined(
    problem: &Problem,
    prepared: &mut bem::Prepared,
    answer: &mut bem::Electrostatics,
    progress: &dyn bem::Progress,
) -> Result<Option<bem::Refined>, bem::Error> {
    if !is_refined(problem) {
        return Ok(None);
    }
    let driven = problem.description.has_sources().then_some(problem.conductors.names.len());
    let Some(state) = answer.state(&conditions(problem), driven) else { return Ok(None) };
    let potentials = state.potentials.clone();
    let excitation = bem::Excitation { potentials, ..sources(problem) };
    let started = Instant::now();
    let refined = prepared.refine(&excitation, &state, progress)?;
    answer.timings.solve += started.elapsed().as_secs_f64();
    Ok(refined.map(|mut refined| {
        let response = &mut refined.response;
        // Where entries of the matrix were replaced, free charge is that of the entries.
        for &bem::Replaced { at: [i, _], .. } in &answer.replaced {
            response.conductor_charge[i] = state.conductor_charge[i];
            for (t, owner) in problem.conductors.of_triangle.iter().enumerate() {
                if *owner == Some(i as u32) {
                    response.free_charge[t] = state.free_charge[t];
                }
            }
        }
        refined
    }))
}

/// The state; `None` if a floating potential has no value.
pub(crate) fn find(
    problem: &Problem,
    answer: &bem::Electrostatics,
) -> Result<Option<State>, bem::Error> {
    let _span = tracing::debug_span!("state").entered();
    // A charge over 4 pi eps0 is a potential times a length.
    let coulomb = units::farads(1.0, problem.description.unit);
    let names = &problem.conductors.names;
    let conditions = conditions(problem);
    let Some(state) = answer.state(&conditions, driven(problem, answer)) else {
        return Ok(None);
    };
    let conductors = names
        .iter()
        .enumerate()
        .map(|(k, name)| {
            let (charge_c, floating) = match setting(problem, name) {
                // The potential is the one at which the conductor has it, up to rounding.
                Some(Setting::Charge(charge)) => (charge, true),
                _ => (state.conductor_charge[k] * coulomb, false),
            };
            ConductorState {
                name: name.clone(),
                potential_v: state.potentials[k],
                charge_c,
                floating,
            }
        })
        .collect();
    let sources = sources(problem);
    let solvation = if problem.sources.is_empty() {
        None
    } else {
        let symmetry = &problem.symmetry;
        let seen = Seen::new((&state).into(), &symmetry.images, 0);
        let surface = bem::SurfaceCharge::new(symmetry.whole(&problem.mesh), &seen);
        let surface = surface.with_tolerance(answer.tolerance);
        Some(solvation(problem, reaction(problem, &surface, &sources)?, &sources)?)
    };
    let (forces, balance) = if problem.description.forces {
        let (forces, balance) =
            forces::forces(problem, (&state).into(), &sources, answer.tolerance)?;
        (Some(forces), balance)
    } else {
        (None, None)
    };
    let potential = if problem.description.surface_values {
        Some(potential(problem, &state, &sources, answer.tolerance)?)
    } else {
        None
    };
    let probes = probes::find(problem, (&state).into(), &sources, answer.tolerance)?;
    let in_coulomb = |charges: Vec<f64>| charges.into_iter().map(|q| q * coulomb).collect();
    Ok(Some(State {
        conductors,
        solvation,
        charge: in_coulomb(state.charge),
        free_charge: in_coulomb(state.free_charge),
        potential,
        probes,
        forces,
        balance,
    }))
}

/// Potentials of surface charge at the sources.
fn reaction(
    problem: &Problem,
    surface: &bem::SurfaceCharge,
    sources: &bem::Excitation,
) -> Result<Vec<f64>, bem::Error> {
    let places: Vec<[f64; 3]> = problem.sources.iter().map(|source| source.position).collect();
    // Images in grounded planes stand for the charge there.
    let images = &problem.symmetry.images;
    let in_ground = sources.with_images(images, |g| images.is_of_ground(g));
    let in_ground = bem::Excitation { field: [0.0; 3], ..in_ground };
    Ok(surface.evaluate(&in_ground, &places, false)?.potential)
}

/// Potentials of the other charges at each, every one over the permittivity of its medium.
pub(crate) fn coulomb(
    problem: &Problem,
    sources: &bem::Excitation,
) -> Result<Vec<f64>, bem::Error> {
    let places: Vec<[f64; 3]> = problem.sources.iter().map(|source| source.position).collect();
    let images = &problem.symmetry.images;
    // Images in planes of symmetry are as real as what is there; a charge's own image in the plane
    // that it lies in is itself.
    let real = sources.with_images(images, |g| !images.is_of_ground(g)).charges;
    bem::coulomb_potentials(&real, &places)
}

/// Energies by the potentials of surfaces, and of ions, at the sources.
pub(crate) fn solvation(
    problem: &Problem,
    reaction_v: Vec<f64>,
    sources: &bem::Excitation,
) -> Result<Solvation, bem::Error> {
    let images = &problem.symmetry.images;
    let coulomb_v = coulomb(problem, sources)?;
    let copies = |x: [f64; 3]| images.copies() as f64 / images.coincident(x) as f64;
    let energies = |which: &dyn Fn(&Source) -> bool| -> Energies {
        let mut energies = Energies::default();
        for ((source, reaction), coulomb) in problem.sources.iter().zip(&reaction_v).zip(&coulomb_v)
        {
            if which(source) {
                let half = 0.5 * copies(source.position) * source.coulomb;
                energies.reaction_j += half * reaction;
                energies.coulomb_j += half * coulomb;
            }
        }
        energies
    };
    let molecule = |(index, dielectric): (usize, &Dielectric)| {
        if dielectric.atoms.is_empty() {
            return None;
        }
        let own = |source: &Source| source.molecule == Some(index);
        let atoms = problem.sources.iter().filter(|source| own(source));
        let distances = problem.sources.iter().zip(&problem.nearest).filter(|(atom, _)| own(atom));
        let distances = distances.filter_map(|(_, near)| Some((*near)?.distance));
        Some(Molecule {
            name: dielectric.name.clone(),
            atoms: atoms.clone().count(),
            charge_e: atoms.clone().map(Source::elementary).sum(),
            energies: energies(&own),
            least_distance: distances.min_by(f64::total_cmp),
        })
    };
    Ok(Solvation {
        energies: energies(&|_| true),
        molecules: problem
            .description
            .dielectrics
            .iter()
            .enumerate()
            .filter_map(molecule)
            .collect(),
        reaction_v,
        coulomb_v,
    })
}

/// Potential of each triangle: given on conductors, evaluated on interfaces.
fn potential(
    problem: &Problem,
    state: &bem::State,
    sources: &bem::Excitation,
    tolerance: f64,
) -> Result<Vec<f64>, bem::Error> {
    let mesh = &problem.mesh;
    let owner = &problem.conductors.of_triangle;
    let is_interface = |t: &usize| owner[*t].is_none() && state.charge[*t] != 0.0;
    let interfaces: Vec<usize> = (0..mesh.triangles.len()).filter(is_interface).collect();
    let centroid = |&t: &usize| {
        let [a, b, c] = mesh.corners(t);
        std::array::from_fn(|k| (a[k] + b[k] + c[k]) / 3.0)
    };
    let points: Vec<[f64; 3]> = interfaces.iter().map(centroid).collect();
    let images = &problem.symmetry.images;
    let sources = sources.with_images(images, |_| true);
    let values = |mesh: &mesh::Mesh, charges: bem::Charges<'_>, points: &[[f64; 3]]| {
        let surface = bem::SurfaceCharge::new(mesh, charges).with_tolerance(tolerance);
        surface.evaluate(&sources, points, false)
    };
    let of = (mesh, state.into(), images);
    let found = problem.symmetry.values(of, &points, tolerance, values)?.potential;
    let mut potential: Vec<f64> = owner
        .iter()
        .map(|owner| owner.map_or(f64::NAN, |owner| state.potentials[owner as usize]))
        .collect();
    interfaces.iter().zip(found).for_each(|(&t, volt)| potential[t] = volt);
    Ok(potential)
}

pub(crate) fn polarised(problem: &Problem, answer: &bem::Electrostatics) -> Option<Polarisability> {
    let count = problem.conductors.names.len();
    let first = count + usize::from(problem.description.has_sources());
    let floating = vec![bem::Condition::Charge(0.0); count];
    let mut over_4pi_eps0 = [[0.0; 3]; 3];
    let (along, across) = field_axes(problem);
    let (images, tolerance) = (&problem.symmetry.images, answer.tolerance);
    for (index, &axis) in along.iter().enumerate() {
        let state = answer.state(&floating, Some(first + index))?;
        let moment = moment(&problem.mesh, images, (&state).into(), tolerance);
        (0..3).for_each(|k| over_4pi_eps0[k][axis] = moment[k]);
    }
    let responses = answer.responses.iter().skip(first + along.len());
    let solves = across_planes(problem);
    for ((axis, (images, _)), response) in across.into_iter().zip(solves).zip(responses) {
        let moment = moment(&problem.mesh, &images, response.into(), tolerance);
        (0..3).for_each(|k| over_4pi_eps0[k][axis] = moment[k]);
    }
    Some(Polarisability { over_4pi_eps0 })
}

/// Dipole moment of charges with their images.
fn moment(
    mesh: &mesh::Mesh,
    images: &bem::Images,
    charges: bem::Charges<'_>,
    tolerance: f64,
) -> [f64; 3] {
    let all = Seen::new(charges, images, 0);
    bem::neutral_dipole_moment(&images.mesh(mesh), &all, tolerance)
}
