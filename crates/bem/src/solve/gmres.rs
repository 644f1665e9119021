//! GMRES(m) with right preconditioning for several right-hand sides that share every product with
//! the operator.
//!
//! Column c solves A x = b over x = x_0 + M z, z in the Krylov space of A M. The Arnoldi basis is
//! orthonormal in the weighted inner product <u, v> = sum_i w_i u_i v_i (module `vectors`); Givens
//! rotations update the least-squares residual. (Saad & Schultz, SIAM J. Sci. Stat. Comput. 7
//! (1986) 856; Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 9.5.) At each
//! restart and at the end the residual is recomputed as b - A x, and this one decides.

use serde::{Deserialize, Serialize};

use super::least_squares::LeastSquares;
use super::linear_operator::{InexactBudget, LinearOperator};
use super::observer::Observer;
use super::system::{LinearSystem, OperatorSystem};
use super::vectors::{Metric, Orthogonalised, VectorSpace};
use crate::Error;
use crate::constants::{GROUP, MAX_ITERATIONS, RESTART, TOLERANCE};

/// Why GMRES stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

options::options! {
    /// Parameters of GMRES.
    #[derive(Clone, Debug, PartialEq)]
    pub struct GmresParams {
        /// Residual relative to the right-hand side, in the weighted norm.
        tolerance: f64 = TOLERANCE,
        /// Krylov vectors before a restart.
        restart: usize = RESTART,
        /// Iterations after which a column stops unconverged.
        max_iterations: usize = MAX_ITERATIONS,
        /// Columns that share one product, at most; bounds the memory of their bases.
        group: usize = GROUP,
    }
}

/// Result of one column.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
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
    let n = operator.len();
    let columns = b.len().checked_div(n).unwrap_or(0);
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
    let mut system = OperatorSystem::new(operator, preconditioner, metric);
    let mut observer = |iteration: usize, residual: f64| observe(iteration, residual);
    solve(&mut system, b, x, params, &mut observer)
}

/// As [`gmres`], for any system: solves for right-hand sides `b`, starting from `x`, both whole and
/// of shape (columns, len). Collective.
pub(crate) fn solve<V>(
    system: &mut dyn LinearSystem<V>,
    b: &[f64],
    x: &mut [f64],
    params: &GmresParams,
    observer: &mut dyn Observer,
) -> Result<Vec<GmresInfo>, Error> {
    let len = system.space().len().max(1);
    let vectors = |all: &[f64]| -> Result<Vec<V>, Error> {
        all.chunks_exact(len).map(|values| system.space().vector(values)).collect()
    };
    let (b, mut answers) = (vectors(b)?, vectors(x)?);
    let [stores, _] = system.space().any([observer.stores(), false])?;
    let mut infos = Vec::with_capacity(b.len());
    let group = params.group.max(1);
    for (k, (b, answers)) in b.chunks(group).zip(answers.chunks_mut(group)).enumerate() {
        let mut lockstep = Lockstep { system: &mut *system, params, first: k * group, stores };
        infos.extend(lockstep.solve(b, answers, observer)?);
    }
    for (answer, x) in answers.iter().zip(x.chunks_exact_mut(len)) {
        system.space().read(answer, x)?;
    }
    Ok(infos)
}

/// The columns of one group.
struct Lockstep<'a, V> {
    system: &'a mut dyn LinearSystem<V>,
    params: &'a GmresParams,
    /// Index of the group's first column among all right-hand sides.
    first: usize,
    /// Whether any rank stores answers.
    stores: bool,
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
    /// Coefficients of these vectors.
    least_squares: LeastSquares,
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

impl<V> Lockstep<'_, V> {
    fn space(&self) -> &dyn VectorSpace<V> {
        self.system.space()
    }

    fn solve(
        &mut self,
        b: &[V],
        x: &mut [V],
        observer: &mut dyn Observer,
    ) -> Result<Vec<GmresInfo>, Error> {
        let mut done: Vec<Option<GmresInfo>> = vec![None; b.len()];
        let mut running = Vec::with_capacity(b.len());
        for (index, b) in b.iter().enumerate() {
            let of_all = self.first + index;
            let norm_b = self.space().norm(of_all, b)?;
            running.push(Column::new(index, of_all, norm_b, self.params.tolerance));
        }
        let mut shared = 0;
        loop {
            self.restart(b, x, &mut running, &mut done, observer)?;
            if running.is_empty() {
                break;
            }
            while running.iter().any(|column| column.ended.is_none()) {
                self.iterate(&mut running)?;
                shared += 1;
                let worst = running.iter().map(Column::residual).fold(0.0, f64::max);
                let next = observer.after(shared, worst);
                let [stops, stores] = self.space().any([!next.continues, next.stores])?;
                if stores || (stops && self.stores) {
                    self.store(x, &running, observer)?;
                }
                if stops {
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
        b: &[V],
        x: &[V],
        running: &mut Vec<Column<V>>,
        done: &mut [Option<GmresInfo>],
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let guesses: Vec<&V> = running.iter().map(|column| &x[column.index]).collect();
        let mut zero = true;
        for (guess, column) in guesses.iter().zip(running.iter()) {
            // NaN is not zero.
            zero &= self.space().norm(column.of_all, guess)? == 0.0;
        }
        let residuals = if zero {
            guesses.iter().map(|_| self.space().zeros()).collect::<Result<Vec<_>, _>>()?
        } else {
            let guesses = self.space().joined(&guesses)?;
            let products = self.system.apply(&guesses, running.len(), None)?;
            self.space().parted(products, running.len())?
        };
        let mut kept = Vec::with_capacity(running.len());
        for (mut column, mut r) in running.drain(..).zip(residuals) {
            self.space().scale(-1.0, &mut r)?;
            self.space().add(1.0, &b[column.index], &mut r)?;
            let size = self.space().norm(column.of_all, &r)?;
            let measured = self.system.measure(column.of_all, &x[column.index], &r)?;
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
                    if self.stores {
                        observer.store(column.of_all, self.values(&x[column.index])?);
                    }
                    done[column.index] = Some(GmresInfo {
                        iterations: column.iterations,
                        reason,
                        relative_residual: relative,
                        history: column.history,
                    });
                }
                None => {
                    self.space().scale(1.0 / size, &mut r)?;
                    column.begin(r, size);
                    kept.push(column);
                }
            }
        }
        *running = kept;
        Ok(())
    }

    /// One Arnoldi step of each column that still runs.
    fn iterate(&mut self, running: &mut [Column<V>]) -> Result<(), Error> {
        let mut active: Vec<&mut Column<V>> =
            running.iter_mut().filter(|column| column.ended.is_none()).collect();
        let count = active.len();
        let budget = budget(&active, self.params.tolerance);
        let last: Vec<&V> = active.iter().filter_map(|c| c.basis.last()).collect();
        let v = self.space().joined(&last)?;
        let z = self.system.precondition(&v, count)?;
        drop(v);
        let w = self.system.apply(&z, count, Some(budget))?;
        drop(z);
        let mut products = self.space().parted(w, count)?;
        let bases: Vec<_> =
            active.iter().map(|column| (column.of_all, &column.basis[..])).collect();
        let found = self.space().orthogonalise(&bases, &mut products)?;
        for ((column, w), found) in active.iter_mut().zip(products).zip(found) {
            column.extend(w, found, self.space(), self.params)?;
        }
        Ok(())
    }

    /// x += M V y for every column.
    fn update(&mut self, x: &mut [V], running: &mut [Column<V>]) -> Result<(), Error> {
        let mut steps = Vec::with_capacity(running.len());
        for column in running.iter_mut() {
            steps.push(self.step(column)?);
            column.basis.clear();
        }
        let corrections = self.preconditioned(steps)?;
        for (column, correction) in running.iter().zip(&corrections) {
            self.space().add(1.0, correction, &mut x[column.index])?;
        }
        Ok(())
    }

    /// Stores the answers so far, x + M V y.
    fn store(
        &mut self,
        x: &[V],
        running: &[Column<V>],
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        for column in running {
            let step = self.step(column)?;
            for mut answer in self.preconditioned(vec![step])? {
                self.space().add(1.0, &x[column.index], &mut answer)?;
                observer.store(column.of_all, self.values(&answer)?);
            }
        }
        Ok(())
    }

    /// All values of a vector. Collective.
    fn values(&self, v: &V) -> Result<Vec<f64>, Error> {
        let mut values = vec![0.0; self.space().len()];
        self.space().read(v, &mut values)?;
        Ok(values)
    }

    /// V y.
    fn step(&self, column: &Column<V>) -> Result<V, Error> {
        let mut step = self.space().zeros()?;
        for (y, v) in column.least_squares.solution().iter().zip(&column.basis) {
            self.space().add(*y, v, &mut step)?;
        }
        Ok(step)
    }

    /// M times each of these vectors.
    fn preconditioned(&mut self, vectors: Vec<V>) -> Result<Vec<V>, Error> {
        let joined = self.space().joined(&vectors.iter().collect::<Vec<_>>())?;
        let columns = vectors.len();
        drop(vectors);
        let products = self.system.precondition(&joined, columns)?;
        self.space().parted(products, columns)
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
            least_squares: LeastSquares::default(),
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
        self.least_squares = LeastSquares::new(size);
        self.at_restart = size;
        self.ended = None;
    }

    fn residual(&self) -> f64 {
        relative(self.least_squares.residual(), self.norm_b)
    }

    /// Adds the orthogonalised A M v for the last basis vector v.
    fn extend(
        &mut self,
        mut w: V,
        found: Orthogonalised,
        space: &dyn VectorSpace<V>,
        params: &GmresParams,
    ) -> Result<(), Error> {
        self.iterations += 1;
        let Orthogonalised { overlaps, size, left: mut next } = found;
        if !(next.is_finite() && size.is_finite()) {
            self.ended = Some(CycleEnd::Nan);
            return Ok(());
        }
        let closed = next <= CLOSED * size;
        if closed {
            next = 0.0;
        }
        if !self.least_squares.push(overlaps, next, CLOSED * size) {
            // This direction cannot be used.
            self.ended = Some(CycleEnd::Closed);
            return Ok(());
        }
        let relative = self.residual();
        self.history.push(relative);
        self.ended = if relative <= self.target {
            Some(CycleEnd::Small)
        } else if closed {
            Some(CycleEnd::Closed)
        } else if self.least_squares.len() >= params.restart
            || self.iterations >= params.max_iterations
        {
            Some(CycleEnd::Full)
        } else {
            None
        };
        space.scale(1.0 / next, &mut w)?;
        self.basis.push(w);
        Ok(())
    }
}

fn relative(size: f64, norm_b: f64) -> f64 {
    if norm_b > 0.0 { size / norm_b } else { size }
}
