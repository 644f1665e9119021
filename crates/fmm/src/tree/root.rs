//! The root cube of the octree.

use parallel::prelude::*;

use super::cell::Cell;

/// The cube that holds all points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Root {
    /// The corner of the lowest coordinates.
    pub corner: [f64; 3],
    /// Length of an edge.
    pub side: f64,
}

impl Root {
    /// The smallest cube about the points.
    pub fn around(points: &[&[[f64; 3]]]) -> Self {
        Self::of_bounds(Self::bounds(points))
    }

    /// Lowest and highest coordinates; infinite, and the wrong way round, of no points.
    pub(crate) fn bounds(points: &[&[[f64; 3]]]) -> [[f64; 3]; 2] {
        const EMPTY: [[f64; 3]; 2] = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
        let join = |[low, high]: [[f64; 3]; 2], [l, h]: [[f64; 3]; 2]| {
            // Plain comparisons, which become vector instructions; no coordinate is NaN.
            let low = std::array::from_fn(|i| if l[i] < low[i] { l[i] } else { low[i] });
            [low, std::array::from_fn(|i| if h[i] > high[i] { h[i] } else { high[i] })]
        };
        let of = |points: &[[f64; 3]]| points.iter().fold(EMPTY, |box_, x| join(box_, [*x, *x]));
        points
            .iter()
            .map(|points| points.par_chunks(4096).map(of).reduce(|| EMPTY, join))
            .fold(EMPTY, join)
    }

    /// The smallest cube about [`Self::bounds`].
    pub(crate) fn of_bounds([low, high]: [[f64; 3]; 2]) -> Self {
        if low[0] > high[0] {
            return Self { corner: [0.0; 3], side: 1.0 };
        }
        let extent = (0..3).map(|i| high[i] - low[i]).fold(0.0, f64::max);
        // A single point, or points that coincide, still get a cube; the largest coordinate is
        // inside, not on the face.
        let side = if extent > 0.0 { extent * (1.0 + 1e-12) } else { 1.0 };
        Self { corner: std::array::from_fn(|i| 0.5 * (low[i] + high[i]) - 0.5 * side), side }
    }

    /// A cube `factor` (at least 1) times as large, with the same lowest corner.
    pub fn enlarged(self, factor: f64) -> Self {
        Self { side: factor * self.side, ..self }
    }

    /// Centre of a box in the caller's coordinates. Points and boxes near it are subtracted from
    /// this very number, so that small differences stay exact where scaled coordinates would round.
    pub(crate) fn centre(&self, cell: &Cell) -> [f64; 3] {
        let centre = cell.centre();
        std::array::from_fn(|i| self.corner[i] + self.side * centre[i])
    }
}
