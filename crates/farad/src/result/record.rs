//! A solution as files for other programs have it. docs/results.md describes the keys.

use serde::Serialize;

use crate::result::body::{Hydrodynamics, Polarisability};
use crate::result::matrices::CapacitanceMatrix;
use crate::result::participation::{Derivative, FilmShare};
use crate::result::reduction::Reduced;
use crate::result::solution::Solution;
use crate::result::state::{ConductorState, Force, Molecule, Probed, Solvation};
use crate::units;

/// The numbers of a solution in results.json; `None` where there are none of a kind.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    capacitance: CapacitanceMatrix,
    reductions: Option<Vec<Reduced>>,
    sensitivities: Option<Vec<Derivative>>,
    films: Option<Vec<FilmShare>>,
    charges: Option<Vec<ConductorState>>,
    solvation: Option<SolvationRecord>,
    forces: Option<Vec<Force>>,
    probes: Option<Vec<ProbeRecord>>,
    polarisability: Option<Polarisability>,
    hydrodynamics: Option<Hydrodynamics>,
}

/// Energies of all point charges, and each molecule's part.
#[derive(Clone, Debug, Serialize)]
struct SolvationRecord {
    charges: usize,
    #[serde(flatten)]
    reaction: Energy,
    energy_error_j: Option<f64>,
    energy_error_kj_per_mol: Option<f64>,
    energy_error_kcal_per_mol: Option<f64>,
    energy_error_kt: Option<f64>,
    /// The temperature of kT.
    temperature_k: f64,
    coulomb: Energy,
    total: Energy,
    molecules: Vec<MoleculeRecord>,
}

#[derive(Clone, Debug, Serialize)]
struct Energy {
    energy_j: f64,
    #[serde(flatten)]
    molar: MolarEnergy,
}

#[derive(Clone, Debug, Serialize)]
struct MolarEnergy {
    energy_kj_per_mol: f64,
    energy_kcal_per_mol: f64,
    energy_kt: f64,
}

#[derive(Clone, Debug, Serialize)]
struct MoleculeRecord {
    name: String,
    atoms: usize,
    charge_e: f64,
    #[serde(flatten)]
    reaction: MolarEnergy,
    coulomb: Energy,
    total: Energy,
    least_distance_m: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
struct ProbeRecord {
    name: String,
    file: String,
    points: usize,
}

impl Record {
    /// The record of a solution, with its matrices as they will be written. Energies are also given
    /// in kT at this temperature, in kelvin; `probe_files` has the name of each probe's file.
    #[must_use]
    pub fn new(
        solution: &Solution,
        capacitance: CapacitanceMatrix,
        reductions: Vec<Reduced>,
        temperature_k: f64,
        probe_files: Vec<String>,
    ) -> Self {
        let state = solution.state.as_ref();
        let metres = solution.unit.metres();
        let solvation = state.and_then(|state| state.solvation.as_ref());
        let probes = state.map_or(&[][..], |state| &state.probes);
        let probe = |(found, file): (&Probed, String)| ProbeRecord {
            name: found.name.clone(),
            file,
            points: found.points.len(),
        };
        Self {
            capacitance,
            reductions: unless_empty(reductions),
            sensitivities: unless_empty(solution.derivatives.clone()),
            films: unless_empty(solution.films.clone()),
            charges: state.map(|state| state.conductors.clone()),
            solvation: solvation.map(|found| SolvationRecord::new(found, temperature_k, metres)),
            forces: state.and_then(|state| state.forces.clone()),
            probes: unless_empty(probes.iter().zip(probe_files).map(probe).collect()),
            polarisability: solution.polarisability,
            hydrodynamics: solution.hydrodynamics,
        }
    }
}

fn unless_empty<T>(all: Vec<T>) -> Option<Vec<T>> {
    (!all.is_empty()).then_some(all)
}

impl SolvationRecord {
    fn new(found: &Solvation, temperature_k: f64, metres: f64) -> Self {
        let energy = |joule: f64| Energy::new(joule, temperature_k);
        let bar = found.reaction_error_j.map(energy);
        let molecule = |found: &Molecule| MoleculeRecord {
            name: found.name.clone(),
            atoms: found.atoms,
            charge_e: found.charge_e,
            reaction: energy(found.energies.reaction_j).molar,
            coulomb: energy(found.energies.coulomb_j),
            total: energy(found.energies.total_j()),
            least_distance_m: found.least_distance.map(|distance| distance * metres),
        };
        Self {
            charges: found.reaction_v.len(),
            reaction: energy(found.energies.reaction_j),
            energy_error_j: bar.as_ref().map(|bar| bar.energy_j),
            energy_error_kj_per_mol: bar.as_ref().map(|bar| bar.molar.energy_kj_per_mol),
            energy_error_kcal_per_mol: bar.as_ref().map(|bar| bar.molar.energy_kcal_per_mol),
            energy_error_kt: bar.as_ref().map(|bar| bar.molar.energy_kt),
            temperature_k,
            coulomb: energy(found.energies.coulomb_j),
            total: energy(found.energies.total_j()),
            molecules: found.molecules.iter().map(molecule).collect(),
        }
    }
}

impl Energy {
    fn new(joule: f64, temperature_k: f64) -> Self {
        let molar = MolarEnergy {
            energy_kj_per_mol: units::kilojoule_per_mole(joule),
            energy_kcal_per_mol: units::kilocalorie_per_mole(joule),
            energy_kt: units::over_thermal(joule, temperature_k),
        };
        Self { energy_j: joule, molar }
    }
}
