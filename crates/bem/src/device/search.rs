//! The tree of panels on the device, by which close pairs are found.

use cuda::{Buffer, Device};

use super::kernels::near::{Candidates, Leaves, Parents, Tree};
use super::kernels::{Kernel, Node, THREADS, count};
use super::rows::Rows;

/// Panels of a tree's leaf at most.
const LEAF: usize = 8;

/// The tree of panels.
#[derive(Debug)]
pub(super) struct Search {
    depth: u32,
    nodes: Buffer<Node>,
    starts: Buffer<u32>,
    /// Lists pairs that may be close.
    pub(super) candidates: Kernel<Candidates>,
}

impl Search {
    pub(super) fn new(
        device: &Device,
        n: usize,
        centroids: &Buffer<[f64; 4]>,
        rows: &Rows,
    ) -> Result<Self, cuda::Error> {
        let mut depth = 0;
        while n.div_ceil(1 << depth) > LEAF {
            depth += 1;
        }
        let leaves = 1usize << depth;
        let nodes = device.buffer(2 * leaves)?;
        let starts = device.buffer(leaves + 1)?;
        let of_leaves = Leaves {
            centroids: centroids.pointer(),
            n: count(n),
            depth,
            nodes: nodes.pointer(),
            starts: starts.pointer(),
        };
        Kernel::new(device, rows.macros(), THREADS)?.over(leaves, 1, of_leaves)?;
        let parents = Kernel::new(device, rows.macros(), THREADS)?;
        for level in (0..depth).rev() {
            let of_level = Parents { nodes: nodes.pointer(), first: 1 << level };
            parents.over(1 << level, 1, of_level)?;
        }
        let candidates = Kernel::new(device, rows.macros(), THREADS)?;
        Ok(Self { depth, nodes, starts, candidates })
    }

    /// Its kernel argument.
    pub(super) fn tree(&self) -> Tree {
        let (nodes, starts) = (self.nodes.pointer(), self.starts.pointer());
        Tree { nodes, starts, depth: self.depth }
    }
}
