//! The boxes that a treecode evaluates at the targets of other boxes, by bands of their distance.

use std::ops::Range;

use parallel::prelude::*;

use crate::expansions::truncation_numbers::P_MAX;
use crate::tree::Tree;

/// Distance from a box's centre, in sides of the box, from which on targets are far from it: its
/// corners are at 0.87.
pub(crate) const FAR: f64 = 1.5;

/// Distances of far targets, by factors of `2^(1/8)` from [`FAR`] on.
pub(crate) const BANDS: usize = 48;

/// Targets of one M2P job.
const JOB_TARGETS: usize = 256;

/// The boxes that are evaluated at the targets of other boxes.
#[derive(Clone, Debug, Default)]
pub struct FarRows {
    /// The boxes whose targets have a row, level by level.
    pub(crate) cells: Vec<u32>,
    pub(crate) begins: Vec<u32>,
    /// Source boxes, in each row those with most terms first.
    pub entries: Vec<u32>,
    /// Truncation number of each entry; before they are chosen, its [`class`].
    pub(crate) orders: Vec<u16>,
    /// How many of these terms are derivatives' alone.
    pub(crate) for_gradients: usize,
    /// For each level the jobs: a row and a run of its targets.
    pub jobs: Vec<Vec<(u32, Range<u32>)>>,
}

impl FarRows {
    /// The entries of a row.
    pub fn range(&self, row: usize) -> Range<usize> {
        self.begins[row] as usize..self.begins[row + 1] as usize
    }

    /// Evaluations of one box at one target.
    pub(crate) fn evaluations(&self) -> u64 {
        let jobs = self.jobs.iter().flatten();
        jobs.map(|(row, targets)| (targets.len() * self.range(*row as usize).len()) as u64).sum()
    }

    pub(crate) fn bytes(&self) -> usize {
        let jobs: usize = self.jobs.iter().map(Vec::len).sum();
        8 * self.cells.len() + 6 * self.entries.len() + jobs * size_of::<(u32, Range<u32>)>()
    }

    /// Gives each entry the truncation number of its class; entries whose number is 0 are dropped.
    pub(crate) fn assign(&mut self, tree: &Tree, of_classes: &[u16]) {
        let rows: Vec<usize> = (0..self.cells.len()).collect();
        let sorted: Vec<Vec<(u16, u32)>> = rows
            .into_par_iter()
            .with_min_len(16)
            .map(|row| {
                let of = |i: usize| of_classes[usize::from(self.orders[i])];
                // Sorted by counts: where each number begins, the largest first.
                let mut begins = [0u32; P_MAX + 2];
                for i in self.range(row) {
                    begins[usize::from(of(i))] += 1;
                }
                let mut end = 0;
                for begin in begins[1..].iter_mut().rev() {
                    (*begin, end) = (end, end + *begin);
                }
                let mut entries = vec![(0, 0); end as usize];
                for i in self.range(row) {
                    let p = of(i);
                    if p > 0 {
                        let slot = &mut begins[usize::from(p)];
                        entries[*slot as usize] = (p, self.entries[i]);
                        *slot += 1;
                    }
                }
                entries
            })
            .collect();
        let mut end = 0;
        for (row, of_row) in sorted.iter().enumerate() {
            self.begins[row] = end as u32;
            for &(p, entry) in of_row {
                (self.orders[end], self.entries[end]) = (p, entry);
                end += 1;
            }
        }
        if let Some(last) = self.begins.last_mut() {
            *last = end as u32;
        }
        self.orders.truncate(end);
        self.entries.truncate(end);
        self.jobs = tree.levels.iter().map(|_| Vec::new()).collect();
        for (row, &cell) in self.cells.iter().enumerate() {
            if self.range(row).is_empty() {
                continue;
            }
            let cell = &tree.cells[cell as usize];
            for first in cell.targets.clone().step_by(JOB_TARGETS) {
                let targets = first..cell.targets.end.min(first + JOB_TARGETS as u32);
                self.jobs[usize::from(cell.level)].push((row as u32, targets));
            }
        }
    }
}

/// Number of the class of boxes of a level in a band of distances.
pub(crate) fn class(level: u8, band: usize) -> usize {
    usize::from(level) * BANDS + band
}

/// The band of a distance.
pub(crate) fn band(distance: f64) -> usize {
    let bands = 8.0 * (distance.max(FAR) / FAR).log2();
    bands.min((BANDS - 1) as f64) as usize
}

/// The least distance of a band.
pub(crate) fn begin_of(band: usize) -> f64 {
    FAR * (band as f64 / 8.0).exp2()
}
