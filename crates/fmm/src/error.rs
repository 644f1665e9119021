//! What can be wrong with a sum that was asked for.

/// Why a plan could not be made or applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A coordinate is NaN or infinite.
    #[error("{what} {index} has a coordinate that is not a finite number: {point:?}")]
    NotFinite {
        /// "source" or "target".
        what: &'static str,
        /// Index of the point in the caller's order.
        index: usize,
        /// The point.
        point: [f64; 3],
    },
    /// An array's length does not match the plan.
    #[error("{what} has {found} values, expected {expected}")]
    Length {
        /// Name of the array.
        what: &'static str,
        /// Values that the plan calls for.
        expected: usize,
        /// Values that were passed.
        found: usize,
    },
    /// An option is outside its range.
    #[error("{option} = {value} is out of range: {allowed}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// The requested value.
        value: String,
        /// What is possible.
        allowed: &'static str,
    },
    /// The instruction set that the environment asks for does not exist, or the processor lacks it.
    #[error(transparent)]
    Simd(#[from] simd::Error),
    /// `apply` was asked for something that the plan was not made for.
    #[error("this plan was made without {what}; set Options::{what} before Plan::new")]
    NotPlanned {
        /// "gradient" or "dipoles".
        what: &'static str,
    },
    /// The GPU is missing, or failed.
    #[error(transparent)]
    Gpu(#[from] cuda::Error),
    /// A plan with its sums does not fit into a GPU's memory; nothing has been allocated.
    #[error(
        "the sum does not fit on GPU {gpu}: about {} are needed, {} are free{}",
        cuda::in_units(*needed),
        cuda::in_units(*free),
        gpus.map_or_else(String::new, |gpus| format!("; it would on {gpus} such GPUs"))
    )]
    GpuMemory {
        /// Number of the GPU.
        gpu: usize,
        /// Bytes that planning, or the plan and its sums, take at most, about.
        needed: u64,
        /// Bytes free.
        free: u64,
        /// How many such GPUs would do, each with its share of the points; none if no number is
        /// known.
        gpus: Option<usize>,
    },
    /// Points so close together, seen from the others, that boxes of a GPU's octree do not part
    /// them.
    #[error(
        "the points are in clusters that are tiny compared with their distance, or many of them coincide: a GPU, whose octree cannot separate them, would list more than {pairs} close pairs one by one; use the cpu backend, which gives such clusters octrees of their own"
    )]
    GpuCrowds {
        /// Close pairs that a list may hold for this number of points.
        pairs: u64,
    },
    /// Another rank has failed, or messages between ranks.
    #[error(transparent)]
    Ranks(#[from] comm::Error),
    /// Ranks that should be given the same were given different things.
    #[error("ranks differ in their {what}: rank 0 has {first}, rank {rank} has {other}")]
    RanksDiffer {
        /// What should be the same.
        what: &'static str,
        /// The first rank that differs from rank 0.
        rank: usize,
        /// What rank 0 has.
        first: String,
        /// What that rank has.
        other: String,
    },
    /// Results that are the same to the bit each time, from a GPU.
    #[error(
        "sums of the {backend} backend differ in their last digits from run to run, since threads of a GPU add to common sums in whatever order they come; deterministic results need the cpu backend"
    )]
    NotDeterministic {
        /// "cuda" or "hybrid".
        backend: &'static str,
    },
    /// [`Options::stop`](crate::Options::stop) was set; what has been written is no sum.
    #[error("the sum was interrupted")]
    Interrupted,
    /// More points than 32-bit indices can address.
    #[error("{count} {what}s are more than the {limit} that one plan can hold")]
    TooMany {
        /// "source" or "target".
        what: &'static str,
        /// Points passed.
        count: usize,
        /// The limit.
        limit: usize,
    },
}
