//! Overlapping local inverses over all modes of linear densities.
//!
//! As in `local_inverse` for constant densities: the panels with the strongest interaction with a
//! panel, including itself, form a small matrix of all their modes, and the rows of its inverse
//! that belong to the panel are rows of S. On adjacent needles, as graded meshes have along edges,
//! the linear modes interact nearly as strongly with each other as with themselves.

use std::cell::RefCell;

use nalgebra::DMatrix;
use parallel::prelude::*;

use crate::near::slopes::{Modes, SlopePairs, Slopes};
use crate::near::{FullRows, Near, over_images};
use crate::quadrature::modes::MODES;

/// Panels per neighbourhood, including itself: at most, and at least if enough panels are close.
const MOST: usize = 28;
const LEAST: usize = 10;

/// Panels belong to a neighbourhood from this strength A_ij / sqrt(A_ii A_jj) up: adjacent ones
/// have 0.5, needles more.
const STRONG: f64 = 0.3;

/// Rows per task.
const ROWS: usize = 64;

/// The rows of all modes of a panel, adjacent for each neighbour.
pub(crate) struct ModeInverse {
    starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<[[f32; MODES]; MODES]>,
}

/// Sources of blocks of entries: quadrature sums, and the near fields that correct them.
struct Blocks<'a> {
    pairs: &'a SlopePairs<'a>,
    near: &'a Near,
    rows: Vec<FullRows>,
    slopes: &'a Slopes,
}

impl Blocks<'_> {
    fn near_row(&self, i: usize) -> &[(u32, f64)] {
        self.rows[i / crate::near::BLOCK].row(i)
    }

    fn by_points(&self, i: usize, j: usize) -> Modes {
        let rules = [self.pairs.accuracy.rule; 2];
        let of = |i, j| [self.pairs.entries_by_points(rules, i, j), Modes::default()];
        over_images(self.pairs.panels(), i, j, of)[0]
    }
}

/// Scratch space for one neighbourhood.
struct Room {
    /// Index of each panel in it, 0 for none.
    place: Vec<u32>,
    chosen: Vec<u32>,
}

impl ModeInverse {
    /// From the near-field corrections, for panels of conductors; others have no rows.
    pub(crate) fn new(
        pairs: &SlopePairs<'_>,
        near: &Near,
        slopes: &Slopes,
        is_conductor: &(dyn Fn(usize) -> bool + Sync),
    ) -> Self {
        let n = near.len();
        let rows = (0..near.blocks()).into_par_iter().map(|block| near.full_rows(block)).collect();
        let blocks = Blocks { pairs, near, rows, slopes };
        let own = |i: usize| diagonal(&blocks, i);
        let own: Vec<f64> = (0..n).into_par_iter().with_min_len(ROWS).map(own).collect();
        let room = || RefCell::new(Room { place: vec![0; n], chosen: Vec::new() });
        let rows = |room: &mut RefCell<Room>, i: usize| {
            if is_conductor(i) {
                of_panel(&blocks, &own, is_conductor, i, room.get_mut())
            } else {
                (Vec::new(), Vec::new())
            }
        };
        let rows: Vec<_> = (0..n).into_par_iter().with_min_len(ROWS).map_init(room, rows).collect();
        let mut starts = vec![0];
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for (chosen, of_panel) in rows {
            columns.extend(chosen);
            values.extend(of_panel);
            starts.push(columns.len() as u32);
        }
        Self { starts, columns, values }
    }

    /// y = S x, both of shape (modes, panels).
    pub(crate) fn multiply(&self, x: &[f64], y: &mut [f64]) {
        let n = self.starts.len() - 1;
        let row = |i: usize| {
            let mut sums = [0.0; MODES];
            for at in self.starts[i] as usize..self.starts[i + 1] as usize {
                let j = self.columns[at] as usize;
                for (sum, values) in sums.iter_mut().zip(&self.values[at]) {
                    *sum += (0..MODES).map(|l| f64::from(values[l]) * x[l * n + j]).sum::<f64>();
                }
            }
            sums
        };
        let rows: Vec<[f64; MODES]> = (0..n).into_par_iter().with_min_len(ROWS).map(row).collect();
        for (i, sums) in rows.iter().enumerate() {
            (0..MODES).for_each(|m| y[m * n + i] = sums[m]);
        }
    }
}

/// The constant-constant entry of a panel with itself.
fn diagonal(blocks: &Blocks<'_>, i: usize) -> f64 {
    blocks.by_points(i, i).even() + blocks.near.diagonal(i)
}

/// The neighbours of panel `i`, itself first, and its rows of the inverse of their matrix.
fn of_panel(
    blocks: &Blocks<'_>,
    own: &[f64],
    is_conductor: &dyn Fn(usize) -> bool,
    i: usize,
    room: &mut Room,
) -> (Vec<u32>, Vec<[[f32; MODES]; MODES]>) {
    let mut ranked: Vec<(f64, u32)> = Vec::new();
    for &(j, left) in blocks.near_row(i) {
        if j as usize != i && is_conductor(j as usize) {
            let entry = blocks.by_points(i, j as usize).even() + left;
            ranked.push((entry / (own[i] * own[j as usize]).sqrt(), j));
        }
    }
    ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let strong = ranked.iter().take_while(|(strength, _)| *strength > STRONG).count();
    ranked.truncate(strong.clamp(LEAST, MOST) - 1);
    room.chosen.clear();
    room.chosen.push(i as u32);
    room.chosen.extend(ranked.iter().map(|(_, j)| *j));
    let count = room.chosen.len();
    let mut matrix = DMatrix::zeros(MODES * count, MODES * count);
    for (a, &j) in room.chosen.iter().enumerate() {
        room.place[j as usize] = a as u32 + 1;
    }
    for (a, &j) in room.chosen.iter().enumerate() {
        for (b, &k) in room.chosen.iter().enumerate().take(a + 1) {
            let entries = blocks.by_points(j as usize, k as usize);
            for (m, row) in entries.entries().iter().enumerate() {
                (0..MODES).for_each(|l| matrix[(MODES * a + m, MODES * b + l)] = row[l]);
            }
        }
        matrix[(MODES * a, MODES * a)] += blocks.near.diagonal(j as usize);
        for &(k, left) in blocks.near_row(j as usize) {
            let b = room.place[k as usize] as usize;
            if (1..=a).contains(&b) {
                matrix[(MODES * a, MODES * (b - 1))] += left;
            }
        }
        blocks.slopes.each_of_row(j as usize, |k, m, l, left| {
            let b = room.place[k] as usize;
            if (1..=a + 1).contains(&b) {
                matrix[(MODES * a + m, MODES * (b - 1) + l)] += left;
            }
        });
    }
    room.chosen.iter().for_each(|&j| room.place[j as usize] = 0);
    let first = DMatrix::identity(MODES * count, MODES);
    let alone = || {
        let block = matrix.view((0, 0), (MODES, MODES)).into_owned();
        let mut inverse = DMatrix::zeros(MODES * count, MODES);
        if let Some(own) = block.try_inverse() {
            inverse.view_mut((0, 0), (MODES, MODES)).copy_from(&own);
        }
        inverse
    };
    // Cholesky reads only the lower triangle. If the matrix is not positive definite, the panel is
    // used alone.
    let solved = match matrix.clone().cholesky() {
        Some(factor) => factor.solve(&first),
        None => alone(),
    };
    let block = |b: usize| -> [[f32; MODES]; MODES] {
        std::array::from_fn(|m| std::array::from_fn(|l| solved[(MODES * b + l, m)] as f32))
    };
    (room.chosen.clone(), (0..count).map(block).collect())
}
