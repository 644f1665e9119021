//! The rows of a batch: the results of each molecule.

use serde::{Deserialize, Serialize};

use crate::commands::series;
use crate::report::results::Run;
use crate::report::units;

/// The status of a molecule that is still to be solved.
pub(super) const PENDING: &str = "pending";

/// The status of a molecule that could not be solved.
pub(super) const FAILED: &str = "failed";

/// The status of results that are to be trusted.
pub(super) const COMPLETE: &str = "complete";

/// A molecule that this run is done with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Done {
    pub row: Row,
    /// Whether it was solved by this run, and not by an earlier one.
    pub is_solved: bool,
    /// The exit code, if it failed.
    pub failed: Option<u8>,
}

impl series::Row for Done {}

/// One molecule.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    /// The PQR file, relative to the batch's folder.
    pub(super) pqr: String,
    /// The status in results.json, "failed" or "pending".
    pub status: String,
    pub(super) atoms: Option<usize>,
    pub(super) charge_e: Option<f64>,
    pub(super) triangles: Option<usize>,
    pub solvation_kcal_per_mol: Option<f64>,
    pub solvation_error_kcal_per_mol: Option<f64>,
    pub(super) coulomb_kcal_per_mol: Option<f64>,
    pub(super) total_kcal_per_mol: Option<f64>,
    /// With `[diffusion]`.
    pub(super) hydrodynamic_radius_m: Option<f64>,
    pub(super) diffusion_m2_per_s: Option<f64>,
    pub(super) intrinsic_viscosity: Option<f64>,
    pub(super) seconds: Option<f64>,
    /// Why there is no result, or none to be trusted; else the first warning.
    pub(super) message: Option<String>,
    /// Hash of everything that the results follow from.
    pub(super) fingerprint: Option<String>,
}

impl Row {
    /// One that is still to be solved.
    pub fn pending(name: &str, pqr: String) -> Self {
        Self { name: name.to_owned(), pqr, status: PENDING.to_owned(), ..Self::default() }
    }

    /// Takes over the numbers of a run.
    pub(super) fn take(&mut self, run: &Run<'_>, status: &str) {
        let state = run.solution.state.as_ref();
        let solvation = state.and_then(|state| state.solvation.as_ref());
        let molecules = solvation.map_or(&[][..], |solvation| &solvation.molecules);
        let energies = solvation.map(|solvation| solvation.energies);
        let bar = solvation.and_then(|solvation| solvation.reaction_error_j);
        let kilocalories = units::kilocalorie_per_mole;
        self.status = status.to_owned();
        self.message = run.solution.warnings.first().map(|warning| warning.message.clone());
        self.atoms = Some(molecules.iter().map(|molecule| molecule.atoms).sum());
        self.charge_e = Some(molecules.iter().map(|molecule| molecule.charge_e).sum());
        self.triangles = Some(run.problem.mesh().triangles.len());
        self.solvation_kcal_per_mol = energies.map(|found| kilocalories(found.reaction_j));
        self.solvation_error_kcal_per_mol = bar.map(kilocalories);
        self.coulomb_kcal_per_mol = energies.map(|found| kilocalories(found.coulomb_j));
        self.total_kcal_per_mol = energies.map(|found| kilocalories(found.total_j()));
        let body = run.solution.hydrodynamics;
        let metres = run.case.description.unit.metres();
        self.hydrodynamic_radius_m = body.map(|found| found.capacity * metres);
        self.diffusion_m2_per_s = body.map(|found| found.diffusion);
        let viscosity = body.and_then(|found| found.viscosity);
        self.intrinsic_viscosity = viscosity.map(|found| found.intrinsic_viscosity);
    }
}
