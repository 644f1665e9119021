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
/// 16 for equal boxes, where the closest accepted pair sits, and irrational otherwise. The shortest stencil takes boxes of
/// neighbouring levels at `(5, 3, 1)`, too, with eta = 0.83.
pub(crate) fn acceptance(stencil: Stencil) -> [i64; MAX_LEVEL_DIFFERENCE as usize + 1] {
    std::array::from_fn(|k| {
        if k == 0 {
            return 16;
        }
        if k == 1 && stencil == Stencil::Shortest {
            return 5 * 5 + 3 * 3 + 1;
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

/// Fewest target boxes of a chunk, however many threads share a level.
const LEAST_CHUNK: usize = 64;

/// What one chunk of targets finds.
#[derive(Default)]
struct Found {
    /// Number of the vector in `vectors`, source, target.
    far: Vec<[u32; 3]>,
    vectors: Numbers,
    near: Rows,
    /// For each target box what is left to its children: where it begins in `left`, and the end of the last.
    begins: Vec<u32>,
    left: Vec<u32>,
}

/// What the traversal asks of a box, in little memory.
#[derive(Clone, Copy)]
struct Slim {
    /// Twice the place plus one: the centre in half sides of the box.
    centre: [i32; 3],
    level: u8,
    leaf: bool,
    /// Whether there are sources.
    sources: bool,
}

impl Slim {
    fn of(cell: &Cell) -> Self {
        Self {
            centre: cell.place.map(|i| 2 * i as i32 + 1),
            level: cell.level,
            leaf: cell.is_leaf(),
            sources: !cell.sources.is_empty(),
        }
    }
}

impl Lists {
    /// Traverses `tree`; a chunk has up to `chunk_size` target boxes.
    pub(crate) fn new(tree: &Tree, stencil: Stencil, chunk_size: usize) -> Self {
        let acceptance = acceptance(stencil);
        let boxes: Vec<Slim> = tree.cells.iter().map(Slim::of).collect();
        let threads = rayon::current_num_threads();
        let mut lists = Self::default();
        lists.near.begins.push(0);
        let mut keys = Vec::new();
        // What the boxes of the level above left to their children, by chunk of so many.
        let mut above: Vec<Found> =
            vec![Found { begins: vec![0, 1], left: vec![0], ..Found::default() }];
        let (mut begin_above, mut size_above) = (0, 1);
        for level in &tree.levels {
            let share = level.len().div_ceil(4 * threads);
            let size = share.max(LEAST_CHUNK).min(chunk_size);
            let starts: Vec<usize> = level.clone().step_by(size).collect();
            let found: Vec<(Chunk, Vec<u64>, Found)> = starts
                .into_par_iter()
                .with_max_len(1)
                .map(|start| {
                    let cells = start..(start + size).min(level.end);
                    let mut found = Found::default();
                    found.near.begins.push(0);
                    found.begins.push(0);
                    let mut stack = Vec::new();
                    for index in cells.clone() {
                        let parent = tree.cells[index].parent as usize - begin_above;
                        let (of, slot) = (&above[parent / size_above], parent % size_above);
                        let inherited = of.begins[slot] as usize..of.begins[slot + 1] as usize;
                        stack.extend_from_slice(&of.left[inherited]);
                        visit((tree, &boxes), stencil, &acceptance, index, &mut stack, &mut found);
                    }
                    let (chunk, keys) = group(tree, cells, &found);
                    found.far = Vec::new();
                    (chunk, keys, found)
                })
                .collect();
            above.clear();
            (begin_above, size_above) = (level.start, size);
            for (chunk, chunk_keys, mut found) in found {
                lists.chunks.push(chunk);
                keys.push(chunk_keys);
                let base = lists.near.entries.len() as u32;
                let near = std::mem::take(&mut found.near);
                lists.near.cells.extend(near.cells);
                lists.near.begins.extend(near.begins[1..].iter().map(|b| b + base));
                lists.near.entries.extend(near.entries);
                above.push(found);
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

/// Settles what it can between target box `index` and the boxes on `stack`; the rest is left to its children.
fn visit(
    (tree, boxes): (&Tree, &[Slim]),
    stencil: Stencil,
    acceptance: &[i64],
    index: usize,
    stack: &mut Vec<u32>,
    found: &mut Found,
) {
    if tree.cells[index].targets.is_empty() {
        stack.clear();
        found.begins.push(found.left.len() as u32);
        return;
    }
    let target = boxes[index];
    let first_near = found.near.entries.len();
    while let Some(s) = stack.pop() {
        let source = boxes[s as usize];
        if !source.sources {
            continue;
        }
        if source.level == target.level && !source.leaf && stencil != Stencil::Full {
            settle_equal((tree, boxes), acceptance, (s, index), stack, found);
            continue;
        }
        // As `offset`: one of the two shifts is 0.
        let finer_source = source.level.saturating_sub(target.level);
        let finer_target = target.level.saturating_sub(source.level);
        let difference = u32::from(finer_source | finer_target);
        let offset: [i32; 3] = std::array::from_fn(|i| {
            (target.centre[i] << finer_source) - (source.centre[i] << finer_target)
        });
        let r2: i64 = offset.iter().map(|&o| i64::from(o) * i64::from(o)).sum();
        let comparable = stencil != Stencil::Full || difference == 0 || {
            // The full stencil crosses levels only where a leaf ends one side.
            (finer_target > 0 && source.leaf) || (finer_source > 0 && target.leaf)
        };
        if comparable && difference <= MAX_LEVEL_DIFFERENCE && r2 >= acceptance[difference as usize]
        {
            let coarser_target = i32::from(source.level) - i32::from(target.level);
            found.far.push([found.vectors.number(coarser_target, offset), s, index as u32]);
        } else if !source.leaf && (finer_source == 0 || target.leaf) {
            stack.extend(tree.cells[s as usize].children().map(|c| c as u32));
        } else if !target.leaf {
            found.left.push(s);
        } else {
            found.near.entries.push(s);
        }
    }
    found.begins.push(found.left.len() as u32);
    if target.leaf {
        // Morton order of the sources is the order of memory.
        found.near.entries[first_near..]
            .sort_unstable_by_key(|&s| tree.cells[s as usize].sources.start);
        found.near.cells.push(index as u32);
        found.near.begins.push(found.near.entries.len() as u32);
    }
}

/// As [`visit`] of one pair of equal boxes, the source with children: most of all pairs. Children are told apart without
/// branches, which no processor would foresee.
#[inline]
fn settle_equal(
    (tree, boxes): (&Tree, &[Slim]),
    acceptance: &[i64],
    (s, index): (u32, usize),
    stack: &mut Vec<u32>,
    found: &mut Found,
) {
    let (source, target) = (boxes[s as usize], boxes[index]);
    let square = |offset: [i32; 3]| -> i64 { offset.iter().map(|&o| i64::from(o).pow(2)).sum() };
    let offset: [i32; 3] = std::array::from_fn(|i| target.centre[i] - source.centre[i]);
    if square(offset) >= acceptance[0] {
        found.far.push([found.vectors.number(0, offset), s, index as u32]);
        return;
    }
    let (mut far, mut rest) = ([(0, [0; 3]); 8], [0; 8]);
    let (mut far_count, mut rest_count) = (0, 0);
    for c in tree.cells[s as usize].children().take(8) {
        let child = &boxes[c];
        let offset = std::array::from_fn(|i| 2 * target.centre[i] - child.centre[i]);
        let accepted = square(offset) >= acceptance[1];
        far[far_count % 8] = (c as u32, offset);
        rest[rest_count % 8] = c as u32;
        far_count += usize::from(child.sources & accepted);
        rest_count += usize::from(child.sources & !accepted);
    }
    for &(c, offset) in &far[..far_count] {
        found.far.push([found.vectors.number(1, offset), c, index as u32]);
    }
    let rest = &rest[..rest_count];
    if !target.leaf {
        found.left.extend_from_slice(rest);
        return;
    }
    for &c in rest {
        if boxes[c as usize].leaf {
            found.near.entries.push(c);
        } else {
            stack.extend(tree.cells[c as usize].children().map(|c| c as u32));
        }
    }
}

/// Brings a chunk's pairs together by vector, in the order in which they were found, which is that of the targets. Returns
/// the chunk and the packed vector of each batch.
fn group(tree: &Tree, cells: Range<usize>, found: &Found) -> (Chunk, Vec<u64>) {
    let level = tree.cells[cells.start].level;
    let keys = &found.vectors.keys;
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_unstable_by_key(|&number| keys[number]);
    let counts = &found.vectors.counts;
    let mut batches = Vec::with_capacity(keys.len());
    let mut next = vec![0u32; keys.len()];
    let mut end = 0;
    for &number in &order {
        next[number] = end;
        end += counts[number];
        let coarser_target = (keys[number] >> (3 * OFFSET_BITS)) as i32 - LEVEL_BIAS;
        batches.push(Batch {
            vector: 0,
            order: 0,
            source_level: (i32::from(level) + coarser_target) as u8,
            pairs: next[number]..end,
        });
    }
    let starts: Vec<u32> = tree.levels.iter().map(|l| l.start as u32).collect();
    let level_start: Vec<u32> = {
        let mut of = vec![0; keys.len()];
        order.iter().zip(&batches).for_each(|(&n, b)| of[n] = starts[b.source_level as usize]);
        of
    };
    let mut pairs = vec![[0; 2]; found.far.len()];
    for &[number, s, t] in &found.far {
        let slot = &mut next[number as usize];
        pairs[*slot as usize] = [s - level_start[number as usize], t - cells.start as u32];
        *slot += 1;
    }
    let chunk = Chunk { level, cells, batches, pairs };
    (chunk, order.into_iter().map(|number| keys[number]).collect())
}

/// Distinct vectors, numbered as they come: short ones in a table, the others by a hash with linear probing.
struct Numbers {
    keys: Vec<u64>,
    /// How often each was asked for.
    counts: Vec<u32>,
    /// Number + 1 of the vector at each place of [`Numbers::place`], 0 = none yet.
    short: Vec<u32>,
    /// Number + 1 of the key in each slot, 0 = free; a power of two, at most half of them taken.
    slots: Vec<u32>,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            counts: Vec::new(),
            short: vec![0; 3 << (3 * SHORT_BITS)],
            slots: vec![0; 1024],
        }
    }
}

/// Bits of half an offset in the table of short vectors.
const SHORT_BITS: u32 = 4;

impl Numbers {
    /// Place of a short vector: offsets are all even between equal boxes and all odd from one level to the next, so that
    /// their halves, rounded down, tell them apart.
    #[inline]
    fn place(coarser_target: i32, offset: [i32; 3]) -> Option<usize> {
        const HALF: i32 = 1 << (SHORT_BITS - 1);
        let levels = (coarser_target + 1) as u32;
        let [x, y, z] = offset.map(|o| ((o >> 1) + HALF) as u32);
        let short = levels < 3 && (x | y | z) >> SHORT_BITS == 0;
        let place = ((levels << SHORT_BITS | x) << SHORT_BITS | y) << SHORT_BITS | z;
        short.then_some(place as usize)
    }

    fn slot(&self, key: u64) -> usize {
        let bits = self.slots.len().ilog2();
        let mut slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize;
        while self.slots[slot] != 0 && self.keys[self.slots[slot] as usize - 1] != key {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    /// The number of a vector, which may be new; `coarser_target` = level of the source minus level of the target.
    #[inline]
    fn number(&mut self, coarser_target: i32, offset: [i32; 3]) -> u32 {
        let number = match Self::place(coarser_target, offset) {
            Some(place) => {
                if self.short[place] == 0 {
                    self.keys.push(pack(coarser_target, offset));
                    self.counts.push(0);
                    self.short[place] = self.keys.len() as u32;
                }
                self.short[place] - 1
            }
            None => self.number_of_key(pack(coarser_target, offset)),
        };
        self.counts[number as usize] += 1;
        number
    }

    fn number_of_key(&mut self, key: u64) -> u32 {
        let slot = self.slot(key);
        if self.slots[slot] == 0 {
            self.keys.push(key);
            self.counts.push(0);
            self.slots[slot] = self.keys.len() as u32;
            if 2 * self.keys.len() > self.slots.len() {
                self.slots = vec![0; 2 * self.slots.len()];
                for i in 0..self.keys.len() {
                    let slot = self.slot(self.keys[i]);
                    self.slots[slot] = i as u32 + 1;
                }
            }
            return self.keys.len() as u32 - 1;
        }
        self.slots[slot] - 1
    }
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
