//! Which pairs of panels are too close for the operator's quadrature points, and their exact integrals.
//!
//! A matrix entry is the mean potential on panel i of a unit charge spread evenly over panel j,
//!
//! ```text
//! A_ij = 1 / (A_i A_j) int_i int_j dS_x dS_y / |x - y|
//! ```
//!
//! and the operator's quadrature replaces it by sum_pq w_p w_q / |x_p - x_q|. The matrix kept here holds the difference for
//! pairs where it matters.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use sprs::CsMatI;

use crate::pair::PairQuadrature;
use crate::panels::{Neighbours, Panels};
use crate::points::Points;
use crate::triangle::Vec3;
use crate::{Error, Progress, Stage};

/// Square sparse matrix over panels.
pub(crate) type Sparse = CsMatI<f64, u32, usize>;

/// Rows that one task works at a time.
const ROWS: usize = 256;

/// A symmetric sparse pattern, diagonal included, columns of a row in increasing order.
pub(crate) struct Pattern {
    row_starts: Vec<usize>,
    columns: Vec<u32>,
}

impl Pattern {
    /// Panels whose centroids are nearer to each other than the reach of either.
    pub(crate) fn new(panels: &Panels, reach: &[f64]) -> Self {
        let n = panels.len();
        let centroids: Vec<Vec3> = (0..n).map(|i| panels.centroid(i)).collect();
        let search = Neighbours::new(&centroids, reach);
        let starts: Vec<usize> = (0..n).step_by(ROWS).collect();
        let rows = |&start: &usize| {
            let (mut ends, mut columns) = (Vec::with_capacity(ROWS), Vec::new());
            for i in start..n.min(start + ROWS) {
                search.of(i, &mut columns);
                ends.push(columns.len());
            }
            (ends, columns)
        };
        let blocks: Vec<(Vec<usize>, Vec<u32>)> = starts.par_iter().map(rows).collect();
        let total = blocks.iter().map(|(_, columns)| columns.len()).sum();
        let mut pattern =
            Self { row_starts: Vec::with_capacity(n + 1), columns: Vec::with_capacity(total) };
        pattern.row_starts.push(0);
        for (ends, block) in blocks {
            let before = pattern.columns.len();
            pattern.row_starts.extend(ends.iter().map(|end| before + end));
            pattern.columns.extend_from_slice(&block);
        }
        pattern
    }

    /// Entries in all.
    pub(crate) fn entries(&self) -> usize {
        self.columns.len()
    }

    fn row(&self, i: usize) -> &[u32] {
        &self.columns[self.row_starts[i]..self.row_starts[i + 1]]
    }

    /// Smallest distance of points of two panels, relative to the smaller panel's size (root of its area), at most 1.
    ///
    /// Where it is small, sheets face each other: their potentials nearly cancel, and entries must be that much better.
    pub(crate) fn closest(&self, panels: &Panels, points: &Points<'_>) -> f64 {
        let row = |i: usize| {
            let others = self.row(i).iter().map(|&j| j as usize).filter(|&j| j > i);
            let relative = |j: usize| {
                let size = panels.areas()[i].min(panels.areas()[j]).sqrt();
                points.nearest(i, j, size) / size
            };
            others.map(relative).fold(1.0, f64::min)
        };
        (0..panels.len()).into_par_iter().map(row).reduce(|| 1.0, f64::min)
    }
}

/// Exact entries A_ij on a symmetric pattern, each pair integrated once.
///
/// # Errors
/// [`Error::Interrupted`].
pub(crate) fn assemble(
    panels: &Panels,
    Pattern { row_starts, columns }: Pattern,
    pairs: &PairQuadrature,
    progress: &dyn Progress,
) -> Result<Sparse, Error> {
    let n = panels.len();
    let values: Vec<AtomicU64> = (0..columns.len()).map(|_| AtomicU64::new(0)).collect();
    let done = AtomicU64::new(0);
    let starts: Vec<usize> = (0..n).step_by(ROWS).collect();
    let rows = |&start: &usize| {
        let end = n.min(start + ROWS);
        for i in start..end {
            for at in row_starts[i]..row_starts[i + 1] {
                let j = columns[at] as usize;
                if j < i {
                    continue;
                }
                let (first, second) = panels.ordered(i, j);
                let (s, t) = (panels.panel(first), panels.panel(second));
                let entry = pairs.single_layer(&s, &t) / (s.area * t.area);
                let bits = entry.to_bits();
                values[at].store(bits, Ordering::Relaxed);
                let row = &columns[row_starts[j]..row_starts[j + 1]];
                if let Ok(mirror) = row.binary_search(&(i as u32)) {
                    values[row_starts[j] + mirror].store(bits, Ordering::Relaxed);
                }
            }
        }
        let rows = (end - start) as u64;
        let done = done.fetch_add(rows, Ordering::Relaxed) + rows;
        progress.advance(Stage::NearField, done, n as u64)
    };
    if !starts.par_iter().all(rows) {
        return Err(Error::Interrupted);
    }
    let values = values.into_iter().map(|v| f64::from_bits(v.into_inner())).collect();
    Ok(CsMatI::new((n, n), row_starts, columns, values))
}

/// Takes the quadrature's entries from exact ones: what is left corrects a sum over the points.
pub(crate) fn subtract_quadrature(near: Sparse, points: &Points<'_>) -> Sparse {
    let n = near.rows();
    let (row_starts, columns, mut values) = near.into_raw_storage();
    let mut rows = Vec::with_capacity(n);
    let mut rest = values.as_mut_slice();
    for (start, end) in row_starts.iter().zip(&row_starts[1..]) {
        let (row, after) = rest.split_at_mut(end - start);
        rows.push(row);
        rest = after;
    }
    rows.par_iter_mut().enumerate().with_min_len(ROWS).for_each(|(i, row)| {
        for (value, &j) in row.iter_mut().zip(&columns[row_starts[i]..]) {
            *value -= points.entry(i, j as usize);
        }
    });
    CsMatI::new((n, n), row_starts, columns, values)
}

/// y += M x for `k` vectors, `x` and `y` of shape (k, n).
pub(crate) fn multiply_add(matrix: &Sparse, x: &[f64], y: &mut [f64]) {
    let n = matrix.rows();
    for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
        y.par_chunks_mut(ROWS).enumerate().for_each(|(block, y)| {
            for (row, y) in y.iter_mut().enumerate() {
                if let Some(row) = matrix.outer_view(block * ROWS + row) {
                    let terms = row.indices().iter().zip(row.data());
                    *y += terms.map(|(&j, v)| v * x[j as usize]).sum::<f64>();
                }
            }
        });
    }
}
