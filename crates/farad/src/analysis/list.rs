//! All results, in the order in which they are found.

use bem::{Excitation, Images};

use crate::analysis::energy::EnergyAnalysis;
use crate::analysis::films::FilmAnalysis;
use crate::analysis::forces::ForceAnalysis;
use crate::analysis::hydrodynamics::HydrodynamicAnalysis;
use crate::analysis::interface::Analysis;
use crate::analysis::polarisability::PolarisabilityAnalysis;
use crate::analysis::probes::ProbeAnalysis;
use crate::analysis::reduction::ReductionAnalysis;
use crate::analysis::sensitivity::SensitivityAnalysis;
use crate::analysis::state::StateAnalysis;
use crate::analysis::{excitations, interface};
use crate::problem::Problem;
use crate::problem::fault::Fault;
use crate::scene::description::Description;

/// The only list of them: excitations, faults, numbers and bars come from here.
pub(crate) const ALL: [&dyn Analysis; 9] = [
    &StateAnalysis,
    &EnergyAnalysis,
    &ForceAnalysis,
    &ProbeAnalysis,
    &PolarisabilityAnalysis,
    &HydrodynamicAnalysis,
    &ReductionAnalysis,
    &SensitivityAnalysis,
    &FilmAnalysis,
];

/// Those that a description asks for.
pub(crate) fn requested(description: &Description) -> impl Iterator<Item = &'static dyn Analysis> {
    ALL.into_iter().filter(|analysis| analysis.is_requested(description))
}

/// Whether bars of what a description asks for are made from this charge.
pub(crate) fn needs(description: &Description, charge: interface::ChargeOfBars) -> bool {
    requested(description).any(|analysis| analysis.charge_of_bars() == charge)
}

/// Faults of the requests of a problem on its mesh.
pub(crate) fn faults_on_mesh(problem: &Problem) -> Vec<Fault> {
    let requested = requested(&problem.description);
    requested.flat_map(|analysis| analysis.faults_on_mesh(problem)).collect()
}

/// Every excitation that is solved for together: each conductor in turn at 1 V, or each of those
/// that are chosen, then those of the requested results; [`excitations_with_images`] come after
/// them.
pub(crate) fn excitations(problem: &Problem) -> Vec<Excitation> {
    let requested = requested(&problem.description);
    let further = requested.flat_map(|analysis| analysis.excitations(problem));
    excitations::units(problem).into_iter().chain(further).collect()
}

/// The excitations that are solves of their own.
pub(crate) fn excitations_with_images(problem: &Problem) -> Vec<(Images, Excitation)> {
    let requested = requested(&problem.description);
    requested.flat_map(|analysis| analysis.excitations_with_images(problem)).collect()
}
