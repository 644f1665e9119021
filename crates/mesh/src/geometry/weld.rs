//! Points that differ only by rounding.

use crate::vector::{Vector, max_norm, norm, sub};
use parallel::prelude::*;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU8, Ordering};

/// Number of roundings that a coordinate may have gone through.
pub(crate) const ROUNDINGS: f64 = 8.0;

/// Points per job.
const PIECE: usize = 1 << 14;

/// Lowest and highest coordinates; zeros without points.
pub(crate) fn bounds(points: &[Vector]) -> [Vector; 2] {
    let Some(&first) = points.first() else { return [[0.0; 3]; 2] };
    let around = |[low, high]: [Vector; 2], [least, most]: [Vector; 2]| {
        let low = std::array::from_fn(|i| low[i].min(least[i]));
        let high = std::array::from_fn(|i| high[i].max(most[i]));
        [low, high]
    };
    let of_piece = |piece: &[Vector]| piece.iter().fold([first; 2], |all, &x| around(all, [x; 2]));
    points.par_chunks(PIECE).map(of_piece).reduce(|| [first; 2], around)
}

/// A length below which points count as one: `relative` times the diagonal of their bounding box,
/// but no less than what coordinates far from the origin are rounded by.
pub fn tolerance(points: &[Vector], relative: f64) -> f64 {
    let [low, high] = bounds(points);
    let rounding = ROUNDINGS * f64::EPSILON * max_norm(low).max(max_norm(high));
    (relative * norm(sub(high, low))).max(rounding)
}

/// The end of a cell's list.
const END: u32 = u32::MAX;

/// For each point the index of the point that stands for it: the first earlier one that stands for
/// itself and lies within `tolerance` in every coordinate, or else the point itself.
///
/// Equal points always get the same one. O(n): points that stand for themselves are more than a
/// tolerance apart, so that a cell of the grid holds few, and with cells eight tolerances wide most
/// points search one cell or two.
pub fn first_at(points: &[Vector], tolerance: f64) -> Vec<u32> {
    if tolerance == 0.0 {
        // All points are at the origin.
        return vec![0; points.len()];
    }
    let [low, _] = bounds(points);
    let grid = || Grid { low, tolerance, width: 8.0 * tolerance, hasher: RandomState::new() };
    let mut welded: Vec<u32> = (0..points.len() as u32).collect();
    let places = |of: &[u32]| -> Vec<Vector> { of.iter().map(|&i| points[i as usize]).collect() };
    // Only points that share a cell or a list are compared: usually there are none. A second hash
    // separates those that only share lists.
    let crowded = grid().crowded(points);
    let again = grid().crowded(&places(&crowded));
    let crowded: Vec<u32> = again.iter().map(|&k| crowded[k as usize]).collect();
    for (&i, first) in crowded.iter().zip(grid().first_of_each(&places(&crowded))) {
        welded[i as usize] = crowded[first as usize];
    }
    welded
}

/// Cells for points.
struct Grid {
    low: Vector,
    tolerance: f64,
    width: f64,
    hasher: RandomState,
}

impl Grid {
    fn cell(&self, x: f64, i: usize) -> i64 {
        ((x - self.low[i]) / self.width + 0.5).floor() as i64
    }

    /// The list of `lists` (a power of two) that a cell's points are in. Cells of one hash share a
    /// list.
    fn list_of(&self, cell: [i64; 3], lists: usize) -> usize {
        self.hasher.hash_one(cell) as usize & (lists - 1)
    }

    /// Calls `f` with each cell within a tolerance of a point.
    fn around(&self, point: &Vector, mut f: impl FnMut([i64; 3])) {
        let least: [i64; 3] = std::array::from_fn(|i| self.cell(point[i] - self.tolerance, i));
        let most: [i64; 3] = std::array::from_fn(|i| self.cell(point[i] + self.tolerance, i));
        for x in least[0]..=most[0] {
            for y in least[1]..=most[1] {
                for z in least[2]..=most[2] {
                    f([x, y, z]);
                }
            }
        }
    }

    /// Points that share a cell with others, or a list with a cell of others, in increasing order:
    /// all that are within a tolerance of another are among them, since the cell of the one is
    /// around the other.
    fn crowded(&self, points: &[Vector]) -> Vec<u32> {
        /// Bits of a list: some cell of it was met, and again.
        const MET: u8 = 1;
        const AGAIN: u8 = 2;
        let lists: Vec<AtomicU8> = (0..(8 * points.len()).next_power_of_two())
            .into_par_iter()
            .map(|_| AtomicU8::new(0))
            .collect();
        points.par_iter().for_each(|point| {
            self.around(point, |cell| {
                let list = &lists[self.list_of(cell, lists.len())];
                if list.fetch_or(MET, Ordering::Relaxed) & MET != 0 {
                    list.fetch_or(AGAIN, Ordering::Relaxed);
                }
            });
        });
        let is_crowded = |point: &Vector| {
            let mut crowded = false;
            self.around(point, |cell| {
                let list = lists[self.list_of(cell, lists.len())].load(Ordering::Relaxed);
                crowded |= list & AGAIN != 0;
            });
            crowded
        };
        let numbered = points.par_iter().enumerate();
        numbered.filter(|(_, point)| is_crowded(point)).map(|(i, _)| i as u32).collect()
    }

    /// As [`first_at`], one point after the other.
    fn first_of_each(&self, points: &[Vector]) -> Vec<u32> {
        // Kept points by the hash of their cell, as lists: the last one of each here, those before
        // it in `before`. Distances tell the points of cells that share a list apart.
        let mut last_in: Vec<u32> = vec![END; (2 * points.len()).next_power_of_two()];
        let mut before: Vec<u32> = vec![END; points.len()];
        let mut welded: Vec<u32> = Vec::with_capacity(points.len());
        for (index, point) in points.iter().enumerate() {
            let mut first = END;
            self.around(point, |cell| {
                let mut kept = last_in[self.list_of(cell, last_in.len())];
                while kept != END {
                    if max_norm(sub(points[kept as usize], *point)) <= self.tolerance {
                        first = first.min(kept);
                    }
                    kept = before[kept as usize];
                }
            });
            if first == END {
                first = index as u32;
                let cell = std::array::from_fn(|i| self.cell(point[i], i));
                let own = self.list_of(cell, last_in.len());
                before[index] = std::mem::replace(&mut last_in[own], first);
            }
            welded.push(first);
        }
        welded
    }
}
