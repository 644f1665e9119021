//! The adaptive octree over Morton-ordered points.
//!
//! Coordinates inside the FMM are relative to the root cube, whose side is 1. Sources and targets
//! share the boxes; a box splits while it holds more than `leaf_size` of either. Boxes without
//! points do not exist.

mod cell;
pub mod lists;
pub mod morton;
pub(crate) mod root;
pub mod vectors;

use std::ops::Range;

use parallel::prelude::*;

pub use cell::{Cell, side};
use morton::MAX_DEPTH;
pub use root::Root;

/// Points in Morton order.
#[derive(Clone, Debug, Default)]
pub struct MortonOrder {
    /// Morton keys, ascending but for those within a leaf, whose digits below it mean nothing.
    pub keys: Vec<u64>,
    /// Caller's index of each point.
    pub index: Vec<u32>,
}

impl MortonOrder {
    /// Sorts the points.
    pub fn new(root: &Root, points: &[[f64; 3]]) -> Self {
        Self::of_leaves(root, points, 0)
    }

    /// As [`Self::new`], but for the order within boxes of at most `leaf_size` points: enough for a
    /// tree of these points alone.
    pub fn of_leaves(root: &Root, points: &[[f64; 3]], leaf_size: usize) -> Self {
        let (keys, index) = morton::sorted(root, points, leaf_size);
        Self { keys, index }
    }
}

/// What becomes of a box with more points than leaves may hold, but all of one key, so that no
/// level parts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crowded {
    /// A leaf.
    Whole,
    /// One box on each level down to the last, from which module `crowds` takes it: in a larger
    /// leaf it would be near to all that is next to that, however far away.
    ToTheLast,
}

impl Crowded {
    /// Whether a box with points of these `keys` is split.
    pub(crate) fn divides(self, points: &Range<u32>, keys: &[u64], leaf_size: usize) -> bool {
        points.len() > leaf_size
            && (self == Self::ToTheLast
                || keys[points.start as usize] != keys[points.end as usize - 1])
    }
}

/// Boxes that one job splits.
const JOB_CELLS: usize = 128;

/// The octree.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Boxes level by level, in Morton order within a level; box 0 is the root.
    pub cells: Vec<Cell>,
    /// The boxes of each level.
    pub levels: Vec<Range<usize>>,
}

impl Tree {
    /// Splits boxes until none holds more than `leaf_size` sources or targets. With `targets` none,
    /// they are the sources.
    pub fn new(
        sources: &MortonOrder,
        targets: Option<&MortonOrder>,
        leaf_size: usize,
        crowded: Crowded,
    ) -> Self {
        Self::where_needed(sources, targets, [leaf_size; 2], crowded, |_| true)
    }

    /// As [`Self::new`], with a leaf size of sources and one of targets; boxes with more sources
    /// than that are split where `needed`.
    pub(crate) fn where_needed(
        sources: &MortonOrder,
        targets: Option<&MortonOrder>,
        leaf_sizes: [usize; 2],
        crowded: Crowded,
        needed: impl Fn(&Cell) -> bool + Sync,
    ) -> Self {
        let target_keys = targets.map_or(&sources.keys[..], |t| &t.keys);
        Self::split(sources, targets, |cell| {
            crowded.divides(&cell.targets, target_keys, leaf_sizes[1])
                || (crowded.divides(&cell.sources, &sources.keys, leaf_sizes[0]) && needed(cell))
        })
    }

    /// Splits the boxes that are `full`, down to the last level.
    pub(crate) fn split(
        sources: &MortonOrder,
        targets: Option<&MortonOrder>,
        full: impl Fn(&Cell) -> bool + Sync,
    ) -> Self {
        let target_keys = targets.map_or(&sources.keys[..], |t| &t.keys);
        let source_keys = &sources.keys[..];
        let mut cells = vec![Cell {
            place: [0; 3],
            level: 0,
            child_count: 0,
            first_child: 0,
            parent: 0,
            sources: 0..source_keys.len() as u32,
            targets: 0..target_keys.len() as u32,
        }];
        let mut levels = Vec::with_capacity(MAX_DEPTH + 1);
        levels.push(0..1);
        for level in 0..MAX_DEPTH {
            let current = levels[level].clone();
            let begin = cells.len();
            let split: Vec<Vec<Cell>> = cells[current.clone()]
                .par_chunks(JOB_CELLS)
                .enumerate()
                .map(|(job, some)| {
                    let mut split = Vec::with_capacity(8 * some.len());
                    for (i, cell) in some.iter().enumerate() {
                        if full(cell) {
                            let parent = (current.start + job * JOB_CELLS + i) as u32;
                            children(cell, parent, source_keys, target_keys, &mut split);
                        }
                    }
                    split
                })
                .collect();
            cells.reserve(split.iter().map(Vec::len).sum());
            for child in split.into_iter().flatten() {
                let index = cells.len() as u32;
                let parent = &mut cells[child.parent as usize];
                if parent.child_count == 0 {
                    parent.first_child = index;
                }
                parent.child_count += 1;
                cells.push(child);
            }
            if cells.len() == begin {
                break;
            }
            levels.push(begin..cells.len());
        }
        Self { cells, levels }
    }

    /// The box at a place of `level`, if there is one.
    pub(crate) fn find(&self, level: u8, place: [u32; 3]) -> Option<usize> {
        let mut index = 0;
        for finer in (0..level).rev() {
            let of_child = place.map(|i| i >> finer);
            let cell = self.cells.get(index).filter(|cell| !cell.is_leaf())?;
            index = cell.children().find(|&child| self.cells[child].place == of_child)?;
        }
        Some(index)
    }

    /// Deepest level.
    pub fn depth(&self) -> usize {
        self.levels.len() - 1
    }
}

/// Appends the occupied octants of a box.
fn children(
    cell: &Cell,
    parent: u32,
    source_keys: &[u64],
    target_keys: &[u64],
    out: &mut Vec<Cell>,
) {
    let level = cell.level as usize + 1;
    let shift = 3 * (MAX_DEPTH - level);
    let end = |keys: &[u64], range: &Range<u32>, begin: u32, octant: u64| {
        let rest = &keys[begin as usize..range.end as usize];
        begin + rest.partition_point(|k| k >> shift & 7 <= octant) as u32
    };
    let (mut s, mut t) = (cell.sources.start, cell.targets.start);
    for octant in 0..8u64 {
        let (s_end, t_end) = (
            end(source_keys, &cell.sources, s, octant),
            end(target_keys, &cell.targets, t, octant),
        );
        if s_end > s || t_end > t {
            out.push(Cell {
                place: std::array::from_fn(|i| 2 * cell.place[i] + (octant >> i & 1) as u32),
                level: level as u8,
                child_count: 0,
                first_child: 0,
                parent,
                sources: s..s_end,
                targets: t..t_end,
            });
        }
        (s, t) = (s_end, t_end);
    }
}
