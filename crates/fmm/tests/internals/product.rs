use fmm::Precision;
use fmm::internals::lanes;
use fmm::internals::product::{BLOCK, Matrix, product_at};
use simd::Level;

/// Every shape up to 14 x 14 with gaps between rows and operands; the sums, and what lies between
/// them.
fn assert_shapes(level: Level, vectors: usize) {
    let lanes = vectors * lanes(level, Precision::Double);
    for rows in 0..=14usize {
        for columns in 0..=14usize {
            let (stride, x_step, y_step) = (columns + 1, 3, 2);
            let value = |i: usize| ((i * 37 + 11) % 19) as f64 - 9.0;
            let values: Vec<f64> = (0..rows * stride).map(value).collect();
            let x: Vec<f64> = (0..columns * x_step * lanes).map(|i| value(i + 5)).collect();
            let mut y = vec![77.0; rows * y_step * lanes];
            let matrix = Matrix { values: &values, rows, columns, stride };
            product_at(level, vectors, matrix, &x, x_step, &mut y, y_step);
            for (i, found) in y.iter().enumerate() {
                let (row, lane) = (i / lanes, i % lanes);
                let expected = if row % y_step != 0 || columns == 0 {
                    77.0
                } else {
                    (0..columns)
                        .map(|j| {
                            values[row / y_step * stride + j] * value(j * x_step * lanes + lane + 5)
                        })
                        .sum()
                };
                // Sums of small integers are exact.
                assert_eq!(*found, expected, "{rows} x {columns}, {row}, {lane}");
            }
        }
    }
}

#[test]
fn every_shape_is_the_plain_sum() {
    for level in Level::available() {
        for vectors in [1, 2, BLOCK] {
            assert_shapes(level, vectors);
        }
    }
}
