//! Images that are so far away that what they do to the surface is smooth over all of it.
//!
//! The sum over such images of 1/|x - g(y)| is a polynomial of both points: interpolated at
//! Chebyshev points of the surface's box, sum_kl T_k(x) A_kl T_l(y), with products of Chebyshev
//! polynomials along the axes. That takes two operations a polynomial and point, whatever the
//! number of images.

use std::array;
use std::collections::HashMap;

use nalgebra::{DMatrix, DMatrixView};
use parallel::prelude::*;
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

/// A point and the region that it is in.
pub type Place = (Vec3, usize);

/// Points that are worked on at a time.
const BATCH: usize = 128;

/// Vectors of points, or functions, side by side.
const VECTORS: usize = 4;

/// Lines that are transformed at a time.
const LINES: usize = 256;

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
        let m = counts.iter().product::<usize>();
        let pairs: [Pairs; 3] = array::from_fn(|k| {
            let angle = |i: usize| std::f64::consts::PI * (i as f64 + 0.5) / counts[k] as f64;
            let nodes = (0..counts[k]).map(|i| centre[k] + half[k] * angle(i).cos());
            let leaves = |(image, _): &(Image, f64)| image.scale[k] == 1.0 && image.shift[k] == 0.0;
            Pairs::new(&nodes.collect::<Vec<f64>>(), images.iter().all(leaves))
        });
        let [x, y, z] = &pairs;
        let filled = x.different.len().next_multiple_of(f64::MAX_LANES);
        let along_x = [0, 1].map(|side| -> Vec<f64> {
            let places = x.different.iter().map(|pair| pair[side]);
            places.chain(std::iter::repeat(centre[0])).take(filled).collect()
        });
        // Shape (z, y, x).
        let mut sums = vec![0.0; z.different.len() * y.different.len() * filled];
        sums.par_chunks_exact_mut(filled.max(1)).enumerate().for_each(|(row, sums)| {
            let others =
                [y.different[row % y.different.len()], z.different[row / y.different.len()]];
            simd::run(Row { along_x: &along_x, others, images, sums });
        });
        let mut kernel = vec![0.0; m * m];
        kernel.par_chunks_exact_mut(m).enumerate().for_each(|(to, row)| {
            let [nx, ny, _] = counts;
            let of_x = x.of_target(to % nx);
            let others = z.of_target(to / (nx * ny)).iter().flat_map(|of_z| {
                let of_y = y.of_target(to / nx % ny).iter();
                of_y.map(move |of_y| of_z * y.different.len() + of_y)
            });
            for (row, other) in row.chunks_exact_mut(nx).zip(others) {
                let sums = &sums[other * filled..][..filled];
                row.iter_mut().zip(of_x).for_each(|(value, of_x)| *value = sums[*of_x]);
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

    /// Calls `of` with some points of one region at a time, which stand side by side in vectors:
    /// the polynomials there, the region, and which of `points` they are.
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

    /// Coefficients of the potential that charges of these moments make, shape (columns, regions of
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

/// Functions along the axes at some points, with as many as fill whole vectors.
struct AtPoints {
    counts: [usize; 3],
    /// The points along each axis, from -1 to 1.
    along: [Vec<f64>; 3],
    /// T_n along each axis, shape (n, points).
    values: [Vec<f64>; 3],
}

impl AtPoints {
    fn new(counts: [usize; 3], mut along: [Vec<f64>; 3]) -> Self {
        let filled = along[0].len().next_multiple_of(VECTORS * f64::MAX_LANES);
        along.iter_mut().for_each(|along| along.resize(filled, 0.0));
        let values = array::from_fn(|k| polynomials(&along[k], counts[k], 1.0));
        Self { counts, along, values }
    }

    fn functions(&self) -> [&[f64]; 3] {
        self.values.each_ref().map(Vec::as_slice)
    }

    fn add_charges(&self, charges: &[f64], moments: &mut [f64]) {
        let mut filled = vec![0.0; self.along[0].len()];
        filled[..charges.len()].copy_from_slice(charges);
        let (counts, functions) = (self.counts, self.functions());
        simd::run(AddCharges { counts, functions, charges: &filled, moments });
    }

    fn sums(&self, functions: [&[f64]; 3], coefficients: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.along[0].len()];
        simd::run(Sums { counts: self.counts, functions, coefficients, sums: &mut sums });
        sums
    }

    fn potentials(&self, coefficients: &[f64]) -> Vec<f64> {
        self.sums(self.functions(), coefficients)
    }

    /// Derivatives along each axis, by T_n' = n U_(n-1).
    fn slopes(&self, coefficients: &[f64]) -> [Vec<f64>; 3] {
        array::from_fn(|k| {
            let points = self.along[k].len();
            let mut slopes = vec![0.0; points];
            slopes.append(&mut polynomials(&self.along[k], self.counts[k] - 1, 2.0));
            for (n, slopes) in slopes.chunks_exact_mut(points).enumerate() {
                slopes.iter_mut().for_each(|slope| *slope *= n as f64);
            }
            let mut functions = self.functions();
            functions[k] = &slopes;
            self.sums(functions, coefficients)
        })
    }
}

/// Sums over all coefficients, shape (z, y, x), of functions along the axes, shape (n, points).
struct Sums<'a> {
    counts: [usize; 3],
    functions: [&'a [f64]; 3],
    coefficients: &'a [f64],
    sums: &'a mut [f64],
}

impl Task<f64> for Sums<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { counts: [nx, ny, _], functions: [x, y, z], coefficients, sums } = self;
        let points = sums.len();
        for at in (0..points).step_by(VECTORS * V::LANES) {
            let load = |from: &[f64], v: usize| V::load(&from[at + v * V::LANES..]);
            let mut all = [V::zero(); VECTORS];
            for (plane, z) in coefficients.chunks_exact(nx * ny).zip(z.chunks_exact(points)) {
                let mut of_plane = [V::zero(); VECTORS];
                for (row, y) in plane.chunks_exact(nx).zip(y.chunks_exact(points)) {
                    let mut of_row = [V::zero(); VECTORS];
                    for (c, x) in row.iter().zip(x.chunks_exact(points)) {
                        let c = V::splat(*c);
                        for v in 0..VECTORS {
                            of_row[v] = c.mul_add(load(x, v), of_row[v]);
                        }
                    }
                    for v in 0..VECTORS {
                        of_plane[v] = load(y, v).mul_add(of_row[v], of_plane[v]);
                    }
                }
                for v in 0..VECTORS {
                    all[v] = load(z, v).mul_add(of_plane[v], all[v]);
                }
            }
            for v in 0..VECTORS {
                all[v].store(&mut sums[at + v * V::LANES..]);
            }
        }
    }
}

/// Adds to moments, shape (z, y, x), charges times functions along the axes, shape (n, points).
struct AddCharges<'a> {
    counts: [usize; 3],
    functions: [&'a [f64]; 3],
    charges: &'a [f64],
    moments: &'a mut [f64],
}

impl Task<f64> for AddCharges<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { counts: [nx, ny, _], functions: [x, y, z], charges, moments } = self;
        let points = charges.len();
        let (mut of_plane, mut of_row) = (vec![0.0; points], vec![0.0; points]);
        for (plane, z) in moments.chunks_exact_mut(nx * ny).zip(z.chunks_exact(points)) {
            multiply::<V>(charges, z, &mut of_plane);
            for (row, y) in plane.chunks_exact_mut(nx).zip(y.chunks_exact(points)) {
                multiply::<V>(&of_plane, y, &mut of_row);
                let (blocks, rest) = row.as_chunks_mut::<VECTORS>();
                let mut functions = x.chunks_exact(points);
                for block in blocks {
                    let x: [&[f64]; VECTORS] =
                        array::from_fn(|_| functions.next().unwrap_or_default());
                    add_products::<V, VECTORS>(&of_row, x, block);
                }
                for (moment, x) in rest.iter_mut().zip(functions) {
                    add_products::<V, 1>(&of_row, [x], array::from_mut(moment));
                }
            }
        }
    }
}

#[inline(always)]
fn multiply<V: Simd<Scalar = f64>>(a: &[f64], b: &[f64], products: &mut [f64]) {
    for at in (0..products.len()).step_by(V::LANES) {
        V::load(&a[at..]).mul(V::load(&b[at..])).store(&mut products[at..]);
    }
}

/// Adds the dot products of values with functions at the same points.
#[inline(always)]
fn add_products<V: Simd<Scalar = f64>, const N: usize>(
    values: &[f64],
    functions: [&[f64]; N],
    to: &mut [f64; N],
) {
    let mut sums = [V::zero(); N];
    for at in (0..values.len()).step_by(V::LANES) {
        let value = V::load(&values[at..]);
        for k in 0..N {
            sums[k] = value.mul_add(V::load(&functions[k][at..]), sums[k]);
        }
    }
    for k in 0..N {
        to[k] += sums[k].quick_sum();
    }
}

/// Chebyshev polynomials at points from -1 to 1, shape (n, points): T_n if that of degree 1 is t,
/// U_n if it is 2 t.
fn polynomials(t: &[f64], count: usize, linear: f64) -> Vec<f64> {
    let points = t.len();
    let mut values = vec![1.0; points * count];
    for n in 1..count {
        let (before, own) = values.split_at_mut(n * points);
        for (i, t) in t.iter().enumerate() {
            own[i] = match n {
                1 => linear * t,
                _ => 2.0 * t * before[(n - 1) * points + i] - before[(n - 2) * points + i],
            };
        }
    }
    values
}

/// Pairs of a target's and a source's place along an axis, of the nodes there.
struct Pairs {
    /// Those that images can tell apart, places of targets first.
    different: Vec<[f64; 2]>,
    /// Which of these each pair is, shape (targets, sources).
    of: Vec<usize>,
}

impl Pairs {
    /// Images that leave an axis as it is see how far the places are apart alone, which has two
    /// symmetries: targets and sources in each other's place, and nodes as seen in the middle.
    fn new(nodes: &[f64], is_left: bool) -> Self {
        let n = nodes.len();
        let (mut different, mut of) = (Vec::new(), Vec::with_capacity(n * n));
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let (i_mirrored, j_mirrored) = (n - 1 - i, n - 1 - j);
            let same = [(i, j), (j, i), (i_mirrored, j_mirrored), (j_mirrored, i_mirrored)];
            let first = same.iter().map(|(i, j)| i * n + j).min().filter(|_| is_left);
            if let Some(first) = first.filter(|&first| first < of.len()) {
                of.push(of[first]);
            } else {
                of.push(different.len());
                different.push([nodes[i], nodes[j]]);
            }
        }
        Self { different, of }
    }

    /// Of a target with all sources.
    fn of_target(&self, target: usize) -> &[usize] {
        let n = self.of.len().isqrt();
        &self.of[target * n..(target + 1) * n]
    }
}

/// Sums over images with their weights of inverse distances between targets and images of sources.
struct Row<'a> {
    /// Along x, of targets and of sources, which fill whole vectors.
    along_x: &'a [Vec<f64>; 2],
    /// Along y and z, of one target and one source.
    others: [[f64; 2]; 2],
    images: &'a [(Image, f64)],
    sums: &'a mut [f64],
}

impl Task<f64> for Row<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        /// Images side by side.
        const BLOCK: usize = 4;
        let Self { along_x, others, images, sums } = self;
        let (blocks, rest) = images.as_chunks::<BLOCK>();
        for at in (0..sums.len()).step_by(V::LANES) {
            let x = along_x.each_ref().map(|x| V::load(&x[at..]));
            let mut sum = V::zero();
            for block in blocks {
                sum = add_images::<V, BLOCK>(sum, x, others, block);
            }
            for image in rest {
                sum = add_images::<V, 1>(sum, x, others, array::from_ref(image));
            }
            sum.store(&mut sums[at..]);
        }
    }
}

#[inline(always)]
fn add_images<V: Elementary, const B: usize>(
    mut sum: V,
    [target, source]: [V; 2],
    others: [[f64; 2]; 2],
    images: &[(Image, f64); B],
) -> V {
    let mut r2 = [V::zero(); B];
    for (r2, (image, _)) in r2.iter_mut().zip(images) {
        // target - (scale source + shift)
        let along =
            |k: usize| others[k - 1][0] - (image.scale[k] * others[k - 1][1] + image.shift[k]);
        let (y, z) = (along(1), along(2));
        let d = V::splat(image.scale[0]).neg_mul_add(source, target.sub(V::splat(image.shift[0])));
        *r2 = d.mul_add(d, V::splat(y * y + z * z));
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
    let matrix = DMatrix::from_fn(length, length, |n, i| share(n) * (n as f64 * angle(i)).cos());
    if stride == 1 {
        values.par_chunks_mut(length * LINES).for_each(|lines| {
            let of_lines = &matrix * DMatrixView::from_slice(lines, length, lines.len() / length);
            lines.copy_from_slice(of_lines.as_slice());
        });
    } else {
        let transposed = matrix.transpose();
        values.par_chunks_exact_mut(length * stride).for_each(|block| {
            let of_block = DMatrixView::from_slice(block, stride, length) * &transposed;
            block.copy_from_slice(of_block.as_slice());
        });
    }
}
