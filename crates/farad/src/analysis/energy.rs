//! Energies of point charges: by the potentials of surfaces at them, and by those of each other.

use crate::analysis::interface::{Analysis, Driven, Results};
use crate::analysis::near_surface;
use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::problem::planes::Seen;
use crate::problem::sources::Source;
use crate::result::state::{Energies, Molecule, Solvation, State};
use crate::result::warning::Warning;
use crate::scene::description::{Description, Dielectric};

/// The solvation energy of point charges in the state.
pub(crate) struct EnergyAnalysis;

impl Analysis for EnergyAnalysis {
    fn is_requested(&self, description: &Description) -> bool {
        description.has_charges()
    }

    fn find_in_state(&self, driven: &Driven<'_>, state: &mut State) -> Result<(), Error> {
        let Driven { problem, charges, sources, tolerance } = driven;
        let symmetry = &problem.symmetry;
        let seen = Seen::new(charges.into(), &symmetry.images, 0);
        let surface = bem::SurfaceCharge::new(symmetry.whole(&problem.mesh), &seen);
        let surface = surface.with_tolerance(*tolerance);
        let reaction = reaction(problem, &surface, sources)?;
        state.solvation = Some(solvation(problem, reaction, sources)?);
        Ok(())
    }

    fn warnings(&self, problem: &Problem, results: &Results) -> Vec<Warning> {
        let solvation = results.state.as_ref().and_then(|state| state.solvation.as_ref());
        solvation.map_or_else(Vec::new, |found| near_surface::judge(problem, &found.reaction_v))
    }
}

/// Potentials of surface charge at the sources.
pub(crate) fn reaction(
    problem: &Problem,
    surface: &bem::SurfaceCharge,
    sources: &bem::Excitation,
) -> Result<Vec<f64>, bem::Error> {
    let places: Vec<[f64; 3]> = problem.sources.iter().map(|source| source.position).collect();
    // Images in grounded planes stand for the charge there.
    let images = &problem.symmetry.images;
    let in_ground = sources.with_images(images, |g| images.is_of_ground(g));
    let in_ground = in_ground.field([0.0; 3]);
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
        reaction_error_j: None,
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
