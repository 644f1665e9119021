//! The grid of one group: blocks of nodes, the stages between them, and kernels.

use crate::axis_kernel::AxisKernel;
use crate::bandwidths::{Group, bandwidth_of};
use crate::boxes::Boxes;
use crate::cells::Cells;
use crate::choice::Choice;
use crate::node_blocks::{Layout, Stage, stages};
use crate::tuning::Costs;
use crate::window::Window;

/// A cell that a box does not have.
pub(crate) const NONE: u32 = u32::MAX;

/// Boxes of sources in runs that have no block in common.
#[derive(Debug)]
pub(crate) struct Colour {
    pub(crate) cells: Cells,
    /// First cell of each run, and past its last.
    pub(crate) runs: Vec<(u32, u32)>,
}

/// Runs that keep all threads busy. The longer they are the more often blocks are still in the
/// cache when the next box adds to them.
const RUNS: usize = 64;

/// Everything about a grid but its nodes' values.
#[derive(Debug)]
pub(crate) struct GridPlan {
    pub(crate) window: Window,
    pub(crate) layout: Layout,
    /// Blocks that charges reach.
    pub(crate) source_blocks: usize,
    /// Boxes of sources, by colours.
    pub(crate) colours: Vec<Colour>,
    /// Convolutions along each axis, the last to the blocks of targets.
    pub(crate) stages: Vec<Stage>,
    /// Kernel of each channel.
    pub(crate) kernels: Vec<AxisKernel>,
    /// Shares of each sorted source in each channel; none if there is one channel.
    pub(crate) shares: Vec<Vec<f64>>,
    pub(crate) targets: Cells,
    /// For each box of targets its cell, or [`NONE`].
    pub(crate) cell: Vec<u32>,
}

impl GridPlan {
    /// `channels` has bandwidth and reach in nodes of each.
    pub(crate) fn new(
        sources: &Boxes,
        targets: &Boxes,
        choice: Choice,
        layout: Layout,
        window: Window,
        spacing: f64,
        channels: &[(f64, usize)],
    ) -> Self {
        let chosen = |flags: &[bool]| -> Vec<u32> {
            (0..flags.len() as u32).filter(|&i| flags[i as usize]).collect()
        };
        let (from, to) = (chosen(&choice.sources), chosen(&choice.targets));
        let source_blocks = Cells::reached(sources, &from, &layout);
        let target_blocks = Cells::reached(targets, &to, &layout);
        let reach = channels.iter().map(|channel| channel.1).max().unwrap_or(0);
        let steps = reach.div_ceil(layout.side());
        let target_cells = Cells::new(targets, to, &layout, &target_blocks);
        let different = |axes: usize| {
            let mut prefixes: Vec<&[i64]> =
                from.iter().map(|&b| &sources.boxes[b as usize].key[..axes]).collect();
            prefixes.dedup();
            prefixes.len()
        };
        let axes = (1..3).find(|&axes| different(axes) >= RUNS).unwrap_or(3);
        let mut by_colour = vec![Vec::new(); layout.span[..axes].iter().product()];
        for b in from {
            by_colour[layout.colour(&sources.boxes[b as usize].key, axes)].push(b);
        }
        let colour = |boxes| {
            let cells = Cells::new(sources, boxes, &layout, &source_blocks);
            let runs = cells.runs(sources, axes);
            Colour { cells, runs }
        };
        let colours = by_colour.into_iter().map(colour).collect();
        let stages = stages(layout.dimensions, &source_blocks, target_blocks, steps as i64);
        let square = spacing * spacing;
        let kernels = channels
            .iter()
            .map(|&(c, reach)| AxisKernel::new(c / square, &window, reach))
            .collect();
        let mut cell = vec![NONE; targets.boxes.len()];
        for (i, &b) in target_cells.boxes.iter().enumerate() {
            cell[b as usize] = i as u32;
        }
        Self {
            window,
            layout,
            source_blocks: source_blocks.len(),
            colours,
            stages,
            kernels,
            shares: Vec::new(),
            targets: target_cells,
            cell,
        }
    }

    /// Finds each source's shares in the channels.
    pub(crate) fn with_shares(
        mut self,
        group: &Group,
        bandwidths: &[f64],
        sources: &Boxes,
    ) -> Self {
        let channels = group.channels.len();
        if channels > 1 {
            self.shares = vec![vec![0.0; sources.len()]; channels];
            let mut shares = vec![0.0; channels];
            for (place, &i) in sources.order.iter().enumerate() {
                group.shares(bandwidth_of(bandwidths, i as usize), &mut shares);
                for (all, share) in self.shares.iter_mut().zip(&shares) {
                    all[place] = *share;
                }
            }
        }
        self
    }

    /// Blocks of nodes of all stages.
    pub(crate) fn blocks(&self) -> usize {
        self.source_blocks + self.stages.iter().map(|stage| stage.blocks.len()).sum::<usize>()
    }

    /// What the model expects the grid to cost.
    pub(crate) fn cost(&self, sources: &Boxes, targets: &Boxes, costs: &Costs) -> f64 {
        let count = |boxes: &Boxes, cells: &Cells| -> f64 {
            cells.boxes.iter().map(|&b| boxes.boxes[b as usize].count() as f64).sum()
        };
        let spread: f64 = self.colours.iter().map(|colour| count(sources, &colour.cells)).sum();
        let cells = self.targets.boxes.len()
            + self.colours.iter().map(|colour| colour.cells.boxes.len()).sum::<usize>();
        let inputs: usize = self.stages.iter().map(|stage| stage.inputs.entries.len()).sum();
        spread * costs.spread
            + count(targets, &self.targets) * costs.interpolate
            + cells as f64 * costs.buffer
            + inputs as f64 * costs.input
    }

    pub(crate) fn bytes(&self) -> usize {
        let stages = self.stages.iter().map(|s| 24 * s.blocks.len() + s.inputs.bytes());
        let cells = self.colours.iter().map(|c| c.cells.bytes()).chain([self.targets.bytes()]);
        let shares = self.shares.iter().map(|s| 8 * s.len());
        stages.sum::<usize>()
            + cells.sum::<usize>()
            + shares.sum::<usize>()
            + 4 * self.cell.len()
            + 2 * 8 * self.layout.nodes() * self.blocks() / self.stages.len().max(1)
    }
}
