//! Overlapping local inverses of a matrix.
//!
//! For each panel i the nearest panels N_i, by strength A_ij / sqrt(A_ii A_jj), give a small matrix
//! A[N_i, N_i]; row i of its inverse is row i of S. On the scale of the neighbourhood that is the
//! exact inverse. (Vavasis, SIAM J. Matrix Anal. Appl. 13 (1992) 905; Carpentieri et al., SIAM J.
//! Sci. Comput. 27 (2005) 774.) Clusters of panels handle coarser scales.
//!
//! Rows and columns are numbers, or blocks over the modes of a panel. `local_panels`,
//! `local_clusters` and `local_modes` have the small matrices.

use std::fmt::Debug;
use std::ops::Range;

use parallel::prelude::*;
use simd::{Simd, Task};

use crate::near::Coefficient;
use crate::precondition::local::BatchedLdl;

/// Columns per row for which there is room at first.
const COLUMNS: usize = 32;

/// Entries of the inverse between the unknowns of two panels. In single precision: a preconditioner
/// need not be exact, and this halves the memory.
pub trait InverseBlock: Coefficient + Debug {
    /// Unknowns per panel.
    const SIZE: usize;
    /// From entries by row and column.
    fn from_entries(entry: impl Fn(usize, usize) -> f64) -> Self;
}

impl InverseBlock for f32 {
    const SIZE: usize = 1;

    fn from_entries(entry: impl Fn(usize, usize) -> f64) -> Self {
        entry(0, 0) as Self
    }
}

/// The small matrices of some rows.
pub(super) trait Neighbourhoods {
    /// Entries of the inverse.
    type Block: InverseBlock;
    /// Panel `i`, then others with which it interacts most, for a matrix in this lane; none if the
    /// row is empty.
    fn choose(&mut self, i: usize, lane: usize, chosen: &mut Vec<u32>);
    /// Sets entries of all lanes at once, before [`Self::fill`].
    fn fill_lanes<V: Simd<Scalar = f64>>(&self, _chosen: &[Vec<u32>], _local: &mut BatchedLdl<V>) {}
    /// Sets entries (a, b), a <= b, between the unknowns of chosen panels.
    fn fill(&mut self, chosen: &[u32], set: &mut impl FnMut(usize, usize, f64));
}

/// Row i: the charge on panel i that gives the potentials around it, ignoring everything else.
pub struct LocalInverse<B = f32> {
    pub(super) len: usize,
    /// Consecutive rows, as many in each part but the last.
    parts: Vec<Rows<B>>,
    rows_per_part: usize,
}

impl<B: InverseBlock> LocalInverse<B> {
    pub(super) fn of_parts(len: usize, rows_per_part: usize, parts: Vec<Rows<B>>) -> Self {
        Self { len, parts, rows_per_part }
    }

    /// y += S x for the values of each panel.
    pub(super) fn add_product(&self, x: &[B::Values], y: &mut [B::Values]) {
        let rows = y.par_chunks_mut(self.rows_per_part.max(1));
        self.parts.par_iter().zip(rows).for_each(|(part, y)| part.add_product(x, y));
    }
}

impl LocalInverse {
    /// No entries.
    pub(super) fn none(len: usize) -> Self {
        Self::of_parts(len, 1, Vec::new())
    }

    /// Where each row begins and ends, its columns and values.
    pub(crate) fn rows(&self) -> (Vec<u32>, Vec<u32>, Vec<f32>) {
        let mut starts = vec![0];
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for part in &self.parts {
            let first = columns.len() as u32;
            starts.extend(part.starts[1..].iter().map(|start| first + start));
            columns.extend_from_slice(&part.columns);
            values.extend_from_slice(&part.values);
        }
        (starts, columns, values)
    }
}

/// Consecutive rows of S.
pub(super) struct Rows<B> {
    /// Where each row begins; last, where they end.
    starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<B>,
}

impl<B: InverseBlock> Rows<B> {
    /// These rows of the inverse.
    pub(super) fn new(rows: Range<usize>, neighbourhoods: impl Neighbourhoods<Block = B>) -> Self {
        simd::run(Invert { rows, neighbourhoods })
    }

    fn add_product(&self, x: &[B::Values], y: &mut [B::Values]) {
        for (y, ends) in y.iter_mut().zip(self.starts.windows(2)) {
            let row = ends[0] as usize..ends[1] as usize;
            let mut sum = B::Values::default();
            for (&j, value) in self.columns[row.clone()].iter().zip(&self.values[row]) {
                value.add_product(x[j as usize], &mut sum);
            }
            *y += sum;
        }
    }
}

/// Inverts small matrices, one per lane at a time.
struct Invert<N> {
    rows: Range<usize>,
    neighbourhoods: N,
}

impl<N: Neighbourhoods> Task<f64> for Invert<N> {
    type Output = Rows<N::Block>;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Rows<N::Block> {
        let Self { rows: range, mut neighbourhoods } = self;
        let size = N::Block::SIZE;
        let room = COLUMNS * range.len();
        let (mut starts, mut columns) = (vec![0], Vec::with_capacity(room));
        let mut values = Vec::with_capacity(room);
        let (mut local, mut alone) = (BatchedLdl::<V>::default(), BatchedLdl::<V>::default());
        let mut chosen = vec![Vec::new(); V::LANES];
        for first in range.clone().step_by(V::LANES) {
            let count = V::LANES.min(range.end - first);
            let chosen = &mut chosen[..count];
            for (lane, chosen) in chosen.iter_mut().enumerate() {
                neighbourhoods.choose(first + lane, lane, chosen);
            }
            local.clear(size * chosen.iter().map(Vec::len).max().unwrap_or(0));
            neighbourhoods.fill_lanes(chosen, &mut local);
            for (lane, chosen) in chosen.iter().enumerate() {
                neighbourhoods.fill(chosen, &mut |a, b, entry| local.set(a, b, lane, entry));
            }
            local.solve(size);
            for (lane, chosen) in chosen.iter().enumerate() {
                let block = |of: &BatchedLdl<V>, a: usize, lane: usize| {
                    N::Block::from_entries(|m, l| of.solution(size * a + l, m, lane))
                };
                columns.extend(chosen);
                if local.is_definite(lane) {
                    values.extend((0..chosen.len()).map(|a| block(&local, a, lane)));
                } else if let Some(own) = chosen.first() {
                    // The panel is used alone.
                    alone.clear(size);
                    let set = &mut |a, b, entry| alone.set(a, b, 0, entry);
                    neighbourhoods.fill(std::slice::from_ref(own), set);
                    alone.solve(size);
                    values.push(block(&alone, 0, 0));
                    values.resize(columns.len(), N::Block::default());
                }
                starts.push(columns.len() as u32);
            }
        }
        columns.shrink_to_fit();
        values.shrink_to_fit();
        Rows { starts, columns, values }
    }
}
