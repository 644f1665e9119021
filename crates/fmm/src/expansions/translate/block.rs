//! A block of expansions, one per lane, through the matrices of their translation.

use crate::expansions::product::{BLOCK, Lanes, Matrix, product};
use crate::expansions::rotation::block;
use crate::scratch::Scratch;
use parallel::DisjointSlice;
use simd::{MAX_LANES, Real, Simd};

use super::tables::Translation;

/// Expansions of one job in the rotated frame, before and after the coaxial translation.
///
/// Between the rotations coefficients lie order by order: those of order m and degree n at
/// `m (p - 1) + n`, the cosines first, then the sines, so that rotations step through them by p - 1
/// and coaxial translations by 1.
pub(super) struct Rotated<V: Simd> {
    a: Scratch<V>,
    b: Scratch<V>,
}

impl<V: Simd> Rotated<V> {
    /// For truncation numbers up to `p`.
    pub(super) fn new(p: usize) -> Self {
        // Room for the last, partly filled vectors of a transposition.
        let length = BLOCK * (2 * p * p + V::LANES);
        Self { a: Scratch::new(length), b: Scratch::new(length) }
    }
}

/// Expansions that go through the matrices together.
pub(super) struct Block<'a, T> {
    /// Where each lane's source begins.
    pub(super) from: &'a [usize],
    /// Where the target of each lane that has one begins.
    pub(super) to: &'a [usize],
    pub(super) sources: &'a [T],
    pub(super) targets: &'a DisjointSlice<'a, T>,
}

impl<T: Real> Block<'_, T> {
    /// # Safety
    /// [`super::TranslateJob::run`]'s.
    #[inline(always)]
    pub(super) unsafe fn translate<V: Simd<Scalar = T>, const B: usize>(
        &self,
        translation: &Translation<'_, T>,
        rotated: &mut Rotated<V>,
    ) {
        let (a, _) = rotated.a.as_chunks_mut::<B>();
        let (b, _) = rotated.b.as_chunks_mut::<B>();
        gather(translation, self.from, self.sources, a);
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
    translation: &Translation<'_, V::Scalar>,
    begins: &[usize],
    sources: &[V::Scalar],
    a: &mut [Lanes<V, B>],
) {
    let (p, rounded) = (translation.order_in, V::splat(translation.rounded));
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
                columns[lane] = V::load(row).add(rounded).sub(rounded);
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
    targets: &DisjointSlice<'_, V::Scalar>,
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

/// Turns the coefficients of one degree about z: each pair `C, S` of order m by m times the
/// azimuth.
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
        product::<V, B>(cosines, &degree[n..], 1, &mut of_cosines[n..], step);
        if orders > 1 {
            product::<V, B>(sines, degree, 1, &mut of_sines[step + n..], step);
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
        product::<V, B>(matrix, &cosines_in[from..], 1, &mut cosines_out[to..], 1);
        if m > 0 {
            product::<V, B>(matrix, &sines_in[from..], 1, &mut sines_out[to..], 1);
        }
    }
}

/// Rotates `a`, ordered order by order, back into the frame of the boxes; leaves `b` degree by
/// degree.
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
        product::<V, B>(cosines, &of_cosines[n..], step, &mut degree[n..], 1);
        if orders > 1 {
            product::<V, B>(sines, &of_sines[step + n..], step, degree, 1);
        } else {
            degree[..n].fill([V::zero(); B]);
        }
        turn(&translation.azimuth.backward, n, degree);
    }
}
