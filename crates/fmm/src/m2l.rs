//! M2L: multipole expansions to the local expansions of one chunk of target boxes, batch by batch (docs/math.md,
//! "Translations").

use crate::harmonics::stride;
use crate::lists::Chunk;
use crate::simd::{Real, Simd, Task};
use crate::translate::{Expansions, Scratch, Tables, batch};
use crate::truncation::Orders;

/// All translations to one chunk.
pub(crate) struct M2lJob<'a, T> {
    pub(crate) chunk: &'a Chunk,
    pub(crate) tables: &'a Tables<T>,
    pub(crate) orders: &'a Orders,
    pub(crate) multipoles: &'a [Vec<T>],
    pub(crate) locals: &'a mut [T],
    pub(crate) stride: usize,
}

impl<T: Real> Task<T> for M2lJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let chunk = self.chunk;
        let p = chunk.batches.iter().map(|b| b.order as usize).max().unwrap_or(1);
        let mut scratch = Scratch::<V>::new(p);
        for b in &chunk.batches {
            let level = b.source_level as usize;
            let order = b.order as usize;
            let sources = Expansions {
                values: &self.multipoles[level],
                stride: stride::<T>(self.orders.multipole[level]),
            };
            let pairs = &chunk.pairs[b.pairs.start as usize..b.pairs.end as usize];
            let translation = self.tables.translation(b.vector as usize, order, order);
            batch(&translation, pairs, sources, self.locals, self.stride, &mut scratch);
        }
    }
}
