//! P2P: potentials with gradients and the sums of dipoles, one density at a time.

use std::ops::Range;

use crate::distances::{self, Screen, square};
use crate::near::leaf::NearLeaf;
use crate::particles::sums::Sums;
use simd::{MAX_LANES, Real, Simd, Task};

use super::block::{Block, Group, PAIR, move_to_doubles};

/// Potentials, and gradients if `GRADIENT`, of charges, dipoles or both: one density.
pub(super) struct General<
    'a,
    N,
    T,
    const CHARGES: bool,
    const DIPOLES: bool,
    const GRADIENT: bool,
    const FULL: bool,
    const SCREENED: bool,
> {
    pub(super) group: &'a Group<'a, N>,
    pub(super) sums: &'a Sums<'a, T>,
}

impl<
    N: Real,
    T: Real,
    const CHARGES: bool,
    const DIPOLES: bool,
    const GRADIENT: bool,
    const FULL: bool,
    const SCREENED: bool,
> Task<N> for General<'_, N, T, CHARGES, DIPOLES, GRADIENT, FULL, SCREENED>
{
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = N>>(self) {
        let Self { group, sums } = self;
        for first in group.range.clone().step_by(PAIR * V::LANES) {
            general_block::<V, T, CHARGES, DIPOLES, GRADIENT, FULL, SCREENED>(group, first, sums);
        }
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
    const SCREENED: bool,
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
    let mut screens =
        [Screen { argument: [V::zero(); PAIR], decay: [V::zero(); PAIR] }; GENERAL_RUN];
    let components = if GRADIENT { 4 } else { 1 };
    for near in group.near {
        let points = block.seen_from(near);
        let mut rest = near.sources.clone();
        while !rest.is_empty() {
            let run = rest.start..rest.end.min(rest.start + GENERAL_RUN);
            rest.start = run.end;
            let pairs = &mut pairs[..run.len()];
            let (points, rests) = (&points, &block.rests);
            if V::Scalar::IS_SINGLE && FULL && (near.masked || near.touching) {
                displace::<V, true>(group, run.clone(), points, rests, pairs);
            } else {
                displace::<V, false>(group, run.clone(), points, rests, pairs);
            }
            if near.masked {
                invert::<V, FULL, true, SCREENED>(near, group.kappa, pairs, &mut screens);
            } else {
                invert::<V, FULL, false, SCREENED>(near, group.kappa, pairs, &mut screens);
            }
            // Potentials have to be more accurate than gradients.
            let few = if mixed { POTENTIAL_RUN } else { GENERAL_RUN };
            for (i, pairs) in pairs.chunks(few).enumerate() {
                let first = run.start + i * few;
                let run = first..first + pairs.len();
                let screens = &screens[if SCREENED { i * few } else { 0 }..];
                add_general::<V, CHARGES, DIPOLES, GRADIENT, SCREENED>(
                    group,
                    run,
                    pairs,
                    screens,
                    &mut totals,
                );
                if mixed {
                    move_to_doubles(&mut totals[0], &mut doubles[0]);
                }
            }
            if mixed && GRADIENT {
                for axis in 1..4 {
                    move_to_doubles(&mut totals[axis], &mut doubles[axis]);
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
            block.add_doubles(&doubles[i], 1.0, slots);
        } else {
            block.add(totals[i], 1.0, slots);
        }
    }
}

/// Sources that [`general_block`] takes step by step, one step for all of them before the next: a
/// processor looks only some 64 operations ahead, fewer than the whole of two pairs.
const GENERAL_RUN: usize = 16;

/// Sources whose sum is kept in single precision before it is added to one in double precision, of
/// potentials that are summed with gradients; gradients themselves take [`GENERAL_RUN`].
const POTENTIAL_RUN: usize = 2;

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
    points: &[[V; PAIR]; 3],
    rests: &[[V; PAIR]; 3],
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

/// Squared distances to inverse distances, 0 for pairs to leave out, and how they are screened.
#[inline(always)]
fn invert<V: Simd, const FULL: bool, const MASKED: bool, const SCREENED: bool>(
    near: &NearLeaf<V::Scalar>,
    kappa: f64,
    pairs: &mut [Pairs<V>],
    screens: &mut [Screen<V, PAIR>],
) {
    let scale = V::splat(V::Scalar::of(1.0 / V::ROOT_SCALE));
    let threshold = V::splat(near.threshold);
    for (pairs, screen) in pairs.iter_mut().zip(screens) {
        let r2 = pairs.inverse;
        let mut inverse = V::inverse_roots::<PAIR, FULL>(r2);
        for b in 0..PAIR {
            if V::ROOT_SCALE != 1.0 && !FULL {
                inverse[b] = inverse[b].mul(scale);
            }
            if MASKED {
                inverse[b] = inverse[b].zero_unless_above(r2[b], threshold);
            }
        }
        if SCREENED {
            *screen = distances::screen::<V, PAIR, FULL>(kappa, r2, inverse);
        }
        pairs.inverse = inverse;
    }
}

/// Adds the terms of a run of sources.
#[inline(always)]
fn add_general<
    V: Simd,
    const CHARGES: bool,
    const DIPOLES: bool,
    const GRADIENT: bool,
    const SCREENED: bool,
>(
    group: &Group<'_, V::Scalar>,
    run: Range<usize>,
    pairs: &[Pairs<V>],
    screens: &[Screen<V, PAIR>],
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
    let one = V::splat(V::Scalar::of(1.0));
    for (j, Pairs { displacement: d, inverse }) in pairs.iter().enumerate() {
        // The gradient is -(q/r^3 + 3 (d.r)/r^5) r + d/r^3. With screening 1/r becomes
        // exp(-t) / r, t being kappa r, 1/r^3 also gets a factor 1 + t, and 3/r^5 one of
        // 3 + 3t + t^2 = (1 + t) (3 + t^2 / (1 + t)).
        let mut inverse2 = [V::zero(); PAIR];
        let mut along_r = [V::zero(); PAIR];
        for b in 0..PAIR {
            inverse2[b] = inverse[b].mul(inverse[b]);
        }
        let (mut first, mut slope, mut three) = (*inverse, inverse2, [three; PAIR]);
        if SCREENED {
            let Screen { argument, decay } = &screens[j];
            for b in 0..PAIR {
                let more = argument[b].add(one);
                first[b] = inverse[b].mul(decay[b]);
                slope[b] = inverse2[b].mul(more);
                three[b] = three[b].add(argument[b].mul(argument[b]).div(more));
            }
        }
        if CHARGES {
            let charge = V::splat(charges[j]);
            for b in 0..PAIR {
                let value = charge.mul(first[b]);
                potential[b] = charge.mul_add(first[b], potential[b]);
                along_r[b] = value.mul(slope[b]);
            }
        }
        if DIPOLES {
            let dipole = [dipoles[0][j], dipoles[1][j], dipoles[2][j]].map(V::splat);
            for b in 0..PAIR {
                let projection = dipole[0].mul(d[0][b]);
                let projection = dipole[1].mul_add(d[1][b], projection);
                let projection = dipole[2].mul_add(d[2][b], projection);
                let inverse3 = slope[b].mul(first[b]);
                let value = projection.mul(inverse3);
                potential[b] = potential[b].add(value);
                if GRADIENT {
                    along_r[b] = three[b].mul(value).mul_add(inverse2[b], along_r[b]);
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
