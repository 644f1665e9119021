//! P2P: all pairs of a target leaf and its near source leaves.
//!
//! Targets sit in lanes, sources are broadcast; a block of target vectors keeps its sums in
//! registers over all near leaves. Within a block each step is done for all vectors before the
//! next, or the latency of one distance's long chain of steps would be waited for. Coordinates are
//! relative to each leaf, so a target is shifted once for each source leaf. One distance serves all
//! densities of a group. The loops are in `potentials` and `derivatives`.
//!
//! Pairs too close for single precision are left to module `close`. Where the sums are in double
//! precision and the loops in single, boxes that touch are seen by fine coordinates (`particles`),
//! and short sums are kept before they go into doubles.

mod block;
mod derivatives;
mod potentials;

use std::ops::Range;

use parallel::prelude::*;

use crate::geometry::Geometry;
use crate::model::stop::Ending;
use crate::model::{Options, Precision};
use crate::near::close::{CloseRows, P2P_LEAVES, add_close};
use crate::near::leaf::{NearLeaf, TargetLeaf, close_sides};
use crate::particles::sums::Sums;
use crate::particles::{Particles, Strengths};
use crate::tree::lists::Rows;
use crate::tuning;
use simd::{Level, Real, Simd, Task, dispatch};

use block::Group;
use derivatives::General;
use potentials::{charges, charges_of_eight, charges_of_four};

/// How near pairs are summed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NearSums {
    /// Format of the loops.
    pub(crate) precision: Precision,
    /// Whether inverse distances in double precision must be good to its last digits.
    full: bool,
    /// Whether gradients or dipoles are summed.
    pub(crate) derivatives: bool,
}

/// At this tolerance and beyond inverse distances are evaluated to the last digits: the shorter
/// series errs by 1.3e-10.
const FULL_TOLERANCE: f64 = 2e-9;

impl NearSums {
    /// For the near pairs of sums in `precision`.
    pub(crate) fn new(options: &Options, precision: Precision) -> Self {
        Self {
            precision: tuning::near_precision(options, precision),
            full: options.tolerance < FULL_TOLERANCE,
            derivatives: options.gradient || options.dipoles,
        }
    }
}

/// All near pairs of a plan, summed up in `T`.
pub(crate) struct NearPairs<'a, T> {
    pub(crate) geometry: &'a Geometry,
    /// Target leaves with their near source leaves.
    pub(crate) rows: &'a Rows,
    /// For each job its close pairs, if they are kept apart.
    pub(crate) close: &'a [CloseRows<T>],
    /// Of the close pairs.
    pub(crate) strengths: &'a Strengths<T>,
    pub(crate) near_sums: NearSums,
    /// Leaves out what has not begun.
    pub(crate) stop: &'a Ending,
    pub(crate) sums: &'a Sums<'a, T>,
}

impl<T: Real> NearPairs<'_, T> {
    /// Adds all near pairs; those that are not close by vectors of `N`. Without `targets` they are
    /// the sources.
    pub(crate) fn run<N: Real>(
        &self,
        simd: Level,
        sources: &Particles<N>,
        targets: Option<&Particles<N>>,
        strengths: &Strengths<N>,
    ) {
        let targets = targets.unwrap_or(sources);
        let rows = self.rows.cells.len();
        (0..rows.div_ceil(P2P_LEAVES)).into_par_iter().with_max_len(1).for_each(|i| {
            if self.stop.is_set() {
                return;
            }
            let rows = i * P2P_LEAVES..((i + 1) * P2P_LEAVES).min(rows);
            let close = self.close.get(i);
            dispatch(simd, P2pJob { all: self, rows, close, sources, targets, strengths });
        });
    }
}

/// A run of target leaves, summed by vectors of `N`.
struct P2pJob<'a, N, T> {
    all: &'a NearPairs<'a, T>,
    rows: Range<usize>,
    close: Option<&'a CloseRows<T>>,
    sources: &'a Particles<N>,
    targets: &'a Particles<N>,
    strengths: &'a Strengths<N>,
}

/// Source leaves that are summed together, more than a uniform tree's 27: their list is no
/// allocation.
const LEAVES: usize = 32;

impl<N: Real, T: Real> Task<N> for P2pJob<'_, N, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = N>>(self) {
        let Self { sources, targets, strengths, .. } = self;
        let NearPairs { geometry, rows, near_sums, sums, .. } = *self.all;
        let Geometry { root, screening, tree, .. } = geometry;
        let NearSums { full, derivatives, .. } = near_sums;
        let close = close_sides::<N, T>(derivatives);
        let (mut begin, mut entry) = (0, 0);
        for (i, row) in self.rows.enumerate() {
            let index = rows.cells[row];
            let target = &tree.cells[index as usize];
            let leaf = TargetLeaf::new(root, tree, index, close);
            let range = target.targets.start as usize..target.targets.end as usize;
            for list in rows.row(row).chunks(LEAVES) {
                let mut near: [NearLeaf<N>; LEAVES] = std::array::from_fn(|_| NearLeaf::default());
                let near = &mut near[..list.len()];
                for (near, &source) in near.iter_mut().zip(list) {
                    *near = leaf.of(source);
                    if let Some(close) = self.close {
                        near.masked = close.masked[entry];
                        entry += 1;
                    }
                }
                let range = range.clone();
                let kappa = screening.root;
                let group = Group { range, targets, near, sources, strengths, kappa, density: 0 };
                // SAFETY: a target is in one leaf, and each leaf is in one job.
                unsafe {
                    // In single precision inverse distances are good to working precision if they
                    // are a part of sums in double precision, to whose errors they must not add.
                    // Each combination is code of its own: no more than are used.
                    match (screening.is_some(), !T::IS_SINGLE && (N::IS_SINGLE || full)) {
                        (false, false) if N::IS_SINGLE == T::IS_SINGLE => {
                            p2p::<V, T, false, false>(&group, sums);
                        }
                        (true, false) if N::IS_SINGLE == T::IS_SINGLE => {
                            p2p::<V, T, false, true>(&group, sums);
                        }
                        (false, _) if !T::IS_SINGLE => p2p::<V, T, true, false>(&group, sums),
                        (true, _) if !T::IS_SINGLE => p2p::<V, T, true, true>(&group, sums),
                        _ => {}
                    }
                }
            }
            if let Some(close) = self.close {
                let end = close.ends[i] as usize;
                let pairs = &close.pairs[begin..end];
                // SAFETY: as above.
                unsafe { add_close(*screening, pairs, self.all.strengths, range.start, sums) };
                begin = end;
            }
        }
    }
}

/// Adds the sums over all near sources of all densities at the targets of `group`, without their
/// close pairs.
///
/// # Safety
/// No other job has part in these targets.
#[inline(always)]
unsafe fn p2p<V: Simd, T: Real, const FULL: bool, const SCREENED: bool>(
    group: &Group<'_, V::Scalar>,
    sums: &Sums<'_, T>,
) {
    let strengths = group.strengths;
    let k = strengths.charges.len().max(strengths.dipoles.len());
    let gradient = sums.has_gradient();
    if strengths.dipoles.is_empty() && !gradient {
        // Blocks of targets x densities that fit the registers.
        let mut density = 0;
        while density < k {
            let group = Group { density, ..group.clone() };
            density += match k - density {
                8.. if !SCREENED => charges_of_eight::<V, T, FULL>(&group, sums),
                4.. => charges_of_four::<V, T, FULL, SCREENED>(&group, sums),
                _ => charges::<V, T, FULL, SCREENED>(&group, sums),
            };
        }
        return;
    }
    for density in 0..k {
        let group = &Group { density, ..group.clone() };
        // Fewer kinds of screened ones: gradients that are not asked for have no slots.
        match (strengths.charges.is_empty(), strengths.dipoles.is_empty(), gradient || SCREENED) {
            (false, true, _) => {
                V::run(General::<_, _, true, false, true, FULL, SCREENED> { group, sums })
            }
            (true, false, false) => {
                V::run(General::<_, _, false, true, false, FULL, false> { group, sums })
            }
            (true, false, true) => {
                V::run(General::<_, _, false, true, true, FULL, SCREENED> { group, sums })
            }
            (false, false, false) => {
                V::run(General::<_, _, true, true, false, FULL, false> { group, sums })
            }
            (false, false, true) => {
                V::run(General::<_, _, true, true, true, FULL, SCREENED> { group, sums })
            }
            (true, true, _) => {}
        }
    }
}
