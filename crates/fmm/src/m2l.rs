//! M2L: multipole expansions to the local expansions of one chunk of target boxes, batch by batch (docs/math.md,
//! "Translations").

use std::ops::Range;

use crate::expansions::{Expansions, Level};
use crate::lists::Chunk;
use crate::shared::Shared;
use crate::simd::{self, Real};
use crate::translate::{Batch, Tables, TranslateJob};

/// Pairs a batch below which its lanes carry several densities: a few blocks' worth.
const SMALL_BATCH: usize = 24;

/// Whether the lanes of a chunk's batches should carry several densities. Other chunks do better with one density after the
/// other, each of which then fits the cache.
pub(crate) fn is_mixed(chunk: &Chunk) -> bool {
    chunk.pairs.len() < SMALL_BATCH * chunk.batches.len()
}

/// All translations to `chunk` of a run of densities. `locals` are the local expansions of the chunk's level, which begins with box
/// `level_begin` of the tree; `tables` those of the plan's vectors.
///
/// # Safety
/// No other job has part in the chunk's boxes.
pub(crate) unsafe fn m2l<T: Real>(
    simd: simd::Level,
    chunk: &Chunk,
    densities: Range<usize>,
    tables: &Tables<T>,
    multipoles: &Expansions<T>,
    (locals, level_begin): (&Level<Shared<'_, T>>, usize),
) {
    let batch = |i: usize| {
        let b = &chunk.batches[i];
        let order = b.order as usize;
        Batch {
            translation: tables.translation(b.vector as usize, order, order),
            pairs: &chunk.pairs[b.pairs.start as usize..b.pairs.end as usize],
            sources: multipoles.level(b.source_level as usize),
        }
    };
    let job = TranslateJob {
        densities,
        batches: chunk.batches.len(),
        batch: &batch,
        targets: locals,
        first: chunk.cells.start - level_begin,
        order: chunk.batches.iter().map(|b| b.order as usize).max().unwrap_or(1),
        mixed: is_mixed(chunk),
    };
    // SAFETY: seen from one target, a vector leads to one source; the rest is the caller's.
    unsafe { job.run(simd) };
}
