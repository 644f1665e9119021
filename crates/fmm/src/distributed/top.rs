//! The top of the octree, known to all ranks, and which rank holds which part of it.
//!
//! It is the octree of all points down to boxes small enough to be distributed, the *grains*:
//! each belongs to one rank, and one rank's grains are neighbours in Morton order.

use std::collections::HashMap;
use std::ops::Range;

use comm::Communicator;

use super::code::{Code, keys_of};
use super::counts::{Count, Counts};
use crate::tree::Crowded;
use crate::tree::morton::MAX_DEPTH;

/// Levels that are counted at once below those counted first.
const MORE_LEVELS: usize = 2;

/// About this many grains per rank, enough for shares of the work to differ little.
const GRAINS: f64 = 64.0;

/// The ranks that hold a box's sources: the first, and the last.
pub(super) type Ranks = Option<[usize; 2]>;

/// A box of the top.
#[derive(Clone, Debug)]
pub(super) struct TopBox {
    pub code: Code,
    /// Points of all ranks.
    pub sources: f64,
    pub targets: f64,
    /// Whether it is a leaf of the octree, not only of its top.
    pub leaf: bool,
    /// Those that exist; none of a grain.
    pub children: Range<usize>,
    /// Of the sources; none where there are none.
    pub ranks: Ranks,
}

impl TopBox {
    fn new(code: Code, of: &Count, leaf_size: usize, crowded: Crowded) -> Self {
        let [sources, targets] = of.points;
        let is_last = code.ilog2() as usize == 3 * MAX_DEPTH;
        let leaf = is_last || !of.divides(leaf_size, crowded);
        Self { code, sources, targets, leaf, children: 0..0, ranks: None }
    }
}

/// The top of the octree.
#[derive(Clone, Debug)]
pub(super) struct Top {
    /// Level by level, in Morton order within a level.
    pub boxes: Vec<TopBox>,
    /// The boxes that are not split here, in Morton order.
    pub grains: Vec<usize>,
    /// Which rank has each grain.
    pub owners: Vec<usize>,
    /// Boxes by their codes.
    index: HashMap<Code, usize>,
}

impl Top {
    /// From the keys of each rank's sources and, if they are others, targets, in any order;
    /// distributed by the number of points. Collective.
    pub(super) fn new(
        group: &dyn Communicator,
        sources: &[u64],
        targets: Option<&[u64]>,
        leaf_size: usize,
        crowded: Crowded,
    ) -> Result<Self, comm::Error> {
        // Most points lie in grains of these levels.
        let depth = match group.size() {
            1 => 0,
            2..=8 => 4,
            _ => 5,
        };
        let mut counts = Counts::new(group, sources, targets, &[1], depth)?;
        let whole = counts.at(0, 0);
        let mut boxes = vec![TopBox::new(1, &whole, leaf_size, crowded)];
        let limit = match group.size() {
            1 => f64::INFINITY,
            ranks => whole.points.iter().sum::<f64>() / (GRAINS * ranks as f64),
        };
        // The last level, with the place of each box among those counted, and levels of them.
        let (mut last, mut below) = (vec![(0, 0)], 0);
        for level in 0..MAX_DEPTH {
            let is_split = |of: &TopBox| !of.leaf && of.sources + of.targets > limit;
            last.retain(|&(of, _)| is_split(&boxes[of]));
            if last.is_empty() {
                break;
            }
            if below == counts.depth() {
                let roots: Vec<Code> = last.iter().map(|&(of, _)| boxes[of].code).collect();
                let depth = MORE_LEVELS.min(MAX_DEPTH - level);
                counts = Counts::new(group, sources, targets, &roots, depth)?;
                last.iter_mut().enumerate().for_each(|(root, (_, slot))| *slot = root);
                below = 0;
            }
            below += 1;
            let mut next = Vec::new();
            for (parent, slot) in last {
                let first = boxes.len();
                for octant in 0..8 {
                    let slot = 8 * slot + octant;
                    let of = counts.at(below, slot);
                    if of.points != [0.0; 2] {
                        next.push((boxes.len(), slot));
                        let code = boxes[parent].code << 3 | octant as Code;
                        boxes.push(TopBox::new(code, &of, leaf_size, crowded));
                    }
                }
                boxes[parent].children = first..boxes.len();
            }
            last = next;
        }
        let mut grains: Vec<usize> =
            (0..boxes.len()).filter(|&i| boxes[i].children.is_empty()).collect();
        grains.sort_unstable_by_key(|&i| keys_of(boxes[i].code).start);
        let index = boxes.iter().enumerate().map(|(i, of)| (of.code, i)).collect();
        let weights: Vec<f64> =
            grains.iter().map(|&i| boxes[i].sources + boxes[i].targets).collect();
        let mut top = Self { boxes, owners: Vec::new(), grains, index };
        top.deal(&weights, group.size());
        Ok(top)
    }

    /// Deals the grains out, so that ranks have about equal sums of `weights`.
    pub(super) fn deal(&mut self, weights: &[f64], ranks: usize) {
        let total: f64 = weights.iter().sum();
        let mut before = 0.0;
        self.owners.clear();
        self.owners.extend(weights.iter().map(|weight| {
            let middle = before + 0.5 * weight;
            before += weight;
            ((ranks as f64 * middle / total.max(f64::MIN_POSITIVE)) as usize).min(ranks - 1)
        }));
        for of in &mut self.boxes {
            of.ranks = None;
        }
        for (&grain, &rank) in self.grains.iter().zip(&self.owners) {
            if self.boxes[grain].sources > 0.0 {
                self.boxes[grain].ranks = Some([rank; 2]);
            }
        }
        // Children come after their parents.
        for i in (0..self.boxes.len()).rev() {
            for child in self.boxes[i].children.clone() {
                let Some([first, last]) = self.boxes[child].ranks else { continue };
                let own = self.boxes[i].ranks.get_or_insert([first, last]);
                *own = [own[0].min(first), own[1].max(last)];
            }
        }
    }

    /// The box of a code, if it is of the top.
    pub(super) fn find(&self, code: Code) -> Option<usize> {
        self.index.get(&code).copied()
    }

    /// The ranks that hold sources of a box of the top, ascending.
    pub(super) fn holders(&self, code: Code) -> Vec<usize> {
        let keys = keys_of(code);
        let start = |grain: &usize| keys_of(self.boxes[*grain].code).start;
        let first = self.grains.partition_point(|grain| start(grain) < keys.start);
        let last = self.grains.partition_point(|grain| start(grain) < keys.end);
        let with_sources = (first..last).filter(|&i| self.boxes[self.grains[i]].sources > 0.0);
        let mut holders: Vec<usize> = with_sources.map(|i| self.owners[i]).collect();
        holders.dedup();
        holders
    }

    /// Whether a box is of the top and split here.
    pub(super) fn is_split(&self, code: Code) -> bool {
        self.find(code).is_some_and(|i| !self.boxes[i].children.is_empty())
    }

    /// The grain that a box is, or is in; none if the box is above grains.
    pub(super) fn grain_of(&self, code: Code) -> Option<usize> {
        let key = keys_of(code).start;
        let at = self.grains.partition_point(|&grain| keys_of(self.boxes[grain].code).start <= key);
        let grain = at.checked_sub(1)?;
        let of = self.boxes[self.grains[grain]].code;
        // The first octants of a box above grains may be empty, so that the last grain lies before.
        (of.ilog2() <= code.ilog2() && key < keys_of(of).end).then_some(grain)
    }

    /// The key from which on points are each rank's.
    pub(super) fn begins(&self, ranks: usize) -> Vec<u64> {
        let mut begins = vec![0; ranks];
        for (&grain, &rank) in self.grains.iter().zip(&self.owners) {
            let end = keys_of(self.boxes[grain].code).end;
            begins[(rank + 1).min(ranks)..].fill(end);
        }
        begins
    }
}
