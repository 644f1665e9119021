//! Vectors without intrinsics: one lane as the twin for tests, two for processors without AVX2.

use super::Lanes;

/// `N` lanes that the compiler may vectorise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain<const N: usize>([f64; N]);

impl<const N: usize> Plain<N> {
    #[inline(always)]
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self(std::array::from_fn(|i| f(self.0[i])))
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

impl<const N: usize> Lanes for Plain<N> {
    const COUNT: usize = N;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self([value; N])
    }

    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        Self(std::array::from_fn(|i| from[i]))
    }

    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        to[..N].copy_from_slice(&self.0);
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }

    // Not `f64::mul_add`: without the instruction it is a call into the C library.
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] * a.0[i] + b.0[i]))
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(f64::sqrt)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.map(f64::abs)
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn rsqrt_guess(self) -> Self {
        self.map(|a| 1.0 / a.sqrt())
    }

    #[inline(always)]
    fn where_above(self, other: Self, yes: Self, no: Self) -> Self {
        Self(std::array::from_fn(|i| if self.0[i] > other.0[i] { yes.0[i] } else { no.0[i] }))
    }

    #[inline(always)]
    fn mantissa(self) -> Self {
        self.map(|a| f64::from_bits((a.to_bits() & ((1 << 52) - 1)) | 1.0f64.to_bits()))
    }

    #[inline(always)]
    fn exponent_less(self, other: Self) -> Self {
        self.zip(other, |a, b| (a.to_bits() >> 52) as f64 - (b.to_bits() >> 52) as f64)
    }
}
