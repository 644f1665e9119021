//! M2M, M2L and L2L of one plan, with the expansions that they translate.
//!
//! M2M goes level by level upward, M2L over blocks of target boxes, L2L level by level downward.
//! Each parallel job owns a contiguous run of boxes of one level, for some of the densities, so no
//! two jobs write the same memory.

use std::ops::Range;

use parallel::prelude::*;

use crate::expansions::Expansions;
use crate::expansions::product::BLOCK;
use crate::expansions::translate::{Tables, Use};
use crate::expansions::truncation_numbers::TruncationNumbers;
use crate::geometry::Geometry;
use crate::model::stop::Ending;
use crate::stages::parent_child::{ParentChildBatch, ParentChildJob, translate_batches};
use crate::stages::{l2l, m2l, m2m};
use crate::tree::Cell;
use crate::tree::lists::Lists;
use crate::tree::vectors::{Kind, Vector};
use simd::{Level, Real};

/// Expansions of all boxes, and what translates them.
#[derive(Debug)]
pub(crate) struct Translations<T> {
    simd: Level,
    m2l: Tables<T>,
    m2m: Tables<T>,
    l2l: Tables<T>,
    /// M2M, from the deepest level up.
    upward: Vec<Vec<ParentChildBatch>>,
    /// L2L, from the root down.
    downward: Vec<Vec<ParentChildBatch>>,
    /// Of each level the run of boxes, by their places in it, outside of which none has targets.
    receiving: Vec<Range<usize>>,
    pub multipoles: Expansions<T>,
    pub locals: Expansions<T>,
}

impl<T: Real> Translations<T> {
    /// Tables and room for the expansions of one density.
    pub(crate) fn new(simd: Level, geometry: &Geometry) -> Self {
        let Geometry { screening, tree, lists, numbers, .. } = geometry;
        let levels = tree.levels.len();
        let upward = (0..levels.saturating_sub(1))
            .rev()
            .map(|level| match numbers.multipole[level] {
                0 => Vec::new(),
                _ => m2m::parents(tree, level, |cell| geometry.is_own(cell)),
            })
            .collect();
        let downward = (1..levels)
            .map(|level| match numbers.local[level - 1] {
                0 => Vec::new(),
                _ => l2l::children(tree, level),
            })
            .collect();
        let between = |kind, stored: &[usize]| {
            // A treecode has no local expansions.
            let levels = if stored.iter().any(|&p| p > 0) { levels } else { 0 };
            Tables::new(&octants(kind), octant_uses(levels, numbers), *screening)
        };
        let mut translations = Self {
            simd,
            m2l: Tables::new(&lists.vectors, far_uses(lists), *screening),
            m2m: between(Kind::M2m, &numbers.multipole),
            l2l: between(Kind::L2l, &numbers.local),
            upward,
            downward,
            receiving: tree
                .levels
                .iter()
                .map(|level| receiving(&tree.cells[level.clone()]))
                .collect(),
            multipoles: Expansions::new(tree, &numbers.multipole),
            locals: Expansions::new(tree, &numbers.local),
        };
        translations.reserve(1);
        translations
    }

    /// Makes room for the expansions of k densities; the values are arbitrary.
    pub(crate) fn reserve(&mut self, k: usize) {
        self.multipoles.reserve(k);
        self.locals.reserve(k);
    }

    /// Makes the multipole expansions of k densities from those of the leaves.
    pub(crate) fn m2m(
        &mut self,
        Geometry { tree, numbers, .. }: &Geometry,
        k: usize,
        stop: &Ending,
    ) {
        let levels = tree.levels.len();
        for (i, batches) in self.upward.iter().enumerate() {
            let level = levels - 2 - i;
            let (order_in, order_out) = (numbers.multipole[level + 1], numbers.multipole[level]);
            let first = tree.levels[level].start;
            let tables = &self.m2m;
            let job = ParentChildJob { tables, level, order_in, order_out, k, first, stop };
            let (from, to) = self.multipoles.neighbours(level, false);
            translate_batches(self.simd, job, batches, from, &to);
        }
    }

    /// Makes the local expansions of k densities, without what boxes get from their parents.
    pub(crate) fn m2l(&mut self, Geometry { tree, lists, .. }: &Geometry, k: usize, stop: &Ending) {
        let Self { simd, m2l, receiving, multipoles, locals, .. } = self;
        locals.clear(k, receiving);
        let levels = locals.share();
        let blocks = &lists.target_blocks;
        // Few blocks are work for all threads where each takes some of the densities.
        let parts = 2 * rayon::current_num_threads() / blocks.len().max(1);
        let together = k.div_ceil(parts.max(1)).max(1);
        (0..k * blocks.len()).into_par_iter().with_max_len(1).for_each(|i| {
            let (density, block) = (i / blocks.len(), &blocks[i % blocks.len()]);
            let densities = match m2l::is_mixed(block) {
                true if density % together > 0 => return,
                true => density..k.min(density + together),
                false => density..density + 1,
            };
            if !stop.is_set() {
                let level = block.level as usize;
                let (locals, begin) = (&levels[level], tree.levels[level].start);
                // SAFETY: blocks are runs of boxes that do not overlap, and no two jobs of a block
                // have a density in common.
                unsafe { m2l::m2l(*simd, block, densities, m2l, multipoles, locals, begin) };
            }
        });
    }

    /// Adds the parents' local expansions.
    pub(crate) fn l2l(
        &mut self,
        Geometry { tree, numbers, .. }: &Geometry,
        k: usize,
        stop: &Ending,
    ) {
        for (level, batches) in self.downward.iter().enumerate() {
            let (order_in, order_out) = (numbers.local[level], numbers.local[level + 1]);
            let first = tree.levels[level + 1].start;
            let tables = &self.l2l;
            let level = level + 1;
            let job = ParentChildJob { tables, level, order_in, order_out, k, first, stop };
            let (from, to) = self.locals.neighbours(level - 1, true);
            translate_batches(self.simd, job, batches, from, &to);
        }
    }

    /// Terms p^3 of M2M and L2L, both truncation numbers taken half, vectors of lanes filled up,
    /// and one more vector for each block of them, which reads the matrices.
    pub(crate) fn between_levels(&self, geometry: &Geometry, lanes: usize) -> [f64; 2] {
        let TruncationNumbers { multipole, local, .. } = &geometry.numbers;
        let upward = self.upward.iter().zip(multipole.windows(2).rev());
        let downward = self.downward.iter().zip(local.windows(2));
        let terms = |(batches, p): (&Vec<ParentChildBatch>, &[usize])| {
            let octants = batches.iter().flat_map(|batch| &batch.octants);
            let vectors = octants.map(|pairs| pairs.len().div_ceil(lanes));
            let filled: usize =
                vectors.map(|vectors| lanes * (vectors + vectors.div_ceil(BLOCK))).sum();
            filled as f64 * p.iter().map(|&p| 0.5 * (p as f64).powi(3)).sum::<f64>()
        };
        [upward.map(terms).sum(), downward.map(terms).sum()]
    }

    /// Bytes of the expansions.
    pub(crate) fn bytes(&self) -> usize {
        self.multipoles.bytes() + self.locals.bytes()
    }
}

/// The run of boxes outside of which none has targets.
fn receiving(cells: &[Cell]) -> Range<usize> {
    let with_targets = |cell: &Cell| !cell.targets.is_empty();
    let first = cells.iter().position(with_targets).unwrap_or(0);
    first..cells.iter().rposition(with_targets).map_or(first, |last| last + 1)
}

/// Where M2L uses its vectors.
fn far_uses(lists: &Lists) -> impl Iterator<Item = Use> {
    lists.target_blocks.iter().flat_map(|block| {
        block.batches.iter().map(|batch| Use {
            vector: batch.vector as usize,
            level: usize::from(block.level),
            order: usize::from(batch.order),
        })
    })
}

/// Where M2M and L2L use theirs: all levels, whatever is there.
fn octant_uses(levels: usize, numbers: &TruncationNumbers) -> impl Iterator<Item = Use> {
    let order = numbers.max().max(1);
    (0..levels).flat_map(move |level| (0..8).map(move |vector| Use { vector, level, order }))
}

/// The vectors from a box's centre to its children's, in half sides of a child.
fn octants(kind: Kind) -> Vec<Vector> {
    let sign = |octant: usize, axis: usize| if octant >> axis & 1 == 1 { 1 } else { -1 };
    let vector = |octant| Vector { kind, offset: std::array::from_fn(|axis| sign(octant, axis)) };
    (0..8).map(vector).collect()
}
