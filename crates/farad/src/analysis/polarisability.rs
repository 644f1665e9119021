//! The polarisability of all bodies together, by the dipole moments that fields along the axes
//! make.

use crate::analysis::excitations::{across_planes, along_planes, field_axes};
use crate::analysis::interface::{Analysis, Answers, Results};
use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::problem::planes::Seen;
use crate::result::body::Polarisability;
use crate::scene::description::Description;

/// The polarisability, from fields along the axes.
pub(crate) struct PolarisabilityAnalysis;

impl Analysis for PolarisabilityAnalysis {
    fn is_requested(&self, description: &Description) -> bool {
        description.polarisability
    }

    fn name_without_ions(&self) -> Option<&'static str> {
        Some("polarisability")
    }

    fn name_with_all_nets(&self) -> Option<&'static str> {
        Some("the polarisability")
    }

    fn excitations(&self, problem: &Problem) -> Vec<bem::Excitation> {
        along_planes(problem)
    }

    fn excitations_with_images(&self, problem: &Problem) -> Vec<(bem::Images, bem::Excitation)> {
        across_planes(problem)
    }

    fn find(&self, answers: &Answers<'_>, results: &mut Results) -> Result<(), Error> {
        results.polarisability = find(answers.problem, answers.answer);
        Ok(())
    }
}

/// The tensor; `None` if a floating potential has no value.
fn find(problem: &Problem, answer: &bem::Electrostatics) -> Option<Polarisability> {
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
    Some(Polarisability::new(over_4pi_eps0, problem.description.unit))
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
