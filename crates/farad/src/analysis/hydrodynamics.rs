//! Hydrodynamic properties of bodies by what their surfaces are as conductors: capacitance and
//! polarisability (docs/math.md, "Hydrodynamics").

use mesh::Mesh;
use mesh::orient::enclosures;
use mesh::topology::Topology;

use crate::analysis::interface::{Analysis, Conclusion};
use crate::problem::Problem;
use crate::problem::fault::{Error, Fault};
use crate::result::body::{Hydrodynamics, Polarisability, Viscosity};
use crate::result::solution::Solution;
use crate::scene::description::{Conductor, Description};
use crate::scene::requests::Diffusion;
use crate::units::{self, LengthUnit};

/// How a body diffuses.
pub(crate) struct HydrodynamicAnalysis;

impl Analysis for HydrodynamicAnalysis {
    fn is_requested(&self, description: &Description) -> bool {
        description.diffusion.is_some()
    }

    fn name_without_ions(&self) -> Option<&'static str> {
        Some("diffusion")
    }

    fn name_with_all_nets(&self) -> Option<&'static str> {
        Some("diffusion")
    }

    fn faults(&self, description: &Description) -> Vec<Fault> {
        let are_molecules = description.dielectrics.iter().all(|body| !body.atoms.is_empty());
        // As far as they are listed.
        let is_alone = description.dielectrics.is_empty() || description.conductors.is_empty();
        let is_one_body = description.surfaces.is_empty() && are_molecules && is_alone;
        if is_one_body { Vec::new() } else { vec![Fault::DiffusionOfMedia] }
    }

    fn faults_on_mesh(&self, problem: &Problem) -> Vec<Fault> {
        let has_media = problem.media.as_ref().is_some_and(|media| !media.regions.is_empty());
        let is_both = has_media && !problem.conductors.names.is_empty();
        if is_both { vec![Fault::DiffusionOfMedia] } else { Vec::new() }
    }

    fn conclude(&self, conclusion: &Conclusion<'_>, solution: &mut Solution) -> Result<(), Error> {
        let Conclusion { problem, solve, .. } = conclusion;
        solution.hydrodynamics = match as_one_conductor(problem)? {
            Some(body) => solve(&body)?.hydrodynamics,
            None => find(problem, solution),
        };
        Ok(())
    }

    // Its bars are those of the matrix, which a refinement makes longer after the solve.
    fn is_of_last_mesh(&self, _for_films: bool) -> bool {
        true
    }
}

/// The molecules of a problem as one conductor, whose properties are theirs; `None` where those of
/// the problem's own conductors are wanted, or none.
fn as_one_conductor(problem: &Problem) -> Result<Option<Problem>, Error> {
    let description = &problem.description;
    let liquid = description.diffusion.filter(|_| !description.dielectrics.is_empty());
    let Some(liquid) = liquid else { return Ok(None) };
    let groups = description.dielectrics.iter().flat_map(|d| d.groups.clone()).collect();
    let body = Conductor { name: "body".to_owned(), groups, setting: None };
    let alone = Description::default()
        .unit(description.unit)
        .planes(description.planes.clone())
        .ignore(description.ignore.clone())
        .conductors(vec![body])
        .lenient(true)
        .diffusion(Some(liquid))
        .polarisability(true)
        .surface_values(false)
        .error_bars(description.error_bars);
    Problem::new(alone, problem.given_mesh().clone()).map(Some)
}

/// The properties of a problem's conductors, if the description asks for them.
fn find(problem: &Problem, solution: &Solution) -> Option<Hydrodynamics> {
    let liquid = problem.description.diffusion?;
    Some(properties(problem, solution, solution.polarisability.as_ref(), &liquid))
}

/// The properties of a problem's conductors.
fn properties(
    problem: &Problem,
    solution: &Solution,
    polarisability: Option<&Polarisability>,
    liquid: &Diffusion,
) -> Hydrodynamics {
    let unit = problem.description.unit;
    // C/(4 pi eps) of the solver is a length that does not depend on the medium.
    let capacity: f64 = solution.answer.maxwell.iter().flatten().sum();
    let hydrodynamic_radius_m = capacity * unit.metres();
    let diffusion = units::diffusion(hydrodynamic_radius_m, liquid.temperature, liquid.viscosity);
    let bars = solution.bars.as_ref();
    let capacity_error = bars.map(|bars| bars.maxwell.iter().flatten().sum());
    let is_whole = problem.conductors.of_triangle.iter().all(Option::is_some);
    let volume = volume(problem.symmetry.whole(&problem.mesh)).filter(|_| is_whole);
    let viscosity =
        polarisability.zip(volume).map(|(found, volume)| viscosity(found, volume, unit));
    let friction = units::friction(hydrodynamic_radius_m, liquid.viscosity);
    Hydrodynamics {
        capacity,
        capacity_error,
        hydrodynamic_radius_m,
        diffusion,
        friction,
        viscosity,
    }
}

/// The volume inside bodies and outside of the cavities in them; `None` unless all is closed.
fn volume(mesh: &Mesh) -> Option<f64> {
    let topology = Topology::of(mesh);
    if !topology.components.iter().all(|part| part.closed) {
        return None;
    }
    let within = enclosures(mesh, &topology);
    let depth = |part: usize| {
        let parent = |part: &usize| within[*part].parent.map(|parent| parent as usize);
        std::iter::successors(parent(&part), parent).take(within.len()).count()
    };
    let signed = |(part, found): (usize, &mesh::topology::Part)| {
        let sign = if depth(part).is_multiple_of(2) { 1.0 } else { -1.0 };
        sign * found.signed_volume.abs()
    };
    Some(topology.components.iter().enumerate().map(signed).sum())
}

/// Intrinsic viscosity of a body by its polarisability as a conductor (\[Mansfield2008\]); the
/// volume is in the cube of `unit`.
pub fn viscosity(found: &Polarisability, volume: f64, unit: LengthUnit) -> Viscosity {
    let whole = 4.0 * std::f64::consts::PI;
    let axes = eigenvalues(found.over_4pi_eps0).map(|value| whole * value);
    let mean = axes.iter().sum::<f64>() / 3.0;
    let prefactor = prefactor(axes);
    let intrinsic_conductivity = mean / volume;
    let viscometric_radius = (3.0 * prefactor * mean / (10.0 * std::f64::consts::PI)).cbrt();
    Viscosity {
        volume,
        volume_m3: volume * unit.metres().powi(3),
        intrinsic_conductivity,
        prefactor,
        intrinsic_viscosity: prefactor * intrinsic_conductivity,
        viscometric_radius,
        viscometric_radius_m: viscometric_radius * unit.metres(),
    }
}

/// The approximant of \[Mansfield2008\] for intrinsic viscosity over intrinsic conductivity, in the
/// logarithms of ratios of the polarisabilities along the axes. Exact for spheres, 1.5 % elsewhere.
pub fn prefactor(mut axes: [f64; 3]) -> f64 {
    axes.sort_by(f64::total_cmp);
    let (x, y) = ((axes[1] / axes[0]).ln(), (axes[2] / axes[1]).ln());
    let sum = |terms: [(f64, f64); 4]| -> f64 {
        terms.iter().map(|(factor, rate)| factor * (-rate * x).exp()).sum()
    };
    let delta = sum([(4.8, 0.0), (0.66, 1.04), (-1.247, 2.012), (0.787, 2.315)]);
    let b = sum([(0.68, 0.0), (-7.399, 1.063), (1.048, 0.895), (0.136, 4.993)]);
    let b_below = sum([(1.925, 0.0), (-8.611, 1.344), (1.652, 2.029), (-0.120, 1.075)]);
    let c = sum([(13.43, 0.0), (16.17, 0.489), (0.51, 0.879), (-5.86, 2.447)]);
    let a = sum([(16.23, 0.0), (-15.92, 0.462), (14.83, 1.989), (-3.74, 4.60)]);
    let m = sum([(2.786, 0.0), (0.293, 0.556), (-0.11, 2.034), (0.012, 3.024)]);
    let power = y.powf(m);
    let above = delta * a + c * y + b * y * y + 4.0 * power;
    above / (6.0 * a + 6.0 * c * y / delta + b_below * y * y + 5.0 * power)
}

/// Eigenvalues of the symmetric part of a matrix.
pub fn eigenvalues(matrix: [[f64; 3]; 3]) -> [f64; 3] {
    let matrix = nalgebra::Matrix3::from(matrix);
    ((matrix + matrix.transpose()) * 0.5).symmetric_eigenvalues().into()
}
