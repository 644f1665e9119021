//! Vectors without intrinsics: one lane as the twin for tests, a few lanes for processors without AVX2.

use super::{Real, Simd, Task};
use crate::product::{Lanes, Matrix, product};

/// One lane.
#[cfg(test)]
pub(crate) type One<T> = Array<T, 1>;

/// `N` lanes that the compiler may vectorise.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Array<T, const N: usize>([T; N]);

macro_rules! array {
    ($scalar:ty) => {
        impl<const N: usize> Simd for Array<$scalar, N> {
            type Scalar = $scalar;
            const LANES: usize = N;

            #[inline(always)]
            fn splat(value: $scalar) -> Self {
                Self([value; N])
            }

            #[inline(always)]
            fn load(from: &[$scalar]) -> Self {
                let mut lanes = [0.0; N];
                lanes.copy_from_slice(&from[..N]);
                Self(lanes)
            }

            #[inline(always)]
            fn store(self, to: &mut [$scalar]) {
                to[..N].copy_from_slice(&self.0);
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] + other.0[i]))
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] - other.0[i]))
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] * other.0[i]))
            }

            // Not `f32::mul_add`: without the instruction it is a call into the C library.
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] * a.0[i] + b.0[i]))
            }

            #[inline(always)]
            fn neg_mul_add(self, a: Self, b: Self) -> Self {
                Self(std::array::from_fn(|i| b.0[i] - self.0[i] * a.0[i]))
            }

            #[inline(always)]
            fn inverse_roots<const B: usize, const FULL: bool>(x: [Self; B]) -> [Self; B] {
                x.map(|x| Self(x.0.map(|x| 1.0 / x.sqrt())))
            }

            #[inline(always)]
            fn where_above(self, x: Self, threshold: Self) -> Self {
                Self(std::array::from_fn(|i| if x.0[i] > threshold.0[i] { self.0[i] } else { 0.0 }))
            }

            #[inline(always)]
            fn abs(self) -> Self {
                Self(self.0.map(<$scalar>::abs))
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i].max(other.0[i])))
            }

            #[inline(always)]
            fn min(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i].min(other.0[i])))
            }

            #[inline(always)]
            fn any_at_most(self, threshold: Self) -> bool {
                (0..N).any(|i| self.0[i] <= threshold.0[i])
            }

            #[inline(never)]
            fn product<const B: usize>(
                matrix: Matrix<'_, $scalar>,
                x: (&[Lanes<Self, B>], usize),
                y: (&mut [Lanes<Self, B>], usize),
            ) {
                product(matrix, x, y);
            }

            #[inline(never)]
            fn run<K: Task<$scalar>>(task: K) -> K::Output {
                task.run::<Self>()
            }

            #[inline(always)]
            fn sum(self) -> $scalar {
                self.0.iter().fold(<$scalar>::of(0.0), |sum, &lane| sum + lane)
            }
        }
    };
}

array!(f32);
array!(f64);
