//! Powers of two of lanes.

use crate::{Real, Simd};

/// 2^r in |r| <= 1/2, interpolated at Chebyshev points: relative errors 1.0e-7, 2.5e-9, 5.5e-11 and
/// 2.0e-17.
const SINGLE: [f64; 6] = [
    1.000_000_075_454_897_2,
    0.693_147_188_026_228_8,
    0.240_221_074_853_083_4,
    0.055_503_571_142_190_78,
    0.009_676_031_918_322_054,
    0.001_339_086_336_467_123_4,
];
const SINGLE_FULL: [f64; 7] = [
    1.0,
    0.693_147_206_702_832_6,
    0.240_226_509_222_887_57,
    0.055_503_272_266_703_02,
    0.009_618_056_678_524_637,
    0.001_340_042_817_761_583_8,
    0.000_154_614_446_985_696_9,
];
const DOUBLE: [f64; 8] = [
    0.999_999_999_959_561_8,
    0.693_147_180_556_832_4,
    0.240_226_512_134_980_92,
    0.055_504_109_063_258_665,
    0.009_618_025_613_318_034,
    0.001_333_347_847_368_541_6,
    0.000_154_697_292_141_182_96,
    0.000_015_303_701_170_636_567,
];
const DOUBLE_FULL: [f64; 12] = [
    1.0,
    std::f64::consts::LN_2,
    0.240_226_506_959_101_58,
    0.055_504_108_664_821_625,
    0.009_618_129_107_587_256,
    0.001_333_355_814_640_647,
    0.000_154_035_304_637_243_53,
    0.000_015_252_733_841_556_773,
    0.000_001_321_543_253_591_237_5,
    0.000_000_101_780_570_877_339_41,
    0.000_000_007_074_194_297_288_521,
    0.000_000_000_445_581_790_833_606_45,
];

/// Smaller exponents are replaced by these: their powers are negligible.
const LEAST_SINGLE: f64 = -125.0;
const LEAST_DOUBLE: f64 = -1021.0;

/// As [`Simd::powers_of_two`].
#[inline(always)]
pub(crate) fn powers_of_two<V: Simd, const B: usize, const FULL: bool>(mut x: [V; B]) -> [V; B] {
    let splat = |value| V::splat(V::Scalar::of(value));
    let single = V::Scalar::IS_SINGLE;
    let least = splat(if single { LEAST_SINGLE } else { LEAST_DOUBLE });
    // Added, it leaves the nearest integer in the lowest bits of the mantissa.
    let shift = splat(if single { 1.5 * 2f64.powi(23) } else { 1.5 * 2f64.powi(52) });
    let mut shifted = x;
    for b in 0..B {
        x[b] = x[b].max(least);
        shifted[b] = x[b].add(shift);
        x[b] = x[b].sub(shifted[b].sub(shift));
    }
    let mut powers = match (single, FULL) {
        (true, false) => polynomials(x, &SINGLE),
        (true, true) => polynomials(x, &SINGLE_FULL),
        (false, false) => polynomials(x, &DOUBLE),
        (false, true) => polynomials(x, &DOUBLE_FULL),
    };
    for b in 0..B {
        powers[b] = powers[b].exponent_plus(shifted[b]);
    }
    powers
}

/// `coefficients[0] + x (coefficients[1] + ...)`. The number of coefficients is known to the
/// compiler, or they would be rounded and broadcast to lanes each time.
#[inline(always)]
fn polynomials<V: Simd, const B: usize, const K: usize>(
    x: [V; B],
    coefficients: &[f64; K],
) -> [V; B] {
    let splat = |value| V::splat(V::Scalar::of(value));
    let mut sums = [splat(coefficients[K - 1]); B];
    for k in (0..K - 1).rev() {
        let c = splat(coefficients[k]);
        for b in 0..B {
            sums[b] = sums[b].mul_add(x[b], c);
        }
    }
    sums
}
