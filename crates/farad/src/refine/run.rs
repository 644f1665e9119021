//! Solves to an accuracy: solve, estimate, split the sides of triangles that matter, repeat.

use std::ops::ControlFlow;
use std::time::Instant;

use bem::{Group, Progress, SolveOptions};

use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::refine::gains::Gains;
use crate::refine::goal::{Goal, LOOSEST, tolerance_for};
use crate::refine::judge::{Judge, Judgement, Verdict};
use crate::refine::level::{Attained, CompletedLevel, Level, Outcome, RefinementObserver, up_to};
use crate::refine::target::Target;
use crate::refine::team::Team;
use crate::result::charges::Known;
use crate::result::solution::Solution;
use crate::solver::{Solver, conclude};

/// The factor between tolerances that are tried one after another.
const LOOSER: f64 = 3.0;

/// Films are made of the charges of single triangles, and these of thin ones at edges are a small
/// part of all: with them the tolerance is this share of what it is otherwise.
const OF_TRIANGLES: f64 = 0.01;

/// Triangles of the next surfaces over those of the last: for a bar this much shorter than the
/// accuracy, within these limits.
const BELOW: f64 = 1.3;
const LEAST_GROWTH: f64 = 1.5;
const MOST_GROWTH: f64 = 4.0;

/// Solves `problem` on ever finer meshes until the bars of what `goal` asks for are as short as it
/// asks: [`Refinement::refine`] by one process, or by the ranks of [`SolveOptions::ranks`], which
/// all have the result then. `each` is called after every mesh, with what it gave.
///
/// # Errors
/// As for [`Refinement::refine`].
pub fn refine(
    problem: Problem,
    goal: &Goal,
    options: &SolveOptions,
    progress: &dyn Progress,
    each: &mut dyn FnMut(&Level, &Solution),
) -> Result<Attained, Error> {
    let mut observer = |level: &Level, solution: &Solution| each(level, solution);
    let attained = Refinement::new(goal, options).refine(problem, progress, &mut observer)?;
    attained.ok_or_else(|| goal.target.nothing())
}

/// The problem on surfaces with this many times as many triangles as at first.
pub type FinerSurfaces<'a> = dyn Fn(f64) -> Result<Problem, Error> + 'a;

/// A refinement: each mesh is made from the one before by splitting the sides of triangles along
/// which the density's error is largest.
#[derive(Clone)]
pub struct Refinement<'a> {
    goal: &'a Goal,
    options: &'a SolveOptions,
    completed: &'a [CompletedLevel],
    excitations: Group,
    surfaces: Option<&'a FinerSurfaces<'a>>,
}

impl<'a> Refinement<'a> {
    /// From the problem's own mesh on. With [`SolveOptions::ranks`] all ranks have the meshes and
    /// the solution; the first decides what happens next.
    pub fn new(goal: &'a Goal, options: &'a SolveOptions) -> Self {
        Self { goal, options, completed: &[], excitations: comm::alone(), surfaces: None }
    }

    /// On surfaces that are made again, finer ones each time, instead of split triangles: on
    /// surfaces of atoms most of the error is that of facets. Problems with ions need it.
    #[must_use]
    pub fn on_finer_surfaces(self, surfaces: &'a FinerSurfaces<'a>) -> Self {
        Self { surfaces: Some(surfaces), ..self }
    }

    /// From the mesh on that follows those that an earlier run with the same problem, goal and
    /// options has completed: these are made again, but not solved on.
    #[must_use]
    pub fn after(self, completed: &'a [CompletedLevel]) -> Self {
        Self { completed, ..self }
    }

    /// By ranks of which each solves for some of the excitations, as in [`Solver::solve_on`].
    #[must_use]
    pub fn sharing_excitations(self, group: &Group) -> Self {
        Self { excitations: Group::clone(group), ..self }
    }

    /// Solves `problem` on ever finer meshes until the bars of what the goal asks for are as short
    /// as it asks. The result is on the ranks that have the solutions; `None` on others.
    /// Collective, if there are ranks.
    ///
    /// # Errors
    /// [`Error::Accuracy`] if no requested number is computed, and errors of [`Problem::new`] and
    /// [`Solver::solve`] on the first mesh; later errors end the refinement with the last results.
    pub fn refine(
        &self,
        problem: Problem,
        progress: &dyn Progress,
        observer: &mut dyn RefinementObserver,
    ) -> Result<Option<Attained>, Error> {
        let team = Team::new(&self.excitations, self.options);
        let reached = self.reached(problem, &team, progress, observer);
        // Where a later mesh fails, the rank that knows why may be the only one with an error.
        let Reached { solved, levels, outcome } = team.agreed(reached)?;
        let Solved { problem, solution: Some(mut solution) } = solved else { return Ok(None) };
        conclude(&problem, self.options, progress, &mut solution, |analysis| {
            analysis.is_of_last_mesh(self.goal.target.is_of_films())
        })?;
        Ok(Some(Attained { problem, solution, levels, outcome }))
    }

    /// Refines, without results that only the last mesh needs.
    fn reached(
        &self,
        problem: Problem,
        team: &Team,
        progress: &dyn Progress,
        observer: &mut dyn RefinementObserver,
    ) -> Result<Reached, Error> {
        self.goal.check(&problem, self.options, self.surfaces.is_some())?;
        let judge = Judge::new(self.goal);
        let mut steps = Steps {
            team,
            options: self.options,
            progress,
            judge,
            levels: Vec::new(),
            before: None,
            start: Vec::new(),
            surfaces: self.surfaces,
            times: 1.0,
        };
        let mut problem = steps.first_mesh(problem, self.completed)?;
        loop {
            match steps.step(problem, observer)? {
                ControlFlow::Continue(next) => problem = next,
                ControlFlow::Break(reached) => return Ok(reached),
            }
        }
    }
}

/// A mesh that was solved on.
struct Solved {
    problem: Problem,
    /// `None` on ranks that help with solves alone.
    solution: Option<Solution>,
}

/// The mesh that is the result, and those before it.
struct Reached {
    solved: Solved,
    levels: Vec<Level>,
    outcome: Outcome,
}

/// The next mesh, or the result.
type Step = ControlFlow<Reached, Problem>;

/// Common data of steps from mesh to mesh, and results that they hand on.
struct Steps<'a> {
    team: &'a Team,
    options: &'a SolveOptions,
    progress: &'a dyn Progress,
    judge: Judge<'a>,
    levels: Vec<Level>,
    /// The mesh that is the result where the next one fails.
    before: Option<Solved>,
    /// The charges of the mesh before, on the next one.
    start: Vec<Known>,
    /// How the next mesh is made, if not by splitting triangles, and the triangles of the last one
    /// over those of the first.
    surfaces: Option<&'a FinerSurfaces<'a>>,
    times: f64,
}

impl Steps<'_> {
    /// The mesh to begin with, after those that were completed.
    fn first_mesh(
        &mut self,
        problem: Problem,
        completed: &[CompletedLevel],
    ) -> Result<Problem, Error> {
        let mut current = match self.surfaces {
            Some(surfaces) => self.surfaces_after(completed, surfaces, problem)?,
            None => self.split_after(completed, problem)?,
        };
        // Nothing else says when it is enough.
        current.description.error_bars = true;
        Ok(current)
    }

    fn surfaces_after(
        &mut self,
        completed: &[CompletedLevel],
        surfaces: &FinerSurfaces<'_>,
        problem: Problem,
    ) -> Result<Problem, Error> {
        for level in completed {
            self.judge.skip(level);
            self.levels.push(level.level.clone());
            self.times = level.share;
        }
        if completed.is_empty() { Ok(problem) } else { self.team.agreed(surfaces(self.times)) }
    }

    fn split_after(
        &mut self,
        completed: &[CompletedLevel],
        mut problem: Problem,
    ) -> Result<Problem, Error> {
        for level in completed {
            self.judge.skip(level);
            self.levels.push(level.level.clone());
            let gains = Gains { share: level.share, sides: level.gains.clone() };
            let (next, _) = gains.next_mesh(self.team, &problem, self.options.density)?;
            problem = Problem::next_to_charges(problem.description.clone(), next)?;
        }
        Ok(problem)
    }

    /// Solves on a mesh, and makes the next one if that is worth a solve.
    fn step(
        &mut self,
        problem: Problem,
        observer: &mut dyn RefinementObserver,
    ) -> Result<Step, Error> {
        let started = Instant::now();
        let for_films = self.judge.goal.target.is_of_films();
        let mut solver = Solver::for_refinement(std::mem::take(&mut self.start), for_films);
        let (mut solution, tolerance) = match self.solve(&mut solver, &problem) {
            Ok(solution) => solution,
            Err(error) => return self.not_solved(error).map(Step::Break),
        };
        let judgement = self.team.of_first(|| match &solution {
            Some(solution) => self.judge.judge(&problem, solution, &self.levels, started),
            None => Ok(Judgement::default()),
        })?;
        if judgement.verdict != Verdict::NotConverged {
            let level = self.level(&problem, solution.as_mut(), &judgement, tolerance);
            if let Some(solution) = &solution {
                observer.reached(&level, solution);
            }
            self.levels.push(level);
        }
        let solved = Solved { problem, solution };
        match judgement.verdict.outcome() {
            Some(outcome) => Ok(Step::Break(self.ended(solved, &judgement, outcome))),
            None => self.next(solved, solver.into_known(), &judgement, observer),
        }
    }

    /// The solution to the tolerance that the bars before ask for, or to a looser one where sums
    /// are not good enough for it: its bars have it in them, so that it is not looser than these.
    fn solve(
        &self,
        solver: &mut Solver,
        problem: &Problem,
    ) -> Result<(Option<Solution>, f64), Error> {
        let expected = self.levels.last().map_or(f64::INFINITY, |level| level.relative);
        let mut tolerance = tolerance_for(self.judge.goal.accuracy, expected);
        if !problem.description.films.is_empty() {
            tolerance *= OF_TRIANGLES;
        }
        let loosest = LOOSEST.min(expected);
        loop {
            let options = self.options.clone().tolerance(tolerance);
            let solution = self.team.solve(solver, problem, &options, self.progress)?;
            let mut solves = solution.iter().flat_map(|solution| &solution.answer.solves);
            let is_short = solves.any(|solve| solve.reason == bem::StopReason::Stagnation);
            if !self.team.of_first(|| Ok(is_short))? || tolerance >= loosest {
                return Ok((solution, tolerance));
            }
            tolerance = (LOOSER * tolerance).min(loosest);
        }
    }

    /// The result where a solve fails: the mesh before, unless there is none or the error is not
    /// one of the mesh.
    fn not_solved(&mut self, error: Error) -> Result<Reached, Error> {
        let is_of_run = match &error {
            Error::Solve(bem::Error::Interrupted) => true,
            // How much memory is free depends on what else runs.
            Error::Solve(bem::Error::Memory { .. }) => self.options.deterministic,
            _ => false,
        };
        match self.before.take().filter(|_| !is_of_run) {
            Some(before) => Ok(self.reached(before, outcome_of(&error))),
            None => Err(error),
        }
    }

    /// Results on a mesh; stretches the bars of its solution.
    fn level(
        &self,
        problem: &Problem,
        solution: Option<&mut Solution>,
        judgement: &Judgement,
        tolerance: f64,
    ) -> Level {
        let worst = self.judge.key(problem, solution.as_deref(), judgement.worst);
        if let Some(solution) = solution {
            solution.stretch_bars(judgement.stretched);
        }
        Level {
            triangles: problem.mesh.triangles.len(),
            worst,
            value: judgement.value,
            bar: judgement.bar,
            relative: judgement.relative,
            tolerance,
            seconds: judgement.seconds,
        }
    }

    /// The result where there is no further mesh: this one, or that before if this one is not to be
    /// used.
    fn ended(&mut self, solved: Solved, judgement: &Judgement, outcome: Outcome) -> Reached {
        let Some(failure) = judgement.failure() else { return self.reached(solved, outcome) };
        let Some(before) = self.before.take() else { return self.reached(solved, outcome) };
        let triangles = solved.problem.mesh.triangles.len();
        let why = format!("the solve on the next mesh, of {triangles} triangles, {failure}");
        self.reached(before, Outcome::Next(why))
    }

    /// The next mesh, or the result where there is none. Collective.
    fn next(
        &mut self,
        solved: Solved,
        known: Vec<Known>,
        judgement: &Judgement,
        observer: &mut dyn RefinementObserver,
    ) -> Result<Step, Error> {
        let next = match self.next_problem(&solved, known, observer) {
            Ok(Some(next)) => next,
            // No split changes a requested number.
            Ok(None) => return Ok(Step::Break(self.reached(solved, Outcome::Stalled))),
            Err(Error::Solve(bem::Error::Interrupted)) => {
                return Err(Error::Solve(bem::Error::Interrupted));
            }
            Err(error) => {
                let why = format!("the next mesh cannot be solved on: {error}");
                return Ok(Step::Break(self.reached(solved, Outcome::Next(why))));
            }
        };
        // Rather a mesh whose solution passed its self-checks than a later one.
        let sound = self.before.take().filter(|_| judgement.has_failed);
        self.before = sound.or(Some(solved));
        Ok(Step::Continue(next))
    }

    /// The problem on the next mesh; `None` if no side is split. Collective.
    fn next_problem(
        &mut self,
        solved: &Solved,
        known: Vec<Known>,
        observer: &mut dyn RefinementObserver,
    ) -> Result<Option<Problem>, Error> {
        let elapsed = self.judge.elapsed();
        let next = match self.surfaces {
            Some(surfaces) => Some(self.on_finer_surfaces(surfaces, &solved.problem)?),
            None => self.split(solved, known)?,
        };
        let Some((next, gains)) = next else { return Ok(None) };
        self.team.check_same(&next)?;
        if let Some(level) = self.levels.last() {
            observer.completed(&CompletedLevel {
                level: level.clone(),
                numbers: self.judge.measured.clone(),
                stretch: self.judge.stretch,
                elapsed,
                share: gains.share,
                gains: gains.sides,
            });
        }
        Ok(Some(next))
    }

    /// With sides split; `None` if none is.
    fn split(
        &mut self,
        Solved { problem, solution }: &Solved,
        known: Vec<Known>,
    ) -> Result<Option<(Problem, Gains)>, Error> {
        let gains = self.team.of_first(|| match solution {
            Some(solution) => Gains::find(problem, solution, &self.judge),
            None => Err(Target::All.nothing()),
        })?;
        let (mesh, descent) = gains.next_mesh(self.team, problem, self.options.density)?;
        if descent.triangles() == problem.mesh.triangles.len() {
            return Ok(None);
        }
        let known = self.team.known(known)?;
        self.start = known.iter().map(|known| descent.carry(known)).collect();
        let next = Problem::next_to_charges(problem.description.clone(), mesh);
        Ok(Some((self.team.agreed(next)?, gains)))
    }

    /// With the number of triangles for which the bar should be short enough.
    fn on_finer_surfaces(
        &mut self,
        surfaces: &FinerSurfaces<'_>,
        problem: &Problem,
    ) -> Result<(Problem, Gains), Error> {
        // Of flat triangles errors are c / N, of curved ones c / N^(3/2).
        let order = if problem.mesh.patches.is_some() { 1.5 } else { 1.0 };
        let relative = self.levels.last().map_or(f64::INFINITY, |level| level.relative);
        let accuracy = self.judge.goal.accuracy;
        let growth =
            (BELOW * relative / accuracy).powf(1.0 / order).clamp(LEAST_GROWTH, MOST_GROWTH);
        self.times *= self.team.of_first(|| Ok(growth))?;
        let mut next = self.team.agreed(surfaces(self.times))?;
        next.description.error_bars = true;
        Ok((next, Gains { share: self.times, sides: Vec::new() }))
    }

    fn reached(&mut self, solved: Solved, outcome: Outcome) -> Reached {
        let levels = up_to(std::mem::take(&mut self.levels), solved.problem.mesh.triangles.len());
        Reached { solved, levels, outcome }
    }
}

/// Why there is no solution on the next mesh.
fn outcome_of(error: &Error) -> Outcome {
    let why = error.to_string();
    match error {
        Error::Solve(bem::Error::Memory { .. } | bem::Error::Fmm(_) | bem::Error::Gpu(_)) => {
            Outcome::Size(why)
        }
        _ => Outcome::Next(why),
    }
}
