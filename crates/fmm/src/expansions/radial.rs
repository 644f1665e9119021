//! Radial functions of one box's expansions at its points: what screening multiplies harmonics by
//! (module `screened`).

use crate::distances::square;
use crate::expansions::harmonics::{Entry, Harmonics, Visit};
use crate::expansions::screened::{DEAF, HALF_DIAGONAL, corner};
use crate::expansions::truncation_numbers::P_MAX;
use simd::{Real, Simd};

/// `i^(n)(kappa s u) / i^(n)(kappa h)` for `n < p` at points `u` sides `s` from the centre of a
/// box, whose corners are h from it.
#[derive(Clone, Debug)]
pub struct Radial<T> {
    /// Power series of degrees p - 1 and p in `u^2` over that of the corners, where no term is
    /// above the sum: coefficients of powers of `u` alone would overflow.
    series: [Vec<T>; 2],
    /// What degree n - 1 has of degree n, and of degree n + 1 over `u^2`, for n = 1 .. p.
    ratios: Vec<[T; 2]>,
    /// `(kappa s)^2`.
    square: f64,
    /// [`corner`] for `n < p`.
    corner: Vec<f64>,
}

/// Terms of a series that are smaller than this part of the largest, at the corner of a box, add
/// nothing.
const NOTHING: f64 = 1e-18;

impl<T: Real> Radial<T> {
    /// For truncation number `p`, kappa times the box's side being `kappa`.
    pub fn new(p: usize, kappa: f64) -> Self {
        let square = kappa * kappa;
        let mut corner = corner(p + 1, kappa);
        let series = [p.saturating_sub(1), p].map(|n| series(n, kappa, corner[n]));
        let ratio = |n: usize| {
            let above = square / ((2 * n + 1) * (2 * n + 3)) as f64;
            [corner[n] / corner[n - 1], above * corner[n + 1] / corner[n - 1]].map(T::of)
        };
        let ratios = (1..p).map(ratio).collect();
        corner.truncate(p);
        Self { series, ratios, square, corner }
    }

    /// What the function of degree `n` is at the corners, times `exp(-kappa h)`.
    pub(crate) fn corner(&self, n: usize) -> f64 {
        self.corner[n]
    }

    /// The factor of `entry`, between functions in units of what they are at the corners.
    pub(crate) fn scaled(&self, entry: &Entry) -> f64 {
        let units = self.corner[entry.degrees[1]] / self.corner[entry.degrees[0]];
        let screening = if entry.degrees[1] > entry.degrees[0] { self.square } else { 1.0 };
        screening * units * entry.factor
    }

    /// Coefficients of the two power series in the squared distance over that of the corners.
    pub(crate) fn series(&self) -> &[Vec<T>; 2] {
        &self.series
    }

    /// For n = 1 .. p what degree n - 1 has of degree n, and of degree n + 1 over `u^2`.
    pub(crate) fn ratios(&self) -> &[[T; 2]] {
        &self.ratios
    }

    /// The functions at `u2`, squared distances from the centre in units of the side; `values` has
    /// room for p.
    #[inline(always)]
    pub fn at<V: Simd<Scalar = T>, const B: usize>(&self, u2: [V; B], values: &mut [[V; B]]) {
        let mut v2 = u2;
        for b in 0..B {
            v2[b] = u2[b].mul(V::splat(T::of(1.0 / (HALF_DIAGONAL * HALF_DIAGONAL))));
        }
        // Not by `map`, whose closures would be compiled for any processor.
        let (mut here, mut above) = ([V::zero(); B], [V::zero(); B]);
        for (sums, series) in [&mut here, &mut above].into_iter().zip(&self.series) {
            for &c in series.iter().rev() {
                for b in 0..B {
                    sums[b] = sums[b].mul_add(v2[b], V::splat(c));
                }
            }
        }
        values[self.ratios.len()] = here;
        for (n, ratios) in self.ratios.iter().enumerate().rev() {
            let (first, second) = (V::splat(ratios[0]), V::splat(ratios[1]));
            for b in 0..B {
                let below = u2[b].mul(second).mul_add(above[b], first.mul(here[b]));
                (above[b], here[b]) = (here[b], below);
            }
            values[n] = here;
        }
    }
}

/// Coefficients of `exp(-kappa h) i^(n)(kappa u) / corner` in powers of `u^2` over the corners'.
fn series<T: Real>(n: usize, kappa: f64, corner: f64) -> Vec<T> {
    if kappa > DEAF {
        return Vec::new();
    }
    let corner2 = HALF_DIAGONAL * HALF_DIAGONAL;
    let mut term = (-HALF_DIAGONAL * kappa).exp() / corner;
    let mut most = term;
    let mut coefficients = vec![T::of(term)];
    for j in 1.. {
        let ratio = 0.5 * kappa * kappa / (j * (2 * (n + j) + 1)) as f64;
        term *= ratio * corner2;
        most = f64::max(most, term);
        // Not of numbers that are none either.
        let counts = term > NOTHING * most;
        if !counts {
            break;
        }
        coefficients.push(T::of(term));
    }
    coefficients
}

/// Hands harmonics on, times radial functions.
pub(crate) struct Scaled<'a, V, W, const B: usize> {
    pub(crate) factors: &'a [[V; B]],
    pub(crate) visitor: &'a mut W,
}

impl<V: Simd, W: Visit<V, B>, const B: usize> Visit<V, B> for Scaled<'_, V, W, B> {
    #[inline(always)]
    fn visit(&mut self, n: usize, place: usize, mut harmonics: [V; B]) {
        for b in 0..B {
            harmonics[b] = harmonics[b].mul(self.factors[n][b]);
        }
        self.visitor.visit(n, place, harmonics);
    }
}

/// As [`Harmonics::walk`], times radial functions if there are any.
#[inline(always)]
pub(crate) fn walk<V: Simd, const B: usize>(
    harmonics: &Harmonics<V::Scalar>,
    radial: Option<&Radial<V::Scalar>>,
    p: usize,
    points: &[[V; B]; 3],
    visitor: &mut impl Visit<V, B>,
) {
    let Some(radial) = radial else {
        return harmonics.walk(p, points, visitor);
    };
    let mut factors = [[V::zero(); B]; P_MAX];
    radial.at(square(points), &mut factors);
    harmonics.walk(p, points, &mut Scaled { factors: &factors, visitor });
}
