//! Everything of a plan that depends on the points alone: order, boxes, interaction lists and
//! truncation numbers.

use crate::far_rows::FarRows;
use crate::lists::Lists;
use crate::model::{Info, Options, Points, Precision};
use crate::morton::Sample;
use crate::screened::Screening;
use crate::tree::{Crowded, MortonOrder, Root, Tree};
use crate::truncation::{self, PointSets};
use crate::truncation_numbers::TruncationNumbers;
use crate::tuning;
use simd::Level;

/// Points in Morton order in a root cube, and what leaves may hold.
#[derive(Debug)]
pub struct OrderedPoints {
    /// The cube around all points.
    pub root: Root,
    /// Order of the sources.
    pub source_order: MortonOrder,
    /// None: the targets are the sources.
    pub target_order: Option<MortonOrder>,
    /// Most points of a leaf.
    pub leaf_size: usize,
    /// Pairs of points up to which boxes two levels apart or more are summed directly.
    pub direct: u64,
    /// Of the boxes: crowds are taken from them on processors alone.
    pub crowded: Crowded,
}

/// Boxes, their lists and truncation numbers.
#[derive(Debug)]
pub struct Geometry {
    /// The cube around all points.
    pub root: Root,
    /// How much the kernel is screened in units of the root.
    pub screening: Screening,
    /// The octree.
    pub tree: Tree,
    /// Near and far boxes of each box.
    pub lists: Lists,
    /// Of a treecode what is evaluated instead of translated.
    pub far: Option<FarRows>,
    /// Truncation numbers of each level.
    pub numbers: TruncationNumbers,
    /// Without keys, as that of targets.
    pub source_order: MortonOrder,
    /// None: the targets are the sources.
    pub target_order: Option<MortonOrder>,
    /// Which boxes hold sources of this rank; none: all sources are.
    pub own: Option<Vec<bool>>,
    /// Whether targets that have an order of their own are those of a leaf's sources, wholly and as
    /// the sources are.
    pub itself: bool,
}

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
    let Points { sources, targets } = points;
    let all: Vec<&[[f64; 3]]> = std::iter::once(sources).chain(targets).collect();
    let root = Root::around(&all);
    if let Some(leaf_size) = options.leaf_size {
        return (root, leaf_size);
    }
    let sample = Sample::new(&root, sources);
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
        let OrderedPoints { root, mut source_order, mut target_order, .. } = ordered;
        let (leaf_size, direct) = (ordered.leaf_size, ordered.direct);
        let tree = Tree::new(&source_order, target_order.as_ref(), leaf_size, ordered.crowded);
        let (stencil, block_size) =
            (tuning::stencil(options, precision), block_size(options, precision));
        let mut lists = Lists::new(&tree, stencil, direct, block_size);
        let sources = (&source_order, points.sources);
        let targets = target_order.as_ref().zip(points.targets).unwrap_or(sources);
        let screening = Screening::new(options.kernel, root.side);
        let sets = PointSets { root: &root, screening, tree: &tree, sources, targets };
        let numbers = truncation::choose(&sets, &mut lists, options, simd);
        for order in std::iter::once(&mut source_order).chain(&mut target_order) {
            order.keys = Vec::new();
        }
        info.leaf_size = leaf_size;
        let geometry = Self {
            root,
            screening,
            tree,
            lists,
            far: None,
            numbers,
            source_order,
            target_order,
            own: None,
            itself: false,
        };
        geometry.describe(info);
        geometry
    }

    /// Fills the counts of `info`.
    pub(crate) fn describe(&self, info: &mut Info) {
        let target_blocks = &self.lists.target_blocks;
        info.truncation_number = self.numbers.max();
        info.mean_truncation_number = self.numbers.mean;
        info.depth = self.tree.depth();
        info.m2l_count = target_blocks.iter().map(|c| c.pairs.len() as u64).sum();
        let receivers: u64 = target_blocks.iter().map(|c| u64::from(c.receivers)).sum();
        info.m2l_per_box = info.m2l_count as f64 / receivers.max(1) as f64;
        info.p2p_pairs = self.lists.near_pairs;
    }

    /// Whether a box holds sources of this rank, whose multipole expansion is made here.
    pub fn is_own(&self, cell: usize) -> bool {
        self.own.as_ref().is_none_or(|own| own[cell])
    }

    /// The order of the targets.
    pub(crate) fn target_order(&self) -> &MortonOrder {
        self.target_order.as_ref().unwrap_or(&self.source_order)
    }
}
