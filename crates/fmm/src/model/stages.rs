//! Wall time of the stages of a sum.

use std::time::Instant;

/// Wall seconds of the stages of the last `apply`. On a GPU stages overlap: each was timed
/// once in isolation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct StageSeconds {
    /// Particles to multipoles.
    pub p2m: f64,
    /// Multipoles to the parent's.
    pub m2m: f64,
    /// Multipoles to locals.
    pub m2l: f64,
    /// Locals to the children's.
    pub l2l: f64,
    /// Locals to particles.
    pub l2p: f64,
    /// Multipoles at particles.
    pub m2p: f64,
    /// Near pairs.
    pub p2p: f64,
    /// On a GPU: the whole sum with input and output in its memory.
    pub device: f64,
    /// The whole of `apply`, copies included.
    pub total: f64,
}

impl StageSeconds {
    /// All seconds, in the order of the fields.
    pub fn each_mut(&mut self) -> [&mut f64; 9] {
        let Self { p2m, m2m, m2l, l2l, l2p, m2p, p2p, device, total } = self;
        [p2m, m2m, m2l, l2l, l2p, m2p, p2p, device, total]
    }
}

/// Adds the seconds that `work` takes.
pub(crate) fn timed<R>(seconds: &mut f64, work: impl FnOnce() -> R) -> R {
    let started = Instant::now();
    let result = work();
    *seconds += started.elapsed().as_secs_f64();
    result
}
