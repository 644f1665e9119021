//! How many points of all ranks lie in the boxes of a few levels, of keys in any order.

use comm::{Communicator, Operation};
use parallel::prelude::*;

use super::code::Code;
use crate::tree::Crowded;
use crate::tree::morton::MAX_DEPTH;

/// Keys per parallel job, at least.
const RUN: usize = 1 << 16;

/// What ranks together have in a box.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    /// Sources and targets.
    pub points: [f64; 2],
    /// Whether their keys are not all the same.
    differ: [bool; 2],
}

impl Count {
    /// As [`Crowded::divides`], for sources or targets.
    pub(super) fn divides(&self, leaf_size: usize, crowded: Crowded) -> bool {
        let parts = |set: usize| crowded == Crowded::ToTheLast || self.differ[set];
        (0..2).any(|set| self.points[set] > leaf_size as f64 && parts(set))
    }

    /// Of a box with these children.
    fn of_children(children: &[Self]) -> Self {
        let mut whole = Self::default();
        for set in 0..2 {
            let mut occupied = children.iter().filter(|child| child.points[set] > 0.0);
            whole.points[set] = children.iter().map(|child| child.points[set]).sum();
            let first = occupied.next();
            whole.differ[set] =
                first.is_some_and(|first| first.differ[set]) || occupied.next().is_some();
        }
        whole
    }
}

/// One rank's points in a box.
#[derive(Clone, Copy, Debug)]
struct Tally {
    points: u32,
    lowest: u64,
    highest: u64,
}

impl Tally {
    const NONE: Self = Self { points: 0, lowest: u64::MAX, highest: 0 };

    fn join(&mut self, other: &Self) {
        self.points += other.points;
        self.lowest = self.lowest.min(other.lowest);
        self.highest = self.highest.max(other.highest);
    }
}

/// Counts of boxes of one level, the roots, and of the levels below it.
#[derive(Debug)]
pub(super) struct Counts {
    /// Of each level, the octants of a box one after the other.
    levels: Vec<Vec<Count>>,
}

impl Counts {
    /// Counts in `roots`, boxes of one level in Morton order, and `depth` levels below them;
    /// without `targets` they are the sources. Collective.
    pub(super) fn new(
        group: &dyn Communicator,
        sources: &[u64],
        targets: Option<&[u64]>,
        roots: &[Code],
        depth: usize,
    ) -> Result<Self, comm::Error> {
        let sets: Vec<&[u64]> = std::iter::once(sources).chain(targets).collect();
        let boxes = roots.len() << (3 * depth);
        let mut points = Vec::with_capacity(sets.len() * boxes);
        // High and low halves of the lowest and the highest key, and of their negatives, of which
        // the largest are found.
        let mut halves = Vec::with_capacity(4 * sets.len() * boxes);
        for keys in &sets {
            for Tally { points: count, lowest, highest } in tally(keys, roots, depth) {
                points.push(f64::from(count));
                let half = |key: u64| [(key >> 32) as f64, (key & 0xffff_ffff) as f64];
                let ([low, low_rest], [high, high_rest]) = (half(lowest), half(highest));
                halves.extend(match count {
                    0 => [f64::NEG_INFINITY; 4],
                    _ => [high, -low, high_rest.max(low_rest), -low_rest.min(high_rest)],
                });
            }
        }
        group.all_reduce(&mut points, Operation::Sum)?;
        group.all_reduce(&mut halves, Operation::Max)?;
        let count = |slot: usize| {
            // Targets that are the sources are as many.
            let of = [0, sets.len() - 1].map(|set| set * boxes + slot);
            let differ = |i: usize| {
                let h = &halves[4 * i..4 * i + 4];
                points[i] > 0.0 && (h[0] != -h[1] || h[2] != -h[3])
            };
            Count { points: of.map(|i| points[i]), differ: of.map(differ) }
        };
        let mut levels = vec![(0..boxes).map(count).collect::<Vec<_>>()];
        for _ in 0..depth {
            let above = levels[levels.len() - 1].chunks(8).map(Count::of_children).collect();
            levels.push(above);
        }
        levels.reverse();
        Ok(Self { levels })
    }

    /// Levels below the roots.
    pub(super) fn depth(&self) -> usize {
        self.levels.len() - 1
    }

    /// Of box `slot` of a level below the roots: octant `i` of a box has slot `8 slot + i`.
    pub(super) fn at(&self, level: usize, slot: usize) -> Count {
        self.levels[level][slot]
    }
}

/// This rank's points in the boxes of the last level.
fn tally(keys: &[u64], roots: &[Code], depth: usize) -> Vec<Tally> {
    let level = roots.first().map_or(0, |root| root.ilog2() as usize / 3);
    let (bits, below) = (3 * (MAX_DEPTH - level), 3 * depth);
    let places: Vec<u64> = roots.iter().map(|root| root ^ 1 << (3 * level)).collect();
    let none = || vec![Tally::NONE; roots.len() << below];
    let block = keys.len().div_ceil(rayon::current_num_threads()).max(RUN);
    let of_block = |keys: &[u64]| {
        let mut tallies = none();
        for &key in keys {
            let root = match &places[..] {
                [_] if level == 0 => 0,
                _ => match places.binary_search(&(key >> bits)) {
                    Ok(root) => root,
                    Err(_) => continue,
                },
            };
            let slot = (key >> (bits - below)) as usize & ((1 << below) - 1);
            tallies[root << below | slot].join(&Tally { points: 1, lowest: key, highest: key });
        }
        tallies
    };
    let joined = |mut all: Vec<Tally>, more: Vec<Tally>| {
        all.iter_mut().zip(&more).for_each(|(all, more)| all.join(more));
        all
    };
    keys.par_chunks(block).map(of_block).reduce_with(joined).unwrap_or_else(none)
}
