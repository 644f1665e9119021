//! Morton keys, and points sorted by them.
//!
//! The sort is a parallel radix sort from the top: keys are spread over buckets by their highest
//! bits, so that buckets fit the cache and are sorted there, each on its own.

use parallel::prelude::*;

use crate::tree::root::Root;

/// Deepest level: 21 bits an axis fill a 64-bit Morton key.
pub const MAX_DEPTH: usize = 21;

/// Bits that one pass of the sort spreads by, at most: as many buckets as a core can write to at
/// once.
const PASS_BITS: u32 = 12;

/// Items that a comparison sort handles faster than another pass.
pub const FEW: usize = 16;

/// Items that one thread sorts, in its cache.
pub const OWN: usize = 1 << 14;

/// A point's Morton key with the point's index in place of the lowest digits. Boxes that the
/// remaining digits do not divide far enough, 2^-14 of the root's side for a million points, are
/// rare and sorted by whole keys at last.
type Item = u64;

/// Where keys begin and how finely they divide.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    corner: [f64; 3],
    scale: f64,
}

impl Keys {
    /// Of points in `root`.
    pub fn new(root: &Root) -> Self {
        Self { corner: root.corner, scale: (1u64 << MAX_DEPTH) as f64 / root.side }
    }

    /// The Morton key of a point in the root: three bits a level, x lowest.
    #[inline]
    pub fn of(&self, x: &[f64; 3]) -> u64 {
        const LAST: u32 = (1 << MAX_DEPTH) - 1;
        let axis = |i: usize| {
            let place = (((x[i] - self.corner[i]) * self.scale) as u32).min(LAST);
            spread(u64::from(place)) << i
        };
        axis(0) | axis(1) | axis(2)
    }
}

/// The Morton key of each point.
pub(crate) fn keys(root: &Root, points: &[[f64; 3]]) -> Vec<u64> {
    let keys = Keys::new(root);
    points.par_iter().with_min_len(4096).map(|x| keys.of(x)).collect()
}

/// A run of points in Morton order.
pub struct KeyRun<'a> {
    /// The points' keys.
    pub keys: &'a mut [u64],
    /// Their indices.
    pub index: &'a mut [u32],
}

/// Sorts some of the points completely.
pub(crate) fn sort_wholly(of: &Keys, points: &[[f64; 3]], KeyRun { keys, index }: KeyRun<'_>) {
    let mut items: Vec<(u64, u32)> =
        index.iter().map(|&i| (of.of(&points[i as usize]), i)).collect();
    items.sort_unstable();
    for ((key, slot), item) in keys.iter_mut().zip(index).zip(items) {
        (*key, *slot) = item;
    }
}

/// Sorts completely what [`sorted`] left unsorted with `enough`, in the boxes that are `needed`:
/// those with at most `enough` points, by level and key of their place.
pub fn refine<F: Fn(usize, u64) -> bool + Sync>(
    root: &Root,
    points: &[[f64; 3]],
    run: KeyRun<'_>,
    enough: usize,
    needed: &F,
) {
    let of = Keys::new(root);
    refine_box(&of, points, run, enough, 0, 0, needed);
}

fn refine_box<F: Fn(usize, u64) -> bool + Sync>(
    of: &Keys,
    points: &[[f64; 3]],
    KeyRun { keys, index }: KeyRun<'_>,
    enough: usize,
    level: usize,
    place: u64,
    needed: &F,
) {
    if keys.is_empty() || level == MAX_DEPTH {
        return;
    }
    if keys.len() <= enough {
        if needed(level, place) {
            sort_wholly(of, points, KeyRun { keys, index });
        }
        return;
    }
    let shift = 3 * (MAX_DEPTH - level - 1);
    let mut parts = Vec::with_capacity(8);
    let (mut keys, mut index) = (keys, index);
    for octant in 0..8 {
        let count = keys.partition_point(|key| key >> shift & 7 <= octant);
        let (own, rest) = keys.split_at_mut(count);
        let (own_index, rest_index) = index.split_at_mut(count);
        parts.push((KeyRun { keys: own, index: own_index }, place << 3 | octant));
        (keys, index) = (rest, rest_index);
    }
    parts.into_par_iter().for_each(|(run, place)| {
        refine_box(of, points, run, enough, level + 1, place, needed);
    });
}

/// The Morton key of a place among the boxes of a level.
pub fn of_place(place: [u32; 3]) -> u64 {
    let [x, y, z] = place.map(|i| spread(u64::from(i)));
    x | y << 1 | z << 2
}

/// The place of a key of [`of_place`].
pub fn place_of(key: u64) -> [u32; 3] {
    std::array::from_fn(|axis| {
        (0..MAX_DEPTH).fold(0, |place, bit| place | ((key >> (3 * bit + axis) & 1) as u32) << bit)
    })
}

/// Puts two zero bits between the 21 low bits.
fn spread(x: u64) -> u64 {
    let x = (x | x << 32) & 0x001f_0000_0000_ffff;
    let x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    let x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    let x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}

/// Points in Morton order: keys and the points' indices. Boxes of at most `enough` points are left
/// unsorted within, and the low digits of their keys mean nothing: 0 sorts completely.
pub fn sorted(root: &Root, points: &[[f64; 3]], enough: usize) -> (Vec<u64>, Vec<u32>) {
    let n = points.len();
    let set = Set { keys: Keys::new(root), points, enough, index_mask: index_mask(n) };
    let (mut items, mut index) = (vec![0; n], vec![0; n]);
    if n <= OWN {
        set.pack(0, &mut items, |_| ());
        set.sort_alone(&mut items, &mut vec![0; n]);
        set.finish(&mut items, &mut index);
        return (items, index);
    }
    let bits = pass_bits(n);
    let shift = 3 * MAX_DEPTH as u32 - bits;
    let block = n.div_ceil(2 * rayon::current_num_threads());
    let counts: Vec<Vec<u32>> = items
        .par_chunks_mut(block)
        .enumerate()
        .map(|(b, items)| {
            let mut counts = vec![0u32; 1 << bits];
            set.pack(b * block, items, |key| counts[(key >> shift) as usize] += 1);
            counts
        })
        .collect();
    let mut spread: Vec<Item> = vec![0; n];
    let ends = spread_by(&items, &mut spread, shift, &counts, block);
    // Each bucket is sorted where it now lies.
    let mut buckets = Vec::with_capacity(ends.len());
    let (mut from, mut free) = (&mut spread[..], &mut items[..]);
    let (mut to, mut begin) = (&mut index[..], 0);
    for end in ends {
        let (own, rest) = from.split_at_mut(end - begin);
        let (room, rest_room) = free.split_at_mut(end - begin);
        let (index, rest_index) = to.split_at_mut(end - begin);
        if !own.is_empty() {
            buckets.push((own, room, index));
        }
        (from, free, to, begin) = (rest, rest_room, rest_index, end);
    }
    buckets.into_par_iter().for_each(|(own, room, index)| {
        set.sort(own, room);
        set.finish(own, index);
    });
    (spread, index)
}

/// The bits of an item that hold the point's index: whole digits of the key.
fn index_mask(points: usize) -> u64 {
    let bits = (usize::BITS - points.saturating_sub(1).leading_zeros()).next_multiple_of(3);
    (1 << bits) - 1
}

/// Bits of a pass over many items: whole levels, and buckets of a few hundred items if they fill
/// evenly.
fn pass_bits(items: usize) -> u32 {
    (items / 256).max(8).ilog2().min(PASS_BITS) / 3 * 3
}

/// What a sort is of.
struct Set<'a> {
    keys: Keys,
    points: &'a [[f64; 3]],
    /// Points that a box may hold unsorted.
    enough: usize,
    index_mask: u64,
}

impl Set<'_> {
    /// Items of the points from `first` on; `see` is shown each key.
    fn pack(&self, first: usize, items: &mut [Item], mut see: impl FnMut(u64)) {
        for ((i, x), item) in (first..).zip(&self.points[first..]).zip(items) {
            let key = self.keys.of(x);
            see(key);
            *item = key & !self.index_mask | i as u64;
        }
    }

    /// The highest bits in which some items differ from the first, rounded up to a whole level; 0
    /// where their digits do not.
    fn top(&self, differing: u64) -> u32 {
        let differing = differing & !self.index_mask;
        (u64::BITS - differing.leading_zeros()).next_multiple_of(3)
    }

    /// Whole levels of digits below `top` that are the key's.
    fn digits(&self, top: u32) -> u32 {
        top - self.index_mask.count_ones()
    }

    /// Sorts `items`, all of one box, by their digits; `scratch` is as long.
    fn sort(&self, items: &mut [Item], scratch: &mut [Item]) {
        if items.len() <= OWN {
            self.sort_alone(items, scratch);
            return;
        }
        let first = items[0];
        let differing =
            items.par_iter().with_min_len(4096).map(|i| i ^ first).reduce(|| 0, |a, b| a | b);
        let top = self.top(differing);
        if top == 0 {
            return;
        }
        let bits = pass_bits(items.len()).min(self.digits(top));
        let (shift, block) = (top - bits, items.len().div_ceil(2 * rayon::current_num_threads()));
        let counts: Vec<Vec<u32>> = items
            .par_chunks(block)
            .map(|items| {
                let mut counts = vec![0u32; 1 << bits];
                items
                    .iter()
                    .for_each(|item| counts[(item >> shift) as usize & ((1 << bits) - 1)] += 1);
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
            self.sort(from, to);
            to.copy_from_slice(from);
        });
    }

    /// As [`Self::sort`], by one thread.
    fn sort_alone(&self, items: &mut [Item], scratch: &mut [Item]) {
        const BITS: u32 = 6;
        if items.len() <= self.enough {
            return;
        }
        if items.len() <= FEW {
            items.sort_unstable();
            return;
        }
        let first = items[0];
        // Bits that all keys share need no pass.
        let differing = items.iter().fold(0, |all, i| all | (i ^ first));
        let top = self.top(differing);
        if top == 0 {
            return;
        }
        // One level if its boxes are likely to be small enough.
        let bits = if items.len() / 8 <= self.enough.max(FEW / 2) { 3 } else { BITS };
        let bits = bits.min(self.digits(top));
        let (shift, buckets) = (top - bits, 1 << bits);
        let bucket = |item: &Item| (item >> shift) as usize & (buckets - 1);
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
                self.sort_alone(&mut items[own.clone()], &mut scratch[own]);
            }
            begin = end as usize;
        }
    }

    /// Takes indices out of sorted items, whole boxes of them, and sorts by whole keys where digits
    /// did not divide enough.
    fn finish(&self, items: &mut [Item], index: &mut [u32]) {
        for (index, item) in index.iter_mut().zip(&*items) {
            *index = (item & self.index_mask) as u32;
        }
        let alike = |a: Item, b: Item| (a ^ b) & !self.index_mask == 0;
        let mut begin = 0;
        while begin + self.enough < items.len() {
            if !alike(items[begin], items[begin + self.enough]) {
                begin += 1;
                continue;
            }
            let first = items[begin];
            let count = items[begin..].iter().take_while(|&&item| alike(first, item)).count();
            let run = begin..begin + count;
            self.finish_box(&mut items[run.clone()], &mut index[run]);
            begin += count;
        }
    }

    /// Puts whole keys in place of the items of one box and sorts by them.
    fn finish_box(&self, items: &mut [Item], index: &mut [u32]) {
        let whole = |&i: &u32| (self.keys.of(&self.points[i as usize]), i);
        if let ([item], [i]) = (&mut *items, &*index) {
            *item = whole(i).0;
            return;
        }
        let mut both: Vec<(u64, u32)> = index.iter().map(whole).collect();
        both.par_sort_unstable();
        for ((item, index), both) in items.iter_mut().zip(index).zip(both) {
            (*item, *index) = both;
        }
    }
}

/// Spreads `items` over buckets by the bits of their keys from bit `shift` on; `counts` has the
/// size of each bucket's part for each `block` of items. Returns where each bucket ends.
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
            if let Some(slot) = parts[(item >> shift) as usize & (buckets - 1)].next() {
                *slot = *item;
            }
        }
    });
    ends
}

/// Occupancies of boxes, estimated from a sample of a set of points.
pub struct Sample {
    /// Sorted keys of points drawn at random, with replacement.
    keys: Vec<u64>,
    /// Number of all points.
    count: usize,
}

impl Sample {
    const MOST: usize = 1 << 15;

    /// Draws from the points.
    pub fn new(root: &Root, points: &[[f64; 3]]) -> Self {
        Self::of_keys(Self::draw(root, points, 1.0), points.len())
    }

    /// Keys of points drawn where these are a `share` of all.
    pub(crate) fn draw(root: &Root, points: &[[f64; 3]], share: f64) -> Vec<u64> {
        let keys = Keys::new(root);
        let n = points.len();
        let drawn = ((Self::MOST as f64 * share).ceil() as usize).min(n);
        (0..drawn)
            .into_par_iter()
            .with_min_len(1024)
            // Neighbours in the caller's order are often neighbours in space: draw at random.
            .map(|i| keys.of(&points[((u128::from(hash(i as u64)) * n as u128) >> 64) as usize]))
            .collect()
    }

    /// From the keys drawn of all `count` points.
    pub(crate) fn of_keys(mut keys: Vec<u64>, count: usize) -> Self {
        keys.par_sort_unstable();
        Self { keys, count }
    }

    /// Mean number of other points in the box at `level` of a point: two points drawn at random
    /// share a box with the probability `sum (n_box / n)^2`.
    pub fn occupancy(&self, level: usize) -> f64 {
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
