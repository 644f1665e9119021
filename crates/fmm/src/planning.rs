//! Chooses what of a plan depends on the points alone: leaf size, root cube, boxes, interaction
//! lists and truncation numbers.

use crate::expansions::screened::Screening;
use crate::geometry::{Geometry, OrderedPoints};
use crate::model::{Info, Options, Points, Precision};
use crate::tree::lists::Lists;
use crate::tree::morton::Sample;
use crate::tree::{Crowded, MortonOrder, Root, Tree};
use crate::truncation::{self, PointSets};
use crate::tuning;
use simd::Level;

/// Target boxes of one M2L block: their local expansions stay in a cache of this size.
const BLOCK_BYTES: usize = 384 << 10;

/// Target boxes of a block of M2L.
pub(crate) fn block_size(options: &Options, precision: Precision) -> usize {
    let scalar = if precision == Precision::Single { 4 } else { 8 };
    let p = truncation::expected::stored(options.tolerance) as usize + 2;
    (BLOCK_BYTES / (scalar * p * p)).clamp(64, 4096)
}

/// The root cube, and the most points that a leaf may hold: those given, or such that leaves hold
/// about `occupancy`.
pub(crate) fn root_and_leaf_size(
    points: Points<'_>,
    options: &Options,
    occupancy: f64,
) -> (Root, usize) {
    let root = Root::around(&points.sets());
    if let Some(leaf_size) = options.leaf_size {
        return (root, leaf_size);
    }
    let sample = Sample::new(&root, points.sources);
    (root.enlarged(tuning::enlargement(&sample, occupancy)), (2.0 * occupancy) as usize)
}

impl OrderedPoints {
    /// Chooses leaf size and root cube, and sorts the points.
    pub(crate) fn new(points: Points<'_>, options: &Options, precision: Precision) -> Self {
        let Points { sources, targets } = points;
        let occupancy = tuning::occupancy(options, precision);
        let (root, leaf_size) = root_and_leaf_size(points, options, occupancy);
        // A leaf of one set may be a box to split for the other.
        let enough = if targets.is_none() { leaf_size } else { 0 };
        let source_order = MortonOrder::of_leaves(&root, sources, enough);
        let target_order = targets.map(|points| MortonOrder::new(&root, points));
        let direct = tuning::direct_pairs(options, precision);
        let crowded = Crowded::ToTheLast;
        Self { root, source_order, target_order, leaf_size, direct, crowded }
    }
}

impl Geometry {
    /// Tree, lists and truncation numbers, and their counts in `info`.
    pub(crate) fn new(
        points: Points<'_>,
        ordered: OrderedPoints,
        options: &Options,
        precision: Precision,
        simd: Level,
        info: &mut Info,
    ) -> Self {
        let OrderedPoints { root, ref source_order, ref target_order, .. } = ordered;
        let (leaf_size, crowded) = (ordered.leaf_size, ordered.crowded);
        let tree = Tree::new(source_order, target_order.as_ref(), leaf_size, crowded);
        let (stencil, block_size) =
            (tuning::stencil(options, precision), block_size(options, precision));
        let mut lists = Lists::new(&tree, stencil, ordered.direct, block_size);
        let sources = (source_order, points.sources);
        let targets = target_order.as_ref().zip(points.targets).unwrap_or(sources);
        let screening = Screening::new(options.kernel, root.side);
        let sets = PointSets { root: &root, screening, tree: &tree, sources, targets };
        let numbers = truncation::choose(&sets, &mut lists, options, simd);
        ordered.into_geometry(screening, tree, lists, None, numbers, info)
    }
}
