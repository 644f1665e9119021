//! Expansions on the device, the matrices that translate them, and the launches that do.

use cuda::{Buffer, Device, Error, Grid, Stream};

use super::family_matrices::{FamilyMatrices, Octants};
use super::far_matrices::FarMatrices;
use super::kernels::{Kernel, count, translate, tree as tree_kernels};
use super::layouts::{Batch, Level, Tile};
use super::lists::{Boxes, Lists};
use super::tree::Tree;
use super::truncation::Chosen;
use crate::Precision;
use crate::expansions::screened::Screening;
use crate::truncation::TruncationNumbers;

impl Batch {
    /// A batch with the expansions of two levels, and nothing else.
    fn between(from: Level, to: Level) -> Self {
        Self {
            from: from.values,
            to: to.values,
            from_stride: from.stride,
            to_stride: to.stride,
            ..Self::default()
        }
    }
}

/// One kind of expansion, of all levels.
#[derive(Debug)]
pub struct Stored {
    pub values: Buffer<u8>,
    pub(super) device_levels: Buffer<Level>,
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
        Ok(Self { device_levels: device.upload(&levels)?, values, levels })
    }
}

/// Translations per launch.
#[derive(Clone, Copy, Debug)]
struct Launch {
    /// Into the list of tiles.
    first: usize,
    tiles: usize,
    /// Rows of a tile at most.
    rows: usize,
    /// Matrices that are made before, in place of others: the first and their number, and the
    /// largest truncation number.
    made: Option<(usize, usize, usize)>,
}

/// How translations of a format are cut into tiles.
#[derive(Clone, Copy, Debug)]
struct Tiling {
    precision: Precision,
    /// Rows of a tile at most, and whole runs of them.
    rows: usize,
    whole: usize,
    /// Pairs of a tile.
    pairs: usize,
}

impl Tiling {
    fn new(precision: Precision) -> Self {
        use translate::{DOUBLE_PAIRS, DOUBLE_ROWS, SINGLE_PAIRS, SINGLE_ROWS};
        let (rows, whole, pairs) = match precision {
            Precision::Single => (SINGLE_ROWS, 8, SINGLE_PAIRS),
            Precision::Double => (DOUBLE_ROWS, 16, DOUBLE_PAIRS),
        };
        Self { precision, rows, whole, pairs }
    }

    /// Bytes of shared memory of a tile of some rows.
    fn shared(self, rows: usize) -> u32 {
        use translate::{COLUMN_PAD, DOUBLE_COLUMNS, DOUBLE_ROW_PAD, DOUBLE_STAGES};
        use translate::{SINGLE_COLUMNS, SINGLE_ROW_PAD, SINGLE_STAGES};
        let (stages, columns, height) = match self.precision {
            Precision::Single => {
                (SINGLE_STAGES, SINGLE_COLUMNS, rows.next_multiple_of(16) + SINGLE_ROW_PAD)
            }
            Precision::Double => (DOUBLE_STAGES, DOUBLE_COLUMNS, rows + DOUBLE_ROW_PAD),
        };
        let chunk = columns * height + self.pairs * (columns + COLUMN_PAD);
        (stages * chunk * self.precision.bytes()) as u32
    }
}

/// Batches, and tiles that cover them.
#[derive(Debug)]
struct Work {
    tiling: Tiling,
    batches: Vec<Batch>,
    tiles: Vec<Tile>,
}

impl Work {
    /// Adds a batch to a launch that ends with the last tile.
    fn push(&mut self, batch: Batch, launch: &mut Launch) {
        let (rows, whole) = (batch.rows as usize, self.tiling.whole);
        // Equal shares.
        let step = rows.div_ceil(rows.div_ceil(self.tiling.rows)).next_multiple_of(whole);
        for pair in (0..batch.pairs).step_by(self.tiling.pairs) {
            for row in (0..rows).step_by(step) {
                let here = step.min((rows - row).next_multiple_of(whole));
                let batch = count(self.batches.len());
                self.tiles.push(Tile { batch, pair, row: count(row), rows: count(here) });
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

    /// M2L: matrices that are made together, and of those the largest first.
    fn across(
        &mut self,
        lists: &Lists,
        numbers: &[usize],
        matrices: &FarMatrices,
        [multipoles, locals]: [&Stored; 2],
    ) -> Vec<Launch> {
        let mut order: Vec<usize> = (0..lists.batches.len()).collect();
        order.sort_by_key(|&i| (matrices.of(&lists.batches[i]).group, usize::MAX - numbers[i]));
        let mut launches: Vec<Launch> = Vec::new();
        let mut group = None;
        for i in order {
            let (batch, size) = (&lists.batches[i], count(numbers[i] * numbers[i]));
            let matrix = matrices.of(batch);
            let from = multipoles.levels[batch.source_level as usize];
            let to = locals.levels[batch.target_level()];
            if group != Some(matrix.group) {
                group = Some(matrix.group);
                launches.push(Launch { made: matrices.made(matrix.group), ..self.launch() });
            }
            let batch = Batch {
                matrix: matrix.address,
                rows: size,
                columns: size,
                lda: count(matrix.lda),
                first_pair: lists.begins[i],
                pairs: lists.begins[i + 1] - lists.begins[i],
                ..Batch::between(from, to)
            };
            let last = launches.len() - 1;
            self.push(batch, &mut launches[last]);
        }
        launches
    }

    /// M2M or L2L of all levels: eight batches per level. `of`: levels of an octant's children and
    /// of their parents in that order, to the levels of input and result; `matrices`: where those
    /// of a parents' level are.
    fn families(
        &mut self,
        stored: &Stored,
        spans: &[Span],
        of: impl Fn(Level, Level) -> [Level; 2],
        matrices: impl Fn(usize) -> Octants,
    ) -> Vec<Launch> {
        let mut launches = Vec::new();
        let of_levels = stored.levels.windows(2).zip(spans.chunks_exact(8));
        for (level, (levels, spans)) in of_levels.enumerate() {
            let [from, to] = of(levels[1], levels[0]);
            if from.p == 0 || to.p == 0 {
                continue;
            }
            let matrices = matrices(level);
            let mut launch = self.launch();
            for (octant, &(first_pair, pairs)) in spans.iter().enumerate() {
                if pairs == 0 {
                    continue;
                }
                let batch = Batch {
                    matrix: matrices.address(octant),
                    rows: to.p * to.p,
                    columns: from.p * from.p,
                    lda: count(matrices.lda),
                    first_pair: count(first_pair),
                    pairs: count(pairs),
                    ..Batch::between(from, to)
                };
                self.push(batch, &mut launch);
            }
            launches.push(launch);
        }
        launches
    }
}

/// All expansions of a plan.
#[derive(Debug)]
pub struct Expansions {
    /// Multipole expansions.
    pub multipoles: Stored,
    /// Local expansions.
    pub locals: Stored,
    batches: Buffer<Batch>,
    tiles: Buffer<Tile>,
    families: Buffer<u64>,
    /// From the deepest level up.
    upward: Vec<Launch>,
    across: Vec<Launch>,
    /// From the root down.
    downward: Vec<Launch>,
    translate: Kernel<translate::Translate>,
    tiling: Tiling,
    /// Multiplications of all M2L, from which the stage's rate follows.
    pub(super) m2l_products: f64,
    far_matrices: FarMatrices,
    /// Kept for the kernels that read them.
    family_matrices: FamilyMatrices,
}

impl Expansions {
    /// All expansions of a tree. M2L's matrices stay on the device if they take `limit` bytes at
    /// most; else they are made as every sum needs them, some at a time.
    pub fn new(
        device: &Device,
        precision: Precision,
        screening: Screening,
        boxes: Boxes<'_>,
        chosen: &Chosen,
        limit: u64,
    ) -> Result<Self, Error> {
        let Boxes { tree, lists } = boxes;
        let Chosen { batches: numbers, numbers: stored } = chosen;
        // Whole 16-byte words, so that translations load and add them at once.
        let stride = |p: usize| (p * p).next_multiple_of(4);
        let mut all = Self::untranslated(device, precision, tree, stored, stride)?;
        all.far_matrices = FarMatrices::new(device, precision, screening, lists, numbers, limit)?;
        let mut work = Work { tiling: all.tiling, batches: Vec::new(), tiles: Vec::new() };
        let expansions = [&all.multipoles, &all.locals];
        all.across = work.across(lists, numbers, &all.far_matrices, expansions);
        all.m2l_products = (numbers.iter().zip(lists.begins.windows(2)))
            .map(|(p, begins)| p.pow(4) as f64 * f64::from(begins[1] - begins[0]))
            .sum();

        all.family_matrices = FamilyMatrices::new(device, precision, screening, stored)?;
        let (families, spans) = families(device, tree)?;
        all.families = families;
        let matrices = &all.family_matrices;
        let (up, down) = (|level| matrices.of(level)[0], |level| matrices.of(level)[1]);
        all.upward = work.families(&all.multipoles, &spans, |child, parent| [child, parent], up);
        all.upward.reverse();
        all.downward = work.families(&all.locals, &spans, |child, parent| [parent, child], down);
        all.batches = device.upload(&work.batches)?;
        all.tiles = device.upload(&work.tiles)?;
        all.translate.allow_shared(all.tiling.shared(all.tiling.rows))?;
        Ok(all)
    }

    /// Expansions that are translated elsewhere, `stride` scalars apart.
    pub(super) fn untranslated(
        device: &Device,
        precision: Precision,
        tree: &Tree,
        numbers: &TruncationNumbers,
        stride: impl Fn(usize) -> usize,
    ) -> Result<Self, Error> {
        let stored = |numbers| Stored::new(device, tree, numbers, precision.bytes(), &stride);
        Ok(Self {
            multipoles: stored(&numbers.multipole)?,
            locals: stored(&numbers.local)?,
            batches: device.buffer(0)?,
            tiles: device.buffer(0)?,
            families: device.buffer(0)?,
            upward: Vec::new(),
            across: Vec::new(),
            downward: Vec::new(),
            translate: Kernel::with(device, &[precision.as_macro()])?,
            tiling: Tiling::new(precision),
            m2l_products: 0.0,
            far_matrices: FarMatrices::none(device)?,
            family_matrices: FamilyMatrices::none(device)?,
        })
    }

    /// Bytes of M2L's matrices.
    pub fn matrix_bytes(&self) -> u64 {
        self.far_matrices.bytes()
    }

    pub(super) fn m2m(&self, stream: &Stream) -> Result<(), Error> {
        self.upward.iter().try_for_each(|l| self.launch(stream, l, &self.families, false))
    }

    /// Adds translated multipoles to local expansions.
    pub fn m2l(&self, stream: &Stream, lists: &Lists) -> Result<(), Error> {
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
        let shared = self.tiling.shared(launch.rows);
        let grid = Grid { shared, ..Grid::new(launch.tiles, translate::THREADS) };
        let tiles = translate::Translate {
            batches: self.batches.pointer(),
            tiles: self.tiles.pointer_to(launch.first),
            pairs: pairs.pointer(),
            turned,
        };
        self.translate.launch(stream, grid, tiles)
    }
}

/// Where some pairs begin, and their number.
type Span = (usize, usize);

/// Child and parent of every box but the root, by level and octant; for each of these where its
/// pairs begin, and their number.
fn families(device: &Device, tree: &Tree) -> Result<(Buffer<u64>, Vec<Span>), Error> {
    let depth = tree.depth();
    let pairs = device.buffer::<u64>(8 * (tree.len() - 1))?;
    let counts = device.buffer::<u32>(8 * depth)?;
    counts.zero()?;
    let list = Kernel::new(device)?;
    let mut begin = 0;
    let mut begins = Vec::new();
    for level in 1..=depth {
        let (first, here) = (tree.levels[level], tree.levels[level + 1] - tree.levels[level]);
        let of_level = tree_kernels::Families {
            cells: tree.cells.pointer(),
            first: count(first),
            count: count(here),
            pairs: pairs.pointer_to(begin),
            capacity: count(here),
            counts: counts.pointer_to(8 * (level - 1)),
        };
        list.launch(device.stream(), Grid::covering(here, tree_kernels::THREADS), of_level)?;
        begins.extend((0..8).map(|octant| begin + octant * here));
        begin += 8 * here;
    }
    let counts = counts.to_vec()?;
    let spans = begins.into_iter().zip(counts.iter().map(|&c| c as usize)).collect();
    Ok((pairs, spans))
}
