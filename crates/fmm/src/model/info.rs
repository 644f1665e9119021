//! What a plan resolved to.

use super::options::{Backend, Mode, Precision};
use crate::GpuInfo;

/// What a plan resolved to.
#[derive(Clone, Debug, Default, PartialEq)]
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
