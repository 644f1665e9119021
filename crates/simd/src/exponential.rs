//! Exponentials of lanes.

use crate::{Real, Simd};

/// e^r in |r| <= ln(2) / 2, interpolated at Chebyshev points: relative errors 1.0e-7, 2.5e-9,
/// 5.5e-11 and 1.7e-17.
const SINGLE: [f64; 6] = [
    1.000_000_075_454_897_2,
    1.000_000_010_771_57,
    0.499_988_693_783_033_96,
    0.166_665_052_604_081_24,
    0.041_917_507_249_615_26,
    0.008_369_148_490_856_347,
];
const SINGLE_FULL: [f64; 7] = [
    1.0,
    1.000_000_037_716_214,
    0.500_000_004_711_775_7,
    0.166_664_155_146_532_77,
    0.041_666_352_896_775_16,
    0.008_375_126_398_153_335,
    0.001_394_110_843_397_267_4,
];
const DOUBLE: [f64; 8] = [
    0.999_999_999_959_561_8,
    0.999_999_999_995_509,
    0.500_000_010_772_916_6,
    0.166_666_667_863_085_87,
    0.041_666_218_319_291_945,
    0.008_333_283_538_708_528,
    0.001_394_857_832_645_979_5,
    0.000_199_075_693_108_488_28,
];
const DOUBLE_FULL: [f64; 12] = [
    1.0,
    1.0,
    0.500_000_000_000_001_9,
    0.166_666_666_666_666_8,
    0.041_666_666_666_488_1,
    0.008_333_333_333_319_601,
    0.001_388_888_895_231_477_5,
    0.000_198_412_698_900_471_13,
    0.000_024_801_485_482_328_494,
    0.000_002_755_724_091_857_897,
    0.000_000_276_326_396_390_410_3,
    0.000_000_025_110_037_605_963_777,
];

/// ln 2 in two parts, of which whole multiples of the first are exact.
const LN_2_SINGLE: [f64; 2] = [0.693_145_751_953_125, 1.428_606_820_309_417_3e-6];
const LN_2_DOUBLE: [f64; 2] = [0.693_147_180_559_663, 2.823_529_056_303_157_7e-13];

/// Arguments below these are raised to them: their exponentials are as good as 0.
const LEAST_SINGLE: f64 = -87.0;
const LEAST_DOUBLE: f64 = -708.0;

/// As [`Simd::exponentials`].
#[inline(always)]
pub(crate) fn exponentials<V: Simd, const B: usize, const FULL: bool>(x: [V; B]) -> [V; B] {
    let splat = |value| V::splat(V::Scalar::of(value));
    let single = V::Scalar::IS_SINGLE;
    let least = splat(if single { LEAST_SINGLE } else { LEAST_DOUBLE });
    // Added to a number, it leaves the nearest whole one in the last bits, and with it what a
    // binary exponent is counted from.
    let origin =
        splat(if single { 1.5 * 2f64.powi(23) + 127.0 } else { 1.5 * 2f64.powi(52) + 1023.0 });
    let [high, low] = if single { LN_2_SINGLE } else { LN_2_DOUBLE }.map(splat);
    let inverse = splat(std::f64::consts::LOG2_E);
    let coefficients: &[f64] = match (single, FULL) {
        (true, false) => &SINGLE,
        (true, true) => &SINGLE_FULL,
        (false, false) => &DOUBLE,
        (false, true) => &DOUBLE_FULL,
    };
    let (mut powers, mut rest, mut sums) = (x, x, [V::zero(); B]);
    for b in 0..B {
        rest[b] = x[b].max(least);
        powers[b] = rest[b].mul_add(inverse, origin);
    }
    for b in 0..B {
        let whole = powers[b].sub(origin);
        rest[b] = whole.neg_mul_add(low, whole.neg_mul_add(high, rest[b]));
    }
    if let Some((&last, others)) = coefficients.split_last() {
        sums = [splat(last); B];
        for &c in others.iter().rev() {
            let c = splat(c);
            for b in 0..B {
                sums[b] = sums[b].mul_add(rest[b], c);
            }
        }
    }
    for b in 0..B {
        sums[b] = sums[b].mul(powers[b].shift_into_exponent());
    }
    sums
}
