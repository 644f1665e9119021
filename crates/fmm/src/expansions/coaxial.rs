//! Translations along the z-axis: the C of RCR (docs/math.md, "Translations"; [Gumerov2008], eqs 16
//! to 19).
//!
//! They keep m, and the same matrix over `(n, n')` serves sines and cosines. Expansions are stored
//! in units of their box: a multipole of a box with side s holds `sum q C(y / s)`, a local
//! expansion stands for `(1 / s) sum L C(x / s)`, so the matrices depend on ratios alone and one
//! table serves all levels.

use crate::expansions::harmonics::parity;
use simd::Real;

/// The matrices of one coaxial translation, for `m < p`.
#[derive(Clone, Debug)]
pub struct Coaxial<T> {
    p: usize,
    /// For each m a matrix over n = m .. p (rows, of the result) and n' = m .. p (columns),
    /// row-major.
    matrices: Vec<T>,
}

impl<T: Real> Coaxial<T> {
    /// Multipole to local: a target box of side `target` at distance `distance` along +z from a
    /// source box of side `source`.
    ///
    /// `(-1)^(n+m) (n+n')! / (t^(n+n'+1) sqrt((n-m)! (n+m)! (n'-m)! (n'+m)!))` in units of the
    /// boxes. A further `(-1)^m` undoes the sign of the way back (module `rotation`).
    pub fn m2l(p: usize, source: f64, target: f64, distance: f64) -> Self {
        let binomial = Binomials::new(2 * p);
        let (a, b) = (target / distance, source / distance);
        Self::build(p, |m, n, k| {
            let sign = parity(n);
            let root = (binomial.of(n + k, n - m) * binomial.of(n + k, n + m)).sqrt();
            sign * root * a.powi(n as i32 + 1) * b.powi(k as i32)
        })
    }

    /// A child's multipole to its parent's, times `(-1)^m`, the child's centre at `distance` (in
    /// units of the parent's side) along +z.
    pub fn m2m(p: usize, distance: f64) -> Self {
        let binomial = Binomials::new(2 * p);
        Self::build(p, |m, n, k| {
            if k > n {
                return 0.0;
            }
            let root = (binomial.of(n - m, k - m) * binomial.of(n + m, k + m)).sqrt();
            parity(m) * root * distance.powi((n - k) as i32) * 0.5f64.powi(k as i32)
        })
    }

    /// A parent's local expansion to its child's, times `(-1)^m`, the child's centre at `distance`
    /// (in units of the parent's side) along +z.
    pub fn l2l(p: usize, distance: f64) -> Self {
        let binomial = Binomials::new(2 * p);
        Self::build(p, |m, n, k| {
            if k < n {
                return 0.0;
            }
            let root = (binomial.of(k - m, n - m) * binomial.of(k + m, n + m)).sqrt();
            parity(m) * root * distance.powi((k - n) as i32) * 0.5f64.powi(n as i32 + 1)
        })
    }

    /// Of the entries `(m, n, n')`.
    pub(crate) fn build(p: usize, entry: impl Fn(usize, usize, usize) -> f64) -> Self {
        let mut matrices = Vec::with_capacity(p * (p + 1) * (2 * p + 1) / 6);
        for m in 0..p {
            for n in m..p {
                matrices.extend((m..p).map(|k| T::of(entry(m, n, k))));
            }
        }
        Self { p, matrices }
    }

    /// The matrix of `m`: its first scalar and the scalars between rows.
    #[inline(always)]
    pub fn matrix(&self, m: usize) -> (&[T], usize) {
        // Sum of (p - k)^2 over k < m.
        let q = self.p - m;
        let squares = |n: usize| n * (n + 1) * (2 * n + 1) / 6;
        (&self.matrices[squares(self.p) - squares(q)..], q)
    }
}

/// Binomial coefficients up to a row, as doubles.
struct Binomials {
    rows: Vec<Vec<f64>>,
}

impl Binomials {
    fn new(n: usize) -> Self {
        let mut rows: Vec<Vec<f64>> = vec![vec![1.0]];
        for i in 1..=n {
            let above = &rows[i - 1];
            let row = (0..=i)
                .map(|k| {
                    let left = if k > 0 { above[k - 1] } else { 0.0 };
                    left + above.get(k).copied().unwrap_or(0.0)
                })
                .collect();
            rows.push(row);
        }
        Self { rows }
    }

    fn of(&self, n: usize, k: usize) -> f64 {
        self.rows[n][k]
    }
}
