//! The translation of a batch of expansions by one vector: rotate, translate along z, rotate back.
//!
//! A batch is all pairs of boxes that share a translation vector. [`BLOCK`] vectors of lanes, one lane a pair, go through the
//! matrices at a time, so that each matrix entry is read once for all of them. The same code serves M2M, M2L and L2L: they
//! differ in the coaxial matrices and in the truncation numbers on either side.

use std::ops::Range;

use crate::buffer::Buffer;
use crate::coaxial::Coaxial;
use crate::expansions::Level;
use crate::product::{BLOCK, Lanes, Matrix};
use crate::reach::Reach;
use crate::rotation::{Azimuth, Polar, block};
use crate::shared::Shared;
use crate::simd::{self, MAX_LANES, Real, Simd, Task};

/// One translation vector, resolved to its matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Translation<'a, T> {
    pub azimuth: &'a Azimuth<T>,
    pub polar: &'a Polar<T>,
    pub coaxial: &'a Coaxial<T>,
    /// Truncation number of the expansions that are read.
    pub order_in: usize,
    /// Truncation number of the expansions that are added to.
    pub order_out: usize,
    /// Which coefficients of the rotated frame take part; none: all do.
    pub reach: Option<&'a Reach>,
}

impl<T> Translation<'_, T> {
    /// Orders that take part at degree `n` of the rotated frame.
    #[inline(always)]
    fn orders(&self, n: usize) -> usize {
        self.reach.map_or(n + 1, |reach| reach.orders(n))
    }

    /// First degree that takes no part at order `m`.
    #[inline(always)]
    fn degrees(&self, m: usize) -> usize {
        self.reach.map_or(usize::MAX, |reach| reach.degrees(m))
    }
}

/// Buffers of one job.
///
/// Between the rotations coefficients lie order by order: those of order m and degree n at `m (p - 1) + n`, the cosines first,
/// then the sines, so that rotations step through them by p - 1 and coaxial translations by 1.
pub(crate) struct Scratch<V: Simd> {
    a: Buffer<V>,
    b: Buffer<V>,
}

impl<V: Simd> Scratch<V> {
    /// For truncation numbers up to `p`.
    pub(crate) fn new(p: usize) -> Self {
        // Room for the last, partly filled vectors of a transposition.
        let length = BLOCK * (2 * p * p + V::LANES);
        Self { a: Buffer::new(length), b: Buffer::new(length) }
    }
}

/// All pairs of boxes of a job that share a vector: one of the job's batches.
pub(crate) struct Batch<'a, T> {
    pub(crate) translation: Translation<'a, T>,
    /// Box that is read, within its level; box that is written, counted from [`TranslateJob::first`].
    pub(crate) pairs: &'a [[u32; 2]],
    pub(crate) sources: Level<&'a [T]>,
}

/// Translations of some densities to a run of boxes.
pub(crate) struct TranslateJob<'a, T> {
    pub(crate) densities: Range<usize>,
    pub(crate) batches: usize,
    /// Batch `i` of the job.
    pub(crate) batch: &'a dyn Fn(usize) -> Batch<'a, T>,
    pub(crate) targets: &'a Level<Shared<'a, T>>,
    /// Place of the first box that is written within its level.
    pub(crate) first: usize,
    /// Largest truncation number of any batch.
    pub(crate) order: usize,
    /// Whether lanes carry several densities, which fills those of small batches.
    pub(crate) mixed: bool,
}

impl<'a, T: Real> TranslateJob<'a, T> {
    /// Translates and adds to the targets.
    ///
    /// # Safety
    /// No target occurs twice in a batch, and no other job has part in the targets.
    pub(crate) unsafe fn run(self, level: simd::Level) {
        T::dispatch(level, Checked(self));
    }
}

/// A job whose caller has seen to its safety.
struct Checked<'a, T>(TranslateJob<'a, T>);

impl<T: Real> Task<T> for Checked<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let TranslateJob { densities, batches, batch, targets, first, order, mixed } = self.0;
        let mut scratch = Scratch::<V>::new(order);
        let together = if mixed { densities.len().max(1) } else { 1 };
        for density in densities.step_by(together) {
            for i in 0..batches {
                let batch = batch(i);
                // SAFETY: that of `TranslateJob::run`.
                unsafe {
                    translate(&batch, density..density + together, targets, first, &mut scratch)
                };
            }
        }
    }
}

/// Translates a batch for a run of densities.
///
/// # Safety
/// [`TranslateJob::run`]'s.
#[inline(always)]
unsafe fn translate<V: Simd>(
    batch: &Batch<'_, V::Scalar>,
    densities: Range<usize>,
    targets: &Level<Shared<'_, V::Scalar>>,
    first: usize,
    scratch: &mut Scratch<V>,
) {
    let Batch { translation, pairs, sources } = batch;
    let total = densities.len() * pairs.len();
    let (mut density, mut next) = (densities.start, 0);
    let mut done = 0;
    while done < total {
        // Where the expansions of each lane begin.
        let count = (total - done).min(BLOCK * V::LANES);
        let mut from = [0; BLOCK * MAX_LANES];
        let mut to = [0; BLOCK * MAX_LANES];
        for (from, to) in from.iter_mut().zip(&mut to).take(count) {
            let [source, target] = pairs[next].map(|i| i as usize);
            *from = density * sources.step + source * sources.stride;
            *to = density * targets.step + (first + target) * targets.stride;
            next += 1;
            if next == pairs.len() {
                (density, next) = (density + 1, 0);
            }
        }
        // Lanes without a pair read an expansion and write none.
        let last = from[count - 1];
        from[count..].fill(last);
        let block = Block {
            from: &from,
            to: &to[..count],
            sources: sources.values,
            targets: &targets.values,
        };
        // SAFETY: the caller's.
        unsafe {
            match count.div_ceil(V::LANES) {
                1 => block.translate::<V, 1>(translation, scratch),
                2 => block.translate::<V, 2>(translation, scratch),
                _ => block.translate::<V, BLOCK>(translation, scratch),
            }
        }
        done += count;
    }
}

/// Expansions that go through the matrices together.
struct Block<'a, T> {
    /// Where each lane's source begins.
    from: &'a [usize],
    /// Where the target of each lane that has one begins.
    to: &'a [usize],
    sources: &'a [T],
    targets: &'a Shared<'a, T>,
}

impl<T: Real> Block<'_, T> {
    /// # Safety
    /// [`TranslateJob::run`]'s.
    #[inline(always)]
    unsafe fn translate<V: Simd<Scalar = T>, const B: usize>(
        &self,
        translation: &Translation<'_, T>,
        scratch: &mut Scratch<V>,
    ) {
        let (a, _) = scratch.a.as_chunks_mut::<B>();
        let (b, _) = scratch.b.as_chunks_mut::<B>();
        gather(translation.order_in, self.from, self.sources, a);
        rotate_forward(translation, a, b);
        translate_along_z(translation, b, a);
        rotate_back(translation, a, b);
        // SAFETY: the caller's.
        unsafe { scatter(translation.order_out, self.to, b, self.targets) };
    }
}

/// Coefficient `i` of every lane's source into `a[i]`.
#[inline(always)]
fn gather<V: Simd, const B: usize>(
    p: usize,
    begins: &[usize],
    sources: &[V::Scalar],
    a: &mut [Lanes<V, B>],
) {
    let length = (p * p).next_multiple_of(V::LANES);
    for (half, begins) in begins[..B * V::LANES].chunks_exact(V::LANES).enumerate() {
        let mut rows: [&[V::Scalar]; MAX_LANES] = [&[]; MAX_LANES];
        for (row, &begin) in rows.iter_mut().zip(begins) {
            *row = &sources[begin..begin + length];
        }
        for (i, a) in a[..length].chunks_exact_mut(V::LANES).enumerate() {
            let base = i * V::LANES;
            let mut columns = [V::zero(); MAX_LANES];
            for lane in 0..V::LANES {
                // SAFETY: the rows of all lanes have `length` scalars, and so has `a`.
                let row = unsafe { rows[lane].get_unchecked(base..base + V::LANES) };
                columns[lane] = V::load(row);
            }
            V::transpose(&mut columns[..V::LANES]);
            for lane in 0..V::LANES {
                a[lane][half] = columns[lane];
            }
        }
    }
}

/// Adds coefficient `i` of every lane, `b[i]`, to the lane's target.
///
/// # Safety
/// The targets are distinct, and no other job has part in them.
#[inline(always)]
unsafe fn scatter<V: Simd, const B: usize>(
    p: usize,
    begins: &[usize],
    b: &mut [Lanes<V, B>],
    targets: &Shared<'_, V::Scalar>,
) {
    let length = (p * p).next_multiple_of(V::LANES);
    b[p * p..length].fill([V::zero(); B]);
    for (half, begins) in begins.chunks(V::LANES).enumerate() {
        let mut rows: [&mut [V::Scalar]; MAX_LANES] = std::array::from_fn(|_| &mut [][..]);
        for (row, &begin) in rows.iter_mut().zip(begins) {
            // SAFETY: the caller's.
            *row = unsafe { targets.slice(begin..begin + length) };
        }
        // A count that the compiler knows keeps the lanes in registers.
        if begins.len() == V::LANES {
            add_rows(&b[..length], half, V::LANES, &mut rows);
        } else {
            add_rows(&b[..length], half, begins.len(), &mut rows);
        }
    }
}

/// Adds the first `count` lanes of one half of `b` to the rows, which have as many scalars.
#[inline(always)]
fn add_rows<V: Simd, const B: usize>(
    b: &[Lanes<V, B>],
    half: usize,
    count: usize,
    rows: &mut [&mut [V::Scalar]; MAX_LANES],
) {
    assert!(rows[..count].iter().all(|row| row.len() == b.len()));
    for (i, b) in b.chunks_exact(V::LANES).enumerate() {
        let base = i * V::LANES;
        let mut lanes = [V::zero(); MAX_LANES];
        for coefficient in 0..V::LANES {
            lanes[coefficient] = b[coefficient][half];
        }
        V::transpose(&mut lanes[..V::LANES]);
        for lane in 0..count {
            // SAFETY: the assertion above.
            let row = unsafe { rows[lane].get_unchecked_mut(base..base + V::LANES) };
            V::load(row).add(lanes[lane]).store(row);
        }
    }
}

/// Turns the coefficients of one degree about z: each pair `C, S` of order m by m times the azimuth.
#[inline(always)]
fn turn<V: Simd, const B: usize>(azimuth: &[[V::Scalar; 2]], n: usize, degree: &mut [Lanes<V, B>]) {
    let (sines, cosines) = degree.split_at_mut(n);
    let azimuth = &azimuth[1..n + 1];
    for (([c, s], x), y) in azimuth.iter().zip(&mut cosines[1..]).zip(sines) {
        let (c, s) = (V::splat(*c), V::splat(*s));
        for half in 0..B {
            let turned = y[half].mul_add(s, x[half].mul(c));
            y[half] = x[half].neg_mul_add(s, y[half].mul(c));
            x[half] = turned;
        }
    }
}

/// The matrices of cosines and sines of degree n.
#[inline(always)]
fn of_degree<T>(blocks: &[T], n: usize) -> [Matrix<'_, T>; 2] {
    let blocks = &blocks[block(n)..block(n + 1)];
    let (cosines, sines) = blocks.split_at((n + 1) * (n + 1));
    [
        Matrix { values: cosines, rows: n + 1, columns: n + 1, stride: n + 1 },
        Matrix { values: sines, rows: n, columns: n, stride: n },
    ]
}

/// Rotates `a`, degree by degree, until the vector points along z; leaves `b` order by order.
#[inline(always)]
fn rotate_forward<V: Simd, const B: usize>(
    translation: &Translation<'_, V::Scalar>,
    a: &mut [Lanes<V, B>],
    b: &mut [Lanes<V, B>],
) {
    let p = translation.order_in;
    let (of_cosines, of_sines) = b.split_at_mut(p * p);
    let step = p - 1;
    for n in 0..p {
        let degree = &mut a[n * n..(n + 1) * (n + 1)];
        turn(&translation.azimuth.forward, n, degree);
        let [cosines, sines] = of_degree(&translation.polar.blocks, n);
        let orders = translation.orders(n);
        let cosines = Matrix { rows: orders, ..cosines };
        let sines = Matrix { rows: orders - 1, ..sines };
        V::product::<B>(cosines, (&degree[n..], 1), (&mut of_cosines[n..], step));
        if orders > 1 {
            V::product::<B>(sines, (degree, 1), (&mut of_sines[step + n..], step));
        }
    }
}

/// Translates along z, order by order.
#[inline(always)]
fn translate_along_z<V: Simd, const B: usize>(
    translation: &Translation<'_, V::Scalar>,
    b: &[Lanes<V, B>],
    a: &mut [Lanes<V, B>],
) {
    let (p_in, p_out) = (translation.order_in, translation.order_out);
    let (cosines_in, sines_in) = b.split_at(p_in * p_in);
    let (cosines_out, sines_out) = a.split_at_mut(p_out * p_out);
    for m in 0..p_out {
        let degrees = translation.degrees(m);
        if degrees <= m {
            break;
        }
        let to = m * (p_out - 1) + m;
        if m >= p_in {
            cosines_out[to..to + p_out - m].fill([V::zero(); B]);
            sines_out[to..to + p_out - m].fill([V::zero(); B]);
            continue;
        }
        let from = m * (p_in - 1) + m;
        let (values, stride) = translation.coaxial.matrix(m);
        let (rows, columns) = (degrees.min(p_out) - m, degrees.min(p_in) - m);
        let matrix = Matrix { values, rows, columns, stride };
        V::product::<B>(matrix, (&cosines_in[from..], 1), (&mut cosines_out[to..], 1));
        if m > 0 {
            V::product::<B>(matrix, (&sines_in[from..], 1), (&mut sines_out[to..], 1));
        }
    }
}

/// Rotates `a`, ordered order by order, back into the frame of the boxes; leaves `b` degree by degree.
#[inline(always)]
fn rotate_back<V: Simd, const B: usize>(
    translation: &Translation<'_, V::Scalar>,
    a: &[Lanes<V, B>],
    b: &mut [Lanes<V, B>],
) {
    let p = translation.order_out;
    let (of_cosines, of_sines) = a.split_at(p * p);
    let step = p - 1;
    for n in 0..p {
        let degree = &mut b[n * n..(n + 1) * (n + 1)];
        let [cosines, sines] = of_degree(&translation.polar.blocks, n);
        let orders = translation.orders(n);
        let cosines = Matrix { columns: orders, ..cosines };
        let sines = Matrix { columns: orders - 1, ..sines };
        V::product::<B>(cosines, (&of_cosines[n..], step), (&mut degree[n..], 1));
        if orders > 1 {
            V::product::<B>(sines, (&of_sines[step + n..], step), (degree, 1));
        } else {
            degree[..n].fill([V::zero(); B]);
        }
        turn(&translation.azimuth.backward, n, degree);
    }
}

/// The matrices of every translation vector that a plan uses, shared where vectors share an angle or a length.
#[derive(Debug)]
pub(crate) struct Tables<T> {
    azimuths: Vec<Azimuth<T>>,
    polars: Vec<Polar<T>>,
    coaxials: Vec<Coaxial<T>>,
    vectors: Vec<Indices>,
    /// For each truncation number of M2L.
    reaches: Vec<Reach>,
}

/// Where the matrices of a vector are.
#[derive(Clone, Copy, Debug)]
struct Indices {
    azimuth: u32,
    polar: u32,
    coaxial: u32,
    is_m2l: bool,
}

/// What kind of coaxial translation a vector needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The child's centre seen from its parent's, multipoles.
    M2m,
    /// Source to target; levels of both.
    M2l { finer_target: i8 },
    /// The child's centre seen from its parent's, local expansions.
    L2l,
}

/// A translation vector in half sides of the smaller of its two boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Vector {
    pub kind: Kind,
    pub offset: [i32; 3],
}

impl<T: Real> Tables<T> {
    /// The tables of `vectors` for truncation numbers up to `orders[i]`; index i of [`Self::translation`] is that of `vectors`.
    pub(crate) fn new(vectors: &[(Vector, usize)]) -> Self {
        use rayon::prelude::*;
        use std::collections::BTreeMap;

        let p_max = vectors.iter().map(|v| v.1).max().unwrap_or(1);
        let gradient = crate::harmonics::Gradient::<f64>::new(p_max + 1);
        // Highest truncation number for each distinct azimuth, polar angle and coaxial translation.
        let mut azimuths = BTreeMap::<[i64; 2], usize>::new();
        let mut polars = BTreeMap::<[i64; 2], usize>::new();
        let mut coaxials = BTreeMap::<(Kind, i64), usize>::new();
        let keys: Vec<_> = vectors
            .iter()
            .map(|&(vector, p)| {
                let [x, y, z] = vector.offset.map(i64::from);
                let (rho2, r2) = (x * x + y * y, x * x + y * y + z * z);
                let divisor = gcd(x, y).max(1);
                let azimuth = [x / divisor, y / divisor];
                let divisor = gcd(z * z, r2).max(1);
                let polar = [z.signum() * z * z / divisor, r2 / divisor];
                let coaxial = (vector.kind, r2);
                let raise = |entry: &mut usize| *entry = (*entry).max(p);
                raise(azimuths.entry(azimuth).or_default());
                raise(polars.entry(polar).or_default());
                raise(coaxials.entry(coaxial).or_default());
                debug_assert!(rho2 <= r2);
                (azimuth, polar, coaxial)
            })
            .collect();
        fn index<K: Ord>(map: &BTreeMap<K, usize>) -> BTreeMap<&K, u32> {
            map.keys().enumerate().map(|(i, k)| (k, i as u32)).collect()
        }
        let (of_azimuth, of_polar, of_coaxial) =
            (index(&azimuths), index(&polars), index(&coaxials));
        let vectors = keys
            .iter()
            .map(|(azimuth, polar, coaxial)| Indices {
                azimuth: of_azimuth[azimuth],
                polar: of_polar[polar],
                coaxial: of_coaxial[coaxial],
                is_m2l: matches!(coaxial.0, Kind::M2l { .. }),
            })
            .collect();
        let azimuths =
            azimuths.iter().map(|(&[x, y], &p)| Azimuth::new(p, x as f64, y as f64)).collect();
        let polars: Vec<_> = polars.iter().collect();
        let polars = polars
            .into_par_iter()
            .map(|(&[z2, r2], &p)| {
                let cos2 = z2.unsigned_abs() as f64 / r2 as f64;
                let cos = cos2.sqrt() * z2.signum() as f64;
                Polar::new(p, cos, (1.0 - cos2).max(0.0).sqrt(), &gradient)
            })
            .collect();
        let coaxials: Vec<_> = coaxials.iter().collect();
        let coaxials = coaxials
            .into_par_iter()
            .map(|(&(kind, r2), &p)| {
                let distance = 0.5 * (r2 as f64).sqrt();
                match kind {
                    // The child is the smaller box: in units of the parent half of that.
                    Kind::M2m => Coaxial::m2m(p, 0.5 * distance),
                    Kind::L2l => Coaxial::l2l(p, 0.5 * distance),
                    Kind::M2l { finer_target } => {
                        let ratio = f64::from(finer_target).exp2();
                        let (source, target) =
                            if finer_target >= 0 { (ratio, 1.0) } else { (1.0, 1.0 / ratio) };
                        Coaxial::m2l(p, source, target, distance)
                    }
                }
            })
            .collect();
        let reaches = (0..=p_max).map(Reach::new).collect();
        Self { azimuths, polars, coaxials, vectors, reaches }
    }

    /// The translation by vector `index`.
    #[inline]
    pub(crate) fn translation(
        &self,
        index: usize,
        order_in: usize,
        order_out: usize,
    ) -> Translation<'_, T> {
        let Indices { azimuth, polar, coaxial, is_m2l } = self.vectors[index];
        Translation {
            azimuth: &self.azimuths[azimuth as usize],
            polar: &self.polars[polar as usize],
            coaxial: &self.coaxials[coaxial as usize],
            order_in,
            order_out,
            reach: is_m2l.then(|| &self.reaches[order_in.max(order_out)]),
        }
    }
}

/// Greatest common divisor, not negative.
fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harmonics::Harmonics;
    use crate::samples::Random;
    use crate::simd::{One, scalars_mut};

    const P: usize = 26;

    fn expand(singular: bool, point: [f64; 3]) -> Vec<f64> {
        let mut out = vec![One::<f64>::splat(0.0); P * P];
        let harmonics = Harmonics::<f64>::new(P);
        let lanes = point.map(One::splat);
        if singular {
            harmonics.singular(P, lanes, &mut out);
        } else {
            harmonics.regular(P, lanes, &mut out);
        }
        scalars_mut(&mut out).to_vec()
    }

    /// Translates the expansion `from` by `vector` with every vector width, in batches of odd lengths.
    fn translate(vector: Vector, from: &[f64]) -> Vec<f64> {
        let tables = Tables::<f64>::new(&[(vector, P)]);
        let stride = crate::harmonics::stride::<f64>(P);
        let count = 21;
        let mut sources = vec![0.0; stride * count];
        for (i, to) in sources.chunks_mut(stride).enumerate() {
            for (to, &value) in to.iter_mut().zip(from) {
                *to = value * (i + 1) as f64;
            }
        }
        let twice: Vec<f64> = sources.iter().map(|s| 2.0 * s).collect();
        sources.extend(twice);
        let pairs: Vec<_> = (0..count as u32).map(|i| [i, count as u32 - 1 - i]).collect();
        let mut expected: Option<Vec<f64>> = None;
        for level in simd::Level::available() {
            let step = stride * count;
            let mut found = vec![0.0; 2 * step];
            for mixed in [false, true] {
                found.fill(0.0);
                let targets = Level { values: Shared::new(&mut found), stride, step };
                let batch = |_| Batch {
                    translation: tables.translation(0, P, P),
                    pairs: &pairs,
                    sources: Level { values: &sources[..], stride, step },
                };
                let job = TranslateJob {
                    densities: 0..2,
                    batches: 1,
                    batch: &batch,
                    targets: &targets,
                    first: 0,
                    order: P,
                    mixed,
                };
                // SAFETY: each pair has its own target.
                unsafe { job.run(level) };
            }
            // The second density is the first, twice.
            let (once, twice) = found.split_at(step);
            assert!(once.iter().zip(twice).all(|(a, b)| (2.0 * a - b).abs() <= 1e-14 * b.abs()));
            found.truncate(step);
            let expected = expected.get_or_insert_with(|| found.clone());
            for (a, b) in found.iter().zip(expected.iter()) {
                assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{level:?}: {a} {b}");
            }
        }
        expected.unwrap()[(count - 1) * stride..][..P * P].to_vec()
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn m2l_reproduces_the_potential() {
        let (y, x) = ([0.2, -0.1, 0.15], [-0.25, 0.3, 0.1]);
        for offset in [[8, 0, 0], [0, -8, 0], [0, 0, -10], [6, -4, 8], [-6, 8, 4], [6, 6, -6]] {
            for finer_target in [-1i8, 0, 1] {
                let vector =
                    Vector { kind: Kind::M2l { finer_target }, offset: offset.map(|o| o * 2) };
                // The smaller box has side 1.
                let source = if finer_target > 0 { 2.0 } else { 1.0 };
                let target = if finer_target < 0 { 2.0 } else { 1.0 };
                let local = translate(vector, &expand(false, y));
                let potential = dot(&local, &expand(false, x)) / target;
                let centre = offset.map(f64::from);
                let there: [f64; 3] = std::array::from_fn(|i| centre[i] + target * x[i]);
                let exact = 1.0 / distance(there, y.map(|c| c * source));
                // Truncation: ((|x| + |y|) / distance)^26 or so.
                assert!(
                    (potential - exact).abs() < 1e-11 * exact,
                    "{offset:?} {finer_target} {potential} {exact}"
                );
            }
        }
    }

    /// Relative errors, root mean square, of M2L between random pairs of points in boxes `offset` sides apart.
    fn error_of_m2l(offset: [i32; 3], p: usize, keep_all: bool) -> f64 {
        const PAIRS: usize = 1000;
        let mut random = Random::new(7);
        let mut point = || -> [f64; 3] { std::array::from_fn(|_| random.uniform() - 0.5) };
        let pairs: Vec<_> = (0..PAIRS).map(|_| (point(), point())).collect();
        let vector = Vector { kind: Kind::M2l { finer_target: 0 }, offset: offset.map(|o| 2 * o) };
        let tables = Tables::<f64>::new(&[(vector, p)]);
        let stride = crate::harmonics::stride::<f64>(p);
        let harmonics = Harmonics::<f64>::new(p);
        let regular = |point: [f64; 3]| {
            let mut out = vec![One::<f64>::splat(0.0); p * p];
            harmonics.regular(p, point.map(One::splat), &mut out);
            scalars_mut(&mut out).to_vec()
        };
        let mut sources = vec![0.0; stride * PAIRS];
        for (to, (y, _)) in sources.chunks_mut(stride).zip(&pairs) {
            to[..p * p].copy_from_slice(&regular(*y));
        }
        let mut locals = vec![0.0; stride * PAIRS];
        let same: Vec<_> = (0..PAIRS as u32).map(|i| [i, i]).collect();
        let batch = |_| {
            let mut translation = tables.translation(0, p, p);
            if keep_all {
                translation.reach = None;
            }
            Batch {
                translation,
                pairs: &same,
                sources: Level { values: &sources[..], stride, step: stride * PAIRS },
            }
        };
        let targets = Level { values: Shared::new(&mut locals), stride, step: stride * PAIRS };
        let job = TranslateJob {
            densities: 0..1,
            batches: 1,
            batch: &batch,
            targets: &targets,
            first: 0,
            order: p,
            mixed: false,
        };
        // SAFETY: each pair has its own target.
        unsafe { job.run(simd::Level::detect()) };
        let sum: f64 = locals
            .chunks(stride)
            .zip(&pairs)
            .map(|(local, (y, x))| {
                let there = std::array::from_fn(|i| f64::from(offset[i]) + x[i]);
                let found = dot(&local[..p * p], &regular(*x));
                (found * distance(there, *y) - 1.0).powi(2)
            })
            .sum();
        (sum / PAIRS as f64).sqrt()
    }

    #[test]
    fn coefficients_left_out_of_the_rotated_frame_cost_little() {
        let (mut logarithms, mut count) = (0.0, 0);
        for p in [4, 7, 11, 16] {
            for offset in [[2, 0, 0], [0, 2, -1], [-2, 1, 2], [3, 0, 1]] {
                let all = error_of_m2l(offset, p, true);
                let kept = error_of_m2l(offset, p, false);
                // One term more or less changes errors by 2.2 to 9.
                assert!(kept < 2.0 * all, "{offset:?} {p}: {kept:e} {all:e}");
                logarithms += (kept / all).ln();
                count += 1;
            }
        }
        let mean = (logarithms / f64::from(count)).exp();
        assert!(mean < 1.15, "{mean}");
    }

    #[test]
    fn m2m_and_l2l_move_the_centre() {
        for octant in 0..8 {
            let offset: [i32; 3] =
                std::array::from_fn(|i| if octant >> i & 1 == 1 { 1 } else { -1 });
            // Parent of side 1 about the origin, child of side 1/2 about `centre`.
            let centre = offset.map(|o| f64::from(o) / 4.0);
            let y = [0.3, -0.4, 0.2];
            let in_parent: [f64; 3] = std::array::from_fn(|i| centre[i] + 0.5 * y[i]);
            let multipole = translate(Vector { kind: Kind::M2m, offset }, &expand(false, y));
            for (a, b) in multipole.iter().zip(expand(false, in_parent)) {
                assert!((a - b).abs() < 1e-12, "octant {octant}: {a} {b}");
            }
            // A far source's local expansion about the parent, moved to the child, evaluated at y in the child.
            let far = [3.0, -2.5, 2.0];
            let local = translate(Vector { kind: Kind::L2l, offset }, &expand(true, far));
            let potential = dot(&local, &expand(false, y)) / 0.5;
            let exact = 1.0 / distance(far, in_parent);
            assert!((potential - exact).abs() < 1e-11 * exact, "octant {octant}");
        }
    }
}
