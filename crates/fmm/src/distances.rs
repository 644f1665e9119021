//! Distances of a block of points from one source.

use simd::{Real, Simd};

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

/// Displacements of a block of points from one source by fine coordinates: the points and the
/// source, and their rests.
#[inline(always)]
pub(crate) fn displacements<V: Simd, const B: usize>(
    points: &[[V; B]; 3],
    source: [V::Scalar; 3],
    rests: &[[V; B]; 3],
    rest: [V::Scalar; 3],
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

/// `kappa r` and `exp(-kappa r)` of squared distances and inverse ones, which may be 0, or a
/// multiple by which kappa is divided then.
#[inline(always)]
pub(crate) fn screen<V: Simd, const B: usize, const FULL: bool>(
    kappa: f64,
    r2: [V; B],
    inverse: [V; B],
) -> Screen<V, B> {
    let per_bit = V::splat(V::Scalar::of(-kappa * std::f64::consts::LOG2_E));
    let kappa = V::splat(V::Scalar::of(kappa));
    let (mut argument, mut exponent) = (r2, r2);
    for b in 0..B {
        let r = r2[b].mul(inverse[b]);
        (argument[b], exponent[b]) = (r.mul(kappa), r.mul(per_bit));
    }
    Screen { argument, decay: V::powers_of_two::<B, FULL>(exponent) }
}

/// How pairs are screened.
#[derive(Clone, Copy)]
pub(crate) struct Screen<V, const B: usize> {
    /// `kappa r`.
    pub(crate) argument: [V; B],
    /// `exp(-kappa r)`.
    pub(crate) decay: [V; B],
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
