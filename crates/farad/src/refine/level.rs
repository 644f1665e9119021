//! Reports of a refinement: its meshes, and how it ended.

use bem::NoProgress;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::refine::marking::Side;
use crate::result::key::Key;
use crate::result::solution::Solution;
use crate::result::unit::Unit;

/// Results on one mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Triangles of the mesh.
    pub triangles: usize,
    /// The number whose bar is longest compared with its goal, and its unit; `None` on ranks that
    /// do not have the solution.
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
    #[must_use]
    pub fn name(&self) -> String {
        self.worst.as_ref().map(|(key, _)| key.to_string()).unwrap_or_default()
    }

    /// The text of its unit; empty likewise.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        self.worst.as_ref().map_or("", |(_, unit)| unit.as_str())
    }
}

/// The levels up to that of the result, which has this number of triangles: those that follow it
/// failed.
pub fn up_to(mut levels: Vec<Level>, triangles: usize) -> Vec<Level> {
    levels.truncate(levels.partition_point(|level| level.triangles <= triangles));
    levels
}

/// A mesh from which a refinement went on: enough to make the next one again without a solve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompletedLevel {
    /// Its results.
    pub level: Level,
    /// Values and bars of all numbers that are asked for.
    pub numbers: Vec<[f64; 2]>,
    /// How much too short bars were seen to be.
    pub stretch: f64,
    /// Seconds from the beginning.
    pub elapsed: f64,
    /// Share of the error that the next mesh shall have.
    pub share: f64,
    /// Its sides, as two vertices, and what each has to gain.
    pub gains: Vec<(Side, f64)>,
}

/// Follows a refinement.
pub trait RefinementObserver {
    /// After every mesh, with what it gave; on ranks that have the solution.
    fn reached(&mut self, level: &Level, solution: &Solution);
    /// Before the solve on the next mesh, with all that is known of the one before.
    fn completed(&mut self, _level: &CompletedLevel) {}
}

impl<F: FnMut(&Level, &Solution)> RefinementObserver for F {
    fn reached(&mut self, level: &Level, solution: &Solution) {
        self(level, solution);
    }
}

impl RefinementObserver for NoProgress {
    fn reached(&mut self, _: &Level, _: &Solution) {}
}

/// Why there is no further mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
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

/// The result of a refinement: the last mesh that was solved on, and those before it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Attained {
    /// The problem on that mesh.
    pub problem: Problem,
    /// Its solution.
    pub solution: Solution,
    /// All meshes.
    pub levels: Vec<Level>,
    /// Why it ended.
    pub outcome: Outcome,
}
