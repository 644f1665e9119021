//! Small dense matrices times vectors of lanes: the inner loop of rotations and translations.
//!
//! A block of up to six rows keeps its sums in registers, so each matrix entry is read once and
//! each operand once for six multiply-adds a vector: the loop is bound by arithmetic, not by loads.

use simd::{Call, Level, Simd, Task, dispatch, scalars_mut};

/// Most vectors of lanes that travel together.
pub const BLOCK: usize = 4;

/// Vectors of lanes that are multiplied at a time: they share every matrix entry that is read.
const PAIR: usize = 2;

/// The lanes of one coefficient.
pub(crate) type Lanes<V, const B: usize> = [V; B];

/// Rows whose sums fit the registers along with their operands: 12 of AVX2's 16.
const ROWS: usize = 6;

/// Rows of the next block, by the number of rows left: as equal as possible, since short blocks
/// leave the multipliers waiting.
const NEXT: [u8; 64] = {
    let mut next = [0; 64];
    let mut left = 1;
    while left < next.len() {
        next[left] = left.div_ceil(left.div_ceil(ROWS)) as u8;
        left += 1;
    }
    next
};

/// A row-major matrix of at most 63 rows.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    /// Row after row.
    pub values: &'a [T],
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Scalars between the starts of rows.
    pub stride: usize,
}

/// `y[i * y_step] = sum over j of matrix(i, j) * x[j * x_step]`, compiled once for a vector type.
#[inline(always)]
pub(crate) fn product<V: Simd, const B: usize>(
    matrix: Matrix<'_, V::Scalar>,
    x: &[Lanes<V, B>],
    x_step: usize,
    y: &mut [Lanes<V, B>],
    y_step: usize,
) {
    V::call(Product { matrix, x, x_step, y, y_step });
}

/// The arguments of [`product`].
struct Product<'a, V: Simd, const B: usize> {
    matrix: Matrix<'a, V::Scalar>,
    x: &'a [Lanes<V, B>],
    x_step: usize,
    y: &'a mut [Lanes<V, B>],
    y_step: usize,
}

impl<V: Simd, const B: usize> Call for Product<'_, V, B> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { matrix, x, x_step, y, y_step } = self;
        let Matrix { values, rows, columns, stride } = matrix;
        if rows == 0 || columns == 0 {
            return;
        }
        assert!((rows - 1) * stride + columns <= values.len());
        assert!((columns - 1) * x_step < x.len());
        assert!((rows - 1) * y_step < y.len());
        let mut done = 0;
        while done < rows {
            let count = NEXT[rows - done] as usize;
            // SAFETY: the assertions above, with done + count <= rows.
            unsafe {
                let values = values.as_ptr().add(done * stride);
                let x = x.as_ptr();
                let y = y.as_mut_ptr().add(done * y_step);
                match count {
                    1 => product_rows::<V, B, 1>(values, stride, columns, x, x_step, y, y_step),
                    2 => product_rows::<V, B, 2>(values, stride, columns, x, x_step, y, y_step),
                    3 => product_rows::<V, B, 3>(values, stride, columns, x, x_step, y, y_step),
                    4 => product_rows::<V, B, 4>(values, stride, columns, x, x_step, y, y_step),
                    5 => product_rows::<V, B, 5>(values, stride, columns, x, x_step, y, y_step),
                    _ => product_rows::<V, B, ROWS>(values, stride, columns, x, x_step, y, y_step),
                }
            }
            done += count;
        }
    }
}

/// `R` rows of [`product()`].
///
/// # Safety
/// `values` has `R` rows of `columns` scalars, `stride` apart; `x` and `y` reach the entries that
/// the steps lead to.
#[inline(always)]
unsafe fn product_rows<V: Simd, const B: usize, const R: usize>(
    values: *const V::Scalar,
    stride: usize,
    columns: usize,
    x: *const Lanes<V, B>,
    x_step: usize,
    y: *mut Lanes<V, B>,
    y_step: usize,
) {
    // The choice of this loop, often mispredicted, is paid once for all pairs.
    for pair in (0..B / PAIR * PAIR).step_by(PAIR) {
        let mut sums = [[V::zero(); PAIR]; R];
        for j in 0..columns {
            // SAFETY: the caller's.
            unsafe {
                let x = &*x.add(j * x_step);
                for (r, sums) in sums.iter_mut().enumerate() {
                    let factor = V::splat(*values.add(r * stride + j));
                    for half in 0..PAIR {
                        sums[half] = factor.mul_add(x[pair + half], sums[half]);
                    }
                }
            }
        }
        for (r, sums) in sums.into_iter().enumerate() {
            for half in 0..PAIR {
                // SAFETY: the caller's.
                unsafe { (*y.add(r * y_step))[pair + half] = sums[half] };
            }
        }
    }
    if !B.is_multiple_of(PAIR) {
        let mut sums = [V::zero(); R];
        for j in 0..columns {
            // SAFETY: the caller's.
            unsafe {
                let x = (&*x.add(j * x_step))[B - 1];
                for (r, sum) in sums.iter_mut().enumerate() {
                    *sum = V::splat(*values.add(r * stride + j)).mul_add(x, *sum);
                }
            }
        }
        for (r, sum) in sums.into_iter().enumerate() {
            // SAFETY: the caller's.
            unsafe { (*y.add(r * y_step))[B - 1] = sum };
        }
    }
}

/// `y[i * y_step] = sum over j of matrix(i, j) * x[j * x_step]` for 1, 2 or [`BLOCK`] vectors of
/// `level`, whose lanes lie one after the other.
pub fn product_at(
    level: Level,
    vectors: usize,
    matrix: Matrix<'_, f64>,
    x: &[f64],
    x_step: usize,
    y: &mut [f64],
    y_step: usize,
) {
    match vectors {
        1 => dispatch(level, OfLanes::<1> { matrix, x, x_step, y, y_step }),
        2 => dispatch(level, OfLanes::<2> { matrix, x, x_step, y, y_step }),
        _ => dispatch(level, OfLanes::<BLOCK> { matrix, x, x_step, y, y_step }),
    }
}

/// The arguments of [`product_at`].
struct OfLanes<'a, const B: usize> {
    matrix: Matrix<'a, f64>,
    x: &'a [f64],
    x_step: usize,
    y: &'a mut [f64],
    y_step: usize,
}

impl<const B: usize> Task<f64> for OfLanes<'_, B> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { matrix, x, x_step, y, y_step } = self;
        let vectors = |lanes: &[f64]| {
            let mut vectors = vec![[V::zero(); B]; lanes.len() / (B * V::LANES)];
            scalars_mut(vectors.as_flattened_mut()).copy_from_slice(lanes);
            vectors
        };
        let (of_x, mut of_y) = (vectors(x), vectors(y));
        product::<V, B>(matrix, &of_x, x_step, &mut of_y, y_step);
        y.copy_from_slice(scalars_mut(of_y.as_flattened_mut()));
    }
}
