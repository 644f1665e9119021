//! Dense matrices of screened translations, one for each vector and level: rotations and coaxial
//! translations of the CPU's tables, multiplied out on the device (docs/math.md, "Screened sums").
//!
//! The tables are small, and made on the host; the matrices are not, and never leave the device.

use std::collections::BTreeMap;

use cuda::{Buffer, Device, Error, Grid, Plain, Stream};
use parallel::prelude::*;

use super::kernels::{Kernel, rotated};
use super::reals::precision_macro;
use crate::Precision;
use crate::coaxial::Coaxial;
use crate::harmonics::Gradient;
use crate::rotation::Polar;
use crate::screened::{self, Screening};
use crate::translate::Kind;

/// Blocks that fill one matrix.
const FILL_BLOCKS: u32 = 8;

/// What one matrix is made of, as `kernels/rotated.cu` declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rotated {
    matrix: u64,
    polar: u64,
    coaxial: u64,
    cos: f64,
    sin: f64,
    p: u32,
    lda: u32,
    coaxial_p: u32,
    unused: u32,
}

// SAFETY: five 64-bit and four 32-bit numbers, 56 bytes.
unsafe impl Plain for Rotated {}
cuda::elements! { Rotated: "Rotated" }

/// A matrix to be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) kind: Kind,
    /// In half sides of the smaller box: from the source to the target, or from the parent to the
    /// child.
    pub(super) offset: [i32; 3],
    /// Level of the boxes that are written.
    pub(super) level: usize,
    /// Truncation number of both expansions.
    pub(super) p: usize,
    /// Where the matrix goes, and scalars between two of its columns.
    pub(super) address: u64,
    pub(super) lda: usize,
}

impl Wanted {
    fn square(&self) -> i64 {
        self.offset.iter().map(|&o| i64::from(o) * i64::from(o)).sum()
    }

    /// What tells its rotation about y from others: the square of the polar angle's cosine with its
    /// sign, as a reduced fraction.
    fn polar(&self) -> [i64; 2] {
        let (z, r2) = (i64::from(self.offset[2]), self.square());
        let divisor = gcd(z * z, r2).max(1);
        [z.signum() * z * z / divisor, r2 / divisor]
    }

    fn coaxial(&self) -> (usize, Kind, i64) {
        (self.level, self.kind, self.square())
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The rotation about y that takes a vector with such a polar angle to the z-axis.
fn rotation(p: usize, [z2, r2]: [i64; 2], gradient: &Gradient<f64>) -> Polar<f64> {
    let cos2 = z2.unsigned_abs() as f64 / r2 as f64;
    let cos = cos2.sqrt() * z2.signum() as f64;
    Polar::new(p, cos, (1.0 - cos2).max(0.0).sqrt(), gradient)
}

/// The translation along z over so many squared half sides of the smaller box.
fn along_z(p: usize, (level, kind, r2): (usize, Kind, i64), screening: Screening) -> Coaxial<f64> {
    let distance = 0.5 * (r2 as f64).sqrt();
    let kappa = screening.at(level as u8);
    match kind {
        // In units of the parent.
        Kind::M2m => screened::m2m(p, kappa, 0.5 * distance),
        Kind::L2l => screened::l2l(p, 2.0 * kappa, 0.5 * distance),
        Kind::M2l { finer_target } => {
            let ratio = f64::from(finer_target).exp2();
            let sides = if finer_target >= 0 { (ratio, 1.0) } else { (1.0, 1.0 / ratio) };
            screened::m2l(p, kappa / sides.1, sides, distance)
        }
    }
}

/// Tables one after the other, by what tells them from others: where each begins, and its
/// truncation number.
struct Stack<K> {
    places: BTreeMap<K, (usize, usize)>,
    values: Vec<f64>,
}

impl<K: Ord + Copy + Sync + Send> Stack<K> {
    /// Of some keys with their truncation numbers, the largest of each.
    fn new(
        wanted: impl Iterator<Item = (K, usize)>,
        make: impl Fn(usize, K) -> Vec<f64> + Sync,
    ) -> Self {
        let mut numbers = BTreeMap::<K, usize>::new();
        for (key, p) in wanted {
            let of = numbers.entry(key).or_default();
            *of = p.max(*of);
        }
        let numbers: Vec<(K, usize)> = numbers.into_iter().collect();
        let tables: Vec<Vec<f64>> = numbers.par_iter().map(|&(key, p)| make(p, key)).collect();
        let mut begin = 0;
        let place = |((key, p), table): (&(K, usize), &Vec<f64>)| {
            begin += table.len();
            (*key, (begin - table.len(), *p))
        };
        let places = numbers.iter().zip(&tables).map(place).collect();
        Self { places, values: tables.concat() }
    }
}

/// What makes some matrices, as often as they are wanted.
#[derive(Debug)]
pub(super) struct RotatedMatrices {
    matrices: Buffer<Rotated>,
    /// Kept for the kernel, which reads them.
    _polars: Buffer<f64>,
    _coaxials: Buffer<f64>,
    fill: Kernel<rotated::Fill>,
}

impl RotatedMatrices {
    pub(super) fn new(
        device: &Device,
        precision: Precision,
        screening: Screening,
        wanted: &[Wanted],
    ) -> Result<Self, Error> {
        let p_max = wanted.iter().map(|w| w.p).max().unwrap_or(0);
        let gradient = Gradient::<f64>::new(p_max + 1);
        let of_polar = |p, key| rotation(p, key, &gradient).blocks;
        let polars = Stack::new(wanted.iter().map(|w| (w.polar(), w.p)), of_polar);
        // The matrix of order 0 is the first, and all others follow.
        let of_coaxial = |p, key| along_z(p, key, screening).matrix(0).0.to_vec();
        let coaxials = Stack::new(wanted.iter().map(|w| (w.coaxial(), w.p)), of_coaxial);
        let on_device = [device.upload(&polars.values)?, device.upload(&coaxials.values)?];
        let [polar, coaxial] = on_device.each_ref().map(|buffer| buffer.address());
        let of = |w: &Wanted| {
            let (of_polar, _) = polars.places[&w.polar()];
            let (of_coaxial, coaxial_p) = coaxials.places[&w.coaxial()];
            let [x, y, _] = w.offset.map(f64::from);
            let r = x.hypot(y);
            let (cos, sin) = if r > 0.0 { (x / r, y / r) } else { (1.0, 0.0) };
            Rotated {
                matrix: w.address,
                polar: polar + 8 * of_polar as u64,
                coaxial: coaxial + 8 * of_coaxial as u64,
                cos,
                sin,
                p: w.p as u32,
                lda: w.lda as u32,
                coaxial_p: coaxial_p as u32,
                unused: 0,
            }
        };
        let matrices: Vec<Rotated> = wanted.iter().map(of).collect();
        let [polars, coaxials] = on_device;
        Ok(Self {
            matrices: device.upload(&matrices)?,
            _polars: polars,
            _coaxials: coaxials,
            fill: Kernel::with(device, &[precision_macro(precision)])?,
        })
    }

    /// Makes `count` matrices from number `first` on.
    pub(super) fn make(&self, stream: &Stream, first: usize, count: usize) -> Result<(), Error> {
        let grid = Grid { blocks: [count as u32, FILL_BLOCKS], threads: 256, shared: 0 };
        let some = rotated::Fill { matrices: self.matrices.pointer_to(first) };
        self.fill.launch(stream, grid, some)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::gpu::tables::{padded_columns, padded_rows, regular};
    use crate::harmonics::{cosine, parity, sine};
    use crate::rotation::block;
    use crate::screened::{HALF_DIAGONAL, corner, regular as radial};

    /// A translation of truncation number `p` without a place for its matrix.
    pub(in crate::gpu) fn wanted(kind: Kind, offset: [i32; 3], level: usize, p: usize) -> Wanted {
        Wanted { kind, offset, level, p, address: 0, lda: padded_rows(p) }
    }

    /// The matrix as the kernel makes it, column by column.
    pub(in crate::gpu) fn dense(wanted: &Wanted, screening: Screening) -> Vec<f64> {
        let Wanted { p, lda, offset, .. } = *wanted;
        let gradient = Gradient::<f64>::new(p + 1);
        let polar = rotation(p, wanted.polar(), &gradient).blocks;
        let coaxial = along_z(p, wanted.coaxial(), screening);
        let azimuth = f64::from(offset[1]).atan2(f64::from(offset[0]));
        let mut matrix = vec![0.0; lda * padded_columns(p)];
        let cosines = |n: usize, i: usize, j: usize| polar[block(n) + i * (n + 1) + j];
        let sines = |n: usize, i: usize, j: usize| {
            if i * j == 0 { 0.0 } else { polar[block(n) + (n + 1) * (n + 1) + (i - 1) * n + j - 1] }
        };
        for (n, k) in (0..p).flat_map(|n| (0..p).map(move |k| (n, k))) {
            for (m, l) in (0..=n).flat_map(|m| (0..=k).map(move |l| (m, l))) {
                let (mut a, mut b) = (0.0, 0.0);
                for order in 0..=n.min(k) {
                    let (values, stride) = coaxial.matrix(order);
                    let along = values[(n - order) * stride + k - order];
                    a += cosines(n, m, order) * along * cosines(k, order, l);
                    b += sines(n, m, order) * along * sines(k, order, l);
                }
                let (s_in, c_in) = (l as f64 * azimuth).sin_cos();
                let (s_out, c_out) = (m as f64 * azimuth).sin_cos();
                let (s_out, c_out) = (parity(m) * s_out, parity(m) * c_out);
                let mut put = |row: usize, column: usize, value| matrix[column * lda + row] = value;
                put(cosine(n, m), cosine(k, l), c_out * a * c_in + s_out * b * s_in);
                if m > 0 {
                    put(sine(n, m), cosine(k, l), s_out * a * c_in - c_out * b * s_in);
                }
                if l > 0 {
                    put(cosine(n, m), sine(k, l), c_out * a * s_in - s_out * b * c_in);
                }
                if m > 0 && l > 0 {
                    put(sine(n, m), sine(k, l), s_out * a * s_in + c_out * b * c_in);
                }
            }
        }
        matrix
    }

    /// The functions that expansions are sums of, in a box with kappa times its side `kappa`.
    fn expand(p: usize, kappa: f64, y: [f64; 3]) -> Vec<f64> {
        let length = y.iter().map(|c| c * c).sum::<f64>().sqrt();
        let radial = radial(p, kappa * length, (-HALF_DIAGONAL * kappa).exp());
        let corner = corner(p, kappa);
        let values = regular(p, y).into_iter().enumerate();
        values.map(|(i, value)| value * radial[i.isqrt()] / corner[i.isqrt()]).collect()
    }

    fn product(matrix: &[f64], lda: usize, input: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; input.len()];
        for (column, value) in matrix.chunks_exact(lda).zip(input) {
            out.iter_mut().zip(column).for_each(|(out, entry)| *out += entry * value);
        }
        out
    }

    #[test]
    fn matrices_are_translations() {
        const P: usize = 24;
        let length = |x: [f64; 3]| x.iter().map(|c| c * c).sum::<f64>().sqrt();
        // Well inside their boxes, so that the series has converged.
        let (y, x) = ([0.11, -0.14, 0.09], [-0.12, 0.08, 0.13]);
        for root in [1e-3, 3.0, 40.0] {
            let screening = Screening { root };
            for (offset, finer_target) in [
                ([4, 0, 0], 0),
                ([0, 0, -4], 0),
                ([0, -6, 2], 0),
                ([-4, 6, -6], 0),
                ([7, 3, -5], -1),
                ([-1, 9, 5], 1),
            ] {
                let level = 3;
                let w = wanted(Kind::M2l { finer_target }, offset, level, P);
                // Levels of the target and of the source, sides in units of the root.
                let target = screening.at(level as u8);
                let source = target * f64::from(finer_target).exp2();
                let local = product(&dense(&w, screening), w.lda, &expand(P, source, y));
                let found: f64 = local.iter().zip(expand(P, target, x)).map(|(l, e)| l * e).sum();
                // In units of the smaller side.
                let unit = target.min(source);
                let r = length(std::array::from_fn(|i| {
                    0.5 * f64::from(offset[i]) + (target * x[i] - source * y[i]) / unit
                }));
                let exact = (-unit * r).exp() / r * (target / unit);
                let error = found / exact - 1.0;
                assert!(error.abs() < 1e-10, "{root} {offset:?} {finer_target}: {error:e}");
            }
            for octant in 0..8 {
                let offset: [i32; 3] =
                    std::array::from_fn(|i| if octant >> i & 1 == 1 { 1 } else { -1 });
                let (parent, child) = (screening.at(2), screening.at(3));
                let of_child = expand(P, child, x);
                let of_parent = expand(
                    P,
                    parent,
                    std::array::from_fn(|i| 0.5 * x[i] + 0.25 * f64::from(offset[i])),
                );
                let up = wanted(Kind::M2m, offset, 2, P);
                let moved = product(&dense(&up, screening), up.lda, &of_child);
                let down = wanted(Kind::L2l, offset, 3, P);
                let matrix = dense(&down, screening);
                // What is cut off comes from the highest degrees.
                for i in 0..P * P / 4 {
                    let error = (moved[i] - of_parent[i]).abs();
                    assert!(error < 1e-9, "{root} {octant} {i}: {error:e}");
                    let column = &matrix[i * down.lda..];
                    let sum: f64 = column.iter().zip(&of_child).map(|(m, e)| 2.0 * m * e).sum();
                    let error = (sum - of_parent[i]).abs();
                    assert!(error < 1e-9, "{root} {octant} {i} down: {error:e}");
                }
            }
        }
    }
}
