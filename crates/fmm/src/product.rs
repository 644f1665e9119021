//! Small dense matrices times vectors of lanes: the inner loop of rotations and translations.
//!
//! A block of up to six rows keeps its sums in registers, so each matrix entry is read once and each operand once for six
//! multiply-adds a vector: the loop is bound by arithmetic, not by loads.

use crate::simd::Simd;

/// Vectors of lanes that travel together: two share every matrix entry that is read.
pub(crate) const BLOCK: usize = 2;

/// The lanes of one coefficient.
pub(crate) type Lanes<V> = [V; BLOCK];

/// Rows whose sums fit the registers beside their operands: 12 of AVX2's 16.
const ROWS: usize = 6;

/// Rows of the next block for so many rows left: as equal as possible, since short blocks leave the multipliers waiting.
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
pub(crate) struct Matrix<'a, T> {
    pub(crate) values: &'a [T],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Scalars between the starts of rows.
    pub(crate) stride: usize,
}

/// `y[i * y_step] = sum over j of matrix(i, j) * x[j * x_step]`. Much code once inlined: callers use [`Simd::product`], which is
/// compiled once for a vector type.
#[inline(always)]
pub(crate) fn product<V: Simd>(
    matrix: Matrix<'_, V::Scalar>,
    (x, x_step): (&[Lanes<V>], usize),
    (y, y_step): (&mut [Lanes<V>], usize),
) {
    let Matrix { values, rows, columns, stride } = matrix;
    if rows == 0 || columns == 0 {
        return;
    }
    assert!((rows - 1) * stride + columns <= values.len());
    assert!((columns - 1) * x_step < x.len());
    assert!((rows - 1) * y_step < y.len());
    // Sizes that the compiler knows become straight code: most products of low truncation numbers are that small.
    macro_rules! blocks {
        ($columns:literal: $($first:literal $count:literal),+) => {
            // SAFETY: the assertions above; the blocks cover the rows.
            unsafe {
                $(product_rows::<V, $count>(
                    values.as_ptr().add($first * stride),
                    stride,
                    $columns,
                    x.as_ptr(),
                    x_step,
                    y.as_mut_ptr().add($first * y_step),
                    y_step,
                );)+
            }
        };
    }
    if rows == columns {
        match rows {
            1 => return blocks!(1: 0 1),
            2 => return blocks!(2: 0 2),
            3 => return blocks!(3: 0 3),
            4 => return blocks!(4: 0 4),
            5 => return blocks!(5: 0 5),
            6 => return blocks!(6: 0 6),
            7 => return blocks!(7: 0 4, 4 3),
            8 => return blocks!(8: 0 4, 4 4),
            9 => return blocks!(9: 0 5, 5 4),
            10 => return blocks!(10: 0 5, 5 5),
            _ => {}
        }
    }
    let mut done = 0;
    while done < rows {
        let count = NEXT[rows - done] as usize;
        // SAFETY: the assertions above, with done + count <= rows.
        unsafe {
            let values = values.as_ptr().add(done * stride);
            let x = x.as_ptr();
            let y = y.as_mut_ptr().add(done * y_step);
            match count {
                1 => product_rows::<V, 1>(values, stride, columns, x, x_step, y, y_step),
                2 => product_rows::<V, 2>(values, stride, columns, x, x_step, y, y_step),
                3 => product_rows::<V, 3>(values, stride, columns, x, x_step, y, y_step),
                4 => product_rows::<V, 4>(values, stride, columns, x, x_step, y, y_step),
                5 => product_rows::<V, 5>(values, stride, columns, x, x_step, y, y_step),
                _ => product_rows::<V, ROWS>(values, stride, columns, x, x_step, y, y_step),
            }
        }
        done += count;
    }
}

/// `R` rows of [`product`].
///
/// # Safety
/// `values` has `R` rows of `columns` scalars, `stride` apart; `x` and `y` reach the entries that the steps lead to.
#[inline(always)]
unsafe fn product_rows<V: Simd, const R: usize>(
    values: *const V::Scalar,
    stride: usize,
    columns: usize,
    x: *const Lanes<V>,
    x_step: usize,
    y: *mut Lanes<V>,
    y_step: usize,
) {
    let mut sums = [[V::zero(); BLOCK]; R];
    for j in 0..columns {
        // SAFETY: the caller's.
        unsafe {
            let x = &*x.add(j * x_step);
            for (r, sums) in sums.iter_mut().enumerate() {
                let factor = V::splat(*values.add(r * stride + j));
                for half in 0..BLOCK {
                    sums[half] = factor.mul_add(x[half], sums[half]);
                }
            }
        }
    }
    for (r, sums) in sums.into_iter().enumerate() {
        // SAFETY: the caller's.
        unsafe { *y.add(r * y_step) = sums };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, Real, Task, scalars_mut};

    /// Every shape up to 14 x 14 with gaps between rows and operands; the sums, and what lies between them.
    struct Shapes;

    impl Task<f64> for Shapes {
        type Output = ();

        #[inline(always)]
        fn run<V: Simd<Scalar = f64>>(self) {
            let lanes = BLOCK * V::LANES;
            for rows in 0..=14usize {
                for columns in 0..=14usize {
                    let (stride, x_step, y_step) = (columns + 1, 3, 2);
                    let value = |i: usize| ((i * 37 + 11) % 19) as f64 - 9.0;
                    let values: Vec<f64> = (0..rows * stride).map(value).collect();
                    let mut x = vec![[V::zero(); BLOCK]; columns * x_step];
                    for (i, x) in scalars_mut(x.as_flattened_mut()).iter_mut().enumerate() {
                        *x = value(i + 5);
                    }
                    let mut y = vec![[V::splat(77.0); BLOCK]; rows * y_step];
                    let matrix = Matrix { values: &values, rows, columns, stride };
                    product::<V>(matrix, (&x, x_step), (&mut y, y_step));
                    for (i, found) in scalars_mut(y.as_flattened_mut()).iter().enumerate() {
                        let (row, lane) = (i / lanes, i % lanes);
                        let expected = if row % y_step != 0 || columns == 0 {
                            77.0
                        } else {
                            (0..columns)
                                .map(|j| {
                                    values[row / y_step * stride + j]
                                        * value(j * x_step * lanes + lane + 5)
                                })
                                .sum()
                        };
                        // Sums of small integers are exact.
                        assert_eq!(*found, expected, "{rows} x {columns}, {row}, {lane}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_shape_is_the_plain_sum() {
        for level in Level::available() {
            f64::dispatch(level, Shapes);
        }
    }
}
