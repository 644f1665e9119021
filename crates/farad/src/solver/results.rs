//! From the answers to a problem's excitations to its solution, in steps of which each takes what
//! the one before has made: [`Answered`], [`Estimated`], [`Completed`], [`WithMissingCharge`].

use std::time::Instant;

use bem::{Electrostatics, Excitation, Media, Prepared, Progress, Refined, SolveOptions, System};

use crate::analysis::bars::EstimatedBars;
use crate::analysis::checks::{self, Measured};
use crate::analysis::interface::{Answers, ChargeOfBars, MissingInState, Results};
use crate::analysis::missing::{self, Estimate, Missing};
use crate::analysis::{fringes, list, state};
use crate::problem::fault::Error;
use crate::problem::{Problem, edges};
use crate::result::charges::Known;
use crate::result::solution::Solution;
use crate::result::state::State;
use crate::units;

/// The problem, its excitations and the options of a solve.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) problem: &'a Problem,
    pub(super) media: Media<'a>,
    /// As given by [`list::excitations`].
    pub(super) excitations: &'a [Excitation],
    pub(super) options: &'a SolveOptions,
    pub(super) progress: &'a dyn Progress,
}

/// Wall seconds of checks and estimates so far.
#[derive(Clone, Copy, Default)]
struct Seconds {
    checks: f64,
    estimates: f64,
}

/// Adds the seconds that `work` takes.
fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let made = work();
    *seconds += started.elapsed().as_secs_f64();
    made
}

/// The answers to all excitations, and the operators that have found them.
pub(super) struct Answered<'a> {
    pub(super) context: Context<'a>,
    pub(super) prepared: &'a mut Prepared,
    pub(super) answer: Electrostatics,
    /// Whether estimates say what each side of triangles has to gain.
    pub(super) with_sides: bool,
}

/// Whether the operators of a problem are used again after its excitations are solved for.
pub(super) fn solves_on(problem: &Problem) -> bool {
    let needs = |charge| list::needs(&problem.description, charge);
    state::is_refined(problem) || needs(ChargeOfBars::State) || needs(ChargeOfBars::Units)
}

impl<'a> Answered<'a> {
    /// Measures the answers, and estimates their errors where all have converged.
    pub(super) fn estimate(self) -> Result<Estimated<'a>, Error> {
        let Self { context, prepared, answer, with_sides } = self;
        let Context { problem, media, excitations, options, .. } = context;
        let system = prepared.system();
        let measure = || checks::measure(problem, media, Some(system), excitations, &answer);
        let solved = Solved { problem, excitations, options, system, answer: &answer, with_sides };
        let mut seconds = Seconds::default();
        let (measured, estimate) = if system.estimates_on_gpu() {
            // Processors check while the GPU estimates.
            let mut both = 0.0;
            let estimate = || timed(&mut seconds.estimates, || solved.estimated());
            let found = timed(&mut both, || rayon::join(measure, estimate));
            seconds.checks = (both - seconds.estimates).max(0.0);
            found
        } else {
            let measured = timed(&mut seconds.checks, measure);
            (measured, timed(&mut seconds.estimates, || solved.estimated()))
        };
        let (measured, estimate) = (measured?, estimate?);
        Ok(Estimated { context, prepared, answer, measured, estimate, seconds })
    }
}

/// What estimates are made of.
struct Solved<'a> {
    problem: &'a Problem,
    excitations: &'a [Excitation],
    options: &'a SolveOptions,
    system: &'a System,
    answer: &'a Electrostatics,
    with_sides: bool,
}

impl Solved<'_> {
    fn estimated(&self) -> Result<Option<Estimate>, bem::Error> {
        let &Self { problem, excitations, options, system, answer, with_sides } = self;
        let responses = &answer.responses;
        if !problem.description.error_bars || !responses.iter().all(is_converged) {
            return Ok(None);
        }
        let weights = edges::weights(problem, options.density);
        let mut estimate = system.error_estimate(excitations, answer, &weights, with_sides)?;
        let mut energies = sums(&estimate.of_conductors, &estimate.of_interfaces);
        let hidden = fringes::add(problem, &mut estimate);
        for (row, hidden) in energies.iter_mut().zip(&hidden) {
            row.iter_mut().zip(hidden).for_each(|(energy, hidden)| *energy += hidden);
        }
        let bars = EstimatedBars::new(problem, estimate, &hidden, answer);
        Ok(Some(Estimate { bars, energies, weights }))
    }
}

/// Answers with their estimated errors.
pub(super) struct Estimated<'a> {
    context: Context<'a>,
    prepared: &'a mut Prepared,
    answer: Electrostatics,
    measured: Measured,
    estimate: Option<Estimate>,
    seconds: Seconds,
}

impl<'a> Estimated<'a> {
    /// Solves for what is no excitation of the operators: the state refined, and fields through
    /// planes of symmetry.
    pub(super) fn complete(mut self) -> Result<Completed<'a>, Error> {
        let Context { problem, media, options, progress, .. } = self.context;
        let (answer, measured) = (&mut self.answer, &mut self.measured);
        let refined = state::refined(problem, self.prepared, answer, progress)?;
        for (images, excitation) in list::excitations_with_images(problem) {
            let media = Media { images: &images, ..media };
            let excitation = [excitation];
            let more = bem::electrostatics(&problem.mesh, media, &excitation, options, progress)?;
            measured.add(timed(&mut self.seconds.checks, || {
                checks::measure(problem, media, None, &excitation, &more)
            })?);
            add(answer, more);
        }
        if problem.description.has_sources() {
            let mut seconds = self.seconds.checks;
            self.measured.induced = timed(&mut seconds, || self.induced(refined.as_ref()))?;
            self.seconds.checks = seconds;
        }
        if let Some(Refined { response, residual, .. }) = refined {
            self.measured.residuals.push(residual);
            self.answer.responses.push(response);
        }
        Ok(Completed(self))
    }

    /// The charge that sources induce on conductors, by two ways.
    fn induced(&self, refined: Option<&Refined>) -> Result<Vec<checks::Induced>, bem::Error> {
        let Context { problem, media, excitations, .. } = self.context;
        let units = media.conductors;
        let driven = refined.map_or(&self.answer.responses[units], |refined| &refined.response);
        checks::reciprocity(problem, media, &self.answer, &excitations[units], driven)
    }
}

/// All answers.
pub(super) struct Completed<'a>(Estimated<'a>);

impl<'a> Completed<'a> {
    /// Solves that needed operators of their own.
    pub(super) fn further_solves(&self) -> usize {
        list::excitations_with_images(self.0.context.problem).len()
    }

    /// The charges of each excitation.
    pub(super) fn known(&self) -> Vec<Known> {
        let excitations = self.0.context.excitations.len();
        self.0.answer.responses.iter().take(excitations).map(Known::from).collect()
    }

    /// Finds the charge that the answers miss, where bars are made from it.
    pub(super) fn with_missing_charge(self) -> Result<WithMissingCharge<'a>, Error> {
        let Self(Estimated { context, prepared, answer, measured, estimate, mut seconds }) = self;
        let Context { problem, excitations, progress, .. } = context;
        let needs = |charge| list::needs(&problem.description, charge);
        let (mut of_state, mut of_units) = (None, Vec::new());
        if let Some(estimate) = &estimate {
            timed(&mut seconds.estimates, || -> Result<(), Error> {
                if needs(ChargeOfBars::State) {
                    of_state = missing::find(problem, prepared, &answer, estimate, progress)?;
                }
                if needs(ChargeOfBars::Units) {
                    let weights = &estimate.weights;
                    of_units = missing::of_units(
                        problem,
                        prepared,
                        excitations,
                        &answer,
                        weights,
                        progress,
                    )?;
                }
                Ok(())
            })?;
        }
        let bars = estimate.map(|estimate| estimate.bars);
        Ok(WithMissingCharge { context, answer, measured, bars, of_state, of_units, seconds })
    }
}

/// All answers, and the charges that they miss.
pub(super) struct WithMissingCharge<'a> {
    context: Context<'a>,
    answer: Electrostatics,
    measured: Measured,
    bars: Option<EstimatedBars>,
    of_state: Option<Missing>,
    of_units: Vec<Vec<f64>>,
    seconds: Seconds,
}

impl WithMissingCharge<'_> {
    /// The solution with its bars and warnings, without results that follow from these.
    pub(super) fn solution(self) -> Result<Solution, Error> {
        let Self { context, answer, measured, bars, of_state, of_units, mut seconds } = self;
        let Context { problem, options, .. } = context;
        let description = &problem.description;
        let mut evaluation_seconds = 0.0;
        let mut results = timed(&mut evaluation_seconds, || results(problem, &answer))?;
        let gauss_defect = problem.media.is_some().then_some(answer.gauss_defect);
        let all_charge = timed(&mut evaluation_seconds, || all_charge(problem, &answer));
        let answer = answer.into_capacitance(description.relative_permittivity, &problem.areas);
        let warnings = timed(&mut seconds.checks, || {
            let of_matrix = bars.as_ref().map(|bars| &bars.matrix);
            let mut all = checks::judge(problem, options, &answer, of_matrix, &measured);
            let requested = list::requested(description);
            all.extend(requested.flat_map(|analysis| analysis.warnings(problem, &results)));
            all
        });
        if let (Some(_), Some(missing), Some(state)) = (&bars, &of_state, &mut results.state) {
            timed(&mut seconds.estimates, || set_bars(context, missing, state))?;
        }
        let mut solution = Solution {
            unit: description.unit,
            relative_permittivity: description.relative_permittivity,
            density: options.density,
            hydrodynamics: None,
            answer,
            state: results.state,
            polarisability: results.polarisability,
            gauss_defect,
            warnings,
            all_charge,
            conductors: problem.conductors.names.clone(),
            columns: problem.excited.clone(),
            reducers: problem.reducers.clone(),
            derivatives: Vec::new(),
            films: Vec::new(),
            is_in_layers: description.stack.is_some(),
            units: results.units,
            missing: of_units,
            bars: None,
            estimate_seconds: seconds.estimates,
            check_seconds: seconds.checks,
            evaluation_seconds,
        };
        if let Some(bars) = bars {
            bars.give_to(&mut solution, options.tolerance);
        }
        Ok(solution)
    }
}

/// All results that follow from the answers.
fn results(problem: &Problem, answer: &Electrostatics) -> Result<Results, Error> {
    let answers = Answers { problem, answer };
    let requested = || list::requested(&problem.description);
    let mut results = Results::default();
    for analysis in requested() {
        analysis.find(&answers, &mut results)?;
    }
    if let Some(driven) = answers.driven() {
        let mut state = state::find(&driven)?;
        for analysis in requested() {
            analysis.find_in_state(&driven, &mut state)?;
        }
        results.state = Some(state);
    }
    Ok(results)
}

/// All charge of each triangle, in coulomb, for each conductor at 1 V; empty unless it is wanted.
fn all_charge(problem: &Problem, answer: &Electrostatics) -> Vec<Vec<f64>> {
    if problem.media.is_none() || !problem.description.surface_values {
        return Vec::new();
    }
    // A charge over 4 pi eps0 is a potential times a length.
    let coulomb = units::farads(1.0, problem.description.unit);
    let all = |response: &bem::Response| response.charge.iter().map(|q| q * coulomb).collect();
    answer.responses.iter().take(problem.conductors.names.len()).map(all).collect()
}

/// Sets the bars of what is evaluated in the state, from the charge that it misses.
fn set_bars(context: Context<'_>, missing: &Missing, state: &mut State) -> Result<(), Error> {
    let Context { problem, options: &SolveOptions { tolerance, .. }, .. } = context;
    let missing = MissingInState { problem, missing, tolerance };
    let mut requested = list::requested(&problem.description);
    requested.try_for_each(|analysis| analysis.bars(&missing, state))
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
