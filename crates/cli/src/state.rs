//! From a case's potentials, charges and field to the state that they make, in SI units.

use crate::case::{Case, Dielectric, Setting};
use crate::problem::Problem;
use crate::sources::Source;
use crate::units;

/// What the case's settings lead to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) conductors: Vec<Conductor>,
    /// `None` without point charges.
    pub(crate) solvation: Option<Solvation>,
    /// All charge of each triangle, free and bound, in coulomb.
    pub(crate) charge: Vec<f64>,
    /// Free charge of each triangle in coulomb.
    pub(crate) free_charge: Vec<f64>,
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
    /// Half the sum of charges times these potentials, in joule.
    pub(crate) energy_j: f64,
    pub(crate) molecules: Vec<Molecule>,
}

/// A dielectric with atoms in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Molecule {
    pub(crate) name: String,
    pub(crate) atoms: usize,
    /// Net charge in elementary charges.
    pub(crate) charge_e: f64,
    /// Its atoms' part of the energy, in joule.
    pub(crate) energy_j: f64,
}

/// What the solver is to be driven by: each conductor in turn at 1 V, then the sources, if there are any.
pub(crate) fn excitations(case: &Case, problem: &Problem) -> Vec<bem::Excitation> {
    let count = problem.conductors.names.len();
    let unit = case.mesh.unit;
    let mut all: Vec<bem::Excitation> = (0..count)
        .map(|k| bem::Excitation {
            potentials: (0..count).map(|i| f64::from(i == k)).collect(),
            ..bem::Excitation::default()
        })
        .collect();
    if case.has_sources() {
        let charge = |source: &Source| bem::PointCharge {
            position: source.position,
            charge: source.coulomb / units::farads(1.0, unit),
            permittivity: source.relative_permittivity,
        };
        all.push(bem::Excitation {
            potentials: vec![0.0; count],
            charges: problem.sources.iter().map(charge).collect(),
            field: case.field.map(|component| component * unit.metres()),
        });
    }
    all
}

/// The state, if the case sets one; a conductor that it says nothing of is at 0 V.
pub(crate) fn find(case: &Case, problem: &Problem, answer: &bem::Electrostatics) -> Option<State> {
    if !case.has_state() {
        return None;
    }
    // A charge over 4 pi eps0 is a potential times a length.
    let coulomb = units::farads(1.0, case.mesh.unit);
    let names = &problem.conductors.names;
    let setting = |name: &String| {
        case.conductors.iter().find(|c| c.name.value == *name).and_then(|c| c.setting)
    };
    let conditions: Vec<bem::Condition> = names
        .iter()
        .map(|name| match setting(name) {
            Some(Setting::Charge(charge)) => bem::Condition::Charge(charge / coulomb),
            Some(Setting::Potential(volt)) => bem::Condition::Potential(volt),
            None => bem::Condition::Potential(0.0),
        })
        .collect();
    let state = answer.state(&conditions)?;
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
    let solvation = (!problem.sources.is_empty()).then(|| {
        let surface = bem::SurfaceCharge::new(&problem.mesh, &state.charge);
        let reaction = |source: &Source| surface.potential(source.position);
        let reaction_v: Vec<f64> = problem.sources.iter().map(reaction).collect();
        let work = |which: &dyn Fn(&Source) -> bool| -> f64 {
            let pairs = problem.sources.iter().zip(&reaction_v);
            pairs.filter(|(q, _)| which(q)).map(|(q, v)| 0.5 * q.coulomb * v).sum()
        };
        let molecule = |(index, dielectric): (usize, &Dielectric)| {
            dielectric.charges.as_ref()?;
            let own = |source: &Source| source.molecule == Some(index);
            let atoms = problem.sources.iter().filter(|source| own(source));
            Some(Molecule {
                name: dielectric.name.value.clone(),
                atoms: atoms.clone().count(),
                charge_e: atoms.map(Source::elementary).sum(),
                energy_j: work(&own),
            })
        };
        Solvation {
            energy_j: work(&|_| true),
            molecules: case.dielectrics.iter().enumerate().filter_map(molecule).collect(),
            reaction_v,
        }
    });
    let in_coulomb = |charges: Vec<f64>| charges.into_iter().map(|q| q * coulomb).collect();
    Some(State {
        conductors,
        solvation,
        charge: in_coulomb(state.charge),
        free_charge: in_coulomb(state.free_charge),
    })
}
