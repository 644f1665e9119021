//! Local inverses over all modes of linear densities.
//!
//! On adjacent needles, as graded meshes have along edges, the linear modes interact nearly as
//! strongly with each other as with themselves.

use nalgebra::Vector3;
use parallel::prelude::*;

use super::local_inverse::{InverseBlock, LocalInverse, Neighbourhoods, Rows};
use crate::near::modes::{ModeBlock, ModePairs};
use crate::near::{Coefficient, Entry, FullRows, Near, over_images};
use crate::quadrature::modes::MODES;

/// Panels per neighbourhood, including itself: at most, and at least if enough panels are close.
const MOST: usize = 28;
const LEAST: usize = 10;

/// Panels belong to a neighbourhood from this strength A_ij / sqrt(A_ii A_jj) up: adjacent ones
/// have 0.5, needles more.
const STRONG: f64 = 0.3;

/// Rows per task.
const ROWS: usize = 128;

/// Entries between the modes of two panels.
pub(crate) type ModeInverseBlock = [[f32; MODES]; MODES];

impl Coefficient for ModeInverseBlock {
    type Values = Vector3<f64>;

    fn add_product(self, x: Vector3<f64>, sum: &mut Vector3<f64>) {
        for (sum, row) in sum.iter_mut().zip(self) {
            *sum += (0..MODES).map(|l| f64::from(row[l]) * x[l]).sum::<f64>();
        }
    }
}

impl InverseBlock for ModeInverseBlock {
    const SIZE: usize = MODES;

    fn from_entries(entry: impl Fn(usize, usize) -> f64) -> Self {
        std::array::from_fn(|m| std::array::from_fn(|l| entry(m, l) as f32))
    }
}

/// Sources of entries: quadrature sums, and the near fields that correct them.
#[derive(Clone, Copy)]
pub(crate) struct Corrections<'a> {
    pub(crate) pairs: &'a ModePairs<'a>,
    /// Between constants.
    pub(crate) constants: &'a Near,
    /// Between modes.
    pub(crate) modes: &'a Near<ModeBlock>,
}

impl Corrections<'_> {
    fn by_points(&self, i: usize, j: usize) -> ModeBlock {
        let rules = [self.pairs.accuracy.rule; 2];
        let forth = |i, j| [self.pairs.entries_by_points(rules, i, j), ModeBlock::default()];
        over_images(self.pairs.panels(), i, j, forth)[0]
    }

    /// The constant-constant entry of a panel with itself.
    fn diagonal(&self, i: usize) -> f64 {
        self.by_points(i, i).even() + self.constants.diagonal(i)
    }
}

impl LocalInverse<ModeInverseBlock> {
    /// For panels of conductors; others have no rows.
    pub(crate) fn of_modes(
        corrections: Corrections<'_>,
        is_conductor: &(dyn Fn(usize) -> bool + Sync),
    ) -> Self {
        let near = corrections.constants;
        let n = near.len();
        let diagonal = |i: usize| corrections.diagonal(i);
        let diagonal: Vec<f64> = (0..n).into_par_iter().with_min_len(ROWS).map(diagonal).collect();
        let of_block = |block: usize| -> Vec<Rows<ModeInverseBlock>> {
            let full = near.full_rows(block);
            let part = |first: usize| {
                let rows = first..full.rows.end.min(first + ROWS);
                let (diagonal, full, entries) = (&*diagonal, &full, Vec::new());
                let neighbourhoods =
                    ModeNeighbourhoods { corrections, is_conductor, diagonal, full, entries };
                Rows::new(rows, neighbourhoods)
            };
            let starts: Vec<usize> = full.rows.clone().step_by(ROWS).collect();
            starts.into_par_iter().map(part).collect()
        };
        let parts: Vec<Vec<_>> = (0..near.blocks()).into_par_iter().map(of_block).collect();
        Self::of_parts(n, ROWS, parts.into_iter().flatten().collect())
    }
}

/// Panels within a block of the near field between constants.
struct ModeNeighbourhoods<'a> {
    corrections: Corrections<'a>,
    is_conductor: &'a (dyn Fn(usize) -> bool + Sync),
    /// Constant-constant entries of panels with themselves.
    diagonal: &'a [f64],
    /// Rows of the block.
    full: &'a FullRows,
    /// Entries between the chosen panels: panel `b` tested with `a` at `b * chosen + a`, a <= b.
    entries: Vec<ModeBlock>,
}

impl Neighbourhoods for ModeNeighbourhoods<'_> {
    type Block = ModeInverseBlock;

    fn choose(&mut self, i: usize, _lane: usize, chosen: &mut Vec<u32>) {
        chosen.clear();
        if !(self.is_conductor)(i) {
            return;
        }
        let mut ranked: Vec<(f64, u32)> = Vec::new();
        for &(j, left) in self.full.row(i) {
            if j as usize != i && (self.is_conductor)(j as usize) {
                let entry = self.corrections.by_points(i, j as usize).even() + left;
                let own = self.diagonal[i] * self.diagonal[j as usize];
                ranked.push((entry / own.sqrt(), j));
            }
        }
        ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let strong = ranked.iter().take_while(|(strength, _)| *strength > STRONG).count();
        ranked.truncate(strong.clamp(LEAST, MOST) - 1);
        chosen.push(i as u32);
        chosen.extend(ranked.iter().map(|(_, j)| *j));
    }

    fn fill(&mut self, chosen: &[u32], set: &mut impl FnMut(usize, usize, f64)) {
        let (count, corrections) = (chosen.len(), &self.corrections);
        let place = |j: usize| chosen.iter().position(|&other| other as usize == j);
        let entries = &mut self.entries;
        entries.clear();
        for (b, &i) in chosen.iter().enumerate() {
            let before =
                chosen[..=b].iter().map(|&j| corrections.by_points(i as usize, j as usize));
            entries.extend(before);
            entries.resize((b + 1) * count, ModeBlock::default());
        }
        for (b, i) in chosen.iter().map(|&i| i as usize).enumerate() {
            let mut add = |a: usize, more: ModeBlock| {
                let (row, column, more) =
                    if a <= b { (b, a, more) } else { (a, b, more.transposed()) };
                let entry = &mut entries[row * count + column];
                *entry = entry.plus(1.0, more);
            };
            add(b, ModeBlock::constant(corrections.constants.diagonal(i)));
            add(b, corrections.modes.diagonal(i));
            corrections.constants.later(i, |j, left| {
                place(j).into_iter().for_each(|a| add(a, ModeBlock::constant(left)));
            });
            corrections.modes.later(i, |j, left| {
                place(j).into_iter().for_each(|a| add(a, left));
            });
        }
        for b in 0..count {
            for a in 0..=b {
                let entry = entries[b * count + a].entries();
                for (m, l) in (0..MODES).flat_map(|m| (0..MODES).map(move |l| (m, l))) {
                    // Of symmetric blocks on the diagonal one half.
                    if a < b || m <= l {
                        set(MODES * a + m, MODES * b + l, entry[l][m]);
                    }
                }
            }
        }
    }
}
