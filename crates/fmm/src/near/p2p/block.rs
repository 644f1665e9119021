//! Blocks of target vectors of one leaf, and the sources that they see.

use std::ops::Range;

use crate::near::leaf::NearLeaf;
use crate::particles::{Particles, Strengths};
use simd::{MAX_LANES, Real, Simd};

/// One target leaf, its near leaves and one density or more.
#[derive(Clone)]
pub(super) struct Group<'a, T> {
    pub(super) range: Range<usize>,
    pub(super) targets: &'a Particles<T>,
    pub(super) near: &'a [NearLeaf<T>],
    pub(super) sources: &'a Particles<T>,
    pub(super) strengths: &'a Strengths<T>,
    /// In units of the inverse of the root's side; 0 without screening.
    pub(super) kappa: f64,
    pub(super) density: usize,
}

/// Vectors of targets of a block of `charges_of_four` and of `General`; the last may lie beyond
/// the leaf.
pub(super) const PAIR: usize = 2;

/// `B` vectors of targets.
pub(super) struct Block<V: Simd, const B: usize> {
    pub(super) points: [[V; B]; 3],
    /// Of fine coordinates.
    pub(super) rests: [[V; B]; 3],
    /// The block's targets that belong to the leaf.
    pub(super) slots: Range<usize>,
}

impl<V: Simd, const B: usize> Block<V, B> {
    #[inline(always)]
    pub(super) fn new(group: &Group<'_, V::Scalar>, first: usize, fine: bool) -> Self {
        let mut points = [[V::zero(); B]; 3];
        let mut rests = [[V::zero(); B]; 3];
        for b in 0..B {
            let lanes = group.targets.lanes(first + b * V::LANES);
            for axis in 0..3 {
                points[axis][b] = lanes[axis];
            }
            if fine {
                let lanes = group.targets.rest_lanes(first + b * V::LANES);
                for axis in 0..3 {
                    rests[axis][b] = lanes[axis];
                }
            }
        }
        let end = (first + B * V::LANES).min(group.range.end);
        Self { points, rests, slots: first..end }
    }

    /// Relative to the centre of a source leaf.
    #[inline(always)]
    pub(super) fn seen_from(&self, near: &NearLeaf<V::Scalar>) -> [[V; B]; 3] {
        let mut points = self.points;
        for axis in 0..3 {
            let shift = V::splat(near.shift[axis]);
            for b in 0..B {
                points[axis][b] = points[axis][b].add(shift);
            }
        }
        points
    }

    /// Adds `totals / scale` to the sums of its targets.
    #[inline(always)]
    pub(super) fn add<T: Real>(&self, mut totals: [V; B], scale: f64, slots: &mut [T]) {
        let mut doubles = [[0.0; MAX_LANES]; B];
        move_to_doubles(&mut totals, &mut doubles);
        self.add_doubles(&doubles, scale, slots);
    }

    /// As [`Self::add`], from sums that are in double precision already.
    #[inline(always)]
    pub(super) fn add_doubles<T: Real>(
        &self,
        totals: &[[f64; MAX_LANES]; B],
        scale: f64,
        slots: &mut [T],
    ) {
        for (total, slots) in totals.iter().zip(slots.chunks_mut(V::LANES)) {
            for (slot, value) in slots.iter_mut().zip(total) {
                *slot += T::of(value / scale);
            }
        }
    }
}

/// Adds sums in the format of the loops to sums in double precision, and sets the former to zero.
#[inline(always)]
pub(super) fn move_to_doubles<V: Simd, const B: usize>(
    totals: &mut [V; B],
    doubles: &mut [[f64; MAX_LANES]; B],
) {
    for (total, doubles) in totals.iter_mut().zip(doubles) {
        total.add_to_doubles(doubles);
        *total = V::zero();
    }
}
