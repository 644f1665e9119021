//! What a plan on several ranks resolved to.

use super::work::StageWork;

/// What a plan on several ranks resolved to, beyond [`Info`](crate::Info); the same on all ranks
/// but for what is said to be this one's.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RankInfo {
    /// Ranks.
    pub ranks: usize,
    /// Sources and targets of this rank.
    pub points: [u64; 2],
    /// Subtrees that are distributed.
    pub grains: usize,
    /// Sources of other ranks near this one's targets.
    pub halo_sources: u64,
    /// Multipole expansions that this rank gets from others.
    pub halo_multipoles: u64,
    /// Bytes that this rank sends for every density, without those that bring strengths to where
    /// they are summed, and sums back.
    pub bytes_sent: u64,
    /// Largest work of any rank over the mean of all, by the cost model.
    pub imbalance: f64,
    /// Where the GPUs of several ranks translate: whether expansions go from GPU to GPU by peer
    /// copies, not through the host's memory.
    pub between_gpus: Option<bool>,
    /// Work of each stage on this rank, by the cost model; without boxes above the distributed
    /// parts.
    pub work: StageWork,
}
