//! Subdivisions of an interval whose cells shrink toward its ends by a power law.
//!
//! The distance of the k-th node from a refined end is proportional to k^b. Charge grows toward an
//! edge like a power of the distance, and such grids are the ones that keep the order of
//! convergence there; with b near 3 they beat geometric grids of the same size on a cube, in the
//! capacitance, by about a factor of two.

use super::{Error, MAX_ELEMENTS};

/// Where the small cells are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Toward {
    /// At both ends, symmetrically.
    BothEnds,
    /// At the end, the largest cell at the start.
    End,
}

/// A subdivision of [0, 1] into `n` cells.
struct Grid {
    n: usize,
    exponent: f64,
    toward: Toward,
}

impl Grid {
    /// The grid whose largest cell is `grade` times the smallest. One cell, or two toward both
    /// ends, cannot be graded.
    fn new(n: usize, grade: f64, toward: Toward) -> Self {
        let grid = |exponent| Self { n, exponent, toward };
        let gradable = match toward {
            Toward::BothEnds => n > 2,
            Toward::End => n > 1,
        };
        if !gradable || grade <= 1.0 {
            return grid(1.0);
        }
        let (mut low, mut high) = (1.0, 2.0);
        while grid(high).ratio() < grade {
            (low, high) = (high, 2.0 * high);
        }
        // The ratio grows with the exponent: bisection down to neighbouring numbers.
        loop {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                return grid(high);
            }
            if grid(middle).ratio() < grade {
                low = middle;
            } else {
                high = middle;
            }
        }
    }

    /// The distance of the node `k` cells away from a refined end, within its half.
    fn distance(&self, k: f64) -> f64 {
        let n = self.n as f64;
        match self.toward {
            Toward::BothEnds => 0.5 * (2.0 * k / n).powf(self.exponent),
            Toward::End => (k / n).powf(self.exponent),
        }
    }

    fn smallest(&self) -> f64 {
        if self.n == 1 { 1.0 } else { self.distance(1.0) }
    }

    fn largest(&self) -> f64 {
        match self.toward {
            Toward::BothEnds if self.n.is_multiple_of(2) => {
                0.5 - self.distance((self.n / 2 - 1) as f64)
            }
            Toward::BothEnds => 1.0 - 2.0 * self.distance((self.n / 2) as f64),
            Toward::End => 1.0 - self.distance((self.n - 1) as f64),
        }
    }

    fn ratio(&self) -> f64 {
        self.largest() / self.smallest()
    }

    fn node(&self, k: usize) -> f64 {
        match self.toward {
            Toward::BothEnds if 2 * k <= self.n => self.distance(k as f64),
            _ => 1.0 - self.distance((self.n - k) as f64),
        }
    }
}

/// The n + 1 nodes of [0, 1], whose largest cell is `grade` times the smallest; n is at least 1.
pub fn nodes(n: usize, grade: f64, toward: Toward) -> Vec<f64> {
    let grid = Grid::new(n, grade, toward);
    (0..=n).map(|k| grid.node(k)).collect()
}

/// The largest cell of [`nodes`], as a fraction of the interval.
pub fn largest_cell(n: usize, grade: f64, toward: Toward) -> f64 {
    Grid::new(n, grade, toward).largest()
}

/// The number of cells for which none is longer than `size`, on an interval of the given length.
pub fn cells_for_size(length: f64, size: f64, grade: f64, toward: Toward) -> Result<usize, Error> {
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
