//! The cost model: what pairs, points and blocks of nodes cost, in vector instructions.
//!
//! Counts of instructions of the loops, with factors measured on a processor with AVX-512 (see
//! docs/performance.md); the ratios are nearly the same at other vector lengths.

use crate::Options;
use crate::node_blocks::Layout;
use crate::window::Window;
use cuda::Precision;

/// What the parts of a sum cost.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// One pair.
    pub pair: f64,
    /// A charge to the nodes.
    pub spread: f64,
    /// A target from the nodes.
    pub interpolate: f64,
    /// A buffer of a box: filled, and copied from or to blocks.
    pub buffer: f64,
    /// A convolution from one block to one other.
    pub input: f64,
    /// What a box adds to the grid before it is known how many of its neighbours are there.
    pub(crate) block: f64,
}

/// Blocks, of each stage, that a box of points adds: one where everything is full, several on a
/// surface. Before boxes are chosen it is not known how many.
pub const BLOCKS_PER_BOX: f64 = 2.0;

/// Filling a node of a buffer, copying it to a block or from one: memory, not lanes, is the limit.
const BUFFER_NODE: f64 = 2.5;

/// What sums.
#[derive(Clone, Copy, Debug)]
pub enum Processor {
    /// Cores whose vectors have `lanes` doubles.
    Core {
        /// Doubles of a vector.
        lanes: usize,
    },
    /// A GPU.
    Gpu(Precision),
}

/// What a sum is made of.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// Blocks of nodes.
    pub layout: &'a Layout,
    /// What spreads charges to nodes.
    pub window: &'a Window,
    /// Nodes that the kernels reach.
    pub reach: usize,
    /// Bandwidths that others are interpolated between.
    pub channels: usize,
    /// Whether exponentials are rough.
    pub rough: bool,
    /// What the plan is asked for.
    pub options: &'a Options,
}

impl Costs {
    /// Costs of `work` by a processor.
    pub fn new(processor: Processor, work: Work<'_>) -> Self {
        match processor {
            Processor::Core { lanes } => Self::on_cores(lanes as f64, work),
            Processor::Gpu(precision) => Self::on_gpu(precision, work),
        }
    }

    fn on_cores(lanes: f64, work: Work<'_>) -> Self {
        let Work { layout, window, reach, channels, rough, options } = work;
        let d = layout.dimensions as f64;
        let k = options.densities.max(1) as f64;
        let slopes = if options.gradient { d } else { 0.0 };
        let exponential = if rough { 13.0 } else { 18.0 };
        let pair = 1.15 * (exponential + 2.0 * d + 1.0 + k * (1.0 + 1.5 * slopes)) / lanes;
        let row = window.padded() as f64 / lanes;
        let rows = (window.width() as f64).powi(layout.dimensions as i32 - 1) * row;
        let weights = d * (window.terms() as f64 * row + 10.0) + 20.0;
        let side = layout.side() as f64;
        let taps = ((2 * reach) as f64 + 8.0).min(side * side);
        let input =
            k * channels as f64 * layout.nodes() as f64 / lanes * taps * 1.5 / inputs(reach, side);
        let buffer = k * channels as f64 * BUFFER_NODE * layout.buffer_nodes() as f64;
        Self {
            pair,
            spread: k * channels as f64 * (weights + 4.0 * rows),
            interpolate: k * (weights * (1.0 + slopes / d) + rows * (2.0 + slopes) + 30.0),
            buffer,
            input,
            block: buffer + BLOCKS_PER_BOX * d * inputs(reach, side) * input,
        }
    }

    /// In clocks of one multiprocessor, by its units: 64 lanes of doubles or 128 of floats, of
    /// which the special-function unit makes 16 exponentials a clock.
    fn on_gpu(precision: Precision, work: Work<'_>) -> Self {
        let Work { layout, window, reach, channels, rough, options } = work;
        let d = layout.dimensions as f64;
        let k = options.densities.max(1) as f64;
        let slopes = if options.gradient { d } else { 0.0 };
        let (lanes, exponential) = match (precision, rough) {
            (Precision::Single, _) => (128.0, 8.0),
            (Precision::Double, true) => (64.0, 13.0),
            (Precision::Double, false) => (64.0, 18.0),
        };
        let pair = 1.3 * (exponential + 2.0 * d + 1.0 + k * (1.0 + 1.5 * slopes)) / lanes;
        let (side, width) = (layout.side() as f64, window.width() as f64);
        let (nodes, terms) = (layout.nodes() as f64, window.terms() as f64);
        // Weights at all nodes of each block that is reached, and half of the products.
        let reached = layout.spanned() as f64;
        let spread = reached * (d * side * (terms + 8.0) + 0.5 * nodes) / lanes;
        let rows = width.powi(layout.dimensions as i32) / 32.0;
        let interpolate = rows * (4.0 + slopes) + d * width * terms / 32.0 + 20.0 * (1.0 + slopes);
        let input = k * channels as f64 * nodes * 8.0 * 1.5 / lanes;
        let buffer = k * channels as f64 * 200.0;
        Self {
            pair,
            spread: k * channels as f64 * spread,
            interpolate: k * interpolate,
            buffer,
            input,
            block: buffer + BLOCKS_PER_BOX * d * inputs(reach, side) * input,
        }
    }
}

/// Blocks that a block takes from along one axis.
pub fn inputs(reach: usize, side: f64) -> f64 {
    2.0 * (reach as f64 / side).ceil() + 1.0
}
