//! Expansions on the device, the matrices that translate them, and the launches that do.

use ::gpu::{Arg, Buffer, Device, Error, Grid, Plain, Stream};

use super::kernels::{self, Kernel, count, kernel};
use super::lists::Lists;
use super::orders::Orders;
use super::tables;
use super::tree::Tree;
use crate::Precision;

/// Where the expansions of a level are, as `kernels/shared/levels.cuh` declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    values: u64,
    stride: u32,
    p: u32,
}

// SAFETY: 64 and twice 32 bits.
unsafe impl Plain for Level {}

/// Pairs that share a matrix, as `kernels/translate.cu` declares them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    matrix: u64,
    from: u64,
    to: u64,
    from_stride: u32,
    to_stride: u32,
    rows: u32,
    columns: u32,
    lda: u32,
    first_pair: u32,
    pairs: u32,
    first_tile: u32,
    unused: [u32; 2],
}

// SAFETY: three 64-bit and ten 32-bit numbers, 64 bytes.
unsafe impl Plain for Batch {}

/// A translation vector, as `kernels/m2l.cu` declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Vector {
    offset: [i32; 3],
    finer_source: i32,
    p: u32,
    lda: u32,
    matrix: u64,
}

// SAFETY: six 32-bit numbers and a 64-bit one, 32 bytes.
unsafe impl Plain for Vector {}

/// One kind of expansion, of all levels.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) values: Buffer<u8>,
    pub(super) device_levels: Buffer<u8>,
    levels: Vec<Level>,
}

impl Stored {
    /// `stride`: scalars between two expansions of a truncation number.
    fn new(
        device: &Device,
        tree: &Tree,
        orders: &[usize],
        scalar: usize,
        stride: impl Fn(usize) -> usize,
    ) -> Result<Self, Error> {
        let cells = |level: usize| tree.levels[level + 1] - tree.levels[level];
        let total: usize = orders.iter().enumerate().map(|(l, &p)| stride(p) * cells(l)).sum();
        let values = device.buffer::<u8>(total * scalar)?;
        let mut begin = values.address();
        let mut levels = Vec::with_capacity(orders.len());
        for (level, &p) in orders.iter().enumerate() {
            let bytes = |cells: usize| (stride(p) * cells * scalar) as u64;
            levels.push(Level {
                values: begin.wrapping_sub(bytes(tree.levels[level])),
                stride: stride(p) as u32,
                p: p as u32,
            });
            begin += bytes(cells(level));
        }
        let words: Vec<u8> = levels
            .iter()
            .flat_map(|l| {
                let mut bytes = l.values.to_ne_bytes().to_vec();
                bytes.extend(l.stride.to_ne_bytes());
                bytes.extend(l.p.to_ne_bytes());
                bytes
            })
            .collect();
        Ok(Self { device_levels: device.upload(&words)?, values, levels })
    }
}

/// Translations that one launch makes: those with the same number of rows.
#[derive(Clone, Copy, Debug)]
struct Launch {
    /// Into the list of tiles.
    first: usize,
    tiles: usize,
    rows: usize,
}

/// All expansions of a plan.
#[derive(Debug)]
pub(super) struct Expansions {
    pub(super) multipoles: Stored,
    pub(super) locals: Stored,
    batches: Buffer<Batch>,
    /// The batch of each tile.
    tiles: Buffer<u32>,
    families: Buffer<u64>,
    /// From the deepest level up.
    upward: Vec<Launch>,
    across: Vec<Launch>,
    /// From the root down.
    downward: Vec<Launch>,
    translate: Kernel,
    /// Pairs of a tile.
    width: usize,
    /// Multiplications of all M2L, which the stage's rate is told by.
    pub(super) m2l_products: f64,
    /// Kept for the kernels that read them.
    matrices: [Buffer<u8>; 2],
}

/// Shared memory of the largest tile.
const MAX_SHARED: u32 = 3 * (64 * 128 + 80 * 128);

/// Blocks that fill one matrix.
const FILL_BLOCKS: u32 = 8;

/// Pairs of one tile.
fn tile(precision: Precision) -> usize {
    match precision {
        Precision::Single => 128,
        Precision::Double => 64,
    }
}

impl Expansions {
    pub(super) fn new(
        device: &Device,
        precision: Precision,
        tree: &Tree,
        lists: &Lists,
        orders: &Orders,
    ) -> Result<Self, Error> {
        let scalar = scalar(precision);
        // Whole 16-byte words, so that translations load and add them at once.
        let stride = |p: usize| (p * p).next_multiple_of(4);
        let multipoles = Stored::new(device, tree, &orders.multipole, scalar, stride)?;
        let locals = Stored::new(device, tree, &orders.local, scalar, stride)?;
        let (far_matrices, addresses) = far_matrices(device, precision, lists, orders)?;
        let (mut batches, mut tiles) = (Vec::new(), Vec::new());

        // M2L, those with equal p' together.
        let mut order: Vec<usize> = (0..lists.batches.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(orders.batches[i]));
        let mut across: Vec<Launch> = Vec::new();
        let mut m2l_products = 0.0;
        for i in order {
            let (batch, p) = (&lists.batches[i], orders.batches[i]);
            let pairs = (lists.begins[i + 1] - lists.begins[i]) as usize;
            let (matrix, lda) = addresses[i];
            let from = multipoles.levels[batch.source_level as usize];
            let to = locals.levels[batch.target_level()];
            let launch = match across.last_mut() {
                Some(launch) if launch.rows == p * p => launch,
                _ => {
                    across.push(Launch { first: tiles.len(), tiles: 0, rows: p * p });
                    let last = across.len() - 1;
                    &mut across[last]
                }
            };
            batches.push(Batch {
                matrix,
                from: from.values,
                to: to.values,
                from_stride: from.stride,
                to_stride: to.stride,
                rows: (p * p) as u32,
                columns: (p * p) as u32,
                lda: lda as u32,
                first_pair: lists.begins[i],
                pairs: pairs as u32,
                first_tile: launch.tiles as u32,
                unused: [0; 2],
            });
            let count = pairs.div_ceil(tile(precision));
            tiles.extend(std::iter::repeat_n(batches.len() as u32 - 1, count));
            launch.tiles += count;
            m2l_products += (p * p * p * p * pairs) as f64;
        }

        // M2M and L2L: eight batches a level.
        let p = orders.max();
        let size = tables::padded_rows(p) * tables::padded_columns(p) * scalar;
        let mut matrices = Vec::with_capacity(16 * size);
        for octant in 0..if p > 0 { 8 } else { 0 } {
            for matrix in tables::families(p, octant) {
                matrices.extend(tables::reals(precision, matrix));
            }
        }
        let family_matrices = device.upload(&matrices)?;
        let (families, spans) = families(device, tree)?;
        let (mut upward, mut downward) = (Vec::new(), Vec::new());
        for level in 1..=tree.depth() {
            for (stored, launches, down) in
                [(&multipoles, &mut upward, 0), (&locals, &mut downward, 1)]
            {
                let (child, parent) = (stored.levels[level], stored.levels[level - 1]);
                if child.p == 0 || parent.p == 0 {
                    continue;
                }
                let (from, to) = if down == 0 { (child, parent) } else { (parent, child) };
                let rows = (to.p * to.p) as usize;
                let mut launch = Launch { first: tiles.len(), tiles: 0, rows };
                for octant in 0..8 {
                    let (first_pair, pairs) = spans[8 * (level - 1) + octant];
                    if pairs == 0 {
                        continue;
                    }
                    let matrix = family_matrices.address() + ((2 * octant + down) * size) as u64;
                    batches.push(Batch {
                        matrix,
                        from: from.values,
                        to: to.values,
                        from_stride: from.stride,
                        to_stride: to.stride,
                        rows: rows as u32,
                        columns: from.p * from.p,
                        lda: tables::padded_rows(p) as u32,
                        first_pair: first_pair as u32,
                        pairs: pairs as u32,
                        first_tile: launch.tiles as u32,
                        unused: [0; 2],
                    });
                    let count = pairs.div_ceil(tile(precision));
                    tiles.extend(std::iter::repeat_n(batches.len() as u32 - 1, count));
                    launch.tiles += count;
                }
                launches.push(launch);
            }
        }
        upward.reverse();
        let macros = [("PRECISION", 8 * scalar)];
        let translate = kernel(device, &kernels::TRANSLATE, &macros, "translate")?;
        translate.allow_shared(MAX_SHARED)?;
        Ok(Self {
            multipoles,
            locals,
            batches: device.upload(&batches)?,
            tiles: device.upload(&tiles)?,
            families,
            upward,
            across,
            downward,
            translate,
            width: tile(precision),
            m2l_products,
            matrices: [far_matrices, family_matrices],
        })
    }

    /// Expansions that are translated elsewhere, `stride` scalars apart.
    pub(super) fn untranslated(
        device: &Device,
        precision: Precision,
        tree: &Tree,
        orders: &Orders,
        stride: impl Fn(usize) -> usize,
    ) -> Result<Self, Error> {
        let scalar = scalar(precision);
        let macros = [("PRECISION", 8 * scalar)];
        Ok(Self {
            multipoles: Stored::new(device, tree, &orders.multipole, scalar, &stride)?,
            locals: Stored::new(device, tree, &orders.local, scalar, &stride)?,
            batches: device.buffer(0)?,
            tiles: device.buffer(0)?,
            families: device.buffer(0)?,
            upward: Vec::new(),
            across: Vec::new(),
            downward: Vec::new(),
            translate: kernel(device, &kernels::TRANSLATE, &macros, "translate")?,
            width: tile(precision),
            m2l_products: 0.0,
            matrices: [device.buffer(0)?, device.buffer(0)?],
        })
    }

    pub(super) fn m2m(&self, stream: &Stream) -> Result<(), Error> {
        self.upward.iter().try_for_each(|l| self.launch(stream, l, &self.families, false))
    }

    pub(super) fn m2l(&self, stream: &Stream, lists: &Lists) -> Result<(), Error> {
        self.across.iter().try_for_each(|l| self.launch(stream, l, &lists.far, false))
    }

    pub(super) fn l2l(&self, stream: &Stream) -> Result<(), Error> {
        self.downward.iter().try_for_each(|l| self.launch(stream, l, &self.families, true))
    }

    fn launch(
        &self,
        stream: &Stream,
        launch: &Launch,
        pairs: &Buffer<u64>,
        turned: bool,
    ) -> Result<(), Error> {
        const COLUMN_THREADS: usize = 16;
        const STAGES: usize = 3;
        let blocks_of_rows = launch.rows.div_ceil(128);
        let row_threads = launch.rows.div_ceil(8 * blocks_of_rows);
        // A warp of the tensor cores takes two of them.
        let (row_threads, beyond, pitch) = if self.width == 128 {
            (row_threads, 0, 80)
        } else {
            (row_threads.next_multiple_of(2), 4, 96)
        };
        // Chunks of 64 bytes a row, padded as the kernel pads them.
        let shared = STAGES * (64 * (8 * row_threads + beyond) + pitch * self.width);
        let grid = Grid {
            blocks: [launch.tiles as u32, blocks_of_rows as u32],
            threads: (COLUMN_THREADS * row_threads) as u32,
            shared: shared as u32,
        };
        self.translate.launch(
            stream,
            grid,
            &[
                self.batches.arg(),
                self.tiles.at(launch.first),
                pairs.arg(),
                Arg::U32(u32::from(turned)),
            ],
        )
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> u64 {
        let matrices: u64 = self.matrices.iter().map(Buffer::bytes).sum();
        self.multipoles.values.bytes()
            + self.locals.values.bytes()
            + self.batches.bytes()
            + self.tiles.bytes()
            + self.families.bytes()
            + matrices
    }
}

/// Bytes of a number.
pub(super) fn scalar(precision: Precision) -> usize {
    match precision {
        Precision::Single => 4,
        Precision::Double => 8,
    }
}

/// Address of a matrix and scalars between its columns.
type Matrix = (u64, usize);

/// Where some pairs begin, and their number.
type Span = (usize, usize);

/// Dense M2L matrices of all vectors; for each batch the address of its own and the scalars between columns.
fn far_matrices(
    device: &Device,
    precision: Precision,
    lists: &Lists,
    orders: &Orders,
) -> Result<(Buffer<u8>, Vec<Matrix>), Error> {
    // Batches are sorted by difference of levels, level, offset: bring those with equal vectors together.
    let mut vectors = std::collections::BTreeMap::<(i32, [i32; 3]), (usize, u64)>::new();
    for (batch, &p) in lists.batches.iter().zip(&orders.batches) {
        let of = vectors.entry((batch.finer_source, batch.offset)).or_default();
        of.0 = of.0.max(p);
    }
    let scalar = scalar(precision);
    let mut bytes = 0;
    for (p, begin) in vectors.values_mut() {
        *begin = bytes as u64;
        bytes += tables::padded_rows(*p) * tables::padded_columns(*p) * scalar;
    }
    let matrices = device.buffer::<u8>(bytes)?;
    for (_, begin) in vectors.values_mut() {
        *begin += matrices.address();
    }
    let list: Vec<Vector> = vectors
        .iter()
        .map(|(&(finer_source, offset), &(p, matrix))| Vector {
            offset,
            finer_source,
            p: p as u32,
            lda: tables::padded_rows(p) as u32,
            matrix,
        })
        .collect();
    if let Some(p) = list.iter().map(|v| v.p as usize).max() {
        let list = device.upload(&list)?;
        let roots = device.upload(&tables::root_factorials(4 * p))?;
        let fill = kernel(device, &kernels::M2L, &[("PRECISION", 8 * scalar)], "m2l_fill")?;
        let shared = tables::fill_shared(p);
        fill.allow_shared(shared)?;
        let grid = Grid { blocks: [list.len() as u32, FILL_BLOCKS], threads: 256, shared };
        fill.launch(device.stream(), grid, &[list.arg(), roots.arg()])?;
    }
    let addresses = lists
        .batches
        .iter()
        .map(|batch| {
            let (p, address) = vectors[&(batch.finer_source, batch.offset)];
            (address, tables::padded_rows(p))
        })
        .collect();
    Ok((matrices, addresses))
}

/// Child and parent of every box but the root, by level and octant; for each of these where its pairs begin, and their number.
fn families(device: &Device, tree: &Tree) -> Result<(Buffer<u64>, Vec<Span>), Error> {
    let depth = tree.depth();
    let pairs = device.buffer::<u64>(8 * (tree.len() - 1))?;
    let counts = device.buffer::<u32>(8 * depth)?;
    counts.zero()?;
    let list = kernel(device, &kernels::TREE, &[], "tree_families")?;
    let mut begin = 0;
    let mut begins = Vec::new();
    for level in 1..=depth {
        let (first, here) = (tree.levels[level], tree.levels[level + 1] - tree.levels[level]);
        list.launch(
            device.stream(),
            Grid::covering(here, 128),
            &[
                tree.cells.arg(),
                count(first),
                count(here),
                pairs.at(begin),
                count(here),
                counts.at(8 * (level - 1)),
            ],
        )?;
        begins.extend((0..8).map(|octant| begin + octant * here));
        begin += 8 * here;
    }
    let counts = counts.to_vec()?;
    let spans = begins.into_iter().zip(counts.iter().map(|&c| c as usize)).collect();
    Ok((pairs, spans))
}
