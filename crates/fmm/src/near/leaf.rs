//! Near leaves as P2P sees them, and how close a pair may be for the precision of its coordinates.

use std::ops::Range;

use crate::tree::{Root, Tree, side};
use simd::Real;

/// A near source leaf as seen from the target leaf.
#[derive(Clone, Debug, Default)]
pub(crate) struct NearLeaf<T> {
    pub sources: Range<usize>,
    /// Centre of the target leaf minus centre of the source leaf.
    pub shift: [T; 3],
    /// Squared distance up to which the vector loop leaves a pair out: [`threshold`].
    pub threshold: T,
    /// Whether there is any such pair; if not, no lane is asked.
    pub masked: bool,
    /// Whether the boxes share a face or more: most pairs that need fine coordinates are of such
    /// boxes.
    pub touching: bool,
}

/// A target leaf, from which near leaves are seen.
pub(crate) struct TargetLeaf<'a> {
    tree: &'a Tree,
    root: &'a Root,
    index: u32,
    centre: [f64; 3],
    level: u8,
    scale: f64,
    close: f64,
}

impl<'a> TargetLeaf<'a> {
    /// From leaf `index`. Pairs are left out up to a distance of `close` sides of the larger box.
    pub(crate) fn new(root: &'a Root, tree: &'a Tree, index: u32, close: f64) -> Self {
        let leaf = &tree.cells[index as usize];
        let (centre, scale) = (root.centre(leaf), 1.0 / root.side);
        Self { tree, root, index, centre, level: leaf.level, scale, close }
    }

    /// Box `source` seen from here; only a box seen from itself is taken to hold pairs to leave
    /// out.
    #[inline(always)]
    pub(crate) fn of<T: Real>(&self, source: u32) -> NearLeaf<T> {
        let masked = source == self.index;
        let source = &self.tree.cells[source as usize];
        let there = self.root.centre(source);
        // Twice the offset along each axis at which boxes share no more than a plane.
        let apart = 0.999 * self.root.side * (side(self.level) + side(source.level));
        let overlapping = |i: &usize| 2.0 * (self.centre[*i] - there[*i]).abs() < apart;
        NearLeaf {
            sources: source.sources.start as usize..source.sources.end as usize,
            shift: std::array::from_fn(|i| T::of((self.centre[i] - there[i]) * self.scale)),
            threshold: threshold(self.close * side(self.level.min(source.level))),
            masked,
            touching: (0..3).filter(overlapping).count() >= 2,
        }
    }
}

/// Sides of the larger leaf below which sums keep a pair apart whose coordinates are in single
/// precision, or in double precision.
pub(crate) const CLOSE_SINGLE: f64 = 1.0 / 32.0;
pub(crate) const CLOSE_DOUBLE: f64 = 1.0 / 1024.0;

/// Sides of the larger leaf below which a vector loop in `N` for sums in `T` keeps a pair apart.
pub(crate) fn close_sides<N: Real, T: Real>(derivatives: bool) -> f64 {
    match (N::IS_SINGLE, T::IS_SINGLE) {
        (true, true) => CLOSE_SINGLE,
        // Fine coordinates make distances good however small; but the closest pairs are most of a
        // gradient.
        (true, false) if derivatives => 1.0 / 8.0,
        (true, false) => 1.0 / 64.0,
        // What coordinates relative to a leaf lose is 2e-16 of its side: 2e-13 of such a distance.
        (false, _) => CLOSE_DOUBLE,
    }
}

/// The square of the distance of close pairs.
fn threshold<T: Real>(distance: f64) -> T {
    T::of(distance * distance)
}
