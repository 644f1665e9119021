//! Local inverses over all modes of linear densities.
//!
//! On adjacent needles, as graded meshes have along edges, the linear modes interact nearly as
//! strongly with each other as with themselves.

use std::cell::Cell;

use nalgebra::Vector3;
use parallel::prelude::*;

use super::local_inverse::{InverseBlock, LocalInverse, Neighbourhoods, Rows};
use crate::near::modes::{ModeBlock, ModePairs};
use crate::near::{Coefficient, FullRows, Near, Stored, over_images};
use crate::precondition::local_panels::{FACING, NEIGHBOURS_OF_FACING, are_on_two_sheets};
use crate::quadrature::modes::MODES;

/// Panels per neighbourhood, including itself: at most, and at least if enough panels are close. A
/// panel that faces another has as many as with constant densities, however weak: what one sheet
/// has in a neighbourhood, the other must have too.
const MOST: usize = 28;
const LEAST: usize = 10;

/// Panels belong to a neighbourhood from this strength A_ij / sqrt(A_ii A_jj) up: adjacent ones
/// have 0.5, needles more.
const STRONG: f64 = 0.3;

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

impl LocalInverse<ModeInverseBlock> {
    /// For panels of conductors, from the exact entries of close pairs; others have no rows.
    pub(crate) fn of_modes(
        near: &Near<ModeBlock>,
        pairs: &ModePairs<'_>,
        is_conductor: &(dyn Fn(usize) -> bool + Sync),
    ) -> Self {
        let of_block = |block: usize| {
            let (full, known) = (near.full_rows(block), Vec::new());
            let rows = full.rows.clone();
            Rows::new(rows, ModeNeighbourhoods { near, pairs, is_conductor, full, known })
        };
        let parts = (0..near.blocks()).into_par_iter().map(of_block).collect();
        Self::of_parts(near.len(), ModeBlock::ROWS, parts)
    }
}

/// Panels within a block of the near field.
struct ModeNeighbourhoods<'a> {
    near: &'a Near<ModeBlock>,
    pairs: &'a ModePairs<'a>,
    is_conductor: &'a (dyn Fn(usize) -> bool + Sync),
    /// Rows of the block.
    full: FullRows<ModeBlock>,
    /// Whether the near field has a pair of chosen panels, shape (chosen, chosen).
    known: Vec<bool>,
}

impl Neighbourhoods for ModeNeighbourhoods<'_> {
    type Block = ModeInverseBlock;

    fn choose(&mut self, i: usize, _lane: usize, chosen: &mut Vec<u32>) {
        chosen.clear();
        if !(self.is_conductor)(i) {
            return;
        }
        let diagonal = |i: usize| self.near.diagonal(i).even();
        let own = diagonal(i);
        let mut ranked: Vec<(f64, u32)> = Vec::new();
        for &(j, entry) in self.full.row(i) {
            if j as usize != i && (self.is_conductor)(j as usize) {
                ranked.push((entry.even() / (own * diagonal(j as usize)).sqrt(), j));
            }
        }
        ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let stronger = |than: f64| ranked.iter().take_while(move |(strength, _)| *strength > than);
        let panels = self.pairs.panels();
        let faces = stronger(FACING).any(|&(_, j)| are_on_two_sheets(panels, i, j as usize));
        let strong = stronger(STRONG).count().clamp(LEAST, MOST);
        ranked.truncate(if faces { NEIGHBOURS_OF_FACING } else { strong } - 1);
        chosen.extend(ranked.iter().map(|(_, j)| *j));
        chosen.sort_unstable_by(|a, b| b.cmp(a));
        chosen.insert(0, i as u32);
    }

    fn fill(&mut self, chosen: &[u32], set: &mut impl FnMut(usize, usize, f64)) {
        let Some((&first, others)) = chosen.split_first() else { return };
        let (near, count) = (self.near, chosen.len());
        self.known.clear();
        self.known.resize(count * count, false);
        let known = Cell::from_mut(&mut *self.known).as_slice_of_cells();
        // Panel `a` tested with `b`, in this order among the chosen ones.
        let mut put = |a: usize, b: usize, entry: &ModeBlock| {
            known[a * count + b].set(true);
            for (m, l) in (0..MODES).flat_map(|m| (0..MODES).map(move |l| (m, l))) {
                // Of symmetric blocks on the diagonal one half.
                if a < b || m <= l {
                    set(MODES * a + m, MODES * b + l, entry.entries()[m][l]);
                }
            }
        };
        put(0, 0, &near.diagonal(first as usize));
        for (j, entry) in self.full.row(first as usize) {
            if let Ok(b) = others.binary_search_by(|k| j.cmp(k)) {
                put(0, b + 1, entry);
            }
        }
        for (b, &i) in others.iter().enumerate() {
            put(b + 1, b + 1, &near.diagonal(i as usize));
            let mut left = b;
            near.later(i as usize, |j, entry| {
                while left > 0 && (others[left - 1] as usize) < j {
                    left -= 1;
                }
                if left > 0 && others[left - 1] as usize == j {
                    left -= 1;
                    put(left + 1, b + 1, &entry.transposed());
                }
            });
        }
        let rules = [self.pairs.accuracy.rule; 2];
        for (a, b) in (0..count).flat_map(|b| (0..b).map(move |a| (a, b))) {
            if !known[a * count + b].get() {
                let by_points =
                    |i, j| [self.pairs.entries_by_points(rules, i, j), ModeBlock::default()];
                let [i, j] = [chosen[a], chosen[b]].map(|i| i as usize);
                put(a, b, &over_images(self.pairs.panels(), i, j, by_points)[0]);
            }
        }
    }
}
