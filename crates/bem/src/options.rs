//! What may be chosen for a solve, how it is followed, and what is said of it.

use std::sync::Arc;

use comm::Group;

use crate::Error;
use crate::constants::{MAX_ITERATIONS, RESTART, TOLERANCE};
use crate::geometry::share;
use crate::solve::gmres::StopReason;
use crate::space::Density;

/// Dense or fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Whichever the cost model says is faster.
    #[default]
    Auto,
    /// Dense Galerkin matrix, factorised.
    Dense,
    /// GMRES over the FMM with near-field correction.
    Fmm,
}

/// Choices for a solve.
#[derive(Clone, Debug, PartialEq)]
pub struct SolveOptions {
    /// Dense or fast.
    pub method: Method,
    /// How densities may vary over triangles.
    pub density: Density,
    /// Relative residual of each conductor's rows in the area-scaled norm.
    pub tolerance: f64,
    /// Relative L2 error of the FMM; `None` follows the solver's.
    pub fmm_tolerance: Option<f64>,
    /// Whether products of GMRES may be less exact as the residual falls; never on a GPU.
    pub relax: bool,
    /// Krylov vectors before GMRES restarts.
    pub restart: usize,
    /// Iterations after which a solve is given up.
    pub max_iterations: usize,
    /// Orders added to every quadrature rule (0 = as the accuracy asks), for checking that
    /// quadrature does not limit C.
    pub quadrature_increment: usize,
    /// Bytes the solve may use; `None` = no limit.
    pub memory_limit: Option<u64>,
    /// Where the FMM computes.
    pub backend: fmm::Backend,
    /// Which GPU, counted from 0.
    pub gpu: usize,
    /// Whether results must be the same to the bit each time, on the same machine, with the same
    /// number of threads and ranks. Sums are then on CPU cores, where they always are such, and
    /// asking for a GPU is an error. Sums over `ranks` must be in their order, as those of
    /// [`comm::InOrder`] are.
    pub deterministic: bool,
    /// Ranks that share every solve; `None` = this process alone.
    pub ranks: Option<Ranks>,
}

/// This rank's end of a group that shares solves: each rank has a part of the panels with their
/// near field, and all have the whole problem and get the whole answer. What solves is called by
/// all of them, with the same problem and options but for the GPU.
///
/// Answers are those of one process to the tolerance, and the same on all ranks. Dense solves are
/// not shared: each rank makes them.
#[derive(Clone, Debug)]
pub struct Ranks(pub Group);

impl Ranks {
    /// A rank's own result, unless another one's is an error. Collective.
    ///
    /// # Errors
    /// Its own, or that of the other.
    pub fn agreed<T, E: From<Error> + ToString>(&self, own: Result<T, E>) -> Result<T, E> {
        share::agreed(&*self.0, own)
    }

    /// The numbers of the first rank, whatever the others have. Collective.
    ///
    /// # Errors
    /// Messages that do not pass.
    pub fn of_first(&self, own: &[f64]) -> Result<Vec<f64>, Error> {
        let own = if self.0.rank() == 0 { own } else { &[] };
        let all = comm::all_gather(&*self.0, own).map_err(share::lost)?;
        Ok(all.into_iter().next().unwrap_or_default())
    }
}

impl PartialEq for Ranks {
    /// Whether they are the same end of the same group.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Default for SolveOptions {
    fn default() -> Self {
        Self {
            method: Method::Auto,
            density: Density::Constant,
            tolerance: TOLERANCE,
            fmm_tolerance: None,
            relax: true,
            restart: RESTART,
            max_iterations: MAX_ITERATIONS,
            quadrature_increment: 0,
            memory_limit: None,
            backend: fmm::Backend::default(),
            gpu: 0,
            deterministic: false,
            ranks: None,
        }
    }
}

impl SolveOptions {
    /// Where fast sums are.
    ///
    /// # Errors
    /// [`fmm::Error::NotDeterministic`].
    pub(crate) fn backend(&self) -> Result<fmm::Backend, Error> {
        if self.deterministic { Ok(self.backend.deterministic()?) } else { Ok(self.backend) }
    }

    /// The ranks that share solves: without others a group of one.
    pub(crate) fn group(&self) -> Group {
        self.ranks.as_ref().map_or_else(comm::alone, |ranks| Group::clone(&ranks.0))
    }
}

/// Parts of a solve, in the order they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Tree, lists, tables.
    Plan,
    /// Exact integrals of close pairs (rows done of all rows), preconditioner.
    NearField,
    /// GMRES iterations.
    Solve,
}

/// How a caller follows and stops a solve.
pub trait Progress: Sync {
    /// Called as work advances; `total` 0 = unknown. Returns false to stop, which ends in
    /// [`Error::Interrupted`].
    fn advance(&self, stage: Stage, done: u64, total: u64) -> bool;
    /// Called after each GMRES iteration with the largest relative residual of the columns still
    /// running.
    fn residual(&self, _iteration: usize, _relative: f64) {}
    /// Where answers are kept while iterations look for them, if they are.
    fn keeper(&self) -> Option<&dyn Keeper> {
        None
    }
}

/// Keeps answers, so that a solve that is cut short can go on from them.
///
/// Equations are known by a number, which the same problem has whenever it is solved. What
/// [`known`](Self::known) gives is where iterations start: it may be of any quality, since
/// residuals are always taken anew. With [`SolveOptions::ranks`] the first rank's is asked, and
/// each that has one keeps whole answers. Dense solves keep nothing.
pub trait Keeper: Sync {
    /// The answer to these equations that was kept last.
    fn known(&self, equations: u64) -> Option<Vec<f64>>;
    /// Whether answers so far are to be kept; asked after each iteration. They are kept in any case
    /// when they are through, and when [`Progress::advance`] stops the solve.
    fn is_due(&self) -> bool;
    /// Takes an answer, in place of an earlier one to the same equations.
    fn keep(&self, equations: u64, answer: Vec<f64>);
}

/// No progress, never stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn advance(&self, _: Stage, _: u64, _: u64) -> bool {
        true
    }
}

/// One excitation: conductor `excitation` at potential 1, the others at 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Solve {
    /// Index of the conductor at potential 1.
    pub excitation: usize,
    /// Matvecs taken.
    pub iterations: usize,
    /// Why it stopped.
    pub reason: StopReason,
    /// True residual at the end, relative to the excitation's potential: the largest over the
    /// conductors of the root mean square over the conductor's area of b - A x, where b is 1 on the
    /// excited conductor and 0 on the others.
    pub relative_residual: f64,
    /// Relative residual after each iteration, beginning with 1: the root of the sum over the
    /// conductors of those squares.
    pub history: Vec<f64>,
}

/// Wall seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timings {
    /// Tree, lists, tables.
    pub plan: f64,
    /// Close pairs and preconditioner.
    pub near_field: f64,
    /// Iterations.
    pub solve: f64,
    /// Direct sums that the fast sum's error is measured against.
    pub fmm_check: f64,
    /// Mean of one matvec over all its densities.
    pub matvec_mean: f64,
}
