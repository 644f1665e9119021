//! The tree of panels on the device, by which close pairs are found.

use cuda::{Buffer, Device, Pointer};

use super::kernels::near::{Candidates, Leaves, Parents, Tree};
use super::kernels::{Kernel, Node, Pair, THREADS, count, prefix_sums};
use super::rows::Rows;

/// Panels of a tree's leaf at most.
const LEAF: usize = 8;

/// The tree of panels.
#[derive(Debug)]
pub(super) struct Search {
    depth: u32,
    nodes: Buffer<Node>,
    starts: Buffer<u32>,
    candidates: Kernel<Candidates>,
}

/// The panels that a tree is of.
#[derive(Clone, Copy)]
pub(super) struct Searched<'a> {
    pub(super) device: &'a Device,
    /// Centroid of each panel, and how far it looks for others.
    pub(super) centroids: &'a Buffer<[f64; 4]>,
    /// Place of each panel in the mesh.
    pub(super) order: &'a Buffer<u32>,
    pub(super) rows: &'a Rows,
}

/// The pairs of some rows that may be close.
pub(super) struct CandidateRows {
    first: usize,
    /// Where the pairs of each row begin.
    begins: Buffer<u32>,
    /// Number of pairs.
    pub(super) total: u64,
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

    fn candidates(
        &self,
        of: Searched<'_>,
        first: usize,
        counts: &Buffer<u32>,
        pairs: Pointer<Pair>,
    ) -> Result<(), cuda::Error> {
        let candidates = Candidates {
            centroids: of.centroids.pointer(),
            order: of.order.pointer(),
            tree: self.tree(),
            first: count(first),
            count_of_rows: count(counts.len()),
            counts: counts.pointer(),
            pairs,
            rows: of.rows.pointer(),
        };
        self.candidates.over(counts.len(), 1, candidates)
    }

    /// How many pairs of panels within reach `rows` rows from `first` on have, each pair once.
    pub(super) fn count(
        &self,
        of: Searched<'_>,
        first: usize,
        rows: usize,
    ) -> Result<CandidateRows, cuda::Error> {
        let counts = of.device.buffer::<u32>(rows)?;
        self.candidates(of, first, &counts, Pointer::null())?;
        let (begins, total) = prefix_sums(&counts.to_vec()?);
        Ok(CandidateRows { first, begins: of.device.upload(&begins[..rows])?, total })
    }

    /// These pairs, and one element more, so that there is an address even if there is no pair.
    pub(super) fn list(
        &self,
        of: Searched<'_>,
        found: &CandidateRows,
    ) -> Result<Buffer<Pair>, cuda::Error> {
        let pairs = of.device.buffer(found.total as usize + 1)?;
        self.candidates(of, found.first, &found.begins, pairs.pointer())?;
        Ok(pairs)
    }

    /// Its kernel argument.
    pub(super) fn tree(&self) -> Tree {
        let (nodes, starts) = (self.nodes.pointer(), self.starts.pointer());
        Tree { nodes, starts, depth: self.depth }
    }
}
