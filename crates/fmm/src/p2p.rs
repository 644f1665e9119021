//! P2P: all pairs of a target leaf and its near source leaves.
//!
//! Targets sit in lanes, sources are broadcast; a block of target vectors keeps its sums in registers over all near leaves.
//! Coordinates are relative to each leaf, so a target is shifted once for each source leaf. One distance serves all
//! densities of a group.
//!
//! In single precision a coordinate is good to 1e-7 of a leaf's side, which ruins the distance of points much closer than
//! that side. Pairs closer than [`CLOSE`] sides are therefore found once, in [`close_pairs`], and kept with the
//! displacement that double precision gives; the vector loop leaves out exactly these.

use std::ops::Range;

use crate::Precision;
use crate::close::{CloseRows, near_sources};
use crate::l2p::add;
use crate::lists::Lists;
use crate::particles::{Particles, Strengths};
use crate::simd::{Real, Simd, Task};
use crate::tree::{Root, Tree};

/// A near source leaf as seen from the target leaf.
#[derive(Clone, Debug)]
pub(crate) struct Near<T> {
    pub sources: Range<usize>,
    /// Centre of the target leaf minus centre of the source leaf.
    pub shift: [T; 3],
    /// Squared distance up to which the vector loop leaves a pair out: [`threshold`].
    pub threshold: T,
}

/// Sides of the larger leaf below which single precision keeps a pair apart.
const CLOSE: f64 = 1.0 / 32.0;

/// Squared distance of close pairs of two leaves, the larger of side `side`.
pub(crate) fn threshold<T: Real>(side: f64) -> T {
    match T::PRECISION {
        Precision::Single => T::of((CLOSE * side) * (CLOSE * side)),
        Precision::Double => T::default(),
    }
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

/// Where one target leaf's sums go: k densities, each over the leaf's targets.
pub(crate) struct Sums<'a, T> {
    pub potential: Vec<&'a mut [T]>,
    /// Empty when no gradient is asked.
    pub gradient: Vec<[&'a mut [T]; 3]>,
}

/// Calls `put(target, source)` for every pair within its threshold: the pairs that the vector loop leaves out, decided by
/// the same arithmetic.
#[inline(always)]
pub(crate) fn close_pairs<V: Simd>(
    range: Range<usize>,
    targets: &Particles<V::Scalar>,
    near: &[Near<V::Scalar>],
    sources: &Particles<V::Scalar>,
    mut put: impl FnMut(usize, usize),
) {
    for first in range.clone().step_by(V::LANES) {
        let point = targets.lanes::<V>(first);
        let valid = (range.end - first).min(V::LANES);
        for near in near {
            let point: [V; 3] = std::array::from_fn(|i| point[i].add(V::splat(near.shift[i])));
            let [x, y, z] = sources.range(near.sources.clone());
            let threshold = V::splat(near.threshold);
            for j in 0..x.len() {
                let source = [V::splat(x[j]), V::splat(y[j]), V::splat(z[j])];
                let (_, r2) = separation(&point, &source);
                if r2.any_at_most(threshold) {
                    let mut lanes = [V::Scalar::default(); crate::particles::PADDING];
                    r2.store(&mut lanes);
                    for (lane, r2) in lanes[..valid].iter().enumerate() {
                        if *r2 <= near.threshold {
                            put(first + lane, near.sources.start + j);
                        }
                    }
                }
            }
        }
    }
}

/// Adds the pairs that the vector loop left out.
pub(crate) fn add_close<T: Real>(
    pairs: &[ClosePair<T>],
    strengths: &Strengths<T>,
    sums: &mut Sums<'_, T>,
) {
    for pair in pairs {
        let r = pair.displacement.map(Real::to_f64);
        let (target, source) = (pair.target as usize, pair.source as usize);
        let inverse = 1.0 / (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]).sqrt();
        let inverse3 = inverse * inverse * inverse;
        for (density, potential) in sums.potential.iter_mut().enumerate() {
            let q = strengths.charges.get(density).map_or(0.0, |q| q[source].to_f64());
            let d = strengths
                .dipoles
                .get(density)
                .map_or([0.0; 3], |d| d.each_ref().map(|d| d[source].to_f64()));
            let along = (d[0] * r[0] + d[1] * r[1] + d[2] * r[2]) * inverse3;
            potential[target] += T::of(q * inverse + along);
            if let Some(gradient) = sums.gradient.get_mut(density) {
                let factor = q * inverse3 + 3.0 * along * inverse * inverse;
                for axis in 0..3 {
                    gradient[axis][target] += T::of(d[axis] * inverse3 - factor * r[axis]);
                }
            }
        }
    }
}

/// Adds the sums over all `near` sources at the targets `range`, without their close pairs.
#[inline(always)]
pub(crate) fn p2p<V: Simd>(
    range: Range<usize>,
    targets: &Particles<V::Scalar>,
    near: &[Near<V::Scalar>],
    sources: &Particles<V::Scalar>,
    strengths: &Strengths<V::Scalar>,
    sums: &mut Sums<'_, V::Scalar>,
) {
    let k = strengths.charges.len().max(strengths.dipoles.len());
    let gradient = !sums.gradient.is_empty();
    if strengths.dipoles.is_empty() && !gradient {
        // Blocks of targets x densities that fit the registers.
        let mut density = 0;
        while density < k {
            let left = k - density;
            let group = Group { range: range.clone(), targets, near, sources, strengths, density };
            if left >= 4 {
                charges::<V, 2, 4>(&group, sums);
                density += 4;
            } else if left >= 2 {
                charges::<V, 2, 2>(&group, sums);
                density += 2;
            } else {
                charges::<V, 2, 1>(&group, sums);
                density += 1;
            }
        }
        return;
    }
    for density in 0..k {
        let group = Group { range: range.clone(), targets, near, sources, strengths, density };
        match (strengths.charges.is_empty(), strengths.dipoles.is_empty(), gradient) {
            (false, true, _) => general::<V, true, false, true>(&group, sums),
            (true, false, false) => general::<V, false, true, false>(&group, sums),
            (true, false, true) => general::<V, false, true, true>(&group, sums),
            (false, false, false) => general::<V, true, true, false>(&group, sums),
            (false, false, true) => general::<V, true, true, true>(&group, sums),
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

/// Potentials of charges: blocks of `B` target vectors, `K` densities.
#[inline(always)]
fn charges<V: Simd, const B: usize, const K: usize>(
    group: &Group<'_, V::Scalar>,
    sums: &mut Sums<'_, V::Scalar>,
) {
    let Range { start, end } = group.range;
    let mut first = start;
    while first < end {
        let left = end - first;
        if left > (B - 1) * V::LANES {
            charges_block::<V, B, K>(group, first, left, sums);
            first += B * V::LANES;
        } else {
            charges_block::<V, 1, K>(group, first, left, sums);
            first += V::LANES;
        }
    }
}

#[inline(always)]
fn charges_block<V: Simd, const B: usize, const K: usize>(
    group: &Group<'_, V::Scalar>,
    first: usize,
    left: usize,
    sums: &mut Sums<'_, V::Scalar>,
) {
    let points: [[V; 3]; B] = std::array::from_fn(|b| {
        // The last block of a box may begin within its last vector: never read past the padding.
        group.targets.lanes(first + b * V::LANES)
    });
    let mut totals = [[V::zero(); B]; K];
    for near in group.near {
        let shift = near.shift.map(V::splat);
        let threshold = V::splat(near.threshold);
        let points: [[V; 3]; B] =
            std::array::from_fn(|b| std::array::from_fn(|axis| points[b][axis].add(shift[axis])));
        let [x, y, z] = group.sources.range(near.sources.clone());
        let charges: [&[V::Scalar]; K] = std::array::from_fn(|k| {
            &group.strengths.charges[group.density + k][near.sources.clone()]
        });
        for j in 0..x.len() {
            let source = [V::splat(x[j]), V::splat(y[j]), V::splat(z[j])];
            for b in 0..B {
                let inverse = separation(&points[b], &source).1.rsqrt_above(threshold);
                for k in 0..K {
                    totals[k][b] = V::splat(charges[k][j]).mul_add(inverse, totals[k][b]);
                }
            }
        }
    }
    let slot = first - group.range.start;
    for k in 0..K {
        for b in 0..B {
            let begin = slot + b * V::LANES;
            let valid = left.saturating_sub(b * V::LANES).min(V::LANES);
            add(totals[k][b], &mut sums.potential[group.density + k][begin..begin + valid]);
        }
    }
}

/// `x - y` and its square.
#[inline(always)]
fn separation<V: Simd>(x: &[V; 3], y: &[V; 3]) -> ([V; 3], V) {
    let r = [x[0].sub(y[0]), x[1].sub(y[1]), x[2].sub(y[2])];
    (r, r[2].mul_add(r[2], r[1].mul_add(r[1], r[0].mul(r[0]))))
}

/// Potentials, and gradients if `GRADIENT`, of charges, dipoles or both: one target vector, one density.
#[inline(always)]
fn general<V: Simd, const CHARGES: bool, const DIPOLES: bool, const GRADIENT: bool>(
    group: &Group<'_, V::Scalar>,
    sums: &mut Sums<'_, V::Scalar>,
) {
    let density = group.density;
    let three = V::splat(V::Scalar::of(3.0));
    for first in group.range.clone().step_by(V::LANES) {
        let point = group.targets.lanes::<V>(first);
        let mut potential = V::zero();
        let mut gradient = [V::zero(); 3];
        for near in group.near {
            let point: [V; 3] = std::array::from_fn(|i| point[i].add(V::splat(near.shift[i])));
            let threshold = V::splat(near.threshold);
            let [x, y, z] = group.sources.range(near.sources.clone());
            let charges =
                if CHARGES { &group.strengths.charges[density][near.sources.clone()] } else { x };
            let dipoles = if DIPOLES {
                group.strengths.dipoles[density].each_ref().map(|d| &d[near.sources.clone()])
            } else {
                [x, y, z]
            };
            for j in 0..x.len() {
                let source = [V::splat(x[j]), V::splat(y[j]), V::splat(z[j])];
                let (r, r2) = separation(&point, &source);
                let inverse = r2.rsqrt_above(threshold);
                let inverse2 = inverse.mul(inverse);
                // The gradient is -(q/r^3 + 3 (d.r)/r^5) r + d/r^3.
                let mut along_r = V::zero();
                if CHARGES {
                    let value = V::splat(charges[j]).mul(inverse);
                    potential = potential.add(value);
                    along_r = value.mul(inverse2);
                }
                if DIPOLES {
                    let d: [V; 3] = std::array::from_fn(|i| V::splat(dipoles[i][j]));
                    let inverse3 = inverse2.mul(inverse);
                    let projection = d[2].mul_add(r[2], d[1].mul_add(r[1], d[0].mul(r[0])));
                    let value = projection.mul(inverse3);
                    potential = potential.add(value);
                    if GRADIENT {
                        along_r = three.mul(value).mul_add(inverse2, along_r);
                        for i in 0..3 {
                            gradient[i] = d[i].mul_add(inverse3, gradient[i]);
                        }
                    }
                }
                if GRADIENT {
                    for i in 0..3 {
                        gradient[i] = along_r.neg_mul_add(r[i], gradient[i]);
                    }
                }
            }
        }
        let slot = first - group.range.start;
        let valid = (group.range.end - first).min(V::LANES);
        add(potential, &mut sums.potential[density][slot..slot + valid]);
        if GRADIENT {
            for i in 0..3 {
                add(gradient[i], &mut sums.gradient[density][i][slot..slot + valid]);
            }
        }
    }
}

/// A run of target leaves.
pub(crate) struct P2pJob<'a, T> {
    pub(crate) rows: Range<usize>,
    pub(crate) lists: &'a Lists,
    pub(crate) root: &'a Root,
    pub(crate) tree: &'a Tree,
    pub(crate) sources: &'a Particles<T>,
    pub(crate) targets: &'a Particles<T>,
    pub(crate) strengths: &'a Strengths<T>,
    pub(crate) close: Option<&'a CloseRows<T>>,
    pub(crate) sums: Vec<Sums<'a, T>>,
}

impl<T: Real> Task<T> for P2pJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let mut near = Vec::new();
        let mut begin = 0;
        for (i, (row, mut sums)) in self.rows.zip(self.sums).enumerate() {
            let target = &self.tree.cells[self.lists.near.cells[row] as usize];
            near_sources(self.root, self.tree, target, self.lists.near.row(row), &mut near);
            p2p::<V>(
                target.targets.start as usize..target.targets.end as usize,
                self.targets,
                &near,
                self.sources,
                self.strengths,
                &mut sums,
            );
            if let Some(close) = self.close {
                let end = close.ends[i] as usize;
                add_close(&close.pairs[begin..end], self.strengths, &mut sums);
                begin = end;
            }
        }
    }
}
