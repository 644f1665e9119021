//! P2M: the multipole expansion of a leaf, `M(n,m) = sum q C(n,m)(y/s)` (docs/math.md, "P2M"; paper 001, eq. 14).

use std::ops::Range;

use crate::buffer::Buffer;
use crate::expansions::Level;
use crate::harmonics::{Gradient, Harmonics};
use crate::particles::{Particles, Strengths};
use crate::shared::Shared;
use crate::simd::{Real, Simd, Task, scalars_mut};
use crate::tree::{Cell, side};

/// Tables that a leaf's expansions need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables<'a, T> {
    pub harmonics: &'a Harmonics<T>,
    pub gradient: &'a Gradient<T>,
}

/// Moments of one component of the strengths (charges, or an axis of the dipoles) of the points `range`, in a leaf of side
/// `side`: k densities, `p * p` vectors of partial sums each, added to `sums`.
#[inline(always)]
fn moments<'a, V: Simd>(
    p: usize,
    range: &Range<usize>,
    first: usize,
    components: impl Iterator<Item = &'a [V::Scalar]>,
    scale: V,
    harmonics: &[V],
    sums: &mut [V],
) {
    let valid = range.end - first;
    for (component, sums) in components.zip(sums.chunks_exact_mut(p * p)) {
        let strength = lanes::<V>(component, first, valid).mul(scale);
        for (sum, &harmonic) in sums.iter_mut().zip(&harmonics[..p * p]) {
            *sum = strength.mul_add(harmonic, *sum);
        }
    }
}

/// The strengths from `first` on, zero beyond the `valid` ones.
#[inline(always)]
fn lanes<V: Simd>(strengths: &[V::Scalar], first: usize, valid: usize) -> V {
    if valid >= V::LANES {
        return V::load(&strengths[first..]);
    }
    let mut some = [V::Scalar::default(); crate::particles::PADDING];
    some[..valid].copy_from_slice(&strengths[first..first + valid]);
    V::load(&some)
}

/// The expansions of a run of boxes of one level; those of boxes that are not leaves are zeroed for M2M.
pub(crate) struct P2mJob<'a, T> {
    pub(crate) tables: Tables<'a, T>,
    pub(crate) p: usize,
    pub(crate) cells: &'a [Cell],
    /// Place of the first of `cells` within its level.
    pub(crate) first: usize,
    pub(crate) k: usize,
    pub(crate) sources: &'a Particles<T>,
    pub(crate) strengths: &'a Strengths<T>,
    pub(crate) multipoles: &'a Level<Shared<'a, T>>,
}

impl<T: Real> Task<T> for P2mJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let Self { tables, p, cells, first, k, sources, strengths, multipoles } = self;
        let Strengths { charges, dipoles } = strengths;
        let length = p * p;
        let mut harmonics = Buffer::<V>::new(length);
        let mut of_charges = Buffer::<V>::new(charges.len() * length);
        let mut of_dipoles = Buffer::<V>::new(3 * dipoles.len() * length);
        let mut derived = Buffer::<V>::new(3 * length);
        for (i, cell) in cells.iter().enumerate() {
            let filled = cell.is_leaf() && !cell.sources.is_empty();
            let range = cell.sources.start as usize..cell.sources.end as usize;
            let scale = V::splat(T::of(1.0 / side(cell.level)));
            if filled {
                of_charges.fill(V::zero());
                of_dipoles.fill(V::zero());
                for at in range.clone().step_by(V::LANES) {
                    let point = sources.lanes::<V>(at).map(|c| c.mul(scale));
                    tables.harmonics.regular(p, point, &mut harmonics);
                    let one = V::splat(T::of(1.0));
                    let of = charges.iter().map(Vec::as_slice);
                    moments(p, &range, at, of, one, &harmonics, &mut of_charges);
                    // The gradient of degree n takes harmonics of degree n - 1.
                    let of = dipoles.iter().flatten().map(Vec::as_slice);
                    moments(p, &range, at, of, scale, &harmonics, &mut of_dipoles);
                }
            }
            for density in 0..k {
                let begin = density * multipoles.step + (first + i) * multipoles.stride;
                // SAFETY: jobs have boxes of their own.
                let multipole =
                    unsafe { multipoles.values.slice(begin..begin + multipoles.stride) };
                multipole.fill(T::default());
                if !filled {
                    continue;
                }
                if !charges.is_empty() {
                    let sums = &of_charges[density * length..(density + 1) * length];
                    for (to, sum) in multipole.iter_mut().zip(sums) {
                        *to = sum.sum();
                    }
                }
                if !dipoles.is_empty() {
                    let sums = &of_dipoles[3 * density * length..3 * (density + 1) * length];
                    let derived = scalars_mut(&mut derived);
                    for (to, sum) in derived.iter_mut().zip(sums) {
                        *to = sum.sum();
                    }
                    let axes = [0, 1, 2].map(|axis| &derived[axis * length..(axis + 1) * length]);
                    tables.gradient.accumulate(p, axes, multipole);
                }
            }
        }
    }
}
