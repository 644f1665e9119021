//! The grid: blocks of nodes, of which only those that charges reach and that reach targets are
//! kept.
//!
//! A box of points and a block of nodes with the same key have the same size; the block begins
//! w / 2 nodes before the box, so that the nodes of any point lie in its own block and the next
//! ones along each axis.

use std::ops::Range;

use parallel::prelude::*;

use crate::boxes::Key;
use crate::lists::Rows;

/// How many nodes of what there are along each axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layout {
    /// Dimensions: the last axes that count.
    pub(crate) dimensions: usize,
    /// Nodes of a block.
    pub(crate) block: [usize; 3],
    /// Blocks that the nodes of a box's points lie in.
    pub(crate) span: [usize; 3],
    /// Nodes of the buffer that a box's points are brought to: those that points reach, along the
    /// last axis with room for a padded row of weights.
    pub(crate) buffer: [usize; 3],
}

/// Nodes of a block along each axis, by the number of dimensions: the last is a multiple of the
/// lanes of every vector.
const BLOCK: [usize; 3] = [32, 16, 8];

impl Layout {
    /// The layout for windows of `width` nodes, rows of weights being `padded`.
    pub fn new(dimensions: usize, width: usize, padded: usize) -> Self {
        let counts = |axis: usize| axis + dimensions >= 3;
        let side = BLOCK[dimensions - 1];
        let block = std::array::from_fn(|a| if counts(a) { side } else { 1 });
        let reached: [usize; 3] = std::array::from_fn(|a| if counts(a) { side + width } else { 1 });
        let span = std::array::from_fn(|a| reached[a].div_ceil(block[a]));
        let buffer = [reached[0], reached[1], side + padded];
        Self { dimensions, block, span, buffer }
    }

    /// Nodes of a block along an axis that counts.
    pub(crate) fn side(&self) -> usize {
        self.block[2]
    }

    /// Nodes of a block.
    pub(crate) fn nodes(&self) -> usize {
        self.block.iter().product()
    }

    /// Nodes of a buffer.
    pub(crate) fn buffer_nodes(&self) -> usize {
        self.buffer.iter().product()
    }

    /// Blocks that a box's points reach.
    pub(crate) fn spanned(&self) -> usize {
        self.span.iter().product()
    }

    /// Keys of those blocks, the last axis fastest.
    pub(crate) fn spanned_keys(&self, key: &Key) -> impl Iterator<Item = Key> {
        let ([nx, ny, nz], [x, y, z]) = (self.span.map(|n| n as i64), *key);
        (0..nx).flat_map(move |i| {
            (0..ny).flat_map(move |j| (0..nz).map(move |k| [x + i, y + j, z + k]))
        })
    }

    /// Boxes whose keys differ in the first `axes` axes and that are of one colour have no block in
    /// common: which of [`Layout::spanned`] colours a box has.
    pub(crate) fn colour(&self, key: &Key, axes: usize) -> usize {
        (0..axes).fold(0, |colour, a| {
            let own = key[a].rem_euclid(self.span[a] as i64) as usize;
            colour * self.span[a] + own
        })
    }

    /// Rows along the last axis that a spanned block and the buffer have in common: for each where
    /// it is in block and buffer, and its length, a multiple of 8.
    #[inline(always)]
    pub(crate) fn common(&self, spanned: usize, mut f: impl FnMut(usize, usize, usize)) {
        let [_, ny, nz] = self.span;
        let at = [spanned / (ny * nz), spanned / nz % ny, spanned % nz];
        let range = |a: usize| -> Range<usize> {
            let begin = at[a] * self.block[a];
            begin..(begin + self.block[a]).min(self.buffer[a])
        };
        let begin = at[2] * self.block[2];
        let z = begin..(begin + self.block[2]).min(self.buffer[2]);
        for x in range(0) {
            for y in range(1) {
                let row = (x - at[0] * self.block[0]) * self.block[1] + y - at[1] * self.block[1];
                let to = (x * self.buffer[1] + y) * self.buffer[2] + z.start;
                f(row * self.block[2], to, z.len());
            }
        }
    }
}

/// Blocks by increasing key.
pub(crate) type Blocks = Vec<Key>;

/// The sorted blocks that are `steps` at most from one of `blocks` along an axis.
pub(crate) fn dilate(blocks: &[Key], axis: usize, steps: i64) -> Blocks {
    if axis == 2 {
        // Neighbours along the last axis are in order already.
        let mut out: Blocks = Vec::with_capacity(2 * blocks.len());
        for key in blocks {
            for z in key[2] - steps..=key[2] + steps {
                let next = [key[0], key[1], z];
                if out.last().is_none_or(|last| *last < next) {
                    out.push(next);
                }
            }
        }
        return out;
    }
    let shifted = (-steps..=steps).flat_map(|step| {
        blocks.iter().map(move |key| {
            let mut key = *key;
            key[axis] += step;
            key
        })
    });
    sorted(shifted.collect())
}

/// Sorted, each once.
pub(crate) fn sorted(mut blocks: Blocks) -> Blocks {
    blocks.par_sort_unstable();
    blocks.dedup();
    blocks
}

/// The `blocks` that `others` has too.
pub(crate) fn common(blocks: Blocks, others: &[Key]) -> Blocks {
    let mut rest = others;
    let keep = |key: &Key| {
        while rest.first().is_some_and(|other| other < key) {
            rest = &rest[1..];
        }
        rest.first() == Some(key)
    };
    let mut blocks = blocks;
    blocks.retain(keep);
    blocks
}

/// One convolution: from the blocks before it to its own, along one axis.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) axis: usize,
    pub(crate) blocks: Blocks,
    /// For each block the blocks it takes from, and by how many blocks they lie ahead of it.
    pub(crate) inputs: Rows<(u32, i32)>,
}

/// The stages from blocks with charges to blocks with targets, along each axis that counts: block
/// by block only what the targets need.
pub(crate) fn stages(
    dimensions: usize,
    sources: &[Key],
    targets: Blocks,
    steps: i64,
) -> Vec<Stage> {
    let axes = 3 - dimensions..3;
    // What the stages after each need.
    let mut needed = vec![targets];
    for axis in axes.clone().skip(1).rev() {
        let next = dilate(&needed[needed.len() - 1], axis, steps);
        needed.push(next);
    }
    let mut stages: Vec<Stage> = Vec::new();
    for axis in axes {
        let from = stages.last().map_or(sources, |stage| &stage.blocks[..]);
        let blocks = match needed.pop() {
            Some(last) if needed.is_empty() => last,
            Some(needed) => common(dilate(from, axis, steps), &needed),
            None => Vec::new(),
        };
        let inputs = inputs(&blocks, from, axis, steps);
        stages.push(Stage { axis, blocks, inputs });
    }
    stages
}

fn inputs(blocks: &[Key], from: &[Key], axis: usize, steps: i64) -> Rows<(u32, i32)> {
    let jobs = blocks.par_chunks(256).map(|job| {
        let (mut lengths, mut entries) = (Vec::with_capacity(job.len()), Vec::new());
        for key in job {
            let before = entries.len();
            for step in -steps..=steps {
                let mut other = *key;
                other[axis] += step;
                if let Ok(found) = from.binary_search(&other) {
                    entries.push((found as u32, step as i32));
                }
            }
            lengths.push((entries.len() - before) as u32);
        }
        (lengths, entries)
    });
    Rows::join(jobs.collect())
}
