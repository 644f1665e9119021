//! Small symmetric systems, one per lane: a few columns of each inverse.

use simd::Elementary;

use crate::geometry::image::Image;

/// One symmetric matrix per lane, all of one size, and the last columns of each inverse.
///
/// Smaller matrices are preceded by rows of the identity, so that the last row is the same for all.
pub struct BatchedLdl<V> {
    size: usize,
    /// Rows of the lower triangle's square, the lanes of an entry side by side.
    matrix: Vec<f64>,
    /// Shape (columns, rows, lanes).
    solution: Vec<f64>,
    column: Vec<V>,
    definite: Vec<f64>,
}

impl<V: Elementary> Default for BatchedLdl<V> {
    fn default() -> Self {
        Self {
            size: 0,
            matrix: Vec::new(),
            solution: Vec::new(),
            column: Vec::new(),
            definite: vec![0.0; V::LANES],
        }
    }
}

impl<V: Elementary> BatchedLdl<V> {
    /// Starts again with identities of this size.
    pub fn clear(&mut self, size: usize) {
        self.size = size;
        self.matrix.clear();
        self.matrix.resize(size * size * V::LANES, 0.0);
        for a in 0..size {
            let at = self.at(a, a);
            self.matrix[at..at + V::LANES].fill(1.0);
        }
    }

    fn at(&self, a: usize, b: usize) -> usize {
        (a * self.size + b) * V::LANES
    }

    /// Entry (a, b), a <= b, of the matrix in `lane`, counted from the back: 0 is the last row.
    #[inline]
    pub fn set(&mut self, a: usize, b: usize, lane: usize, value: f64) {
        let at = self.at(self.size - 1 - a, self.size - 1 - b) + lane;
        self.matrix[at] = value;
    }

    /// Sets all entries (a, b), a < b, to the mean inverse distance between the `points` positions
    /// of `a` and those of `b`, which start at `a * points`: summed over the images of the latter,
    /// 0 where they coincide or one of them is NaN.
    #[inline(always)]
    pub(crate) fn set_points(&mut self, places: &[[V; 3]], points: usize, images: &[Image]) {
        /// Columns solved together.
        const BLOCK: usize = 4;
        let weight = 1.0 / (points * points) as f64;
        for (b, own) in places.chunks_exact(points).enumerate() {
            for first in (0..b).step_by(BLOCK) {
                let mut sums = [V::zero(); BLOCK];
                for image in images {
                    let factor = V::splat(image.factor * weight);
                    for place in own {
                        let mut seen = *place;
                        for axis in 0..3 {
                            let [scale, shift] = [image.scale[axis], image.shift[axis]];
                            seen[axis] = V::splat(scale).mul_add(seen[axis], V::splat(shift));
                        }
                        for point in 0..points {
                            let mut r2 = [V::zero(); BLOCK];
                            for axis in 0..3 {
                                for k in 0..BLOCK {
                                    let place = &places[(first + k).min(b) * points + point];
                                    let d = place[axis].sub(seen[axis]);
                                    r2[k] = d.mul_add(d, r2[k]);
                                }
                            }
                            let inverse = V::rsqrts_or_zero(r2);
                            for k in 0..BLOCK {
                                sums[k] = factor.mul_add(inverse[k], sums[k]);
                            }
                        }
                    }
                }
                for (k, sum) in sums.iter().enumerate().take(BLOCK.min(b - first)) {
                    let at = self.at(self.size - 1 - (first + k), self.size - 1 - b);
                    sum.store(&mut self.matrix[at..]);
                }
            }
        }
    }

    /// Solves for the last columns of the inverses, by A = L D L^T.
    #[inline(always)]
    pub fn solve(&mut self, columns: usize) {
        let n = self.size;
        let one = V::splat(1.0);
        let mut definite = one;
        for j in 0..n {
            let pivot = V::load(&self.matrix[self.at(j, j)..]);
            definite = definite.zero_unless_above(pivot, V::zero());
            let inverse = one.div(pivot);
            self.column.clear();
            for i in j + 1..n {
                let at = self.at(i, j);
                let entry = V::load(&self.matrix[at..]);
                self.column.push(entry);
                let factor = entry.mul(inverse);
                factor.store(&mut self.matrix[at..]);
                let minus = V::zero().sub(factor);
                let row = &mut self.matrix[at + V::LANES..];
                for (c, x) in self.column.iter().zip(row.chunks_exact_mut(V::LANES)) {
                    minus.mul_add(*c, V::load(x)).store(x);
                }
            }
        }
        definite.store(&mut self.definite);
        self.solution.clear();
        self.solution.resize(columns * n * V::LANES, 0.0);
        for column in 0..columns.min(n) {
            self.solve_column(column);
        }
    }

    /// Solves L D L^T x = e for the unit vector e of a column counted from the back.
    #[inline(always)]
    fn solve_column(&mut self, column: usize) {
        let (n, one, zero) = (self.size, V::splat(1.0), V::zero());
        let unit = n - 1 - column;
        let place = |i: usize| (column * n + i) * V::LANES;
        one.store(&mut self.solution[place(unit)..]);
        for i in unit + 1..n {
            let mut sum = zero;
            for k in unit..i {
                let z = V::load(&self.solution[place(k)..]);
                sum = V::load(&self.matrix[self.at(i, k)..]).mul_add(z, sum);
            }
            zero.sub(sum).store(&mut self.solution[place(i)..]);
        }
        for i in (0..n).rev() {
            let mut sum = zero;
            for k in i + 1..n {
                let x = V::load(&self.solution[place(k)..]);
                sum = V::load(&self.matrix[self.at(k, i)..]).mul_add(x, sum);
            }
            let right = if i < unit {
                zero
            } else {
                let pivot = V::load(&self.matrix[self.at(i, i)..]);
                V::load(&self.solution[place(i)..]).div(pivot)
            };
            right.sub(sum).store(&mut self.solution[place(i)..]);
        }
    }

    /// Whether the matrix of `lane` is positive definite; otherwise there is no solution.
    pub fn is_definite(&self, lane: usize) -> bool {
        self.definite[lane] > 0.0
    }

    /// Entry `a` of a column of the inverse, both counted from the back.
    pub fn solution(&self, a: usize, column: usize, lane: usize) -> f64 {
        self.solution[(column * self.size + self.size - 1 - a) * V::LANES + lane]
    }
}
