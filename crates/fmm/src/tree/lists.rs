//! Which box interacts with which: one acceptance rule, applied in a traversal of pairs of boxes
//! from the root down.
//!
//! A pair is translated (M2L) when `eta = max(R1,R2) / (D - min(R1,R2)) <= eta*`, with R the half
//! diagonals, D the distance of the centres and `eta* = sqrt(3)/(4 - sqrt(3))` that of two equal
//! boxes with one box between ([Gumerov2008], eqs 20 to 23). Of a pair that is not accepted the
//! larger box is split, the source's first when both are equal; so a child's multipole may go
//! straight to its neighbour's parent, which is the reduced stencil of [Gumerov2008], section
//! 2.2.3, and adaptivity comes with it. Two leaves that are not accepted are summed directly (P2P).
//! So are boxes two levels apart or more with few points, one of which is a leaf then: at a rim
//! where the cloud of points ends, a coarse leaf's few points would ask for the largest truncation
//! numbers of all.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Mutex;

use parallel::prelude::*;

use crate::model::Stencil;
use crate::tree::vectors::{Vector, VectorTable, coarser_target, unpack};
use crate::tree::{Cell, Tree};

/// Level differences beyond this are split further instead of translated, so that a vector's offset
/// fits its key.
pub(crate) const MAX_LEVEL_DIFFERENCE: u32 = 14;

/// Smallest accepted squared distance of centres for boxes whose levels differ by 0, 1, ..., in
/// half sides of the smaller box.
///
/// `D >= R1 + R2/eta*` with `R1 = sqrt(3)/2`, `R2 = 2^k sqrt(3)/2` reads
/// `(2D)^2 >= (sqrt(3) + 2^k (4 - sqrt(3)))^2`: exactly 16 for equal boxes, where the closest
/// accepted pair sits, and irrational otherwise. The shortest stencil takes boxes of neighbouring
/// levels at `(5, 3, 1)`, too, with eta = 0.83.
pub fn acceptance(stencil: Stencil) -> [i64; MAX_LEVEL_DIFFERENCE as usize + 1] {
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
pub fn offset(source: &Cell, target: &Cell) -> [i32; 3] {
    let finest = source.level.max(target.level);
    let (s, t) = (finest - source.level, finest - target.level);
    std::array::from_fn(|i| {
        let s = (2 * i64::from(source.place[i]) + 1) << s;
        let t = (2 * i64::from(target.place[i]) + 1) << t;
        (t - s) as i32
    })
}

/// All pairs of one block that share a translation vector.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Index into [`Lists::vectors`].
    pub vector: u32,
    /// Truncation number p'; set by module `truncation`.
    pub order: u16,
    /// Level of the sources.
    pub source_level: u8,
    /// Into [`TargetBlock::pairs`].
    pub pairs: Range<u32>,
}

/// A run of target boxes of one level whose local expansions fit the cache, with everything that is
/// translated to them.
#[derive(Clone, Debug)]
pub struct TargetBlock {
    pub level: u8,
    /// The target boxes.
    pub cells: Range<usize>,
    /// How many of them are translated to.
    pub receivers: u32,
    pub batches: Vec<Batch>,
    /// Source box within its level, target box within the block.
    pub pairs: Vec<[u32; 2]>,
}

/// For each of a list of boxes, other boxes: compressed rows.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The boxes that have a row, ascending.
    pub cells: Vec<u32>,
    /// Where each row begins in `entries`, and the end of the last.
    pub begins: Vec<u32>,
    pub entries: Vec<u32>,
}

impl Rows {
    /// The boxes that row `i` lists.
    pub fn row(&self, i: usize) -> &[u32] {
        &self.entries[self.begins[i] as usize..self.begins[i + 1] as usize]
    }

    /// The rows of all `parts`, one after the other.
    pub(crate) fn joined(parts: Vec<Self>) -> Self {
        let mut all = Self { begins: vec![0], ..Self::default() };
        let mut end = 0;
        for part in &parts {
            all.cells.extend_from_slice(&part.cells);
            all.begins.extend(part.begins[1..].iter().map(|begin| begin + end));
            end += part.entries.len() as u32;
        }
        all.entries = vec![0; end as usize];
        let mut rest = &mut all.entries[..];
        let mut copies = Vec::with_capacity(parts.len());
        for Self { entries, .. } in parts {
            let (own, after) = rest.split_at_mut(entries.len());
            copies.push((own, entries));
            rest = after;
        }
        let copies = copies.into_par_iter().with_min_len(16);
        copies.for_each(|(to, entries)| to.copy_from_slice(&entries));
        all
    }
}

/// All interactions of a tree.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// M2L, level by level from the root.
    pub target_blocks: Vec<TargetBlock>,
    /// Distinct translation vectors of all blocks, ascending.
    pub vectors: Vec<Vector>,
    /// P2P: the source leaves of each target leaf.
    pub near: Rows,
    /// Likewise those that are other ranks', taken out of `near`; no rows if there are no others.
    pub halo: Rows,
    /// Source-target pairs of points that P2P sums.
    pub near_pairs: u64,
}

/// Fewest target boxes of a block, however many threads share a level.
const LEAST_BLOCK: usize = 64;

/// What one block of targets finds and keeps.
#[derive(Default)]
struct Found {
    near: Rows,
    /// Source-target pairs of points in near leaves.
    near_pairs: u64,
    /// For each target box the pairs left to its children: where in `left` they begin, and the end
    /// of the last.
    begins: Vec<u32>,
    left: Vec<u32>,
}

/// Pairs accepted for one block, in the order of the targets; blocks use the memory one after
/// another.
#[derive(Default)]
struct Far {
    /// Number of the vector, source.
    pairs: Vec<[u32; 2]>,
    /// Where the pairs of each target end.
    ends: Vec<u32>,
    vectors: VectorTable,
}

impl Far {
    fn clear(&mut self) {
        self.pairs.clear();
        self.ends.clear();
        self.vectors.clear();
    }

    /// Accepts a pair; `coarser_target` = level of the source minus level of the target.
    #[inline(always)]
    fn push(&mut self, coarser_target: i32, offset: [i32; 3], source: u32) {
        self.pairs.push([self.vectors.number(coarser_target, offset), source]);
    }
}

/// What the traversal asks of a box, in little memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoxKey {
    /// Twice the place plus one: the centre in half sides of the box.
    centre: [i32; 3],
    sources: u32,
    level: u8,
    leaf: bool,
}

impl BoxKey {
    pub(crate) fn new(place: [u32; 3], level: u8, sources: u32, leaf: bool) -> Self {
        Self { centre: place.map(|i| 2 * i as i32 + 1), sources, level, leaf }
    }

    pub(crate) fn of(cell: &Cell) -> Self {
        Self::new(cell.place, cell.level, cell.sources.len() as u32, cell.is_leaf())
    }

    /// A box with `sources` sources in all, some of which `cell` may hold.
    pub(crate) fn with_sources(cell: &Cell, sources: f64) -> Self {
        let sources = if cell.sources.is_empty() { 0.0 } else { sources };
        Self::new(cell.place, cell.level, sources.min(f64::from(u32::MAX)) as u32, cell.is_leaf())
    }
}

/// What becomes of a pair of boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is translated.
    Far,
    /// Two leaves are summed directly.
    Near,
    /// The source's children take its place.
    SplitSource,
    /// The target's children take its place.
    SplitTarget,
}

/// The rule that settles pairs of boxes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    stencil: Stencil,
    acceptance: [i64; MAX_LEVEL_DIFFERENCE as usize + 1],
    /// Pairs of points up to which boxes two levels apart or more are summed directly.
    direct: u64,
}

impl Rule {
    pub(crate) fn new(stencil: Stencil, direct: u64) -> Self {
        Self { stencil, acceptance: acceptance(stencil), direct }
    }

    /// What becomes of a source and a target that holds `targets` points, and the offset of their
    /// centres ([`offset`]).
    #[inline(always)]
    pub(crate) fn settle(
        &self,
        source: &BoxKey,
        target: &BoxKey,
        targets: usize,
    ) -> (Verdict, [i32; 3]) {
        // As `offset`: one of the two shifts is 0.
        let finer_source = source.level.saturating_sub(target.level);
        let finer_target = target.level.saturating_sub(source.level);
        let difference = u32::from(finer_source | finer_target);
        let offset: [i32; 3] = std::array::from_fn(|i| {
            (target.centre[i] << finer_source) - (source.centre[i] << finer_target)
        });
        let r2: i64 = offset.iter().map(|&o| i64::from(o) * i64::from(o)).sum();
        let comparable = self.stencil != Stencil::Full || difference == 0 || {
            // The full stencil crosses levels only where a leaf ends one side.
            (finer_target > 0 && source.leaf) || (finer_source > 0 && target.leaf)
        };
        let point_pairs = targets as u64 * u64::from(source.sources);
        let cheap = difference >= 2 && point_pairs <= self.direct;
        let verdict = if comparable
            && !cheap
            && difference <= MAX_LEVEL_DIFFERENCE
            && r2 >= self.acceptance[difference as usize]
        {
            Verdict::Far
        } else if !source.leaf && (finer_source == 0 || target.leaf) {
            Verdict::SplitSource
        } else if !target.leaf {
            Verdict::SplitTarget
        } else {
            Verdict::Near
        };
        (verdict, offset)
    }
}

/// Boxes whose pairs are settled by a rule.
struct Traversal<'a> {
    tree: &'a Tree,
    boxes: &'a [BoxKey],
    rule: Rule,
}

impl Lists {
    /// Traverses `tree`; boxes two levels apart or more with up to `direct` pairs of points are
    /// summed directly; a block has up to `block_size` target boxes.
    pub fn new(tree: &Tree, stencil: Stencil, direct: u64, block_size: usize) -> Self {
        let boxes: Vec<BoxKey> = tree.cells.par_iter().with_min_len(4096).map(BoxKey::of).collect();
        Self::of_boxes(tree, &boxes, Rule::new(stencil, direct), block_size)
    }

    /// As [`Self::new`], with a key per box, which may have sources elsewhere.
    pub(crate) fn of_boxes(tree: &Tree, boxes: &[BoxKey], rule: Rule, block_size: usize) -> Self {
        let traversal = Traversal { tree, boxes, rule };
        let spare = Mutex::new(Vec::<Far>::new());
        let threads = rayon::current_num_threads();
        let mut lists = Self::default();
        let (mut keys, mut near) = (Vec::new(), Vec::new());
        // What the boxes of the level above left to their children, by block.
        let mut above: Vec<Found> =
            vec![Found { begins: vec![0, 1], left: vec![0], ..Found::default() }];
        let (mut begin_above, mut size_above) = (0, 1);
        for level in &tree.levels {
            // Boxes without targets take no part.
            let with_targets = |cell: &&Cell| !cell.targets.is_empty();
            let occupied = tree.cells[level.clone()].iter().filter(with_targets).count().max(1);
            let share = occupied.div_ceil(4 * threads);
            let size = share.max(LEAST_BLOCK).min(block_size) * level.len() / occupied;
            let starts: Vec<usize> = level.clone().step_by(size).collect();
            let found: Vec<(TargetBlock, Vec<u64>, Found)> = starts
                .into_par_iter()
                .with_max_len(1)
                .map(|start| {
                    let cells = start..(start + size).min(level.end);
                    let mut found = Found::default();
                    found.near.begins.push(0);
                    found.begins.push(0);
                    let taken = spare.lock().ok().and_then(|mut spare| spare.pop());
                    let mut far = taken.unwrap_or_default();
                    far.clear();
                    let mut stack = Vec::new();
                    for index in cells.clone() {
                        let parent = tree.cells[index].parent as usize - begin_above;
                        let (of, slot) = (&above[parent / size_above], parent % size_above);
                        let inherited = of.begins[slot] as usize..of.begins[slot + 1] as usize;
                        stack.extend_from_slice(&of.left[inherited]);
                        traversal.visit(index, &mut stack, &mut far, &mut found);
                    }
                    let (block, keys) = group(tree, cells, &far);
                    if let Ok(mut spare) = spare.lock() {
                        spare.push(far);
                    }
                    (block, keys, found)
                })
                .collect();
            above.clear();
            (begin_above, size_above) = (level.start, size);
            for (block, block_keys, mut found) in found {
                lists.target_blocks.push(block);
                keys.push(block_keys);
                lists.near_pairs += found.near_pairs;
                near.push(std::mem::take(&mut found.near));
                above.push(found);
            }
        }
        lists.near = Rows::joined(near);
        let all = keys.par_iter().fold(HashSet::new, |mut all: HashSet<u64>, keys: &Vec<u64>| {
            all.extend(keys);
            all
        });
        let all = all.reduce(HashSet::new, |mut all, more| {
            all.extend(more);
            all
        });
        let mut distinct: Vec<u64> = all.into_iter().collect();
        distinct.sort_unstable();
        let blocks = lists.target_blocks.par_iter_mut().zip(&keys);
        blocks.for_each(|(block, keys)| {
            for (batch, key) in block.batches.iter_mut().zip(keys) {
                batch.vector = distinct.partition_point(|k| k < key) as u32;
            }
        });
        lists.target_blocks.retain(|block| !block.pairs.is_empty());
        lists.vectors = distinct.into_iter().map(unpack).collect();
        lists
    }
}

impl Traversal<'_> {
    /// Settles what it can between target box `index` and the boxes on `stack`; the rest is left to
    /// its children.
    fn visit(&self, index: usize, stack: &mut Vec<u32>, far: &mut Far, found: &mut Found) {
        let targets = self.tree.cells[index].targets.len();
        if targets == 0 {
            stack.clear();
            far.ends.push(far.pairs.len() as u32);
            found.begins.push(found.left.len() as u32);
            return;
        }
        let target = self.boxes[index];
        let first_near = found.near.entries.len();
        while let Some(s) = stack.pop() {
            let source = self.boxes[s as usize];
            if source.sources == 0 {
                continue;
            }
            if source.level == target.level && self.rule.stencil != Stencil::Full {
                self.settle_equal(s, &source, &target, stack, far, found);
                continue;
            }
            let (verdict, offset) = self.rule.settle(&source, &target, targets);
            match verdict {
                Verdict::Far => {
                    far.push(i32::from(source.level) - i32::from(target.level), offset, s);
                }
                Verdict::SplitSource => {
                    stack.extend(self.tree.cells[s as usize].children().map(|c| c as u32));
                }
                Verdict::SplitTarget => found.left.push(s),
                Verdict::Near => found.near.entries.push(s),
            }
        }
        far.ends.push(far.pairs.len() as u32);
        found.begins.push(found.left.len() as u32);
        if target.leaf {
            // On one level Morton order of the sources, which is the order of memory.
            let near = &mut found.near.entries[first_near..];
            near.sort_unstable();
            let sources: u64 =
                near.iter().map(|&s| u64::from(self.boxes[s as usize].sources)).sum();
            found.near_pairs += targets as u64 * sources;
            found.near.cells.push(index as u32);
            found.near.begins.push(found.near.entries.len() as u32);
        }
    }

    /// As [`Self::visit`] of one pair of equal boxes: most of all pairs. Children are chosen
    /// without branches, which no processor would foresee.
    #[inline(always)]
    fn settle_equal(
        &self,
        s: u32,
        source: &BoxKey,
        target: &BoxKey,
        stack: &mut Vec<u32>,
        far: &mut Far,
        found: &mut Found,
    ) {
        // The target's parent had the source's parent near, so that offsets are small.
        let square = |offset: [i32; 3]| -> i32 { offset.iter().map(|&o| o * o).sum() };
        let offset: [i32; 3] = std::array::from_fn(|i| target.centre[i] - source.centre[i]);
        if i64::from(square(offset)) >= self.rule.acceptance[0] {
            far.push(0, offset, s);
            return;
        }
        if source.leaf {
            let rest = if target.leaf { &mut found.near.entries } else { &mut found.left };
            rest.push(s);
            return;
        }
        let accepted = self.rule.acceptance[1] as i32;
        let (mut taken, mut rest) = ([(0, [0; 3]); 8], [0; 8]);
        let (mut taken_count, mut rest_count) = (0, 0);
        for c in self.tree.cells[s as usize].children().take(8) {
            let child = &self.boxes[c];
            let offset = std::array::from_fn(|i| 2 * target.centre[i] - child.centre[i]);
            let far = square(offset) >= accepted;
            taken[taken_count % 8] = (c as u32, offset);
            rest[rest_count % 8] = c as u32;
            taken_count += usize::from((child.sources > 0) & far);
            rest_count += usize::from((child.sources > 0) & !far);
        }
        for &(c, offset) in &taken[..taken_count] {
            far.push(1, offset, c);
        }
        let rest = &rest[..rest_count];
        if !target.leaf {
            found.left.extend_from_slice(rest);
            return;
        }
        for &c in rest {
            if self.boxes[c as usize].leaf {
                found.near.entries.push(c);
            } else {
                stack.extend(self.tree.cells[c as usize].children().map(|c| c as u32));
            }
        }
    }
}

/// Brings a block's pairs together by vector, in the order of the targets. Returns the block and
/// the packed vector of each batch.
fn group(tree: &Tree, cells: Range<usize>, far: &Far) -> (TargetBlock, Vec<u64>) {
    let level = tree.cells[cells.start].level;
    let mut vectors = far.vectors.keys();
    vectors.sort_unstable();
    let mut batches = Vec::with_capacity(vectors.len());
    // For each number where its next pair goes, and where the level of its sources starts.
    let mut next = vec![[0u32; 2]; far.vectors.counts.len()];
    let mut end = 0;
    for &(key, number) in &vectors {
        let source_level = (i32::from(level) + coarser_target(key)) as u8;
        next[number as usize] = [end, tree.levels[source_level as usize].start as u32];
        let begin = end;
        end += far.vectors.counts[number as usize];
        batches.push(Batch { vector: 0, order: 0, source_level, pairs: begin..end });
    }
    let mut pairs = vec![[0; 2]; far.pairs.len()];
    let (mut begin, mut receivers) = (0, 0);
    for (target, &end) in far.ends.iter().enumerate() {
        for &[number, source] in &far.pairs[begin as usize..end as usize] {
            let [slot, level_start] = &mut next[number as usize];
            pairs[*slot as usize] = [source - *level_start, target as u32];
            *slot += 1;
        }
        receivers += u32::from(end > begin);
        begin = end;
    }
    let block = TargetBlock { level, cells, receivers, batches, pairs };
    (block, vectors.into_iter().map(|(key, _)| key).collect())
}
