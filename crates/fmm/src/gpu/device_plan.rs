//! What a plan keeps on the device: points, tree, lists, expansions, close pairs and tables.

use cuda::{Buffer, Device, Grid, Pointer, Real, Reals, Stream};

use super::close::Close;
use super::expansions::Expansions;
use super::kernels::{Derivative, Harmonics, Kernel, NEAR_WARPS, NearItems, count, particles};
use super::lists::Lists;
use super::points::Points;
use super::radials::Radials;
use super::relative::Relative;
use super::tree::{MortonOrder, Tree};
use super::treecode::Treecode;
use super::{layouts, tables};
use crate::GpuInfo;
use crate::Precision;
use crate::expansions::screened::Screening;
use crate::model::Info;
use crate::truncation::TruncationNumbers;

/// What only a rank's part of a larger sum has.
#[derive(Debug)]
pub(super) struct Share {
    /// The boxes, with this rank's sources alone: others come as expansions.
    pub(super) own_cells: Buffer<layouts::Cell>,
    /// Which source each target is, if it is one.
    pub(super) slots: Option<Buffer<u32>>,
}

/// What stays on the device.
#[derive(Debug)]
pub struct DevicePlan {
    pub(super) device: Device,
    pub(super) near_stream: Stream,
    pub(super) precision: Precision,
    /// Side of the root cube.
    pub side: f64,
    pub(super) screening: Screening,
    pub(super) sources: usize,
    pub(super) targets: usize,
    /// Whether the targets are the sources, or those of them that are this rank's.
    pub(super) itself: bool,
    /// Where this is one rank's among several.
    pub(super) share: Option<Share>,
    /// Whether all pairs are summed.
    pub(super) direct: bool,
    /// The octree.
    pub tree: Tree,
    /// Near and far boxes of each box.
    pub lists: Lists,
    /// Expansions, and what translates them.
    pub expansions: Expansions,
    /// Expansions evaluated at targets instead of translated.
    pub(super) treecode: Option<Treecode>,
    /// Morton order of the sources.
    pub source_order: MortonOrder,
    pub(super) target_order: Option<MortonOrder>,
    /// Points relative to their boxes.
    pub points: Relative,
    /// Pairs too close for that.
    pub close: Close,
    pub(super) tables: Tables,
    /// None without screening.
    pub(super) radials: Option<Radials>,
    pub(super) largest: Kernel<particles::Largest>,
    pub(super) gather: Kernel<particles::Gather>,
    pub(super) scatter: Kernel<particles::Scatter>,
}

/// Tables of harmonics.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) p: usize,
    diagonal: Reals,
    columns: Reals,
    derivatives: Reals<Derivative>,
    ends: [u32; 3],
}

impl Tables {
    pub(super) fn new(
        device: &Device,
        precision: Precision,
        p: usize,
    ) -> Result<Self, cuda::Error> {
        let (diagonal, columns) = tables::recursion(p);
        let (entries, ends) = tables::derivatives(p);
        let derivatives = tables::derivative_bytes(precision, &entries);
        Ok(Self {
            p,
            diagonal: Reals::upload(device, precision, diagonal)?,
            columns: Reals::upload(device, precision, columns)?,
            derivatives: Reals::of_bytes(device, precision, &derivatives)?,
            ends,
        })
    }

    pub(super) fn diagonal(&self) -> Pointer<Real> {
        self.diagonal.pointer()
    }

    pub(super) fn columns(&self) -> Pointer<Real> {
        self.columns.pointer()
    }

    pub(super) fn arguments(&self) -> Harmonics {
        let [end_x, end_y, end_z] = self.ends;
        Harmonics {
            diagonal: self.diagonal(),
            columns: self.columns(),
            table_p: count(self.p),
            derivatives: self.derivatives.pointer(),
            end_x,
            end_y,
            end_z,
        }
    }
}

/// What a plan is made of.
pub(super) struct Parts<'a> {
    /// Whether all pairs are summed.
    pub(super) direct: bool,
    pub(super) screening: Screening,
    pub(super) points: Points<'a>,
    /// Points relative to their boxes.
    pub(super) relative: Relative,
    pub(super) close: Close,
    pub(super) tree: Tree,
    pub(super) lists: Lists,
    pub(super) expansions: Expansions,
    pub(super) treecode: Option<Treecode>,
    /// On ranks.
    pub(super) share: Option<Share>,
}

impl DevicePlan {
    pub(super) fn new(
        device: &Device,
        precision: Precision,
        parts: Parts<'_>,
        numbers: &TruncationNumbers,
    ) -> Result<Self, cuda::Error> {
        let Parts { direct, screening, points, relative, close, .. } = parts;
        let Parts { tree, lists, expansions, treecode, share, .. } = parts;
        let macros = [precision.as_macro()];
        let [sources, targets] = points.ends().map(|(_, order)| order.index.len());
        let (_, source_order) = points.sources;
        let target_order = points.targets.map(|(_, order)| order);
        Ok(Self {
            near_stream: device.new_stream()?,
            precision,
            side: points.root.side,
            screening,
            sources,
            targets,
            itself: share.as_ref().map_or(target_order.is_none(), |share| share.slots.is_some()),
            share,
            direct,
            tables: Tables::new(device, precision, numbers.max().max(1))?,
            radials: Radials::new(device, precision, screening, numbers)?,
            largest: Kernel::with(device, &macros)?,
            gather: Kernel::with(device, &macros)?,
            scatter: Kernel::with(device, &macros)?,
            tree,
            lists,
            expansions,
            treecode,
            points: relative,
            close,
            source_order,
            target_order,
            device: device.clone(),
        })
    }

    /// Morton order of the targets.
    pub fn target_order(&self) -> &MortonOrder {
        self.target_order.as_ref().unwrap_or(&self.source_order)
    }

    /// The boxes with the sources that P2M expands.
    pub(super) fn expanded_cells(&self) -> &Buffer<layouts::Cell> {
        self.share.as_ref().map_or(&self.tree.cells, |share| &share.own_cells)
    }

    /// Which source each target is; null if they are in the same order.
    pub(super) fn slots(&self) -> Pointer<u32> {
        let slots = self.share.as_ref().and_then(|share| share.slots.as_ref());
        slots.map_or(Pointer::null(), Buffer::pointer)
    }

    /// kappa times the root's side, as kernels take it: no power of it that they form overflows,
    /// and no interaction exceeds rounding at any distance.
    pub(super) fn kappa(&self) -> f64 {
        self.screening.root.min(1e15)
    }

    /// What P2P goes through.
    pub(super) fn near_items(&self) -> NearItems {
        near_items(&self.tree, &self.lists, &self.points, self.side)
    }

    pub(super) fn near_grid(&self) -> Grid {
        Grid::new(self.lists.items.len().div_ceil(NEAR_WARPS as usize), 32 * NEAR_WARPS)
    }

    pub(super) fn describe(
        &self,
        numbers: &TruncationNumbers,
        leaf_size: usize,
        tree_seconds: f64,
        info: &mut Info,
    ) {
        info.truncation_number = numbers.max();
        info.mean_truncation_number = numbers.mean;
        info.leaf_size = leaf_size;
        info.depth = self.tree.depth();
        info.m2l_count = u64::from(self.lists.begins.last().copied().unwrap_or(0));
        info.m2l_per_box = info.m2l_count as f64 / self.tree.len() as f64;
        info.p2p_pairs = self.lists.pairs;
        info.memory_bytes = self.device.held_memory();
        info.gpu = Some(GpuInfo {
            name: self.device.info().name.clone(),
            index: self.device.info().index,
            tree_seconds,
            m2l_operations: 2.0 * self.expansions.m2l_products,
            close_pairs: self.close.count as u64,
            boxes: self.tree.len() as u64,
            planning_bytes: self.device.most_memory(),
        });
    }
}

/// What P2P and the search for close pairs go through; `side`: of the root.
pub(super) fn near_items(tree: &Tree, lists: &Lists, points: &Relative, side: f64) -> NearItems {
    NearItems {
        cells: tree.cells.pointer(),
        centres: tree.centres.pointer(),
        entries: lists.entries.pointer(),
        items: lists.items.pointer(),
        item_cells: lists.item_cells.pointer(),
        count: count(lists.items.len()),
        side,
        sources: points.sources.pointer(),
        targets: points.targets().pointer(),
    }
}
