//! Vectors of floating-point lanes, with the instruction set chosen at run time.
//!
//! Every hot loop is written once, generic over [`Simd`], as a [`Task`]; [`run`] compiles it for
//! each instruction set and runs it with the widest vectors that the processor supports, or those
//! that [`VARIABLE`] names. [`Elementary`] has functions of double-precision lanes. One lane
//! without intrinsics ([`One`]), the baseline of x86-64, is the reference for tests.

mod array;
mod elementary;
mod exponential;
mod level;
mod roots;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use array::{Array, One};
pub use elementary::Elementary;
pub use level::{Error, Level, VARIABLE, check};

/// What the program `tests/internals` looks into: no part of the interface, free to change.
#[doc(hidden)]
pub mod internals {
    pub use crate::level::Set;
}

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// Work that is generic over the vector type. Implementations mark `run` as `#[inline(always)]`, so
/// that it is compiled with the instruction set of its caller.
pub trait Task<T: Real> {
    /// Its result.
    type Output;
    /// Does the work with vectors of type `V`.
    fn run<V: Simd<Scalar = T>>(self) -> Self::Output;
}

/// A function and its arguments, for a known vector type, for [`Simd::call`]. Inlined like a
/// [`Task`].
pub trait Call {
    /// Its result.
    type Output;
    /// Calls the function.
    fn call(self) -> Self::Output;
}

/// A task with the vectors of type `V`.
struct TaskWith<V, K>(K, std::marker::PhantomData<V>);

impl<V: Simd, K: Task<V::Scalar>> Call for TaskWith<V, K> {
    type Output = K::Output;

    #[inline(always)]
    fn call(self) -> K::Output {
        self.0.run::<V>()
    }
}

/// Runs a task with the vectors of [`Level::chosen`].
#[inline]
pub fn run<T: Real, K: Task<T>>(task: K) -> K::Output {
    dispatch(Level::chosen(), task)
}

/// Runs a task with the vectors of `level`.
#[inline]
pub fn dispatch<T: Real, K: Task<T>>(level: Level, task: K) -> K::Output {
    T::dispatch(level, task)
}

/// The types of lanes.
pub trait Real:
    bytemuck::Pod
    + Send
    + Sync
    + Default
    + PartialOrd
    + Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + 'static
{
    /// Known at compile time, so that code for one precision is compiled for it alone.
    const IS_SINGLE: bool = size_of::<Self>() == 4;
    /// Lanes of the widest vector, which fill a cache line. The number of lanes of every vector
    /// divides it.
    const MAX_LANES: usize = 64 / size_of::<Self>();
    /// The number closest to `value`.
    fn of(value: f64) -> Self;
    /// As `f64`; exact.
    fn to_f64(self) -> f64;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Mantissa in [1, 2) of a positive normal number.
    fn mantissa(self) -> Self;
    /// Biased binary exponent of a positive normal number.
    fn exponent(self) -> Self;
    /// [`Simd::exponent_plus`] of one lane.
    fn exponent_plus(self, shifted: Self) -> Self;
    /// [`dispatch`] for this type.
    #[doc(hidden)]
    fn dispatch<K: Task<Self>>(level: Level, task: K) -> K::Output;
}

/// Lanes of the widest vector of any type.
pub const MAX_LANES: usize = f32::MAX_LANES;

/// Numbers of lanes, 0, 1, 2, ..., as doubles: to distinguish the valid lanes of a last vector from
/// those past the end.
pub const COUNTED: [f64; MAX_LANES] = {
    let mut counted = [0.0; MAX_LANES];
    let mut i = 0;
    while i < MAX_LANES {
        counted[i] = i as f64;
        i += 1;
    }
    counted
};

/// A vector of `LANES` scalars.
///
/// # Safety
/// A vector is exactly `LANES` scalars without padding, and any bit pattern is valid.
pub unsafe trait Simd: Copy + Send + Sync + 'static {
    /// The type of a lane.
    type Scalar: Real;
    /// Number of lanes.
    const LANES: usize;
    /// Whether [`Self::rsqrt_guess`] is exact, up to rounding.
    const GUESS_IS_EXACT: bool = false;

    /// One number in all lanes.
    fn splat(value: Self::Scalar) -> Self;
    /// 0 in all lanes.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(Self::Scalar::default())
    }
    /// Reads the first `LANES` scalars; the slice is at least that long.
    fn load(from: &[Self::Scalar]) -> Self;
    /// Writes the first `LANES` scalars; the slice is at least that long.
    fn store(self, to: &mut [Self::Scalar]);
    /// `self + other`.
    fn add(self, other: Self) -> Self;
    /// `self - other`.
    fn sub(self, other: Self) -> Self;
    /// `self * other`.
    fn mul(self, other: Self) -> Self;
    /// `self / other`.
    fn div(self, other: Self) -> Self;
    /// `self * a + b`.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// `b - self * a`.
    fn neg_mul_add(self, a: Self, b: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// The larger of two.
    fn max(self, other: Self) -> Self;
    /// The smaller of two.
    fn min(self, other: Self) -> Self;
    /// `1 / sqrt(self)` of positive numbers from 1e-38 to 1e38, to a relative error of 4e-4; of
    /// others anything.
    fn rsqrt_guess(self) -> Self;
    /// `yes` where `self > other`, `no` elsewhere.
    fn where_above(self, other: Self, yes: Self, no: Self) -> Self;
    /// `self` where `x > threshold`, 0 elsewhere: on AVX2 one instruction less than
    /// [`Self::where_above`].
    fn zero_unless_above(self, x: Self, threshold: Self) -> Self;
    /// Whether any lane is at most `threshold`.
    fn any_at_most(self, threshold: Self) -> bool;
    /// Mantissas in [1, 2) of positive normal numbers.
    fn mantissa(self) -> Self;
    /// Difference of the binary exponents of positive normal numbers.
    fn exponent_less(self, other: Self) -> Self;
    /// `self * 2^n`, n being the integer (positive or not) in the lowest bits of the mantissa of
    /// `shifted`, as adding 1.5 * 2^52 (in single precision 1.5 * 2^23) to it leaves there; `self`
    /// and the result are normal numbers.
    fn exponent_plus(self, shifted: Self) -> Self;

    /// Calls a function, compiled with the instruction set of these vectors and separately from its
    /// caller: compile time grows faster than the size of a function.
    fn call<C: Call>(call: C) -> C::Output;
    /// Runs a task with these vectors, by [`Self::call`].
    #[inline(always)]
    fn run<K: Task<Self::Scalar>>(task: K) -> K::Output {
        Self::call(TaskWith::<Self, K>(task, std::marker::PhantomData))
    }

    /// Factor of [`Self::inverse_roots`] if not `FULL`: removing it would cost the refinement of a
    /// guess one more multiplication.
    const ROOT_SCALE: f64 =
        if Self::Scalar::IS_SINGLE && !Self::GUESS_IS_EXACT { 2.0 } else { 1.0 };
    /// `1 / sqrt(x)` of each of `B` vectors of positive lanes, step by step side by side, so that
    /// the steps of one hide the latency of another. To nearly working precision, or, if not
    /// `FULL`, times [`Self::ROOT_SCALE`] and to a relative error of 2e-7 in single and 1.3e-10 in
    /// double precision. Lanes that are 0 give anything.
    #[inline(always)]
    fn inverse_roots<const B: usize, const FULL: bool>(x: [Self; B]) -> [Self; B] {
        // By `map`: after a loop the compiler interleaves what follows worse (AVX2, double
        // precision: P2P takes 8 % longer).
        let guesses = x.map(|x| x.rsqrt_guess());
        match (Self::GUESS_IS_EXACT, Self::Scalar::IS_SINGLE, FULL) {
            (true, _, _) => guesses,
            (false, true, false) => roots::newton(x, guesses),
            (false, false, true) => roots::series::<_, B, 3>(x, guesses),
            _ => roots::series::<_, B, 2>(x, guesses),
        }
    }

    /// 2^x of each of `B` vectors of lanes up to 126 in single and 1022 in double precision, step
    /// by step side by side. To nearly working precision, or, if not `FULL`, to a relative error of
    /// 3e-7 in single and 6e-11 in double precision. Lanes below -125 and -1021 count as these.
    #[inline(always)]
    fn powers_of_two<const B: usize, const FULL: bool>(x: [Self; B]) -> [Self; B] {
        exponential::powers_of_two::<Self, B, FULL>(x)
    }

    /// Adds each lane to a double.
    #[inline(always)]
    fn add_to_doubles(self, doubles: &mut [f64; MAX_LANES]) {
        let lanes = self.lanes();
        for i in 0..Self::LANES {
            doubles[i] += lanes[i].to_f64();
        }
    }

    /// The lanes, and zeros after them.
    #[inline(always)]
    fn lanes(self) -> [Self::Scalar; MAX_LANES] {
        let mut lanes = [Self::Scalar::default(); MAX_LANES];
        self.store(&mut lanes);
        lanes
    }

    /// Sum of the lanes, in their order.
    #[inline(always)]
    fn sum(self) -> Self::Scalar {
        let lanes = self.lanes();
        lanes[1..Self::LANES].iter().fold(lanes[0], |sum, &lane| sum + lane)
    }

    /// Sum of the lanes, in the order that is quickest.
    fn quick_sum(self) -> Self::Scalar;

    /// Lane `l` of vector `i` becomes lane `i` of vector `l`, of the first `LANES` vectors.
    #[inline(always)]
    fn transpose(from: &mut [Self]) {
        let flat = scalars_mut(from);
        for i in 0..Self::LANES {
            for j in 0..i {
                flat.swap(i * Self::LANES + j, j * Self::LANES + i);
            }
        }
    }
}

/// The lanes of `vectors` as scalars, vector by vector.
#[inline(always)]
pub fn scalars_mut<V: Simd>(vectors: &mut [V]) -> &mut [V::Scalar] {
    // SAFETY: by the contract of `Simd`; the alignment of a vector is at least that of its scalars.
    unsafe { std::slice::from_raw_parts_mut(vectors.as_mut_ptr().cast(), vectors.len() * V::LANES) }
}

macro_rules! real {
    ($scalar:ty, $lanes:literal, $avx2:ident, $avx512:ident) => {
        impl Real for $scalar {
            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $scalar
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                <$scalar>::sqrt(self)
            }

            #[inline(always)]
            fn abs(self) -> Self {
                <$scalar>::abs(self)
            }

            #[inline(always)]
            fn mantissa(self) -> Self {
                let below_one = (1 << (<$scalar>::MANTISSA_DIGITS - 1)) - 1;
                let one: $scalar = 1.0;
                <$scalar>::from_bits((self.to_bits() & below_one) | one.to_bits())
            }

            #[inline(always)]
            fn exponent(self) -> Self {
                (self.to_bits() >> (<$scalar>::MANTISSA_DIGITS - 1)) as $scalar
            }

            #[inline(always)]
            fn exponent_plus(self, shifted: Self) -> Self {
                let power = shifted.to_bits() << (<$scalar>::MANTISSA_DIGITS - 1);
                <$scalar>::from_bits(self.to_bits().wrapping_add(power))
            }

            #[inline]
            fn dispatch<K: Task<Self>>(level: Level, task: K) -> K::Output {
                match level.0 {
                    #[cfg(target_arch = "x86_64")]
                    level::Set::Avx2 => x86::$avx2::run(task),
                    #[cfg(target_arch = "x86_64")]
                    level::Set::Avx512 => x86::$avx512::run(task),
                    #[cfg(target_arch = "x86_64")]
                    _ => One::<$scalar>::run(task),
                    #[cfg(not(target_arch = "x86_64"))]
                    _ => Array::<$scalar, $lanes>::run(task),
                }
            }
        }
    };
}

real!(f32, 4, F32x8, F32x16);
real!(f64, 2, F64x4, F64x8);

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
