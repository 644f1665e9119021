//! Refinements of estimates of inverse square roots.

use crate::{Real, Simd};

/// `2 / sqrt(x)` from estimates, by one Newton step: the error of an estimate is squared, times
/// 3/2.
#[inline(always)]
pub(crate) fn newton<V: Simd, const B: usize>(x: [V; B], mut roots: [V; B]) -> [V; B] {
    let three = V::splat(V::Scalar::of(3.0));
    let mut rest = [V::zero(); B];
    for b in 0..B {
        rest[b] = x[b].mul(roots[b]);
    }
    for b in 0..B {
        rest[b] = rest[b].neg_mul_add(roots[b], three);
    }
    for b in 0..B {
        roots[b] = roots[b].mul(rest[b]);
    }
    roots
}

/// `1 / sqrt(x)` from estimates y: with h = 1 - x y^2 it is y (1 + h/2 + 3/8 h^2 + 5/16 h^3 + ...);
/// `ORDER` terms after the 1.
#[inline(always)]
pub(crate) fn series<V: Simd, const B: usize, const ORDER: usize>(
    x: [V; B],
    mut roots: [V; B],
) -> [V; B] {
    let [one, half, second, third] = [1.0, 0.5, 0.375, 0.3125].map(|c| V::splat(V::Scalar::of(c)));
    let (mut h, mut sum) = ([V::zero(); B], [V::zero(); B]);
    // An estimate of 12 bits has an exact square, so h has no error of rounding to speak of.
    for b in 0..B {
        h[b] = roots[b].mul(roots[b]);
    }
    for b in 0..B {
        h[b] = h[b].neg_mul_add(x[b], one);
    }
    for b in 0..B {
        sum[b] = match ORDER {
            1 => half,
            2 => h[b].mul_add(second, half),
            _ => h[b].mul_add(h[b].mul_add(third, second), half),
        };
    }
    for b in 0..B {
        h[b] = h[b].mul(roots[b]);
    }
    for b in 0..B {
        roots[b] = h[b].mul_add(sum[b], roots[b]);
    }
    roots
}
