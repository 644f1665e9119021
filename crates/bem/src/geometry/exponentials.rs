//! Functions of wave numbers as sums of exponentials w exp(-k s), s >= 0: the images that layers
//! make of a charge. The distances s are real and evenly spaced in their logarithm, the weights w
//! come from least squares: reflections of layers are as smooth in that logarithm as such sums are.

use nalgebra::{DMatrix, DVector};
use thiserror::Error;

/// Wave numbers of a fit, evenly spaced in their logarithm.
const NUMBERS: usize = 600;

/// A term with a larger exponent is negligible.
const LAST: f64 = 40.0;

/// Numbers of images to try for one function, in increasing order.
const TRIED: [usize; 13] = [2, 3, 4, 6, 8, 11, 14, 18, 24, 32, 44, 60, 80];
/// The same between grounds, where more images are needed.
const TRIED_BETWEEN: [usize; 5] = [32, 48, 64, 96, 140];

/// Largest distances to try, in units of the size of structure and stack.
const FARTHEST: [f64; 7] = [1.5, 3.0, 6.0, 12.0, 30.0, 100.0, 300.0];
/// As [`FARTHEST`], in units of the distance to which layers of other permittivities guide a field.
const GUIDED: [f64; 4] = [1.0, 4.0, 12.0, 40.0];

/// Penalty on the weights of images, relative to the tolerance: without it they are large and
/// cancel.
const SMALL: f64 = 1e-2;
/// The same between grounds, where weights are large anyway.
const SMALL_BETWEEN: f64 = 1e-12;

/// Factor of that penalty in the last attempt: thin layers next to thick ones need images whose
/// weights differ by more.
const SMALLER: f64 = 0.1;

/// The lowest wave number times the size, relative to the tolerance: smaller ones change no
/// potential by more.
const LOWEST: f64 = 0.3;

/// No sum with this number of images meets the tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("{images} images leave an error of {left:.1e}")]
#[non_exhaustive]
pub struct TooCoarse {
    /// Images of one function.
    pub images: usize,
    /// Their relative error.
    pub left: f64,
}

/// Settings for approximating a function of wave numbers by a sum of exponentials.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    /// The smallest distance of an image.
    pub(super) nearest: f64,
    pub(super) size: f64,
    /// Size of structure and stack together.
    pub(super) whole: f64,
    /// Distance that a field travels along a layer before it leaves it: its thickness times the
    /// ratio of permittivities.
    pub(super) guided: f64,
    pub(super) tolerance: f64,
    /// For a function that grows as 1/k at small k: the length L such that potentials see k L times
    /// it.
    pub(super) growing: Option<f64>,
}

impl Fit {
    /// The wave numbers at which functions are evaluated.
    pub(super) fn numbers(&self) -> Vec<f64> {
        let (lowest, highest) = (LOWEST * self.tolerance / self.size, LAST / self.nearest);
        let step = (highest / lowest).ln() / (NUMBERS - 1) as f64;
        (0..NUMBERS).map(|i| lowest * (step * i as f64).exp()).collect()
    }

    /// Distances and weights of the terms, the one without distance first.
    pub(super) fn terms(&self, f: &dyn Fn(f64) -> f64) -> Result<Vec<(f64, f64)>, TooCoarse> {
        let numbers = self.numbers();
        let step = (numbers[1] / numbers[0]).ln();
        let near = f(LAST * numbers[NUMBERS - 1]);
        let left: Vec<f64> = numbers.iter().map(|&k| f(k) - near).collect();
        let mut terms = Vec::new();
        if near != 0.0 {
            terms.push((0.0, near));
        }
        // The potential's error at distance r is the integral of J0(k r) times the fit's error over
        // k: k below 1/r contributes k r d ln k of the charge's own potential there, larger k
        // almost nothing. Less where potentials see less of the function.
        let counts: Vec<f64> = numbers
            .iter()
            .map(|&k| {
                let seen = self.growing.map_or(1.0, |length| (k * length).min(1.0));
                seen * (k * self.size).min(1.0) * step
            })
            .collect();
        let error = |left: &DVector<f64>| -> f64 {
            left.iter().zip(&counts).map(|(left, count)| left.abs() * count).sum::<f64>()
        };
        let left = DVector::from_vec(left);
        let mut best = error(&left);
        if best <= self.tolerance {
            return Ok(terms);
        }
        let root = DVector::from_iterator(NUMBERS, counts.iter().map(|count| count.sqrt()));
        let target = left.component_mul(&root);
        let mut tried = 0;
        let all: &[usize] = if self.growing.is_some() { &TRIED_BETWEEN } else { &TRIED };
        let last = all.last().map(|images| (*images, SMALLER));
        for (images, share) in all.iter().map(|images| (*images, 1.0)).chain(last) {
            tried = images;
            let mut found: Option<(f64, Vec<(f64, f64)>)> = None;
            for farthest in self.farthest() {
                let ratio = (farthest / self.nearest).max(1.0 + 1e-9).ln() / (images - 1) as f64;
                let distance = |j: usize| self.nearest * (ratio * j as f64).exp();
                let matrix = DMatrix::from_fn(NUMBERS, images, |i, j| {
                    root[i] * (-numbers[i] * distance(j)).exp()
                });
                let small = if self.growing.is_some() {
                    SMALL_BETWEEN
                } else {
                    share * SMALL * self.tolerance
                };
                let Some(weights) = least_squares(&matrix, &target, small) else { continue };
                let rest = (&target - matrix * &weights).component_div(&root);
                let error = error(&rest);
                best = best.min(error);
                let size = weights.abs().sum();
                if error <= self.tolerance && found.as_ref().is_none_or(|known| size < known.0) {
                    let weights = weights.iter().enumerate();
                    found = Some((size, weights.map(|(j, w)| (distance(j), *w)).collect()));
                }
            }
            if let Some((_, more)) = found {
                terms.extend(more);
                return Ok(terms);
            }
        }
        Err(TooCoarse { images: tried, left: best })
    }

    /// Largest distances to try.
    fn farthest(&self) -> Vec<f64> {
        // Between grounds images go on until they are negligible.
        let scale = if self.growing.is_some() { self.size / self.tolerance } else { self.whole };
        let factors: &[f64] = if self.growing.is_some() { &[3.0, 10.0, 30.0] } else { &FARTHEST };
        let last = scale * factors[factors.len() - 1];
        let guided = GUIDED.iter().map(|factor| factor * self.guided).filter(|far| *far > last);
        factors.iter().map(|factor| factor * scale).chain(guided).collect()
    }
}

/// Weights w that minimise |A w - b|^2 + |small D w|^2, where D has the norms of A's columns: terms
/// of distant images contribute at small k alone, and each is measured by its own size.
fn least_squares(matrix: &DMatrix<f64>, target: &DVector<f64>, small: f64) -> Option<DVector<f64>> {
    let (rows, columns) = matrix.shape();
    let sizes: Vec<f64> = matrix.column_iter().map(|column| column.norm()).collect();
    let extended = DMatrix::from_fn(rows + columns, columns, |i, j| match i.checked_sub(rows) {
        None => matrix[(i, j)] / sizes[j],
        Some(k) => small * f64::from(u8::from(k == j)),
    });
    let mut right = target.clone().resize_vertically(rows + columns, 0.0);
    let decomposed = extended.qr();
    decomposed.q_tr_mul(&mut right);
    let mut weights =
        decomposed.r().solve_upper_triangular(&right.rows(0, columns).into_owned())?;
    weights.iter_mut().zip(&sizes).for_each(|(weight, size)| *weight /= size);
    Some(weights)
}
