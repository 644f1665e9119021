//! What a plan keeps on the device: points, tree, lists, expansions, close pairs and tables.

use ::gpu::{Arg, Buffer, Device, Grid, Stream};

use super::expansions::{Expansions, scalar};
use super::kernels::{self, Kernel, count, kernel};
use super::lists::Lists;
use super::tree::{self, Order, Tree};
use super::{GpuInfo, far_matrices, tables, tuning};
use crate::plan::Info;
use crate::truncation::{TruncationNumbers, expected};
use crate::{Mode, Options, Precision};

/// Warps of a block of P2P, as `kernels/fmm/p2p.cu` and `kernels/fmm/close.cu` have it.
const P2P_WARPS: usize = 4;

/// A close pair, as `kernels/shared/near.cuh` declares it: of the same size in both formats.
pub(super) type ClosePair = [u32; 8];

/// What stays on the device.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) device: Device,
    pub(super) beside: Stream,
    pub(super) precision: Precision,
    pub(super) side: f64,
    pub(super) sources: usize,
    pub(super) targets: usize,
    /// Whether the targets are the sources.
    pub(super) itself: bool,
    /// Whether all pairs are summed.
    pub(super) direct: bool,
    pub(super) tree: Tree,
    pub(super) lists: Lists,
    pub(super) expansions: Expansions,
    pub(super) source_order: Order,
    pub(super) target_order: Option<Order>,
    pub(super) source_points: Buffer<u8>,
    pub(super) target_points: Option<Buffer<u8>>,
    pub(super) close: Buffer<ClosePair>,
    /// In single precision the squared distance at which P2P counts each of them.
    pub(super) squares: Buffer<f32>,
    pub(super) close_count: usize,
    pub(super) tables: Tables,
    pub(super) largest: Kernel,
    pub(super) gather: Kernel,
    pub(super) scatter: Kernel,
}

/// Tables of harmonics.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) p: usize,
    pub(super) diagonal: Buffer<u8>,
    pub(super) columns: Buffer<u8>,
    pub(super) derivatives: Buffer<u8>,
    pub(super) ends: [u32; 3],
}

/// Bytes of device memory that a plan and an `apply` need at most, about: sorting and lists come before expansions.
pub(super) fn estimate(
    device: &Device,
    n: usize,
    m: usize,
    precision: Precision,
    options: &Options,
) -> u64 {
    let scalar = scalar(precision) as u64;
    let occupancy = tuning::occupancy(options, precision);
    let points = (n + m) as u64;
    // Coordinates, keys and indices with their copies for sorting, relative coordinates, strengths and sums.
    let k = options.densities.max(1) as u64;
    let kinds = 1 + 3 * u64::from(options.gradient) + 3 * u64::from(options.dipoles);
    let of_points = points * (24 + 2 * 12 + 4 * scalar + k * (1 + kinds) * (8 + scalar));
    // Boxes with their expansions and lists, 119 M2L and 27 P2P each, twice while they are sorted.
    let boxes = (1.2 * points as f64 / occupancy) as u64 + 64;
    let p = expected::stored(options.tolerance).max(3.0);
    let of_boxes = boxes * (96 + (2.0 * p * p) as u64 * scalar + 160 * 40 + 28 * 16);
    // Matrices of M2L: a uniform tree has 316 vectors, others more, up to the limit.
    let of_matrices =
        if options.mode == Mode::Fmm { (316.0 * p.powi(4)) as u64 * scalar } else { 0 };
    of_points + of_boxes + of_matrices.min(far_matrices::limit(device)) + (64 << 20)
}

/// Coordinates relative to leaves.
pub(super) fn particles(
    device: &Device,
    precision: Precision,
    tree: &Tree,
    side: f64,
    of_targets: bool,
    points: &Buffer<f64>,
    order: &Order,
) -> Result<Buffer<u8>, ::gpu::Error> {
    let n = order.index.len();
    let out = device.buffer::<u8>(4 * n * scalar(precision))?;
    let macros = [("PRECISION", 8 * scalar(precision))];
    kernel(device, &kernels::PARTICLES, &macros, "particles_place")?.launch(
        device.stream(),
        Grid::covering(32 * tree.len(), 256),
        &[
            tree.cells.arg(),
            tree.centres.arg(),
            count(tree.len()),
            Arg::U32(u32::from(of_targets)),
            points.arg(),
            order.index.arg(),
            Arg::F64(side),
            out.arg(),
        ],
    )?;
    Ok(out)
}

impl Tables {
    pub(super) fn new(
        device: &Device,
        precision: Precision,
        p: usize,
    ) -> Result<Self, ::gpu::Error> {
        let (diagonal, columns) = tables::recursion(p);
        let (entries, ends) = tables::derivatives(p);
        // Two 32-bit numbers and a factor, aligned as the factor is.
        let derivatives: Vec<u8> = entries
            .iter()
            .flat_map(|&(row, column, factor)| {
                let mut bytes = row.to_ne_bytes().to_vec();
                bytes.extend(column.to_ne_bytes());
                bytes.extend(tables::reals(precision, [factor]));
                bytes
            })
            .collect();
        Ok(Self {
            p,
            diagonal: device.upload(&tables::reals(precision, diagonal))?,
            columns: device.upload(&tables::reals(precision, columns))?,
            derivatives: device.upload(&derivatives)?,
            ends,
        })
    }

    pub(super) fn args(&self) -> [Arg; 7] {
        let [x, y, z] = self.ends;
        [
            self.diagonal.arg(),
            self.columns.arg(),
            count(self.p),
            self.derivatives.arg(),
            Arg::U32(x),
            Arg::U32(y),
            Arg::U32(z),
        ]
    }
}

impl Parts {
    pub(super) fn target_order(&self) -> &Order {
        self.target_order.as_ref().unwrap_or(&self.source_order)
    }

    pub(super) fn target_points(&self) -> &Buffer<u8> {
        self.target_points.as_ref().unwrap_or(&self.source_points)
    }

    /// Arguments that P2P and the search for close pairs begin with.
    pub(super) fn near_args(&self) -> Vec<Arg> {
        vec![
            self.tree.cells.arg(),
            self.tree.centres.arg(),
            self.lists.entries.arg(),
            self.lists.items.arg(),
            self.lists.item_cells.arg(),
            count(self.lists.items.len()),
            Arg::F64(self.side),
            self.source_points.arg(),
            self.target_points().arg(),
        ]
    }

    pub(super) fn near_grid(&self) -> Grid {
        Grid::new(self.lists.items.len().div_ceil(P2P_WARPS), 32 * P2P_WARPS as u32)
    }

    /// Lists the close pairs; a second time if there are more than was guessed.
    pub(super) fn find_close(
        &mut self,
        sources: &Buffer<f64>,
        targets: &Buffer<f64>,
    ) -> Result<(), ::gpu::Error> {
        let device = self.device.clone();
        let macros = [("PRECISION", 8 * scalar(self.precision))];
        let find = kernel(&device, &kernels::CLOSE, &macros, "close_find")?;
        let mut capacity = 1024 + self.targets;
        loop {
            let found = device.upload(&[0u32])?;
            self.close = device.buffer(capacity)?;
            self.squares = device.buffer(capacity)?;
            let mut args = self.near_args();
            args.extend([
                Arg::U32(u32::from(self.itself)),
                sources.arg(),
                self.source_order.index.arg(),
                targets.arg(),
                self.target_order().index.arg(),
                self.close.arg(),
                self.squares.arg(),
                count(capacity),
                found.arg(),
            ]);
            find.launch(device.stream(), self.near_grid(), &args)?;
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
        info.mean_translation_order = numbers.mean;
        info.leaf_size = leaf_size;
        info.depth = self.tree.depth();
        info.m2l_count = u64::from(self.lists.begins.last().copied().unwrap_or(0));
        info.m2l_per_box = info.m2l_count as f64 / self.tree.len() as f64;
        info.p2p_pairs = self.lists.pairs;
        let points = self.source_points.bytes()
            + self.target_points.as_ref().map_or(0, Buffer::bytes)
            + 12 * (self.sources + self.targets) as u64;
        let lists = self.lists.far.bytes()
            + self.lists.near.bytes()
            + self.lists.entries.bytes()
            + self.lists.items.bytes()
            + self.close.bytes();
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
