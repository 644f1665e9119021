//! Which box interacts with which: one acceptance rule, applied in a traversal of pairs of boxes from the root down.
//!
//! A pair is translated (M2L) when `eta = max(R1,R2) / (D - min(R1,R2)) <= eta*`, with R the half diagonals, D the distance of
//! the centres and `eta* = sqrt(3)/(4 - sqrt(3))` that of two equal boxes with one box between (paper 001, eqs 20 to 23). Of
//! a pair that is not accepted the larger box is split, the source's first when both are equal; so a child's multipole
//! may go straight to its neighbour's parent, which is the reduced stencil of paper 001, section 2.2.3, and adaptivity comes
//! with it. Two leaves that are not accepted are summed directly (P2P).

use std::ops::Range;

use rayon::prelude::*;

use crate::Stencil;
use crate::translate::{Kind, Vector};
use crate::tree::{Cell, Tree};

/// Level differences beyond this are split further instead of translated, so that a vector's offset fits its key.
const MAX_LEVEL_DIFFERENCE: u32 = 14;

/// Smallest accepted squared distance of centres for boxes whose levels differ by 0, 1, ..., in half sides of the smaller box.
///
/// `D >= R1 + R2/eta*` with `R1 = sqrt(3)/2`, `R2 = 2^k sqrt(3)/2` reads `(2D)^2 >= (sqrt(3) + 2^k (4 - sqrt(3)))^2`: exactly
/// 16 for equal boxes, where the closest accepted pair sits, and irrational otherwise.
pub(crate) fn acceptance() -> [i64; MAX_LEVEL_DIFFERENCE as usize + 1] {
    std::array::from_fn(|k| {
        if k == 0 {
            return 16;
        }
        let root = 3f64.sqrt();
        (root + f64::from(1u32 << k) * (4.0 - root)).powi(2).ceil() as i64
    })
}

/// Offset of `target`'s centre from `source`'s in half sides of the smaller box.
pub(crate) fn offset(source: &Cell, target: &Cell) -> [i32; 3] {
    let finest = source.level.max(target.level);
    let (s, t) = (finest - source.level, finest - target.level);
    std::array::from_fn(|i| {
        let s = (2 * i64::from(source.place[i]) + 1) << s;
        let t = (2 * i64::from(target.place[i]) + 1) << t;
        (t - s) as i32
    })
}

/// All pairs of one chunk that share a translation vector.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    /// Index into [`Lists::vectors`].
    pub vector: u32,
    /// Truncation number p'; set by module `truncation`.
    pub order: u16,
    /// Level of the sources.
    pub source_level: u8,
    /// Into [`Chunk::pairs`].
    pub pairs: Range<u32>,
}

/// A run of target boxes of one level whose local expansions fit the cache, with everything that is translated to them.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub level: u8,
    /// The target boxes.
    pub cells: Range<usize>,
    pub batches: Vec<Batch>,
    /// Source box within its level, target box within the chunk.
    pub pairs: Vec<[u32; 2]>,
}

/// For each of a list of boxes, other boxes: compressed rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    /// The boxes that have a row, ascending.
    pub cells: Vec<u32>,
    /// Where each row begins in `entries`, and the end of the last.
    pub begins: Vec<u32>,
    pub entries: Vec<u32>,
}

impl Rows {
    /// The boxes that row `i` lists.
    pub(crate) fn row(&self, i: usize) -> &[u32] {
        &self.entries[self.begins[i] as usize..self.begins[i + 1] as usize]
    }
}

/// All interactions of a tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    /// M2L, level by level from the root.
    pub chunks: Vec<Chunk>,
    /// Distinct translation vectors of all chunks, ascending.
    pub vectors: Vec<Vector>,
    /// P2P: the source leaves of each target leaf.
    pub near: Rows,
}

/// What one chunk of targets finds.
#[derive(Default)]
struct Found {
    /// Packed vector, source, target.
    far: Vec<(u64, u32, u32)>,
    near: Rows,
    /// For each target box that has children, what is left to them.
    pending: Vec<Vec<u32>>,
}

impl Lists {
    /// Traverses `tree`; a chunk has up to `chunk_size` target boxes.
    pub(crate) fn new(tree: &Tree, stencil: Stencil, chunk_size: usize) -> Self {
        let acceptance = acceptance();
        let mut lists = Self::default();
        lists.near.begins.push(0);
        // What each box of the level above left to its children.
        let mut pending: Vec<Vec<u32>> = vec![vec![0]];
        let mut keys = Vec::new();
        let mut above = 0;
        for level in &tree.levels {
            let starts: Vec<usize> = level.clone().step_by(chunk_size).collect();
            let found: Vec<(Chunk, Vec<u64>, Found)> = starts
                .into_par_iter()
                .map(|start| {
                    let cells = start..(start + chunk_size).min(level.end);
                    let mut found = Found::default();
                    found.near.begins.push(0);
                    for index in cells.clone() {
                        let inherited = &pending[tree.cells[index].parent as usize - above];
                        visit(tree, stencil, &acceptance, index, inherited, &mut found);
                    }
                    let (chunk, keys) = group(tree, cells, &mut found.far);
                    found.far = Vec::new();
                    (chunk, keys, found)
                })
                .collect();
            pending = Vec::with_capacity(level.len());
            above = level.start;
            for (chunk, chunk_keys, found) in found {
                lists.chunks.push(chunk);
                keys.push(chunk_keys);
                let base = lists.near.entries.len() as u32;
                lists.near.cells.extend(found.near.cells);
                lists.near.begins.extend(found.near.begins[1..].iter().map(|b| b + base));
                lists.near.entries.extend(found.near.entries);
                pending.extend(found.pending);
            }
        }
        let mut distinct: Vec<u64> = keys.iter().flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        for (chunk, keys) in lists.chunks.iter_mut().zip(&keys) {
            for (batch, key) in chunk.batches.iter_mut().zip(keys) {
                batch.vector = distinct.partition_point(|k| k < key) as u32;
            }
        }
        lists.chunks.retain(|chunk| !chunk.pairs.is_empty());
        lists.vectors = distinct.into_iter().map(unpack).collect();
        lists
    }
}

/// Settles what it can between target box `index` and the boxes it inherits; the rest is left to its children.
fn visit(
    tree: &Tree,
    stencil: Stencil,
    acceptance: &[i64],
    index: usize,
    inherited: &[u32],
    found: &mut Found,
) {
    let target = &tree.cells[index];
    let mut left = Vec::new();
    if target.targets.is_empty() {
        found.pending.push(left);
        return;
    }
    let mut stack: Vec<u32> = inherited.to_vec();
    let mut near = Vec::new();
    while let Some(s) = stack.pop() {
        let source = &tree.cells[s as usize];
        if source.sources.is_empty() {
            continue;
        }
        let difference = u32::from(source.level.abs_diff(target.level));
        let offset = offset(source, target);
        let r2: i64 = offset.iter().map(|&o| i64::from(o) * i64::from(o)).sum();
        let comparable = stencil == Stencil::Reduced || difference == 0 || {
            // The full stencil crosses levels only where a leaf ends one side.
            (source.level < target.level && source.is_leaf())
                || (source.level > target.level && target.is_leaf())
        };
        if comparable && difference <= MAX_LEVEL_DIFFERENCE && r2 >= acceptance[difference as usize]
        {
            found.far.push((
                pack(source.level as i32 - target.level as i32, offset),
                s,
                index as u32,
            ));
        } else if !source.is_leaf() && (source.level <= target.level || target.is_leaf()) {
            stack.extend(source.children().map(|c| c as u32));
        } else if !target.is_leaf() {
            left.push(s);
        } else {
            near.push(s);
        }
    }
    found.pending.push(left);
    if target.is_leaf() {
        // Morton order of the sources is the order of memory.
        near.sort_unstable_by_key(|&s| tree.cells[s as usize].sources.start);
        found.near.cells.push(index as u32);
        found.near.entries.extend(near);
        found.near.begins.push(found.near.entries.len() as u32);
    }
}

/// Sorts a chunk's pairs by vector. Returns the chunk and the packed vector of each batch.
fn group(tree: &Tree, cells: Range<usize>, far: &mut [(u64, u32, u32)]) -> (Chunk, Vec<u64>) {
    // Sources in Morton order within a batch keep their expansions in the cache.
    far.sort_unstable();
    let level = tree.cells[cells.start].level;
    let mut chunk =
        Chunk { level, cells, batches: Vec::new(), pairs: Vec::with_capacity(far.len()) };
    let mut keys = Vec::new();
    for (i, &(key, s, t)) in far.iter().enumerate() {
        let source_level = tree.cells[s as usize].level;
        let end = i as u32 + 1;
        match chunk.batches.last_mut() {
            Some(batch) if keys.last() == Some(&key) => batch.pairs.end = end,
            _ => {
                chunk.batches.push(Batch {
                    vector: 0,
                    order: 0,
                    source_level,
                    pairs: i as u32..end,
                });
                keys.push(key);
            }
        }
        let source = s - tree.levels[source_level as usize].start as u32;
        chunk.pairs.push([source, t - chunk.cells.start as u32]);
    }
    (chunk, keys)
}

const OFFSET_BITS: u32 = 19;
const OFFSET_BIAS: i32 = 1 << (OFFSET_BITS - 1);
const LEVEL_BIAS: i32 = 32;

/// A vector as one number; `coarser_target` = level of the source minus level of the target.
fn pack(coarser_target: i32, offset: [i32; 3]) -> u64 {
    offset.iter().fold((coarser_target + LEVEL_BIAS) as u64, |key, &o| {
        key << OFFSET_BITS | (o + OFFSET_BIAS) as u64
    })
}

fn unpack(key: u64) -> Vector {
    let mask = (1 << OFFSET_BITS) - 1;
    let part = |i: u32| (key >> (OFFSET_BITS * (2 - i)) & mask) as i32 - OFFSET_BIAS;
    let coarser_target = (key >> (3 * OFFSET_BITS)) as i32 - LEVEL_BIAS;
    Vector {
        kind: Kind::M2l { finer_target: -coarser_target as i8 },
        offset: [part(0), part(1), part(2)],
    }
}
