//! Runs of boxes with their parents or children, by octant: what M2M and L2L translate between.

use std::ops::Range;

use parallel::prelude::*;

use crate::expansions::Level;
use crate::expansions::translate::{Batch, Tables, TranslateJob};
use crate::model::stop::Ending;
use crate::tree::Cell;
use parallel::DisjointSlice;
use simd::Real;

/// Boxes whose expansions one job of P2M or L2P owns.
pub(crate) const LEAF_JOB: usize = 16;

/// Boxes whose expansions one job of M2M or L2L owns: at most, and at least if threads are many.
/// Fewer boxes fill fewer lanes.
const MOST_CELLS: usize = 256;
const LEAST_CELLS: usize = 64;

/// Parents and children of a run of boxes, by octant of the child.
#[derive(Clone, Debug)]
pub(crate) struct ParentChildBatch {
    /// The boxes that are written: parents in M2M, children in L2L.
    pub(crate) cells: Range<usize>,
    /// For each octant: box that is read, within its level; box that is written, within `cells`.
    pub(crate) octants: [Vec<[u32; 2]>; 8],
}

/// Cuts a level into runs; `fill` lists, for a run, the pairs of each octant.
pub(crate) fn batches(
    level: &Range<usize>,
    fill: impl Fn(Range<usize>, &mut [Vec<[u32; 2]>; 8]),
) -> Vec<ParentChildBatch> {
    let share = level.len().div_ceil(2 * rayon::current_num_threads());
    let size = share.clamp(LEAST_CELLS, MOST_CELLS);
    level
        .clone()
        .step_by(size)
        .map(|start| {
            let cells = start..(start + size).min(level.end);
            let mut octants: [Vec<[u32; 2]>; 8] = Default::default();
            fill(cells.clone(), &mut octants);
            ParentChildBatch { cells, octants }
        })
        .collect()
}

/// Which child of its parent a box is: bit i tells the upper half of axis i.
pub(crate) fn octant(cell: &Cell) -> usize {
    (0..3).map(|i| ((cell.place[i] & 1) as usize) << i).sum()
}

/// Translation between two neighbouring levels of k densities.
#[derive(Clone, Copy)]
pub(crate) struct ParentChildJob<'a, T> {
    pub(crate) tables: &'a Tables<T>,
    /// Level of the boxes that are written.
    pub(crate) level: usize,
    pub(crate) order_in: usize,
    pub(crate) order_out: usize,
    pub(crate) k: usize,
    /// First box of the level that is written.
    pub(crate) first: usize,
    /// Leaves out what has not begun.
    pub(crate) stop: &'a Ending,
}

/// Translates between two levels.
pub(crate) fn translate_batches<T: Real>(
    simd: simd::Level,
    job: ParentChildJob<'_, T>,
    batches: &[ParentChildBatch],
    from: Level<&[T]>,
    to: &Level<DisjointSlice<'_, T>>,
) {
    if batches.is_empty() || job.order_in == 0 || job.order_out == 0 {
        return;
    }
    let ParentChildJob { tables, level, order_in, order_out, k, first, stop } = job;
    // Of one density after the other, since each fits the cache.
    (0..k * batches.len()).into_par_iter().for_each(|i| {
        let (density, own) = (i / batches.len(), &batches[i % batches.len()]);
        if stop.is_set() {
            return;
        }
        let batch = |octant| Batch {
            translation: tables.translation(octant, level, order_in, order_out),
            pairs: &own.octants[octant],
            sources: from,
        };
        let job = TranslateJob {
            densities: density..density + 1,
            batches: 8,
            batch: &batch,
            targets: to,
            first: own.cells.start - first,
            order: order_in.max(order_out),
            mixed: false,
        };
        // SAFETY: a box has one parent and one child an octant, batches are runs of boxes that do
        // not overlap, and each job has a density of its own.
        unsafe { job.run(simd) };
    });
}
