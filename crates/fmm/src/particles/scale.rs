//! Strengths of any size as numbers of about 1.
//!
//! Sums are linear, so strengths may be multiplied by a power of two, without rounding, and the
//! sums divided by it. Otherwise charges of 1e39 would be infinite in single precision, and those
//! of 1e-50 zero. CPU twin of `strength_exponent` in kernels/fmm/particles.cu.

use parallel::prelude::*;

/// Exponents beyond this one are cut off: 2^1000 and 2^-1000 are both normal numbers, and what is
/// left of the range of double precision fits single precision.
const MOST: i32 = 1000;

/// A power of two that one density's strengths are multiplied by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    factor: f64,
    inverse: f64,
}

impl Scale {
    /// Brings the largest strength to between 1 and 2: charges as they are, components of dipoles
    /// in units of `side`.
    pub fn of(charges: &[f64], dipoles: &[f64], side: f64) -> Self {
        Self::by(Self::exponent(charges, dipoles, side).unwrap_or(0))
    }

    /// The exponent of the largest strength; none if all are zero.
    pub(crate) fn exponent(charges: &[f64], dipoles: &[f64], side: f64) -> Option<i32> {
        let charges = exponent(largest(charges));
        let dipoles = exponent(largest(dipoles)).map(|e| e - exponent(side).unwrap_or(0));
        charges.max(dipoles)
    }

    /// Divides by a power of two.
    pub fn by(exponent: i32) -> Self {
        let exponent = exponent.clamp(-MOST, MOST);
        let power = |exponent: i32| f64::from_bits(((1023 + exponent) as u64) << 52);
        Self { factor: power(-exponent), inverse: power(exponent) }
    }

    /// The scaled strength.
    #[inline(always)]
    pub fn apply(self, strength: f64) -> f64 {
        strength * self.factor
    }

    /// What a sum of scaled strengths stands for.
    #[inline(always)]
    pub fn undo(self, sum: f64) -> f64 {
        sum * self.inverse
    }
}

/// The largest magnitude; NaN does not count.
fn largest(values: &[f64]) -> f64 {
    let of = |some: &[f64]| {
        some.iter().fold(0.0f64, |most, v| if v.abs() > most { v.abs() } else { most })
    };
    values.par_chunks(1 << 14).map(of).reduce(|| 0.0, f64::max)
}

/// The exponent of a positive number's leading bit, -1023 if it is subnormal; none of zero.
fn exponent(value: f64) -> Option<i32> {
    (value > 0.0).then_some((value.to_bits() >> 52) as i32 - 1023)
}
