//! The whole sum on a GPU: tree, lists, truncation numbers, expansions and near field
//! (docs/performance.md, "GPU").
//!
//! Boxes, lists and acceptance are those of the CPU; translations are dense products instead of
//! rotations, truncation numbers are measured on the device (with screening by the CPU), and leaves
//! are larger. Each kernel file under `kernels/fmm/` is one stage.

mod buffers;
mod close;
pub(crate) mod coordinates;
pub(crate) mod device_plan;
pub(crate) mod engine;
pub(crate) mod estimate;
mod exchange;
pub(crate) mod expansions;
mod family_matrices;
pub(crate) mod far_matrices;
mod hybrid;
pub(crate) mod kernels;
pub(crate) mod layouts;
pub(crate) mod lists;
mod on_host;
mod planning;
pub(crate) mod points;
pub(crate) mod primitives;
mod radials;
mod ranks;
pub(crate) mod relative;
pub(crate) mod rotated_matrices;
mod running;
mod stages;
pub(crate) mod tables;
pub(crate) mod tree;
mod treecode;
pub(crate) mod truncation;
pub(crate) mod tuning;

pub(crate) use buffers::Signature;
pub use cuda::{Capability, DeviceInfo, Error};
pub(crate) use engine::{Engine, stage_seconds};
pub(crate) use exchange::{Offer, Peer};
pub(crate) use hybrid::Exchange;
pub use hybrid::Span;
pub(crate) use ranks::{Part, RankEngine};
pub use tuning::mode;
pub(crate) use tuning::{costs_of, hybrid_occupancy, occupancy};

/// Points below which a GPU's start and copies cost more than it saves.
pub const WORTH_IT: usize = 20_000;

/// Whether a sum over `n` sources at `m` targets is large enough for a GPU.
pub(crate) fn pays(n: usize, m: usize) -> bool {
    n.max(m) >= WORTH_IT
}

/// The GPUs of this machine.
///
/// # Errors
/// Why there are none.
pub fn gpus() -> Result<Vec<DeviceInfo>, Error> {
    cuda::devices()
}

/// Whether sums can run on GPU `index`: driver, compiler and GPU are there and new enough.
///
/// # Errors
/// Why not.
pub fn check_gpu(index: usize) -> Result<(), Error> {
    cuda::Device::open(index)
        .and_then(|device| device.module(&kernels::scan::SOURCE, &[]))
        .map(|_| ())
}
