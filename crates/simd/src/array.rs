//! Vectors without intrinsics: one lane, the baseline of x86-64 and the twin for tests; a few lanes
//! for other processors.

use crate::{Call, Real, Simd};

/// One lane.
pub type One<T> = Array<T, 1>;

/// `N` lanes that the compiler may vectorise.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Array<T, const N: usize>([T; N]);

impl<T: Real, const N: usize> Array<T, N> {
    #[inline(always)]
    fn map(self, f: impl Fn(T) -> T) -> Self {
        Self(std::array::from_fn(|i| f(self.0[i])))
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(T, T) -> T) -> Self {
        Self(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

// SAFETY: an array of `N` scalars, transparently.
unsafe impl<T: Real, const N: usize> Simd for Array<T, N> {
    type Scalar = T;
    const LANES: usize = N;
    const GUESS_IS_EXACT: bool = true;

    #[inline(always)]
    fn splat(value: T) -> Self {
        Self([value; N])
    }

    #[inline(always)]
    fn load(from: &[T]) -> Self {
        let mut lanes = [T::default(); N];
        lanes.copy_from_slice(&from[..N]);
        Self(lanes)
    }

    #[inline(always)]
    fn store(self, to: &mut [T]) {
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
    fn neg_mul_add(self, a: Self, b: Self) -> Self {
        Self(std::array::from_fn(|i| b.0[i] - self.0[i] * a.0[i]))
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(T::sqrt)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.map(T::abs)
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn rsqrt_guess(self) -> Self {
        self.map(|a| T::of(1.0) / a.sqrt())
    }

    #[inline(always)]
    fn where_above(self, other: Self, yes: Self, no: Self) -> Self {
        Self(std::array::from_fn(|i| if self.0[i] > other.0[i] { yes.0[i] } else { no.0[i] }))
    }

    #[inline(always)]
    fn zero_unless_above(self, x: Self, threshold: Self) -> Self {
        x.where_above(threshold, self, Self::zero())
    }

    #[inline(always)]
    fn any_at_most(self, threshold: Self) -> bool {
        (0..N).any(|i| self.0[i] <= threshold.0[i])
    }

    #[inline(always)]
    fn mantissa(self) -> Self {
        self.map(T::mantissa)
    }

    #[inline(always)]
    fn exponent_less(self, other: Self) -> Self {
        self.zip(other, |a, b| a.exponent() - b.exponent())
    }

    #[inline(always)]
    fn exponent_plus(self, shifted: Self) -> Self {
        self.zip(shifted, T::exponent_plus)
    }

    #[inline(never)]
    fn call<C: Call>(call: C) -> C::Output {
        call.call()
    }

    #[inline(always)]
    fn quick_sum(self) -> T {
        self.sum()
    }
}
