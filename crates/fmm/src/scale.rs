//! Strengths of any size as numbers of about 1.
//!
//! Sums are linear, so strengths may be multiplied by a power of two, without rounding, and the
//! sums divided by it. Otherwise charges of 1e39 would be infinite in single precision, and those
//! of 1e-50 zero. CPU twin of `strength_exponent` in kernels/particles.cu.

use parallel::prelude::*;

/// Exponents beyond this one are cut off: 2^1000 and 2^-1000 are both normal numbers, and what is
/// left of the range of double precision fits single precision.
const MOST: i32 = 1000;

/// A power of two that one density's strengths are multiplied by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    factor: f64,
    inverse: f64,
}

impl Scale {
    /// Brings the largest strength to between 1 and 2: charges as they are, components of dipoles
    /// in units of `side`.
    pub(crate) fn of(charges: &[f64], dipoles: &[f64], side: f64) -> Self {
        Self::by(Self::exponent(charges, dipoles, side).unwrap_or(0))
    }

    /// The exponent of the largest strength; none if all are zero.
    pub(crate) fn exponent(charges: &[f64], dipoles: &[f64], side: f64) -> Option<i32> {
        let charges = exponent(largest(charges));
        let dipoles = exponent(largest(dipoles)).map(|e| e - exponent(side).unwrap_or(0));
        charges.max(dipoles)
    }

    /// Divides by a power of two.
    pub(crate) fn by(exponent: i32) -> Self {
        let exponent = exponent.clamp(-MOST, MOST);
        let power = |exponent: i32| f64::from_bits(((1023 + exponent) as u64) << 52);
        Self { factor: power(-exponent), inverse: power(exponent) }
    }

    #[inline(always)]
    pub(crate) fn apply(self, strength: f64) -> f64 {
        strength * self.factor
    }

    #[inline(always)]
    pub(crate) fn undo(self, sum: f64) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_strength_becomes_about_1_without_rounding() {
        for largest in [5e-324, 1e-310, 1e-50, 0.7, 1.0, 3.0, 1e39, f64::MAX] {
            for strengths in [[largest, -0.1 * largest], [0.3 * largest, -largest]] {
                let scale = Scale::of(&strengths, &[], 1.0);
                let scaled = strengths.map(|q| scale.apply(q));
                // Subnormal numbers and the largest ones come within single precision's range, if
                // not to 1.
                let most = scaled[0].abs().max(scaled[1].abs());
                assert!((1e-24..1e8).contains(&most), "{largest:e}: {most:e}");
                assert!((1e-300..1e300).contains(&largest) <= (1.0..2.0).contains(&most));
                assert_eq!(scaled.map(|q| scale.undo(q)), strengths);
            }
        }
        assert_eq!(Scale::of(&[0.0; 3], &[], 1.0), Scale::by(0));
        assert_eq!(Scale::of(&[], &[], 1.0), Scale::by(0));
    }

    #[test]
    fn dipoles_count_in_units_of_the_side() {
        assert_eq!(Scale::of(&[1.0], &[8.0, 0.0, 0.0], 2.0), Scale::by(2));
        assert_eq!(Scale::of(&[64.0], &[8.0, 0.0, 0.0], 2.0), Scale::by(6));
        assert_eq!(Scale::of(&[], &[0.0, -8.0, 0.0], 0.25), Scale::by(5));
        assert_eq!(Scale::of(&[0.0], &[0.0; 3], 1e-9), Scale::by(0));
    }
}
