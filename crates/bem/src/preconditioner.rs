//! Overlapping local inverses of a near-field matrix.
//!
//! For each panel i the nearest panels N_i, by strength A_ij / sqrt(A_ii A_jj), make a small matrix A[N_i, N_i]; row i of its
//! inverse is row i of S. On the scale of the neighbourhood that is the exact inverse. (Vavasis, SIAM J. Matrix Anal. Appl. 13
//! (1992) 905; Carpentieri et al., SIAM J. Sci. Comput. 27 (2005) 774.) Clusters of panels take care of coarser scales.

use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use crate::Error;
use crate::coarse::Coarse;
use crate::gmres::LinearOperator;
use crate::near::Sparse;
use crate::points::Points;

/// Panels of a neighbourhood, itself among them.
pub(crate) const NEIGHBOURS: usize = 30;

const ROWS: usize = 256;

/// Row i: the charge on panel i that the potentials around it ask for, if the rest of the world were empty.
pub(crate) struct LocalInverse {
    starts: Vec<u32>,
    columns: Vec<u32>,
    /// Single precision: a preconditioner need not be exact, and it is half the memory.
    values: Vec<f32>,
}

impl LocalInverse {
    /// From exact entries on close pairs; entries of pairs that are missing there are taken from the quadrature points.
    pub(crate) fn new(near: &Sparse, points: &Points<'_>, neighbours: usize) -> Self {
        let n = near.rows();
        let blocks: Vec<usize> = (0..n).step_by(ROWS).collect();
        let diagonal: Vec<f64> =
            (0..n).map(|i| near.get(i, i).copied().unwrap_or(f64::NAN)).collect();
        let work = |&start: &usize| {
            let mut block = (Vec::with_capacity(ROWS), Vec::new(), Vec::new());
            let mut scratch = Scratch::default();
            for i in start..n.min(start + ROWS) {
                scratch.choose(near, &diagonal, i, neighbours);
                scratch.fill(near, points);
                let row = scratch.row_of_inverse(i);
                block.0.push(row.len() as u32);
                block.1.extend_from_slice(&scratch.chosen);
                block.2.extend(row.iter().map(|&v| v as f32));
            }
            block
        };
        let parts: Vec<(Vec<u32>, Vec<u32>, Vec<f32>)> = blocks.par_iter().map(work).collect();
        let total = parts.iter().map(|part| part.1.len()).sum();
        let mut all = Self {
            starts: Vec::with_capacity(n + 1),
            columns: Vec::with_capacity(total),
            values: Vec::with_capacity(total),
        };
        all.starts.push(0);
        let mut end = 0;
        for (lengths, columns, values) in parts {
            for length in lengths {
                end += length;
                all.starts.push(end);
            }
            all.columns.extend(columns);
            all.values.extend(values);
        }
        all
    }
}

#[derive(Default)]
struct Scratch {
    ranked: Vec<(f64, u32)>,
    chosen: Vec<u32>,
    matrix: DMatrix<f64>,
}

impl Scratch {
    fn choose(&mut self, near: &Sparse, diagonal: &[f64], i: usize, neighbours: usize) {
        self.ranked.clear();
        if let Some(row) = near.outer_view(i) {
            let strength = |(&j, &v): (&u32, &f64)| (-v / diagonal[j as usize].sqrt(), j);
            self.ranked.extend(row.indices().iter().zip(row.data()).map(strength));
        }
        if self.ranked.len() > neighbours {
            self.ranked.select_nth_unstable_by(neighbours, |a, b| a.0.total_cmp(&b.0));
            self.ranked.truncate(neighbours);
        }
        self.chosen.clear();
        self.chosen.extend(self.ranked.iter().map(|&(_, j)| j));
        self.chosen.sort_unstable();
    }

    fn fill(&mut self, near: &Sparse, points: &Points<'_>) {
        let m = self.chosen.len();
        self.matrix.resize_mut(m, m, 0.0);
        for (a, &i) in self.chosen.iter().enumerate() {
            let Some(row) = near.outer_view(i as usize) else { continue };
            let (columns, values) = (row.indices(), row.data());
            // Both lists are sorted: walk them together.
            let mut at = columns.partition_point(|&j| j < i);
            for (b, &j) in self.chosen.iter().enumerate().skip(a) {
                while at < columns.len() && columns[at] < j {
                    at += 1;
                }
                let known = at < columns.len() && columns[at] == j;
                let entry = if known { values[at] } else { points.entry(i as usize, j as usize) };
                self.matrix[(a, b)] = entry;
                self.matrix[(b, a)] = entry;
            }
        }
    }

    /// Row of panel `i` in the inverse of the local matrix, or of its diagonal should that be singular.
    fn row_of_inverse(&mut self, i: usize) -> Vec<f64> {
        let m = self.chosen.len();
        let at = self.chosen.binary_search(&(i as u32)).unwrap_or(0);
        let mut unit = DVector::zeros(m);
        unit[at] = 1.0;
        let matrix = std::mem::take(&mut self.matrix);
        let diagonal = matrix[(at, at)];
        let solved = matrix.cholesky().map(|factor| factor.solve(&unit));
        solved.unwrap_or_else(|| unit / diagonal).iter().copied().collect()
    }
}

impl LocalInverse {
    fn add_product(&self, x: &[f64], y: &mut [f64]) {
        let (starts, columns, values) = (&self.starts, &self.columns, &self.values);
        y.par_iter_mut().enumerate().with_min_len(ROWS).for_each(|(i, y)| {
            let row = starts[i] as usize..starts[i + 1] as usize;
            let terms = columns[row.clone()].iter().zip(&values[row]);
            *y += terms.map(|(&j, &v)| f64::from(v) * x[j as usize]).sum::<f64>();
        });
    }
}

/// Local inverses S below a coarse level: M v = R A_c^-1 R^T v + S (v - mean of v over its cluster).
///
/// On smooth potentials the local inverses answer as if each neighbourhood were alone in the world, with far too much charge;
/// the clusters' means keep these from them.
pub(crate) struct TwoLevel {
    local: LocalInverse,
    coarse: Option<Coarse>,
}

impl TwoLevel {
    pub(crate) fn new(local: LocalInverse, coarse: Option<Coarse>) -> Self {
        Self { local, coarse }
    }
}

impl LinearOperator for TwoLevel {
    fn len(&self) -> usize {
        self.local.starts.len() - 1
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], _columns: usize) -> Result<(), Error> {
        let n = self.len();
        y.fill(0.0);
        for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
            let Some(coarse) = &self.coarse else {
                self.local.add_product(x, y);
                continue;
            };
            let mut rest = x.to_vec();
            let means = coarse.remove_means(&mut rest);
            self.local.add_product(&rest, y);
            coarse.add_solution(means, y);
        }
        Ok(())
    }
}
