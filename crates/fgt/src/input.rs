//! What callers pass, and its checks.

use parallel::prelude::*;

use crate::Error;
use crate::boxes::Point;

/// Bandwidths delta of the sources, in squared units of length.
#[derive(Clone, Copy, Debug)]
pub enum Bandwidths<'a> {
    /// One for all.
    Same(f64),
    /// One each, n values.
    Each(&'a [f64]),
}

/// A regular grid of targets: origin + index * spacing, the last axis fastest (row-major).
#[derive(Clone, Debug, PartialEq)]
pub struct Grid<const D: usize> {
    /// The first target.
    pub origin: [f64; D],
    /// From target to target along each axis; any sign.
    pub spacing: [f64; D],
    /// Targets along each axis.
    pub shape: [usize; D],
}

impl<const D: usize> Grid<D> {
    /// Number of targets.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The targets, shape (len, D).
    pub fn points(&self) -> Vec<[f64; D]> {
        (0..self.len())
            .map(|index| {
                let mut rest = index;
                let mut point = self.origin;
                for axis in (0..D).rev() {
                    point[axis] += (rest % self.shape[axis]) as f64 * self.spacing[axis];
                    rest /= self.shape[axis];
                }
                point
            })
            .collect()
    }
}

/// Where sums are wanted.
#[derive(Clone, Copy, Debug)]
pub enum Targets<'a, const D: usize> {
    /// At the sources.
    Sources,
    /// At points, shape (m, D).
    Points(&'a [[f64; D]]),
    /// At the points of a grid.
    Grid(&'a Grid<D>),
}

impl<const D: usize> Targets<'_, D> {
    /// Number of targets, where those of [`Targets::Sources`] are `sources`.
    pub(crate) fn len(&self, sources: &[[f64; D]]) -> usize {
        match self {
            Self::Sources => sources.len(),
            Self::Points(points) => points.len(),
            Self::Grid(grid) => grid.len(),
        }
    }
}

/// Where one `apply` writes its sums: k densities at m targets, in the caller's order; what was
/// there is overwritten.
#[derive(Debug, Default)]
pub struct Sums<'a> {
    /// Values, shape (k, m).
    pub values: Option<&'a mut [f64]>,
    /// Gradients with respect to the target, shape (k, m, D).
    pub gradients: Option<&'a mut [f64]>,
}

impl Sums<'_> {
    /// Zeros everywhere.
    pub(crate) fn clear(&mut self) {
        for array in [self.values.as_deref_mut(), self.gradients.as_deref_mut()] {
            array.unwrap_or_default().fill(0.0);
        }
    }

    /// Adds sums of shape (m, k, 1 or 1 + dimensions), those of target i at `rank[i]`; gradients
    /// times `scale`.
    pub(crate) fn add(
        &mut self,
        sums: &[f64],
        k: usize,
        dimensions: usize,
        rank: Option<&[u32]>,
        scale: f64,
    ) {
        if sums.is_empty() || k == 0 {
            return;
        }
        let each = 1 + if self.gradients.is_some() { dimensions } else { 0 };
        let columns = k * each;
        let m = sums.len() / columns;
        let place = |i: usize| rank.map_or(i, |rank| rank[i] as usize);
        for density in 0..k {
            if let Some(values) = self.values.as_deref_mut() {
                let own = &mut values[density * m..(density + 1) * m];
                own.par_iter_mut().enumerate().with_min_len(4096).for_each(|(i, value)| {
                    *value += sums[place(i) * columns + density * each];
                });
            }
            if let Some(gradients) = self.gradients.as_deref_mut() {
                let own = &mut gradients[density * m * dimensions..(density + 1) * m * dimensions];
                let rows = own.par_chunks_exact_mut(dimensions).enumerate().with_min_len(4096);
                rows.for_each(|(i, gradient)| {
                    let from = &sums[place(i) * columns + density * each + 1..][..dimensions];
                    gradient.iter_mut().zip(from).for_each(|(g, s)| *g += scale * s);
                });
            }
        }
    }
}

/// The largest absolute coordinate that squares allow.
const LARGEST: f64 = 1e150;

/// Finite coordinates whose squares do not overflow.
pub(crate) fn check_points<const D: usize>(
    what: &'static str,
    points: &[[f64; D]],
) -> Result<(), Error> {
    const { assert!(1 <= D && D <= 3, "sums have 1, 2 or 3 dimensions") };
    // Indices have 32 bits, with room for padding.
    let limit = u32::MAX as usize - 64;
    if points.len() > limit {
        return Err(Error::TooMany { what, count: points.len(), limit });
    }
    for (index, point) in points.iter().enumerate() {
        if let Some(value) = point.iter().find(|x| x.is_nan() || x.abs() > LARGEST) {
            return Err(if value.is_finite() {
                Error::TooLarge { what, index, value: *value }
            } else {
                Error::NotFinite { what, index, point: point.to_vec() }
            });
        }
    }
    Ok(())
}

/// Bandwidths in range, as one or `sources` of them.
pub(crate) fn check_bandwidths<'a>(
    bandwidths: Bandwidths<'a>,
    sources: usize,
) -> Result<std::borrow::Cow<'a, [f64]>, Error> {
    let values = match bandwidths {
        Bandwidths::Same(one) => std::borrow::Cow::Owned(vec![one]),
        Bandwidths::Each(each) => {
            if each.len() != sources {
                let found = each.len();
                return Err(Error::Length { what: "bandwidths", expected: sources, found });
            }
            std::borrow::Cow::Borrowed(each)
        }
    };
    let bad = |value: &f64| !(1e-300..=1e300).contains(value);
    if let Some(index) = values.iter().position(bad) {
        return Err(Error::Bandwidth { index, value: values[index] });
    }
    Ok(values)
}

/// Finite charges.
pub(crate) fn check_charges(charges: &[f64], sources: usize) -> Result<(), Error> {
    match charges.iter().position(|q| !q.is_finite()) {
        Some(at) => Err(Error::Charge {
            density: at / sources.max(1),
            index: at % sources.max(1),
            value: charges[at],
        }),
        None => Ok(()),
    }
}

/// The number of densities k that the arrays' lengths agree on.
pub(crate) fn count_densities<const D: usize>(
    n: usize,
    m: usize,
    charges: &[f64],
    sums: &Sums<'_>,
) -> Result<usize, Error> {
    let arrays = [
        ("charges", Some(charges.len()), n),
        ("values", sums.values.as_ref().map(|a| a.len()), m),
        ("gradients", sums.gradients.as_ref().map(|a| a.len()), D * m),
    ];
    let mut k = None;
    for (what, length, unit) in arrays {
        let Some(found) = length else { continue };
        let here = found.checked_div(unit).unwrap_or(0);
        let expected = k.unwrap_or(here.max(1)) * unit;
        if found != expected {
            return Err(Error::Length { what, expected, found });
        }
        if unit > 0 {
            k.get_or_insert(here.max(1));
        }
    }
    Ok(k.unwrap_or(0))
}

/// Points with three coordinates, zeros first.
pub(crate) fn padded<const D: usize>(points: &[[f64; D]]) -> Vec<Point> {
    let pad = |x: &[f64; D]| {
        let mut point = [0.0; 3];
        point[3 - D..].copy_from_slice(x);
        point
    };
    points.par_iter().with_min_len(4096).map(pad).collect()
}
