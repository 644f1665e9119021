//! Where the expansions of all boxes lie: an array for each level, in it density by density, box by
//! box.

use std::ops::Range;

use parallel::prelude::*;

use crate::expansions::harmonics::stride;
use crate::tree::Tree;
use crate::tree::morton::MAX_DEPTH;
use parallel::DisjointSlice;
use simd::Real;

/// Multipole or local expansions of k densities.
#[derive(Debug)]
pub(crate) struct Expansions<T> {
    levels: Vec<Vec<T>>,
    /// For each level its truncation number and the number of its boxes.
    shapes: Vec<(usize, usize)>,
}

/// The expansions of one level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level<A> {
    pub values: A,
    /// Scalars between the starts of two boxes' expansions.
    pub stride: usize,
    /// Scalars between the starts of two densities.
    pub step: usize,
}

impl<T: Real> Expansions<T> {
    /// `orders` are the levels' truncation numbers; 0 = none are kept.
    pub(crate) fn new(tree: &Tree, orders: &[usize]) -> Self {
        let shapes: Vec<_> =
            tree.levels.iter().zip(orders).map(|(level, &p)| (p, level.len())).collect();
        Self { levels: vec![Vec::new(); shapes.len()], shapes }
    }

    /// Makes room for k densities; the values are arbitrary.
    pub(crate) fn reserve(&mut self, k: usize) {
        for (level, &(p, cells)) in self.levels.iter_mut().zip(&self.shapes) {
            let length = k * cells * stride::<T>(p);
            if length > level.len() {
                // Pages are committed at first touch: by all threads, in the first sum.
                *level = vec![T::default(); length];
            }
        }
    }

    /// The coefficients of one density of box `slot` of a level.
    pub(crate) fn of_box(&self, level: usize, density: usize, slot: usize) -> &[T] {
        &self.levels[level][self.range(level, density, slot)]
    }

    /// As [`Self::of_box`], to write.
    pub(crate) fn of_box_mut(&mut self, level: usize, density: usize, slot: usize) -> &mut [T] {
        let range = self.range(level, density, slot);
        &mut self.levels[level][range]
    }

    fn range(&self, level: usize, density: usize, slot: usize) -> Range<usize> {
        let (p, cells) = self.shapes[level];
        let begin = (density * cells + slot) * stride::<T>(p);
        begin..begin + p * p
    }

    /// Makes the coefficients of k densities zero, of a run of boxes of each level.
    pub(crate) fn clear(&mut self, k: usize, boxes: &[Range<usize>]) {
        let levels = self.levels.par_iter_mut().zip(&self.shapes).zip(boxes);
        levels.for_each(|((level, &(p, cells)), boxes)| {
            let stride = stride::<T>(p);
            let (step, levels) = (cells * stride, &mut level[..k * cells * stride]);
            levels.par_chunks_mut(step.max(1)).for_each(|level| {
                let run = &mut level[boxes.start * stride..boxes.end * stride];
                run.par_iter_mut().with_min_len(1 << 16).for_each(|l| *l = T::default());
            });
        });
    }

    /// The levels for reading and writing by jobs, those below the tree empty.
    pub(crate) fn share(&mut self) -> [Level<DisjointSlice<'_, T>>; MAX_DEPTH + 1] {
        let shapes = &self.shapes;
        let mut levels = self.levels.iter_mut().enumerate();
        std::array::from_fn(|_| match levels.next() {
            Some((level, values)) => {
                let stride = stride::<T>(shapes[level].0);
                Level { values: DisjointSlice::new(values), stride, step: shapes[level].1 * stride }
            }
            None => Level { values: DisjointSlice::new(&mut []), stride: 0, step: 0 },
        })
    }

    /// One level for reading.
    pub(crate) fn level(&self, level: usize) -> Level<&[T]> {
        let stride = stride::<T>(self.shapes[level].0);
        Level { values: &self.levels[level], stride, step: self.shapes[level].1 * stride }
    }

    /// Level `level` for reading and level `level + 1` for writing, or the other way round if not
    /// `down`.
    pub(crate) fn neighbours(
        &mut self,
        level: usize,
        down: bool,
    ) -> (Level<&[T]>, Level<DisjointSlice<'_, T>>) {
        let shapes = &self.shapes;
        let (above, below) = self.levels.split_at_mut(level + 1);
        let (upper, lower) = (&mut above[level][..], &mut below[0][..]);
        let (from, to) = if down { (upper, lower) } else { (lower, upper) };
        let (of_from, of_to) = if down { (level, level + 1) } else { (level + 1, level) };
        let view = |level: usize| (stride::<T>(shapes[level].0), shapes[level].1);
        let ((from_stride, from_cells), (to_stride, to_cells)) = (view(of_from), view(of_to));
        (
            Level { values: from, stride: from_stride, step: from_cells * from_stride },
            Level { values: DisjointSlice::new(to), stride: to_stride, step: to_cells * to_stride },
        )
    }

    /// Fills the levels of one density, one after another, from the ranges of one array that holds
    /// them in turn.
    pub(crate) fn load(&mut self, mut load: impl FnMut(&mut [T], Range<usize>)) {
        let mut begin = 0;
        for (level, &(p, cells)) in self.levels.iter_mut().zip(&self.shapes) {
            let length = cells * stride::<T>(p);
            load(&mut level[..length], begin..begin + length);
            begin += length;
        }
    }

    /// Hands the levels of one density out, one after another, with their ranges in one array that
    /// holds them in turn.
    pub(crate) fn store(&self, mut store: impl FnMut(&[T], Range<usize>)) {
        let mut begin = 0;
        for (level, &(p, cells)) in self.levels.iter().zip(&self.shapes) {
            let length = cells * stride::<T>(p);
            store(&level[..length], begin..begin + length);
            begin += length;
        }
    }

    /// Bytes of one density.
    pub(crate) fn bytes_of_one(&self) -> usize {
        self.shapes.iter().map(|&(p, cells)| cells * stride::<T>(p) * size_of::<T>()).sum()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.levels.iter().map(|l| l.len() * size_of::<T>()).sum()
    }
}
