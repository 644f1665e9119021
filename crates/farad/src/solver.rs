//! Solves, with a cache of what solves of one geometry share.

use std::time::Instant;

use bem::{Charges, Electrostatics, Group, Prepared, Progress, SolveOptions};

use crate::analysis::bars::Estimated;
use crate::analysis::checks::{self, Measured};
use crate::analysis::{
    excitations, fringes, hydrodynamics, missing, near_surface, polarisability, salt, state,
};
use crate::problem::fault::Error;
use crate::problem::{Problem, edges};
use crate::result::bars::Bars;
use crate::result::charges::Known;
use crate::result::solution::Solution;
use crate::units;

/// Solves problems one after the other. Consecutive problems that differ only in permittivities,
/// charges and fields share one near field and one plan of the fast sums.
#[derive(Default)]
pub struct Solver {
    cache: Option<GeometryCache>,
    times: usize,
    /// Whether the gains of sides are wanted, and the charges kept.
    refines: bool,
    /// The last charges of each excitation, from which the next solve starts.
    known: Vec<Known>,
}

/// The prepared operators of one geometry, and what they were prepared for.
struct GeometryCache {
    geometry: u64,
    excitations: usize,
    options: SolveOptions,
    prepared: Prepared,
}

impl Problem {
    /// Solves the problem by itself: [`Solver::solve`].
    ///
    /// # Errors
    /// As there.
    pub fn solve(
        &self,
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<Solution, Error> {
        Solver::default().solve(self, options, progress)
    }

    /// How many excitations there are that [`Solver::solve_among`] shares: those of conductors, of
    /// the sources, of fields along axes.
    pub fn shared_excitations(&self) -> usize {
        if self.description.has_salt() { 1 } else { excitations::excitations(self).len() }
    }
}

impl Solver {
    /// One whose bars tell what each side of triangles has to gain, and which starts from these
    /// charges of the problem's excitations, if there are any.
    pub(crate) fn that_refines(known: Vec<Known>) -> Self {
        Self { refines: true, known, ..Self::default() }
    }

    /// The charges that it found, one set for each excitation.
    pub(crate) fn into_known(self) -> Vec<Known> {
        self.known
    }

    /// How often near field and fast sums were set up.
    pub fn times_prepared(&self) -> usize {
        self.times
    }

    /// Solves a problem: each conductor in turn at 1 V, then the sources and the further results
    /// that the description wants. With [`SolveOptions::ranks`] all ranks call it, and all have the
    /// solution. A solve that does not converge is no error here: see
    /// [`Solution::converged`], and [`Solution::warnings`] for what self-checks found.
    ///
    /// # Errors
    /// [`Error::Solve`]: memory, a GPU that is not there, interrupted by `progress`;
    /// [`Error::Probes`].
    pub fn solve(
        &mut self,
        problem: &Problem,
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<Solution, Error> {
        let description = &problem.description;
        let fits = options.memory_limit.map_or(Ok(()), |limit| description.check_memory(limit));
        options.ranks.agreed(fits)?;
        if description.has_salt() {
            return salt::solve(problem, options, progress);
        }
        let permittivity = problem.permittivity();
        let media = problem.media_of(&permittivity);
        let excitations = excitations::excitations(problem);
        let known = std::mem::take(&mut self.known);
        let start = starts(&known, problem);
        let mut kept = self.prepared(problem, media, excitations.len(), options)?;
        let answer = kept.prepared.solve_from(&start, &excitations, progress)?;
        let solution = self.results(problem, (media, &excitations), answer, &mut kept, progress)?;
        self.cache = Some(kept);
        Ok(solution)
    }

    /// The same by several ranks, all with the same problem and options: each solves for some of
    /// the excitations ([`Problem::shared_excitations`]). The first has the solution. Collective.
    ///
    /// # Errors
    /// As for [`solve`](Self::solve); on other ranks than the one that has it,
    /// [`bem::Error::Fmm`] with its message. [`Error::Ions`]: those equations are solved at once.
    pub fn solve_among(
        &mut self,
        group: &Group,
        problem: &Problem,
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<Option<Solution>, Error> {
        if problem.description.has_salt() {
            return Err(Error::Ions);
        }
        let permittivity = problem.permittivity();
        let media = problem.media_of(&permittivity);
        let excitations = excitations::excitations(problem);
        let known = std::mem::take(&mut self.known);
        let start = starts(&known, problem);
        let own = bem::own_share(&**group, excitations.len());
        let mut solve = || -> Result<_, Error> {
            if let Some(limit) = options.memory_limit {
                problem.description.check_memory(limit)?;
            }
            if own.is_empty() && group.rank() > 0 {
                return Ok(None);
            }
            let mut kept = self.prepared(problem, media, excitations.len(), options)?;
            let answer = kept.prepared.solve_some(&start, &excitations, own.clone(), progress)?;
            Ok(Some((answer, kept)))
        };
        let (own, kept) = match solve() {
            Ok(found) => {
                let (answer, kept) = found.unzip();
                (Ok(answer), kept)
            }
            Err(error) => (Err(error), None),
        };
        let all = bem::bring_together(&**group, own)?;
        let (Some(mut answer), Some(mut kept)) = (all, kept) else { return Ok(None) };
        kept.prepared.complete(&excitations, &mut answer);
        let solution = self.results(problem, (media, &excitations), answer, &mut kept, progress)?;
        self.cache = Some(kept);
        Ok(Some(solution))
    }

    /// What follows from the answers to all excitations, and how far to trust it.
    fn results(
        &mut self,
        problem: &Problem,
        (media, excitations): (bem::Media<'_>, &[bem::Excitation]),
        mut answer: Electrostatics,
        kept: &mut GeometryCache,
        progress: &dyn Progress,
    ) -> Result<Solution, Error> {
        let description = &problem.description;
        let with_sides = self.refines;
        let GeometryCache { prepared, options, .. } = kept;
        let options = &*options;
        let started = Instant::now();
        let mut measured = checks::measure(problem, media, Some(prepared), excitations, &answer)?;
        let mut check_seconds = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let mut estimated = None;
        if description.error_bars && answer.responses.iter().all(is_converged) {
            let weights = edges::weights(problem, options.density);
            let mut estimate =
                prepared.error_estimate(excitations, &answer.responses, &weights, with_sides)?;
            let mut energies = sums(&estimate.of_conductors, &estimate.of_interfaces);
            let hidden = fringes::add(problem, &mut estimate);
            for (row, hidden) in energies.iter_mut().zip(&hidden) {
                row.iter_mut().zip(hidden).for_each(|(energy, hidden)| *energy += hidden);
            }
            let bars = Estimated::new(problem, (estimate, &hidden), &answer);
            estimated = Some((bars, energies, weights));
        }
        let mut estimate_seconds = started.elapsed().as_secs_f64();
        let refined = state::refined(problem, prepared, &mut answer, progress)?;
        if self.refines {
            self.known = answer.responses.iter().map(Known::from).collect();
        }
        for (images, excitation) in excitations::across_planes(problem) {
            self.times += 1;
            let media = bem::Media { images: &images, ..media };
            let excitation = [excitation];
            let more = bem::electrostatics(&problem.mesh, media, &excitation, options, progress)?;
            let started = Instant::now();
            measured.add(checks::measure(problem, media, None, &excitation, &more)?);
            check_seconds += started.elapsed().as_secs_f64();
            add(&mut answer, more);
        }
        if description.has_sources() {
            let started = Instant::now();
            let units = media.conductors;
            let driven = refined.as_ref().map_or(&answer.responses[units], |r| &r.response);
            let of = (&excitations[units], driven);
            measured.induced = checks::reciprocity(problem, media, &answer, of)?;
            check_seconds += started.elapsed().as_secs_f64();
        }
        if let Some(bem::Refined { response, residual }) = refined {
            measured.residuals.push(residual);
            answer.responses.push(response);
        }
        let started = Instant::now();
        let has_places = description.forces || !description.probes.is_empty();
        let missing = match &estimated {
            Some((bars, energies, weights)) if has_places => {
                let of = (&energies[..], &weights[..], &bars.conductors[..]);
                missing::find(problem, prepared, &answer, of, progress)?
            }
            _ => None,
        };
        let of_units = match &estimated {
            Some((.., weights)) if !description.films.is_empty() => {
                let of = (excitations, &answer);
                missing::of_units(problem, prepared, of, weights, progress)?
            }
            _ => Vec::new(),
        };
        estimate_seconds += started.elapsed().as_secs_f64();
        let bars = estimated.map(|(bars, ..)| bars);
        let of_matrix = bars.as_ref().map(|bars| &bars.matrix);
        let mut solution = found(problem, options, answer, of_matrix, &measured, check_seconds)?;
        solution.missing = of_units;
        let started = Instant::now();
        if let (Some(missing), Some(state)) = (missing, &mut solution.state) {
            missing.of_probes(problem, &mut state.probes, options.tolerance)?;
            if let Some(forces) = &mut state.forces {
                missing.of_forces(problem, forces)?;
            }
        }
        solution.estimate_seconds = estimate_seconds + started.elapsed().as_secs_f64();
        if let Some(bars) = bars {
            bars.give_to(&mut solution, options.tolerance);
        }
        solution.hydrodynamics = match hydrodynamics::as_one_conductor(problem)? {
            Some(body) => Self::default().solve(&body, options, progress)?.hydrodynamics,
            None => hydrodynamics::find(problem, &solution),
        };
        if !self.refines {
            solution.find_derivatives(problem, progress)?;
        }
        Ok(solution)
    }

    /// The prepared operators for this problem: those of the last solve if the geometry is the
    /// same.
    fn prepared(
        &mut self,
        problem: &Problem,
        media: bem::Media<'_>,
        excitations: usize,
        options: &SolveOptions,
    ) -> Result<GeometryCache, bem::Error> {
        // The memory that is left changes from solve to solve.
        let choices = SolveOptions { memory_limit: None, ..options.clone() };
        let geometry = problem.geometry();
        let mut known = self.cache.take().filter(|kept| {
            (kept.geometry, kept.excitations, &kept.options) == (geometry, excitations, &choices)
        });
        if !known.as_mut().is_some_and(|kept| kept.prepared.set_permittivity(media.permittivity)) {
            known = None;
        }
        if let Some(kept) = known {
            return Ok(kept);
        }
        self.times += 1;
        let prepared = Prepared::new(&problem.mesh, media, excitations, options)?;
        Ok(GeometryCache { geometry, excitations, options: choices, prepared })
    }
}

/// What is known of the charges, if it is on this problem's triangles: it may have split some
/// itself.
fn starts<'a>(known: &'a [Known], problem: &Problem) -> Vec<Charges<'a>> {
    let n = problem.mesh.triangles.len();
    let fits = |known: &&Known| Charges::from(*known).total.len() == n;
    known.iter().filter(fits).map(Charges::from).collect()
}

/// The sum of two matrices.
fn sums(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let row = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a + b).collect();
    a.iter().zip(b).map(row).collect()
}

fn is_converged(response: &bem::Response) -> bool {
    response.reason == bem::StopReason::Converged
}

/// Adds the answers to further excitations.
fn add(answer: &mut Electrostatics, more: Electrostatics) {
    answer.responses.extend(more.responses);
    answer.gauss_defect = answer.gauss_defect.max(more.gauss_defect);
    answer.timings.plan += more.timings.plan;
    answer.timings.near_field += more.timings.near_field;
    answer.timings.solve += more.timings.solve;
    answer.timings.fmm_check += more.timings.fmm_check;
}

/// Derives all results from the answers.
fn found(
    problem: &Problem,
    options: &SolveOptions,
    answer: Electrostatics,
    bars: Option<&Bars>,
    measured: &Measured,
    check_seconds: f64,
) -> Result<Solution, Error> {
    let description = &problem.description;
    let begun = Instant::now();
    let state = if description.has_state() { state::find(problem, &answer)? } else { None };
    let polarisability =
        if description.polarisability { polarisability::find(problem, &answer) } else { None };
    let units = match description.sensitivities.is_empty() && description.films.is_empty() {
        true => Vec::new(),
        false => answer.responses[..problem.conductors.names.len()].to_vec(),
    };
    let gauss_defect = problem.media.is_some().then_some(answer.gauss_defect);
    // A charge over 4 pi eps0 is a potential times a length.
    let coulomb = units::farads(1.0, description.unit);
    let all = |response: &bem::Response| response.charge.iter().map(|q| q * coulomb).collect();
    let of_conductors = answer.responses.iter().take(problem.conductors.names.len());
    let is_wanted = problem.media.is_some() && description.surface_values;
    let all_charge = if is_wanted { of_conductors.map(all).collect() } else { Vec::new() };
    let evaluation_seconds = begun.elapsed().as_secs_f64();
    let answer = answer.into_capacitance(description.relative_permittivity, &problem.areas);
    let begun = Instant::now();
    let mut warnings = checks::judge(problem, options, &answer, bars, measured);
    if let Some(solvation) = state.as_ref().and_then(|state| state.solvation.as_ref()) {
        warnings.extend(near_surface::judge(problem, &solvation.reaction_v));
    }
    warnings.extend(state.as_ref().and_then(|state| checks::balance(state.balance?)));
    Ok(Solution {
        unit: description.unit,
        relative_permittivity: description.relative_permittivity,
        density: options.density,
        hydrodynamics: None,
        answer,
        state,
        polarisability,
        gauss_defect,
        warnings,
        all_charge,
        conductors: problem.conductors.names.clone(),
        columns: problem.excited.clone(),
        reducers: problem.reducers.clone(),
        derivatives: Vec::new(),
        films: Vec::new(),
        is_in_layers: description.stack.is_some(),
        units,
        missing: Vec::new(),
        bars: None,
        estimate_seconds: 0.0,
        check_seconds: check_seconds + begun.elapsed().as_secs_f64(),
        evaluation_seconds,
    })
}
