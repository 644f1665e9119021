//! M2L: multipole expansions to the local expansions of one block of target boxes, batch by batch
//! (docs/math.md, "Translations").

use std::ops::Range;

use crate::expansions::translate::{Batch, Tables, TranslateJob};
use crate::expansions::{Expansions, Level};
use crate::tree::lists::TargetBlock;
use parallel::DisjointSlice;
use simd::Real;

/// Pairs a batch below which its lanes carry several densities: a few blocks' worth.
const SMALL_BATCH: usize = 24;

/// Whether the lanes of a block's batches should carry several densities. Other blocks do better
/// with one density after the other, each of which then fits the cache.
pub(crate) fn is_mixed(block: &TargetBlock) -> bool {
    block.pairs.len() < SMALL_BATCH * block.batches.len()
}

/// All translations to `block` of a run of densities. `locals` are the local expansions of the
/// block's level, which begins with box `level_begin` of the tree; `tables` those of the plan's
/// vectors.
///
/// # Safety
/// No other job has part in the block's boxes for these densities.
pub(crate) unsafe fn m2l<T: Real>(
    simd: simd::Level,
    block: &TargetBlock,
    densities: Range<usize>,
    tables: &Tables<T>,
    multipoles: &Expansions<T>,
    locals: &Level<DisjointSlice<'_, T>>,
    level_begin: usize,
) {
    let batch = |i: usize| {
        let b = &block.batches[i];
        let order = b.order as usize;
        Batch {
            translation: tables.translation(
                b.vector as usize,
                usize::from(block.level),
                order,
                order,
            ),
            pairs: &block.pairs[b.pairs.start as usize..b.pairs.end as usize],
            sources: multipoles.level(b.source_level as usize),
        }
    };
    let job = TranslateJob {
        densities,
        batches: block.batches.len(),
        batch: &batch,
        targets: locals,
        first: block.cells.start - level_begin,
        order: block.batches.iter().map(|b| b.order as usize).max().unwrap_or(1),
        mixed: is_mixed(block),
    };
    // SAFETY: seen from one target, a vector leads to one source; the rest is the caller's.
    unsafe { job.run(simd) };
}
