//! Subdivisions of an interval whose cells shrink geometrically toward its ends.

use super::{Error, MAX_ELEMENTS};

/// Where the small cells are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Toward {
    /// At both ends, symmetrically.
    BothEnds,
    /// At the end, the largest cell at the start.
    End,
}

/// The n + 1 nodes of [0, 1], whose largest cell is `grade` times the smallest (cells permitting: one or two equal cells
/// toward both ends cannot be graded).
pub(super) fn nodes(n: usize, grade: f64, toward: Toward) -> Vec<f64> {
    // Steps from the nearest refined end: 0 is the smallest cell.
    let steps = |cell: usize| match toward {
        Toward::BothEnds => cell.min(n - 1 - cell),
        Toward::End => n - 1 - cell,
    };
    let most = match toward {
        Toward::BothEnds => (n - 1) / 2,
        Toward::End => n - 1,
    };
    let growth = if most == 0 { 0.0 } else { grade.ln() / most as f64 };
    let size = |cell: usize| (growth * (steps(cell) as f64 - most as f64)).exp();
    // Sums run from the refined ends, where rounding would hurt most, so that a mirrored node is exact.
    let mut from_start = vec![0.0; n + 1];
    let mut from_end = vec![0.0; n + 1];
    for cell in 0..n {
        from_start[cell + 1] = from_start[cell] + size(cell);
        from_end[n - 1 - cell] = from_end[n - cell] + size(n - 1 - cell);
    }
    (0..=n)
        .map(|k| {
            let total = from_start[k] + from_end[k];
            if from_start[k] <= from_end[k] {
                from_start[k] / total
            } else {
                1.0 - from_end[k] / total
            }
        })
        .collect()
}

/// The largest cell of [`nodes`], as a fraction of the interval.
pub(super) fn largest_cell(n: usize, grade: f64, toward: Toward) -> f64 {
    nodes(n, grade, toward).windows(2).map(|w| w[1] - w[0]).fold(0.0, f64::max)
}

/// The number of cells for which none is longer than `size`, on an interval of the given length.
pub(super) fn cells_for_size(
    length: f64,
    size: f64,
    grade: f64,
    toward: Toward,
) -> Result<usize, Error> {
    // A hair of slack lets size = length / n give n cells.
    let fraction = size / length * (1.0 + 1e-9);
    let fits = |n: usize| largest_cell(n, grade, toward) <= fraction;
    let uniform = (1.0 / fraction).ceil();
    if uniform > MAX_ELEMENTS as f64 {
        return Err(Error::TooMany);
    }
    let mut high = (uniform as usize).max(1);
    if grade == 1.0 || fits(high) {
        return Ok(high);
    }
    let mut low = high;
    while !fits(high) {
        low = high;
        high *= 2;
        if high > MAX_ELEMENTS {
            return Err(Error::TooMany);
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

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
                    assert_relative_eq!(largest / smallest, grade, max_relative = 1e-9);
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
}
