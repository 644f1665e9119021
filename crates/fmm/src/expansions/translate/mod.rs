//! The translation of a batch of expansions by one vector: rotate, translate along z, rotate back.
//!
//! A batch is all pairs of boxes that share a translation vector, whose matrices are in `tables`.
//! [`BLOCK`] vectors of lanes, one lane per pair, go through them at a time (`block`), so that each
//! matrix entry is read once for all of them. The same code serves M2M, M2L and L2L: they differ in
//! the coaxial matrices and in the truncation numbers on either side.

mod block;
pub mod frames;
mod tables;

use std::ops::Range;

use crate::expansions::harmonics::stride;
use crate::expansions::product::BLOCK;
use crate::expansions::screened::Screening;
use crate::expansions::storage::Level;
use crate::tree::vectors::Vector;
use parallel::DisjointSlice;
use simd::{MAX_LANES, Real, Simd, Task};

use block::{Block, Rotated};
use tables::Translation;
pub(crate) use tables::{Tables, Use};

/// All pairs of boxes of a job that share a vector: one of the job's batches.
pub(crate) struct Batch<'a, T> {
    pub(crate) translation: Translation<'a, T>,
    /// Box that is read, within its level; box that is written, counted from
    /// [`TranslateJob::first`].
    pub(crate) pairs: &'a [[u32; 2]],
    pub(crate) sources: Level<&'a [T]>,
}

/// Translations of some densities to a run of boxes.
pub(crate) struct TranslateJob<'a, T> {
    pub(crate) densities: Range<usize>,
    pub(crate) batches: usize,
    /// Batch `i` of the job.
    pub(crate) batch: &'a dyn Fn(usize) -> Batch<'a, T>,
    pub(crate) targets: &'a Level<DisjointSlice<'a, T>>,
    /// Place of the first box that is written within its level.
    pub(crate) first: usize,
    /// Largest truncation number of any batch.
    pub(crate) order: usize,
    /// Whether lanes carry several densities, which fills those of small batches.
    pub(crate) mixed: bool,
}

impl<'a, T: Real> TranslateJob<'a, T> {
    /// Translates and adds to the targets.
    ///
    /// # Safety
    /// No target occurs twice in a batch, and no other job has part in the targets.
    pub(crate) unsafe fn run(self, level: simd::Level) {
        simd::dispatch(level, Checked(self));
    }
}

/// A job whose caller has seen to its safety.
struct Checked<'a, T>(TranslateJob<'a, T>);

impl<T: Real> Task<T> for Checked<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let TranslateJob { densities, batches, batch, targets, first, order, mixed } = self.0;
        let mut rotated = Rotated::<V>::new(order);
        let together = if mixed { densities.len().max(1) } else { 1 };
        for density in densities.step_by(together) {
            for i in 0..batches {
                let batch = batch(i);
                // SAFETY: that of `TranslateJob::run`.
                unsafe {
                    translate(&batch, density..density + together, targets, first, &mut rotated)
                };
            }
        }
    }
}

/// Translates a batch for a run of densities.
///
/// # Safety
/// [`TranslateJob::run`]'s.
#[inline(always)]
unsafe fn translate<V: Simd>(
    batch: &Batch<'_, V::Scalar>,
    densities: Range<usize>,
    targets: &Level<DisjointSlice<'_, V::Scalar>>,
    first: usize,
    rotated: &mut Rotated<V>,
) {
    let Batch { translation, pairs, sources } = batch;
    let total = densities.len() * pairs.len();
    let (mut density, mut next) = (densities.start, 0);
    let mut done = 0;
    while done < total {
        // Where the expansions of each lane begin.
        let count = (total - done).min(BLOCK * V::LANES);
        let mut from = [0; BLOCK * MAX_LANES];
        let mut to = [0; BLOCK * MAX_LANES];
        for (from, to) in from.iter_mut().zip(&mut to).take(count) {
            let [source, target] = pairs[next].map(|i| i as usize);
            *from = density * sources.step + source * sources.stride;
            *to = density * targets.step + (first + target) * targets.stride;
            next += 1;
            if next == pairs.len() {
                (density, next) = (density + 1, 0);
            }
        }
        // Lanes without a pair read an expansion and write none.
        let last = from[count - 1];
        from[count..].fill(last);
        let block = Block {
            from: &from,
            to: &to[..count],
            sources: sources.values,
            targets: &targets.values,
        };
        // SAFETY: the caller's.
        unsafe {
            match count.div_ceil(V::LANES) {
                1 => block.translate::<V, 1>(translation, rotated),
                2 => block.translate::<V, 2>(translation, rotated),
                _ => block.translate::<V, BLOCK>(translation, rotated),
            }
        }
        done += count;
    }
}

/// How [`OneVector::translate`] goes through densities.
pub struct OneVectorRun {
    /// Number of densities.
    pub densities: usize,
    /// Whether lanes carry several of them.
    pub mixed: bool,
    /// Whether coefficients that M2L can do without are left out.
    pub cut: bool,
}

/// Translations of double-precision expansions by one vector alone.
pub struct OneVector {
    tables: Tables<f64>,
    p: usize,
}

impl OneVector {
    /// Without screening, of expansions of truncation number `p`.
    pub fn new(vector: Vector, p: usize) -> Self {
        let all = [Use { vector: 0, level: 0, order: p }];
        Self { tables: Tables::new(&[vector], all, Screening::default()), p }
    }

    /// Scalars between the starts of two expansions.
    pub fn stride(p: usize) -> usize {
        stride::<f64>(p)
    }

    /// Adds translated expansions, all of which lie one after the other, density after density, to
    /// those of `targets`, for pairs of places among them.
    ///
    /// # Safety
    /// No target occurs twice.
    pub unsafe fn translate(
        &self,
        level: simd::Level,
        OneVectorRun { densities, mixed, cut }: OneVectorRun,
        pairs: &[[u32; 2]],
        sources: &[f64],
        targets: &mut [f64],
    ) {
        let (p, stride) = (self.p, Self::stride(self.p));
        let step = sources.len() / densities;
        let batch = |_| {
            let mut translation = self.tables.translation(0, 0, p, p);
            translation.reach = translation.reach.filter(|_| cut);
            Batch { translation, pairs, sources: Level { values: sources, stride, step } }
        };
        let targets = Level { values: DisjointSlice::new(targets), stride, step };
        let job = TranslateJob {
            densities: 0..densities,
            batches: 1,
            batch: &batch,
            targets: &targets,
            first: 0,
            order: p,
            mixed,
        };
        // SAFETY: the caller's.
        unsafe { job.run(level) };
    }
}
