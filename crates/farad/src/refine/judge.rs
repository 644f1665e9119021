//! Judgement of the solution on a mesh, by the first rank: whether it is exact enough, and if not,
//! whether a finer mesh is worth a solve.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::refine::goal::Goal;
use crate::refine::level::{CompletedLevel, Level, Outcome};
use crate::refine::numbers::{self, Number};
use crate::result::key::Key;
use crate::result::solution::Solution;
use crate::result::unit::Unit;

/// A value that moves by more than its bar shows that bars are too short; they are stretched to
/// this many times what it moved by.
const STRETCHED: f64 = 1.5;

/// Bars must shrink to this share in [`PATIENCE`] meshes, or the estimate does not behave.
const SHRINKS: f64 = 0.8;
const PATIENCE: usize = 4;

/// The next mesh takes about this many times as long.
const NEXT: f64 = 3.0;

/// The next step after a solution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// It has no bars, or did not converge.
    #[default]
    NotConverged,
    /// A finer mesh is worth a solve.
    Refine,
    /// As [`Outcome::Reached`].
    Reached,
    /// As [`Outcome::Stalled`].
    Stalled,
    /// As [`Outcome::Vanishing`].
    Vanishing,
    /// As [`Outcome::Time`].
    Time,
    /// Too many solutions in a row failed their self-checks.
    Unsolved,
}

impl Verdict {
    /// Why there is no further mesh, unless there is one.
    pub(crate) fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Refine => None,
            Self::Reached => Some(Outcome::Reached),
            Self::Stalled => Some(Outcome::Stalled),
            Self::Vanishing => Some(Outcome::Vanishing),
            Self::Time => Some(Outcome::Time),
            Self::NotConverged | Self::Unsolved => Some(Outcome::Unsolved),
        }
    }
}

/// Judgement of a solution by the first rank.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Judgement {
    /// What follows.
    pub verdict: Verdict,
    /// Whether it failed its self-checks.
    pub has_failed: bool,
    /// The index of the worst number.
    pub worst: usize,
    /// Its value.
    pub value: f64,
    /// Its bar.
    pub bar: f64,
    /// That relative to its size.
    pub relative: f64,
    /// The factor by which all bars are stretched.
    pub stretched: f64,
    /// Wall seconds of mesh, solve and estimate.
    pub seconds: f64,
}

impl Judgement {
    /// Why the solution is not the result where there is another one.
    pub fn failure(&self) -> Option<&'static str> {
        match self.verdict {
            Verdict::NotConverged => Some("did not converge"),
            _ => self.has_failed.then_some("failed its self-checks"),
        }
    }
}

/// How the first rank judges.
pub struct Judge<'a> {
    pub(crate) goal: &'a Goal,
    begun: Instant,
    /// Seconds that went before.
    earlier: f64,
    /// How much too short bars were seen to be.
    pub(crate) stretch: f64,
    /// The numbers of the last mesh; empty where an earlier run has solved on it.
    pub(crate) numbers: Vec<Number>,
    /// Their values and bars.
    pub(crate) measured: Vec<[f64; 2]>,
    /// Meshes, one after another up to the last, whose solutions failed their self-checks.
    failed: usize,
}

impl<'a> Judge<'a> {
    /// Its clock starts now.
    pub fn new(goal: &'a Goal) -> Self {
        let (numbers, measured) = (Vec::new(), Vec::new());
        let begun = Instant::now();
        Self { goal, begun, earlier: 0.0, stretch: 1.0, numbers, measured, failed: 0 }
    }

    /// Seconds from the beginning.
    pub(crate) fn elapsed(&self) -> f64 {
        self.earlier + self.begun.elapsed().as_secs_f64()
    }

    /// Goes on after a mesh that an earlier run has completed.
    pub(crate) fn skip(&mut self, completed: &CompletedLevel) {
        self.measured.clone_from(&completed.numbers);
        (self.stretch, self.earlier) = (completed.stretch, completed.elapsed);
    }

    /// Judges the solution on a mesh on which work `started` then; the meshes before gave `levels`.
    pub(crate) fn judge(
        &mut self,
        problem: &Problem,
        solution: &Solution,
        levels: &[Level],
        started: Instant,
    ) -> Result<Judgement, Error> {
        if solution.bars.is_none() || !solution.converged() {
            return Ok(Judgement::default());
        }
        // A finer mesh may pass a check that a coarse one fails.
        let has_failed = solution.failed_checks();
        self.failed = if has_failed { self.failed + 1 } else { 0 };
        self.measure(numbers::find(problem, solution, &self.goal.target)?);
        let numbers = self.numbers.iter().enumerate();
        let worst = numbers.max_by(|(_, a), (_, b)| a.relative().total_cmp(&b.relative()));
        let Some((index, worst)) = worst else { return Err(self.goal.target.nothing()) };
        let stretched = self.stretch.max(1.0);
        let judgement = Judgement {
            verdict: Verdict::Refine,
            has_failed,
            worst: index,
            value: worst.value,
            bar: stretched * worst.bar,
            relative: stretched * worst.relative(),
            stretched,
            seconds: started.elapsed().as_secs_f64(),
        };
        Ok(Judgement { verdict: self.verdict(&judgement, levels), ..judgement })
    }

    /// Takes the numbers of a new mesh, and sees how far those of the last one were off.
    fn measure(&mut self, numbers: Vec<Number>) {
        for (new, [value, bar]) in numbers.iter().zip(&self.measured) {
            // Both bars are of the estimate as it is.
            self.stretch = self.stretch.max(stretch([*value, new.value], bar + new.bar));
        }
        self.measured = numbers.iter().map(|number| [number.value, number.bar]).collect();
        self.numbers = numbers;
    }

    /// What follows from a judgement, whose own verdict is open, after meshes that gave `levels`.
    pub fn verdict(&self, judgement: &Judgement, levels: &[Level]) -> Verdict {
        let &Judgement { relative, bar, seconds, .. } = judgement;
        // Where bars grow, the mesh before did not see what this one does. That of the first mesh
        // is not believed: the change to a second one must agree with it.
        let has_grown = levels.last().is_none_or(|before| relative > before.relative);
        // Exact values need no second mesh.
        let is_met = relative == 0.0 || relative <= self.goal.accuracy && !has_grown;
        let is_late = |limit: f64| self.elapsed() + NEXT * seconds > limit;
        if is_met && !judgement.has_failed {
            Verdict::Reached
        } else if self.failed > PATIENCE {
            Verdict::Unsolved
        } else if is_stalled(levels, relative, |level| level.relative) {
            // Bars of vanishing values get shorter, and the values with them.
            let is_zero = relative > 1.0 && !is_stalled(levels, bar, |level| level.bar);
            if is_zero { Verdict::Vanishing } else { Verdict::Stalled }
        } else if self.goal.max_seconds.is_some_and(is_late) {
            Verdict::Time
        } else {
            Verdict::Refine
        }
    }

    /// The key and unit of the number of this index, on ranks that have the solution.
    pub(crate) fn key(
        &self,
        problem: &Problem,
        solution: Option<&Solution>,
        index: usize,
    ) -> Option<(Key, Unit)> {
        let key =
            |numbers: &[Number]| numbers.get(index).map(|number| (number.key.clone(), number.unit));
        // Ranks that do not judge have no numbers yet.
        let again = || numbers::find(problem, solution?, &self.goal.target).ok();
        key(&self.numbers).or_else(|| key(&again()?))
    }
}

/// How many times as long bars must be for a value that moved within both `bars`.
pub fn stretch([old, new]: [f64; 2], bars: f64) -> f64 {
    STRETCHED * (new - old).abs() / bars.max(f64::MIN_POSITIVE)
}

/// Whether `bar` says that bars no longer shrink. The first meshes may be too coarse for what
/// matters: the longest of the last bars counts, not the first of them.
pub fn is_stalled(before: &[Level], bar: f64, bar_before: impl Fn(&Level) -> f64) -> bool {
    let recent = &before[before.len().saturating_sub(PATIENCE)..];
    let longest = recent.iter().map(bar_before).fold(0.0, f64::max);
    // NaN does not shrink.
    recent.len() == PATIENCE && (bar > SHRINKS * longest || !longest.is_finite())
}
