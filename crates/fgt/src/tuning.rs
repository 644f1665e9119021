//! The cost model: what pairs, points and blocks of nodes cost, in vector instructions.
//!
//! Counts of instructions of the loops, with factors measured on a processor with AVX-512 (see
//! docs/performance.md); the ratios are nearly the same at other vector lengths.

use crate::Options;
use crate::node_blocks::Layout;
use crate::window::Window;

/// What the parts of a sum cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// One pair.
    pub(crate) pair: f64,
    /// A charge to the nodes.
    pub(crate) spread: f64,
    /// A target from the nodes.
    pub(crate) interpolate: f64,
    /// A buffer of a box: filled, and copied from or to blocks.
    pub(crate) buffer: f64,
    /// A convolution from one block to one other.
    pub(crate) input: f64,
    /// What a box adds to the grid before it is known how many of its neighbours are there.
    pub(crate) block: f64,
}

/// Blocks, of each stage, that a box of points adds: one where everything is full, several on a
/// surface. Before boxes are chosen it is not known how many.
const BLOCKS_PER_BOX: f64 = 2.0;

/// Filling a node of a buffer, copying it to a block or from one: memory, not lanes, is the limit.
const BUFFER_NODE: f64 = 2.5;

impl Costs {
    /// Costs with vectors of `lanes`, for kernels that reach `reach` nodes and sums of `channels`,
    /// by rough exponentials or full ones.
    pub(crate) fn new(
        lanes: usize,
        layout: &Layout,
        window: &Window,
        reach: usize,
        options: &Options,
        channels: usize,
        rough: bool,
    ) -> Self {
        let d = layout.dimensions as f64;
        let lanes = lanes as f64;
        let k = options.densities.max(1) as f64;
        let slopes = if options.gradient { d } else { 0.0 };
        let exponential = if rough { 13.0 } else { 18.0 };
        let pair = 1.15 * (exponential + 2.0 * d + 1.0 + k * (1.0 + 1.5 * slopes)) / lanes;
        let row = window.padded() as f64 / lanes;
        let rows = (window.width() as f64).powi(layout.dimensions as i32 - 1) * row;
        let weights = d * (window.terms() as f64 * row + 10.0) + 20.0;
        let side = layout.side() as f64;
        let taps = ((2 * reach) as f64 + 8.0).min(side * side);
        let inputs_per_block = 2.0 * (reach as f64 / side).ceil() + 1.0;
        let input =
            k * channels as f64 * layout.nodes() as f64 / lanes * taps * 1.5 / inputs_per_block;
        let buffer = k * channels as f64 * BUFFER_NODE * layout.buffer_nodes() as f64;
        Self {
            pair,
            spread: k * channels as f64 * (weights + 4.0 * rows),
            interpolate: k * (weights * (1.0 + slopes / d) + rows * (2.0 + slopes) + 30.0),
            buffer,
            input,
            block: buffer + BLOCKS_PER_BOX * d * inputs_per_block * input,
        }
    }
}
