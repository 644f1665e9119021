//! GMRES(m) with right preconditioning for several right-hand sides that share every product with
//! the operator.
//!
//! Column c solves A x = b over x = x_0 + M z, z in the Krylov space of A M. The Arnoldi basis is
//! orthonormal in the weighted inner product <u, v> = sum_i w_i u_i v_i (module `vectors`); Givens
//! rotations update the least-squares residual. (Saad & Schultz, SIAM J. Sci. Stat. Comput. 7
//! (1986) 856; Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 9.5.) At each
//! restart and at the end the residual is recomputed as b - A x, and this one decides.

use comm::{Alone, Communicator};

use super::linear_operator::{InexactBudget, LinearOperator};
use super::vectors::{Host, Metric, Orthogonalised, VectorSpace};
use crate::Error;
use crate::constants::{GROUP, MAX_ITERATIONS, RESTART, TOLERANCE};

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

/// Parameters of GMRES.
#[derive(Clone, Debug, PartialEq)]
pub struct GmresParams {
    /// Residual relative to the right-hand side, in the weighted norm.
    pub tolerance: f64,
    /// Krylov vectors before a restart.
    pub restart: usize,
    /// Iterations after which a column stops unconverged.
    pub max_iterations: usize,
    /// Columns that share one product, at most; bounds the memory of their bases.
    pub group: usize,
}

impl Default for GmresParams {
    fn default() -> Self {
        Self {
            tolerance: TOLERANCE,
            restart: RESTART,
            max_iterations: MAX_ITERATIONS,
            group: GROUP,
        }
    }
}

/// Result of one column.
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

impl GmresInfo {
    /// Adds the result of a later solve of the same column.
    pub(crate) fn go_on(&mut self, later: Self) {
        self.iterations += later.iterations;
        self.reason = later.reason;
        self.relative_residual = later.relative_residual;
        self.history.extend(later.history.into_iter().skip(1));
    }
}

/// A restart must lower the residual at least by this factor.
const STAGNATION: f64 = 0.9;

/// If the measure of a residual exceeds its norm, the target of the norm is this share of the
/// target by their ratio: less than [`STAGNATION`].
const BEYOND: f64 = 0.5;

/// A vector whose norm after orthogonalisation is below this share of that before counts as zero.
const CLOSED: f64 = 1e-14;

/// Solves A x = b for `columns` right-hand sides.
///
/// `b` and `x` have shape (columns, len); `x` holds the first guess and receives the answer.
/// `observe(iteration, residual)` is called after each shared iteration with the largest relative
/// residual of the columns still running, and stops the solve by returning false.
///
/// A column that does not converge is no error; its [`GmresInfo::reason`] says so.
///
/// # Errors
/// [`Error::Length`] if an array does not fit, [`Error::Interrupted`], and errors of the operators.
pub fn gmres(
    operator: &mut dyn LinearOperator,
    preconditioner: &mut dyn LinearOperator,
    metric: Metric<'_>,
    b: &[f64],
    x: &mut [f64],
    params: &GmresParams,
    observe: &mut dyn FnMut(usize, f64) -> bool,
) -> Result<Vec<GmresInfo>, Error> {
    let columns = b.len().checked_div(operator.len()).unwrap_or(0);
    let mut watch = |iteration: usize, residual: f64| observe(iteration, residual);
    gmres_among(
        &Alone::default(),
        operator,
        preconditioner,
        metric,
        (b, x, columns),
        params,
        &mut watch,
    )
}

/// Observer of a solve.
pub trait Watch {
    /// Called after each shared iteration, with the largest relative residual of the columns still
    /// running.
    fn after(&mut self, iteration: usize, residual: f64) -> Next;

    /// Whether finished answers should be stored.
    fn keeps(&self) -> bool {
        false
    }

    /// Receives the answer to a right-hand side: when it is finished, and earlier if [`Next`] asks
    /// for it.
    fn keep(&mut self, _column: usize, _x: Vec<f64>) {}
}

/// Action after an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// Whether the solve continues.
    pub(crate) goes_on: bool,
    /// Whether answers so far should be stored first.
    pub(crate) keeps: bool,
}

impl<F: FnMut(usize, f64) -> bool> Watch for F {
    fn after(&mut self, iteration: usize, residual: f64) -> Next {
        Next { goes_on: self(iteration, residual), keeps: false }
    }
}

/// The same for `columns` right-hand sides distributed over the ranks of a group: weights are 0 for
/// values that another rank has too, and the measure is global. Collective then.
///
/// # Errors
/// As for [`gmres`], and [`Error::Fmm`] if communication fails.
pub(crate) fn gmres_among(
    group: &dyn Communicator,
    operator: &mut dyn LinearOperator,
    preconditioner: &mut dyn LinearOperator,
    metric: Metric<'_>,
    (b, x, columns): (&[f64], &mut [f64], usize),
    params: &GmresParams,
    watch: &mut dyn Watch,
) -> Result<Vec<GmresInfo>, Error> {
    let n = operator.len();
    let of_each = metric.weights.len() != n;
    for (what, expected, found) in [
        ("a vector", n, operator.inputs()),
        ("preconditioner", n, preconditioner.len()),
        ("weights", if of_each { columns * n } else { n }, metric.weights.len()),
        ("b", columns * n, b.len()),
        ("x", columns * n, x.len()),
    ] {
        if expected != found {
            return Err(Error::Length { what, expected, found });
        }
    }
    let mut space = Host { group, operator, preconditioner, metric, n };
    let vector = |all: &[f64], column: usize| all[column * n..(column + 1) * n].to_vec();
    let vectors = |all: &[f64]| (0..columns).map(|column| vector(all, column)).collect();
    let mut guesses: Vec<Vec<f64>> = vectors(x);
    let b: Vec<Vec<f64>> = vectors(b);
    let infos = gmres_in(&mut space, &b, &mut guesses, params, watch)?;
    for (x, guess) in x.chunks_exact_mut(n.max(1)).zip(&guesses) {
        x.copy_from_slice(guess);
    }
    Ok(infos)
}

/// As [`gmres`], for any kind of vectors: solves for each of `b`, starting from `x`.
pub(crate) fn gmres_in<S: VectorSpace>(
    space: &mut S,
    b: &[S::Vector],
    x: &mut [S::Vector],
    params: &GmresParams,
    watch: &mut dyn Watch,
) -> Result<Vec<GmresInfo>, Error> {
    let mut infos = Vec::with_capacity(b.len());
    let group = params.group.max(1);
    for (k, (b, x)) in b.chunks(group).zip(x.chunks_mut(group)).enumerate() {
        let first = k * group;
        infos.extend(Lockstep { space: &mut *space, params, first }.solve(b, x, watch)?);
    }
    Ok(infos)
}

/// The columns of one group.
struct Lockstep<'a, S> {
    space: &'a mut S,
    params: &'a GmresParams,
    /// Index of the group's first column among all right-hand sides.
    first: usize,
}

/// One column between two restarts.
struct Column<V> {
    /// Index in its group.
    index: usize,
    /// Index among all right-hand sides.
    of_all: usize,
    norm_b: f64,
    /// Relative norm at which a cycle ends: the tolerance, or less if the measure of the residual
    /// exceeds its norm.
    target: f64,
    /// Orthonormal Krylov vectors.
    basis: Vec<V>,
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

impl<S: VectorSpace> Lockstep<'_, S> {
    fn solve(
        &mut self,
        b: &[S::Vector],
        x: &mut [S::Vector],
        watch: &mut dyn Watch,
    ) -> Result<Vec<GmresInfo>, Error> {
        let mut done: Vec<Option<GmresInfo>> = vec![None; b.len()];
        let mut running = Vec::with_capacity(b.len());
        for (index, b) in b.iter().enumerate() {
            let of_all = self.first + index;
            let norm_b = self.space.norm(of_all, b)?;
            running.push(Column::new(index, of_all, norm_b, self.params.tolerance));
        }
        let mut shared = 0;
        loop {
            self.restart(b, x, &mut running, &mut done, watch)?;
            if running.is_empty() {
                break;
            }
            while running.iter().any(|column| column.ended.is_none()) {
                self.iterate(&mut running)?;
                shared += 1;
                let worst = running.iter().map(Column::residual).fold(0.0, f64::max);
                let next = watch.after(shared, worst);
                if next.keeps {
                    self.keep(x, &running, watch)?;
                }
                if !next.goes_on {
                    return Err(Error::Interrupted);
                }
            }
            self.update(x, &mut running)?;
        }
        Ok(done.into_iter().flatten().collect())
    }

    /// Computes true residuals, retires finished columns, and starts a new cycle for the others.
    fn restart(
        &mut self,
        b: &[S::Vector],
        x: &[S::Vector],
        running: &mut Vec<Column<S::Vector>>,
        done: &mut [Option<GmresInfo>],
        watch: &mut dyn Watch,
    ) -> Result<(), Error> {
        let guesses: Vec<&S::Vector> = running.iter().map(|column| &x[column.index]).collect();
        let mut zero = true;
        for (guess, column) in guesses.iter().zip(running.iter()) {
            // NaN is not zero.
            zero &= self.space.norm(column.of_all, guess)? == 0.0;
        }
        let residuals = if zero {
            guesses.iter().map(|_| self.space.zeros()).collect::<Result<Vec<_>, _>>()?
        } else {
            let guesses = self.space.joined(&guesses)?;
            let products = self.space.apply(&guesses, running.len())?;
            self.space.parted(products, running.len())?
        };
        let mut kept = Vec::with_capacity(running.len());
        for (mut column, mut r) in running.drain(..).zip(residuals) {
            self.space.scale(-1.0, &mut r)?;
            self.space.add(1.0, &b[column.index], &mut r)?;
            let size = self.space.norm(column.of_all, &r)?;
            let measured = self.space.measure(column.of_all, &x[column.index], &r)?;
            let norm = relative(size, column.norm_b);
            let relative = measured.unwrap_or(norm);
            if column.ended.is_some() && relative > norm {
                let target = BEYOND * self.params.tolerance * norm / relative;
                column.target = column.target.min(target);
            }
            if column.ended.is_none() && !zero {
                column.history = vec![norm];
            }
            match column.verdict(size, relative, self.params) {
                Some(reason) => {
                    if watch.keeps() {
                        watch.keep(column.of_all, self.space.values(&x[column.index])?);
                    }
                    done[column.index] = Some(GmresInfo {
                        iterations: column.iterations,
                        reason,
                        relative_residual: relative,
                        history: column.history,
                    });
                }
                None => {
                    self.space.scale(1.0 / size, &mut r)?;
                    column.begin(r, size);
                    kept.push(column);
                }
            }
        }
        *running = kept;
        Ok(())
    }

    /// One Arnoldi step of each column that still runs.
    fn iterate(&mut self, running: &mut [Column<S::Vector>]) -> Result<(), Error> {
        let mut active: Vec<&mut Column<S::Vector>> =
            running.iter_mut().filter(|column| column.ended.is_none()).collect();
        let count = active.len();
        let budget = budget(&active, self.params.tolerance);
        let last: Vec<&S::Vector> = active.iter().filter_map(|c| c.basis.last()).collect();
        let v = self.space.joined(&last)?;
        let z = self.space.precondition(&v, count)?;
        drop(v);
        let w = self.space.apply_inexact(&z, count, budget)?;
        drop(z);
        let mut products = self.space.parted(w, count)?;
        let bases: Vec<_> =
            active.iter().map(|column| (column.of_all, &column.basis[..])).collect();
        let found = self.space.orthogonalise(&bases, &mut products)?;
        for ((column, w), found) in active.iter_mut().zip(products).zip(found) {
            column.extend(w, found, &*self.space, self.params)?;
        }
        Ok(())
    }

    /// x += M V y for every column.
    fn update(
        &mut self,
        x: &mut [S::Vector],
        running: &mut [Column<S::Vector>],
    ) -> Result<(), Error> {
        let mut steps = Vec::with_capacity(running.len());
        for column in running.iter_mut() {
            steps.push(self.step(column)?);
            column.basis.clear();
        }
        let corrections = self.preconditioned(steps)?;
        for (column, correction) in running.iter().zip(&corrections) {
            self.space.add(1.0, correction, &mut x[column.index])?;
        }
        Ok(())
    }

    /// Stores the answers so far, x + M V y.
    fn keep(
        &mut self,
        x: &[S::Vector],
        running: &[Column<S::Vector>],
        watch: &mut dyn Watch,
    ) -> Result<(), Error> {
        for column in running {
            let step = self.step(column)?;
            for mut answer in self.preconditioned(vec![step])? {
                self.space.add(1.0, &x[column.index], &mut answer)?;
                watch.keep(column.of_all, self.space.values(&answer)?);
            }
        }
        Ok(())
    }

    /// V y.
    fn step(&self, column: &Column<S::Vector>) -> Result<S::Vector, Error> {
        let mut step = self.space.zeros()?;
        for (y, v) in column.coefficients().iter().zip(&column.basis) {
            self.space.add(*y, v, &mut step)?;
        }
        Ok(step)
    }

    /// M times each of these vectors.
    fn preconditioned(&mut self, vectors: Vec<S::Vector>) -> Result<Vec<S::Vector>, Error> {
        let joined = self.space.joined(&vectors.iter().collect::<Vec<_>>())?;
        let columns = vectors.len();
        drop(vectors);
        let products = self.space.precondition(&joined, columns)?;
        self.space.parted(products, columns)
    }
}

/// Assumed number of steps that reduce a residual by a factor of e, before the first step.
const STEPS_A_FACTOR: f64 = 1.0;

/// The error that all columns of a product allow.
fn budget<V>(columns: &[&mut Column<V>], tolerance: f64) -> InexactBudget {
    let mut budget = InexactBudget { factor: f64::INFINITY, products: 0 };
    for column in columns {
        let residual = column.residual();
        budget.factor = budget.factor.min(1.0 / residual).max(1.0);
        // Assume the same rate as so far.
        let first = column.history.first().copied().unwrap_or(1.0);
        let rate = match column.iterations {
            0 => STEPS_A_FACTOR,
            // Steps without progress give no information.
            steps => steps as f64 / (first / residual).ln(),
        };
        let left = (rate * (residual / tolerance).ln()).ceil();
        budget.products = budget.products.max((left as usize).max(1));
    }
    budget
}

impl<V> Column<V> {
    fn new(index: usize, of_all: usize, norm_b: f64, target: f64) -> Self {
        Self {
            index,
            of_all,
            norm_b,
            target,
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

    /// Whether the column is finished, given the norm of its true residual.
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

    /// Begins a cycle with a residual of this size, given as a unit vector.
    fn begin(&mut self, unit: V, size: f64) {
        self.basis = vec![unit];
        self.upper.clear();
        self.rotations.clear();
        self.rhs = vec![size];
        self.at_restart = size;
        self.ended = None;
    }

    fn residual(&self) -> f64 {
        relative(self.rhs.last().copied().unwrap_or(0.0).abs(), self.norm_b)
    }

    /// Adds the orthogonalised A M v for the last basis vector v.
    fn extend<S: VectorSpace<Vector = V>>(
        &mut self,
        mut w: V,
        found: Orthogonalised,
        space: &S,
        params: &GmresParams,
    ) -> Result<(), Error> {
        self.iterations += 1;
        let Orthogonalised { overlaps: mut h, size, left: mut next } = found;
        if !(next.is_finite() && size.is_finite()) {
            self.ended = Some(CycleEnd::Nan);
            return Ok(());
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
            return Ok(());
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
        self.ended = if relative <= self.target {
            Some(CycleEnd::Small)
        } else if closed {
            Some(CycleEnd::Closed)
        } else if self.upper.len() >= params.restart || self.iterations >= params.max_iterations {
            Some(CycleEnd::Full)
        } else {
            None
        };
        space.scale(1.0 / next, &mut w)?;
        self.basis.push(w);
        Ok(())
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

fn relative(size: f64, norm_b: f64) -> f64 {
    if norm_b > 0.0 { size / norm_b } else { size }
}
