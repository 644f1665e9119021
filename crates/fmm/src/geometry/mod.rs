//! Everything of a plan that depends on the points alone: order, boxes, interaction lists and
//! truncation numbers.

pub(crate) mod far_rows;

use crate::expansions::screened::Screening;
use crate::expansions::truncation_numbers::TruncationNumbers;
use crate::model::Info;
use crate::tree::lists::Lists;
use crate::tree::{Crowded, MortonOrder, Root, Tree};

use far_rows::FarRows;

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
    /// In a treecode: expansions evaluated at targets instead of translated.
    pub far: Option<FarRows>,
    /// Truncation numbers of each level.
    pub numbers: TruncationNumbers,
    /// Without keys, as that of targets.
    pub source_order: MortonOrder,
    /// None: the targets are the sources.
    pub target_order: Option<MortonOrder>,
    /// Which boxes hold sources of this rank; none: all sources are.
    pub own: Option<Vec<bool>>,
    /// Whether targets with their own order are all sources of their leaves, in the same order.
    pub itself: bool,
}

impl OrderedPoints {
    /// Their geometry, without keys, and its counts in `info`.
    pub(crate) fn into_geometry(
        mut self,
        screening: Screening,
        tree: Tree,
        lists: Lists,
        far: Option<FarRows>,
        numbers: TruncationNumbers,
        info: &mut Info,
    ) -> Geometry {
        for order in std::iter::once(&mut self.source_order).chain(&mut self.target_order) {
            order.keys = Vec::new();
        }
        info.leaf_size = self.leaf_size;
        info.m2p_count = far.as_ref().map_or(0, FarRows::evaluations);
        let Self { root, source_order, target_order, .. } = self;
        let geometry = Geometry {
            root,
            screening,
            tree,
            lists,
            far,
            numbers,
            source_order,
            target_order,
            own: None,
            itself: false,
        };
        geometry.describe(info);
        geometry
    }
}

impl Geometry {
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
