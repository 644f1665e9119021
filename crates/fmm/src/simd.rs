//! The vectors of the FMM's loops are those of the crate `simd`, in tests with the scalar twin.

#[cfg(not(test))]
pub(crate) use ::simd::dispatch;
pub(crate) use ::simd::{Call, Level, MAX_LANES, Real, Simd, Task, check, scalars_mut};
#[cfg(test)]
pub(crate) use ::simd::{One, testing::dispatch};
