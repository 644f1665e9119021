//! Joint report of the ranks that share a sum.

use fmm::distributed::{self, RankInfo};
use fmm::{Info, Span, StageSeconds};
use serde::Serialize;

use crate::machine::ranks::Ranks;
use crate::terminal::exit::Failure;

/// How ranks share a sum; of what they differ in the largest.
#[derive(Clone, Debug, Serialize)]
pub(super) struct OnRanks {
    pub(super) count: usize,
    /// How messages pass: "MPI" or "threads", through the memory of the host.
    pub(super) messages: &'static str,
    /// How expansions go from GPU to GPU, where these translate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exchange: Option<&'static str>,
    /// Largest work over the mean, by the cost model.
    pub(super) imbalance: f64,
    /// Sources and targets that a rank computes with.
    pub(super) points: [u64; 2],
    /// Parts of the octree that are distributed.
    pub(super) grains: usize,
    /// Sources and multipole expansions that a rank gets from others.
    pub(super) halo_sources: u64,
    pub(super) halo_multipoles: u64,
    /// Sent by one in the sum of one density.
    pub(super) bytes_sent: u64,
    /// Seconds that bring strengths to the ranks that hold the points, and sums back, of the last
    /// sum.
    pub(super) routes_s: f64,
}

impl OnRanks {
    /// The report of all ranks. Collective.
    pub(super) fn of(own: &RankInfo, timeline: &[Span], ranks: &Ranks) -> Result<Self, Failure> {
        let RankInfo { points, halo_sources, halo_multipoles, bytes_sent, .. } = *own;
        let exchange = own.between_gpus.map(|between| match between {
            true => "peer copies between GPUs",
            false => "through the host",
        });
        let routes =
            |span: &&Span| [distributed::STRENGTHS, distributed::SUMS].contains(&span.stage);
        let mut routes_s =
            [timeline.iter().filter(routes).map(|span| span.end - span.begin).sum::<f64>()];
        ranks.max(&mut routes_s)?;
        let mut most =
            [points[0], points[1], halo_sources, halo_multipoles, bytes_sent].map(|n| n as f64);
        ranks.max(&mut most)?;
        let [sources, targets, halo_sources, halo_multipoles, bytes_sent] =
            most.map(|most| most as u64);
        Ok(Self {
            count: own.ranks,
            messages: ranks.messages(),
            exchange,
            imbalance: own.imbalance,
            points: [sources, targets],
            grains: own.grains,
            halo_sources,
            halo_multipoles,
            bytes_sent,
            routes_s: routes_s[0],
        })
    }
}

/// The times of the slowest rank, stage by stage. Collective.
pub(super) fn slowest(own: &StageSeconds, ranks: &Ranks) -> Result<StageSeconds, Failure> {
    let mut slowest = *own;
    let mut seconds = slowest.each_mut().map(|seconds| *seconds);
    ranks.max(&mut seconds)?;
    for (stage, seconds) in slowest.each_mut().into_iter().zip(seconds) {
        *stage = seconds;
    }
    Ok(slowest)
}

/// Report on the plans of all ranks together. Collective.
pub(super) fn of_all(own: &Info, ranks: &Ranks) -> Result<Info, Failure> {
    let receivers = |count: f64, each: f64| if each > 0.0 { count / each } else { 0.0 };
    let m2l = own.m2l_count as f64;
    let counts = [own.p2p_pairs, own.m2p_count, own.memory_bytes].map(|count| count as f64);
    let mut sums = [m2l, receivers(m2l, own.m2l_per_box), counts[0], counts[1], counts[2]];
    let mut most = [own.depth as f64, own.setup_seconds, own.truncation_number as f64];
    ranks.sum(&mut sums)?;
    ranks.max(&mut most)?;
    let [m2l, receivers, p2p_pairs, m2p_count, memory_bytes] = sums;
    let mut all = own.clone();
    all.m2l_count = m2l as u64;
    all.m2l_per_box = m2l / receivers.max(1.0);
    all.p2p_pairs = p2p_pairs as u64;
    all.m2p_count = m2p_count as u64;
    all.memory_bytes = memory_bytes as u64;
    all.depth = most[0] as usize;
    all.setup_seconds = most[1];
    all.truncation_number = most[2] as usize;
    Ok(all)
}
