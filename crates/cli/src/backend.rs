//! Where the sums are computed, and on how many threads.

use std::num::NonZeroUsize;

use crate::exit::{Exit, Failure};

/// Why there is no GPU to use.
pub(crate) const NO_GPU: &str = "this version of farad computes on the CPU only";

/// What the user may ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Backend {
    /// The fastest there is
    #[default]
    Auto,
    /// CPU cores
    Cpu,
    /// CPU cores and a GPU at once
    Hybrid,
    /// A GPU
    Cuda,
}

impl Backend {
    /// The name in options and results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Hybrid => "hybrid",
            Self::Cuda => "cuda",
        }
    }

    /// The backend that will do the work.
    pub(crate) fn resolve(self) -> Result<Self, Failure> {
        match self {
            Self::Auto | Self::Cpu => Ok(Self::Cpu),
            Self::Hybrid | Self::Cuda => Err(Failure::with_help(
                Exit::NoGpu,
                format!("no GPU for --backend {}: {NO_GPU}", self.name()),
                "use --backend auto or --backend cpu",
            )),
        }
    }
}

/// Sets the number of threads, all cores by default. To be called once, before any work.
pub(crate) fn use_threads(count: Option<NonZeroUsize>) -> Result<(), Failure> {
    let Some(count) = count else { return Ok(()) };
    rayon::ThreadPoolBuilder::new().num_threads(count.get()).build_global().map_err(|error| {
        Failure::with_help(
            Exit::Memory,
            format!("cannot start {count} threads: {error}"),
            "ask for fewer with --threads",
        )
    })
}
