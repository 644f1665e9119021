//! Charges in dielectrics among ions: the linearised Poisson-Boltzmann equation.

use std::f64::consts::PI;
use std::time::Instant;

use bem::checks::ratio;
use bem::{Cells, FixedCharge, Medium, Progress, Screened, SolveOptions};
use mesh::coarsen;
use mesh::locate::Locator;
use mesh::regions;
use mesh::vector::{add, cross, norm, scale, sub};
use parallel::prelude::*;

use crate::analysis::checks::{self, Measured};
use crate::analysis::probe_bars::AROUND;
use crate::analysis::{energy, excitations, near_surface};
use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::result::bars::Bars;
use crate::result::solution::Solution;
use crate::result::state::{ProbeBars, Probed, Solvation, State};
use crate::result::warning::Warning;
use crate::scene::requests::Probe;
use crate::units;

/// Relative difference of fluxes from charges above which a warning is issued.
pub const MOST_OF_FLUX: f64 = 0.03;

/// A mesh with this share of the triangles says how exact an energy is, if it has this many times
/// fewer.
const COARSE: f64 = 0.5;
const LEAST_RATIO: f64 = 1.5;

/// Errors of a mesh are larger by this where its triangles are left of more: their shapes are
/// worse.
const SHAPES: f64 = 1.4;

/// Bars over errors as they follow from the two.
const SAFETY: f64 = 2.0;

/// Energies of many charges may differ little by chance: this part of what those of all charges do
/// counts in any case.
const BY_CHANCE: f64 = 0.3;

/// Points are at least this far from surfaces, relative to the triangles there.
const LEAST_DISTANCE: f64 = 1e-3;

/// Solves for the potential of a problem's charges.
pub(crate) fn solve(
    problem: &Problem,
    options: &SolveOptions,
    progress: &dyn Progress,
) -> Result<Solution, Error> {
    let description = &problem.description;
    let of_others = description.dielectrics.iter();
    let media: Vec<Medium> = [(description.relative_permittivity, description.kappa)]
        .into_iter()
        .chain(of_others.map(|dielectric| (dielectric.relative_permittivity, dielectric.kappa)))
        .map(|(permittivity, kappa)| Medium { permittivity, kappa })
        .collect();
    let sides = problem.media.as_ref().map_or(&[][..], |media| &media.sides);
    let sides: Vec<[u32; 2]> = sides.iter().map(|sides| sides.map(region)).collect();
    let charges = charges(problem);
    let cells = Cells { media: &media, sides: &sides };
    let screened = bem::poisson_boltzmann(&problem.mesh, cells, &charges, options, progress)?;
    let begun = Instant::now();
    let mut state = state(problem, &media, &screened, &charges)?;
    let evaluation_seconds = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let coarser = match description.error_bars && screened.has_converged() {
        true => Coarser::of(problem, cells, &charges, options, progress)?,
        false => None,
    };
    let bar = match (&state.solvation, &coarser) {
        (Some(fine), Some(coarser)) => Some(coarser.energy_bar(problem, &media, &charges, fine)?),
        _ => None,
    };
    // Triangles that were split next to charges lie on those given, and so do fewer of them: what
    // these leave out of the surface is in neither energy.
    let left_out = match &state.solvation {
        Some(found) if problem.given.is_some() => near_surface::off_j(problem, &found.reaction_v),
        _ => 0.0,
    };
    let bar = bar.map(|bar| bar.max(left_out));
    if let Some(found) = &mut state.solvation {
        found.reaction_error_j = bar;
    }
    let defects = screened.flux_defects(&charges);
    let gauss_defect = defects.iter().map(|(_, defect)| defect.abs()).fold(0.0, f64::max);
    if let Some(coarser) = coarser.as_ref().filter(|_| !description.probes.is_empty()) {
        let surfaces = Locator::new(&problem.mesh);
        let energy = state.solvation.as_ref().map_or(0.0, |found| found.energies.reaction_j.abs());
        // Neither solution has these errors in its change.
        let common = gauss_defect + if energy > 0.0 { left_out / energy } else { 0.0 };
        let coarser = CoarserAtProbes { coarser, surfaces, common };
        for (probe, probed) in description.probes.iter().zip(&mut state.probes) {
            probed.bars = Some(coarser.bars(problem, &charges, probe, probed)?);
        }
    }
    let estimate_seconds = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let answer = screened.report();
    let relative = screened.sampled_residual(&charges)?;
    let residuals = vec![bem::SampledResidual { conductor: None, relative }];
    let measured = Measured { residuals, ..Measured::default() };
    let mut warnings = checks::judge(problem, options, &answer, None, &measured);
    if let Some(solvation) = &state.solvation {
        warnings.extend(near_surface::judge(problem, &solvation.reaction_v));
    }
    warnings.extend(flux(gauss_defect));
    Ok(Solution {
        unit: description.unit,
        relative_permittivity: description.relative_permittivity,
        density: options.density,
        answer,
        conductors: problem.conductors.names.clone(),
        columns: Vec::new(),
        state: Some(state),
        polarisability: None,
        hydrodynamics: None,
        gauss_defect: Some(gauss_defect),
        bars: coarser.map(|_| Bars::default()),
        warnings,
        all_charge: Vec::new(),
        derivatives: Vec::new(),
        films: Vec::new(),
        is_in_layers: false,
        units: Vec::new(),
        missing: Vec::new(),
        reducers: problem.reducers.clone(),
        estimate_seconds,
        check_seconds: begun.elapsed().as_secs_f64(),
        evaluation_seconds,
    })
}

/// The flux that comes out of a region is not forced to be that of its charges: where it is not,
/// neither is the energy right.
pub fn flux(defect: f64) -> Option<Warning> {
    (ratio(defect, MOST_OF_FLUX) > 1.0).then(|| {
        let message = format!(
            "the flux through surfaces differs from the charges within by {defect:.1e} of itself, and energies by about as much: \
             the mesh is too coarse for its charges; make a finer one"
        );
        Warning::new("flux", "surfaces".to_owned(), [defect, MOST_OF_FLUX], message)
    })
}

/// The region that a dielectric is, after the surrounding medium.
fn region(medium: Option<u32>) -> u32 {
    medium.map_or(0, |dielectric| dielectric + 1)
}

/// The region around each point.
fn regions_of(problem: &Problem, points: &[[f64; 3]]) -> Vec<u32> {
    let bodies = problem.media.as_ref().map_or(&[][..], |media| &media.regions);
    points.iter().map(|x| region(regions::around(bodies, *x))).collect()
}

/// Points of a probe.
struct Places {
    points: Vec<[f64; 3]>,
    /// The region around each.
    regions: Vec<u32>,
    /// The same points, but those on surfaces or next to them a little off, in their regions:
    /// integrals over panels have no rule there.
    moved: Vec<[f64; 3]>,
}

/// Values at them, in volt and per unit of length.
struct AtPlaces {
    potential: Vec<f64>,
    gradient: Vec<[f64; 3]>,
    /// Potential without that of the charges in the point's own region.
    reaction: Vec<f64>,
}

impl Places {
    fn of(problem: &Problem, surfaces: Option<&Locator>, points: Vec<[f64; 3]>) -> Self {
        let regions = regions_of(problem, &points);
        let moved = |(x, here): (&[f64; 3], &u32)| {
            let (surfaces, media) = (surfaces?, problem.media.as_ref()?);
            let near = surfaces.nearest(*x)?;
            let triangle = near.triangle as usize;
            let least = LEAST_DISTANCE * problem.areas[triangle].sqrt();
            if near.distance >= least {
                return None;
            }
            let sides = media.sides[triangle].map(|side| region(side) == *here);
            let along = match sides {
                [true, false] => least,
                [false, true] => -least,
                _ => return None,
            };
            let [a, b, c] = problem.mesh.corners(triangle);
            let normal = cross(sub(b, a), sub(c, a));
            Some(add(*x, scale(along / norm(normal), normal)))
        };
        let all = points.par_iter().zip(&regions);
        let moved = all.map(|point| moved(point).unwrap_or(*point.0)).collect();
        Self { points, regions, moved }
    }

    fn values(&self, screened: &Screened, charges: &[FixedCharge]) -> Result<AtPlaces, bem::Error> {
        let values = screened.values(&self.moved, &self.regions, charges, true)?;
        let all = values.reaction.iter().zip(&values.source).zip(&values.gradient);
        let moved = self.points.iter().zip(&self.moved);
        let potential = all.zip(moved).map(|(((r, s), g), (x, place))| {
            let back: f64 = (0..3).map(|k| g[k] * (x[k] - place[k])).sum();
            r + s + back
        });
        let potential = potential.collect();
        Ok(AtPlaces { potential, gradient: values.gradient, reaction: values.reaction })
    }
}

fn charges(problem: &Problem) -> Vec<FixedCharge> {
    let places: Vec<[f64; 3]> = problem.sources.iter().map(|source| source.position).collect();
    let regions = regions_of(problem, &places);
    // A charge over 4 pi eps0 is a potential times a length.
    let coulomb = units::farads(1.0, problem.description.unit);
    let of = problem.sources.iter().zip(regions);
    of.map(|(source, region)| FixedCharge {
        position: source.position,
        charge: source.coulomb / coulomb,
        region,
    })
    .collect()
}

/// The potential at each charge that is not of the charges as if there were no surfaces and no
/// ions.
fn reaction(
    problem: &Problem,
    media: &[Medium],
    screened: &Screened,
    charges: &[FixedCharge],
    sources: &bem::Excitation,
) -> Result<Vec<f64>, bem::Error> {
    let (places, regions): (Vec<[f64; 3]>, Vec<u32>) =
        charges.iter().map(|charge| (charge.position, charge.region)).unzip();
    let values = screened.values(&places, &regions, charges, false)?;
    let coulomb = energy::coulomb(problem, sources)?;
    // A charge among ions has its own cloud, of the potential (exp(-kappa r) - 1) / r at r = 0.
    let cloud = |charge: &FixedCharge| {
        let Medium { permittivity, kappa } = media[charge.region as usize];
        -kappa * charge.charge / permittivity
    };
    let all = values.reaction.iter().zip(&values.source).zip(&coulomb).zip(charges);
    Ok(all.map(|(((r, s), c), q)| r + s - c + cloud(q)).collect())
}

fn state(
    problem: &Problem,
    media: &[Medium],
    screened: &Screened,
    charges: &[FixedCharge],
) -> Result<State, bem::Error> {
    let sources = excitations::sources(problem);
    let solvation = if charges.is_empty() {
        None
    } else {
        let reaction_v = reaction(problem, media, screened, charges, &sources)?;
        Some(energy::solvation(problem, reaction_v, &sources)?)
    };
    let has_probes = !problem.description.probes.is_empty();
    let surfaces = has_probes.then(|| Locator::new(&problem.mesh));
    let probe = |probe: &Probe| -> Result<Probed, bem::Error> {
        let places = Places::of(problem, surfaces.as_ref(), probe.place.points());
        let AtPlaces { potential, gradient, .. } = places.values(screened, charges)?;
        let per_metre = -1.0 / problem.description.unit.metres();
        let field = gradient.iter().map(|g| g.map(|g| g * per_metre)).collect();
        let points = places.points;
        Ok(Probed { name: probe.name.clone(), points, potential, field, bars: None })
    };
    let count = problem.mesh.triangles.len();
    // Bound charge is the jump of the normal field over 4 pi, fields being over 4 pi eps0.
    let coulomb = units::farads(1.0, problem.description.unit);
    let fluxes = screened.surface_fluxes(count);
    let sides = problem.media.as_ref().map_or(&[][..], |media| &media.permittivity);
    let bound = |((flux, [front, behind]), area): ((&f64, &[f64; 2]), &f64)| {
        let jump = flux * (1.0 / behind - 1.0 / front);
        if jump.is_finite() { area * jump / (4.0 * PI) * coulomb } else { 0.0 }
    };
    Ok(State {
        conductors: Vec::new(),
        solvation,
        charge: fluxes.iter().zip(sides).zip(&problem.areas).map(bound).collect(),
        free_charge: vec![0.0; count],
        potential: Some(screened.surface_potentials(count)),
        probes: problem.description.probes.iter().map(probe).collect::<Result<_, _>>()?,
        forces: None,
        balance: None,
    })
}

/// The same solved on a mesh with fewer triangles, on some of the vertices of the problem's: how
/// far results are from those of the surface that the mesh is to be.
struct Coarser {
    screened: Screened,
    /// Errors over changes from this mesh to the problem's.
    share: f64,
    /// Solver's tolerance.
    tolerance: f64,
}

impl Coarser {
    /// `None` if there are hardly fewer triangles, or if the solve does not converge.
    fn of(
        problem: &Problem,
        Cells { media, sides }: Cells<'_>,
        charges: &[FixedCharge],
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<Option<Self>, bem::Error> {
        let (mesh, kept) = coarsen::coarsened(&problem.mesh, COARSE);
        let ratio = problem.mesh.triangles.len() as f64 / kept.len() as f64;
        if ratio < LEAST_RATIO {
            return Ok(None);
        }
        let sides: Vec<[u32; 2]> = kept.iter().map(|&t| sides[t as usize]).collect();
        let cells = Cells { media, sides: &sides };
        let screened = bem::poisson_boltzmann(&mesh, cells, charges, options, progress)?;
        // Errors are c / N on flat triangles, c / N^(3/2) on curved ones.
        let order = if mesh.patches.is_some() { 1.5 } else { 1.0 };
        let share = SAFETY / (SHAPES * ratio.powf(order) - 1.0);
        let has_converged = screened.has_converged();
        Ok(has_converged.then_some(Self { screened, share, tolerance: options.tolerance }))
    }

    /// Of the energy that surfaces add, in joule.
    fn energy_bar(
        &self,
        problem: &Problem,
        media: &[Medium],
        charges: &[FixedCharge],
        fine: &Solvation,
    ) -> Result<f64, bem::Error> {
        let sources = excitations::sources(problem);
        let reaction = reaction(problem, media, &self.screened, charges, &sources)?;
        let both = problem.sources.iter().zip(&fine.reaction_v).zip(&reaction);
        let of_each: f64 =
            both.map(|((source, v), w)| 0.5 * (source.coulomb * (v - w)).abs()).sum();
        let coarse_j = energy::solvation(problem, reaction, &sources)?.energies.reaction_j;
        let reaction_j = fine.energies.reaction_j;
        let change = (reaction_j - coarse_j).abs().max(BY_CHANCE * of_each);
        Ok(self.share * change + self.tolerance * reaction_j.abs())
    }
}

/// Bars at points, from a coarser solution.
struct CoarserAtProbes<'a> {
    coarser: &'a Coarser,
    /// Of the problem's mesh.
    surfaces: Locator,
    /// Relative error that both solutions have.
    common: f64,
}

impl CoarserAtProbes<'_> {
    /// Of potentials and fields at the points of a probe.
    fn bars(
        &self,
        problem: &Problem,
        charges: &[FixedCharge],
        probe: &Probe,
        fine: &Probed,
    ) -> Result<ProbeBars, bem::Error> {
        let Coarser { screened, share, tolerance } = self.coarser;
        let metres = problem.description.unit.metres();
        let places = Places::of(problem, Some(&self.surfaces), probe.place.points());
        let coarse = places.values(screened, charges)?;
        let mut bars = ProbeBars::default();
        for (k, point) in fine.points.iter().enumerate() {
            let nearest = self.surfaces.nearest(*point);
            let distance = nearest.as_ref().map_or(0.0, |near| near.distance);
            let size = nearest.map_or(0.0, |near| problem.areas[near.triangle as usize].sqrt());
            let (volt, field) = (fine.potential[k], fine.field[k].map(|e| e * metres));
            let change = (volt - coarse.potential[k]).abs();
            let of_field = norm(add(field, coarse.gradient[k]));
            let around = AROUND * (distance + size);
            let of_change = [
                change + around * of_field,
                of_field + AROUND * AROUND * change / around.max(f64::MIN_POSITIVE),
            ];
            let sizes = [volt.abs().max(coarse.reaction[k].abs()), norm(field)];
            let [volt, field] =
                [0, 1].map(|k| share * of_change[k] + (tolerance + self.common) * sizes[k]);
            bars.potential_v.push(volt);
            bars.field_v_per_m.push(field / metres);
        }
        Ok(bars)
    }
}
