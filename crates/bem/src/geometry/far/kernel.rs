//! The matrix of distant images: coefficients of their potentials at Chebyshev points of a box.

use std::array;

use nalgebra::{DMatrix, DMatrixView};
use parallel::prelude::*;
use simd::{Elementary, Real, Simd, Task};

use crate::geometry::image::Image;

/// Lines transformed together.
const LINES: usize = 256;

/// A for images with their weights, for the nodes of a box given by its centre and half sides,
/// shape (targets, sources). Many pairs of nodes are equivalent for images ([`Pairs`]): each is
/// summed once.
pub(super) fn kernel(
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
        let others = [y.different[row % y.different.len()], z.different[row / y.different.len()]];
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

/// Pairs of a target's and a source's coordinate along an axis, at the nodes there.
struct Pairs {
    /// Inequivalent pairs, coordinates of targets first.
    different: Vec<[f64; 2]>,
    /// Index of each pair among these, shape (targets, sources).
    of: Vec<usize>,
}

impl Pairs {
    /// Along an axis that images leave unchanged only (x - y)^2 matters: it is the same with target
    /// and source exchanged, and with both mirrored at the middle of the nodes.
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

    /// Pairs of a target with all sources.
    fn of_target(&self, target: usize) -> &[usize] {
        let n = self.of.len().isqrt();
        &self.of[target * n..(target + 1) * n]
    }
}

/// Sums over images with their weights of inverse distances between targets and images of sources.
struct Row<'a> {
    /// Coordinates along x of targets and of sources, padded to whole vectors.
    along_x: &'a [Vec<f64>; 2],
    /// Coordinates along y and z of one target and one source.
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

/// From values at Chebyshev points to coefficients, along an axis of this length whose neighbours
/// are `stride` apart.
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
