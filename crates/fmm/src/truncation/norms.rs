//! What truncation errors are compared with: sums over all pairs of points. Far pairs count by
//! their boxes' distance.

use std::collections::BTreeMap;

use comm::{Communicator, Operation};
use parallel::prelude::*;

use super::candidates::{Candidates, PointSets};
use super::class::Class;
use super::sampling::{Point, mix};
use crate::expansions::screened::Screening;
use crate::model::Options;
use crate::tree::lists::Lists;
use crate::tree::{MortonOrder, side};

/// Sums over all pairs of points, in units of the root's side: what charges +1 and -1 at random
/// give for the sum of squares ([`Screening::squares`]).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Norms {
    /// Potentials.
    potential: f64,
    /// Gradients; with a third of it on both sides, potentials of dipoles of random directions.
    gradient: f64,
    /// Likewise gradients of dipoles.
    second: f64,
}

impl Norms {
    pub(super) fn add(&mut self, screening: Screening, weight: f64, r2: f64) {
        let [potential, gradient, second] = screening.squares(r2);
        self.potential += weight * potential;
        self.gradient += weight * gradient;
        self.second += weight * second;
    }

    /// Adds the near pairs, estimated from a sample of targets. Close encounters are rare, so the
    /// estimate tends to be too small, which only tightens the truncation.
    pub(super) fn add_near(&mut self, points: &PointSets<'_>, lists: &Lists) {
        let leaves = lists.near.cells.len();
        let picked = LEAVES.min(leaves);
        // Added in their order, for truncation numbers that do not depend on threads.
        let each: Vec<(Self, f64)> = (0..picked)
            .into_par_iter()
            .map(|i| near_leaf(points, lists, (2 * i + 1) * leaves / (2 * picked), i as u64))
            .collect();
        let (mut near, mut targets) = (Self::default(), 0.0);
        for (norms, count) in &each {
            near.join(norms);
            targets += count;
        }
        if targets > 0.0 {
            let scale = points.targets.1.len() as f64 / targets;
            self.potential += near.potential * scale;
            self.gradient += near.gradient * scale;
            self.second += near.second * scale;
        }
    }

    /// All of them times `factor`.
    pub(super) fn times(&self, factor: f64) -> Self {
        let Self { potential, gradient, second } = *self;
        Self { potential: factor * potential, gradient: factor * gradient, second: factor * second }
    }

    /// Adds those of other pairs.
    pub(super) fn join(&mut self, other: &Self) {
        self.potential += other.potential;
        self.gradient += other.gradient;
        self.second += other.second;
    }

    /// Of pairs of one class alone, what those of `all` make besides: [`Measures::alone`].
    pub(super) fn completed(
        mut self,
        all: &Self,
        far: &Self,
        screening: Screening,
        far_pairs: f64,
    ) -> Self {
        let more = |all: f64, far: f64| all / far.max(f64::MIN_POSITIVE);
        self.gradient *= more(all.gradient, far.gradient);
        self.second *= more(all.second, far.second);
        if screening.is_some() {
            let whole = |norm: f64, own: f64| f64::max(own, norm / far_pairs.max(1.0));
            self.potential = whole(all.potential, self.potential);
            self.gradient = whole(all.gradient, self.gradient);
            self.second = whole(all.second, self.second);
        }
        self
    }

    /// The largest of the squared relative errors in the quantities that `options` ask for, for
    /// squared errors of 1/r and of its derivatives (as [`errors`](super::series::errors) lists
    /// them) with lengths in units of `unit`. A derivative in one direction has a third of the
    /// gradient's square.
    pub(super) fn relative(&self, error2: &[f64; 4], unit: f64, options: &Options) -> f64 {
        let Options { gradient, dipoles, .. } = *options;
        self.relative_of(error2, unit, [gradient, dipoles])
    }

    fn relative_of(&self, error2: &[f64; 4], unit: f64, [gradient, dipoles]: [bool; 2]) -> f64 {
        let unit2 = unit * unit;
        // Sums that are screened so strongly that they vanish have no errors either.
        let over = |error2: f64, norm: f64| error2 / norm.max(f64::MIN_POSITIVE);
        let mut worst = over(error2[0], unit2 * self.potential);
        for (asked, of) in [(gradient, error2[1]), (dipoles, error2[2])] {
            if asked {
                worst = worst.max(over(3.0 * of, unit2 * unit2 * self.gradient));
            }
        }
        if gradient && dipoles {
            worst = worst.max(over(9.0 * error2[3], unit2 * unit2 * unit2 * self.second));
        }
        worst
    }
}

/// Leaves sampled for the near pairs, and targets of each.
const LEAVES: usize = 128;
const TARGETS: usize = 4;

/// Distances count as this share of the leaf's side at least: one close encounter in the sample
/// would count for thousands, though all there are hardly matter to the sum.
pub(crate) const ENCOUNTER: f64 = 1.0 / 16.0;

/// The near pairs of the leaf of near list `row`, and the number of its targets; `seed` picks those
/// that are sampled.
fn near_leaf(points: &PointSets<'_>, lists: &Lists, row: usize, seed: u64) -> (Norms, f64) {
    let tree = points.tree;
    let leaf = &tree.cells[lists.near.cells[row] as usize];
    let count = leaf.targets.len();
    let mut near = Norms::default();
    if count == 0 {
        return (near, 0.0);
    }
    let at = |(order, points): &(&MortonOrder, &[[f64; 3]]), slot: usize| -> Point {
        points[order.index[slot] as usize]
    };
    let sources = lists.near.row(row).iter().flat_map(|&s| tree.cells[s as usize].sources.clone());
    let sources: Vec<Point> = sources.map(|j| at(&points.sources, j as usize)).collect();
    let scale2 = points.root.side.powi(-2);
    let taken = TARGETS.min(count);
    let least = (ENCOUNTER * side(leaf.level)).powi(2);
    // Each target stands for its share of the leaf.
    let share = count as f64 / taken as f64;
    for k in 0..taken {
        let skip = (mix(seed, 3) as usize + k * count / taken) % count;
        let x = at(&points.targets, leaf.targets.start as usize + skip);
        for y in &sources {
            let r2: f64 = (0..3).map(|k| (x[k] - y[k]) * (x[k] - y[k])).sum();
            if r2 > 0.0 {
                near.add(points.screening, share, (r2 * scale2).max(least));
            }
        }
    }
    (near, count as f64)
}

/// In which quantities the error is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measures {
    norms: Norms,
    /// The part of `norms` that translations serve.
    far: Norms,
    screening: Screening,
    /// Least squared distance of the boxes of any translation.
    closest2: f64,
    /// Pairs that translations serve.
    far_pairs: f64,
    pub(super) gradient: bool,
    pub(super) dipoles: bool,
}

impl Measures {
    /// Norms of the sums that `options` requests.
    pub(super) fn new(
        points: &PointSets<'_>,
        lists: &Lists,
        classes: &BTreeMap<Class, Candidates>,
        options: &Options,
    ) -> Self {
        let (mut far, mut closest2, mut far_pairs) = (Norms::default(), f64::INFINITY, 0.0);
        let screening = points.screening;
        for (class, candidates) in classes {
            far.add(screening, candidates.weight, class.distance2());
            closest2 = closest2.min(class.distance2());
            far_pairs += candidates.weight;
        }
        let mut norms = far;
        norms.add_near(points, lists);
        let Options { gradient, dipoles, .. } = *options;
        Self { norms, far, screening, closest2, far_pairs, gradient, dipoles }
    }

    /// Combines each rank's norms.
    pub(super) fn of_all(self, group: &dyn Communicator) -> Result<Self, comm::Error> {
        let mut sums = [0.0; 7];
        for (to, norms) in [self.norms, self.far].into_iter().enumerate() {
            sums[3 * to..3 * to + 3].copy_from_slice(&[
                norms.potential,
                norms.gradient,
                norms.second,
            ]);
        }
        sums[6] = self.far_pairs;
        group.all_reduce(&mut sums, Operation::Sum)?;
        let mut closest2 = [self.closest2];
        group.all_reduce(&mut closest2, Operation::Min)?;
        let norms =
            |i: usize| Norms { potential: sums[i], gradient: sums[i + 1], second: sums[i + 2] };
        let (norms, far, far_pairs) = (norms(0), norms(3), sums[6]);
        Ok(Self { norms, far, far_pairs, closest2: closest2[0], ..self })
    }

    /// For charges whose far pairs are all in boxes with this squared distance. Where points are
    /// sparse, that is all of their potential; of derivatives, the near part is at least as large
    /// as on average.
    ///
    /// With screening the closest boxes count, for which all others are negligible sooner or later,
    /// or, if that is more, all that pairs near and far make, over the number of those far: near
    /// ones may be nearly all.
    pub(super) fn alone(&self, d2: f64) -> Self {
        let mut norms = Norms::default();
        let d2 = if self.screening.is_some() { self.closest2 } else { d2 };
        norms.add(self.screening, 1.0, d2);
        let norms = norms.completed(&self.norms, &self.far, self.screening, self.far_pairs);
        Self { norms, ..*self }
    }

    /// As [`Norms::relative`].
    pub(super) fn relative(&self, error2: &[f64; 4], unit: f64) -> f64 {
        self.norms.relative_of(error2, unit, [self.gradient, self.dipoles])
    }
}
