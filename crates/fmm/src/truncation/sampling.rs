//! Which points the errors of truncation are measured on.
//!
//! High powers of the radius decide such an error, which few points near the corners of a box contribute: points are drawn
//! with a mixture of probabilities that grow with the radius, and weighted by the inverse.

use crate::tree::{Cell, Order, Root, Tree, side};

/// Points of a level among which samples are drawn.
const CANDIDATES: usize = 8192;

/// Points drawn with a probability that goes with each of these powers of the radius, so many for each.
const POWERS: [i32; 4] = [0, 8, 24, 60];
const DRAWN: usize = 128;

/// A deterministic hash for choosing samples.
pub(super) fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Points of the boxes of one level, each relative to its box and in units of it, with the inverse of the probability of
/// being drawn relative to a uniform draw.
pub(super) type Pool = Vec<([f64; 3], f64)>;

/// Draws points of the boxes of `level`.
pub(super) fn draw(
    root: &Root,
    tree: &Tree,
    level: usize,
    (order, points): (&Order, &[[f64; 3]]),
    range: impl Fn(&Cell) -> std::ops::Range<u32>,
) -> Pool {
    let cells = &tree.cells[tree.levels[level].clone()];
    let total: usize = cells.iter().map(|c| range(c).len()).sum();
    let step = total.div_ceil(CANDIDATES).max(1);
    let mut candidates = Vec::with_capacity(total.div_ceil(step));
    let mut skip = step / 2;
    for cell in cells {
        let range = range(cell);
        while skip < range.len() {
            let i = order.index[range.start as usize + skip] as usize;
            candidates.push(relative(root, cell, &points[i]));
            skip += step;
        }
        skip -= range.len();
    }
    if candidates.is_empty() {
        return Vec::new();
    }
    let mut pool = Vec::with_capacity(POWERS.len() * DRAWN);
    draw_by_radius(&candidates, DRAWN, |x, weight| pool.push((x, weight)));
    pool
}

/// Draws `count` of the candidates (point, radius) for each of [`POWERS`], and passes each with the inverse of its probability
/// relative to a uniform draw.
fn draw_by_radius(
    candidates: &[([f64; 3], f64)],
    count: usize,
    mut put: impl FnMut([f64; 3], f64),
) {
    let uniform = 1.0 / candidates.len() as f64;
    let sums = POWERS.map(|power| {
        candidates.iter().map(|(_, r)| r.powi(power)).sum::<f64>().max(f64::MIN_POSITIVE)
    });
    for (power, sum) in POWERS.into_iter().zip(sums) {
        // Systematic draw: one point for each part of the cumulative probability.
        let mut cumulative = 0.0;
        let mut drawn = 0;
        for (x, r) in candidates {
            cumulative += r.powi(power) / sum * count as f64;
            while drawn < count && cumulative > drawn as f64 + 0.5 {
                let terms = POWERS.into_iter().zip(sums).map(|(power, sum)| r.powi(power) / sum);
                let probability = terms.sum::<f64>() / POWERS.len() as f64;
                put(*x, uniform / probability);
                drawn += 1;
            }
        }
    }
}

/// One point of a box, drawn by radius among a few, with its weight.
pub(super) fn draw_in_cell(
    root: &Root,
    cell: &Cell,
    (order, points): (&Order, &[[f64; 3]]),
    range: &std::ops::Range<u32>,
    salt: u64,
) -> ([f64; 3], f64) {
    const FEW: usize = 16;
    let count = range.len().min(FEW);
    let mut candidates = [([0.0; 3], 0.0); FEW];
    let first = mix(salt, u64::from(range.start)) as usize;
    for (i, candidate) in candidates[..count].iter_mut().enumerate() {
        let slot = range.start as usize + (first + i * range.len() / count) % range.len();
        *candidate = relative(root, cell, &points[order.index[slot] as usize]);
    }
    let power = POWERS[salt as usize % POWERS.len()];
    let mut drawn = (candidates[0].0, 1.0);
    // The stratum of this draw within the power's cumulative probability.
    let sum: f64 = candidates[..count].iter().map(|(_, r)| r.powi(power)).sum();
    let goal = (mix(salt, 77) % 1024) as f64 / 1024.0 * sum;
    let mut cumulative = 0.0;
    let sums = POWERS.map(|power| {
        candidates[..count].iter().map(|(_, r)| r.powi(power)).sum::<f64>().max(f64::MIN_POSITIVE)
    });
    for (x, r) in &candidates[..count] {
        cumulative += r.powi(power);
        if cumulative > goal {
            let terms = POWERS.into_iter().zip(sums).map(|(power, sum)| r.powi(power) / sum);
            let probability = terms.sum::<f64>() / POWERS.len() as f64;
            drawn = (*x, 1.0 / (count as f64 * probability));
            break;
        }
    }
    drawn
}

/// A point relative to its box in units of the box, and its distance from the centre in half diagonals.
fn relative(root: &Root, cell: &Cell, point: &[f64; 3]) -> ([f64; 3], f64) {
    let (scaled, centre, side) = (root.scaled(point), cell.centre(), side(cell.level));
    let x: [f64; 3] = std::array::from_fn(|k| (scaled[k] - centre[k]) / side);
    let radius = (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]).sqrt();
    (x, radius / (0.5 * 3f64.sqrt()))
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
