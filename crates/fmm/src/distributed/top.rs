//! The top of the octree, known to all ranks, and which rank holds which part of it.
//!
//! It is the octree of all points down to boxes so small that they can be dealt out, the *grains*:
//! each is one rank's, wholly, and those of a rank are neighbours in Morton order.

use std::collections::HashMap;
use std::ops::Range;

use comm::{Communicator, Operation};

use crate::morton::{self, MAX_DEPTH};

/// A box's level and place as one number: a leading 1, then three bits for each level.
pub(super) type Code = u64;

pub(super) fn code(level: u8, place: [u32; 3]) -> Code {
    1 << (3 * level) | morton::of_place(place)
}

/// Level and place of a box.
pub(super) fn place(code: Code) -> (u8, [u32; 3]) {
    let level = (code.ilog2() / 3) as u8;
    (level, morton::place_of(code ^ 1 << (3 * level)))
}

/// The keys of the points in a box.
fn keys_of(code: Code) -> Range<u64> {
    let level = code.ilog2() / 3;
    let (place, bits) = (code ^ 1 << (3 * level), 3 * (MAX_DEPTH as u32 - level));
    place << bits..(place + 1) << bits
}

/// Grains that a rank gets about, so many that shares of the work differ little.
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
    fn new(code: Code, [sources, targets]: [f64; 2]) -> Self {
        Self { code, sources, targets, leaf: true, children: 0..0, ranks: None }
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
    /// From the sorted keys of each rank's sources and, if they are others, targets; dealt out by
    /// the number of points. Collective.
    pub(super) fn new(
        group: &dyn Communicator,
        sources: &[u64],
        targets: Option<&[u64]>,
        leaf_size: usize,
    ) -> Result<Self, comm::Error> {
        let sets = [sources, targets.unwrap_or(sources)];
        let ranks = group.size() as f64;
        let counts = counts(group, &sets, &[1])?;
        let mut boxes = vec![TopBox::new(1, counts[0].points)];
        boxes[0].leaf = !counts[0].divides(leaf_size);
        let limit = if ranks > 1.0 {
            counts[0].points.iter().sum::<f64>() / (GRAINS * ranks)
        } else {
            f64::INFINITY
        };
        let (mut above, mut level) = (0..1, 0);
        while level < MAX_DEPTH {
            let split: Vec<usize> = above
                .clone()
                .filter(|&i| !boxes[i].leaf && boxes[i].sources + boxes[i].targets > limit)
                .collect();
            let children_of = |&i: &usize| (0..8).map(move |octant| (i, octant));
            let codes: Vec<Code> = split
                .iter()
                .flat_map(children_of)
                .map(|(parent, octant)| boxes[parent].code << 3 | octant)
                .collect();
            let counts = self::counts(group, &sets, &codes)?;
            let begin = boxes.len();
            for ((codes, counts), &parent) in codes.chunks(8).zip(counts.chunks(8)).zip(&split) {
                let first = boxes.len();
                for (&code, of) in codes.iter().zip(counts) {
                    if of.points != [0.0; 2] {
                        let mut child = TopBox::new(code, of.points);
                        child.leaf = !of.divides(leaf_size);
                        boxes.push(child);
                    }
                }
                boxes[parent].children = first..boxes.len();
            }
            if boxes.len() == begin {
                break;
            }
            (above, level) = (begin..boxes.len(), level + 1);
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
        (self.boxes[self.grains[grain]].code.ilog2() <= code.ilog2()).then_some(grain)
    }

    /// Where the points of each rank are among sorted keys.
    pub(super) fn parts(&self, keys: &[u64], ranks: usize) -> Vec<Range<usize>> {
        let mut ends = vec![0; ranks];
        for (&grain, &rank) in self.grains.iter().zip(&self.owners) {
            let end = keys_of(self.boxes[grain].code).end;
            ends[rank] = keys.partition_point(|&key| key < end);
        }
        let mut begin = 0;
        ends.into_iter()
            .map(|end| {
                let part = begin..end.max(begin);
                begin = part.end;
                part
            })
            .collect()
    }
}

/// What ranks together have in a box.
struct Count {
    /// Sources and targets.
    points: [f64; 2],
    /// Whether their keys are not all the same.
    differ: [bool; 2],
}

impl Count {
    /// As [`crate::tree::divides`], for sources or targets.
    fn divides(&self, leaf_size: usize) -> bool {
        (0..2).any(|set| self.points[set] > leaf_size as f64 && self.differ[set])
    }
}

/// Counts boxes. Collective.
fn counts(
    group: &dyn Communicator,
    sets: &[&[u64]; 2],
    codes: &[Code],
) -> Result<Vec<Count>, comm::Error> {
    let mut points = vec![0.0; 2 * codes.len()];
    // The largest high and low halves of keys, and of their negatives.
    let mut halves = vec![f64::NEG_INFINITY; 8 * codes.len()];
    for (i, &code) in codes.iter().enumerate() {
        let range = keys_of(code);
        for (set, keys) in sets.iter().enumerate() {
            let begin = keys.partition_point(|&key| key < range.start);
            let count = keys[begin..].partition_point(|&key| key < range.end);
            points[2 * i + set] = count as f64;
            // Of sorted keys the first and the last tell.
            let keys = &keys[begin..begin + count];
            for key in keys.first().into_iter().chain(keys.last()) {
                let (high, low) = ((key >> 32) as f64, (key & 0xffff_ffff) as f64);
                for (half, value) in
                    halves[8 * i + 4 * set..].iter_mut().zip([high, -high, low, -low])
                {
                    *half = half.max(value);
                }
            }
        }
    }
    group.all_reduce(&mut points, Operation::Sum)?;
    group.all_reduce(&mut halves, Operation::Max)?;
    Ok(points
        .chunks(2)
        .zip(halves.chunks(8))
        .map(|(points, halves)| Count {
            points: [points[0], points[1]],
            differ: [&halves[..4], &halves[4..]].map(|h| h[0] != -h[1] || h[2] != -h[3]),
        })
        .collect())
}
