//! Panels at which equations are checked, distributed over the area and over the charge of each
//! part of the surface: a residual matters by its work on the charge, most of which may be on a
//! small share of the area.

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
        let n = self.areas.len();
        let share = |values: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let mut sums = vec![0.0; self.parts];
            (0..n).for_each(|i| sums[self.part[i] as usize] += values(i));
            // NaN charges leave the choice to areas.
            let is_known = |sum: f64| sum > 0.0 && sum.is_finite();
            let share = |i: usize, sum: f64| if is_known(sum) { values(i) / sum } else { 0.0 };
            (0..n).map(|i| share(i, sums[self.part[i] as usize])).collect()
        };
        let mut density = share(&|i| self.areas[i]);
        for x in columns {
            let of_charge = share(&|i| x[i].abs());
            let all = density.iter_mut().zip(of_charge);
            all.for_each(|(all, one)| *all += one / columns.len() as f64);
        }
        density
    }

    /// Panels at equal steps of a density over each part, and the number of panels that each
    /// represents.
    pub fn drawn(&self, density: &[f64], rows: usize) -> Vec<(usize, f64)> {
        let mut parts: Vec<Vec<usize>> = vec![Vec::new(); self.parts];
        (0..self.areas.len()).for_each(|i| parts[self.part[i] as usize].push(i));
        parts.retain(|part| !part.is_empty());
        // With more parts than rows, only every n-th part has a row.
        let step = parts.len().div_ceil(rows.max(1)).max(1);
        let each = (rows / parts.len().max(1)).max(1) as f64;
        let mut drawn = Vec::new();
        for part in parts.iter().step_by(step) {
            let whole: f64 = part.iter().map(|&i| density[i]).sum();
            let (mut sum, mut next) = (0.0, 0.5);
            for &i in part {
                sum += density[i];
                if sum * each > next * whole {
                    drawn.push((i, (whole / (each * density[i])).max(1.0)));
                    // The next half step; a panel may be larger than a step.
                    next = (sum / whole * each + 0.5).floor() + 0.5;
                }
            }
        }
        drawn
    }
}
