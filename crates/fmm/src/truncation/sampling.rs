//! Which points the errors of truncation are measured on.
//!
//! High powers of the radius decide such an error, which few points near the corners of a box
//! contribute: points are drawn with a mixture of probabilities that grow with the radius, and
//! weighted by the inverse.

use std::ops::Range;

use crate::tree::{Cell, MortonOrder, Root, Tree, side};

/// Points of a level among which samples are drawn.
const CANDIDATES: usize = 8192;

/// Points are drawn with a probability that goes with each of these powers of the radius, `DRAWN`
/// for each: 0, 8, 24, 60.
const POWERS: usize = 4;
const DRAWN: usize = 128;

/// Those powers of the radius, from its square.
fn powers(r2: f64) -> [f64; POWERS] {
    let r4 = r2 * r2;
    let r8 = r4 * r4;
    let r24 = r8 * r8 * r8;
    [1.0, r8, r24, r24 * r24 * r8 * r4]
}

/// A point relative to its box, in units of it.
pub(super) type Point = [f64; 3];

/// A deterministic hash for choosing samples.
pub(super) fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Points of the boxes of one level, each with the inverse of the probability of being drawn
/// relative to a uniform draw.
pub(super) type Pool = Vec<(Point, f64)>;

/// Draws points of the boxes of `level`.
pub(super) fn draw(
    root: &Root,
    tree: &Tree,
    level: usize,
    order: &MortonOrder,
    points: &[[f64; 3]],
    range: impl Fn(&Cell) -> Range<u32>,
) -> Pool {
    let cells = &tree.cells[tree.levels[level].clone()];
    let total: usize = cells.iter().map(|c| range(c).len()).sum();
    let step = total.div_ceil(CANDIDATES).max(1);
    let mut candidates = Vec::with_capacity(total.div_ceil(step));
    let mut skip = step / 2;
    for cell in cells {
        let range = range(cell);
        if skip < range.len() {
            let relative = Relative::new(root, cell);
            while skip < range.len() {
                let i = order.index[range.start as usize + skip] as usize;
                candidates.push(relative.of(&points[i]));
                skip += step;
            }
        }
        skip -= range.len();
    }
    let mut pool = Vec::with_capacity(POWERS * DRAWN);
    if !candidates.is_empty() {
        // Systematic draw: one point for each part of the cumulative probability of each power.
        let sums = sums(&candidates);
        let mut cumulative = [0.0; POWERS];
        let mut drawn = [0; POWERS];
        for (x, powers) in &candidates {
            for i in 0..POWERS {
                cumulative[i] += powers[i] / sums[i] * DRAWN as f64;
                while drawn[i] < DRAWN && cumulative[i] > drawn[i] as f64 + 0.5 {
                    pool.push((*x, weight(candidates.len(), powers, &sums)));
                    drawn[i] += 1;
                }
            }
        }
    }
    pool
}

/// Sum of each power over the candidates.
fn sums(candidates: &[(Point, [f64; POWERS])]) -> [f64; POWERS] {
    let mut sums = [f64::MIN_POSITIVE; POWERS];
    for (_, powers) in candidates {
        sums.iter_mut().zip(powers).for_each(|(sum, power)| *sum += power);
    }
    sums
}

/// Inverse of the probability of being drawn among `count`, relative to a uniform draw.
fn weight(count: usize, powers: &[f64; POWERS], sums: &[f64; POWERS]) -> f64 {
    let probability: f64 = powers.iter().zip(sums).map(|(power, sum)| power / sum).sum();
    POWERS as f64 / (count as f64 * probability)
}

/// Points of a box, one for each power of the radius, drawn among a few, with their weights.
pub(super) fn draw_in_cell(
    root: &Root,
    cell: &Cell,
    order: &MortonOrder,
    points: &[[f64; 3]],
    range: &Range<u32>,
    seed: u64,
) -> [(Point, f64); POWERS] {
    // All points of most leaves: which of them were taken otherwise would be a matter of their
    // order.
    const FEW: usize = 64;
    let count = range.len().min(FEW);
    let mut candidates = [([0.0; 3], [0.0; POWERS]); FEW];
    let candidates = &mut candidates[..count];
    let relative = Relative::new(root, cell);
    let first = seed as usize % range.len();
    for (i, candidate) in candidates.iter_mut().enumerate() {
        let slot = range.start as usize + (first + i * range.len() / count) % range.len();
        *candidate = relative.of(&points[order.index[slot] as usize]);
    }
    let sums = sums(candidates);
    std::array::from_fn(|i| {
        let goal = (mix(seed, i as u64) % 1024) as f64 / 1024.0 * sums[i];
        let mut cumulative = 0.0;
        let reached = |(_, powers): &&(Point, [f64; POWERS])| {
            cumulative += powers[i];
            cumulative > goal
        };
        let (x, powers) = candidates.iter().find(reached).unwrap_or(&candidates[count - 1]);
        (*x, weight(count, powers, &sums))
    })
}

/// Points as seen from a box.
struct Relative {
    centre: [f64; 3],
    scale: f64,
}

impl Relative {
    fn new(root: &Root, cell: &Cell) -> Self {
        Self { centre: root.centre(cell), scale: 1.0 / (root.side * side(cell.level)) }
    }

    /// The point in units of the box, and powers of its distance from the centre in half diagonals.
    fn of(&self, point: &[f64; 3]) -> (Point, [f64; POWERS]) {
        let x: Point = std::array::from_fn(|k| (point[k] - self.centre[k]) * self.scale);
        (x, powers((x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) / 0.75))
    }
}

/// `samples` pairs of boxes in proportion to their weight.
pub(super) fn resample(
    candidates: &[([u32; 2], f64)],
    weight: f64,
    samples: usize,
) -> Vec<[u32; 2]> {
    let mut boxes = Vec::with_capacity(samples);
    let mut cumulative = 0.0;
    for (pair, share) in candidates {
        cumulative += share / weight * samples as f64;
        while boxes.len() < samples && cumulative > boxes.len() as f64 + 0.5 {
            boxes.push(*pair);
        }
    }
    let last = candidates[candidates.len() - 1].0;
    boxes.resize(samples, last);
    boxes
}
