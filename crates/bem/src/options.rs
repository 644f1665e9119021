//! Options, progress callbacks and reports of a solve.

use std::fmt;
use std::sync::Arc;

use comm::Group;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::collective;
use crate::constants::{MAX_ITERATIONS, RESTART, TOLERANCE};
use crate::solve::gmres::StopReason;
use crate::space::Density;

/// Dense or fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Whichever is faster by the cost model.
    #[default]
    Auto,
    /// Dense Galerkin matrix, factorised.
    Dense,
    /// GMRES over the FMM with near-field correction.
    Fmm,
}

::options::options! {
    /// Options of a solve.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SolveOptions {
        /// Dense or fast.
        method: Method = Method::Auto,
        /// How densities may vary over triangles.
        density: Density = Density::Constant,
        /// Relative residual of each conductor's rows in the area-scaled norm.
        tolerance: f64 = TOLERANCE,
        /// Relative L2 error of the FMM; `None` derives it from the solver's tolerance.
        fmm_tolerance: Option<f64> = None,
        /// Whether products of GMRES may become less exact as the residual falls; never on a GPU.
        relax: bool = true,
        /// Krylov vectors before GMRES restarts.
        restart: usize = RESTART,
        /// Iterations after which a solve stops unconverged.
        max_iterations: usize = MAX_ITERATIONS,
        /// Orders added to every quadrature rule (0 = as the accuracy requires), to check that
        /// quadrature does not limit C.
        quadrature_increment: usize = 0,
        /// Bytes the solve may use; `None` = no limit.
        memory_limit: Option<u64> = None,
        /// Where the FMM runs.
        backend: fmm::Backend = fmm::Backend::default(),
        /// Which GPU, counted from 0.
        gpu: usize = 0,
        /// Whether results must be identical to the bit each time, on the same machine, with the
        /// same number of threads and ranks. Sums then run on CPU cores, where they always are, and
        /// asking for a GPU is an error. Sums over `ranks` must be in rank order, as those of
        /// [`comm::InOrder`] are.
        deterministic: bool = false,
        /// Ranks that share every solve; by default this process alone.
        ranks: Ranks = Ranks::default(),
    }
}

/// This rank's end of a group that shares solves: each rank has a part of the panels with their
/// near field, and every rank has the whole problem and gets the whole answer. All ranks must call
/// the same solve functions, with the same problem and options except for the GPU.
///
/// Answers equal those of one process to the tolerance, and are the same on all ranks. Dense solves
/// are not shared: each rank does them.
#[derive(Clone)]
pub struct Ranks(pub Group);

impl Default for Ranks {
    /// A group of one.
    fn default() -> Self {
        Self(comm::alone())
    }
}

impl Ranks {
    /// Whether there is only one.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.0.size() == 1
    }

    /// A rank's own result, or an error if another rank failed. Collective.
    ///
    /// # Errors
    /// The rank's own error, or that of the other rank.
    pub fn agreed<T, E: From<Error> + ToString>(&self, own: Result<T, E>) -> Result<T, E> {
        collective::agreed(&*self.0, own)
    }

    /// The value of the first rank, regardless of those of the others. Collective.
    ///
    /// # Errors
    /// [`Error::Fmm`] if communication fails, or what is received is no such value.
    pub fn of_first<T: DeserializeOwned>(
        &self,
        own: &(impl Serialize + ?Sized),
    ) -> Result<T, Error> {
        collective::of_first(&*self.0, own)
    }
}

impl fmt::Debug for Ranks {
    /// The rank and the number of ranks, which are the same in each run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.0.rank(), self.0.size())
    }
}

impl PartialEq for Ranks {
    /// Whether they are the same end of the same group, or both groups of one.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.is_alone() && other.is_alone())
    }
}

impl SolveOptions {
    /// Where fast sums run.
    pub(crate) fn effective_backend(&self) -> Result<fmm::Backend, Error> {
        if self.deterministic { Ok(self.backend.deterministic()?) } else { Ok(self.backend) }
    }

    /// The ranks that share solves.
    pub(crate) fn group(&self) -> Group {
        Group::clone(&self.ranks.0)
    }
}

/// Stages of a solve, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Tree, lists, tables.
    Plan,
    /// Exact integrals of close pairs (finished rows of all rows), preconditioner.
    NearField,
    /// GMRES iterations.
    Solve,
}

/// Lets a caller follow and stop a solve.
pub trait Progress: Sync {
    /// Called as work advances; `total` 0 = unknown. Returning false stops the solve with
    /// [`Error::Interrupted`].
    fn advance(&self, stage: Stage, done: u64, total: u64) -> bool;
    /// Called after each GMRES iteration with the largest relative residual of the columns still
    /// running.
    fn residual(&self, _iteration: usize, _relative: f64) {}
    /// Storage for intermediate answers, if any.
    fn checkpoint_store(&self) -> Option<&dyn CheckpointStore> {
        None
    }
}

/// Stores answers, so that an interrupted solve can continue from them.
///
/// A number identifies the equations; the same problem always has the same one. Iterations start
/// from the result of [`load`](Self::load), which may be of any quality, since residuals are
/// always recomputed. With [`SolveOptions::ranks`] only the first rank loads answers, and every
/// rank that has a store stores whole answers. Dense solves store nothing.
pub trait CheckpointStore: Sync {
    /// The last answer stored for these equations.
    fn load(&self, equations: u64) -> Option<Vec<f64>>;
    /// Whether answers so far should be stored; asked after each iteration. They are always stored
    /// when they are finished, and when [`Progress::advance`] stops the solve.
    fn is_due(&self) -> bool;
    /// Stores an answer and replaces an earlier one for the same equations.
    fn store(&self, equations: u64, answer: Vec<f64>);
}

/// No progress, never stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn advance(&self, _: Stage, _: u64, _: u64) -> bool {
        true
    }
}

/// One excitation: conductor `excitation` at potential 1, the others at 0.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Solve {
    /// Index of the conductor at potential 1.
    pub excitation: usize,
    /// Matrix-vector products.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Timings {
    /// Tree, lists, tables.
    pub plan: f64,
    /// Close pairs and preconditioner.
    pub near_field: f64,
    /// Iterations.
    pub solve: f64,
    /// Direct sums for measuring the fast sum's error.
    pub fmm_check: f64,
    /// Mean time of one matrix-vector product over all its densities.
    pub matvec_mean: f64,
}
