//! GMRES(m) with right preconditioning for several right-hand sides that share every product with the operator.
//!
//! Column c solves A x = b over x = x_0 + M z, z in the Krylov space of A M. The Arnoldi basis is orthonormal in the weighted
//! inner product <u, v> = sum_i w_i u_i v_i, by modified Gram-Schmidt applied twice; Givens rotations keep the least-squares
//! residual. (Saad & Schultz, SIAM J. Sci. Stat. Comput. 7 (1986) 856; Saad, Iterative Methods for Sparse Linear Systems,
//! 2nd ed., algorithm 9.5.) At each restart and at the end the residual is taken anew from b - A x, and it is that one
//! which decides.

use rayon::prelude::*;

use crate::Error;

/// A matrix known by its products; GMRES takes square ones.
pub trait LinearOperator {
    /// Rows.
    fn len(&self) -> usize;

    /// Columns: the length of what it is applied to.
    fn inputs(&self) -> usize {
        self.len()
    }

    /// Whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// y = A x for `columns` vectors; `x` has shape (columns, inputs) and `y` (columns, len). What was in `y` is overwritten.
    ///
    /// # Errors
    /// Whatever keeps the product from being made; GMRES passes it on.
    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error>;
}

/// No preconditioner.
#[derive(Clone, Copy, Debug)]
pub struct Identity(
    /// Rows.
    pub usize,
);

impl LinearOperator for Identity {
    fn len(&self) -> usize {
        self.0
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], _columns: usize) -> Result<(), Error> {
        y.copy_from_slice(x);
        Ok(())
    }
}

/// Why GMRES stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The true residual meets the tolerance.
    Converged,
    /// The iteration limit.
    MaxIterations,
    /// Restarts no longer lower the residual.
    Stagnation,
    /// The Krylov space closed before the residual was small.
    Breakdown,
    /// A NaN or infinity appeared.
    Nan,
}

/// What may be tuned.
#[derive(Clone, Debug, PartialEq)]
pub struct GmresParams {
    /// Residual relative to the right-hand side, in the weighted norm.
    pub tolerance: f64,
    /// Krylov vectors before a restart.
    pub restart: usize,
    /// Iterations after which a column is given up.
    pub max_iterations: usize,
    /// Columns that share one product at most; bounds the memory of their bases.
    pub group: usize,
}

impl Default for GmresParams {
    fn default() -> Self {
        Self { tolerance: 1e-6, restart: 60, max_iterations: 200, group: 8 }
    }
}

/// What happened to one column.
#[derive(Clone, Debug, PartialEq)]
pub struct GmresInfo {
    /// Iterations taken, over all restarts.
    pub iterations: usize,
    /// Why it stopped.
    pub reason: StopReason,
    /// |b - A x| / |b| at the end, from b - A x itself.
    pub relative_residual: f64,
    /// The least-squares residual after each iteration, relative to b, beginning with 1.
    pub history: Vec<f64>,
}

/// The relative size of a residual.
pub type Measure<'a> = &'a dyn Fn(&[f64]) -> f64;

/// How residuals are measured.
#[derive(Clone, Copy)]
pub struct Metric<'a> {
    /// Weights w of the inner product, shape (len).
    pub weights: &'a [f64],
    /// The relative size of a true residual that is compared with the tolerance, if it is not the weighted norm over that of
    /// b. It should not exceed that, or the solve restarts in vain.
    pub measure: Option<Measure<'a>>,
}

/// A restart must lower the residual at least by this factor.
const STAGNATION: f64 = 0.9;

/// What is left of a vector after orthogonalisation, relative to it, that counts as nothing.
const CLOSED: f64 = 1e-14;

/// Solves A x = b for `columns` right-hand sides.
///
/// `b` and `x` have shape (columns, len); `x` holds the first guess and receives the answer. `observe(iteration, residual)` is called after each shared iteration with the largest relative
/// residual of the columns still running, and stops the solve by returning false.
///
/// A column that does not converge is no error; its [`GmresInfo::reason`] says so.
///
/// # Errors
/// [`Error::Length`] if an array does not fit, [`Error::Interrupted`], and those of the operators.
pub fn gmres(
    operator: &mut dyn LinearOperator,
    preconditioner: &mut dyn LinearOperator,
    metric: Metric<'_>,
    b: &[f64],
    x: &mut [f64],
    params: &GmresParams,
    observe: &mut dyn FnMut(usize, f64) -> bool,
) -> Result<Vec<GmresInfo>, Error> {
    let n = operator.len();
    let columns = b.len().checked_div(n).unwrap_or(0);
    for (what, expected, found) in [
        ("a vector", n, operator.inputs()),
        ("preconditioner", n, preconditioner.len()),
        ("weights", n, metric.weights.len()),
        ("b", columns * n, b.len()),
        ("x", columns * n, x.len()),
    ] {
        if expected != found {
            return Err(Error::Length { what, expected, found });
        }
    }
    let mut infos = Vec::with_capacity(columns);
    let group = params.group.max(1) * n.max(1);
    for (b, x) in b.chunks(group).zip(x.chunks_mut(group)) {
        let mut lockstep = Lockstep { operator, preconditioner, metric, params, n };
        infos.extend(lockstep.solve(b, x, observe)?);
    }
    Ok(infos)
}

/// The columns of one group.
struct Lockstep<'a> {
    operator: &'a mut dyn LinearOperator,
    preconditioner: &'a mut dyn LinearOperator,
    metric: Metric<'a>,
    params: &'a GmresParams,
    n: usize,
}

/// One column between two restarts.
struct Column {
    index: usize,
    norm_b: f64,
    /// Orthonormal Krylov vectors.
    basis: Vec<Vec<f64>>,
    /// Columns of the triangular factor of the Hessenberg matrix.
    upper: Vec<Vec<f64>>,
    rotations: Vec<(f64, f64)>,
    /// The rotated right-hand side; its last entry is the residual's norm.
    rhs: Vec<f64>,
    /// Norm of the true residual at the last restart.
    at_restart: f64,
    iterations: usize,
    history: Vec<f64>,
    /// Why this cycle ended, if it has.
    ended: Option<CycleEnd>,
}

#[derive(Clone, Copy, PartialEq)]
enum CycleEnd {
    Small,
    Full,
    Closed,
    Nan,
}

impl Lockstep<'_> {
    fn solve(
        &mut self,
        b: &[f64],
        x: &mut [f64],
        observe: &mut dyn FnMut(usize, f64) -> bool,
    ) -> Result<Vec<GmresInfo>, Error> {
        let n = self.n;
        let count = b.len() / n;
        let mut done: Vec<Option<GmresInfo>> = vec![None; count];
        let mut running: Vec<Column> = (0..count)
            .map(|index| {
                Column::new(index, norm(&b[index * n..(index + 1) * n], self.metric.weights))
            })
            .collect();
        let mut shared = 0;
        loop {
            self.restart(b, x, &mut running, &mut done)?;
            if running.is_empty() {
                break;
            }
            while running.iter().any(|column| column.ended.is_none()) {
                self.iterate(&mut running)?;
                shared += 1;
                let worst = running.iter().map(Column::residual).fold(0.0, f64::max);
                if !observe(shared, worst) {
                    return Err(Error::Interrupted);
                }
            }
            self.update(x, &mut running)?;
        }
        Ok(done.into_iter().flatten().collect())
    }

    /// Takes true residuals, retires the columns that are through, starts a new cycle for the others.
    fn restart(
        &mut self,
        b: &[f64],
        x: &[f64],
        running: &mut Vec<Column>,
        done: &mut [Option<GmresInfo>],
    ) -> Result<(), Error> {
        let n = self.n;
        let mut residuals = vec![0.0; running.len() * n];
        let guesses = gather(running.iter().map(|c| &x[c.index * n..(c.index + 1) * n]), n);
        if guesses.iter().any(|&v| v != 0.0) {
            self.operator.apply(&guesses, &mut residuals, running.len())?;
        }
        drop(guesses);
        let mut kept = Vec::with_capacity(running.len());
        for (mut column, r) in running.drain(..).zip(residuals.chunks_exact_mut(n)) {
            let b = &b[column.index * n..(column.index + 1) * n];
            r.iter_mut().zip(b).for_each(|(r, b)| *r = b - *r);
            let size = norm(r, self.metric.weights);
            let relative = match self.metric.measure {
                Some(measure) => measure(r),
                None => relative(size, column.norm_b),
            };
            match column.verdict(size, relative, self.params) {
                Some(reason) => {
                    done[column.index] = Some(GmresInfo {
                        iterations: column.iterations,
                        reason,
                        relative_residual: relative,
                        history: column.history,
                    });
                }
                None => {
                    column.begin(r, size);
                    kept.push(column);
                }
            }
        }
        *running = kept;
        Ok(())
    }

    /// One Arnoldi step of each column that still runs.
    fn iterate(&mut self, running: &mut [Column]) -> Result<(), Error> {
        let n = self.n;
        let mut active: Vec<&mut Column> =
            running.iter_mut().filter(|column| column.ended.is_none()).collect();
        let last = |column: &Column| column.basis.len() - 1;
        let v = gather(active.iter().map(|c| c.basis[last(c)].as_slice()), n);
        let mut z = vec![0.0; v.len()];
        self.preconditioner.apply(&v, &mut z, active.len())?;
        let mut w = v;
        self.operator.apply(&z, &mut w, active.len())?;
        drop(z);
        for (column, w) in active.iter_mut().zip(w.chunks_exact(n)) {
            column.extend(w.to_vec(), self.metric.weights, self.params);
        }
        Ok(())
    }

    /// x += M V y for every column.
    fn update(&mut self, x: &mut [f64], running: &mut [Column]) -> Result<(), Error> {
        let n = self.n;
        let mut steps = vec![0.0; running.len() * n];
        for (column, step) in running.iter_mut().zip(steps.chunks_exact_mut(n)) {
            let y = column.coefficients();
            for (y, v) in y.iter().zip(&column.basis) {
                axpy(*y, v, step);
            }
            column.basis.clear();
        }
        let mut corrections = vec![0.0; steps.len()];
        self.preconditioner.apply(&steps, &mut corrections, running.len())?;
        for (column, correction) in running.iter().zip(corrections.chunks_exact(n)) {
            axpy(1.0, correction, &mut x[column.index * n..(column.index + 1) * n]);
        }
        Ok(())
    }
}

impl Column {
    fn new(index: usize, norm_b: f64) -> Self {
        Self {
            index,
            norm_b,
            basis: Vec::new(),
            upper: Vec::new(),
            rotations: Vec::new(),
            rhs: Vec::new(),
            at_restart: f64::INFINITY,
            iterations: 0,
            history: vec![1.0],
            ended: None,
        }
    }

    /// Whether the column is through, given the norm of its true residual.
    fn verdict(&self, size: f64, relative: f64, params: &GmresParams) -> Option<StopReason> {
        if !size.is_finite() || self.ended == Some(CycleEnd::Nan) {
            Some(StopReason::Nan)
        } else if relative <= params.tolerance {
            Some(StopReason::Converged)
        } else if self.iterations >= params.max_iterations {
            Some(StopReason::MaxIterations)
        } else if self.ended == Some(CycleEnd::Closed) {
            Some(StopReason::Breakdown)
        } else if self.ended.is_some() && size > STAGNATION * self.at_restart {
            Some(StopReason::Stagnation)
        } else {
            None
        }
    }

    fn begin(&mut self, r: &[f64], size: f64) {
        self.basis = vec![r.iter().map(|r| r / size).collect()];
        self.upper.clear();
        self.rotations.clear();
        self.rhs = vec![size];
        self.at_restart = size;
        self.ended = None;
    }

    fn residual(&self) -> f64 {
        relative(self.rhs.last().copied().unwrap_or(0.0).abs(), self.norm_b)
    }

    /// Takes A M v for the last basis vector v.
    fn extend(&mut self, mut w: Vec<f64>, weights: &[f64], params: &GmresParams) {
        self.iterations += 1;
        let size = norm(&w, weights);
        let mut h = vec![0.0; self.basis.len()];
        for _ in 0..2 {
            for (h, v) in h.iter_mut().zip(&self.basis) {
                let overlap = dot(v, &w, weights);
                axpy(-overlap, v, &mut w);
                *h += overlap;
            }
        }
        let mut next = norm(&w, weights);
        if !(next.is_finite() && size.is_finite()) {
            self.ended = Some(CycleEnd::Nan);
            return;
        }
        let closed = next <= CLOSED * size;
        if closed {
            next = 0.0;
        }
        for (k, &(c, s)) in self.rotations.iter().enumerate() {
            (h[k], h[k + 1]) = (c * h[k] + s * h[k + 1], c * h[k + 1] - s * h[k]);
        }
        let k = self.rotations.len();
        let radius = h[k].hypot(next);
        if radius <= CLOSED * size {
            // A singular Hessenberg matrix: this direction cannot be used.
            self.ended = Some(CycleEnd::Closed);
            return;
        }
        let (c, s) = (h[k] / radius, next / radius);
        h[k] = radius;
        self.rotations.push((c, s));
        self.upper.push(h);
        let last = self.rhs[k];
        self.rhs[k] = c * last;
        self.rhs.push(-s * last);
        let relative = self.residual();
        self.history.push(relative);
        self.ended = if relative <= params.tolerance {
            Some(CycleEnd::Small)
        } else if closed {
            Some(CycleEnd::Closed)
        } else if self.upper.len() >= params.restart || self.iterations >= params.max_iterations {
            Some(CycleEnd::Full)
        } else {
            None
        };
        w.iter_mut().for_each(|w| *w /= next);
        self.basis.push(w);
    }

    /// Solves the triangular system of the cycle.
    fn coefficients(&self) -> Vec<f64> {
        let m = self.upper.len();
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

fn gather<'a>(vectors: impl Iterator<Item = &'a [f64]>, n: usize) -> Vec<f64> {
    let mut all = Vec::with_capacity(vectors.size_hint().1.unwrap_or(0) * n);
    vectors.for_each(|v| all.extend_from_slice(v));
    all
}

fn relative(size: f64, norm_b: f64) -> f64 {
    if norm_b > 0.0 { size / norm_b } else { size }
}

/// Vectors are worked in pieces of this length, whose sums are added in order: the same result on any number of threads.
const PIECE: usize = 16_384;

fn dot(u: &[f64], v: &[f64], weights: &[f64]) -> f64 {
    let piece = |((u, v), w): ((&[f64], &[f64]), &[f64])| -> f64 {
        u.iter().zip(v).zip(w).map(|((u, v), w)| u * v * w).sum()
    };
    let pieces = u.par_chunks(PIECE).zip(v.par_chunks(PIECE)).zip(weights.par_chunks(PIECE));
    pieces.map(piece).collect::<Vec<f64>>().into_iter().sum()
}

fn norm(v: &[f64], weights: &[f64]) -> f64 {
    dot(v, v, weights).sqrt()
}

fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    y.par_chunks_mut(PIECE).zip(x.par_chunks(PIECE)).for_each(|(y, x)| {
        y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
    });
}
