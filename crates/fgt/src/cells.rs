//! Boxes of points and the blocks of nodes that their points reach.

use parallel::prelude::*;

use crate::boxes::{Boxes, Key};
use crate::node_blocks::{Blocks, Layout, sorted};

/// Boxes of sources that the grid serves, or of targets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    /// Index of the box.
    pub(crate) boxes: Vec<u32>,
    /// For each cell the indices of its blocks, in the order of [`Layout::spanned_keys`].
    pub(crate) blocks: Vec<u32>,
}

impl Cells {
    /// The blocks that the points of `boxes` reach.
    pub(crate) fn reached(points: &Boxes, boxes: &[u32], layout: &Layout) -> Blocks {
        let keys = boxes.par_iter().with_min_len(1024);
        let keys = keys.flat_map_iter(|&b| layout.spanned_keys(&points.boxes[b as usize].key));
        sorted(keys.collect())
    }

    /// Finds the blocks of each box among all.
    pub(crate) fn new(points: &Boxes, boxes: Vec<u32>, layout: &Layout, all: &[Key]) -> Self {
        let found = boxes.par_iter().with_min_len(1024).flat_map_iter(|&b| {
            let keys = layout.spanned_keys(&points.boxes[b as usize].key);
            // Every one is there: `all` has what the boxes reach.
            keys.map(|key| all.partition_point(|other| *other < key) as u32)
        });
        Self { blocks: found.collect(), boxes }
    }

    /// Runs of cells whose boxes have the same key in the first `axes` axes.
    pub(crate) fn runs(&self, points: &Boxes, axes: usize) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let key = |cell: u32| points.boxes[self.boxes[cell as usize] as usize].key;
        for cell in 0..self.boxes.len() as u32 {
            match runs.last_mut() {
                Some(last) if key(last.0)[..axes] == key(cell)[..axes] => last.1 = cell + 1,
                _ => runs.push((cell, cell + 1)),
            }
        }
        runs
    }

    /// The blocks of one cell.
    #[inline(always)]
    pub(crate) fn blocks(&self, cell: usize, layout: &Layout) -> &[u32] {
        let spanned = layout.spanned();
        &self.blocks[cell * spanned..(cell + 1) * spanned]
    }

    pub(crate) fn bytes(&self) -> usize {
        4 * (self.boxes.len() + self.blocks.len())
    }
}
