//! Ranks: processes of this program that a launcher like `mpirun` started together, or threads of
//! one, each with a GPU.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use comm::{Group, InOrder, Operation};

use crate::terminal::exit::{Exit, Failure};

/// Names of the environment variables by which launchers tell a process how many they started, and
/// which of them it is: Open MPI; MPICH, Intel MPI and others with a process manager; MVAPICH;
/// SLURM with PMIx.
const LAUNCHERS: [[&str; 2]; 4] = [
    ["OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"],
    ["PMI_SIZE", "PMI_RANK"],
    ["MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"],
    ["SLURM_STEP_NUM_TASKS", "PMIX_RANK"],
];

/// How many processes a launcher started together, and which of them this is; none if this one was
/// started alone.
fn launched() -> Option<[usize; 2]> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
    let of = |[size, rank]: [&str; 2]| Some([number(size)?, number(rank)?]);
    LAUNCHERS.into_iter().find_map(of).filter(|[size, _]| *size > 1)
}

/// Refuses to run a command that is for one process in several: all would write the same files.
pub(crate) fn refuse(command: &str) -> Result<(), Failure> {
    match launched() {
        None => Ok(()),
        Some([size, rank]) => Err(once(
            rank,
            Failure::with_help(
                Exit::Usage,
                format!(
                    "{size} processes of farad {command} were started together, but it runs in one"
                ),
                "start one with mpirun -n 1; farad solve, study, sweep, batch, fmm bench and fmm eval run in several",
            ),
        )),
    }
}

/// Time in which the first rank tells why all fail, where they cannot pass messages.
const TELLING: Duration = Duration::from_millis(500);

/// A failure of all ranks, shown by the first. The others wait a little: a launcher kills all as
/// soon as one ends.
fn once(rank: usize, failure: Failure) -> Failure {
    if rank == 0 {
        return failure;
    }
    std::thread::sleep(TELLING);
    Failure { report: None, ..failure }
}

/// All processes that were started together, threads of this one, or this one alone, which is a
/// group of one.
#[derive(Debug)]
pub(crate) struct Ranks {
    group: Group,
    members: Members,
}

#[derive(Debug)]
enum Members {
    Alone,
    #[cfg(feature = "mpi")]
    Processes(Arc<processes::World>),
    /// One for each GPU.
    Threads,
}

impl Ranks {
    /// Runs `work` on all processes that were started together, or on `threads` of this one, and
    /// returns what it makes of the first. Sums of processes are added `in_order` if asked for.
    pub(crate) fn run<R: Send>(
        threads: Option<usize>,
        in_order: bool,
        work: impl Fn(&Ranks) -> Result<R, Failure> + Sync,
    ) -> Result<R, Failure> {
        let mut ranks = Ranks::join()?;
        if in_order {
            ranks.group = Arc::new(InOrder(ranks.group));
        }
        let Some(threads) = threads else { return work(&ranks) };
        if ranks.size() > 1 {
            return ranks.agree(Err(Failure::with_help(
                Exit::Usage,
                "--gpus is for one process, and several were started together",
                "start one without mpirun, or leave --gpus out: each process takes a GPU",
            )));
        }
        let all = comm::run(threads, |group| {
            work(&Ranks { group: Group::clone(group), members: Members::Threads })
        });
        let mut first = None;
        for result in all {
            match result {
                // The rank that says why.
                Err(failure) if failure.report.is_some() => return Err(failure),
                result => first = first.or(Some(result)),
            }
        }
        first.unwrap_or_else(|| Err(Failure::new(Exit::Usage, "no GPU was asked for")))
    }

    /// This process, whatever others there are.
    pub(crate) fn alone() -> Self {
        Self { group: comm::alone(), members: Members::Alone }
    }

    /// Meets the others, if there are any.
    pub(crate) fn join() -> Result<Self, Failure> {
        match launched() {
            None => Ok(Self::alone()),
            Some(launched) => Self::meet(launched),
        }
    }

    #[cfg(feature = "mpi")]
    fn meet([size, rank]: [usize; 2]) -> Result<Self, Failure> {
        let world = processes::World::start();
        let world = world.map_err(|error| once(rank, Failure::new(Exit::Usage, error)))?;
        let world = Arc::new(world);
        let group: Group = Arc::<processes::World>::clone(&world);
        // Each would do all of the work, and write the same files.
        if group.size() != size {
            let known = group.size();
            return Err(once(
                rank,
                Failure::with_help(
                    Exit::Usage,
                    format!(
                        "{size} processes were started together, but MPI knows of {known} in this one"
                    ),
                    "start them with the mpirun of the MPI library that farad was built with, or another \
                     srun --mpi (srun --mpi=list has them all)",
                ),
            ));
        }
        let ranks = Self { group, members: Members::Processes(world) };
        // Programs that differ would wait for each other's messages.
        let version = concat!("farad ", env!("CARGO_PKG_VERSION"));
        let versions = ranks.gather(version.as_bytes())?;
        let other = versions.iter().position(|other| *other != versions[0]);
        ranks.agree(match other {
            Some(rank) if rank == ranks.rank() => Err(Failure::new(
                Exit::Usage,
                format!("this is {version}, rank 0 is {}", String::from_utf8_lossy(&versions[0])),
            )),
            _ => Ok(()),
        })?;
        Ok(ranks)
    }

    #[cfg(not(feature = "mpi"))]
    fn meet([size, rank]: [usize; 2]) -> Result<Self, Failure> {
        Err(once(
            rank,
            Failure::with_help(
                Exit::Usage,
                format!(
                    "{size} processes were started together, but this farad is built without MPI"
                ),
                "build it with cargo build --release --features mpi, or start one process",
            ),
        ))
    }

    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    pub(crate) fn rank(&self) -> usize {
        self.group.rank()
    }

    pub(crate) fn size(&self) -> usize {
        self.group.size()
    }

    /// Whether this one reads, writes and reports.
    pub(crate) fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// Whether they are threads of this process.
    pub(crate) fn are_threads(&self) -> bool {
        matches!(self.members, Members::Threads)
    }

    /// This one's number among those that share this machine, and how many do.
    pub(crate) fn here(&self) -> [usize; 2] {
        match &self.members {
            Members::Alone => [0, 1],
            #[cfg(feature = "mpi")]
            Members::Processes(world) => [world.local_rank(), world.local_size()],
            Members::Threads => [self.rank(), self.size()],
        }
    }

    /// A failure with the name of this rank, where there are others.
    fn named(&self, failure: Failure) -> Failure {
        match &self.members {
            Members::Alone => failure,
            #[cfg(feature = "mpi")]
            Members::Processes(world) => {
                failure.of(&format!("rank {} on {}", self.rank(), world.host()))
            }
            Members::Threads => failure.of(&format!("GPU {}", self.rank())),
        }
    }

    /// How messages pass between ranks.
    pub(crate) fn messages(&self) -> &'static str {
        match &self.members {
            Members::Alone => "none",
            #[cfg(feature = "mpi")]
            Members::Processes(_) => "MPI",
            Members::Threads => "threads",
        }
    }

    /// A rank's own result, unless one failed: then all end with the exit code of the first that
    /// did, which alone tells why. Collective.
    pub(crate) fn agree<T>(&self, own: Result<T, Failure>) -> Result<T, Failure> {
        // A failure that a rank only knows from another is no cause.
        let code = match &own {
            Ok(_) => [Exit::Success as u8, 0],
            Err(failure) => [failure.exit as u8, u8::from(failure.report.is_some())],
        };
        let codes = self.group.all_gather(&code).map_err(|error| self.lost(error))?;
        let cause = codes.iter().position(|code| code[1] == 1);
        let failed = || codes.iter().position(|code| code[0] != Exit::Success as u8);
        let Some(first) = cause.or_else(failed) else { return own };
        Err(self.reported(match own {
            Err(failure) if first == self.rank() => self.named(failure),
            _ => Failure { exit: Exit::of_code(codes[first][0]), report: None },
        }))
    }

    /// The value that the first rank alone makes; `None` on others. Collective.
    pub(crate) fn on_first<T>(
        &self,
        make: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        self.agree(self.is_first().then(make).transpose())
    }

    /// A value that all ranks make from the same files. Ranks of one process have it together: the
    /// first of them makes it. Collective.
    pub(crate) fn once<T: Send + Sync + 'static>(
        &self,
        make: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<Arc<T>, Failure> {
        self.agree(match comm::try_once(&*self.group, make) {
            Ok(Ok(made)) => Ok(made),
            Ok(Err(Some(failure))) => Err(failure),
            // It ends with the code of the rank that failed.
            Ok(Err(None)) => Err(Failure { exit: Exit::Usage, report: None }),
            Err(error) => Err(self.lost(error)),
        })
    }

    /// Has the process that knows why all fail report it before any of them ends: a launcher kills
    /// the others as soon as one does. Collective.
    fn reported(&self, failure: Failure) -> Failure {
        if matches!(self.members, Members::Alone | Members::Threads) {
            return failure;
        }
        if failure.report.is_some() {
            crate::show(&failure);
        }
        // They end in any case.
        let _ = self.group.all_gather(&[]);
        Failure { report: None, ..failure }
    }

    /// A step that the first rank does for all, or whose outcome is the same on all: its failure is
    /// no rank's own fault, and all have its exit code. Collective.
    pub(crate) fn conclude(
        &self,
        of_first: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let ended = if self.is_first() { of_first() } else { Ok(()) };
        let exit = ended.as_ref().map_or_else(|failure| failure.exit, |()| Exit::Success);
        let codes = self.gather(&[exit as u8])?;
        match Exit::of_code(codes[0][0]) {
            Exit::Success => ended,
            exit => Err(self.reported(ended.err().unwrap_or(Failure { exit, report: None }))),
        }
    }

    /// A failure where a rank's `own` number of what it works on is not that of rank 0.
    /// Collective.
    pub(crate) fn check_same(&self, what: &str, own: u64) -> Result<(), Failure> {
        let all = self.gather(&[own])?;
        self.agree(if all[0][0] == own {
            Ok(())
        } else {
            let message = format!("{what} here is not that of rank 0");
            let help = "all ranks must read the same files, with the same options";
            Err(Failure::with_help(Exit::BadInput, message, help))
        })
    }

    /// A text of rank 0, which has one, for all. Collective.
    pub(crate) fn of_first(&self, own: Option<&str>) -> Result<String, Failure> {
        let all = self.gather(own.unwrap_or_default().as_bytes())?;
        Ok(all.first().map_or_else(String::new, |text| String::from_utf8_lossy(text).into_owned()))
    }

    /// The sums of numbers of all ranks, place by place. Collective.
    pub(crate) fn sum(&self, values: &mut [f64]) -> Result<(), Failure> {
        self.reduce(values, Operation::Sum)
    }

    /// The largest of the numbers of all ranks, place by place. Collective.
    pub(crate) fn max(&self, values: &mut [f64]) -> Result<(), Failure> {
        self.reduce(values, Operation::Max)
    }

    fn reduce(&self, values: &mut [f64], operation: Operation) -> Result<(), Failure> {
        self.group.all_reduce(values, operation).map_err(|error| self.lost(error))
    }

    /// The arrays of all ranks. Collective.
    pub(crate) fn gather<T: comm::Pod>(&self, own: &[T]) -> Result<Vec<Vec<T>>, Failure> {
        comm::all_gather(&*self.group, own).map_err(|error| self.lost(error))
    }

    /// Messages do not pass any more: others may wait for this one forever, so all are ended.
    fn lost(&self, error: impl Display) -> Failure {
        let failure = self.named(Failure::new(Exit::Io, error));
        #[cfg(feature = "mpi")]
        if let Members::Processes(world) = &self.members {
            crate::terminal::output::failure(&failure);
            world.abort(Exit::Io as i32);
        }
        failure
    }
}
