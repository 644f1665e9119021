//! How many points of all ranks lie in the boxes of a few levels, of keys in any order.

use comm::{Communicator, Operation};
use rayon::prelude::*;

use super::top::Code;
use crate::morton::MAX_DEPTH;

/// Keys that one job looks at, at least.
const RUN: usize = 1 << 16;

/// Sources and targets that ranks together have in a box.
pub(super) type Count = [f64; 2];

/// Counts of boxes of one level, the roots, and of so many levels beneath.
#[derive(Debug)]
pub(super) struct Counts {
    /// Of each level, the octants of a box one after the other.
    levels: Vec<Vec<Count>>,
}

impl Counts {
    /// Counts in `roots`, boxes of one level in Morton order, and `depth` levels beneath them;
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
        for keys in &sets {
            points.extend(tally(keys, roots, depth).into_iter().map(f64::from));
        }
        group.all_reduce(&mut points, Operation::Sum)?;
        // Targets that are the sources are as many.
        let count = |slot: usize| [0, sets.len() - 1].map(|set| points[set * boxes + slot]);
        let mut levels = vec![(0..boxes).map(count).collect::<Vec<_>>()];
        for _ in 0..depth {
            let above = levels[levels.len() - 1].chunks(8).map(of_children).collect();
            levels.push(above);
        }
        levels.reverse();
        Ok(Self { levels })
    }

    /// Levels beneath the roots.
    pub(super) fn depth(&self) -> usize {
        self.levels.len() - 1
    }

    /// Of box `slot` of a level beneath the roots: octant `i` of a box has slot `8 slot + i`.
    pub(super) fn at(&self, level: usize, slot: usize) -> Count {
        self.levels[level][slot]
    }
}

/// What a box with these children has.
fn of_children(children: &[Count]) -> Count {
    [0, 1].map(|set| children.iter().map(|child| child[set]).sum())
}

/// This rank's points in the boxes of the last level.
fn tally(keys: &[u64], roots: &[Code], depth: usize) -> Vec<u32> {
    let level = roots.first().map_or(0, |root| root.ilog2() as usize / 3);
    let (bits, below) = (3 * (MAX_DEPTH - level), 3 * depth);
    let places: Vec<u64> = roots.iter().map(|root| root ^ 1 << (3 * level)).collect();
    let none = || vec![0; roots.len() << below];
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
            tallies[root << below | slot] += 1;
        }
        tallies
    };
    let joined = |mut all: Vec<u32>, more: Vec<u32>| {
        all.iter_mut().zip(&more).for_each(|(all, more)| *all += more);
        all
    };
    keys.par_chunks(block).map(of_block).reduce_with(joined).unwrap_or_else(none)
}
