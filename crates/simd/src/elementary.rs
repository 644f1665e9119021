//! Elementary functions of double-precision lanes.

use crate::Simd;

/// Vectors of double precision, with elementary functions.
pub trait Elementary: Simd<Scalar = f64> {
    /// 1/sqrt of each number above 0, 0 of the others; to a relative error of 1e-13 from 1e-38 to
    /// 1e38.
    #[inline(always)]
    fn rsqrt_or_zero(self) -> Self {
        let [root] = Self::rsqrts_or_zero([self]);
        root
    }

    /// For several vectors, each step for all of them before the next: a processor looks
    /// ahead over only a few of these chains.
    #[inline(always)]
    fn rsqrts_or_zero<const B: usize>(numbers: [Self; B]) -> [Self; B] {
        let mut roots = numbers;
        for b in 0..B {
            roots[b] = numbers[b].rsqrt_guess();
        }
        // Newton: the error e of a guess becomes 3/2 e^2, from 4e-4 to 3e-7 to 1.5e-13, from which
        // rounding hides little.
        for _ in 0..2 {
            let mut factors = numbers;
            for b in 0..B {
                factors[b] = numbers[b].mul(Self::splat(-0.5)).mul(roots[b]);
            }
            for b in 0..B {
                factors[b] = factors[b].mul_add(roots[b], Self::splat(1.5));
            }
            for b in 0..B {
                roots[b] = roots[b].mul(factors[b]);
            }
        }
        for b in 0..B {
            roots[b] = roots[b].zero_unless_above(numbers[b], Self::zero());
        }
        roots
    }

    /// `coefficients[0] + self (coefficients[1] + ...)`.
    #[inline(always)]
    fn polynomial<const K: usize>(self, coefficients: &[f64; K]) -> Self {
        let mut sum = Self::splat(coefficients[K - 1]);
        for &c in coefficients[..K - 1].iter().rev() {
            sum = sum.mul_add(self, Self::splat(c));
        }
        sum
    }

    /// exp of numbers up to 709, to a relative error of 4e-16; numbers below -708 count as -708,
    /// whose exponential is 3e-308.
    #[inline(always)]
    fn exp(self) -> Self {
        /// (exp(r) - 1 - r) / r^2 in |r| <= ln(2) / 2: interpolated at Chebyshev points, relative
        /// error of the exponential 2e-17.
        const TAIL: [f64; 10] = [
            0.500_000_000_000_000_1,
            0.166_666_666_666_666_74,
            0.041_666_666_666_624_13,
            0.008_333_333_333_330_062,
            0.001_388_888_891_721_371_7,
            0.000_198_412_698_630_536_17,
            0.000_024_801_521_295_954_375,
            2.755_726_845_999_706_5e-6,
            2.762_008_844_540_974_8e-7,
            2.510_038_549_551_032e-8,
        ];
        self.exp_by(&TAIL)
    }

    /// [`Elementary::exp`] to a relative error of 1.1e-8, five steps shorter.
    #[inline(always)]
    fn rough_exp(self) -> Self {
        /// As above, relative error 1.02e-8.
        const TAIL: [f64; 5] = [
            0.5,
            0.166_665_769_896_987_76,
            0.041_666_554_617_204_575,
            0.008_363_179_052_722_577,
            0.001_392_618_358_771_349_5,
        ];
        self.exp_by(&TAIL)
    }

    /// exp(x) = 2^n exp(r), x = n ln 2 + r, with exp(r) = 1 + r + r^2 (tail of r).
    #[inline(always)]
    fn exp_by<const K: usize>(self, tail: &[f64; K]) -> Self {
        /// Added, it leaves the nearest integer in the lowest bits of the mantissa.
        const SHIFT: f64 = 1.5 * (1u64 << 52) as f64;
        /// ln 2 in two parts: products of the first, of 33 bits, with n are exact.
        const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
        const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
        let x = self.max(Self::splat(-708.0));
        let shifted = x.mul_add(Self::splat(std::f64::consts::LOG2_E), Self::splat(SHIFT));
        let n = shifted.sub(Self::splat(SHIFT));
        let r = n.neg_mul_add(Self::splat(LN_2_HIGH), x);
        let r = n.neg_mul_add(Self::splat(LN_2_LOW), r);
        let square = r.mul(r);
        let tail = square.mul_add(r.polynomial(tail), r);
        tail.add(Self::splat(1.0)).exponent_plus(shifted)
    }

    /// ln(numerator / denominator) of positive normal numbers, to about 2 units in the last place
    /// of the larger of the result and 1/2.
    ///
    /// With the power of two taken out, the quotient is within a factor of sqrt 2 of 1, and
    /// ln q = 2 artanh((q - 1) / (q + 1)): one division.
    #[inline(always)]
    fn ln_ratio(numerator: Self, denominator: Self) -> Self {
        /// 2 artanh(s) / s in s^2 <= (3 - 2 sqrt 2)^2: interpolated at Chebyshev points, relative
        /// error 2e-18.
        const ARTANH: [f64; 8] = [
            2.0,
            0.666_666_666_666_676_5,
            0.399_999_999_992_980_7,
            0.285_714_287_616_094_8,
            0.222_221_969_533_630_16,
            0.181_836_372_994_809,
            0.153_123_777_358_314_6,
            0.148_112_825_677_490_3,
        ];
        let (n, d) = (numerator.mantissa(), denominator.mantissa());
        let exponent = numerator.exponent_less(denominator);
        let root = Self::splat(std::f64::consts::SQRT_2);
        // n / d is between 1/2 and 2.
        let high = n.where_above(d.mul(root), Self::splat(1.0), Self::zero());
        let low = d.where_above(n.mul(root), Self::splat(1.0), Self::zero());
        let n = n.mul_add(low, n);
        let d = d.mul_add(high, d);
        let exponent = exponent.add(high.sub(low));
        let s = n.sub(d).div(n.add(d));
        let tail = s.mul(s.mul(s).polynomial(&ARTANH));
        exponent.mul_add(Self::splat(std::f64::consts::LN_2), tail)
    }

    /// The angle of (x, y), y >= 0, in [0, pi], 0 at the origin, to about 2 units in the last
    /// place.
    #[inline(always)]
    fn atan2_above(y: Self, x: Self) -> Self {
        use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
        /// atan(u) / u in u^2 <= tan(pi / 8)^2: interpolated at Chebyshev points, relative error
        /// 3e-18.
        const ATAN: [f64; 12] = [
            1.0,
            -0.333_333_333_333_331_2,
            0.199_999_999_999_403_5,
            -0.142_857_142_791_973_12,
            0.111_111_107_422_868_92,
            -0.090_908_967_329_787_9,
            0.076_920_439_650_026_5,
            -0.066_629_361_161_365_17,
            0.058_467_627_400_560_856,
            -0.050_345_755_945_220_44,
            0.037_951_714_222_963_38,
            -0.017_790_395_523_288_063,
        ];
        let tan_pi_8 = Self::splat(std::f64::consts::SQRT_2 - 1.0);
        let zero = Self::zero();
        let size = x.abs();
        // Not 0 at the origin either.
        let (short, long) = (size.min(y), size.max(y).max(Self::splat(f64::MIN_POSITIVE)));
        // atan(short / long) in [0, pi / 4]; its upper half by atan
        // t = pi / 4 + atan((t - 1) / (t + 1)).
        let bound = long.mul(tan_pi_8);
        let numerator = short.where_above(bound, short.sub(long), short);
        let denominator = short.where_above(bound, short.add(long), long);
        let shift = short.where_above(bound, Self::splat(FRAC_PI_4), zero);
        let u = numerator.div(denominator);
        let angle = u.mul_add(u.mul(u).polynomial(&ATAN), shift);
        let angle = y.where_above(size, Self::splat(FRAC_PI_2).sub(angle), angle);
        zero.where_above(x, Self::splat(PI).sub(angle), angle)
    }
}

impl<V: Simd<Scalar = f64>> Elementary for V {}
