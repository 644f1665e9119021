//! L2P: a leaf's local expansion at its targets, `phi(x) = (1/s) sum L(n,m) C(n,m)(x/s)` (docs/math.md, "L2P").

use std::ops::Range;

use crate::p2m::Tables;
use crate::particles::{PADDING, Particles};
use crate::simd::{Real, Simd};

/// Buffers of one thread.
pub(crate) struct Scratch<V: Simd> {
    harmonics: Vec<V>,
    derivatives: [Vec<V::Scalar>; 3],
}

impl<V: Simd> Scratch<V> {
    pub(crate) fn new(p: usize) -> Self {
        Self {
            harmonics: vec![V::zero(); p * p],
            derivatives: std::array::from_fn(|_| vec![V::Scalar::default(); p * p]),
        }
    }
}

/// Adds potential and, where `gradient` has arrays, gradient of a local expansion with truncation number `p` in a leaf of side
/// `side` at the targets `range`; the outputs hold the leaf's targets only.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "one call site; a struct would only rename them")]
pub(crate) fn l2p<V: Simd>(
    tables: Tables<'_, V::Scalar>,
    p: usize,
    side: f64,
    range: Range<usize>,
    particles: &Particles<V::Scalar>,
    local: &[V::Scalar],
    potential: &mut [V::Scalar],
    gradient: Option<[&mut [V::Scalar]; 3]>,
    scratch: &mut Scratch<V>,
) {
    let inverse = V::splat(V::Scalar::of(1.0 / side));
    let (begin, count) = (range.start, range.len());
    if gradient.is_some() {
        tables.gradient.differentiate(p, &local[..p * p], &mut scratch.derivatives);
    }
    let mut gradient = gradient;
    for first in range.step_by(V::LANES) {
        let point = particles.lanes::<V>(first).map(|c| c.mul(inverse));
        tables.harmonics.regular(p, point, &mut scratch.harmonics);
        let slot = first - begin;
        let valid = (count - slot).min(V::LANES);
        let sum = dot(&local[..p * p], &scratch.harmonics).mul(inverse);
        add(sum, &mut potential[slot..slot + valid]);
        if let Some(gradient) = &mut gradient {
            let q = p - 1;
            for (component, derivative) in gradient.iter_mut().zip(&scratch.derivatives) {
                let sum = dot(&derivative[..q * q], &scratch.harmonics).mul(inverse).mul(inverse);
                add(sum, &mut component[slot..slot + valid]);
            }
        }
    }
}

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
