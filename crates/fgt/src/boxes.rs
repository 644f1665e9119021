//! Points sorted by the boxes of a regular grid, of which only those with points are kept.
//!
//! The side of a box is a number of few bits and boxes are counted from the origin of coordinates,
//! so that corners are exact: far from the origin, and between clusters far apart, points keep the
//! places that the caller gave them.

use std::ops::Range;

use parallel::prelude::*;
use simd::MAX_LANES;

/// Coordinates along three axes. Points in a plane have the first 0, those on a line the first two.
pub(crate) type Point = [f64; 3];

/// Which box: its corner over its side.
pub(crate) type Key = [i64; 3];

/// Boxes are counted up to this many from the origin: their corners are exact in doubles.
pub const MAX_BOXES: f64 = (1u64 << 47) as f64;

/// A box that has points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PointBox {
    pub(crate) key: Key,
    pub(crate) begin: u32,
    pub(crate) end: u32,
}

impl PointBox {
    pub(crate) fn range(&self) -> Range<usize> {
        self.begin as usize..self.end as usize
    }

    pub(crate) fn count(&self) -> usize {
        (self.end - self.begin) as usize
    }
}

/// Points in the order of their boxes, which are in lexicographic order: boxes next to each other
/// along the last axis are next to each other in memory.
#[derive(Clone, Debug)]
pub(crate) struct Boxes {
    pub(crate) side: f64,
    pub(crate) boxes: Vec<PointBox>,
    /// Index, in the caller's order, of each sorted point.
    pub(crate) order: Vec<u32>,
    /// Coordinates of sorted points, axis by axis, with [`MAX_LANES`] zeros at the end.
    pub(crate) axes: [Vec<f64>; 3],
}

/// The largest side at most `wanted` with five bits, or more where coordinates up to `extent` would
/// make too many boxes.
pub fn side(wanted: f64, extent: f64) -> f64 {
    let wanted = wanted.max(extent / MAX_BOXES);
    let unit = wanted.log2().floor().exp2() / 16.0;
    let side = (wanted / unit).floor() * unit;
    if side * MAX_BOXES < extent { 2.0 * side } else { side }
}

impl Boxes {
    /// Sorts the points that `members` lists by boxes of side `side`, which is from [`side`].
    pub(crate) fn new(points: &[Point], members: Vec<u32>, side: f64) -> Self {
        let mut keyed: Vec<(Key, u32)> = members
            .into_par_iter()
            .with_min_len(4096)
            .map(|i| (points[i as usize].map(|x| (x / side).floor() as i64), i))
            .collect();
        keyed.par_sort_unstable();
        let mut boxes: Vec<PointBox> = Vec::new();
        for (at, (key, _)) in keyed.iter().enumerate() {
            match boxes.last_mut() {
                Some(last) if last.key == *key => last.end = at as u32 + 1,
                _ => boxes.push(PointBox { key: *key, begin: at as u32, end: at as u32 + 1 }),
            }
        }
        let order: Vec<u32> = keyed.par_iter().with_min_len(4096).map(|(_, i)| *i).collect();
        drop(keyed);
        let axes = std::array::from_fn(|axis| {
            let sorted = order.par_iter().with_min_len(4096).map(|&i| points[i as usize][axis]);
            let mut sorted: Vec<f64> = sorted.collect();
            sorted.resize(order.len() + MAX_LANES, 0.0);
            sorted
        });
        Self { side, boxes, order, axes }
    }

    /// Number of points.
    pub(crate) fn len(&self) -> usize {
        self.axes[0].len() - MAX_LANES
    }

    /// A sorted point, relative to the corner of box `key`, in units of `unit`.
    #[inline(always)]
    pub(crate) fn relative(&self, point: usize, corner: &Point, per_unit: f64) -> Point {
        std::array::from_fn(|axis| (self.axes[axis][point] - corner[axis]) * per_unit)
    }

    /// The corner of a box.
    pub(crate) fn corner(&self, key: &Key) -> Point {
        key.map(|k| k as f64 * self.side)
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of::<PointBox>() * self.boxes.len() + (4 + 24) * self.len()
    }
}
