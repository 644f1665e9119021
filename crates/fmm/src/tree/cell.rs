//! Boxes of the octree.

use std::ops::Range;

/// A box: a cube of side `2^-level` that holds points.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Integer coordinates among the `2^level` boxes an axis.
    pub place: [u32; 3],
    /// Level, the root's being 0.
    pub level: u8,
    /// Number of children.
    pub child_count: u8,
    /// Index of the first child; the others follow it. Meaningless for a leaf.
    pub first_child: u32,
    /// Its parent.
    pub parent: u32,
    /// The box's sources in Morton order.
    pub sources: Range<u32>,
    /// The box's targets in Morton order.
    pub targets: Range<u32>,
}

impl Cell {
    /// Whether it has no children.
    pub fn is_leaf(&self) -> bool {
        self.child_count == 0
    }

    /// Its children.
    pub fn children(&self) -> Range<usize> {
        let first = self.first_child as usize;
        first..first + self.child_count as usize
    }

    /// Centre, in units of the root's side, relative to the root's lowest corner.
    pub fn centre(&self) -> [f64; 3] {
        let side = side(self.level);
        self.place.map(|i| (f64::from(i) + 0.5) * side)
    }
}

/// Side of a box at `level`: 2^-level.
pub fn side(level: u8) -> f64 {
    f64::from_bits((1023 - u64::from(level)) << 52)
}
