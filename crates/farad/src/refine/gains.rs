//! Gains of splitting sides of triangles, and the mesh that this makes.

use std::collections::{BTreeMap, HashMap, HashSet};

use mesh::Mesh;
use serde::{Deserialize, Serialize};

use crate::analysis::forces;
use crate::problem::fault::Error;
use crate::problem::{Problem, edges};
use crate::refine::descent::Descent;
use crate::refine::judge::Judge;
use crate::refine::marking::{self, Marks, Side};
use crate::refine::numbers::Number;
use crate::refine::target::Target;
use crate::refine::team::Team;
use crate::result::solution::Solution;

/// Gains of splitting sides.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Gains {
    /// Share of the error that shall remain.
    pub(crate) share: f64,
    /// Sides, and what each has to gain.
    pub(crate) sides: Vec<(Side, f64)>,
}

impl Gains {
    /// Gains of splitting sides for the requested numbers, as judged.
    pub(crate) fn find(
        problem: &Problem,
        solution: &Solution,
        judge: &Judge<'_>,
    ) -> Result<Self, Error> {
        let (goal, stretch) = (judge.goal, judge.stretch.max(1.0));
        let Some(bars) = &solution.bars else { return Err(Target::All.nothing()) };
        let missed = |number: &&Number| stretch * number.relative() > goal.accuracy;
        let mut gains: HashMap<Side, f64> = HashMap::new();
        for (excitation, weight) in weights(&judge.numbers, missed) {
            for (corners, sides) in problem.mesh.triangles.iter().zip(&bars.sides[excitation]) {
                for (k, gain) in sides.iter().enumerate() {
                    let (a, b) = (corners[k], corners[(k + 1) % 3]);
                    *gains.entry(marking::side(a, b)).or_default() += weight * gain;
                }
            }
        }
        if let Target::Force(name) = &goal.target {
            gains = with_body(problem, name, gains);
        }
        let largest = judge.numbers.iter().map(Number::relative).fold(0.0, f64::max);
        let too_long = largest * stretch / goal.accuracy;
        Ok(Self { share: 1.0 / too_long.max(1.0), sides: gains.into_iter().collect() })
    }

    /// The mesh with those sides split that have most to gain, so that about this share of the
    /// error is left, and where its triangles are in that of the problem. Collective.
    pub(crate) fn next_mesh(
        &self,
        team: &Team,
        problem: &Problem,
        density: bem::Density,
    ) -> Result<(Mesh, Descent), Error> {
        let gains = self.sides.iter().copied().collect();
        let marks =
            Marks { gains, surfaces: edges::surfaces(problem), density, mesh: &problem.mesh };
        let next = marks.next_mesh(self.share);
        team.agreed(next.map_err(|error| Error::Accuracy(error.to_string())))
    }
}

/// How much each excitation counts: errors of excitations count as much as they make the bars of
/// numbers that `missed` the accuracy.
fn weights(numbers: &[Number], missed: impl Fn(&&Number) -> bool) -> BTreeMap<usize, f64> {
    // Without any, one more mesh is to confirm the numbers.
    let is_confirmed = !numbers.iter().any(|number| missed(&number));
    // In order: sums of gains round the same way each time.
    let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
    for number in numbers.iter().filter(|number| is_confirmed || missed(number)) {
        for &(excitation, share) in &number.shares {
            let weight = weights.entry(excitation).or_default();
            *weight = weight.max(number.relative() * share);
        }
    }
    weights
}

/// Gains with those of a body's own sides as large together as all others: errors of a force are
/// products of those of its charges and of others' fields, and energies may know little of one.
fn with_body(problem: &Problem, name: &str, gains: HashMap<Side, f64>) -> HashMap<Side, f64> {
    let is_own = forces::triangles_of(problem, name);
    let triangles = problem.mesh.triangles.iter().zip(&is_own);
    let own: HashSet<Side> = triangles
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
