//! Close pairs: those that P2P's vector loop leaves out in single precision, found once for a plan.

use std::marker::PhantomData;
use std::ops::Range;

use rayon::prelude::*;

use crate::lists::Lists;
use crate::particles::Particles;
use crate::simd::{Level, Real, Simd, Task};
use crate::tree::{Order, Root, Tree, side};
use crate::{Precision, p2p};

/// Target leaves of one P2P job.
pub(crate) const P2P_LEAVES: usize = 64;

/// The close pairs of one P2P job.
#[derive(Clone, Debug)]
pub(crate) struct CloseRows<T> {
    /// For each row of the job where its pairs end.
    pub(crate) ends: Vec<u32>,
    /// For each source leaf of each row whether any pair must be left out of the vector loop.
    pub(crate) masked: Vec<bool>,
    pub(crate) pairs: Vec<p2p::ClosePair<T>>,
}

/// Boxes and what they are near to.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) root: &'a Root,
    pub(crate) tree: &'a Tree,
    pub(crate) lists: &'a Lists,
}

/// One set of points: as the loops see them, their order, as the caller gave them.
pub(crate) type Points<'a, T> = (&'a Particles<T>, &'a Order, &'a [[f64; 3]]);

/// The close pairs of every P2P job whose vector loop works in `N`; none in double precision, which needs no such care.
pub(crate) fn find_close<N: Real, T: Real>(
    simd: Level,
    places: &Places<'_>,
    sources: Points<'_, N>,
    targets: Points<'_, N>,
) -> Vec<CloseRows<T>> {
    if N::PRECISION == Precision::Double {
        return Vec::new();
    }
    let rows = places.lists.near.cells.len();
    (0..rows.div_ceil(P2P_LEAVES))
        .into_par_iter()
        .map(|i| {
            let rows = i * P2P_LEAVES..((i + 1) * P2P_LEAVES).min(rows);
            let job = CloseJob { places, sources, targets, rows, stored: PhantomData };
            N::dispatch(simd, job)
        })
        .collect()
}

struct CloseJob<'a, N, T> {
    places: &'a Places<'a>,
    sources: Points<'a, N>,
    targets: Points<'a, N>,
    rows: Range<usize>,
    stored: PhantomData<T>,
}

impl<N: Real, T: Real> Task<N> for CloseJob<'_, N, T> {
    type Output = CloseRows<T>;

    #[inline(always)]
    fn run<V: Simd<Scalar = N>>(self) -> CloseRows<T> {
        let Places { root, tree, lists } = *self.places;
        let (sources, source_order, source_points) = self.sources;
        let (targets, target_order, target_points) = self.targets;
        let same = std::ptr::eq(source_order, target_order);
        let mut found = CloseRows {
            ends: Vec::with_capacity(self.rows.len()),
            masked: Vec::new(),
            pairs: Vec::new(),
        };
        for row in self.rows {
            let index = lists.near.cells[row];
            let target = &tree.cells[index as usize];
            let list = lists.near.row(row);
            let range = target.targets.start as usize..target.targets.end as usize;
            let view = p2p::View::new(root, tree, index, p2p::close_sides::<N, T>());
            for &source in list {
                let near = view.of(source);
                let within = match (source == index, same) {
                    (true, true) => p2p::Within::SamePoints,
                    (true, false) => p2p::Within::SameBox,
                    _ => p2p::Within::Reach(N::of(0.5 * side(target.level))),
                };
                let mut any = source == index;
                p2p::close_pairs::<V>(range.clone(), targets, &near, sources, within, |t, s| {
                    any = true;
                    let x = &target_points[target_order.index[t] as usize];
                    let y = &source_points[source_order.index[s] as usize];
                    let displacement = std::array::from_fn(|i| T::of((x[i] - y[i]) / root.side));
                    // Coincident points contribute nothing, so they need no entry.
                    if x != y {
                        let target = (t - range.start) as u32;
                        found.pairs.push(p2p::ClosePair { target, source: s as u32, displacement });
                    }
                });
                found.masked.push(any);
            }
            found.ends.push(found.pairs.len() as u32);
        }
        found.pairs.shrink_to_fit();
        found
    }
}
