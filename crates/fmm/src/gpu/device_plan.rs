//! What a plan keeps on the device: points, tree, lists, expansions, close pairs and tables.

use cuda::{Buffer, Device, Grid, Plain, Pointer, Stream};

use super::expansions::Expansions;
use super::kernels::{Harmonics, Kernel, NEAR_WARPS, NearItems, close, count, particles};
use super::lists::Lists;
use super::points::Points;
use super::radials::Radials;
use super::reals::{Derivative, Point, Real, Reals, precision_macro, scalar};
use super::tree::{self, MortonOrder, Tree};
use super::treecode::Treecode;
use super::{GpuInfo, far_matrices, tables, tuning};
use crate::plan::Info;
use crate::screened::Screening;
use crate::truncation::{TruncationNumbers, expected};
use crate::{Mode, Options, Precision};

/// A close pair, as `kernels/shared/near.cuh` declares it: of the same size in both formats.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UnresolvedPair([u32; 8]);

// SAFETY: eight 32-bit numbers.
unsafe impl Plain for UnresolvedPair {}
cuda::elements! { UnresolvedPair: "UnresolvedPair" }

/// What only a rank's part of a larger sum has.
#[derive(Debug)]
pub(super) struct Share {
    /// The boxes, with this rank's sources alone: others come as expansions.
    pub(super) own_cells: Buffer<tree::Cell>,
    /// Which source each target is, if it is one.
    pub(super) slots: Option<Buffer<u32>>,
}

/// What stays on the device.
#[derive(Debug)]
pub(super) struct DevicePlan {
    pub(super) device: Device,
    pub(super) near_stream: Stream,
    pub(super) precision: Precision,
    pub(super) side: f64,
    pub(super) screening: Screening,
    pub(super) sources: usize,
    pub(super) targets: usize,
    /// Whether the targets are the sources, or those of them that are this rank's.
    pub(super) itself: bool,
    /// Where this is one rank's among several.
    pub(super) share: Option<Share>,
    /// Whether all pairs are summed.
    pub(super) direct: bool,
    pub(super) tree: Tree,
    pub(super) lists: Lists,
    pub(super) expansions: Expansions,
    /// What is evaluated instead of translated.
    pub(super) treecode: Option<Treecode>,
    pub(super) source_order: MortonOrder,
    pub(super) target_order: Option<MortonOrder>,
    pub(super) source_points: Reals<Point>,
    pub(super) target_points: Option<Reals<Point>>,
    pub(super) close: Buffer<UnresolvedPair>,
    /// In single precision the squared distance at which P2P counts each of them.
    pub(super) squares: Buffer<f32>,
    pub(super) close_count: usize,
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

/// Bytes of device memory that a plan and an `apply` need at most, about: sorting and lists come
/// before expansions.
pub(super) fn estimate(
    device: &Device,
    n: usize,
    m: usize,
    precision: Precision,
    options: &Options,
) -> u64 {
    // Keys and indices with their copies.
    let sorting = 12 + 12;
    estimate_with(device, [n, m], (n + m, sorting), precision, options)
}

/// Likewise of a rank's part, whose points the CPU has sorted, with the boxes of the larger set:
/// they may be the same points.
pub(super) fn estimate_sorted(
    device: &Device,
    n: usize,
    m: usize,
    precision: Precision,
    options: &Options,
) -> u64 {
    // Indices, and where a target is among the sources.
    estimate_with(device, [n, m], (n.max(m), 4 + 4), precision, options)
}

/// `in_boxes`: points that fill boxes; `order`: bytes of each point's place in order.
fn estimate_with(
    device: &Device,
    [n, m]: [usize; 2],
    (in_boxes, order): (usize, u64),
    precision: Precision,
    options: &Options,
) -> u64 {
    let scalar = scalar(precision) as u64;
    let of_treecode = options.mode == Mode::Treecode;
    let occupancy = if of_treecode {
        tuning::treecode_occupancy(options, precision)
    } else {
        tuning::occupancy(options, precision)
    };
    let points = (n + m) as u64;
    // Coordinates, order, relative coordinates, strengths and sums.
    let k = options.densities.max(1) as u64;
    let kinds = 1 + 3 * u64::from(options.gradient) + 3 * u64::from(options.dipoles);
    let of_points = points * (24 + order + 4 * scalar + k * (1 + kinds) * (8 + scalar));
    // Boxes with their expansions and lists, 119 M2L and 27 P2P each, twice while they are sorted.
    let boxes = (1.2 * in_boxes as f64 / occupancy) as u64 + 64;
    let p = expected::stored(options.tolerance).max(3.0);
    let of_boxes = boxes * (96 + (2.0 * p * p) as u64 * scalar + 160 * 40 + 28 * 16);
    // Matrices of M2L: a uniform tree has 316 vectors, others more, up to the limit.
    let of_level = if options.mode == Mode::Fmm { (316.0 * p.powi(4)) as u64 * scalar } else { 0 };
    // With screening each level has its own.
    let screened = options.kernel.kappa() > 0.0;
    let levels = (n.max(m) as f64 / occupancy).max(8.0).log(4.0).ceil() as u64;
    let of_matrices = if screened { levels * of_level } else { of_level };
    of_points + of_boxes + of_matrices.min(far_matrices::limit(device)) + (64 << 20)
}

/// Entries of derivatives as kernels read them: two 32-bit numbers and a factor, aligned as the
/// factor is.
pub(super) fn derivative_bytes(precision: Precision, entries: &[(u32, u32, f64)]) -> Vec<u8> {
    let of = |&(row, column, factor): &(u32, u32, f64)| {
        let mut bytes = row.to_ne_bytes().to_vec();
        bytes.extend(column.to_ne_bytes());
        bytes.extend(tables::reals(precision, [factor]));
        bytes
    };
    entries.iter().flat_map(of).collect()
}

/// Coordinates relative to leaves.
fn relative(
    device: &Device,
    precision: Precision,
    tree: &Tree,
    points: &Points,
    of_targets: bool,
) -> Result<Reals<Point>, cuda::Error> {
    let (coordinates, order) = points.ends()[usize::from(of_targets)];
    let out = Reals::new(device, precision, order.index.len())?;
    let place = particles::Place {
        cells: tree.cells.pointer(),
        centres: tree.centres.pointer(),
        count: count(tree.len()),
        of_targets,
        points: coordinates.pointer(),
        index: order.index.pointer(),
        side: points.root.side,
        out: out.pointer(),
    };
    let grid = Grid::covering(32 * tree.len(), particles::THREADS);
    Kernel::with(device, &[precision_macro(precision)])?.launch(device.stream(), grid, place)?;
    Ok(out)
}

impl Tables {
    pub(super) fn new(
        device: &Device,
        precision: Precision,
        p: usize,
    ) -> Result<Self, cuda::Error> {
        let (diagonal, columns) = tables::recursion(p);
        let (entries, ends) = tables::derivatives(p);
        let derivatives = derivative_bytes(precision, &entries);
        Ok(Self {
            p,
            diagonal: Reals::upload(device, precision, &tables::reals(precision, diagonal))?,
            columns: Reals::upload(device, precision, &tables::reals(precision, columns))?,
            derivatives: Reals::upload(device, precision, &derivatives)?,
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

impl DevicePlan {
    /// Of points with their tree, lists, expansions and what a treecode evaluates; truncation
    /// numbers are `numbers`, `share` is there on ranks.
    pub(super) fn new(
        device: &Device,
        precision: Precision,
        (direct, screening): (bool, Screening),
        numbers: &TruncationNumbers,
        points: Points,
        (tree, lists, expansions, treecode): (Tree, Lists, Expansions, Option<Treecode>),
        share: Option<Share>,
    ) -> Result<Self, cuda::Error> {
        let macros = [precision_macro(precision)];
        let place = |of_targets| relative(device, precision, &tree, &points, of_targets);
        let source_points = place(false)?;
        let target_points = points.targets.is_some().then(|| place(true)).transpose()?;
        let [sources, targets] = points.ends().map(|(_, order)| order.index.len());
        let (source_coordinates, source_order) = points.sources;
        let (target_coordinates, target_order) = points.targets.unzip();
        let mut plan = Self {
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
            close: device.buffer(0)?,
            squares: device.buffer(0)?,
            close_count: 0,
            tree,
            lists,
            expansions,
            treecode,
            source_points,
            target_points,
            source_order,
            target_order,
            device: device.clone(),
        };
        let target_coordinates = target_coordinates.as_ref().unwrap_or(&source_coordinates);
        plan.find_close(&source_coordinates, target_coordinates)?;
        Ok(plan)
    }

    pub(super) fn target_order(&self) -> &MortonOrder {
        self.target_order.as_ref().unwrap_or(&self.source_order)
    }

    /// The boxes with the sources that P2M expands.
    pub(super) fn expanded_cells(&self) -> &Buffer<tree::Cell> {
        self.share.as_ref().map_or(&self.tree.cells, |share| &share.own_cells)
    }

    /// Which source each target is; null if they are in the same order.
    pub(super) fn slots(&self) -> Pointer<u32> {
        let slots = self.share.as_ref().and_then(|share| share.slots.as_ref());
        slots.map_or(Pointer::null(), Buffer::pointer)
    }

    pub(super) fn target_points(&self) -> &Reals<Point> {
        self.target_points.as_ref().unwrap_or(&self.source_points)
    }

    /// kappa times the root's side, as kernels take it: no power of it that they form overflows,
    /// and nothing is felt at any distance above rounding.
    pub(super) fn kappa(&self) -> f64 {
        self.screening.root.min(1e15)
    }

    /// What P2P and the search for close pairs go through.
    pub(super) fn near_items(&self) -> NearItems {
        NearItems {
            cells: self.tree.cells.pointer(),
            centres: self.tree.centres.pointer(),
            entries: self.lists.entries.pointer(),
            items: self.lists.items.pointer(),
            item_cells: self.lists.item_cells.pointer(),
            count: count(self.lists.items.len()),
            side: self.side,
            sources: self.source_points.pointer(),
            targets: self.target_points().pointer(),
        }
    }

    pub(super) fn near_grid(&self) -> Grid {
        Grid::new(self.lists.items.len().div_ceil(NEAR_WARPS as usize), 32 * NEAR_WARPS)
    }

    /// Lists the close pairs; a second time if there are more than was guessed.
    fn find_close(
        &mut self,
        sources: &Buffer<f64>,
        targets: &Buffer<f64>,
    ) -> Result<(), cuda::Error> {
        let device = self.device.clone();
        let find = Kernel::with(&device, &[precision_macro(self.precision)])?;
        let mut capacity = 1024 + self.targets;
        loop {
            let found = device.upload(&[0u32])?;
            self.close = device.buffer(capacity)?;
            self.squares = device.buffer(capacity)?;
            let of_items = close::Find {
                near: self.near_items(),
                itself: self.itself,
                source_points: sources.pointer(),
                source_index: self.source_order.index.pointer(),
                target_points: targets.pointer(),
                target_index: self.target_order().index.pointer(),
                pairs: self.close.pointer(),
                squares: self.squares.pointer(),
                capacity: count(capacity),
                found: found.pointer(),
            };
            find.launch(device.stream(), self.near_grid(), of_items)?;
            self.close_count = found.to_vec()?[0] as usize;
            if self.close_count <= capacity {
                break;
            }
            capacity = self.close_count;
        }
        // What is not needed goes back.
        let pairs = tree::grown(&device, &self.close, self.close_count, self.close_count)?;
        let limits = tree::grown(&device, &self.squares, self.close_count, self.close_count)?;
        (self.close, self.squares) = (pairs, limits);
        Ok(())
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
        let points = self.source_points.bytes.bytes()
            + self.target_points.as_ref().map_or(0, |points| points.bytes.bytes())
            + 12 * (self.sources + self.targets) as u64;
        let lists = self.lists.far.bytes()
            + self.lists.near.bytes()
            + self.lists.entries.bytes()
            + self.lists.items.bytes()
            + self.close.bytes()
            + self.radials.as_ref().map_or(0, Radials::bytes)
            + self.treecode.as_ref().map_or(0, Treecode::bytes);
        info.memory_bytes = points + lists + self.tree.cells.bytes() + self.expansions.bytes();
        info.gpu = Some(GpuInfo {
            name: self.device.info().name.clone(),
            index: self.device.info().index,
            tree_seconds,
            m2l_operations: 2.0 * self.expansions.m2l_products,
            close_pairs: self.close_count as u64,
            boxes: self.tree.len() as u64,
        });
    }
}
