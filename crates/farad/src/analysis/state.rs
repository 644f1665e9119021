//! From solves for unit excitations to the state that potentials, charges and field make, in SI
//! units.

use std::time::Instant;

use crate::analysis::excitations::{conditions, setting, sources};
use crate::analysis::interface::{Analysis, Driven};
use crate::problem::Problem;
use crate::problem::planes::Charged;
use crate::result::state::{ConductorState, State};
use crate::scene::description::{Description, Setting};
use crate::units;

/// Whether the state is refined until each body's charge is accurate relative to what acts on it.
/// Forces need that; so do charges and energies with sources, since some conductors may be at
/// potentials compared with which all that acts on the others is small.
pub(crate) fn is_refined(problem: &Problem) -> bool {
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
    let excitation = sources(problem).potentials(potentials);
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

/// The state, to which other results are added.
pub(crate) struct StateAnalysis;

impl Analysis for StateAnalysis {
    fn is_requested(&self, description: &Description) -> bool {
        description.has_state()
    }

    fn name_with_all_nets(&self) -> Option<&'static str> {
        Some("a state (a potential, a charge or a field)")
    }

    fn excitations(&self, problem: &Problem) -> Vec<bem::Excitation> {
        let has_sources = problem.description.has_sources();
        has_sources.then(|| sources(problem)).into_iter().collect()
    }
}

/// Conductors, charges and potentials of a state.
pub(crate) fn find(driven: &Driven<'_>) -> Result<State, bem::Error> {
    let _span = tracing::debug_span!("state").entered();
    let Driven { problem, charges: state, sources, tolerance } = driven;
    // A charge over 4 pi eps0 is a potential times a length.
    let coulomb = units::farads(1.0, problem.description.unit);
    let conductor = |(k, name): (usize, &String)| {
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
            potential_error_v: None,
            charge_error_c: None,
        }
    };
    let potential = match problem.description.surface_values {
        true => Some(potential(problem, state, sources, *tolerance)?),
        false => None,
    };
    let in_coulomb = |charges: &[f64]| charges.iter().map(|q| q * coulomb).collect();
    Ok(State {
        conductors: problem.conductors.names.iter().enumerate().map(conductor).collect(),
        solvation: None,
        charge: in_coulomb(&state.charge),
        free_charge: in_coulomb(&state.free_charge),
        potential,
        probes: Vec::new(),
        forces: None,
        balance: None,
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
    let charged = Charged { mesh, charges: state.into(), images };
    let found = problem.symmetry.values(charged, &points, tolerance, values)?.potential;
    let mut potential: Vec<f64> = owner
        .iter()
        .map(|owner| owner.map_or(f64::NAN, |owner| state.potentials[owner as usize]))
        .collect();
    interfaces.iter().zip(found).for_each(|(&t, volt)| potential[t] = volt);
    Ok(potential)
}
