//! P2M: the multipole expansion of a leaf, `M(n,m) = sum q C(n,m)(y/s)` (docs/math.md, "P2M"; paper 001, eq. 14).

use std::ops::Range;

use crate::harmonics::{Gradient, Harmonics};
use crate::particles::{Particles, Strengths};
use crate::simd::{Real, Simd, Task};
use crate::tree::{Cell, side};

/// Buffers of one thread.
pub(crate) struct Scratch<V: Simd> {
    harmonics: Vec<V>,
    /// Moments of the charge and of the three components of the dipoles.
    sums: [Vec<V>; 4],
    moments: [Vec<V::Scalar>; 3],
}

impl<V: Simd> Scratch<V> {
    pub(crate) fn new(p: usize) -> Self {
        Self {
            harmonics: vec![V::zero(); p * p],
            sums: std::array::from_fn(|_| vec![V::zero(); p * p]),
            moments: std::array::from_fn(|_| vec![V::Scalar::default(); p * p]),
        }
    }
}

/// Tables that a leaf's expansions need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables<'a, T> {
    pub harmonics: &'a Harmonics<T>,
    pub gradient: &'a Gradient<T>,
}

/// Writes the expansion of density `density` of the points `range`, in a leaf of side `side`, with truncation number `p`.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "one call site; a struct would only rename them")]
pub(crate) fn p2m<V: Simd>(
    tables: Tables<'_, V::Scalar>,
    p: usize,
    side: f64,
    range: Range<usize>,
    particles: &Particles<V::Scalar>,
    strengths: &Strengths<V::Scalar>,
    density: usize,
    multipole: &mut [V::Scalar],
    scratch: &mut Scratch<V>,
) {
    let scale = V::splat(V::Scalar::of(1.0 / side));
    let charges = strengths.charges.get(density);
    let dipoles = strengths.dipoles.get(density);
    for sum in &mut scratch.sums {
        sum[..p * p].fill(V::zero());
    }
    for first in range.clone().step_by(V::LANES) {
        let point = particles.lanes::<V>(first).map(|c| c.mul(scale));
        tables.harmonics.regular(p, point, &mut scratch.harmonics);
        let valid = range.end - first;
        let harmonics = &scratch.harmonics[..p * p];
        let [sum, sums @ ..] = &mut scratch.sums;
        if let Some(charges) = charges {
            let q = lanes::<V>(charges, first, valid);
            for (sum, &harmonic) in sum[..p * p].iter_mut().zip(harmonics) {
                *sum = q.mul_add(harmonic, *sum);
            }
        }
        if let Some(dipoles) = dipoles {
            for (sums, component) in sums.iter_mut().zip(dipoles) {
                let d = lanes::<V>(component, first, valid).mul(scale);
                // The gradient of degree n takes harmonics of degree n - 1.
                for (sum, &harmonic) in sums[..p * p].iter_mut().zip(harmonics) {
                    *sum = d.mul_add(harmonic, *sum);
                }
            }
        }
    }
    for (to, sum) in multipole[..p * p].iter_mut().zip(&scratch.sums[0]) {
        *to = sum.sum();
    }
    if dipoles.is_some() {
        for (moments, sums) in scratch.moments.iter_mut().zip(&scratch.sums[1..]) {
            for (moment, sum) in moments[..p * p].iter_mut().zip(&sums[..p * p]) {
                *moment = sum.sum();
            }
        }
        tables.gradient.accumulate(p, &scratch.moments, multipole);
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
    pub(crate) stride: usize,
    pub(crate) cells: &'a [Cell],
    pub(crate) sources: &'a Particles<T>,
    pub(crate) strengths: &'a Strengths<T>,
    pub(crate) density: usize,
    pub(crate) multipoles: &'a mut [T],
}

impl<T: Real> Task<T> for P2mJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let mut scratch = Scratch::<V>::new(self.p);
        for (cell, multipole) in self.cells.iter().zip(self.multipoles.chunks_mut(self.stride)) {
            multipole.fill(T::default());
            if cell.is_leaf() && !cell.sources.is_empty() {
                p2m(
                    self.tables,
                    self.p,
                    side(cell.level),
                    cell.sources.start as usize..cell.sources.end as usize,
                    self.sources,
                    self.strengths,
                    self.density,
                    multipole,
                    &mut scratch,
                );
            }
        }
    }
}
