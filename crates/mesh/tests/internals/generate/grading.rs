use approx::assert_relative_eq;
use mesh::generate::Error;
use mesh::internals::generate::grading::{Toward, cells_for_size, largest_cell, nodes};

#[test]
fn cells_have_the_asked_ratio_and_fill_the_interval() {
    for n in 3..40 {
        for grade in [1.0, 7.0, 1000.0] {
            for toward in [Toward::BothEnds, Toward::End] {
                let x = nodes(n, grade, toward);
                assert_eq!((x.len(), x[0], x[n]), (n + 1, 0.0, 1.0));
                let cells: Vec<f64> = x.windows(2).map(|w| w[1] - w[0]).collect();
                let largest = cells.iter().copied().fold(0.0, f64::max);
                let smallest = cells.iter().copied().fold(1.0, f64::min);
                // Cells at the far end are differences of numbers near 1.
                assert_relative_eq!(largest / smallest, grade, max_relative = 1e-6);
            }
        }
    }
}

#[test]
fn symmetric_grids_are_mirrored_to_rounding() {
    let x = nodes(24, 1e6, Toward::BothEnds);
    for k in 0..=24 {
        assert_relative_eq!(x[k], 1.0 - x[24 - k], epsilon = 2.0 * f64::EPSILON);
    }
    assert_eq!(x[12], 0.5);
}

#[test]
fn size_bounds_the_largest_cell_without_waste() {
    assert_eq!(cells_for_size(1.0, 0.1, 1.0, Toward::BothEnds), Ok(10));
    let n = cells_for_size(2.0, 0.1, 50.0, Toward::BothEnds).unwrap();
    assert!(2.0 * largest_cell(n, 50.0, Toward::BothEnds) <= 0.1 * (1.0 + 1e-9));
    assert!(2.0 * largest_cell(n - 1, 50.0, Toward::BothEnds) > 0.1);
    assert_eq!(cells_for_size(1.0, 1e-12, 1.0, Toward::End), Err(Error::TooMany));
}
