//! Runs of boxes with their parents or children, by octant: what M2M and L2L translate between.

use std::ops::Range;

use rayon::prelude::*;

use crate::harmonics::stride;
use crate::simd::{Level, Real, Simd, Task};
use crate::translate::{Expansions, Scratch, Tables, batch};
use crate::tree::Cell;

/// Boxes whose expansions one job owns.
pub(crate) const JOB_CELLS: usize = 256;

/// Parents and children of one run of boxes, by octant of the child.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    /// The boxes that are written: parents in M2M, children in L2L.
    pub(crate) cells: Range<usize>,
    /// For each octant: box that is read, within its level; box that is written, within `cells`.
    pub(crate) octants: [Vec<[u32; 2]>; 8],
}

/// Cuts a level into runs; `fill` lists, for a run, the pairs of each octant.
pub(crate) fn families(
    level: &Range<usize>,
    fill: impl Fn(Range<usize>, &mut [Vec<[u32; 2]>; 8]),
) -> Vec<Family> {
    level
        .clone()
        .step_by(JOB_CELLS)
        .map(|start| {
            let cells = start..(start + JOB_CELLS).min(level.end);
            let mut octants: [Vec<[u32; 2]>; 8] = Default::default();
            fill(cells.clone(), &mut octants);
            Family { cells, octants }
        })
        .collect()
}

/// Which child of its parent a box is: bit i tells the upper half of axis i.
pub(crate) fn octant(cell: &Cell) -> usize {
    (0..3).map(|i| ((cell.place[i] & 1) as usize) << i).sum()
}

/// Translation between two neighbouring levels.
#[derive(Clone, Copy)]
pub(crate) struct FamilyJob<'a, T> {
    pub(crate) tables: &'a Tables<T>,
    pub(crate) order_in: usize,
    pub(crate) order_out: usize,
}

/// Translates between two levels.
pub(crate) fn run_families<T: Real>(
    simd: Level,
    job: FamilyJob<'_, T>,
    families: &[Family],
    from: &[T],
    to: &mut [T],
) {
    if families.is_empty() || job.order_in == 0 || job.order_out == 0 {
        return;
    }
    let stride_out = stride::<T>(job.order_out);
    families.par_iter().zip(to.par_chunks_mut(stride_out * JOB_CELLS)).for_each(|(family, to)| {
        debug_assert_eq!(to.len(), family.cells.len() * stride_out);
        T::dispatch(simd, FamilyTask { job, family, from, to });
    });
}

struct FamilyTask<'a, T> {
    job: FamilyJob<'a, T>,
    family: &'a Family,
    from: &'a [T],
    to: &'a mut [T],
}

impl<T: Real> Task<T> for FamilyTask<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let FamilyJob { tables, order_in, order_out } = self.job;
        let mut scratch = Scratch::<V>::new(order_in.max(order_out));
        let sources = Expansions { values: self.from, stride: stride::<T>(order_in) };
        let stride_out = stride::<T>(order_out);
        for (octant, pairs) in self.family.octants.iter().enumerate() {
            let translation = tables.translation(octant, order_in, order_out);
            batch(&translation, pairs, sources, self.to, stride_out, &mut scratch);
        }
    }
}
