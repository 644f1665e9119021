//! Double-precision lanes for the hot loops, compiled for each instruction set and chosen at run time.
//!
//! Hot loops are written once, generic over [`Lanes`], as a [`Task`]; [`dispatch`] runs it with the widest vectors that the
//! processor at hand has, or those that FARAD_SIMD names. One lane is the twin for tests.

mod plain;
#[cfg(target_arch = "x86_64")]
mod x86;

use fmm::simd::Level;

/// Most lanes of any instruction set.
pub(crate) const MOST: usize = 8;

/// Work that is generic over the vector type. Implementations mark `run` as `#[inline(always)]`, so that it is compiled with
/// the instruction set of its caller.
pub(crate) trait Task {
    type Output;
    fn run<V: Lanes>(self) -> Self::Output;
}

/// Runs a task with the vectors that `fmm` chose for the processor at hand.
#[inline]
pub(crate) fn dispatch<T: Task>(task: T) -> T::Output {
    match Level::chosen() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level says that the processor has these instructions.
        Level::Avx512 => unsafe { x86::with_avx512(task) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::with_avx2(task) },
        _ => task.run::<plain::Plain<2>>(),
    }
}

/// A vector of `COUNT` double-precision numbers.
pub(crate) trait Lanes: Copy {
    const COUNT: usize;

    fn splat(value: f64) -> Self;
    /// Reads the first `COUNT` numbers; there are at least as many.
    fn load(from: &[f64]) -> Self;
    /// Writes the first `COUNT` numbers; there are at least as many.
    fn store(self, to: &mut [f64]);
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    /// `self * a + b`.
    fn mul_add(self, a: Self, b: Self) -> Self;
    fn sqrt(self) -> Self;
    fn abs(self) -> Self;
    fn min(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    /// 1/sqrt of positive numbers from 1e-38 to 1e38, to a relative error of 4e-4; anything of others.
    fn rsqrt_guess(self) -> Self;
    /// `yes` where `self > other`, `no` elsewhere.
    fn where_above(self, other: Self, yes: Self, no: Self) -> Self;
    /// Mantissas in [1, 2) of positive normal numbers.
    fn mantissa(self) -> Self;
    /// Difference of the binary exponents of positive normal numbers.
    fn exponent_less(self, other: Self) -> Self;

    /// 1/sqrt of each number above 0, 0 of the others; to a relative error of 1e-13 from 1e-38 to 1e38.
    #[inline(always)]
    fn rsqrt_or_zero(self) -> Self {
        let [root] = Self::rsqrts_or_zero([self]);
        root
    }

    /// The same of several vectors, each step for all of them before the next: a processor looks ahead no farther than a few of
    /// these chains.
    #[inline(always)]
    fn rsqrts_or_zero<const B: usize>(numbers: [Self; B]) -> [Self; B] {
        let mut roots = numbers;
        for b in 0..B {
            roots[b] = numbers[b].rsqrt_guess();
        }
        // Newton: the error e of a guess becomes 3/2 e^2, from 4e-4 to 3e-7 to 1.5e-13, from which rounding hides little.
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
            roots[b] = numbers[b].where_above(Self::zero(), roots[b], Self::zero());
        }
        roots
    }

    #[inline(always)]
    fn zero() -> Self {
        Self::splat(0.0)
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        let mut lanes = [0.0; MOST];
        self.store(&mut lanes);
        lanes[..Self::COUNT].iter().sum()
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

    /// ln(numerator / denominator) of positive normal numbers, to about 2 units in the last place of the larger of the
    /// result and 1/2.
    ///
    /// With the power of two taken out, the quotient is within a factor of sqrt 2 of 1, and
    /// ln q = 2 artanh((q - 1) / (q + 1)): one division.
    #[inline(always)]
    fn ln_ratio(numerator: Self, denominator: Self) -> Self {
        /// 2 artanh(s) / s in s^2 <= (3 - 2 sqrt 2)^2: interpolated at Chebyshev points, relative error 2e-18.
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

    /// The angle of (x, y), y >= 0, in [0, pi], 0 at the origin, to about 2 units in the last place.
    #[inline(always)]
    fn atan2_above(y: Self, x: Self) -> Self {
        use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
        /// atan(u) / u in u^2 <= tan(pi / 8)^2: interpolated at Chebyshev points, relative error 3e-18.
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
        // atan(short / long) in [0, pi / 4]; its upper half by atan t = pi / 4 + atan((t - 1) / (t + 1)).
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

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, exact: f64, scale: f64) {
        assert!((found - exact).abs() <= 4.0 * f64::EPSILON * scale, "{found} {exact}");
    }

    fn lanes<V: Lanes>(v: V) -> [f64; MOST] {
        let mut out = [0.0; MOST];
        v.store(&mut out);
        out
    }

    struct Functions;

    impl Task for Functions {
        type Output = ();

        #[inline(always)]
        fn run<V: Lanes>(self) {
            let mut seed = 1u64;
            let mut random = move || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 11) as f64 / (1u64 << 53) as f64
            };
            for _ in 0..20_000 {
                let mut of = |f: &dyn Fn(f64) -> f64| -> [f64; MOST] {
                    std::array::from_fn(|_| f(random()))
                };
                // Ratios from 1e-200 to 1e200, many of them close to 1.
                let a = of(&|u| 10f64.powf(200.0 * (u - 0.5)));
                let b = of(&|u| 10f64.powf(200.0 * (u - 0.5)));
                let mut c = of(&|u| 1.0 + (u - 0.5).powi(5));
                c.iter_mut().zip(&a).for_each(|(c, a)| *c *= a);
                for (n, d) in [(a, b), (a, c), (a, a)] {
                    let found = lanes(V::ln_ratio(V::load(&n), V::load(&d)));
                    for i in 0..V::COUNT {
                        let exact = ((n[i] - d[i]) / d[i]).ln_1p();
                        let exact = if exact.abs() < 1.0 { exact } else { n[i].ln() - d[i].ln() };
                        // The difference of logarithms itself is rounded.
                        let scale = exact.abs() + if exact.abs() < 1.0 { 0.0 } else { 200.0 };
                        close(found[i], exact, scale.max(1e-3));
                    }
                }
                let y = of(&|u| 10f64.powf(20.0 * (u - 0.5)));
                let x = of(&|u| (2.0 * u - 1.0).powi(7));
                let found = lanes(V::atan2_above(V::load(&y), V::load(&x)));
                let on_axis = lanes(V::atan2_above(V::zero(), V::load(&x)));
                for i in 0..V::COUNT {
                    let exact = y[i].atan2(x[i]);
                    close(found[i], exact, exact);
                    close(on_axis[i], 0f64.atan2(x[i]), 1.0);
                }
            }
            assert_eq!(lanes(V::atan2_above(V::zero(), V::zero()))[0], 0.0);
            let counted: [f64; MOST] = std::array::from_fn(|i| 1.0 + i as f64);
            let v = V::load(&counted);
            assert_eq!(v.sum(), (V::COUNT * (V::COUNT + 1) / 2) as f64);
            let results = [
                v.add(V::splat(0.5)),
                v.sub(V::splat(0.5)),
                v.mul(V::splat(0.5)),
                v.div(V::splat(0.5)),
                v.mul_add(v, V::splat(0.5)),
                v.mul(v).sqrt(),
                V::zero().sub(v).abs(),
                v.min(V::splat(1.5)),
                v.max(V::splat(1.5)),
                v.where_above(V::splat(1.5), V::zero(), v),
            ];
            for scale in [1e-30, 1e-3, 1.0, 1e30] {
                let roots = lanes(v.sub(V::splat(1.0)).mul(V::splat(scale)).rsqrt_or_zero());
                assert_eq!(roots[0], 0.0);
                for i in 1..V::COUNT {
                    let exact = 1.0 / (i as f64 * scale).sqrt();
                    assert!((roots[i] / exact - 1.0).abs() < 1e-13);
                }
            }
            for i in 0..V::COUNT {
                let x = counted[i];
                let above = if x > 1.5 { 0.0 } else { x };
                let exact = [
                    x + 0.5,
                    x - 0.5,
                    x * 0.5,
                    x / 0.5,
                    x * x + 0.5,
                    x,
                    x,
                    x.min(1.5),
                    x.max(1.5),
                    above,
                ];
                for (found, exact) in results.iter().zip(exact) {
                    assert_eq!(lanes(*found)[i], exact);
                }
            }
        }
    }

    #[test]
    fn functions_match_those_of_the_standard_library() {
        Functions.run::<plain::Plain<1>>();
        Functions.run::<plain::Plain<2>>();
        dispatch(Functions);
    }
}
