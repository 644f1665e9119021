//! Ranges of numbers that case files and Python accept: one place for both.

use std::ops::RangeInclusive;

/// Tolerances, relative, that the FMM and the solver are built and tested for.
pub const TOLERANCE: RangeInclusive<f64> = 1e-12..=0.1;

/// Accuracies of results, relative, that double precision supports.
pub const ACCURACY: RangeInclusive<f64> = 1e-9..=0.1;

/// Relative permittivities: wide enough for scaled units, narrow enough that farads neither
/// overflow nor vanish.
pub const PERMITTIVITY: RangeInclusive<f64> = 1e-12..=1e12;

/// Inverse screening lengths per unit of length, and ionic strengths in mol/l.
pub const SCREENING: RangeInclusive<f64> = 0.0..=1e15;

/// Lengths, temperatures in kelvin, viscosities, seconds: all that is above 0 and may be squared.
pub const POSITIVE: RangeInclusive<f64> = 1e-30..=1e30;
