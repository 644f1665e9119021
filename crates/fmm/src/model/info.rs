//! What a plan resolved to.

use cuda::Precision;

use super::options::{Backend, Mode};

/// What a plan resolved to.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// Floating-point format of expansions and sums.
    pub precision: Option<Precision>,
    /// Floating-point format of near pairs, but for those too close for it.
    pub near_precision: Option<Precision>,
    /// How the sum is done: never `Auto`.
    pub mode: Mode,
    /// Where it is computed: never `Auto`.
    pub backend: Backend,
    /// Why `Backend::Auto` took the CPU, if not because the sum is small.
    pub fallback: Option<String>,
    /// What a GPU has to tell.
    pub gpu: Option<GpuInfo>,
    /// Largest truncation number of any expansion.
    pub truncation_number: usize,
    /// Mean truncation number p' over all M2L translations.
    pub mean_truncation_number: f64,
    /// Most points a leaf may hold.
    pub leaf_size: usize,
    /// Deepest level of the octree; the root is level 0.
    pub depth: usize,
    /// M2L translations of one `apply` with one density.
    pub m2l_count: u64,
    /// M2L translations per target box that receives any.
    pub m2l_per_box: f64,
    /// Multipole expansions that a treecode evaluates, each at one target.
    pub m2p_count: u64,
    /// Source-target pairs that P2P sums.
    pub p2p_pairs: u64,
    /// Seconds that `Plan::new` took.
    pub setup_seconds: f64,
    /// Bytes that the plan holds.
    pub memory_bytes: u64,
}

/// What a plan on a GPU has to report with the rest.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GpuInfo {
    /// The vendor's name of the GPU.
    pub name: String,
    /// Its number.
    pub index: usize,
    /// Seconds from points on the device to the finished tree and lists.
    pub tree_seconds: f64,
    /// Multiplications and additions of all M2L of one `apply` with one density.
    pub m2l_operations: f64,
    /// Pairs too close for coordinates relative to their leaves, summed apart.
    pub close_pairs: u64,
    /// Boxes of the octree.
    pub boxes: u64,
    /// Bytes of the GPU's memory that planning held at most; `Info::memory_bytes` are those that
    /// the plan keeps.
    pub planning_bytes: u64,
}
