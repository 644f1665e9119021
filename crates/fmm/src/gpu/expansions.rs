//! Expansions on the device, the matrices that translate them, and the launches that do.

use ::gpu::{Arg, Buffer, Device, Error, Grid, Plain, Stream};

use super::far_matrices::FarMatrices;
use super::kernels::{self, Kernel, count, kernel};
use super::lists::Lists;
use super::tables;
use super::tree::Tree;
use super::truncation::Chosen;
use crate::Precision;
use crate::truncation::TruncationNumbers;

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

/// Pairs that share a matrix, as `kernels/fmm/translate.cu` declares them.
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
    unused: [u32; 3],
}

// SAFETY: three 64-bit and ten 32-bit numbers, 64 bytes.
unsafe impl Plain for Batch {}

/// What a block works, as `kernels/fmm/translate.cu` declares it: batch, first pair, first row, rows.
type Tile = [u32; 4];

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

/// Translations that one launch makes.
#[derive(Clone, Copy, Debug)]
struct Launch {
    /// Into the list of tiles.
    first: usize,
    tiles: usize,
    /// Rows of a tile at most.
    rows: usize,
    /// Matrices that are made before, in place of others: the first and their number, and the largest truncation number.
    made: Option<(usize, usize, usize)>,
}

/// Batches, and tiles that cover them.
#[derive(Debug, Default)]
struct Work {
    batches: Vec<Batch>,
    tiles: Vec<Tile>,
}

impl Work {
    /// Adds a batch to a launch that ends with the last tile.
    fn push(&mut self, precision: Precision, batch: Batch, launch: &mut Launch) {
        let rows = batch.rows as usize;
        let (most, whole) = match precision {
            Precision::Single => (SINGLE_ROWS, 8),
            Precision::Double => (DOUBLE_ROWS, 16),
        };
        // Equal shares.
        let step = rows.div_ceil(rows.div_ceil(most)).next_multiple_of(whole);
        for pair in (0..batch.pairs).step_by(tile_width(precision)) {
            for row in (0..rows).step_by(step) {
                let here = step.min((rows - row).next_multiple_of(whole));
                self.tiles.push([self.batches.len() as u32, pair, row as u32, here as u32]);
            }
        }
        launch.tiles = self.tiles.len() - launch.first;
        launch.rows = launch.rows.max(step);
        self.batches.push(batch);
    }

    /// A launch of the tiles that follow.
    fn launch(&self) -> Launch {
        Launch { first: self.tiles.len(), tiles: 0, rows: 0, made: None }
    }
}

/// All expansions of a plan.
#[derive(Debug)]
pub(super) struct Expansions {
    pub(super) multipoles: Stored,
    pub(super) locals: Stored,
    batches: Buffer<Batch>,
    tiles: Buffer<Tile>,
    families: Buffer<u64>,
    /// From the deepest level up.
    upward: Vec<Launch>,
    across: Vec<Launch>,
    /// From the root down.
    downward: Vec<Launch>,
    translate: Kernel,
    precision: Precision,
    /// Multiplications of all M2L, which the stage's rate is told by.
    pub(super) m2l_products: f64,
    far_matrices: FarMatrices,
    /// Kept for the kernels that read them.
    family_matrices: Buffer<u8>,
}

/// Rows of a tile at most, as `kernels/fmm/translate.cu` is written.
const SINGLE_ROWS: usize = 144;
const DOUBLE_ROWS: usize = 128;

/// Threads of a block there.
const THREADS: u32 = 256;

/// Pairs of one tile.
fn tile_width(precision: Precision) -> usize {
    match precision {
        Precision::Single => 128,
        Precision::Double => 64,
    }
}

/// Shared memory of a tile.
fn shared(precision: Precision, rows: usize) -> u32 {
    let (stages, columns, height, pad) = match precision {
        Precision::Single => (2, 32, rows.next_multiple_of(16) + 8, 4),
        Precision::Double => (3, 8, rows + 4, 4),
    };
    let width = tile_width(precision);
    (stages * (columns * height + width * (columns + pad)) * scalar(precision)) as u32
}

impl Expansions {
    /// All expansions of a tree. M2L's matrices stay on the device if they take `limit` bytes at most; else they are made as every
    /// sum needs them, some at a time.
    ///
    /// # Errors
    /// The GPU's; [`Error::OutOfMemory`] at once if they do not fit.
    pub(super) fn new(
        device: &Device,
        precision: Precision,
        tree: &Tree,
        lists: &Lists,
        chosen: &Chosen,
        limit: u64,
    ) -> Result<Self, Error> {
        let scalar = scalar(precision);
        // Whole 16-byte words, so that translations load and add them at once.
        let stride = |p: usize| (p * p).next_multiple_of(4);
        let multipoles = Stored::new(device, tree, &chosen.numbers.multipole, scalar, stride)?;
        let locals = Stored::new(device, tree, &chosen.numbers.local, scalar, stride)?;
        let far_matrices = FarMatrices::new(device, precision, lists, &chosen.batches, limit)?;
        let mut work = Work::default();

        // M2L: matrices that are made together, and of those the largest first.
        let mut order: Vec<usize> = (0..lists.batches.len()).collect();
        order.sort_by_key(|&i| {
            (far_matrices.of(&lists.batches[i]).group, usize::MAX - chosen.batches[i])
        });
        let mut across: Vec<Launch> = Vec::new();
        let mut m2l_products = 0.0;
        let mut group = None;
        for i in order {
            let (batch, p) = (&lists.batches[i], chosen.batches[i]);
            let pairs = (lists.begins[i + 1] - lists.begins[i]) as usize;
            let matrix = far_matrices.of(batch);
            let from = multipoles.levels[batch.source_level as usize];
            let to = locals.levels[batch.target_level()];
            if group != Some(matrix.group) {
                group = Some(matrix.group);
                across.push(Launch { made: far_matrices.made(matrix.group), ..work.launch() });
            }
            let last = across.len() - 1;
            let batch = Batch {
                matrix: matrix.address,
                from: from.values,
                to: to.values,
                from_stride: from.stride,
                to_stride: to.stride,
                rows: (p * p) as u32,
                columns: (p * p) as u32,
                lda: matrix.lda as u32,
                first_pair: lists.begins[i],
                pairs: pairs as u32,
                unused: [0; 3],
            };
            work.push(precision, batch, &mut across[last]);
            m2l_products += (p * p * p * p * pairs) as f64;
        }

        // M2M and L2L: eight batches a level.
        let p = chosen.numbers.max();
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
                let mut launch = work.launch();
                for octant in 0..8 {
                    let (first_pair, pairs) = spans[8 * (level - 1) + octant];
                    if pairs == 0 {
                        continue;
                    }
                    let batch = Batch {
                        matrix: family_matrices.address() + ((2 * octant + down) * size) as u64,
                        from: from.values,
                        to: to.values,
                        from_stride: from.stride,
                        to_stride: to.stride,
                        rows: to.p * to.p,
                        columns: from.p * from.p,
                        lda: tables::padded_rows(p) as u32,
                        first_pair: first_pair as u32,
                        pairs: pairs as u32,
                        unused: [0; 3],
                    };
                    work.push(precision, batch, &mut launch);
                }
                launches.push(launch);
            }
        }
        upward.reverse();
        let macros = [("PRECISION", 8 * scalar)];
        let translate = kernel(device, &kernels::TRANSLATE, &macros, "translate")?;
        let most = if precision == Precision::Single { SINGLE_ROWS } else { DOUBLE_ROWS };
        translate.allow_shared(shared(precision, most))?;
        Ok(Self {
            multipoles,
            locals,
            batches: device.upload(&work.batches)?,
            tiles: device.upload(&work.tiles)?,
            families,
            upward,
            across,
            downward,
            translate,
            precision,
            m2l_products,
            far_matrices,
            family_matrices,
        })
    }

    /// Expansions that are translated elsewhere, `stride` scalars apart.
    pub(super) fn untranslated(
        device: &Device,
        precision: Precision,
        tree: &Tree,
        numbers: &TruncationNumbers,
        stride: impl Fn(usize) -> usize,
    ) -> Result<Self, Error> {
        let scalar = scalar(precision);
        let macros = [("PRECISION", 8 * scalar)];
        Ok(Self {
            multipoles: Stored::new(device, tree, &numbers.multipole, scalar, &stride)?,
            locals: Stored::new(device, tree, &numbers.local, scalar, &stride)?,
            batches: device.buffer(0)?,
            tiles: device.buffer(0)?,
            families: device.buffer(0)?,
            upward: Vec::new(),
            across: Vec::new(),
            downward: Vec::new(),
            translate: kernel(device, &kernels::TRANSLATE, &macros, "translate")?,
            precision,
            m2l_products: 0.0,
            far_matrices: FarMatrices::none(device, precision)?,
            family_matrices: device.buffer(0)?,
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
        if let Some(made) = launch.made {
            self.far_matrices.make(stream, made)?;
        }
        let shared = shared(self.precision, launch.rows);
        let grid = Grid { shared, ..Grid::new(launch.tiles, THREADS) };
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
        let matrices = self.far_matrices.values.bytes() + self.family_matrices.bytes();
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

/// Where some pairs begin, and their number.
type Span = (usize, usize);

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
