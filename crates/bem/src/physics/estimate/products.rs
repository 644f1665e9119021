//! For each pair of excitations, sums over panels of the products of their values, and of the
//! products' magnitudes.

use simd::{Real, Simd, Task};

/// Two sets of short vectors, one of each set for each excitation.
pub(super) struct Products {
    /// Components of each vector.
    length: usize,
    /// Shape (excitations, components).
    left: Vec<f64>,
    /// Shape (components, excitations), rows padded to whole vectors of lanes.
    right: Vec<f64>,
}

impl Products {
    /// The products of all vectors of one set with all of the other.
    pub(super) fn new<const N: usize>(
        left: impl Iterator<Item = [f64; N]>,
        right: impl ExactSizeIterator<Item = [f64; N]>,
    ) -> Self {
        let excitations = right.len();
        let stride = stride(excitations);
        let mut rows = vec![0.0; N * stride];
        for (p, vector) in right.enumerate() {
            (0..N).for_each(|k| rows[k * stride + p] = vector[k]);
        }
        let mut of_left = Vec::with_capacity(N * excitations);
        left.for_each(|vector| of_left.extend(vector));
        Self { length: N, left: of_left, right: rows }
    }
}

/// Padded length of a row of `count` entries.
fn stride(count: usize) -> usize {
    count.next_multiple_of(f64::MAX_LANES)
}

/// Sums over panels, shape (excitations, excitations).
pub(super) struct Sums {
    count: usize,
    /// Rows padded to whole vectors of lanes.
    signed: Vec<f64>,
    at_most: Vec<f64>,
}

impl Sums {
    pub(super) fn new(count: usize) -> Self {
        let length = count * stride(count);
        Self { count, signed: vec![0.0; length], at_most: vec![0.0; length] }
    }

    /// Adds the products of some panels, each times its weight.
    pub(super) fn add(&mut self, panels: &[(Products, f64)]) {
        let stride = stride(self.count);
        // Rows of sums stay in cache while all panels are added to them.
        let rows = self.signed.chunks_exact_mut(stride).zip(self.at_most.chunks_exact_mut(stride));
        for (p, (signed, at_most)) in rows.enumerate() {
            for (products, weight) in panels {
                let left = &products.left[p * products.length..][..products.length];
                simd::run(AddRow {
                    left,
                    right: &products.right,
                    weight: *weight,
                    signed,
                    at_most,
                });
            }
        }
    }

    /// Adds other sums.
    pub(super) fn join(&mut self, other: &Self) {
        for (sums, others) in
            [(&mut self.signed, &other.signed), (&mut self.at_most, &other.at_most)]
        {
            sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
        }
    }

    /// Sums of the products and of their magnitudes, row by row.
    pub(super) fn rows(&self) -> [Vec<Vec<f64>>; 2] {
        let rows = |of: &[f64]| {
            of.chunks_exact(stride(self.count).max(1))
                .map(|row| row[..self.count].to_vec())
                .collect()
        };
        [rows(&self.signed), rows(&self.at_most)]
    }
}

/// Adds weight times the products of one vector with all of the other set.
struct AddRow<'a> {
    left: &'a [f64],
    right: &'a [f64],
    weight: f64,
    signed: &'a mut [f64],
    at_most: &'a mut [f64],
}

impl Task<f64> for AddRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { left, right, weight, signed, at_most } = self;
        let stride = signed.len();
        for at in (0..stride).step_by(V::LANES) {
            let mut product = V::zero();
            for (k, &left) in left.iter().enumerate() {
                product =
                    V::splat(weight * left).mul_add(V::load(&right[k * stride + at..]), product);
            }
            V::load(&signed[at..]).add(product).store(&mut signed[at..]);
            V::load(&at_most[at..]).add(product.abs()).store(&mut at_most[at..]);
        }
    }
}
