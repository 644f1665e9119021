//! The small least-squares problem of GMRES.

/// Minimises |r - H y| for a Hessenberg matrix H that grows by one column per step, and r = (r_0,
/// 0, 0, ...): Givens rotations keep H upper triangular.
#[derive(Debug, Default)]
pub(crate) struct LeastSquares {
    /// Columns of the triangular factor of H.
    upper: Vec<Vec<f64>>,
    /// Cosine and sine of each rotation.
    rotations: Vec<(f64, f64)>,
    /// The rotated right-hand side; the magnitude of its last entry is the residual's norm.
    rhs: Vec<f64>,
}

impl LeastSquares {
    /// Without columns, for this r_0.
    pub(crate) fn new(first: f64) -> Self {
        Self { rhs: vec![first], ..Self::default() }
    }

    /// Number of columns.
    pub(crate) fn len(&self) -> usize {
        self.upper.len()
    }

    /// Adds the column `h` with the entry `next` below the diagonal. Returns false, and leaves it
    /// out, if what the earlier columns leave of it is at most `least`: then H is singular.
    pub(crate) fn push(&mut self, mut h: Vec<f64>, next: f64, least: f64) -> bool {
        for (k, &(c, s)) in self.rotations.iter().enumerate() {
            (h[k], h[k + 1]) = (c * h[k] + s * h[k + 1], c * h[k + 1] - s * h[k]);
        }
        let k = self.rotations.len();
        let radius = h[k].hypot(next);
        if radius <= least {
            return false;
        }
        let (c, s) = (h[k] / radius, next / radius);
        h[k] = radius;
        self.rotations.push((c, s));
        self.upper.push(h);
        let last = self.rhs[k];
        self.rhs[k] = c * last;
        self.rhs.push(-s * last);
        true
    }

    /// The residual's norm.
    pub(crate) fn residual(&self) -> f64 {
        self.rhs.last().copied().unwrap_or(0.0).abs()
    }

    /// y.
    pub(crate) fn solution(&self) -> Vec<f64> {
        let m = self.len();
        let mut y = self.rhs[..m].to_vec();
        for k in (0..m).rev() {
            y[k] /= self.upper[k][k];
            let yk = y[k];
            for (y, u) in y[..k].iter_mut().zip(&self.upper[k]) {
                *y -= u * yk;
            }
        }
        y
    }
}
