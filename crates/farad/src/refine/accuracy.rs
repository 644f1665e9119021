//! Solves to an accuracy: solve, estimate, split the sides of triangles that matter, repeat.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use bem::{Progress, SolveOptions};
use mesh::Mesh;

use crate::analysis::forces;
use crate::problem::fault::Error;
use crate::problem::{Problem, edges};
use crate::refine::among::Among;
use crate::refine::descent::Descent;
use crate::refine::first_mesh;
use crate::refine::goal::{self, Number, Of};
use crate::refine::marking::{self, Marks, Side};
use crate::result::charges::Known;
use crate::result::key::Key;
use crate::result::solution::Solution;
use crate::result::unit::Unit;
use crate::scene::ranges;
use crate::solver::Solver;

/// Least accuracy that double precision, and integrals made for it, support.
pub const FINEST: f64 = *ranges::ACCURACY.start();

/// Accuracies below this are reached sooner by linear densities, those above about as soon by
/// constant ones.
const LINEAR: f64 = 5e-3;

/// The solver's tolerance is this share of the accuracy, or of the bar expected next where that is
/// larger, but never looser than the last.
pub const OF_ACCURACY: f64 = 0.1;
const OF_BAR: f64 = 0.05;
const LOOSEST: f64 = 1e-4;
const LOOSER: f64 = 3.0;

/// The solver's tolerance for an accuracy, where bars of this length are expected next.
pub fn tolerance_for(accuracy: f64, expected: f64) -> f64 {
    (OF_BAR * expected).max(OF_ACCURACY * accuracy).min(LOOSEST)
}

/// A value that moves by more than its bar shows that bars are too short; they are stretched to
/// this many times what it moved by.
const STRETCHED: f64 = 1.5;

/// Bars must shrink to this share in so many meshes, or the estimate does not behave.
const SHRINKS: f64 = 0.8;
const PATIENCE: usize = 4;

/// The next mesh takes about so many times as long.
const NEXT: f64 = 3.0;

const BY_THE_CLOCK: &str = "a refinement that a time limit (max_time) may end has not the same results each time, as a deterministic one must; leave one of the two out";

/// How exact an answer has to be, and what it may take.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// Relative, [`FINEST`] or more.
    pub accuracy: f64,
    /// Of which numbers.
    pub of: Of,
    /// Seconds that all solves may take.
    pub max_seconds: Option<f64>,
}

/// What one mesh gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Triangles of the mesh.
    pub triangles: usize,
    /// The number whose bar is longest compared with what is asked, and its unit; `None` on ranks
    /// that do not have the solution.
    pub worst: Option<(Key, Unit)>,
    /// Its value and bar, in that unit.
    pub value: f64,
    /// See there.
    pub bar: f64,
    /// The bar relative to what the accuracy is relative to.
    pub relative: f64,
    /// The solver's tolerance.
    pub tolerance: f64,
    /// Wall seconds of mesh, solve and estimate.
    pub seconds: f64,
}

impl Level {
    /// The name of the worst number; empty on ranks that do not have the solution.
    pub fn name(&self) -> String {
        self.worst.as_ref().map(|(key, _)| key.to_string()).unwrap_or_default()
    }

    /// The text of its unit; empty likewise.
    pub fn unit(&self) -> &'static str {
        self.worst.as_ref().map_or("", |(_, unit)| unit.as_str())
    }
}

/// What is known of a mesh that was passed on the way to an accuracy: enough to make the next one
/// again, without a solve.
#[derive(Clone, Debug, PartialEq)]
pub struct Passed {
    /// What it gave.
    pub level: Level,
    /// Values and bars of all numbers that are asked for.
    pub numbers: Vec<[f64; 2]>,
    /// How much too short bars were seen to be.
    pub stretch: f64,
    /// Seconds from the beginning.
    pub elapsed: f64,
    /// What share of the error the next mesh is to leave.
    pub share: f64,
    /// Its sides, as two vertices, and what each has to gain.
    pub gains: Vec<(Side, f64)>,
}

/// What happens on the way to an accuracy.
pub trait Way {
    /// After every mesh, with what it gave.
    fn reached(&mut self, level: &Level, solution: &Solution);
    /// Before the solve on the next mesh: all that is known of the one before.
    fn passed(&mut self, _mesh: &Passed) {}
}

impl<F: FnMut(&Level, &Solution)> Way for F {
    fn reached(&mut self, level: &Level, solution: &Solution) {
        self(level, solution);
    }
}

/// Why there is no further mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All bars are as short as was asked.
    Reached,
    /// The next mesh would have taken longer than what was left of the time.
    Time,
    /// The next mesh does not fit, for this reason.
    Size(String),
    /// The next mesh could not be made or solved on, for this reason.
    Next(String),
    /// Bars do not shrink as they should.
    Stalled,
    /// The number is zero within its bar, as by symmetry: none is accurate relative to itself.
    Vanishing,
    /// The first solve did not converge, or failed its checks.
    Unsolved,
}

/// The last mesh that was solved on, and the way there.
#[derive(Debug)]
pub struct Attained {
    /// The problem on that mesh.
    pub problem: Problem,
    /// Its solution.
    pub solution: Solution,
    /// All meshes.
    pub levels: Vec<Level>,
    /// Why it ended.
    pub ended: Ended,
}

/// Solves `problem` on ever finer meshes until the bars of what `goal` asks for are as short as it
/// asks, each mesh made from the one before by splitting the sides of triangles along which the
/// density's error is largest. `each` is called after every mesh, with what it gave.
///
/// With [`SolveOptions::ranks`] all ranks call it, and all have the meshes and the solution; the
/// first decides what happens next. Collective then.
///
/// # Errors
/// [`Error::Accuracy`] where nothing of what is asked for is computed, and those of
/// [`Problem::new`] and [`Solver::solve`] on the first mesh; later ones end it, with what was
/// reached.
pub fn solve_to(
    problem: Problem,
    goal: &Goal,
    options: &SolveOptions,
    progress: &dyn Progress,
    each: &mut dyn FnMut(&Level, &Solution),
) -> Result<Attained, Error> {
    let mut way = |level: &Level, solution: &Solution| each(level, solution);
    solve_to_after(&[], problem, goal, options, progress, &mut way)
}

/// The same from the mesh on that follows those that an earlier call with the same problem, goal
/// and options has passed: these are made again, but not solved on.
///
/// # Errors
/// As for [`solve_to`].
pub fn solve_to_after(
    passed: &[Passed],
    problem: Problem,
    goal: &Goal,
    options: &SolveOptions,
    progress: &dyn Progress,
    way: &mut dyn Way,
) -> Result<Attained, Error> {
    let among = Among::of(options);
    // All ranks have it, or an error.
    attained((problem, passed), goal, (&among, options), progress, way)?
        .ok_or_else(|| goal::nothing(&goal.of))
}

/// The same by ranks that share the excitations, as in [`Solver::solve_among`]. The first has the
/// results. Collective.
///
/// # Errors
/// As for [`solve_to`].
pub fn solve_to_among(
    group: &bem::Group,
    problem: Problem,
    goal: &Goal,
    options: &SolveOptions,
    progress: &dyn Progress,
    each: &mut dyn FnMut(&Level, &Solution),
) -> Result<Option<Attained>, Error> {
    let among = Among::Excitations(bem::Ranks(bem::Group::clone(group)));
    let mut way = |level: &Level, solution: &Solution| each(level, solution);
    attained((problem, &[]), goal, (&among, options), progress, &mut way)
}

/// What ranks have attained, those that have the solution.
fn attained(
    from: (Problem, &[Passed]),
    goal: &Goal,
    (among, options): (&Among, &SolveOptions),
    progress: &dyn Progress,
    way: &mut dyn Way,
) -> Result<Option<Attained>, Error> {
    let reached = refine_to(from, goal, (among, options), progress, way);
    // Where a later mesh fails, the rank that knows why may be the only one with an error.
    let Reached { problem, solution, levels, ended } = among.agreed(reached)?;
    let Some(mut solution) = solution else { return Ok(None) };
    solution.find_derivatives(&problem, progress)?;
    Ok(Some(Attained { problem, solution, levels, ended }))
}

/// A mesh that was solved on, and the way there.
struct Reached {
    problem: Problem,
    /// `None` on ranks that help with solves alone.
    solution: Option<Solution>,
    levels: Vec<Level>,
    ended: Ended,
}

/// What the first rank makes of a solution.
#[derive(Clone, Copy, Debug, Default)]
struct Judgement {
    /// Whether it has bars, or did not converge.
    has_converged: bool,
    /// Whether it failed its self-checks.
    has_failed: bool,
    /// The place of the worst number, its value and bar, and that relative to its size.
    worst: usize,
    value: f64,
    bar: f64,
    relative: f64,
    /// How far all bars are stretched.
    stretched: f64,
    seconds: f64,
    /// The place in [`ENDS`] of why there is no next mesh.
    end: usize,
}

/// Why there is no next mesh, if the solution says so.
const ENDS: [Option<Ended>; 6] = [
    None,
    Some(Ended::Reached),
    Some(Ended::Stalled),
    Some(Ended::Vanishing),
    Some(Ended::Time),
    Some(Ended::Unsolved),
];

impl Judgement {
    fn numbers(&self) -> Vec<f64> {
        let flags = [self.has_converged, self.has_failed].map(|flag| f64::from(u8::from(flag)));
        let of_worst = [self.worst as f64, self.value, self.bar, self.relative];
        let rest = [self.stretched, self.seconds, self.end as f64];
        flags.into_iter().chain(of_worst).chain(rest).collect()
    }

    fn of(numbers: &[f64]) -> Self {
        let &[converged, failed, worst, value, bar, relative, stretched, seconds, end] = numbers
        else {
            return Self::default();
        };
        let (has_converged, has_failed) = (converged != 0.0, failed != 0.0);
        let (worst, end) = (worst as usize, end as usize);
        Self { has_converged, has_failed, worst, value, bar, relative, stretched, seconds, end }
    }
}

/// How the first rank judges.
struct Judge<'a> {
    goal: &'a Goal,
    begun: Instant,
    /// Seconds that went before.
    earlier: f64,
    /// How much too short bars were seen to be.
    stretch: f64,
    /// The numbers of the last mesh; empty where an earlier call has solved on it.
    known: Vec<Number>,
    /// Their values and bars.
    measured: Vec<[f64; 2]>,
    /// Meshes, one after another up to the last, whose solutions failed their self-checks.
    failed: usize,
}

impl Judge<'_> {
    /// Seconds from the beginning.
    fn elapsed(&self) -> f64 {
        self.earlier + self.begun.elapsed().as_secs_f64()
    }

    /// Goes on after a mesh that an earlier call has passed.
    fn pass(&mut self, mesh: &Passed) {
        self.measured.clone_from(&mesh.numbers);
        (self.stretch, self.earlier) = (mesh.stretch, mesh.elapsed);
    }

    /// Judges the solution on a mesh, of which the meshes before gave `levels`.
    fn of(
        &mut self,
        problem: &Problem,
        solution: &Solution,
        levels: &[Level],
        started: Instant,
    ) -> Result<Judgement, Error> {
        let goal = self.goal;
        if solution.bars.is_none() || !solution.converged() {
            return Ok(Judgement::default());
        }
        // What a coarse mesh fails a finer one may pass.
        let has_failed = solution.failed_checks();
        self.failed = if has_failed { self.failed + 1 } else { 0 };
        let numbers = goal::numbers(problem, solution, &goal.of)?;
        for (new, [value, bar]) in numbers.iter().zip(&self.measured) {
            // Both bars are of the estimate as it is.
            self.stretch = self.stretch.max(stretch([*value, new.value], bar + new.bar));
        }
        let stretched = self.stretch.max(1.0);
        self.measured = numbers.iter().map(|number| [number.value, number.bar]).collect();
        self.known = numbers;
        let known = self.known.iter().enumerate();
        let worst = known.max_by(|(_, a), (_, b)| a.relative().total_cmp(&b.relative()));
        let Some((place, worst)) = worst else { return Err(goal::nothing(&goal.of)) };
        let relative = stretched * worst.relative();
        // Where bars grow, the mesh before did not see what this one does. That of the first mesh
        // is not believed: the change to a second one must agree with it.
        let has_grown = levels.last().is_none_or(|before| relative > before.relative);
        let seconds = started.elapsed().as_secs_f64();
        // What is exact needs no second mesh.
        let is_met = relative == 0.0 || relative <= goal.accuracy && !has_grown;
        let ended = if is_met && !has_failed {
            Some(Ended::Reached)
        } else if self.failed > PATIENCE {
            Some(Ended::Unsolved)
        } else if is_stalled(levels, relative, |level| level.relative) {
            // Of what vanishes bars get shorter, and values with them.
            let is_zero =
                relative > 1.0 && !is_stalled(levels, stretched * worst.bar, |level| level.bar);
            Some(if is_zero { Ended::Vanishing } else { Ended::Stalled })
        } else {
            let is_late = |limit: f64| self.elapsed() + NEXT * seconds > limit;
            goal.max_seconds.is_some_and(is_late).then_some(Ended::Time)
        };
        Ok(Judgement {
            has_converged: true,
            has_failed,
            worst: place,
            value: worst.value,
            bar: stretched * worst.bar,
            relative,
            stretched,
            seconds,
            end: ENDS.iter().position(|end| *end == ended).unwrap_or(0),
        })
    }
}

/// The same without derivatives, which no step needs.
fn refine_to(
    (problem, passed): (Problem, &[Passed]),
    goal: &Goal,
    (among, options): (&Among, &SolveOptions),
    progress: &dyn Progress,
    way: &mut dyn Way,
) -> Result<Reached, Error> {
    if goal.accuracy.is_nan() || goal.accuracy < FINEST {
        return Err(Error::Accuracy(format!(
            "an accuracy of {:e} is beyond what double precision supports; ask for {FINEST:e} or more",
            goal.accuracy
        )));
    }
    if problem.description.has_salt() {
        return Err(Error::Accuracy(
            "an accuracy needs error bars, which there are none of with ions (kappa, ionic_strength); farad study shows how far energies are from their limit"
                .to_owned(),
        ));
    }
    if goal.max_seconds.is_some() && options.deterministic {
        return Err(Error::Accuracy(BY_THE_CLOCK.to_owned()));
    }
    let (known, measured) = (Vec::new(), Vec::new());
    let begun = Instant::now();
    let mut judge = Judge { goal, begun, earlier: 0.0, stretch: 1.0, known, measured, failed: 0 };
    let mut levels: Vec<Level> = Vec::new();
    let mut current = match among.agreed(problem.finer_next_to_surfaces(first_mesh::FIRST))? {
        Some(mesh) => among.agreed(Problem::next_to_charges(problem.description.clone(), mesh))?,
        None => problem,
    };
    for mesh in passed {
        judge.pass(mesh);
        levels.push(mesh.level.clone());
        let (next, _) = split(among, &current, (mesh.share, mesh.gains.clone()), options.density)?;
        current = Problem::next_to_charges(current.description.clone(), next)?;
    }
    // Nothing else tells when it is enough.
    current.description.error_bars = true;
    let mut last: Option<Reached> = None;
    // What the mesh before had, on the current one.
    let mut start: Vec<Known> = Vec::new();
    loop {
        let started = Instant::now();
        let expected = levels.last().map_or(f64::INFINITY, |level| level.relative);
        let tolerance = tolerance_for(goal.accuracy, expected);
        let mut solver = Solver::that_refines(std::mem::take(&mut start));
        let of = (&mut solver, &current);
        let (mut solution, tolerance, before) =
            match (solved(among, of, options, tolerance, progress), last.take()) {
                (Ok((solution, tolerance)), before) => (solution, tolerance, before),
                (Err(error @ Error::Solve(bem::Error::Interrupted)), _) => return Err(error),
                // How much memory is free depends on what else runs.
                (Err(error @ Error::Solve(bem::Error::Memory { .. })), _)
                    if options.deterministic =>
                {
                    return Err(error);
                }
                (Err(error), Some(before)) => {
                    return Ok(Reached { ended: not_solved(&error), levels, ..before });
                }
                (Err(error), None) => return Err(error),
            };
        let judged = Judgement::of(&among.of_first(|| match &solution {
            Some(solution) => Ok(judge.of(&current, solution, &levels, started)?.numbers()),
            None => Ok(Vec::new()),
        })?);
        let triangles = current.mesh.triangles.len();
        if !judged.has_converged {
            // What was reached before has bars.
            return Ok(match before {
                Some(before) => Reached { ended: unsolved(triangles, &judged), levels, ..before },
                None => Reached { problem: current, solution, levels, ended: Ended::Unsolved },
            });
        }
        if let Some(solution) = &mut solution {
            solution.bars = solution.bars.take().map(|bars| bars.times(judged.stretched));
        }
        let worst = named(&judge, &current, solution.as_ref(), judged.worst);
        levels.push(Level {
            triangles: current.mesh.triangles.len(),
            worst,
            value: judged.value,
            bar: judged.bar,
            relative: judged.relative,
            tolerance,
            seconds: judged.seconds,
        });
        if let (Some(level), Some(solution)) = (levels.last(), &solution) {
            way.reached(level, solution);
        }
        if let Some(ended) = ENDS.get(judged.end).cloned().flatten() {
            let this = Reached { problem: current, solution, levels, ended };
            return Ok(match before.filter(|_| judged.has_failed) {
                Some(sound) if this.ended == Ended::Unsolved => {
                    let ended = unsolved(triangles, &judged);
                    Reached { ended, levels: this.levels, ..sound }
                }
                _ => this,
            });
        }
        let marked = among.gains_of_first(|| match &solution {
            Some(solution) => gains(&current, solution, &judge),
            None => Err(goal::nothing(&Of::All)),
        });
        let mut this = Passed {
            level: levels[levels.len() - 1].clone(),
            numbers: judge.measured.clone(),
            stretch: judge.stretch,
            elapsed: judge.elapsed(),
            share: 1.0,
            gains: Vec::new(),
        };
        let next = marked.and_then(|marked| {
            (this.share, this.gains) = marked;
            split(among, &current, (this.share, this.gains.clone()), options.density)
        });
        let description = current.description.clone();
        if next.as_ref().is_ok_and(|(_, descent)| descent.triangles() == triangles) {
            // Nothing that is split changes what is asked for.
            return Ok(Reached { problem: current, solution, levels, ended: Ended::Stalled });
        }
        let next = next.and_then(|(mesh, descent)| {
            let known = among.known(solver.into_known(), triangles)?;
            start = known.iter().map(|known| descent.carry(known)).collect();
            let next = among.agreed(Problem::next_to_charges(description, mesh))?;
            among.check_same(&next)?;
            way.passed(&this);
            Ok(next)
        });
        let reached =
            Reached { problem: current, solution, levels: Vec::new(), ended: Ended::Reached };
        current = match next {
            Ok(next) => next,
            Err(error) => {
                let why = format!("the next mesh cannot be solved on: {error}");
                return Ok(Reached { ended: Ended::Next(why), levels, ..reached });
            }
        };
        // Rather a mesh whose solution passed its self-checks than a later one.
        last = before.filter(|_| judged.has_failed).or(Some(reached));
    }
}

/// That the solution on a mesh of so many triangles is not to be used.
fn unsolved(triangles: usize, judged: &Judgement) -> Ended {
    let found = if judged.has_converged { "failed its self-checks" } else { "did not converge" };
    let why = format!("the solve on the next mesh, of {triangles} triangles, {found}");
    Ended::Next(why)
}

/// The key and unit of the number at a place, on ranks that have the solution.
fn named(
    judge: &Judge<'_>,
    problem: &Problem,
    solution: Option<&Solution>,
    place: usize,
) -> Option<(Key, Unit)> {
    let of = |numbers: &[Number]| numbers.get(place).map(|of| (of.key.clone(), of.unit));
    let found = || goal::numbers(problem, solution?, &judge.goal.of).ok();
    of(&judge.known).or_else(|| of(&found()?))
}

/// The density by which an accuracy is reached soonest.
pub fn density_for(accuracy: f64) -> bem::Density {
    if accuracy < LINEAR { bem::Density::Linear } else { bem::Density::Constant }
}

/// The solution to a tolerance, or to a looser one where sums are not good enough for it: its bars
/// have it in them.
fn solved(
    among: &Among,
    (solver, problem): (&mut Solver, &Problem),
    options: &SolveOptions,
    tolerance: f64,
    progress: &dyn Progress,
) -> Result<(Option<Solution>, f64), Error> {
    let mut tolerance = tolerance;
    loop {
        let options = SolveOptions { tolerance, ..options.clone() };
        let solution = among.solve(solver, problem, &options, progress)?;
        let mut solves = solution.iter().flat_map(|solution| &solution.answer.solves);
        let is_short = solves.any(|solve| solve.reason == bem::StopReason::Stagnation);
        let is_short = among.of_first(|| Ok(vec![f64::from(u8::from(is_short))]))? == [1.0];
        if !is_short || tolerance >= LOOSEST {
            return Ok((solution, tolerance));
        }
        tolerance = (LOOSER * tolerance).min(LOOSEST);
    }
}

/// Why there is no solution on the next mesh.
fn not_solved(error: &Error) -> Ended {
    let why = error.to_string();
    match error {
        Error::Solve(bem::Error::Memory { .. } | bem::Error::Fmm(_) | bem::Error::Gpu(_)) => {
            Ended::Size(why)
        }
        _ => Ended::Next(why),
    }
}

/// How many times as long bars must be for a value that moved within both `bars`.
pub fn stretch([old, new]: [f64; 2], bars: f64) -> f64 {
    STRETCHED * (new - old).abs() / bars.max(f64::MIN_POSITIVE)
}

/// Whether `bar` says that bars no longer shrink. The first meshes may be too coarse for what
/// matters: the longest of the last bars counts, not the first of them.
pub fn is_stalled(before: &[Level], bar: f64, of: impl Fn(&Level) -> f64) -> bool {
    let recent = &before[before.len().saturating_sub(PATIENCE)..];
    let longest = recent.iter().map(of).fold(0.0, f64::max);
    // NaN does not shrink.
    recent.len() == PATIENCE && (bar > SHRINKS * longest || !longest.is_finite())
}

/// The mesh with those sides split that have most to gain, so that about this share of the error is
/// left, and where its triangles are in this one. Collective.
fn split(
    among: &Among,
    problem: &Problem,
    (share, gains): (f64, Vec<(Side, f64)>),
    density: bem::Density,
) -> Result<(Mesh, Descent), Error> {
    let (gains, surfaces) = (gains.into_iter().collect(), edges::surfaces(problem));
    let marks = Marks { gains, surfaces, density, mesh: &problem.mesh };
    let next = marks.next_mesh(share).map_err(|error| Error::Accuracy(error.to_string()));
    among.agreed(next)
}

/// What share of the error is to be left, and what each side has to gain.
fn gains(
    problem: &Problem,
    solution: &Solution,
    judge: &Judge<'_>,
) -> Result<(f64, Vec<(Side, f64)>), Error> {
    let Judge { goal, known: numbers, .. } = judge;
    let (accuracy, stretched) = (goal.accuracy, judge.stretch.max(1.0));
    let Some(bars) = &solution.bars else { return Err(goal::nothing(&Of::All)) };
    let missed = |number: &&Number| stretched * number.relative() > accuracy;
    // Without any, one more mesh is to confirm what was found.
    let is_confirmed = !numbers.iter().any(|number| missed(&number));
    // In order: sums of gains round the same way each time.
    let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
    for number in numbers.iter().filter(|number| is_confirmed || missed(number)) {
        for &(excitation, share) in &number.of {
            // Errors of excitations count as much as they make the bar.
            let weight = weights.entry(excitation).or_default();
            *weight = weight.max(number.relative() * share);
        }
    }
    let mut gains: HashMap<Side, f64> = HashMap::new();
    for (&excitation, weight) in &weights {
        for (corners, sides) in problem.mesh.triangles.iter().zip(&bars.sides[excitation]) {
            for (k, gain) in sides.iter().enumerate() {
                let (a, b) = (corners[k], corners[(k + 1) % 3]);
                *gains.entry(marking::side(a, b)).or_default() += weight * gain;
            }
        }
    }
    if let Of::Force(name) = &goal.of {
        gains = with_body(problem, name, gains);
    }
    let too_long = numbers.iter().map(Number::relative).fold(0.0, f64::max) * stretched / accuracy;
    Ok((1.0 / too_long.max(1.0), gains.into_iter().collect()))
}

/// Gains with those of a body's own sides as large together as all others: errors of a force are
/// products of those of its charges and of others' fields, and energies may know little of one.
fn with_body(problem: &Problem, name: &str, gains: HashMap<Side, f64>) -> HashMap<Side, f64> {
    let is_own = forces::triangles_of(problem, name);
    let own: HashSet<Side> = problem
        .mesh
        .triangles
        .iter()
        .zip(&is_own)
        .filter(|(_, own)| **own)
        .flat_map(|(c, _)| [0, 1, 2].map(|k| marking::side(c[k], c[(k + 1) % 3])))
        .collect();
    let (mut of_body, mut of_others) = (0.0, 0.0);
    let mut in_order: Vec<(&Side, &f64)> = gains.iter().collect();
    in_order.sort_unstable_by_key(|(side, _)| **side);
    for (side, gain) in in_order {
        *(if own.contains(side) { &mut of_body } else { &mut of_others }) += gain;
    }
    let factor = if of_body > 0.0 { (of_others / of_body).max(1.0) } else { 1.0 };
    let scaled =
        |(side, gain): (Side, f64)| (side, if own.contains(&side) { factor * gain } else { gain });
    gains.into_iter().map(scaled).collect()
}
