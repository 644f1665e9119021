//! P2P: all pairs of a target leaf and its near source leaves.
//!
//! Targets sit in lanes, sources are broadcast; a block of target vectors keeps its sums in registers over all near leaves.
//! Within a block each step is done for all vectors before the next, or the latency of one distance's long chain of steps
//! would be waited for. Coordinates are relative to each leaf, so a target is shifted once for each source leaf. One
//! distance serves all densities of a group.
//!
//! In single precision a coordinate is good to 1e-7 of a leaf's side, which ruins the distance of points much closer than
//! that side. Pairs closer than [`CLOSE`] sides are therefore found once, in [`close_pairs`], and kept with the
//! displacement that double precision gives; the vector loop leaves out exactly these. Pairs of leaves without any, nearly
//! all, are summed without asking.

use std::ops::Range;

use rayon::prelude::*;

use crate::Precision;
use crate::close::{CloseRows, P2P_LEAVES};
use crate::lists::Lists;
use crate::particles::{Particles, Strengths};
use crate::simd::{Level, MAX_LANES, Real, Simd, Task};
use crate::sums::Sums;
use crate::tree::{Root, Tree, side};

/// A near source leaf as seen from the target leaf.
#[derive(Clone, Debug, Default)]
pub(crate) struct Near<T> {
    pub sources: Range<usize>,
    /// Centre of the target leaf minus centre of the source leaf.
    pub shift: [T; 3],
    /// Squared distance up to which the vector loop leaves a pair out: [`threshold`].
    pub threshold: T,
    /// Whether there is any such pair; if not, no lane is asked.
    pub masked: bool,
}

/// A target leaf, from which near leaves are seen.
pub(crate) struct View<'a> {
    tree: &'a Tree,
    root: &'a Root,
    index: u32,
    centre: [f64; 3],
    level: u8,
    scale: f64,
    close: f64,
}

impl<'a> View<'a> {
    /// From leaf `index`. Pairs are left out up to a distance of `close` sides of the larger box.
    pub(crate) fn new(root: &'a Root, tree: &'a Tree, index: u32, close: f64) -> Self {
        let leaf = &tree.cells[index as usize];
        let (centre, scale) = (root.centre(leaf), 1.0 / root.side);
        Self { tree, root, index, centre, level: leaf.level, scale, close }
    }

    /// Box `source` seen from here; only a box seen from itself is taken to hold pairs to leave out.
    #[inline(always)]
    pub(crate) fn of<T: Real>(&self, source: u32) -> Near<T> {
        let masked = source == self.index;
        let source = &self.tree.cells[source as usize];
        let there = self.root.centre(source);
        Near {
            sources: source.sources.start as usize..source.sources.end as usize,
            shift: std::array::from_fn(|i| T::of((self.centre[i] - there[i]) * self.scale)),
            threshold: threshold(self.close * side(self.level.min(source.level))),
            masked,
        }
    }
}

/// Sides of the larger leaf below which a vector loop in `N` for sums in `T` keeps a pair apart.
pub(crate) fn close_sides<N: Real, T: Real>() -> f64 {
    match (N::PRECISION, T::PRECISION) {
        (Precision::Single, Precision::Single) => 1.0 / 32.0,
        // The error of a pair goes with the inverse square of its distance, and more is asked of the sum.
        (Precision::Single, Precision::Double) => 1.0 / 8.0,
        (Precision::Double, _) => 0.0,
    }
}

/// The square of the distance of close pairs.
fn threshold<T: Real>(distance: f64) -> T {
    T::of(distance * distance)
}

/// A pair that the vector loop leaves out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClosePair<T> {
    /// Target within its leaf.
    pub target: u32,
    pub source: u32,
    /// Target minus source.
    pub displacement: [T; 3],
}

/// Which sources of a near leaf may be close to a target.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Within<T> {
    /// All: they are in the target leaf too.
    SameBox,
    /// Likewise, and the sources are the targets: each pair is looked at once, a point and itself never.
    SamePoints,
    /// Those about as close to the target leaf, of this half side, as the threshold.
    Reach(T),
}

/// Calls `put(target, source)` for every pair of a target leaf's points and one near leaf's within its threshold: the pairs
/// that the vector loop leaves out, decided by the same arithmetic.
#[inline(always)]
pub(crate) fn close_pairs<V: Simd>(
    range: Range<usize>,
    targets: &Particles<V::Scalar>,
    near: &Near<V::Scalar>,
    sources: &Particles<V::Scalar>,
    within: Within<V::Scalar>,
    mut put: impl FnMut(usize, usize),
) {
    let half = match within {
        Within::SameBox => {
            for j in near.sources.clone() {
                compare::<V>(range.clone(), targets, near, (sources, j), &mut put);
            }
            return;
        }
        Within::SamePoints => {
            let mut both = |t, s| {
                put(t, s);
                put(s, t);
            };
            for j in near.sources.clone() {
                compare::<V>(j + 1..range.end, targets, near, (sources, j), &mut both);
            }
            return;
        }
        Within::Reach(half) => half,
    };
    let reach = half.to_f64() + 1.001 * near.threshold.to_f64().sqrt();
    let reach = V::splat(V::Scalar::of(reach));
    let [x, y, z] = [V::splat(near.shift[0]), V::splat(near.shift[1]), V::splat(near.shift[2])];
    // Most leaves have no such source: they are asked once.
    let mut least = reach.add(reach);
    for first in near.sources.clone().step_by(V::LANES) {
        least = least.min(offset(sources.lanes::<V>(first), [x, y, z]));
    }
    if !least.any_at_most(reach) {
        return;
    }
    for first in near.sources.clone().step_by(V::LANES) {
        let offset = offset(sources.lanes::<V>(first), [x, y, z]);
        if offset.any_at_most(reach) {
            let mut lanes = [V::Scalar::default(); MAX_LANES];
            offset.sub(reach).store(&mut lanes);
            let valid = (near.sources.end - first).min(V::LANES);
            for (lane, beyond) in lanes[..valid].iter().enumerate() {
                if *beyond <= V::Scalar::default() {
                    compare::<V>(range.clone(), targets, near, (sources, first + lane), &mut put);
                }
            }
        }
    }
}

/// Largest coordinate, without its sign, of points seen from `centre`.
#[inline(always)]
fn offset<V: Simd>([x, y, z]: [V; 3], centre: [V; 3]) -> V {
    x.sub(centre[0]).abs().max(y.sub(centre[1]).abs()).max(z.sub(centre[2]).abs())
}

/// Squared distances of points from one source, once they are shifted into its leaf.
#[inline(always)]
fn squared<V: Simd>([x, y, z]: [V; 3], shift: [V; 3], source: [V::Scalar; 3]) -> V {
    let [r2] = squares(&[[x.add(shift[0])], [y.add(shift[1])], [z.add(shift[2])]], source);
    r2
}

/// Calls `put(target, source)` for one source and the targets within its threshold.
#[inline(always)]
fn compare<V: Simd>(
    range: Range<usize>,
    targets: &Particles<V::Scalar>,
    near: &Near<V::Scalar>,
    (sources, j): (&Particles<V::Scalar>, usize),
    put: &mut impl FnMut(usize, usize),
) {
    let source = sources.point(j);
    let shift = [V::splat(near.shift[0]), V::splat(near.shift[1]), V::splat(near.shift[2])];
    let threshold = V::splat(near.threshold);
    let mut least = threshold.add(threshold);
    for first in range.clone().step_by(V::LANES) {
        least = least.min(squared(targets.lanes::<V>(first), shift, source));
    }
    if !least.any_at_most(threshold) {
        return;
    }
    for first in range.clone().step_by(V::LANES) {
        let r2 = squared(targets.lanes::<V>(first), shift, source);
        if r2.any_at_most(threshold) {
            let mut lanes = [V::Scalar::default(); MAX_LANES];
            r2.store(&mut lanes);
            for (lane, r2) in lanes[..(range.end - first).min(V::LANES)].iter().enumerate() {
                if *r2 <= near.threshold {
                    put(first + lane, j);
                }
            }
        }
    }
}

/// Adds the pairs that the vector loop left out at one leaf's targets, the first of which is `first`.
///
/// # Safety
/// No other job has part in these targets.
unsafe fn add_close<T: Real>(
    pairs: &[ClosePair<T>],
    strengths: &Strengths<T>,
    first: usize,
    sums: &Sums<'_, T>,
) {
    let k = strengths.charges.len().max(strengths.dipoles.len());
    for pair in pairs {
        let r = pair.displacement.map(Real::to_f64);
        let (target, source) = (first + pair.target as usize, pair.source as usize);
        let inverse = 1.0 / (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]).sqrt();
        let inverse3 = inverse * inverse * inverse;
        for density in 0..k {
            let q = strengths.charges.get(density).map_or(0.0, |q| q[source].to_f64());
            let d = strengths
                .dipoles
                .get(density)
                .map_or([0.0; 3], |d| d.each_ref().map(|d| d[source].to_f64()));
            let along = (d[0] * r[0] + d[1] * r[1] + d[2] * r[2]) * inverse3;
            // SAFETY: the caller's.
            let potential = unsafe { sums.potential(density, target..target + 1) };
            potential[0] += T::of(q * inverse + along);
            if sums.has_gradient() {
                let factor = q * inverse3 + 3.0 * along * inverse * inverse;
                for axis in 0..3 {
                    // SAFETY: the caller's.
                    let gradient = unsafe { sums.gradient(density, axis, target..target + 1) };
                    gradient[0] += T::of(d[axis] * inverse3 - factor * r[axis]);
                }
            }
        }
    }
}

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
    let block = Block::<V, B>::new(group, first);
    let mut totals = [[V::zero(); B]; K];
    let mut doubles = [[[0.0; MAX_LANES]; B]; K];
    for near in group.near {
        let points = block.seen_from(near);
        let mut rest = near.sources.clone();
        while !rest.is_empty() {
            let run = if mixed { rest.start..rest.end.min(rest.start + RUN) } else { rest.clone() };
            rest.start = run.end;
            if near.masked {
                add_charges::<V, B, K, FULL, true>(group, near, run, &points, &mut totals);
            } else {
                add_charges::<V, B, K, FULL, false>(group, near, run, &points, &mut totals);
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
                    *slot += T::of(value / V::ROOT_SCALE);
                }
            }
        } else {
            block.add(totals[k], V::ROOT_SCALE, slots);
        }
    }
}

/// Sources whose sum is kept in single precision before it is added to one in double precision: the fewer the smaller the
/// error of rounding, and this many take a twentieth of the time.
const RUN: usize = 16;

/// `B` vectors of targets.
struct Block<V: Simd, const B: usize> {
    points: [[V; B]; 3],
    /// The block's targets that belong to the leaf.
    slots: Range<usize>,
}

impl<V: Simd, const B: usize> Block<V, B> {
    #[inline(always)]
    fn new(group: &Group<'_, V::Scalar>, first: usize) -> Self {
        let mut points = [[V::zero(); B]; 3];
        for b in 0..B {
            let lanes = group.targets.lanes(first + b * V::LANES);
            for axis in 0..3 {
                points[axis][b] = lanes[axis];
            }
        }
        let end = (first + B * V::LANES).min(group.range.end);
        Self { points, slots: first..end }
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
fn add_charges<V: Simd, const B: usize, const K: usize, const FULL: bool, const MASKED: bool>(
    group: &Group<'_, V::Scalar>,
    near: &Near<V::Scalar>,
    run: Range<usize>,
    points: &[[V; B]; 3],
    totals: &mut [[V; B]; K],
) {
    let threshold = V::splat(near.threshold);
    let [x, y, z] = group.sources.range(run.clone());
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
                [r2[s]] = squares(&point, [x[j], y[j], z[j]]);
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
        let r2 = squares(points, [x[j], y[j], z[j]]);
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
fn squares<V: Simd, const B: usize>(points: &[[V; B]; 3], source: [V::Scalar; 3]) -> [V; B] {
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
    let density = group.density;
    let block = Block::<V, PAIR>::new(group, first);
    let mut totals = Totals { potential: [V::zero(); PAIR], gradient: [[V::zero(); PAIR]; 3] };
    for near in group.near {
        let points = block.seen_from(near);
        if near.masked {
            add_general::<V, CHARGES, DIPOLES, GRADIENT, FULL, true>(
                group,
                near,
                &points,
                &mut totals,
            );
        } else {
            add_general::<V, CHARGES, DIPOLES, GRADIENT, FULL, false>(
                group,
                near,
                &points,
                &mut totals,
            );
        }
    }
    // SAFETY: the job's own targets.
    let slots = unsafe { sums.potential(density, block.slots.clone()) };
    block.add(totals.potential, 1.0, slots);
    if GRADIENT {
        for i in 0..3 {
            // SAFETY: as above.
            let slots = unsafe { sums.gradient(density, i, block.slots.clone()) };
            block.add(totals.gradient[i], 1.0, slots);
        }
    }
}

/// Sums of a block of targets.
#[derive(Clone, Copy)]
struct Totals<V> {
    potential: [V; PAIR],
    gradient: [[V; PAIR]; 3],
}

#[inline(always)]
fn add_general<
    V: Simd,
    const CHARGES: bool,
    const DIPOLES: bool,
    const GRADIENT: bool,
    const FULL: bool,
    const MASKED: bool,
>(
    group: &Group<'_, V::Scalar>,
    near: &Near<V::Scalar>,
    points: &[[V; PAIR]; 3],
    totals: &mut Totals<V>,
) {
    let density = group.density;
    let three = V::splat(V::Scalar::of(3.0));
    let scale = V::splat(V::Scalar::of(1.0 / V::ROOT_SCALE));
    let threshold = V::splat(near.threshold);
    let [x, y, z] = group.sources.range(near.sources.clone());
    let charges = if CHARGES { &group.strengths.charges[density][near.sources.clone()] } else { x };
    let dipoles = if DIPOLES {
        group.strengths.dipoles[density].each_ref().map(|d| &d[near.sources.clone()])
    } else {
        [x, y, z]
    };
    let Totals { mut potential, mut gradient } = *totals;
    for j in 0..x.len() {
        let source = [x[j], y[j], z[j]];
        let r2 = squares(points, source);
        let source = source.map(V::splat);
        let mut inverse = V::inverse_roots::<PAIR, FULL>(r2);
        for b in 0..PAIR {
            if V::ROOT_SCALE != 1.0 {
                inverse[b] = inverse[b].mul(scale);
            }
            if MASKED {
                inverse[b] = inverse[b].where_above(r2[b], threshold);
            }
        }
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
            let d = [dipoles[0][j], dipoles[1][j], dipoles[2][j]].map(V::splat);
            for b in 0..PAIR {
                let mut projection = d[0].mul(points[0][b].sub(source[0]));
                for i in 1..3 {
                    projection = d[i].mul_add(points[i][b].sub(source[i]), projection);
                }
                let inverse3 = inverse2[b].mul(inverse[b]);
                let value = projection.mul(inverse3);
                potential[b] = potential[b].add(value);
                if GRADIENT {
                    along_r[b] = three.mul(value).mul_add(inverse2[b], along_r[b]);
                    for i in 0..3 {
                        gradient[i][b] = d[i].mul_add(inverse3, gradient[i][b]);
                    }
                }
            }
        }
        if GRADIENT {
            for i in 0..3 {
                for b in 0..PAIR {
                    let r = points[i][b].sub(source[i]);
                    gradient[i][b] = along_r[b].neg_mul_add(r, gradient[i][b]);
                }
            }
        }
    }
    *totals = Totals { potential, gradient };
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
        let NearPairs { root, tree, lists, sums, full, .. } = *self.all;
        let close_sides = close_sides::<N, T>();
        let (mut begin, mut entry) = (0, 0);
        for (i, row) in self.rows.enumerate() {
            let index = lists.near.cells[row];
            let target = &tree.cells[index as usize];
            let view = View::new(root, tree, index, close_sides);
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
                    if N::IS_SINGLE || full {
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
