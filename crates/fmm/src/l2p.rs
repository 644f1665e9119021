//! L2P: a leaf's local expansion at its targets, `phi(x) = (1/s) sum L(n,m) C(n,m)(x/s)` (docs/math.md, "L2P").

use crate::buffer::Buffer;
use crate::expansions::Expansions;
use crate::p2m::Tables;
use crate::particles::{PADDING, Particles};
use crate::simd::{Real, Simd, Task, scalars_mut};
use crate::sums::Sums;
use crate::tree::{Tree, side};
use crate::truncation::Orders;

/// Sum of coefficients times harmonics, in four chains.
#[inline(always)]
fn dot<V: Simd>(coefficients: &[V::Scalar], harmonics: &[V]) -> V {
    let mut sums = [V::zero(); 4];
    let harmonics = &harmonics[..coefficients.len()];
    let (quads, rest) = coefficients.as_chunks::<4>();
    let (of_quads, of_rest) = harmonics.as_chunks::<4>();
    for (c, h) in quads.iter().zip(of_quads) {
        for i in 0..4 {
            sums[i] = V::splat(c[i]).mul_add(h[i], sums[i]);
        }
    }
    for (&c, &h) in rest.iter().zip(of_rest) {
        sums[0] = V::splat(c).mul_add(h, sums[0]);
    }
    sums[0].add(sums[1]).add(sums[2].add(sums[3]))
}

/// Adds the first lanes of `sum`, as many as `to` has.
#[inline(always)]
pub(crate) fn add<V: Simd>(sum: V, to: &mut [V::Scalar]) {
    if to.len() == V::LANES {
        V::load(to).add(sum).store(to);
        return;
    }
    let mut lanes = [V::Scalar::default(); PADDING];
    sum.store(&mut lanes);
    for (to, lane) in to.iter_mut().zip(lanes) {
        *to += lane;
    }
}

/// Adds what the local expansions of a run of leaves give.
pub(crate) struct L2pJob<'a, T> {
    pub(crate) tables: Tables<'a, T>,
    pub(crate) tree: &'a Tree,
    pub(crate) orders: &'a Orders,
    pub(crate) locals: &'a Expansions<T>,
    pub(crate) particles: &'a Particles<T>,
    pub(crate) cells: &'a [u32],
    pub(crate) k: usize,
    pub(crate) sums: &'a Sums<'a, T>,
}

impl<T: Real> Task<T> for L2pJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let Self { tables, tree, orders, locals, particles, cells, k, sums } = self;
        let p_max = orders.local.iter().copied().max().unwrap_or(0);
        let mut harmonics = Buffer::<V>::new(p_max * p_max);
        let with_gradient = sums.has_gradient();
        let mut derivatives =
            Buffer::<V>::new(if with_gradient { 3 * k * p_max * p_max } else { 0 });
        for &index in cells {
            let cell = &tree.cells[index as usize];
            let level = cell.level as usize;
            let (p, level) = (orders.local[level], locals.level(level));
            if p == 0 {
                continue;
            }
            let place = index as usize - tree.levels[cell.level as usize].start;
            let local = |density: usize| {
                &level.values[density * level.step + place * level.stride..][..p * p]
            };
            // The gradient of an expansion is three expansions of one degree less.
            let (length, q) = (p * p, (p - 1) * (p - 1));
            let derivatives = scalars_mut(&mut derivatives);
            if with_gradient {
                for (density, axes) in derivatives.chunks_exact_mut(3 * length).take(k).enumerate()
                {
                    tables.gradient.differentiate(p, local(density), axes);
                }
            }
            let inverse = V::splat(T::of(1.0 / side(cell.level)));
            let targets = cell.targets.start as usize..cell.targets.end as usize;
            for first in targets.clone().step_by(V::LANES) {
                let point = particles.lanes::<V>(first).map(|c| c.mul(inverse));
                tables.harmonics.regular(p, point, &mut harmonics);
                let run = first..(first + V::LANES).min(targets.end);
                for density in 0..k {
                    let sum = dot(local(density), &harmonics).mul(inverse);
                    // SAFETY: a target is in one leaf, and each leaf is in one job.
                    add(sum, unsafe { sums.potential(density, run.clone()) });
                    if with_gradient {
                        for axis in 0..3 {
                            let derivative = &derivatives[(3 * density + axis) * length..][..q];
                            let sum = dot(derivative, &harmonics).mul(inverse).mul(inverse);
                            // SAFETY: as above.
                            add(sum, unsafe { sums.gradient(density, axis, run.clone()) });
                        }
                    }
                }
            }
        }
    }
}
