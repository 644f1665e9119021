//! Panels at which equations are checked, distributed over the area and over the charge of each
//! part of the surface: a residual matters by its work on the charge, most of which may be on a
//! small share of the area.

use parallel::prelude::*;

/// Entries of all checked rows, at most.
const ENTRIES: usize = 1_000_000;

/// Rows at least and at most, unless there are more parts.
const ROWS: [usize; 2] = [8, 16];

/// Parts sampled at most; with more parts, every n-th is sampled.
const PARTS: usize = 64;

/// Panels from which some are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Surface<'a> {
    /// Area of each.
    pub areas: &'a [f64],
    /// The part of the surface to which each belongs.
    pub part: &'a [u32],
    /// Number of parts; some may have no panels.
    pub parts: usize,
}

impl Surface<'_> {
    /// How many rows are checked where each has this number of panels and images.
    pub(crate) fn rows(&self, panels: usize) -> usize {
        (ENTRIES / panels.max(1)).clamp(ROWS[0], ROWS[1]).max(self.parts.min(PARTS))
    }

    /// Share of each panel in its part: half by area, half by charge, with equal weight for all
    /// `columns`.
    pub fn by_area_and_charge(&self, columns: &[&[f64]]) -> Vec<f64> {
        let of_area = self.totals(|i| self.areas[i]);
        let of_charge = |x: &&[f64]| self.totals(|i| x[i].abs());
        let of_charges: Vec<Vec<f64>> = columns.iter().map(of_charge).collect();
        // NaN charges leave the choice to areas.
        let share = |value: f64, total: f64| {
            if total > 0.0 && total.is_finite() { value / total } else { 0.0 }
        };
        let density = |i: usize| {
            let part = self.part[i] as usize;
            let charge = |(x, total): (&&[f64], &Vec<f64>)| share(x[i].abs(), total[part]);
            let by_charge: f64 = columns.iter().zip(&of_charges).map(charge).sum();
            share(self.areas[i], of_area[part]) + by_charge / columns.len().max(1) as f64
        };
        (0..self.areas.len()).into_par_iter().map(density).collect()
    }

    /// The sum of values over each part.
    fn totals(&self, value: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut totals = vec![0.0; self.parts];
        (0..self.areas.len()).for_each(|i| totals[self.part[i] as usize] += value(i));
        totals
    }

    /// Panels at equal steps of a density over each part, and the number of panels that each
    /// represents.
    pub fn drawn(&self, density: &[f64], rows: usize) -> Vec<(usize, f64)> {
        let mut has_panels = vec![false; self.parts];
        self.part.iter().for_each(|&part| has_panels[part as usize] = true);
        let parts: Vec<usize> = (0..self.parts).filter(|&part| has_panels[part]).collect();
        // With more parts than rows, only every n-th part has a row.
        let step = parts.len().div_ceil(rows.max(1)).max(1);
        let each = (rows / parts.len().max(1)).max(1) as f64;
        let mut is_sampled = vec![false; self.parts];
        parts.iter().step_by(step).for_each(|&part| is_sampled[part] = true);
        let whole = self.totals(|i| density[i]);
        // Of each part, the sum so far, and the next half step.
        let mut at = vec![(0.0, 0.5); self.parts];
        let mut drawn = Vec::new();
        for (i, &density) in density.iter().enumerate() {
            let part = self.part[i] as usize;
            let ((sum, next), whole) = (&mut at[part], whole[part]);
            *sum += density;
            if *sum * each > *next * whole && is_sampled[part] {
                drawn.push((i, (whole / (each * density)).max(1.0)));
                // A panel may be larger than a step.
                *next = (*sum / whole * each + 0.5).floor() + 0.5;
            }
        }
        drawn.sort_by_key(|&(i, _)| self.part[i]);
        drawn
    }
}
