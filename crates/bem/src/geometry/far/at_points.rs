//! Products of Chebyshev polynomials at points in vector lanes.

use std::array;

use simd::{Real, Simd, Task};

/// Vectors of points, or functions, side by side.
const VECTORS: usize = 4;

/// Functions along the axes at some points, padded to whole vectors.
pub(super) struct AtPoints {
    counts: [usize; 3],
    /// Coordinates of the points along each axis, from -1 to 1.
    along: [Vec<f64>; 3],
    /// T_n along each axis, shape (n, points).
    values: [Vec<f64>; 3],
}

impl AtPoints {
    pub(super) fn new(counts: [usize; 3], mut along: [Vec<f64>; 3]) -> Self {
        let filled = along[0].len().next_multiple_of(VECTORS * f64::MAX_LANES);
        along.iter_mut().for_each(|along| along.resize(filled, 0.0));
        let values = array::from_fn(|k| polynomials(&along[k], counts[k], 1.0));
        Self { counts, along, values }
    }

    fn functions(&self) -> [&[f64]; 3] {
        self.values.each_ref().map(Vec::as_slice)
    }

    pub(super) fn add_charges(&self, charges: &[f64], moments: &mut [f64]) {
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

    pub(super) fn potentials(&self, coefficients: &[f64]) -> Vec<f64> {
        self.sums(self.functions(), coefficients)
    }

    /// Derivatives along each axis, by T_n' = n U_(n-1).
    pub(super) fn slopes(&self, coefficients: &[f64]) -> [Vec<f64>; 3] {
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

/// Adds to moments, shape (z, y, x), the charges times functions along the axes, shape (n, points).
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

/// Chebyshev polynomials at points from -1 to 1, shape (n, points): T_n if the one of degree 1 is
/// t, U_n if it is 2 t.
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
