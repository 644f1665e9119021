//! Images that are so far away that what they do to the surface is smooth over all of it.
//!
//! The sum over such images of 1/|x - g(y)| is a polynomial of both points: interpolated at
//! Chebyshev points of the surface's box, sum_kl T_k(x) A_kl T_l(y), with products of Chebyshev
//! polynomials along the axes. That takes a few hundred operations a point, whatever the number of
//! images.

use crate::geometry::panels::Image;
use crate::geometry::triangle::Vec3;

/// Images nearer than this, in half the longest sides of the box, are sources like the surface
/// itself.
const NEAREST: f64 = 0.6;

/// Where polynomials would be more than `MOST`, images this much farther away are taken.
const FARTHER: f64 = 1.3;
const MOST: usize = 1500;

/// Largest number of polynomials along an axis.
const MOST_ALONG: usize = 40;

/// Interpolation is off by about so many times (x + sqrt(x^2 + 1))^-p, for p points and images at x
/// times half the box's side.
const FACTOR: f64 = 8.0;

/// Sides of boxes are at least this share of the longest.
const THINNEST: f64 = 1e-9;

/// The sum of images far away, in scaled coordinates.
#[derive(Clone, Debug)]
pub(crate) struct FarImages {
    centre: [f64; 3],
    half: [f64; 3],
    counts: [usize; 3],
    /// A, shape (targets, sources), x fastest on both sides.
    kernel: Vec<f64>,
}

/// Values of Chebyshev polynomials, or derivatives, along each axis.
type Along = [[f64; MOST_ALONG]; 3];

impl FarImages {
    /// Takes those of `images` that are far from a box (by its lowest and highest corner): which
    /// are not, and the sum of those that are, to an absolute error of `tolerance`.
    pub(crate) fn apart(
        [low, high]: [Vec3; 2],
        images: &[Image],
        tolerance: f64,
    ) -> Option<(Vec<usize>, Self)> {
        let centre = (low + high) * 0.5;
        let longest = (high - low).max() * 0.5;
        let half = ((high - low) * 0.5).map(|half| half.max(THINNEST * longest));
        let distance = |image: &Image| {
            let apart = image.place(&centre) - centre;
            Vec3::from_fn(|k, _| (apart[k].abs() - 2.0 * half[k]).max(0.0)).norm()
        };
        let distances: Vec<f64> = images.iter().map(distance).collect();
        let mut nearest = NEAREST * longest;
        loop {
            let is_far = |g: &usize| *g > 0 && distances[*g] >= nearest;
            let far: Vec<usize> = (0..images.len()).filter(is_far).collect();
            let at = far.iter().map(|&g| distances[g]).fold(f64::INFINITY, f64::min);
            if !at.is_finite() {
                return None;
            }
            let size: f64 = far.iter().map(|&g| images[g].factor.abs() / distances[g]).sum();
            let counts: [usize; 3] = std::array::from_fn(|k| {
                let x = at / half[k];
                let digits = (FACTOR * size / tolerance).max(2.0).ln();
                (digits / x.asinh()).ceil() as usize + 1
            });
            if counts.iter().product::<usize>() <= MOST && counts.iter().all(|&p| p <= MOST_ALONG) {
                let near = (0..images.len()).filter(|g| !is_far(g)).collect();
                let far: Vec<Image> = far.iter().map(|&g| images[g]).collect();
                return Some((near, Self::of(centre.into(), half.into(), counts, &far)));
            }
            nearest = FARTHER * at;
        }
    }

    fn of(centre: [f64; 3], half: [f64; 3], counts: [usize; 3], images: &[Image]) -> Self {
        use rayon::prelude::*;
        let m = counts.iter().product::<usize>();
        let node = |k: usize, i: usize| {
            let angle = std::f64::consts::PI * (i as f64 + 0.5) / counts[k] as f64;
            centre[k] + half[k] * angle.cos()
        };
        let places: Vec<Vec3> = (0..m)
            .map(|i| {
                let [nx, ny, _] = counts;
                let index = [i % nx, i / nx % ny, i / (nx * ny)];
                Vec3::from_fn(|k, _| node(k, index[k]))
            })
            .collect();
        let seen: Vec<(Vec3, f64)> = images
            .iter()
            .flat_map(|image| places.iter().map(|y| (image.place(y), image.factor)))
            .collect();
        let mut kernel = vec![0.0; m * m];
        kernel.par_chunks_exact_mut(m).zip(&places).for_each(|(row, x)| {
            for of_image in seen.chunks_exact(m) {
                for (value, (y, factor)) in row.iter_mut().zip(of_image) {
                    *value += factor / (x - y).norm();
                }
            }
        });
        // From values at the points to coefficients of polynomials, along all six axes.
        let [nx, ny, nz] = counts;
        let lengths = [nx, ny, nz, nx, ny, nz];
        let mut stride = 1;
        for length in lengths {
            to_coefficients(&mut kernel, length, stride);
            stride *= length;
        }
        Self { centre, half, counts, kernel }
    }

    /// Number of polynomials.
    pub(crate) fn len(&self) -> usize {
        self.counts.iter().product()
    }

    fn along(&self, x: &Vec3) -> Along {
        let mut all = [[0.0; MOST_ALONG]; 3];
        for k in 0..3 {
            let t = ((x[k] - self.centre[k]) / self.half[k]).clamp(-1.0, 1.0);
            let (mut before, mut own) = (t, 1.0);
            for value in &mut all[k][..self.counts[k]] {
                *value = own;
                (before, own) = (own, 2.0 * t * own - before);
            }
        }
        all
    }

    /// The derivatives of [`Self::along`], by T_n' = n U_(n-1).
    fn slopes(&self, x: &Vec3) -> Along {
        let mut all = [[0.0; MOST_ALONG]; 3];
        for k in 0..3 {
            let t = ((x[k] - self.centre[k]) / self.half[k]).clamp(-1.0, 1.0);
            let (mut before, mut own) = (0.0, 1.0);
            for (n, value) in all[k][..self.counts[k]].iter_mut().enumerate().skip(1) {
                *value = n as f64 * own / self.half[k];
                (before, own) = (own, 2.0 * t * own - before);
            }
        }
        all
    }

    /// Adds a charge to the moments sum_j q_j T_l(y_j).
    pub(crate) fn add_charge(&self, y: &Vec3, charge: f64, moments: &mut [f64]) {
        let [nx, ny, _] = self.counts;
        let [along_x, along_y, along_z] = self.along(y);
        for (plane, z) in moments.chunks_exact_mut(nx * ny).zip(along_z) {
            for (row, y) in plane.chunks_exact_mut(nx).zip(along_y) {
                let factor = charge * z * y;
                row.iter_mut().zip(along_x).for_each(|(moment, x)| *moment += factor * x);
            }
        }
    }

    /// Coefficients of the potential that charges of these moments make.
    pub(crate) fn coefficients(&self, moments: &[f64]) -> Vec<f64> {
        let row = |row: &[f64]| row.iter().zip(moments).map(|(a, moment)| a * moment).sum();
        self.kernel.chunks_exact(self.len().max(1)).map(row).collect()
    }

    fn at([along_x, along_y, along_z]: [&[f64]; 3], coefficients: &[f64]) -> f64 {
        let (nx, ny) = (along_x.len(), along_y.len());
        let mut sum = 0.0;
        for (plane, z) in coefficients.chunks_exact(nx * ny).zip(along_z) {
            for (row, y) in plane.chunks_exact(nx).zip(along_y) {
                let of_row: f64 = row.iter().zip(along_x).map(|(c, x)| c * x).sum();
                sum += z * y * of_row;
            }
        }
        sum
    }

    /// The potential of these coefficients at a point.
    pub(crate) fn potential(&self, x: &Vec3, coefficients: &[f64]) -> f64 {
        let along = self.along(x);
        Self::at([0, 1, 2].map(|k| &along[k][..self.counts[k]]), coefficients)
    }

    /// Its gradient.
    pub(crate) fn gradient(&self, x: &Vec3, coefficients: &[f64]) -> Vec3 {
        let (along, slopes) = (self.along(x), self.slopes(x));
        Vec3::from_fn(|axis, _| {
            let of = |k: usize| if k == axis { &slopes[k] } else { &along[k] };
            Self::at([0, 1, 2].map(|k| &of(k)[..self.counts[k]]), coefficients)
        })
    }
}

/// Values at Chebyshev points to coefficients, along an axis of this length whose neighbours are
/// `stride` apart.
fn to_coefficients(values: &mut [f64], length: usize, stride: usize) {
    let angle = |i: usize| std::f64::consts::PI * (i as f64 + 0.5) / length as f64;
    let share = |n: usize| if n == 0 { 1.0 } else { 2.0 } / length as f64;
    let matrix: Vec<Vec<f64>> = (0..length)
        .map(|n| (0..length).map(|i| share(n) * (n as f64 * angle(i)).cos()).collect())
        .collect();
    let mut line = vec![0.0; length];
    for block in values.chunks_exact_mut(length * stride) {
        for first in 0..stride {
            line.iter_mut().enumerate().for_each(|(i, at)| *at = block[first + i * stride]);
            for (n, row) in matrix.iter().enumerate() {
                block[first + n * stride] = row.iter().zip(&line).map(|(a, b)| a * b).sum();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums over images, potentials and gradients, against themselves one by one, in flat and
    /// other boxes.
    #[test]
    fn far_images_are_summed_to_the_tolerance() {
        let image = |scale: f64, shift: f64, factor: f64| Image {
            scale: [1.0, 1.0, scale],
            shift: [0.0, 0.0, shift],
            factor,
        };
        let images = [
            image(1.0, 0.0, 1.0),
            image(-1.0, -0.1, 0.5),
            image(-1.0, -2.0, -0.7),
            image(1.0, 3.0, 0.4),
            image(1.0, -3.0, 0.4),
            image(-1.0, -1e5, 2e4),
        ];
        for (high, tolerance) in
            [([1.0, 0.7, 0.0], 1e-6), ([1.0, 0.7, 0.05], 1e-8), ([1.0, 0.2, 0.3], 1e-4)]
        {
            let high = Vec3::from(high);
            let (near, far) = FarImages::apart([-high, high], &images, tolerance).unwrap();
            assert!(near.starts_with(&[0, 1]) && near.len() < images.len(), "{near:?}");
            let point = |i: usize| {
                let at = |k: usize| (0.37 + 1.618 * i as f64 * (k + 1) as f64).sin();
                Vec3::from_fn(|k, _| high[k] * at(k))
            };
            let charges: Vec<(Vec3, f64)> =
                (0..40).map(|i| (point(i), 1.0 / 40.0 * (0.3 * i as f64).cos())).collect();
            let mut moments = vec![0.0; far.len()];
            charges.iter().for_each(|(y, q)| far.add_charge(y, *q, &mut moments));
            let coefficients = far.coefficients(&moments);
            let chosen = (0..images.len()).filter(|g| !near.contains(g)).map(|g| images[g]);
            let chosen: Vec<Image> = chosen.collect();
            for x in (100..140).map(point) {
                let (mut exact, mut field) = (0.0, Vec3::zeros());
                for (image, (y, q)) in
                    chosen.iter().flat_map(|image| charges.iter().map(move |c| (image, c)))
                {
                    let r = x - image.place(y);
                    exact += image.factor * q / r.norm();
                    field -= r * (image.factor * q / r.norm().powi(3));
                }
                let found = far.potential(&x, &coefficients);
                assert!((found - exact).abs() < tolerance, "{found} {exact}");
                let gradient = far.gradient(&x, &coefficients);
                assert!((gradient - field).norm() < 30.0 * tolerance, "{gradient} {field}");
            }
        }
    }
}
