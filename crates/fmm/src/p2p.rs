//! P2P: all pairs of a target leaf and its near source leaves.
//!
//! Targets sit in lanes, sources are broadcast; a block of target vectors keeps its sums in registers over all near leaves.
//! Within a block each step is done for all vectors before the next, or the latency of one distance's long chain of steps
//! would be waited for. Coordinates are relative to each leaf, so a target is shifted once for each source leaf. One
//! distance serves all densities of a group.
//!
//! Pairs too close for single precision are left to module `close`. Where the sums are in double precision and the loops in
//! single, boxes that touch are seen by fine coordinates (`particles`), and short sums are kept before they go into doubles.

use std::ops::Range;

use rayon::prelude::*;

use crate::close::{CloseRows, P2P_LEAVES, add_close};
use crate::lists::Lists;
use crate::near::{Near, View, close_sides};
use crate::particles::{Particles, Strengths};
use crate::simd::{Level, MAX_LANES, Real, Simd, Task};
use crate::sums::Sums;
use crate::tree::{Root, Tree};

/// Adds the sums over all `near` sources at the targets `range`, without their close pairs.
///
/// # Safety
/// No other job has part in these targets.
#[inline(always)]
unsafe fn p2p<V: Simd, T: Real, const FULL: bool>(
    range: Range<usize>,
    targets: &Particles<V::Scalar>,
    near: &[Near<V::Scalar>],
    sources: &Particles<V::Scalar>,
    strengths: &Strengths<V::Scalar>,
    sums: &Sums<'_, T>,
) {
    let k = strengths.charges.len().max(strengths.dipoles.len());
    let gradient = sums.has_gradient();
    let group =
        |density| Group { range: range.clone(), targets, near, sources, strengths, density };
    if strengths.dipoles.is_empty() && !gradient {
        // Blocks of targets x densities that fit the registers.
        let mut density = 0;
        while density < k {
            let group = group(density);
            density += match k - density {
                8.. => charges_of_eight::<V, T, FULL>(&group, sums),
                4.. => charges_of_four::<V, T, FULL>(&group, sums),
                _ => charges::<V, T, FULL>(&group, sums),
            };
        }
        return;
    }
    for density in 0..k {
        let group = group(density);
        match (strengths.charges.is_empty(), strengths.dipoles.is_empty(), gradient) {
            (false, true, _) => general::<V, T, true, false, true, FULL>(&group, sums),
            (true, false, false) => general::<V, T, false, true, false, FULL>(&group, sums),
            (true, false, true) => general::<V, T, false, true, true, FULL>(&group, sums),
            (false, false, false) => general::<V, T, true, true, false, FULL>(&group, sums),
            (false, false, true) => general::<V, T, true, true, true, FULL>(&group, sums),
            (true, true, _) => {}
        }
    }
}

struct Group<'a, T> {
    range: Range<usize>,
    targets: &'a Particles<T>,
    near: &'a [Near<T>],
    sources: &'a Particles<T>,
    strengths: &'a Strengths<T>,
    density: usize,
}

/// Potentials of one density: the targets in blocks of up to four vectors. Returns the number of densities.
#[inline(always)]
fn charges<V: Simd, T: Real, const FULL: bool>(
    group: &Group<'_, V::Scalar>,
    sums: &Sums<'_, T>,
) -> usize {
    let Range { start: mut first, end } = group.range;
    while first < end {
        let block = match (end - first).div_ceil(V::LANES) {
            1 => 1,
            2 => 2,
            3 | 5 | 6 => 3,
            _ => 4,
        };
        match block {
            1 => charges_block::<V, T, 1, 1, FULL>(group, first, sums),
            2 => charges_block::<V, T, 2, 1, FULL>(group, first, sums),
            3 => charges_block::<V, T, 3, 1, FULL>(group, first, sums),
            _ => charges_block::<V, T, 4, 1, FULL>(group, first, sums),
        }
        first += block * V::LANES;
    }
    1
}

/// As [`charges`], four densities, two vectors of targets at a time.
#[inline(always)]
fn charges_of_four<V: Simd, T: Real, const FULL: bool>(
    group: &Group<'_, V::Scalar>,
    sums: &Sums<'_, T>,
) -> usize {
    for first in group.range.clone().step_by(PAIR * V::LANES) {
        charges_block::<V, T, PAIR, 4, FULL>(group, first, sums);
    }
    4
}

/// As [`charges`], eight densities, one vector of targets at a time.
#[inline(always)]
fn charges_of_eight<V: Simd, T: Real, const FULL: bool>(
    group: &Group<'_, V::Scalar>,
    sums: &Sums<'_, T>,
) -> usize {
    for first in group.range.clone().step_by(V::LANES) {
        charges_block::<V, T, 1, 8, FULL>(group, first, sums);
    }
    8
}

#[inline(always)]
fn charges_block<V: Simd, T: Real, const B: usize, const K: usize, const FULL: bool>(
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
            let seen = (&points, &block.rests);
            match (near.masked, near.touching) {
                (true, _) => {
                    add_charges::<V, B, K, FULL, true, true>(group, near, run, seen, &mut totals)
                }
                (_, true) if V::Scalar::IS_SINGLE && FULL => {
                    add_charges::<V, B, K, FULL, true, false>(group, near, run, seen, &mut totals);
                }
                _ => {
                    add_charges::<V, B, K, FULL, false, false>(group, near, run, seen, &mut totals)
                }
            }
            if mixed {
                for (doubles, totals) in doubles.iter_mut().zip(&mut totals) {
                    for (doubles, total) in doubles.iter_mut().zip(totals) {
                        total.add_to_doubles(doubles);
                        *total = V::zero();
                    }
                }
            }
        }
    }
    for k in 0..K {
        // SAFETY: the job's own targets.
        let slots = unsafe { sums.potential(group.density + k, block.slots.clone()) };
        if mixed {
            for (doubles, slots) in doubles[k].iter().zip(slots.chunks_mut(V::LANES)) {
                for (slot, value) in slots.iter_mut().zip(doubles) {
                    *slot += T::of(value / scale);
                }
            }
        } else {
            block.add(totals[k], scale, slots);
        }
    }
}

/// Sources whose sum is kept in single precision before it is added to one in double precision: the fewer the smaller the
/// error of rounding, and so many take a twentieth of the time.
const RUN: usize = 16;

/// `B` vectors of targets.
struct Block<V: Simd, const B: usize> {
    points: [[V; B]; 3],
    /// Of fine coordinates.
    rests: [[V; B]; 3],
    /// The block's targets that belong to the leaf.
    slots: Range<usize>,
}

impl<V: Simd, const B: usize> Block<V, B> {
    #[inline(always)]
    fn new(group: &Group<'_, V::Scalar>, first: usize, fine: bool) -> Self {
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
    fn seen_from(&self, near: &Near<V::Scalar>) -> [[V; B]; 3] {
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
    fn add<T: Real>(&self, totals: [V; B], scale: f64, slots: &mut [T]) {
        for (total, slots) in totals.into_iter().zip(slots.chunks_mut(V::LANES)) {
            let mut doubles = [0.0; MAX_LANES];
            total.add_to_doubles(&mut doubles);
            for (slot, value) in slots.iter_mut().zip(doubles) {
                *slot += T::of(value / scale);
            }
        }
    }
}

#[inline(always)]
fn add_charges<
    V: Simd,
    const B: usize,
    const K: usize,
    const FULL: bool,
    const TOUCHING: bool,
    const MASKED: bool,
>(
    group: &Group<'_, V::Scalar>,
    near: &Near<V::Scalar>,
    run: Range<usize>,
    (points, rests): (&[[V; B]; 3], &[[V; B]; 3]),
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
    if K >= 8 && B == 1 {
        // Eight sums fill the registers: four sources take the place of four vectors of targets.
        const SOURCES: usize = 4;
        while begin + SOURCES <= x.len() {
            let mut r2 = [V::zero(); SOURCES];
            for s in 0..SOURCES {
                let j = begin + s;
                let point = [[points[0][0]], [points[1][0]], [points[2][0]]];
                [r2[s]] = if fine {
                    let own = [[rests[0][0]], [rests[1][0]], [rests[2][0]]];
                    let rests = (&own, [rx[j], ry[j], rz[j]]);
                    square(&displacements(&point, [x[j], y[j], z[j]], rests))
                } else {
                    squares(&point, [x[j], y[j], z[j]])
                };
            }
            let mut inverse = V::inverse_roots::<SOURCES, FULL>(r2);
            for s in 0..SOURCES {
                if MASKED {
                    inverse[s] = inverse[s].where_above(r2[s], threshold);
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
            let rests = (rests, [rx[j], ry[j], rz[j]]);
            square(&displacements(points, [x[j], y[j], z[j]], rests))
        } else {
            squares(points, [x[j], y[j], z[j]])
        };
        let mut inverse = V::inverse_roots::<B, FULL>(r2);
        if MASKED {
            for b in 0..B {
                inverse[b] = inverse[b].where_above(r2[b], threshold);
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

/// Squared distances of a block of points from one source.
#[inline(always)]
pub(crate) fn squares<V: Simd, const B: usize>(
    points: &[[V; B]; 3],
    source: [V::Scalar; 3],
) -> [V; B] {
    let [x, y, z] = source.map(V::splat);
    let mut r2 = [V::zero(); B];
    for b in 0..B {
        let d = points[0][b].sub(x);
        r2[b] = d.mul(d);
    }
    for b in 0..B {
        let d = points[1][b].sub(y);
        r2[b] = d.mul_add(d, r2[b]);
    }
    for b in 0..B {
        let d = points[2][b].sub(z);
        r2[b] = d.mul_add(d, r2[b]);
    }
    r2
}

/// Displacements of a block of points from one source by fine coordinates: the points and the source, and their rests.
#[inline(always)]
pub(crate) fn displacements<V: Simd, const B: usize>(
    points: &[[V; B]; 3],
    source: [V::Scalar; 3],
    (rests, rest): (&[[V; B]; 3], [V::Scalar; 3]),
) -> [[V; B]; 3] {
    let (source, rest) = (source.map(V::splat), rest.map(V::splat));
    let mut displacements = [[V::zero(); B]; 3];
    for i in 0..3 {
        for b in 0..B {
            displacements[i][b] = points[i][b].sub(source[i]).add(rests[i][b].sub(rest[i]));
        }
    }
    displacements
}

/// Squared lengths.
#[inline(always)]
pub(crate) fn square<V: Simd, const B: usize>(displacements: &[[V; B]; 3]) -> [V; B] {
    let mut r2 = [V::zero(); B];
    for b in 0..B {
        let [x, y, z] = [displacements[0][b], displacements[1][b], displacements[2][b]];
        r2[b] = z.mul_add(z, y.mul_add(y, x.mul(x)));
    }
    r2
}

/// Vectors of targets that [`general`] works side by side; the second of the last block may lie beyond the leaf.
const PAIR: usize = 2;

/// Potentials, and gradients if `GRADIENT`, of charges, dipoles or both: one density.
#[inline(always)]
fn general<
    V: Simd,
    T: Real,
    const CHARGES: bool,
    const DIPOLES: bool,
    const GRADIENT: bool,
    const FULL: bool,
>(
    group: &Group<'_, V::Scalar>,
    sums: &Sums<'_, T>,
) {
    for first in group.range.clone().step_by(PAIR * V::LANES) {
        general_block::<V, T, CHARGES, DIPOLES, GRADIENT, FULL>(group, first, sums);
    }
}

#[inline(always)]
fn general_block<
    V: Simd,
    T: Real,
    const CHARGES: bool,
    const DIPOLES: bool,
    const GRADIENT: bool,
    const FULL: bool,
>(
    group: &Group<'_, V::Scalar>,
    first: usize,
    sums: &Sums<'_, T>,
) {
    let mixed = V::Scalar::IS_SINGLE && !T::IS_SINGLE;
    let density = group.density;
    let block = Block::<V, PAIR>::new(group, first, V::Scalar::IS_SINGLE && FULL);
    // The potential and the gradient's axes.
    let mut totals = [[V::zero(); PAIR]; 4];
    let mut doubles = [[[0.0; MAX_LANES]; PAIR]; 4];
    let mut pairs =
        [Pairs { displacement: [[V::zero(); PAIR]; 3], inverse: [V::zero(); PAIR] }; GENERAL_RUN];
    let components = if GRADIENT { 4 } else { 1 };
    for near in group.near {
        let points = block.seen_from(near);
        let mut rest = near.sources.clone();
        while !rest.is_empty() {
            let run = rest.start..rest.end.min(rest.start + GENERAL_RUN);
            rest.start = run.end;
            let pairs = &mut pairs[..run.len()];
            let seen = (&points, &block.rests);
            if V::Scalar::IS_SINGLE && FULL && (near.masked || near.touching) {
                displace::<V, true>(group, run.clone(), seen, pairs);
            } else {
                displace::<V, false>(group, run.clone(), seen, pairs);
            }
            if near.masked {
                invert::<V, FULL, true>(near, pairs);
            } else {
                invert::<V, FULL, false>(near, pairs);
            }
            // Less error is asked of potentials than of gradients.
            let few = if mixed { POTENTIAL_RUN } else { GENERAL_RUN };
            for (i, pairs) in pairs.chunks(few).enumerate() {
                let first = run.start + i * few;
                let run = first..first + pairs.len();
                add_general::<V, CHARGES, DIPOLES, GRADIENT>(group, run, pairs, &mut totals);
                if mixed {
                    for (doubles, total) in doubles[0].iter_mut().zip(&mut totals[0]) {
                        total.add_to_doubles(doubles);
                        *total = V::zero();
                    }
                }
            }
            if mixed && GRADIENT {
                for (doubles, totals) in doubles[1..].iter_mut().zip(&mut totals[1..]) {
                    for (doubles, total) in doubles.iter_mut().zip(totals) {
                        total.add_to_doubles(doubles);
                        *total = V::zero();
                    }
                }
            }
        }
    }
    for i in 0..components {
        // SAFETY: the job's own targets.
        let slots = unsafe {
            match i {
                0 => sums.potential(density, block.slots.clone()),
                _ => sums.gradient(density, i - 1, block.slots.clone()),
            }
        };
        if mixed {
            for (doubles, slots) in doubles[i].iter().zip(slots.chunks_mut(V::LANES)) {
                for (slot, value) in slots.iter_mut().zip(doubles) {
                    *slot += T::of(*value);
                }
            }
        } else {
            block.add(totals[i], 1.0, slots);
        }
    }
}

/// Sources that [`general_block`] takes step by step, one step for all of them before the next: a processor looks only some
/// 64 operations ahead, fewer than the whole of two pairs.
const GENERAL_RUN: usize = 16;

/// As [`RUN`], of the potentials beside gradients; gradients themselves take [`GENERAL_RUN`].
const POTENTIAL_RUN: usize = 4;

/// One source and a block of targets.
#[derive(Clone, Copy)]
struct Pairs<V> {
    displacement: [[V; PAIR]; 3],
    /// First the squared distance, then its inverse root.
    inverse: [V; PAIR],
}

/// Displacements and squared distances.
#[inline(always)]
fn displace<V: Simd, const FINE: bool>(
    group: &Group<'_, V::Scalar>,
    run: Range<usize>,
    (points, rests): (&[[V; PAIR]; 3], &[[V; PAIR]; 3]),
    pairs: &mut [Pairs<V>],
) {
    let sources = group.sources.range(run.clone());
    let source_rests = if FINE { group.sources.rests(run) } else { sources };
    for (j, pairs) in pairs.iter_mut().enumerate() {
        let source = [V::splat(sources[0][j]), V::splat(sources[1][j]), V::splat(sources[2][j])];
        for i in 0..3 {
            for b in 0..PAIR {
                pairs.displacement[i][b] = points[i][b].sub(source[i]);
            }
        }
        if FINE {
            let [x, y, z] = source_rests;
            let rest = [V::splat(x[j]), V::splat(y[j]), V::splat(z[j])];
            for i in 0..3 {
                for b in 0..PAIR {
                    let d = pairs.displacement[i][b];
                    pairs.displacement[i][b] = d.add(rests[i][b].sub(rest[i]));
                }
            }
        }
        pairs.inverse = square(&pairs.displacement);
    }
}

/// Squared distances to inverse distances, 0 for pairs to leave out.
#[inline(always)]
fn invert<V: Simd, const FULL: bool, const MASKED: bool>(
    near: &Near<V::Scalar>,
    pairs: &mut [Pairs<V>],
) {
    let scale = V::splat(V::Scalar::of(1.0 / V::ROOT_SCALE));
    let threshold = V::splat(near.threshold);
    for pairs in pairs {
        let r2 = pairs.inverse;
        let mut inverse = V::inverse_roots::<PAIR, FULL>(r2);
        for b in 0..PAIR {
            if V::ROOT_SCALE != 1.0 && !FULL {
                inverse[b] = inverse[b].mul(scale);
            }
            if MASKED {
                inverse[b] = inverse[b].where_above(r2[b], threshold);
            }
        }
        pairs.inverse = inverse;
    }
}

/// Adds the terms of a run of sources.
#[inline(always)]
fn add_general<V: Simd, const CHARGES: bool, const DIPOLES: bool, const GRADIENT: bool>(
    group: &Group<'_, V::Scalar>,
    run: Range<usize>,
    pairs: &[Pairs<V>],
    totals: &mut [[V; PAIR]; 4],
) {
    let density = group.density;
    let three = V::splat(V::Scalar::of(3.0));
    let none: &[V::Scalar] = &[];
    let charges = if CHARGES { &group.strengths.charges[density][run.clone()] } else { none };
    let dipoles = if DIPOLES {
        group.strengths.dipoles[density].each_ref().map(|d| &d[run.clone()])
    } else {
        [none; 3]
    };
    let [mut potential, mut gx, mut gy, mut gz] = *totals;
    for (j, Pairs { displacement: d, inverse }) in pairs.iter().enumerate() {
        // The gradient is -(q/r^3 + 3 (d.r)/r^5) r + d/r^3.
        let mut inverse2 = [V::zero(); PAIR];
        let mut along_r = [V::zero(); PAIR];
        for b in 0..PAIR {
            inverse2[b] = inverse[b].mul(inverse[b]);
        }
        if CHARGES {
            let charge = V::splat(charges[j]);
            for b in 0..PAIR {
                let value = charge.mul(inverse[b]);
                potential[b] = potential[b].add(value);
                along_r[b] = value.mul(inverse2[b]);
            }
        }
        if DIPOLES {
            let dipole = [dipoles[0][j], dipoles[1][j], dipoles[2][j]].map(V::splat);
            for b in 0..PAIR {
                let projection = dipole[0].mul(d[0][b]);
                let projection = dipole[1].mul_add(d[1][b], projection);
                let projection = dipole[2].mul_add(d[2][b], projection);
                let inverse3 = inverse2[b].mul(inverse[b]);
                let value = projection.mul(inverse3);
                potential[b] = potential[b].add(value);
                if GRADIENT {
                    along_r[b] = three.mul(value).mul_add(inverse2[b], along_r[b]);
                    gx[b] = dipole[0].mul_add(inverse3, gx[b]);
                    gy[b] = dipole[1].mul_add(inverse3, gy[b]);
                    gz[b] = dipole[2].mul_add(inverse3, gz[b]);
                }
            }
        }
        if GRADIENT {
            for b in 0..PAIR {
                gx[b] = along_r[b].neg_mul_add(d[0][b], gx[b]);
                gy[b] = along_r[b].neg_mul_add(d[1][b], gy[b]);
                gz[b] = along_r[b].neg_mul_add(d[2][b], gz[b]);
            }
        }
    }
    *totals = [potential, gx, gy, gz];
}

/// All near pairs of a plan, summed up in `T`.
pub(crate) struct NearPairs<'a, T> {
    pub(crate) root: &'a Root,
    pub(crate) tree: &'a Tree,
    pub(crate) lists: &'a Lists,
    /// For each job its close pairs, if they are kept apart.
    pub(crate) close: &'a [CloseRows<T>],
    /// Of the close pairs.
    pub(crate) strengths: &'a Strengths<T>,
    /// Whether inverse distances must be good to working precision.
    pub(crate) full: bool,
    /// Whether gradients or dipoles are summed.
    pub(crate) derivatives: bool,
    pub(crate) sums: &'a Sums<'a, T>,
}

impl<T: Real> NearPairs<'_, T> {
    /// Adds all near pairs; those that are not close by vectors of `N`. Without `targets` they are the sources.
    pub(crate) fn run<N: Real>(
        &self,
        simd: Level,
        sources: &Particles<N>,
        targets: Option<&Particles<N>>,
        strengths: &Strengths<N>,
    ) {
        let targets = targets.unwrap_or(sources);
        let rows = self.lists.near.cells.len();
        (0..rows.div_ceil(P2P_LEAVES)).into_par_iter().with_max_len(1).for_each(|i| {
            let rows = i * P2P_LEAVES..((i + 1) * P2P_LEAVES).min(rows);
            let close = self.close.get(i);
            N::dispatch(simd, P2pJob { all: self, rows, close, sources, targets, strengths });
        });
    }
}

/// A run of target leaves, worked by vectors of `N`.
struct P2pJob<'a, N, T> {
    all: &'a NearPairs<'a, T>,
    rows: Range<usize>,
    close: Option<&'a CloseRows<T>>,
    sources: &'a Particles<N>,
    targets: &'a Particles<N>,
    strengths: &'a Strengths<N>,
}

/// Source leaves that are worked together, more than a uniform tree's 27: their list is no allocation.
const LEAVES: usize = 32;

impl<N: Real, T: Real> Task<N> for P2pJob<'_, N, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = N>>(self) {
        let Self { sources, targets, strengths, .. } = self;
        let NearPairs { root, tree, lists, sums, full, derivatives, .. } = *self.all;
        let close = close_sides::<N, T>(derivatives);
        let (mut begin, mut entry) = (0, 0);
        for (i, row) in self.rows.enumerate() {
            let index = lists.near.cells[row];
            let target = &tree.cells[index as usize];
            let view = View::new(root, tree, index, close);
            let range = target.targets.start as usize..target.targets.end as usize;
            for list in lists.near.row(row).chunks(LEAVES) {
                let mut near: [Near<N>; LEAVES] = std::array::from_fn(|_| Near::default());
                let near = &mut near[..list.len()];
                for (near, &source) in near.iter_mut().zip(list) {
                    *near = view.of(source);
                    if let Some(close) = self.close {
                        near.masked = close.masked[entry];
                        entry += 1;
                    }
                }
                // SAFETY: a target is in one leaf, and each leaf is in one job.
                unsafe {
                    if full {
                        p2p::<V, T, true>(range.clone(), targets, near, sources, strengths, sums);
                    } else {
                        p2p::<V, T, false>(range.clone(), targets, near, sources, strengths, sums);
                    }
                }
            }
            if let Some(close) = self.close {
                let end = close.ends[i] as usize;
                let pairs = &close.pairs[begin..end];
                // SAFETY: as above.
                unsafe { add_close(pairs, self.all.strengths, range.start, sums) };
                begin = end;
            }
        }
    }
}
