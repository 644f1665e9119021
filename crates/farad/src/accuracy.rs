//! Solves to an accuracy: solve, estimate, split the sides of triangles that matter, repeat.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use bem::{Progress, SolveOptions};
use mesh::Mesh;

use crate::descent::{Descent, Known};
use crate::edges;
use crate::fault::Error;
use crate::forces;
use crate::goal::{self, Number, Of};
use crate::marking::{self, Marks, Side};
use crate::problem::Problem;
use crate::solution::Solution;
use crate::solver::Solver;

/// Least accuracy that double precision, and integrals made for it, support.
pub const FINEST: f64 = 1e-9;

/// Accuracies below this are reached sooner by linear densities, those above about as soon by
/// constant ones.
const LINEAR: f64 = 5e-3;

/// The solver's tolerance is this share of the accuracy, or of the bar expected next where that is
/// larger, but never looser than the last.
const OF_ACCURACY: f64 = 0.1;
const OF_BAR: f64 = 0.05;
const LOOSEST: f64 = 1e-4;
const LOOSER: f64 = 3.0;

/// Meshes that a bar is not believed without: changes from one to the next must agree with it.
const LEAST_MESHES: usize = 2;

/// A value that moves by more than its bar shows that bars are too short; they are stretched to
/// this many times what it moved by.
const STRETCHED: f64 = 1.5;

/// Bars must shrink to this share in so many meshes, or the estimate does not behave.
const SHRINKS: f64 = 0.8;
const PATIENCE: usize = 4;

/// The next mesh takes about so many times as long.
const NEXT: f64 = 3.0;

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
    /// The number whose bar is longest compared with what is asked.
    pub worst: String,
    /// Its value and bar, in `unit`.
    pub value: f64,
    /// See there.
    pub bar: f64,
    /// Of both.
    pub unit: &'static str,
    /// The bar relative to what the accuracy is relative to.
    pub relative: f64,
    /// The solver's tolerance.
    pub tolerance: f64,
    /// Wall seconds of mesh, solve and estimate.
    pub seconds: f64,
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
    let mut attained = refine_to(problem, goal, options, progress, each)?;
    let Attained { problem, solution, .. } = &mut attained;
    solution.find_derivatives(problem, progress)?;
    Ok(attained)
}

/// The same without derivatives, which no step needs.
fn refine_to(
    problem: Problem,
    goal: &Goal,
    options: &SolveOptions,
    progress: &dyn Progress,
    each: &mut dyn FnMut(&Level, &Solution),
) -> Result<Attained, Error> {
    let begun = Instant::now();
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
    let (mut levels, mut stretch): (Vec<Level>, f64) = (Vec::new(), 1.0);
    let mut known: Vec<Number> = Vec::new();
    let mut current = problem;
    // Nothing else tells when it is enough.
    current.description.error_bars = true;
    let mut last: Option<Attained> = None;
    // What the mesh before had, on the current one.
    let mut start: Vec<Known> = Vec::new();
    loop {
        let started = Instant::now();
        let expected = levels.last().map_or(f64::INFINITY, |level| level.relative);
        let tolerance = (OF_BAR * expected).max(OF_ACCURACY * goal.accuracy).min(LOOSEST);
        let mut solver = Solver::that_refines(std::mem::take(&mut start));
        let (solved, tolerance) = solved(&mut solver, &current, options, tolerance, progress);
        let (mut solution, before) = match (solved, last.take()) {
            (Ok(solution), before) => (solution, before),
            (Err(error @ Error::Solve(bem::Error::Interrupted)), _) => return Err(error),
            (Err(error), Some(before)) => {
                return Ok(Attained { ended: not_solved(&error), levels, ..before });
            }
            (Err(error), None) => return Err(error),
        };
        let is_sound = solution.bars.is_some() && solution.converged() && !solution.failed_checks();
        if !is_sound {
            let n = current.mesh.triangles.len();
            let found =
                if solution.converged() { "failed its self-checks" } else { "did not converge" };
            let why = format!("the solve on the next mesh, of {n} triangles, {found}");
            // What was reached before has bars.
            if let Some(before) = before {
                return Ok(Attained { ended: Ended::Next(why), levels, ..before });
            }
            return Ok(Attained { problem: current, solution, levels, ended: Ended::Unsolved });
        }
        let mut numbers = goal::numbers(&current, &solution, &goal.of)?;
        for (new, old) in numbers.iter().zip(&known) {
            let moved = (new.value - old.value).abs();
            // Both bars are of the estimate as it is.
            let allowed = (old.bar + new.bar).max(f64::MIN_POSITIVE);
            stretch = stretch.max(STRETCHED * moved / allowed);
        }
        let stretched = stretch.max(1.0);
        known = std::mem::take(&mut numbers);
        solution.bars = solution.bars.map(|bars| bars.times(stretched));
        let worst = known.iter().max_by(|a, b| a.relative().total_cmp(&b.relative()));
        let Some(worst) = worst else { return Err(goal::nothing(&goal.of)) };
        let relative = stretched * worst.relative();
        levels.push(Level {
            triangles: current.mesh.triangles.len(),
            worst: worst.name.clone(),
            value: worst.value,
            bar: stretched * worst.bar,
            unit: worst.unit,
            relative,
            tolerance,
            seconds: started.elapsed().as_secs_f64(),
        });
        levels.last().into_iter().for_each(|level| each(level, &solution));
        // Where bars grow, the mesh before did not see what this one does.
        let has_grown = match levels.as_slice() {
            [.., before, last] => last.relative > before.relative,
            _ => levels.len() < LEAST_MESHES,
        };
        // What is exact needs no second mesh.
        let is_met = relative == 0.0 || relative <= goal.accuracy && !has_grown;
        let ended = if is_met {
            Some(Ended::Reached)
        } else if is_stalled(&levels) {
            Some(if relative > 1.0 { Ended::Vanishing } else { Ended::Stalled })
        } else {
            let took = levels.last().map_or(0.0, |level| level.seconds);
            let spent = begun.elapsed().as_secs_f64();
            let is_late = |limit: f64| spent + NEXT * took > limit;
            goal.max_seconds.is_some_and(is_late).then_some(Ended::Time)
        };
        if let Some(ended) = ended {
            return Ok(Attained { problem: current, solution, levels, ended });
        }
        let next = next_mesh(&current, &solution, &known, stretched, goal);
        let description = current.description.clone();
        let same = current.mesh.triangles.len();
        if next.as_ref().is_ok_and(|(_, descent)| descent.triangles() == same) {
            // Nothing that is split changes what is asked for.
            return Ok(Attained { problem: current, solution, levels, ended: Ended::Stalled });
        }
        let next = next.and_then(|(mesh, descent)| {
            start = solver.into_known().iter().map(|known| descent.carry(known)).collect();
            Problem::new(description, mesh)
        });
        let reached =
            Attained { problem: current, solution, levels: Vec::new(), ended: Ended::Reached };
        current = match next {
            Ok(next) => next,
            Err(error) => {
                let why = format!("the next mesh cannot be solved on: {error}");
                return Ok(Attained { ended: Ended::Next(why), levels, ..reached });
            }
        };
        last = Some(reached);
    }
}

/// The density by which an accuracy is reached soonest.
pub fn density_for(accuracy: f64) -> bem::Density {
    if accuracy < LINEAR { bem::Density::Linear } else { bem::Density::Constant }
}

/// The solution to a tolerance, or to a looser one where sums are not good enough for it: its bars
/// have it in them.
fn solved(
    solver: &mut Solver,
    problem: &Problem,
    options: &SolveOptions,
    tolerance: f64,
    progress: &dyn Progress,
) -> (Result<Solution, Error>, f64) {
    let mut tolerance = tolerance;
    loop {
        let options = SolveOptions { tolerance, ..options.clone() };
        let solved = solver.solve(problem, &options, progress);
        let stagnates = |reason: bem::StopReason| reason == bem::StopReason::Stagnation;
        let is_short = solved.as_ref().is_ok_and(|solution| {
            solution.answer.solves.iter().any(|solve| stagnates(solve.reason))
        });
        if !is_short || tolerance >= LOOSEST {
            return (solved, tolerance);
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

/// Whether bars no longer shrink. The first meshes may be too coarse for what matters: the longest
/// of the last bars counts, not the first of them.
fn is_stalled(levels: &[Level]) -> bool {
    let Some((last, before)) = levels.split_last() else { return false };
    let recent = &before[before.len().saturating_sub(PATIENCE)..];
    let longest = recent.iter().map(|level| level.relative).fold(0.0, f64::max);
    // NaN does not shrink.
    recent.len() == PATIENCE && (last.relative > SHRINKS * longest || !longest.is_finite())
}

/// The mesh with those sides split that the errors of numbers beyond the accuracy belong to, and
/// where its triangles are in this one.
fn next_mesh(
    problem: &Problem,
    solution: &Solution,
    numbers: &[Number],
    stretched: f64,
    goal: &Goal,
) -> Result<(Mesh, Descent), Error> {
    let accuracy = goal.accuracy;
    let Some(bars) = &solution.bars else { return Err(goal::nothing(&Of::All)) };
    let missed = |number: &&Number| stretched * number.relative() > accuracy;
    // Without any, one more mesh is to confirm what was found.
    let is_confirmed = !numbers.iter().any(|number| missed(&number));
    let mut weights: HashMap<usize, f64> = HashMap::new();
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
    let surfaces = edges::surfaces(problem);
    let marks = Marks { gains, surfaces, density: solution.density, mesh: &problem.mesh };
    marks.next_mesh(1.0 / too_long.max(1.0)).map_err(|error| Error::Accuracy(error.to_string()))
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
    for (side, gain) in &gains {
        *(if own.contains(side) { &mut of_body } else { &mut of_others }) += gain;
    }
    let factor = if of_body > 0.0 { (of_others / of_body).max(1.0) } else { 1.0 };
    let scaled =
        |(side, gain): (Side, f64)| (side, if own.contains(&side) { factor * gain } else { gain });
    gains.into_iter().map(scaled).collect()
}
