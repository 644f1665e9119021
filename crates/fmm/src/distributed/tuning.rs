//! Formats, leaf size, stencil and costs of a sum on several ranks, by where it is computed.

use crate::geometry::block_size;
use crate::truncation::expected;
use crate::{Backend, Options, Precision, Stencil, gpu, tuning};

/// What the cost model says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    pub precision: Precision,
    pub stencil: Stencil,
    /// Points of a leaf, on average.
    pub occupancy: f64,
    /// Boxes of a block of M2L.
    pub block_size: usize,
    /// Pairs of points up to which boxes two levels apart or more are summed directly.
    pub direct: u64,
    /// Cost of a near pair, and of a translation, in the same unit.
    pub pair: f64,
    pub translation: f64,
}

impl Tuning {
    /// For the backend of `options`, which is known.
    pub(super) fn new(options: &Options) -> Self {
        let precision = tuning::precision(options);
        let block_size = block_size(options, precision);
        if options.backend == Backend::Cuda {
            let [pair, translation] = gpu::costs_of(options, precision);
            let stencil = options.stencil.unwrap_or(Stencil::Reduced);
            let occupancy = gpu::occupancy(options, precision);
            let direct = 0;
            return Self { precision, stencil, occupancy, block_size, direct, pair, translation };
        }
        Self {
            precision,
            stencil: tuning::stencil(options, precision),
            occupancy: tuning::occupancy(options, precision),
            block_size,
            direct: tuning::direct_pairs(options, precision),
            pair: tuning::cost_of_pair(options, precision),
            translation: tuning::rotated_cost(expected::mean(options.tolerance)),
        }
    }
}
