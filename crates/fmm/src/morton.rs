//! Morton keys, and points sorted by them.
//!
//! The sort is a parallel radix sort from the top: keys are spread over buckets by their highest bits, so that buckets fit the
//! cache and are sorted there, each on its own.

use rayon::prelude::*;

use crate::tree::Root;

/// Deepest level: 21 bits an axis fill a 64-bit Morton key.
pub(crate) const MAX_DEPTH: usize = 21;

/// Bits that one pass of the sort spreads by, at most: as many buckets as a core can write to at once.
const PASS_BITS: u32 = 12;

/// Items that a comparison sort handles faster than another pass.
const FEW: usize = 16;

/// Items that one thread sorts, in its cache.
const OWN: usize = 1 << 14;

/// A point's Morton key and its index.
type Item = (u64, u32);

/// Where keys begin and how finely they divide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    corner: [f64; 3],
    scale: f64,
}

impl Keys {
    pub(crate) fn new(root: &Root) -> Self {
        Self { corner: root.corner, scale: (1u64 << MAX_DEPTH) as f64 / root.side }
    }

    /// The Morton key of a point in the root: three bits a level, x lowest.
    #[inline]
    pub(crate) fn of(&self, x: &[f64; 3]) -> u64 {
        const LAST: u32 = (1 << MAX_DEPTH) - 1;
        let axis = |i: usize| {
            let place = (((x[i] - self.corner[i]) * self.scale) as u32).min(LAST);
            spread(u64::from(place)) << i
        };
        axis(0) | axis(1) | axis(2)
    }
}

/// Puts two zero bits between the 21 low bits.
fn spread(x: u64) -> u64 {
    let x = (x | x << 32) & 0x001f_0000_0000_ffff;
    let x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    let x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    let x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}

/// Points in Morton order: keys and the points' indices. Boxes of at most `enough` points are left unsorted within: 0 sorts wholly.
pub(crate) fn sorted(root: &Root, points: &[[f64; 3]], enough: usize) -> (Vec<u64>, Vec<u32>) {
    let n = points.len();
    let (mut keys, mut index) = (vec![0; n], vec![0; n]);
    if n <= OWN {
        let of = Keys::new(root);
        let mut items: Vec<Item> =
            points.iter().enumerate().map(|(i, x)| (of.of(x), i as u32)).collect();
        sort_alone(&mut items, &mut vec![(0, 0); n], enough);
        unzip(&items, &mut keys, &mut index);
        return (keys, index);
    }
    let bits = pass_bits(n);
    let shift = 3 * MAX_DEPTH as u32 - bits;
    let block = n.div_ceil(2 * rayon::current_num_threads());
    let of = Keys::new(root);
    let mut items: Vec<Item> = vec![(0, 0); n];
    let counts: Vec<Vec<u32>> = items
        .par_chunks_mut(block)
        .zip(points.par_chunks(block))
        .enumerate()
        .map(|(b, (items, points))| {
            let mut counts = vec![0u32; 1 << bits];
            for (i, (item, x)) in items.iter_mut().zip(points).enumerate() {
                let key = of.of(x);
                counts[(key >> shift) as usize] += 1;
                *item = (key, (b * block + i) as u32);
            }
            counts
        })
        .collect();
    let mut scratch: Vec<Item> = vec![(0, 0); n];
    let ends = spread_by(&items, &mut scratch, shift, &counts, block);
    // Each bucket is sorted where it now lies, and goes to its place in the result from there.
    let mut buckets = Vec::with_capacity(ends.len());
    let (mut from, mut free) = (&mut scratch[..], &mut items[..]);
    let (mut to_keys, mut to_index, mut begin) = (&mut keys[..], &mut index[..], 0);
    for end in ends {
        let (own, rest) = from.split_at_mut(end - begin);
        let (room, rest_room) = free.split_at_mut(end - begin);
        let (keys, rest_keys) = to_keys.split_at_mut(end - begin);
        let (index, rest_index) = to_index.split_at_mut(end - begin);
        if !own.is_empty() {
            buckets.push((own, room, keys, index));
        }
        (from, free, to_keys, to_index, begin) = (rest, rest_room, rest_keys, rest_index, end);
    }
    buckets.into_par_iter().for_each(|(own, room, keys, index)| {
        sort(own, room, enough);
        unzip(own, keys, index);
    });
    (keys, index)
}

fn unzip(items: &[Item], keys: &mut [u64], index: &mut [u32]) {
    for ((item, key), index) in items.iter().zip(keys).zip(index) {
        (*key, *index) = *item;
    }
}

/// Bits of a pass over many items: whole levels, and buckets of a few hundred items if they fill evenly.
fn pass_bits(items: usize) -> u32 {
    (items / 256).max(8).ilog2().min(PASS_BITS) / 3 * 3
}

/// The highest bits in which keys differ, rounded up to a whole level; 0 where they do not.
fn top(differing: u64) -> u32 {
    (u64::BITS - differing.leading_zeros()).next_multiple_of(3)
}

/// Sorts `items`, all of one box; `scratch` is as long.
fn sort(items: &mut [Item], scratch: &mut [Item], enough: usize) {
    if items.len() <= OWN {
        sort_alone(items, scratch, enough);
        return;
    }
    let first = items[0].0;
    let differing =
        items.par_iter().with_min_len(4096).map(|i| i.0 ^ first).reduce(|| 0, |a, b| a | b);
    let top = top(differing);
    if top == 0 {
        items.sort_unstable();
        return;
    }
    let bits = pass_bits(items.len()).min(top);
    let (shift, block) = (top - bits, items.len().div_ceil(2 * rayon::current_num_threads()));
    let counts: Vec<Vec<u32>> = items
        .par_chunks(block)
        .map(|items| {
            let mut counts = vec![0u32; 1 << bits];
            items
                .iter()
                .for_each(|item| counts[(item.0 >> shift) as usize & ((1 << bits) - 1)] += 1);
            counts
        })
        .collect();
    let ends = spread_by(items, scratch, shift, &counts, block);
    let mut buckets = Vec::with_capacity(ends.len());
    let (mut from, mut to, mut begin) = (&mut items[..], &mut scratch[..], 0);
    for end in ends {
        let (a, rest_from) = from.split_at_mut(end - begin);
        let (b, rest_to) = to.split_at_mut(end - begin);
        if !a.is_empty() {
            buckets.push((a, b));
        }
        (from, to, begin) = (rest_from, rest_to, end);
    }
    buckets.into_par_iter().for_each(|(to, from)| {
        sort(from, to, enough);
        to.copy_from_slice(from);
    });
}

/// Sorts `items`, all of one box, by one thread; `scratch` is as long.
fn sort_alone(items: &mut [Item], scratch: &mut [Item], enough: usize) {
    const BITS: u32 = 6;
    if items.len() <= enough {
        return;
    }
    if items.len() <= FEW {
        items.sort_unstable();
        return;
    }
    let first = items[0].0;
    // Bits that all keys share need no pass.
    let differing = items.iter().fold(0, |all, i| all | (i.0 ^ first));
    let top = top(differing);
    if top == 0 {
        items.sort_unstable();
        return;
    }
    // One level if its boxes are likely to be small enough.
    let bits = if items.len() / 8 <= enough.max(FEW / 2) { 3 } else { BITS };
    let bits = bits.min(top);
    let (shift, buckets) = (top - bits, 1 << bits);
    let bucket = |item: &Item| (item.0 >> shift) as usize & (buckets - 1);
    let mut next = [0u32; (1 << BITS) + 1];
    items.iter().for_each(|item| next[bucket(item) + 1] += 1);
    for b in 0..buckets {
        next[b + 1] += next[b];
    }
    for item in &*items {
        let slot = &mut next[bucket(item)];
        scratch[*slot as usize] = *item;
        *slot += 1;
    }
    items.copy_from_slice(scratch);
    // Each bucket's next is now its end.
    let mut begin = 0;
    for &end in &next[..buckets] {
        let own = begin..end as usize;
        if own.len() > 1 {
            sort_alone(&mut items[own.clone()], &mut scratch[own], enough);
        }
        begin = end as usize;
    }
}

/// Spreads `items` over buckets by the bits of their keys from bit `shift` on; `counts` has the size of each bucket's part for
/// each `block` of items. Returns where each bucket ends.
fn spread_by(
    items: &[Item],
    to: &mut [Item],
    shift: u32,
    counts: &[Vec<u32>],
    block: usize,
) -> Vec<usize> {
    let buckets = counts.first().map_or(0, Vec::len);
    // Each block's own part of each bucket.
    let mut ends = Vec::with_capacity(buckets);
    let mut parts: Vec<Vec<std::slice::IterMut<'_, Item>>> =
        counts.iter().map(|_| Vec::with_capacity(buckets)).collect();
    let (mut rest, mut end) = (to, 0);
    for b in 0..buckets {
        for (parts, counts) in parts.iter_mut().zip(counts) {
            let (part, after) = rest.split_at_mut(counts[b] as usize);
            parts.push(part.iter_mut());
            rest = after;
            end += counts[b] as usize;
        }
        ends.push(end);
    }
    items.par_chunks(block).zip(parts).for_each(|(items, mut parts)| {
        for item in items {
            if let Some(slot) = parts[(item.0 >> shift) as usize & (buckets - 1)].next() {
                *slot = *item;
            }
        }
    });
    ends
}

/// Occupancies of boxes, estimated from a sample of a set of points.
pub(crate) struct Sample {
    /// Sorted keys of points drawn at random, with replacement.
    keys: Vec<u64>,
    /// Number of all points.
    count: usize,
}

impl Sample {
    const MOST: usize = 1 << 15;

    /// Draws from the points.
    pub(crate) fn new(root: &Root, points: &[[f64; 3]]) -> Self {
        let keys = Keys::new(root);
        let n = points.len();
        let drawn = Self::MOST.min(n);
        let mut keys: Vec<u64> = (0..drawn)
            .into_par_iter()
            .with_min_len(1024)
            // Neighbours in the caller's order are often neighbours in space: draw at random.
            .map(|i| keys.of(&points[((u128::from(hash(i as u64)) * n as u128) >> 64) as usize]))
            .collect();
        keys.par_sort_unstable();
        Self { keys, count: n }
    }

    /// Mean number of other points in the box at `level` of a point: two points drawn at random share a box with the
    /// probability `sum (n_box / n)^2`.
    pub(crate) fn occupancy(&self, level: usize) -> f64 {
        let shift = 3 * (MAX_DEPTH - level);
        let drawn = self.keys.len() as f64;
        let pairs: f64 = self
            .keys
            .chunk_by(|a, b| a >> shift == b >> shift)
            .map(|same| (same.len() * (same.len() - 1)) as f64)
            .sum();
        pairs / (drawn * (drawn - 1.0)).max(1.0) * self.count as f64 - 1.0
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }
}

/// A deterministic hash (SplitMix64).
fn hash(i: u64) -> u64 {
    let x = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{Distribution, Random};
    use crate::tree::{Order, Tree};

    #[test]
    fn the_radix_sort_gives_what_a_comparison_sort_gives() {
        for distribution in Distribution::ALL {
            for n in [0, 1, FEW + 1, 1000, OWN, OWN + 1, 200_000] {
                let mut points = distribution.points(n, &mut Random::new(n as u64 + 1));
                // A far outlier puts all others into one bucket; every third point lies where its neighbour does.
                if n > 3 {
                    points[1] = [1e7, 0.0, 0.0];
                    (3..n).step_by(3).for_each(|i| points[i] = points[i - 1]);
                }
                let root = Root::around(&[&points]);
                let keys = Keys::new(&root);
                let mut expected: Vec<Item> =
                    points.iter().enumerate().map(|(i, x)| (keys.of(x), i as u32)).collect();
                expected.sort_unstable();
                let (found, index) = sorted(&root, &points, 0);
                assert!(found.iter().copied().zip(index).eq(expected), "{distribution:?} {n}");
            }
        }
    }

    #[test]
    fn boxes_of_few_points_keep_together_unsorted() {
        for distribution in Distribution::ALL {
            for n in [100, 5_000, 100_000] {
                let points = distribution.points(n, &mut Random::new(2));
                let root = Root::around(&[&points]);
                let order = Order::new(&root, &points);
                for leaf_size in [1, 7, 60, 1000] {
                    let coarse = Order::of_leaves(&root, &points, leaf_size);
                    let mut seen = coarse.index.clone();
                    seen.sort_unstable();
                    assert!(seen.iter().copied().eq(0..n as u32));
                    let (fine, coarse) =
                        (Tree::new(&order, None, leaf_size), Tree::new(&coarse, None, leaf_size));
                    let boxes = |tree: &Tree| -> Vec<_> {
                        tree.cells.iter().map(|c| (c.level, c.place, c.sources.clone())).collect()
                    };
                    assert!(boxes(&fine) == boxes(&coarse), "{distribution:?} {n} {leaf_size}");
                }
            }
        }
    }

    #[test]
    fn a_sample_finds_the_occupancies() {
        let points = Distribution::Cube.points(300_000, &mut Random::new(1));
        let root = Root { corner: [0.0; 3], side: 1.0 };
        let sample = Sample::new(&root, &points);
        for level in 1..5 {
            // Uniform: the others in a box number (n - 1) / 8^level; the sample's pairs at level 4 are some 39,000.
            let expected = (points.len() - 1) as f64 / f64::from(1u32 << (3 * level));
            let found = sample.occupancy(level);
            assert!((found / expected - 1.0).abs() < 0.03, "{level}: {found} {expected}");
        }
    }
}
