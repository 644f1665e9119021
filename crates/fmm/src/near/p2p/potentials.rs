//! P2P: potentials of charges, of one, four or eight densities at a time.

use std::ops::Range;

use crate::distances::{Screen, displacements, screen, square, squares};
use crate::near::leaf::NearLeaf;
use crate::particles::sums::Sums;
use simd::{MAX_LANES, Real, Simd, Task};

use super::block::{Block, Group, PAIR, move_to_doubles};

/// Potentials of one density: the targets in blocks of up to four vectors. Returns the number of
/// densities.
#[inline(always)]
pub(super) fn charges<V: Simd, T: Real, const FULL: bool, const SCREENED: bool>(
    group: &Group<'_, V::Scalar>,
    sums: &Sums<'_, T>,
) -> usize {
    let Range { start: mut first, end } = group.range;
    if SCREENED {
        // Of few kinds: exponentials are most of the time.
        while first < end {
            if (end - first).div_ceil(V::LANES) > PAIR {
                V::run(Charges::<_, _, 4, 1, FULL, true> { group, first, sums });
                first += 4 * V::LANES;
            } else {
                V::run(Charges::<_, _, PAIR, 1, FULL, true> { group, first, sums });
                first += PAIR * V::LANES;
            }
        }
        return 1;
    }
    while first < end {
        let block = match (end - first).div_ceil(V::LANES) {
            1 => 1,
            2 => 2,
            3 | 5 | 6 => 3,
            _ => 4,
        };
        match block {
            1 => V::run(Charges::<_, _, 1, 1, FULL, false> { group, first, sums }),
            2 => V::run(Charges::<_, _, 2, 1, FULL, false> { group, first, sums }),
            3 => V::run(Charges::<_, _, 3, 1, FULL, false> { group, first, sums }),
            _ => V::run(Charges::<_, _, 4, 1, FULL, false> { group, first, sums }),
        }
        first += block * V::LANES;
    }
    1
}

/// As [`charges`], four densities, two vectors of targets at a time.
#[inline(always)]
pub(super) fn charges_of_four<V: Simd, T: Real, const FULL: bool, const SCREENED: bool>(
    group: &Group<'_, V::Scalar>,
    sums: &Sums<'_, T>,
) -> usize {
    for first in group.range.clone().step_by(PAIR * V::LANES) {
        V::run(Charges::<_, _, PAIR, 4, FULL, SCREENED> { group, first, sums });
    }
    4
}

/// As [`charges`], eight densities, one vector of targets at a time.
#[inline(always)]
pub(super) fn charges_of_eight<V: Simd, T: Real, const FULL: bool>(
    group: &Group<'_, V::Scalar>,
    sums: &Sums<'_, T>,
) -> usize {
    for first in group.range.clone().step_by(V::LANES) {
        V::run(Charges::<_, _, 1, 8, FULL, false> { group, first, sums });
    }
    8
}

/// `K` densities at a block of `B` vectors of targets from `first` on.
struct Charges<'a, N, T, const B: usize, const K: usize, const FULL: bool, const SCREENED: bool> {
    group: &'a Group<'a, N>,
    first: usize,
    sums: &'a Sums<'a, T>,
}

impl<N: Real, T: Real, const B: usize, const K: usize, const FULL: bool, const SCREENED: bool>
    Task<N> for Charges<'_, N, T, B, K, FULL, SCREENED>
{
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = N>>(self) {
        charges_block::<V, T, B, K, FULL, SCREENED>(self.group, self.first, self.sums);
    }
}

#[inline(always)]
fn charges_block<
    V: Simd,
    T: Real,
    const B: usize,
    const K: usize,
    const FULL: bool,
    const SCREENED: bool,
>(
    group: &Group<'_, V::Scalar>,
    first: usize,
    sums: &Sums<'_, T>,
) {
    let mixed = V::Scalar::IS_SINGLE && !T::IS_SINGLE;
    let scale = if FULL { 1.0 } else { V::ROOT_SCALE };
    let block = Block::<V, B>::new(group, first, V::Scalar::IS_SINGLE && FULL);
    let mut totals = [[V::zero(); B]; K];
    let mut doubles = [[[0.0; MAX_LANES]; B]; K];
    for near in group.near {
        let points = block.seen_from(near);
        let mut rest = near.sources.clone();
        while !rest.is_empty() {
            let run = if mixed { rest.start..rest.end.min(rest.start + RUN) } else { rest.clone() };
            rest.start = run.end;
            let run = Run { group, near, sources: run, points: &points, rests: &block.rests };
            let sums = &mut totals;
            match (near.masked, near.touching) {
                (true, _) => add_charges::<V, B, K, FULL, true, true, SCREENED>(run, sums),
                (_, true) if V::Scalar::IS_SINGLE && FULL => {
                    add_charges::<V, B, K, FULL, true, false, SCREENED>(run, sums);
                }
                _ => add_charges::<V, B, K, FULL, false, false, SCREENED>(run, sums),
            }
            if mixed {
                for (totals, doubles) in totals.iter_mut().zip(&mut doubles) {
                    move_to_doubles(totals, doubles);
                }
            }
        }
    }
    for k in 0..K {
        // SAFETY: the job's own targets.
        let slots = unsafe { sums.potential(group.density + k, block.slots.clone()) };
        if mixed {
            block.add_doubles(&doubles[k], scale, slots);
        } else {
            block.add(totals[k], scale, slots);
        }
    }
}

/// A run of sources of a near leaf, and targets as seen from it.
struct Run<'a, V: Simd, const B: usize> {
    group: &'a Group<'a, V::Scalar>,
    near: &'a NearLeaf<V::Scalar>,
    sources: Range<usize>,
    points: &'a [[V; B]; 3],
    rests: &'a [[V; B]; 3],
}

/// Sources whose sum is kept in single precision before it is added to one in double precision: the
/// fewer the smaller the error of rounding, and with 16 it takes a twentieth of the time.
const RUN: usize = 16;

#[inline(always)]
fn add_charges<
    V: Simd,
    const B: usize,
    const K: usize,
    const FULL: bool,
    const TOUCHING: bool,
    const MASKED: bool,
    const SCREENED: bool,
>(
    Run { group, near, sources: run, points, rests }: Run<'_, V, B>,
    totals: &mut [[V; B]; K],
) {
    let fine = V::Scalar::IS_SINGLE && FULL && TOUCHING;
    let threshold = V::splat(near.threshold);
    let [x, y, z] = group.sources.range(run.clone());
    let [rx, ry, rz] = if fine { group.sources.rests(run.clone()) } else { [x, y, z] };
    let mut charges = [x; K];
    for (k, charges) in charges.iter_mut().enumerate() {
        *charges = &group.strengths.charges[group.density + k][run.clone()];
    }
    let mut sums = *totals;
    let mut begin = 0;
    if K >= 8 && B == 1 && !SCREENED {
        // Eight sums fill the registers: four sources take the place of four vectors of targets.
        const SOURCES: usize = 4;
        while begin + SOURCES <= x.len() {
            let mut r2 = [V::zero(); SOURCES];
            for s in 0..SOURCES {
                let j = begin + s;
                let point = [[points[0][0]], [points[1][0]], [points[2][0]]];
                [r2[s]] = if fine {
                    let own = [[rests[0][0]], [rests[1][0]], [rests[2][0]]];
                    let rest = [rx[j], ry[j], rz[j]];
                    square(&displacements(&point, [x[j], y[j], z[j]], &own, rest))
                } else {
                    squares(&point, [x[j], y[j], z[j]])
                };
            }
            let mut inverse = V::inverse_roots::<SOURCES, FULL>(r2);
            for s in 0..SOURCES {
                if MASKED {
                    inverse[s] = inverse[s].zero_unless_above(r2[s], threshold);
                }
                for k in 0..K {
                    let charge = V::splat(charges[k][begin + s]);
                    sums[k][0] = charge.mul_add(inverse[s], sums[k][0]);
                }
            }
            begin += SOURCES;
        }
    }
    for j in begin..x.len() {
        let r2 = if fine {
            let rest = [rx[j], ry[j], rz[j]];
            square(&displacements(points, [x[j], y[j], z[j]], rests, rest))
        } else {
            squares(points, [x[j], y[j], z[j]])
        };
        let mut inverse = V::inverse_roots::<B, FULL>(r2);
        if MASKED {
            for b in 0..B {
                inverse[b] = inverse[b].zero_unless_above(r2[b], threshold);
            }
        }
        if SCREENED {
            let scale = if FULL { 1.0 } else { V::ROOT_SCALE };
            let Screen { decay, .. } = screen::<V, B, FULL>(group.kappa / scale, r2, inverse);
            for b in 0..B {
                inverse[b] = inverse[b].mul(decay[b]);
            }
        }
        for k in 0..K {
            let charge = V::splat(charges[k][j]);
            for b in 0..B {
                sums[k][b] = charge.mul_add(inverse[b], sums[k][b]);
            }
        }
    }
    *totals = sums;
}
