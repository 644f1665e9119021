//! Images so far away that their potential is smooth over the whole surface.
//!
//! The sum over such images of 1/|x - g(y)| is approximated by a polynomial of both points:
//! interpolated at Chebyshev points of the surface's box, sum_kl T_k(x) A_kl T_l(y), with products
//! of Chebyshev polynomials along the axes. That takes two operations per polynomial and point,
//! whatever the number of images. The steps: charges add to moments sum_j q_j T_l(y_j), A
//! ([`kernel`]) converts these to coefficients, and coefficients are evaluated at points
//! ([`at_points`]).

mod at_points;
mod kernel;

use std::array;
use std::collections::HashMap;

use parallel::prelude::*;

use self::at_points::AtPoints;
use crate::geometry::image::Image;
use crate::geometry::triangle::Vec3;

/// Images nearer than this, in units of half the longest side of the box, are sources like the
/// surface itself.
const NEAREST: f64 = 0.6;

/// If more than `MOST` polynomials would be needed, only images this much farther away are taken.
const FARTHER: f64 = 1.3;
const MOST: usize = 1500;

/// Largest number of polynomials along an axis.
const MOST_ALONG: usize = 40;

/// Interpolation error: about this factor times (x + sqrt(x^2 + 1))^-p, for p points and images at
/// x times half the box's side.
const FACTOR: f64 = 8.0;

/// Sides of boxes are at least this share of the longest side.
const THINNEST: f64 = 1e-9;

/// The sum over distant images, in scaled coordinates.
#[derive(Clone, Debug)]
pub struct FarImages {
    centre: [f64; 3],
    half: [f64; 3],
    counts: [usize; 3],
    /// Number of regions of layers of targets, and of sources.
    regions: [usize; 2],
    /// A, shape (regions of targets, regions of sources, targets, sources), x fastest on both
    /// sides.
    kernel: Vec<f64>,
}

/// Weight of an image of charges in one region for potentials in another, by the image, the region
/// of targets and that of sources.
pub(crate) type Weight<'a> = &'a dyn Fn(usize, usize, usize) -> f64;

/// Weights of images for numbers of regions of targets and of sources.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    /// Regions of targets, and of sources.
    pub regions: [usize; 2],
    /// `weight(image, to, from)`, the factor of charges.
    pub weight: Weight<'a>,
}

/// A point and its region.
pub type Place = (Vec3, usize);

/// Points per batch.
const BATCH: usize = 128;

impl FarImages {
    /// Separates those of `images` that are far from a box (given by its lowest and highest
    /// corner): returns which are not, and the sum of those that are, to an absolute error of
    /// `tolerance`. Images of one `group` are close together.
    pub fn apart(
        [low, high]: [Vec3; 2],
        images: &[Image],
        weights: Weights<'_>,
        group: &dyn Fn(usize) -> usize,
        tolerance: f64,
    ) -> Option<(Vec<usize>, Self)> {
        let Weights { regions, weight } = weights;
        let centre = (low + high) * 0.5;
        let longest = (high - low).max() * 0.5;
        let half = ((high - low) * 0.5).map(|half| half.max(THINNEST * longest));
        let distance = |image: &Image| {
            let apart = image.place(&centre) - centre;
            Vec3::from_fn(|k, _| (apart[k].abs() - 2.0 * half[k]).max(0.0)).norm()
        };
        let mut of_group = HashMap::new();
        for (g, image) in images.iter().enumerate() {
            let nearest = of_group.entry(group(g)).or_insert(f64::INFINITY);
            *nearest = distance(image).min(*nearest);
        }
        let distances: Vec<f64> = (0..images.len()).map(|g| of_group[&group(g)]).collect();
        let mut nearest = NEAREST * longest;
        loop {
            let is_far = |g: &usize| distances[*g] >= nearest;
            let far: Vec<usize> = (0..images.len()).filter(is_far).collect();
            let at = far.iter().map(|&g| distances[g]).fold(f64::INFINITY, f64::min);
            if !at.is_finite() {
                return None;
            }
            let [to, from] = regions;
            let pairs = || (0..to * from).map(|pair| (pair / from, pair % from));
            let size_of = |(to, from): (usize, usize)| -> f64 {
                far.iter().map(|&g| weight(g, to, from).abs() / distances[g]).sum()
            };
            let size = pairs().map(size_of).fold(0.0, f64::max);
            let counts: [usize; 3] = array::from_fn(|k| {
                let x = at / half[k];
                let digits = (FACTOR * size / tolerance).max(2.0).ln();
                (digits / x.asinh()).ceil() as usize + 1
            });
            if counts.iter().product::<usize>() <= MOST && counts.iter().all(|&p| p <= MOST_ALONG) {
                let near = (0..images.len()).filter(|g| !is_far(g)).collect();
                let of_pair = |(to, from): (usize, usize)| -> Vec<(Image, f64)> {
                    let all = far.iter().map(|&g| (images[g], weight(g, to, from)));
                    all.filter(|(_, weight)| *weight != 0.0).collect()
                };
                let kernel =
                    |pair| kernel::kernel(centre.into(), half.into(), counts, &of_pair(pair));
                let kernel = pairs().flat_map(kernel).collect();
                let (centre, half) = (centre.into(), half.into());
                return Some((near, Self { centre, half, counts, regions, kernel }));
            }
            nearest = FARTHER * at;
        }
    }

    /// Number of polynomials.
    fn len(&self) -> usize {
        self.counts.iter().product()
    }

    /// Number of moments, of each polynomial in each region of sources.
    pub fn moments(&self) -> usize {
        self.regions[1] * self.len()
    }

    /// The moments of one region.
    fn of_region(&self, region: usize) -> std::ops::Range<usize> {
        region * self.len()..(region + 1) * self.len()
    }

    /// Calls `of` with some points of one region at a time, in vector lanes: the polynomials there,
    /// the region, and the indices in `points`.
    fn in_batches(
        &self,
        points: &[Place],
        regions: usize,
        of: &mut dyn FnMut(&AtPoints, usize, &[usize]),
    ) {
        for region in 0..regions {
            let own: Vec<usize> = (0..points.len()).filter(|&i| points[i].1 == region).collect();
            for batch in own.chunks(BATCH) {
                let along = array::from_fn(|k| {
                    let place = |&i: &usize| (points[i].0[k] - self.centre[k]) / self.half[k];
                    batch.iter().map(|i| place(i).clamp(-1.0, 1.0)).collect()
                });
                of(&AtPoints::new(self.counts, along), region, batch);
            }
        }
    }

    /// Adds charges, shape (columns, points), to the moments sum_j q_j T_l(y_j), shape (columns,
    /// regions of sources, polynomials).
    pub fn add_charges(&self, points: &[Place], charges: &[f64], moments: &mut [f64]) {
        self.in_batches(points, self.regions[1], &mut |at, region, batch| {
            let columns = charges.chunks_exact(points.len());
            for (moments, charges) in moments.chunks_exact_mut(self.moments()).zip(columns) {
                let charges: Vec<f64> = batch.iter().map(|&i| charges[i]).collect();
                at.add_charges(&charges, &mut moments[self.of_region(region)]);
            }
        });
    }

    /// Coefficients of the potential of charges with these moments, shape (columns, regions of
    /// targets, polynomials).
    pub fn coefficients(&self, moments: &[f64]) -> Vec<f64> {
        let (m, [to, from]) = (self.len(), self.regions);
        let columns = moments.len() / (from * m);
        // Each row of A is read once for all columns.
        let mut by_row = vec![0.0; to * m * columns];
        by_row.par_chunks_exact_mut(columns.max(1)).enumerate().for_each(|(row, sums)| {
            let (to, row) = (row / m, row % m);
            for region in 0..from {
                let row = &self.kernel[((to * from + region) * m + row) * m..][..m];
                for (column, sum) in sums.iter_mut().enumerate() {
                    *sum += dot(row, &moments[(column * from + region) * m..][..m]);
                }
            }
        });
        let of_column = |column| by_row.iter().skip(column).step_by(columns);
        (0..columns).flat_map(of_column).copied().collect()
    }

    /// The potentials of these coefficients at points, shape (columns, points).
    pub fn potentials(&self, points: &[Place], coefficients: &[f64]) -> Vec<f64> {
        let of_column = self.regions[0] * self.len();
        let mut potentials = vec![0.0; coefficients.len() / of_column * points.len()];
        self.in_batches(points, self.regions[0], &mut |at, region, batch| {
            let columns = coefficients.chunks_exact(of_column).enumerate();
            for (column, coefficients) in columns {
                let values = at.potentials(&coefficients[self.of_region(region)]);
                let put = |(i, value): (&usize, f64)| potentials[column * points.len() + i] = value;
                batch.iter().zip(values).for_each(put);
            }
        });
        potentials
    }

    /// Their gradients, shape (columns, points).
    pub fn gradients(&self, points: &[Place], coefficients: &[f64]) -> Vec<Vec3> {
        let of_column = self.regions[0] * self.len();
        let mut gradients = vec![Vec3::zeros(); coefficients.len() / of_column * points.len()];
        self.in_batches(points, self.regions[0], &mut |at, region, batch| {
            let columns = coefficients.chunks_exact(of_column).enumerate();
            for (column, coefficients) in columns {
                let slopes = at.slopes(&coefficients[self.of_region(region)]);
                for (b, i) in batch.iter().enumerate() {
                    gradients[column * points.len() + i] =
                        Vec3::from_fn(|k, _| slopes[k][b] / self.half[k]);
                }
            }
        });
        gradients
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, rest_of_a) = a.as_chunks::<8>();
    let (b, rest_of_b) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        (0..8).for_each(|k| sums[k] += a[k] * b[k]);
    }
    let rest: f64 = rest_of_a.iter().zip(rest_of_b).map(|(a, b)| a * b).sum();
    rest + sums.iter().sum::<f64>()
}
