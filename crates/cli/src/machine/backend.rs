//! Where the sums are computed, and on how many threads.

use std::num::NonZeroUsize;
use std::thread::JoinHandle;

use fmm::Backend;

use crate::case::Case;
use crate::machine::ranks::Ranks;
use crate::machine::system;
use crate::terminal::exit::{Exit, Failure};
use crate::words::{Word as _, parser, words};

words!(Backend {
    "auto" = Self::Auto,
    "cpu" = Self::Cpu,
    "hybrid" = Self::Hybrid,
    "cuda" = Self::Cuda,
});

/// Options of every command that sums.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(id = "place")]
pub(crate) struct Args {
    /// Where to compute
    #[arg(long, default_value = "auto", value_parser = parser::<Backend>(&[
        "The fastest there is",
        "CPU cores",
        "CPU cores and a GPU at once",
        "A GPU",
    ]))]
    pub(crate) backend: Backend,
    /// Which GPU, as `farad info` numbers them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) gpu: usize,
    /// The same results to the bit each time, on the same machine with as many threads: on CPU
    /// cores, since sums on GPUs are added in whatever order they come
    #[arg(long)]
    pub(crate) deterministic: bool,
}

/// Where a plan computes; a dense solve has none.
pub(crate) fn of_plan(info: Option<&fmm::Info>) -> Backend {
    match info.map(|info| info.backend) {
        Some(backend @ (Backend::Cuda | Backend::Hybrid)) => backend,
        _ => Backend::Cpu,
    }
}

/// How many GPUs take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gpus {
    All,
    Count(NonZeroUsize),
}

impl Gpus {
    /// How many that is here.
    pub(crate) fn count(self) -> Result<usize, Failure> {
        let missing = |why: String| {
            Failure::with_help(Exit::NoGpu, why, "use --backend cpu, or fewer with --gpus")
        };
        let there = fmm::gpus().map_err(|error| missing(format!("no GPU for --gpus: {error}")))?;
        match self {
            Self::Count(count) if count.get() > there.len() => {
                Err(missing(format!("--gpus {count} of {}", there.len())))
            }
            Self::Count(count) => Ok(count.get()),
            Self::All if there.is_empty() => Err(missing("no GPU for --gpus all".to_owned())),
            Self::All => Ok(there.len()),
        }
    }
}

impl Args {
    /// The backend of a rank, which takes a GPU of its own while there are enough.
    pub(crate) fn of_rank(self, ranks: &Ranks) -> Self {
        let [rank, here] = ranks.here();
        let count = if here > 1 { fmm::gpus().map_or(0, |all| all.len()) } else { 0 };
        let gpu = if count > 0 { (self.gpu + rank) % count } else { self.gpu };
        let backend = match self.backend {
            Backend::Auto if ranks.are_threads() => Backend::Cuda,
            backend => backend,
        };
        Self { backend, gpu, ..self }
    }

    /// The backend; a GPU that the user chose must exist.
    pub(crate) fn resolve(self) -> Result<Backend, Failure> {
        if self.deterministic {
            let wanted = match self.backend {
                Backend::Auto => Backend::Cpu,
                backend => backend,
            };
            return wanted.deterministic().map_err(|error| {
                let help = "leave --backend out, or one of --deterministic and the GPU";
                Failure::with_help(Exit::Usage, format!("--deterministic: {error}"), help)
            });
        }
        match self.backend {
            Backend::Auto | Backend::Cpu => Ok(self.backend),
            Backend::Hybrid | Backend::Cuda => {
                fmm::check_gpu(self.gpu).map_err(|error| self.missing(error))?;
                Ok(self.backend)
            }
        }
    }

    fn missing(self, why: impl std::fmt::Display) -> Failure {
        Failure::with_help(
            Exit::NoGpu,
            format!("no GPU for --backend {}: {why}", self.backend.word()),
            "use --backend auto or --backend cpu",
        )
    }
}

/// Mesh files of fewer bytes hold too few triangles for a GPU to be worth opening.
const LARGE_MESH: u64 = 1 << 19;

/// A GPU that is being opened. The program does not end before: its exit would tear the driver down
/// meanwhile.
pub(crate) struct Opening(Option<JoinHandle<()>>);

impl Args {
    /// Opens the GPU, if one may be used for this case, while the mesh is read: that takes some
    /// tenths of a second.
    pub(crate) fn open_early(self, case: &Case) -> Opening {
        let size = |file| std::fs::metadata(file).map_or(0, |found| found.len());
        // An atom is of some twenty triangles, as many bytes of a mesh as ten of its own line.
        let of_molecules = case.molecules.iter().map(|molecule| 10 * size(&molecule.file));
        let read = case.mesh.as_ref().map_or(0, size);
        let is_large = || read + of_molecules.sum::<u64>() >= LARGE_MESH;
        let wanted = self.backend == Backend::Auto && !self.deterministic && is_large();
        let (interfaces, planes) =
            (!case.description.dielectrics.is_empty(), !case.description.planes.is_empty());
        let options = case.options.clone().gpu(self.gpu);
        // Without one, the plan says so.
        let open = move || drop(bem::internals::warm_up(&options, interfaces, planes));
        Opening(wanted.then(|| std::thread::spawn(open)))
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // It cannot panic, and its result does not matter.
            let _ = thread.join();
        }
    }
}

/// Sets the number of threads: the given one, or that of the environment, but no more than the
/// machine has. To be called once, before any work. Returns a note for the user.
pub(crate) fn use_threads(asked: Option<NonZeroUsize>) -> Result<Option<String>, Failure> {
    use_threads_among(1, asked, true)
}

/// As [`use_threads`] on a rank. Ranks that are threads have all processors in common: the first
/// sets them up.
pub(crate) fn use_threads_of(
    ranks: &Ranks,
    asked: Option<NonZeroUsize>,
) -> Result<Option<String>, Failure> {
    match ranks.are_threads() {
        true if !ranks.is_first() => Ok(None),
        true => use_threads_among(1, asked, false),
        false => use_threads_among(ranks.here()[1], asked, true),
    }
}

/// As [`use_threads`], where this many processes share the machine: each has its part, unless it
/// was given processors of its own. If the calling thread `takes_part`, it is one of these threads
/// where there are others: its loops begin at once, without waking and waiting for another thread.
fn use_threads_among(
    processes: usize,
    asked: Option<NonZeroUsize>,
    takes_part: bool,
) -> Result<Option<String>, Failure> {
    let available = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let is_bound = system::processors().is_some_and(|all| available < all);
    let most = if is_bound { available } else { available.div_ceil(processes) };
    let environment = || std::env::var("RAYON_NUM_THREADS").ok()?.parse::<NonZeroUsize>().ok();
    let wanted = asked.or_else(environment).map_or(most, NonZeroUsize::get);
    let count = wanted.min(most);
    let threads = rayon::ThreadPoolBuilder::new().num_threads(count);
    // Alone, it would serve no other thread that has a loop to run.
    let threads = if takes_part && count > 1 { threads.use_current_thread() } else { threads };
    threads.build_global().map_err(|error| {
        Failure::with_help(
            Exit::Memory,
            format!("cannot start {count} threads: {error}"),
            "ask for fewer with --threads, or with RAYON_NUM_THREADS in the environment",
        )
    })?;
    let more = wanted > count;
    Ok(more.then(|| format!("{wanted} threads were asked for; {count} are used, as many as this process may run at once")))
}
