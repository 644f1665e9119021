//! From a case's potentials, charges and field to the state that they make, in SI units.

use std::time::Instant;

use mesh::locate::Locator;
use rayon::prelude::*;

use crate::bodies;
use crate::case::{Case, Dielectric, Diffusion, Setting, VtkMode};
use crate::checks::Warning;
use crate::exit::Failure;
use crate::probes::{self, Probed};
use crate::problem::Problem;
use crate::sources::Source;
use crate::units::{self, LengthUnit};

/// What the solve for point charges and the external field is called beside those for conductors.
const SOURCES: &str = "sources";

/// What the solve that goes on for the state alone is called.
pub(crate) const STATE: &str = "state";

/// The energy that surfaces add, and that of the charges alone: the second does not depend on the mesh.
const SOLVATION_ENERGY: &str = "solvation energy";
pub(crate) const COULOMB_ENERGY: &str = "Coulomb energy";

/// What the case asks for beside the capacitance matrix.
#[derive(Clone, Debug, Default)]
pub(crate) struct More {
    /// `None` if the case sets no potential, charge or field.
    pub(crate) state: Option<State>,
    pub(crate) polarisability: Option<Polarisability>,
    pub(crate) hydrodynamics: Option<Hydrodynamics>,
    /// Largest relative defect of Gauss's law that was put right; `None` without dielectrics.
    pub(crate) gauss_defect: Option<f64>,
    /// What self-checks found wrong.
    pub(crate) warnings: Vec<Warning>,
    /// Wall seconds of the self-checks.
    pub(crate) check_seconds: f64,
    /// With dielectrics, for each conductor at 1 V all charge of each triangle, free and bound, in coulomb.
    pub(crate) all_charge: Vec<Vec<f64>>,
    /// Wall seconds of everything that follows from the surface charge.
    pub(crate) evaluation_s: f64,
}

/// A number of the result beside the matrix: name, unit, value.
pub(crate) type Quantity = (String, &'static str, f64);

impl More {
    /// Its numbers, in an order that only the case determines.
    pub(crate) fn quantities(&self) -> Vec<Quantity> {
        let mut all = Vec::new();
        if let Some(state) = &self.state {
            for conductor in &state.conductors {
                let name = &conductor.name;
                all.push(if conductor.floating {
                    (format!("V({name})"), "V", conductor.potential_v)
                } else {
                    (format!("Q({name})"), "C", conductor.charge_c)
                });
            }
            if let Some(solvation) = &state.solvation {
                let energies = &solvation.energies;
                let mut energy = |name: &str, joule: f64| {
                    all.push((name.to_owned(), "kcal/mol", units::kilocalorie_per_mole(joule)));
                };
                energy(SOLVATION_ENERGY, energies.reaction_j);
                if solvation.reaction_v.len() > 1 {
                    energy(COULOMB_ENERGY, energies.coulomb_j);
                    energy("total energy", energies.total_j());
                }
            }
            for force in state.forces.iter().flatten() {
                let axes = ["x", "y", "z"].iter().zip(force.newton);
                all.extend(axes.map(|(axis, f)| (format!("F{axis}({})", force.name), "N", f)));
            }
        }
        if let Some(found) = &self.polarisability {
            for (i, axis) in ["x", "y", "z"].iter().enumerate() {
                let value = found.over_4pi_eps0[i][i];
                let unit = found.unit.cubed();
                all.push((format!("polarisability {axis}{axis}/(4 pi eps0)"), unit, value));
            }
        }
        all
    }
}

/// What the case's settings lead to.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) conductors: Vec<Conductor>,
    /// `None` without point charges.
    pub(crate) solvation: Option<Solvation>,
    /// All charge of each triangle, free and bound, in coulomb.
    pub(crate) charge: Vec<f64>,
    /// Free charge of each triangle in coulomb.
    pub(crate) free_charge: Vec<f64>,
    /// Potential of each triangle in volt, NaN where there is neither conductor nor interface; `None` if no picture is written.
    pub(crate) potential: Option<Vec<f64>>,
    pub(crate) probes: Vec<Probed>,
    /// `None` unless asked for.
    pub(crate) forces: Option<Vec<bodies::Force>>,
    /// `None` where something else acts on the bodies than they on each other.
    pub(crate) balance: Option<bodies::Balance>,
}

/// One conductor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conductor {
    pub(crate) name: String,
    pub(crate) potential_v: f64,
    pub(crate) charge_c: f64,
    pub(crate) floating: bool,
}

/// What surfaces do to the point charges.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Solvation {
    /// Potential of all surface charge at each point charge, in volt.
    pub(crate) reaction_v: Vec<f64>,
    pub(crate) energies: Energies,
    pub(crate) molecules: Vec<Molecule>,
}

/// Parts of the electrostatic energy of point charges, without that of each charge in its own field, in joule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Energies {
    /// Half the charges times the potentials of the other charges, each over the permittivity of its own medium.
    pub(crate) coulomb_j: f64,
    /// Half the charges times the potentials of all surface charge, that on grounded planes included: the solvation energy.
    pub(crate) reaction_j: f64,
}

impl Energies {
    pub(crate) fn total_j(&self) -> f64 {
        self.coulomb_j + self.reaction_j
    }
}

/// A dielectric with atoms in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Molecule {
    pub(crate) name: String,
    pub(crate) atoms: usize,
    /// Net charge in elementary charges.
    pub(crate) charge_e: f64,
    /// Its atoms' part of the energies.
    pub(crate) energies: Energies,
    /// Least distance of an atom from a surface, in the mesh's unit.
    pub(crate) least_distance: Option<f64>,
}

/// Dipole moment of all bodies together over a uniform field, conductors uncharged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Polarisability {
    /// Over 4 pi eps0, in the cube of the mesh's unit: column k is the moment in a field along axis k.
    pub(crate) over_4pi_eps0: [[f64; 3]; 3],
    /// The mesh's unit.
    pub(crate) unit: LengthUnit,
}

/// What a body that diffuses is like, all conductors being its surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hydrodynamics {
    /// C/(4 pi eps0) of all conductors at one potential, in the mesh's unit; also the hydrodynamic radius.
    pub(crate) capacity: f64,
    /// m^2/s.
    pub(crate) diffusion: f64,
}

/// Every solve: each conductor in turn at 1 V, then the sources if there are any, then fields along the axes if asked for; those
/// through planes of symmetry come after them ([`across_planes`]).
pub(crate) fn excitations(case: &Case, problem: &Problem) -> Vec<bem::Excitation> {
    let count = problem.conductors.names.len();
    let mut all: Vec<bem::Excitation> = (0..count)
        .map(|k| bem::Excitation {
            potentials: (0..count).map(|i| f64::from(i == k)).collect(),
            ..bem::Excitation::default()
        })
        .collect();
    if case.has_sources() {
        all.push(sources(case, problem));
    }
    if case.polarisability {
        let (along, _) = field_axes(case);
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

/// The potential of an excitation's field in the middle of each conductor. At that potential it takes on no more charge than the
/// field moves on it, however far from the origin it lies; from there to the potential that it has it is taken by its excitation of
/// 1 V. At 0 V the charge of the distance to the origin would be found twice, with opposite signs and errors of its size.
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
fn field_axes(case: &Case) -> (Vec<usize>, Vec<usize>) {
    let crossed = |axis: &usize| case.planes.iter().any(|p| p.mirror.plane.axis == *axis);
    (0..3).partition(|axis| !crossed(axis))
}

/// The solves for polarisability in fields through a plane of symmetry. What such a field makes in the image is the opposite: with
/// that plane odd, images and excitation. Conductors that it divides are at 0 V for the same reason, and so are those that are one
/// with their image; and all of them are uncharged.
pub(crate) fn across_planes(case: &Case, problem: &Problem) -> Vec<(bem::Images, bem::Excitation)> {
    if !case.polarisability {
        return Vec::new();
    }
    let (_, across) = field_axes(case);
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

/// What each of [`excitations`] is called.
pub(crate) fn excitation_name(case: &Case, names: &[String], index: usize) -> String {
    let Some(after) = index.checked_sub(names.len()) else { return names[index].clone() };
    let fields = if case.polarisability { 3 } else { 0 };
    match after.checked_sub(usize::from(case.has_sources())) {
        None => SOURCES.to_owned(),
        Some(field) if field >= fields => STATE.to_owned(),
        Some(field) => {
            let (along, across) = field_axes(case);
            let axis = along.iter().chain(&across).nth(field);
            let name = axis.and_then(|&axis| ["x", "y", "z"].get(axis));
            format!("field along {}", name.unwrap_or(&""))
        }
    }
}

/// Point charges and field; conductors at the potential of the field where they are.
fn sources(case: &Case, problem: &Problem) -> bem::Excitation {
    let unit = case.mesh.unit;
    let charge = |source: &Source| bem::PointCharge {
        position: source.position,
        charge: source.coulomb / units::farads(1.0, unit),
        permittivity: source.relative_permittivity,
    };
    let excitation = bem::Excitation {
        potentials: Vec::new(),
        charges: problem.sources.iter().map(charge).collect(),
        field: case.field.map(|component| component * unit.metres()),
        origin: problem.symmetry.origin(),
    };
    let potentials = field_at_conductors(problem, &excitation);
    bem::Excitation { potentials, ..excitation }
}

/// What the case asks for beside the matrix.
pub(crate) fn find(
    case: &Case,
    problem: &Problem,
    answer: &bem::Electrostatics,
) -> Result<More, Failure> {
    let begun = Instant::now();
    let state = if case.has_state() { state(case, problem, answer)? } else { None };
    let polarisability = if case.polarisability { polarised(case, problem, answer) } else { None };
    let gauss_defect = problem.media.is_some().then_some(answer.gauss_defect);
    let conductors = problem.conductors.names.len();
    // A charge over 4 pi eps0 is a potential times a length.
    let coulomb = units::farads(1.0, case.mesh.unit);
    let all = |response: &bem::Response| response.charge.iter().map(|q| q * coulomb).collect();
    let of_conductors = answer.responses.iter().take(conductors);
    let all_charge = match (&problem.media, case.vtk) {
        (None, _) | (_, VtkMode::None) => Vec::new(),
        _ => of_conductors.map(all).collect(),
    };
    let evaluation_s = begun.elapsed().as_secs_f64();
    Ok(More { state, polarisability, gauss_defect, all_charge, evaluation_s, ..More::default() })
}

/// What is known of each conductor; one that the case says nothing of is at 0 V.
fn conditions(case: &Case, problem: &Problem) -> Vec<bem::Condition> {
    // A charge over 4 pi eps0 is a potential times a length.
    let coulomb = units::farads(1.0, case.mesh.unit);
    let condition = |name: &String| match case
        .conductors
        .iter()
        .find(|c| c.name.value == *name)
        .and_then(|c| c.setting)
    {
        Some(Setting::Charge(charge)) => bem::Condition::Charge(charge / coulomb),
        Some(Setting::Potential(volt)) => bem::Condition::Potential(volt),
        None => bem::Condition::Potential(0.0),
    };
    problem.conductors.names.iter().map(condition).collect()
}

/// The excitation that is nearest to the state among the sources, if there is one: that which was solved on for, or that of the sources.
fn driven(case: &Case, problem: &Problem, answer: &bem::Electrostatics) -> Option<usize> {
    let count = problem.conductors.names.len();
    let first = count + usize::from(case.has_sources());
    let refined = first + if case.polarisability { 3 } else { 0 };
    if refined < answer.responses.len() {
        return Some(refined);
    }
    case.has_sources().then_some(count)
}

/// Whether the state is solved on for until each body is exact relative to what acts on it: forces need that, and so do charges and
/// energies among sources, where conductors may be at potentials beside which what acts on the others is small.
fn is_refined(case: &Case, problem: &Problem) -> bool {
    let has_both = case.has_sources() && !problem.conductors.names.is_empty();
    case.has_state() && (case.forces || has_both)
}

/// The state solved on for, where [`is_refined`] says so.
pub(crate) fn refined(
    case: &Case,
    problem: &Problem,
    prepared: &mut bem::Prepared,
    answer: &mut bem::Electrostatics,
    progress: &dyn bem::Progress,
) -> Result<Option<bem::Refined>, Failure> {
    if !is_refined(case, problem) {
        return Ok(None);
    }
    let driven = case.has_sources().then_some(problem.conductors.names.len());
    let Some(state) = answer.state(&conditions(case, problem), driven) else { return Ok(None) };
    let potentials = state.potentials.clone();
    let excitation = bem::Excitation { potentials, ..sources(case, problem) };
    let started = Instant::now();
    let refined = prepared.refine(&excitation, &state.charge, progress)?;
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

/// The state.
fn state(
    case: &Case,
    problem: &Problem,
    answer: &bem::Electrostatics,
) -> Result<Option<State>, Failure> {
    // A charge over 4 pi eps0 is a potential times a length.
    let coulomb = units::farads(1.0, case.mesh.unit);
    let names = &problem.conductors.names;
    let conditions = conditions(case, problem);
    let Some(state) = answer.state(&conditions, driven(case, problem, answer)) else {
        return Ok(None);
    };
    let conductors = names
        .iter()
        .zip(&conditions)
        .enumerate()
        .map(|(k, (name, condition))| Conductor {
            name: name.clone(),
            potential_v: state.potentials[k],
            charge_c: state.conductor_charge[k] * coulomb,
            floating: matches!(condition, bem::Condition::Charge(_)),
        })
        .collect();
    let sources = sources(case, problem);
    let symmetry = &problem.symmetry;
    let whole = symmetry.whole(&problem.mesh);
    let surface = bem::SurfaceCharge::new(whole, &symmetry.images.charges(&state.charge))
        .with_tolerance(case.solver.tolerance);
    let solvation = if problem.sources.is_empty() {
        None
    } else {
        Some(solvation(case, problem, &surface, &sources)?)
    };
    let (forces, balance) = if case.forces {
        let (forces, balance) = bodies::forces(case, problem, &state.charge, &sources)?;
        (Some(forces), balance)
    } else {
        (None, None)
    };
    let potential = match case.vtk {
        VtkMode::None => None,
        _ => Some(potential(problem, &state, &surface, &sources)?),
    };
    let probes = probes::find(case, problem, &state.charge, &sources)?;
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

fn solvation(
    case: &Case,
    problem: &Problem,
    surface: &bem::SurfaceCharge,
    sources: &bem::Excitation,
) -> Result<Solvation, Failure> {
    let places: Vec<[f64; 3]> = problem.sources.iter().map(|source| source.position).collect();
    // Images in grounded planes stand for the charge there.
    let images = &problem.symmetry.images;
    let in_ground = images.excitation(sources, |g| images.is_of_ground(g));
    let in_ground = bem::Excitation { field: [0.0; 3], ..in_ground };
    let reaction_v = surface.evaluate(&in_ground, &places, false)?.potential;
    // Images in planes of symmetry are as real as what is there; a charge's own image in the plane that it lies in is itself.
    let real = images.excitation(sources, |g| !images.is_of_ground(g)).charges;
    let coulomb_v = bem::coulomb_potentials(&real, &places)?;
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
    let surfaces = Locator::new(&problem.mesh);
    let molecule = |(index, dielectric): (usize, &Dielectric)| {
        dielectric.charges.as_ref()?;
        let own = |source: &Source| source.molecule == Some(index);
        let atoms = problem.sources.iter().filter(|source| own(source));
        let distance = |atom: &Source| surfaces.nearest(atom.position).map(|near| near.distance);
        let distances = problem.sources.par_iter().filter(|source| own(source));
        Some(Molecule {
            name: dielectric.name.value.clone(),
            atoms: atoms.clone().count(),
            charge_e: atoms.clone().map(Source::elementary).sum(),
            energies: energies(&own),
            least_distance: distances.filter_map(distance).min_by(f64::total_cmp),
        })
    };
    Ok(Solvation {
        energies: energies(&|_| true),
        molecules: case.dielectrics.iter().enumerate().filter_map(molecule).collect(),
        reaction_v,
    })
}

/// Potential of each triangle: given on conductors, evaluated on interfaces.
fn potential(
    problem: &Problem,
    state: &bem::State,
    surface: &bem::SurfaceCharge,
    sources: &bem::Excitation,
) -> Result<Vec<f64>, Failure> {
    let mesh = &problem.mesh;
    let owner = &problem.conductors.of_triangle;
    let is_interface = |t: &usize| owner[*t].is_none() && state.charge[*t] != 0.0;
    let interfaces: Vec<usize> = (0..mesh.triangles.len()).filter(is_interface).collect();
    let centroid = |&t: &usize| {
        let [a, b, c] = mesh.corners(t);
        std::array::from_fn(|k| (a[k] + b[k] + c[k]) / 3.0)
    };
    let points: Vec<[f64; 3]> = interfaces.iter().map(centroid).collect();
    let sources = problem.symmetry.images.excitation(sources, |_| true);
    let found = surface.evaluate(&sources, &points, false)?.potential;
    let mut potential: Vec<f64> = owner
        .iter()
        .map(|owner| owner.map_or(f64::NAN, |owner| state.potentials[owner as usize]))
        .collect();
    interfaces.iter().zip(found).for_each(|(&t, volt)| potential[t] = volt);
    Ok(potential)
}

fn polarised(
    case: &Case,
    problem: &Problem,
    answer: &bem::Electrostatics,
) -> Option<Polarisability> {
    let count = problem.conductors.names.len();
    let first = count + usize::from(case.has_sources());
    let floating = vec![bem::Condition::Charge(0.0); count];
    let mut over_4pi_eps0 = [[0.0; 3]; 3];
    let (along, across) = field_axes(case);
    let (images, tolerance) = (&problem.symmetry.images, case.solver.tolerance);
    for (index, &axis) in along.iter().enumerate() {
        let state = answer.state(&floating, Some(first + index))?;
        let moment = moment(&problem.mesh, images, &state.charge, tolerance);
        (0..3).for_each(|k| over_4pi_eps0[k][axis] = moment[k]);
    }
    let responses = answer.responses.iter().skip(first + along.len());
    let solves = across_planes(case, problem);
    for ((axis, (images, _)), response) in across.into_iter().zip(solves).zip(responses) {
        let moment = moment(&problem.mesh, &images, &response.charge, tolerance);
        (0..3).for_each(|k| over_4pi_eps0[k][axis] = moment[k]);
    }
    Some(Polarisability { over_4pi_eps0, unit: case.mesh.unit })
}

/// Dipole moment of charges with their images.
fn moment(mesh: &mesh::Mesh, images: &bem::Images, charge: &[f64], tolerance: f64) -> [f64; 3] {
    bem::neutral_dipole_moment(&images.mesh(mesh), &images.charges(charge), tolerance)
}

/// Hydrodynamic radius and diffusion constant by what the conductors' capacitance says, C/(4 pi eps) being a length.
pub(crate) fn hydrodynamics(
    diffusion: &Diffusion,
    case: &Case,
    over_4pi_eps: &[Vec<f64>],
) -> Hydrodynamics {
    let capacity: f64 = over_4pi_eps.iter().flatten().sum();
    let metres = capacity * case.mesh.unit.metres();
    let diffusion = units::diffusion(metres, diffusion.temperature, diffusion.viscosity);
    Hydrodynamics { capacity, diffusion }
}
