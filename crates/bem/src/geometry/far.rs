//! Images that are so far away that what they do to the surface is smooth over all of it.
//!
//! The sum over such images of 1/|x - g(y)| is a polynomial of both points: interpolated at
//! Chebyshev points of the surface's box, sum_kl T_k(x) A_kl T_l(y), with products of Chebyshev
//! polynomials along the axes. That takes a few hundred operations a point, whatever the number of
//! images.

use std::collections::HashMap;

use simd::{Elementary, Real, Simd, Task};

use crate::geometry::image::Image;
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
pub struct FarImages {
    centre: [f64; 3],
    half: [f64; 3],
    counts: [usize; 3],
    /// Regions of layers that targets are in, and sources.
    regions: [usize; 2],
    /// A, shape (regions of targets, regions of sources, targets, sources), x fastest on both
    /// sides.
    kernel: Vec<f64>,
}

/// What an image of charges in a region counts in another, by the image, the region of targets and
/// that of sources.
pub(crate) type Weight<'a> = &'a dyn Fn(usize, usize, usize) -> f64;

/// Values of Chebyshev polynomials, or derivatives, along each axis.
type Along = [[f64; MOST_ALONG]; 3];

impl FarImages {
    /// Takes those of `images` that are far from a box (by its lowest and highest corner): which
    /// are not, and the sum of those that are, to an absolute error of `tolerance`. Charges count
    /// `weight(image, to, from)`, for so many regions of targets and of sources. Images of one
    /// `group` are near together.
    pub fn apart(
        [low, high]: [Vec3; 2],
        images: &[Image],
        (regions, weight): ([usize; 2], Weight<'_>),
        group: &dyn Fn(usize) -> usize,
        tolerance: f64,
    ) -> Option<(Vec<usize>, Self)> {
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
            let counts: [usize; 3] = std::array::from_fn(|k| {
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
                    |pair| Self::kernel(centre.into(), half.into(), counts, &of_pair(pair));
                let kernel = pairs().flat_map(kernel).collect();
                let (centre, half) = (centre.into(), half.into());
                return Some((near, Self { centre, half, counts, regions, kernel }));
            }
            nearest = FARTHER * at;
        }
    }

    /// A of images with their weights.
    fn kernel(
        centre: [f64; 3],
        half: [f64; 3],
        counts: [usize; 3],
        images: &[(Image, f64)],
    ) -> Vec<f64> {
        use parallel::prelude::*;
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
        let padded = m.next_multiple_of(f64::MAX_LANES);
        let along = |k: usize| -> Vec<f64> {
            (0..padded).map(|i| places.get(i).map_or(centre[k], |place| place[k])).collect()
        };
        let nodes = [0, 1, 2].map(along);
        let mut kernel = vec![0.0; m * m];
        kernel.par_chunks_exact_mut(m).zip(&places).for_each_init(
            || vec![0.0; padded],
            |sums, (row, x)| {
                simd::run(Row { x, nodes: &nodes, images, sums });
                row.copy_from_slice(&sums[..m]);
            },
        );
        // From values at the points to coefficients of polynomials, along all six axes.
        let [nx, ny, nz] = counts;
        let lengths = [nx, ny, nz, nx, ny, nz];
        let mut stride = 1;
        for length in lengths {
            to_coefficients(&mut kernel, length, stride);
            stride *= length;
        }
        kernel
    }

    /// Number of polynomials.
    fn len(&self) -> usize {
        self.counts.iter().product()
    }

    /// Number of moments, of each polynomial in each region of sources.
    pub fn moments(&self) -> usize {
        self.regions[1] * self.len()
    }

    /// Those of one region.
    fn of_region(&self, region: usize) -> std::ops::Range<usize> {
        region * self.len()..(region + 1) * self.len()
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

    /// Adds a charge in a region to the moments sum_j q_j T_l(y_j).
    pub fn add_charge(&self, (y, region): (&Vec3, usize), charge: f64, moments: &mut [f64]) {
        let moments = &mut moments[self.of_region(region)];
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
    pub fn coefficients(&self, moments: &[f64]) -> Vec<f64> {
        let m = self.len().max(1);
        let dot = |row: &[f64], of: &[f64]| -> f64 { row.iter().zip(of).map(|(a, b)| a * b).sum() };
        let [to, from] = self.regions;
        let mut coefficients = vec![0.0; to * m];
        let targets = self.kernel.chunks_exact(from * m * m);
        for (coefficients, kernel) in coefficients.chunks_exact_mut(m).zip(targets) {
            for (kernel, moments) in kernel.chunks_exact(m * m).zip(moments.chunks_exact(m)) {
                let rows = coefficients.iter_mut().zip(kernel.chunks_exact(m));
                rows.for_each(|(sum, row)| *sum += dot(row, moments));
            }
        }
        coefficients
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

    /// The potential of these coefficients at a point in a region.
    pub fn potential(&self, (x, region): (&Vec3, usize), coefficients: &[f64]) -> f64 {
        let along = self.along(x);
        let of_region = &coefficients[self.of_region(region)];
        Self::at([0, 1, 2].map(|k| &along[k][..self.counts[k]]), of_region)
    }

    /// Its gradient.
    pub fn gradient(&self, (x, region): (&Vec3, usize), coefficients: &[f64]) -> Vec3 {
        let coefficients = &coefficients[self.of_region(region)];
        let (along, slopes) = (self.along(x), self.slopes(x));
        Vec3::from_fn(|axis, _| {
            let of = |k: usize| if k == axis { &slopes[k] } else { &along[k] };
            Self::at([0, 1, 2].map(|k| &of(k)[..self.counts[k]]), coefficients)
        })
    }
}

/// Sums over images with their weights of inverse distances between a point and images of nodes,
/// whose coordinates fill whole vectors.
struct Row<'a> {
    x: &'a Vec3,
    nodes: &'a [Vec<f64>; 3],
    images: &'a [(Image, f64)],
    sums: &'a mut [f64],
}

impl Task<f64> for Row<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        /// Images side by side.
        const BLOCK: usize = 4;
        let Self { x, nodes, images, sums } = self;
        let (blocks, rest) = images.as_chunks::<BLOCK>();
        for at in (0..sums.len()).step_by(V::LANES) {
            let y = [0, 1, 2].map(|k: usize| V::load(&nodes[k][at..]));
            let mut sum = V::zero();
            for block in blocks {
                sum = add_images::<V, BLOCK>(sum, x, &y, block);
            }
            for image in rest {
                sum = add_images::<V, 1>(sum, x, &y, std::array::from_ref(image));
            }
            sum.store(&mut sums[at..]);
        }
    }
}

#[inline(always)]
fn add_images<V: Elementary, const B: usize>(
    mut sum: V,
    x: &Vec3,
    y: &[V; 3],
    images: &[(Image, f64); B],
) -> V {
    let mut r2 = [V::zero(); B];
    for (r2, (image, _)) in r2.iter_mut().zip(images) {
        for k in 0..3 {
            // x - (scale y + shift)
            let d = V::splat(image.scale[k]).neg_mul_add(y[k], V::splat(x[k] - image.shift[k]));
            *r2 = d.mul_add(d, *r2);
        }
    }
    let inverse = V::rsqrts_or_zero(r2);
    for (inverse, (_, weight)) in inverse.into_iter().zip(images) {
        sum = V::splat(*weight).mul_add(inverse, sum);
    }
    sum
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
