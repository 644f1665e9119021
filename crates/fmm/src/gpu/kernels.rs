//! The kernels under `kernels/fmm`, with their arguments, and how they are started.

use std::fmt::Display;

pub(super) use cuda::count;
use cuda::testing::Declared;
use cuda::{Arguments, Device, Error, Grid, Pointer, Stream};

use super::close::UnresolvedPair;
use super::expansions::{Batch, Level, Tile};
use super::far_matrices::Vector;
use super::lists::Item;
use super::radials::Radial;
use super::reals::{Derivative, Point, Real};
use super::rotated_matrices::Rotated;
use super::tree::Cell;
use super::treecode::Evaluation;

/// A kernel ready to be started.
#[derive(Clone, Debug)]
pub(super) struct Kernel<A>(cuda::Kernel<A>);

impl<A: Arguments> Kernel<A> {
    /// The kernel of a file that needs no macros.
    pub(super) fn new(device: &Device) -> Result<Self, Error> {
        Self::with::<usize>(device, &[])
    }

    /// The kernel with macros NAME=VALUE.
    pub(super) fn with<V: Display>(device: &Device, macros: &[(&str, V)]) -> Result<Self, Error> {
        let macros: Vec<String> =
            macros.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Ok(Self(cuda::Kernel::new(device, &macros)?))
    }

    /// Puts a launch on `stream`.
    pub(super) fn launch(&self, stream: &Stream, grid: Grid, arguments: A) -> Result<(), Error> {
        // SAFETY: the launch checks the lengths that are declared below. Boxes, lists, indices and
        // addresses, by which kernels find the rest (`[..]` below), are made by this module, as are
        // the macros that decide lengths, and the plan owns the buffers; the tests run under
        // compute-sanitizer check that (docs/performance.md, "GPU").
        unsafe { self.0.launch(stream, grid, arguments) }
    }

    /// Allows `bytes` of dynamic shared memory per block.
    pub(super) fn allow_shared(&self, bytes: u32) -> Result<(), Error> {
        if bytes > 48 << 10 { self.0.allow_shared(bytes) } else { Ok(()) }
    }
}

/// Prefix sums.
pub(super) mod scan {
    use super::*;

    cuda::kernels! {
        kernels::fmm::SCAN;
        constants {
            THREADS: u32 = 256;
            /// Numbers per thread.
            ITEMS: usize = 8;
        }
        struct Blocks = "scan_blocks" [blocks, _] {
            values: Pointer<u32> [n],
            sums: Pointer<u32> [blocks],
            n: u32,
        }
        struct Add = "scan_add" [blocks, _] {
            values: Pointer<u32> [n],
            sums: Pointer<u32> [blocks],
            n: u32,
        }
    }
}

/// Radix sort.
pub(super) mod sort {
    use super::*;

    /// Keys and values, whose types are macros.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Key {}
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Value {}
    cuda::elements! { Key: "KEY", Value: "VALUE" }

    cuda::kernels! {
        kernels::fmm::SORT;
        constants {
            WARPS: u32 = 8;
            /// Items per thread.
            ITEMS: usize = 16;
            /// Bits of a digit.
            DIGIT_BITS: usize = 8;
        }
        struct Count = "sort_count" {
            keys: Pointer<Key> [n],
            counts: Pointer<u32> [tiles << DIGIT_BITS],
            n: u32,
            shift: u32,
            tiles: u32,
        }
        struct Scatter = "sort_scatter" {
            keys: Pointer<Key> [n],
            values: Pointer<Value> [n],
            keys_out: Pointer<Key> [n],
            values_out: Pointer<Value> [n],
            offsets: Pointer<u32> [tiles << DIGIT_BITS],
            n: u32,
            shift: u32,
            tiles: u32,
        }
    }
}

/// The root cube and Morton keys.
pub(super) mod morton {
    use super::*;

    cuda::kernels! {
        kernels::fmm::MORTON;
        constants {
            THREADS: u32 = 256;
            MAX_DEPTH: usize = crate::morton::MAX_DEPTH;
        }
        struct Bounds = "bounds" [blocks, _] {
            points: Pointer<f64> [3 * n],
            n: u32,
            out: Pointer<f64> [6 * blocks],
        }
        struct Keys = "morton_keys" {
            points: Pointer<f64> [3 * n],
            first: u32,
            n: u32,
            x: f64,
            y: f64,
            z: f64,
            scale: f64,
            keys: Pointer<u64> [first + n],
            index: Pointer<u32> [first + n],
        }
        struct Partings = "partings" {
            keys: Pointer<u64> [n],
            n: u32,
            out: Pointer<u32> [MAX_DEPTH as u128 + 1],
        }
    }
}

/// The octree.
pub(super) mod tree {
    use super::*;

    cuda::arguments! {
        /// Lowest corner and side of the root cube.
        struct Cube { x: f64, y: f64, z: f64, side: f64 }
    }

    cuda::kernels! {
        kernels::fmm::TREE;
        constants {
            THREADS: u32 = 128;
            MAX_DEPTH: usize = crate::morton::MAX_DEPTH;
        }
        struct Root = "tree_root" {
            cells: Pointer<Cell> [1],
            centres: Pointer<f64> [3],
            sources: u32,
            targets: u32,
            cube: Cube,
        }
        // Boxes say which keys are theirs.
        struct Count = "tree_count" {
            cells: Pointer<Cell> [first + count],
            first: u32,
            count: u32,
            source_keys: Pointer<u64> [..],
            target_keys: Pointer<u64> [..],
            source_leaf: u32,
            target_leaf: u32,
            counts: Pointer<u32> [count + 1],
        }
        // Likewise; children come behind, as many as `places` say.
        struct Split = "tree_split" {
            cells: Pointer<Cell> [next],
            centres: Pointer<f64> [3 * next],
            first: u32,
            count: u32,
            next: u32,
            source_keys: Pointer<u64> [..],
            target_keys: Pointer<u64> [..],
            places: Pointer<u32> [count + 1],
            cube: Cube,
        }
        struct Families = "tree_families" {
            cells: Pointer<Cell> [first + count],
            first: u32,
            count: u32,
            pairs: Pointer<u64> [8 * capacity],
            capacity: u32,
            counts: Pointer<u32> [8],
        }
    }
}

/// Interaction lists.
pub(super) mod lists {
    use super::*;

    cuda::arguments! {
        // Where rows begin says how many entries there are.
        /// Near lists of all boxes, and how they are cut into items.
        struct NearRows {
            cells: Pointer<Cell> [n],
            n: u32,
            begins: Pointer<u32> [n + 1],
            entries: Pointer<u32> [..],
            chunk: u32,
            split: u32,
        }
    }

    cuda::kernels! {
        kernels::fmm::LISTS;
        constants {
            THREADS: u32 = 256;
            MAX_LEVEL_DIFFERENCE: u32 = crate::lists::MAX_LEVEL_DIFFERENCE;
            /// Bits of a level, and of each component of an offset, in a packed vector.
            LEVEL_BITS: u32 = 5;
            OFFSET_BITS: u32 = 18;
        }
        // Pairs say which boxes there are, counts where far and near pairs go.
        struct Settle = "lists_settle" {
            cells: Pointer<Cell> [..],
            pairs: Pointer<u64> [n],
            n: u32,
            acceptance: Pointer<i64> [u128::from(MAX_LEVEL_DIFFERENCE) + 1],
            full_stencil: bool,
            table: Pointer<u64> [size],
            size: u32,
            far_places: Pointer<u32> [size],
            far: Pointer<u64> [..],
            near_places: Pointer<u32> [..],
            entries: Pointer<u32> [..],
            next: Pointer<u64> [8 * n],
            next_count: Pointer<u32> [2],
            totals: Pointer<u64> [2],
        }
        struct ItemsCount = "lists_items_count" {
            rows: NearRows,
            counts: Pointer<u32> [u128::from(rows.n) + 1],
            pairs: Pointer<u64> [1],
        }
        // Items go where `places` say.
        struct ItemsFill = "lists_items_fill" {
            rows: NearRows,
            places: Pointer<u32> [u128::from(rows.n) + 1],
            items: Pointer<Item> [..],
            item_cells: Pointer<u32> [..],
            orders: Pointer<u32> [..],
            numbers: Pointer<u64> [..],
        }
        struct ItemsGather = "lists_items_gather" {
            numbers: Pointer<u64> [n],
            n: u32,
            items: Pointer<Item> [n],
            item_cells: Pointer<u32> [n],
            items_out: Pointer<Item> [n],
            cells_out: Pointer<u32> [n],
        }
    }
}

/// Points, strengths and sums between the caller's order and Morton order.
pub(super) mod particles {
    use super::*;

    cuda::kernels! {
        kernels::fmm::PARTICLES;
        constants {
            THREADS: u32 = 256;
            CLOSE_SINGLE: f64 = crate::near::CLOSE_SINGLE;
        }
        // Boxes say which points are theirs.
        struct Place = "particles_place" {
            cells: Pointer<Cell> [count],
            centres: Pointer<f64> [3 * count],
            count: u32,
            of_targets: bool,
            points: Pointer<f64> [3 * here],
            first: u32,
            here: u32,
            index: Pointer<u32> [..],
            side: f64,
            out: Pointer<Point> [..],
        }
        struct Largest = "particles_largest" {
            values: Pointer<f64> [count],
            count: u64,
            largest: Pointer<u64> [1],
        }
        struct Gather = "particles_gather" {
            from: Pointer<f64> [n * width],
            index: Pointer<u32> [n],
            n: u32,
            width: u32,
            unit: f64,
            largest: Pointer<u64> [2],
            side: f64,
            to: Pointer<Real> [n * width],
        }
        struct Scatter = "particles_scatter" {
            index: Pointer<u32> [m],
            m: u32,
            side: f64,
            targets: Pointer<Point> [m],
            itself: bool,
            slots: Pointer<u32> [m] or null,
            charges: Pointer<Real> [itself * m],
            largest: Pointer<u64> [2],
            potential: Pointer<Real> [m],
            gradient: Pointer<Real> [3 * m] or null,
            kappa: f64,
            potential_out: Pointer<f64> [m] or null,
            gradient_out: Pointer<f64> [3 * m] or null,
        }
    }
}

/// Multipole expansions between ranks.
pub(super) mod exchange {
    use super::*;

    cuda::kernels! {
        kernels::fmm::EXCHANGE;
        constants {
            THREADS: u32 = 256;
        }
        // Boxes say of which cells and levels they are, `places` where expansions go.
        struct Pack = "exchange_pack" {
            cells: Pointer<Cell> [..],
            levels: Pointer<Level> [..],
            boxes: Pointer<u32> [count],
            places: Pointer<u64> [count],
            count: u32,
            packed: Pointer<Real> [..],
        }
        // Likewise.
        struct Unpack = "exchange_unpack" {
            cells: Pointer<Cell> [..],
            levels: Pointer<Level> [..],
            boxes: Pointer<u32> [count],
            places: Pointer<u64> [count],
            count: u32,
            packed: Pointer<Real> [..],
            added: bool,
        }
    }
}

/// Errors of truncated translations.
pub(super) mod truncation {
    use super::*;

    cuda::arguments! {
        // Pairs say which boxes there are, these which points.
        /// Points in their boxes.
        struct Sampled {
            cells: Pointer<Cell> [..],
            centres: Pointer<f64> [..],
            sources: Pointer<Point> [..],
            targets: Pointer<Point> [..],
            side: f64,
        }
    }

    cuda::kernels! {
        kernels::fmm::TRUNCATION;
        constants {
            /// Draws of a batch at most: by chance a few more than are wanted.
            CAPACITY: usize = crate::gpu::truncation::MORE_SAMPLES[1] + 512;
            ENCOUNTER: f64 = crate::truncation::ENCOUNTER;
        }
        // `begins` say which pairs there are. A row of `out` is for P_MAX degrees, a macro that is
        // at least `degrees`.
        struct Far = "truncation_far" [blocks, _] {
            points: Sampled,
            pairs: Pointer<u64> [..],
            begins: Pointer<u32> [blocks + 1],
            samples: u32,
            degrees: u32,
            factors: Pointer<f64> [degrees * (degrees + 1) * (degrees + 2) / 6],
            recurrence: Pointer<[f64; 2]> [(degrees * degrees - degrees) / 2],
            out: Pointer<f64> [blocks * (degrees + 3)],
        }
        struct Near = "truncation_near" {
            points: Sampled,
            begins: Pointer<u32> [boxes + 1],
            entries: Pointer<u32> [count],
            boxes: u32,
            count: u32,
            out: Pointer<f64> [2],
        }
    }
}

/// Matrices of M2L.
pub(super) mod m2l {
    use super::*;

    cuda::kernels! {
        kernels::fmm::M2L;
        constants {
            WHOLE_COLUMNS: usize = crate::gpu::tables::WHOLE_COLUMNS;
        }
        // Vectors have the truncation numbers, and the addresses of the matrices.
        struct Fill = "m2l_fill" [blocks, _] {
            vectors: Pointer<Vector> [blocks],
            roots: Pointer<f64> [..],
        }
    }
}

/// Matrices of screened translations.
pub(super) mod rotated {
    use super::*;

    cuda::kernels! {
        kernels::fmm::ROTATED;
        constants {
            WHOLE_COLUMNS: usize = crate::gpu::tables::WHOLE_COLUMNS;
            P_MAX: usize = crate::truncation::P_MAX;
        }
        struct Fill = "rotated_fill" [blocks, _] { matrices: Pointer<Rotated> [blocks] }
    }
}

/// M2M, M2L and L2L.
pub(super) mod translate {
    use super::*;

    cuda::kernels! {
        kernels::fmm::TRANSLATE;
        constants {
            THREADS: u32 = 256;
            /// Rows of a tile at most, its pairs, columns of a chunk and chunks in shared memory,
            /// in single precision.
            SINGLE_ROWS: usize = 144;
            SINGLE_PAIRS: usize = 128;
            SINGLE_COLUMNS: usize = 32;
            SINGLE_STAGES: usize = 2;
            /// As above, in double precision.
            DOUBLE_ROWS: usize = 128;
            DOUBLE_PAIRS: usize = 64;
            DOUBLE_COLUMNS: usize = 8;
            DOUBLE_STAGES: usize = 3;
            /// Scalars between two columns beyond a tile's rows, and between the chunks of two
            /// pairs beyond its columns, so that neighbours start in different banks.
            SINGLE_ROW_PAD: usize = 8;
            DOUBLE_ROW_PAD: usize = 4;
            COLUMN_PAD: usize = 4;
        }
        // Tiles say of which batches and pairs they are; batches have the addresses of the rest.
        struct Translate = "translate" [blocks, _] {
            batches: Pointer<Batch> [..],
            tiles: Pointer<Tile> [blocks],
            pairs: Pointer<u64> [..],
            turned: bool,
        }
    }
}

cuda::arguments! {
    /// Factors of the recursions of harmonics and their derivatives.
    struct Harmonics {
        diagonal: Pointer<Real> [table_p],
        columns: Pointer<Real> [table_p * table_p - table_p],
        table_p: u32,
        derivatives: Pointer<Derivative> [end_z],
        end_x: u32,
        end_y: u32,
        end_z: u32,
    }
}

/// Multipole expansions of the leaves.
pub(super) mod p2m {
    use super::*;

    cuda::kernels! {
        kernels::fmm::P2M;
        // Boxes say of which levels they are.
        struct P2m = "p2m" {
            cells: Pointer<Cell> [count],
            count: u32,
            levels: Pointer<Level> [..],
            sources: Pointer<Point> [n],
            charges: Pointer<Real> [n] or null,
            dipoles: Pointer<Real> [3 * n] or null,
            n: u64,
            tables: Harmonics,
            radials: Pointer<Radial> [..],
        }
    }
}

/// Local expansions at the targets.
pub(super) mod l2p {
    use super::*;

    cuda::kernels! {
        kernels::fmm::L2P;
        // Boxes say of which levels they are.
        struct L2p = "l2p" {
            cells: Pointer<Cell> [count],
            count: u32,
            levels: Pointer<Level> [..],
            targets: Pointer<Point> [m_targets],
            tables: Harmonics,
            radials: Pointer<Radial> [..],
            potential: Pointer<Real> [m_targets],
            gradient: Pointer<Real> [3 * m_targets] or null,
            m_targets: u64,
        }
    }
}

/// Multipole expansions at targets far from them.
pub(super) mod m2p {
    use super::*;

    cuda::kernels! {
        kernels::fmm::M2P;
        constants {
            /// Targets of a warp at most.
            TARGETS: usize = 32;
        }
        // Evaluations say which boxes there are, these of which cells and levels; there are corners
        // with screening alone.
        struct M2p = "m2p" [blocks, _] {
            evaluations: Pointer<Evaluation> [blocks],
            boxes: Pointer<u64> [..],
            pitch: u32,
            cells: Pointer<Cell> [..],
            centres: Pointer<f64> [..],
            side: f64,
            levels: Pointer<Level> [..],
            targets: Pointer<f64> [3 * m_targets],
            diagonal: Pointer<Real> [table_p],
            columns: Pointer<Real> [table_p * table_p - table_p],
            table_p: u32,
            kappa: f64,
            corners: Pointer<Real> [..],
            potential: Pointer<Real> [m_targets],
            gradient: Pointer<Real> [3 * m_targets] or null,
            m_targets: u64,
        }
    }
}

cuda::arguments! {
    // Items say which entries there are, these and their own boxes which points.
    /// Near leaves of every item of work, with the points.
    struct NearItems {
        cells: Pointer<Cell> [..],
        centres: Pointer<f64> [..],
        entries: Pointer<u32> [..],
        items: Pointer<Item> [count],
        item_cells: Pointer<u32> [count],
        count: u32,
        side: f64,
        sources: Pointer<Point> [..],
        targets: Pointer<Point> [..],
    }

    // Of one density, and of more where a macro says so.
    /// Strengths of some densities and what they are summed to.
    struct NearSums {
        charges: Pointer<Real> [n] or null,
        dipoles: Pointer<Real> [3 * n] or null,
        n: u64,
        potential: Pointer<Real> [m],
        gradient: Pointer<Real> [3 * m] or null,
        m: u64,
    }
}

/// Warps of a block that takes items of the near field, one each.
pub(super) const NEAR_WARPS: u32 = 4;

/// Close pairs.
pub(super) mod close {
    use super::*;

    cuda::kernels! {
        kernels::fmm::CLOSE;
        constants {
            WARPS: u32 = NEAR_WARPS;
            CLOSE_SINGLE: f64 = crate::near::CLOSE_SINGLE;
            CLOSE_DOUBLE: f64 = crate::near::CLOSE_DOUBLE;
            /// Sources of a leaf that are so many that no box parts them.
            CROWD: usize = 1024;
        }
        // Items say which points there are.
        struct Find = "close_find" {
            near: NearItems,
            itself: bool,
            source_index: Pointer<u32> [..],
            target_index: Pointer<u32> [..],
            pairs: Pointer<UnresolvedPair> [capacity],
            squares: Pointer<f32> [capacity],
            capacity: u32,
            found: Pointer<u64> [1],
            most: u64,
        }
        // Pairs say which points there are.
        struct Displace = "close_displace" {
            pairs: Pointer<UnresolvedPair> [count],
            count: u32,
            of_targets: bool,
            index: Pointer<u32> [..],
            points: Pointer<f64> [3 * here],
            first: u32,
            here: u32,
            displacements: Pointer<f64> [3 * count],
        }
        struct Resolve = "close_resolve" {
            pairs: Pointer<UnresolvedPair> [count],
            count: u32,
            displacements: Pointer<f64> [3 * count],
            side: f64,
        }
    }
}

/// Near pairs.
pub(super) mod p2p {
    use super::*;

    cuda::kernels! {
        kernels::fmm::P2P;
        constants {
            WARPS: u32 = NEAR_WARPS;
            CLOSE_SINGLE: f64 = crate::near::CLOSE_SINGLE;
            CLOSE_DOUBLE: f64 = crate::near::CLOSE_DOUBLE;
        }
        struct P2p = "p2p" { near: NearItems, sums: NearSums, kappa: f64 }
        struct Close = "p2p_close" {
            pairs: Pointer<UnresolvedPair> [count],
            count: u32,
            squares: Pointer<f32> [count],
            sums: NearSums,
            kappa: f64,
        }
    }
}

/// The kernels' files, each with the kernels that are declared for it.
pub fn declared() -> Vec<Declared> {
    vec![
        scan::declared(),
        sort::declared(),
        morton::declared(),
        tree::declared(),
        lists::declared(),
        particles::declared(),
        exchange::declared(),
        truncation::declared(),
        m2l::declared(),
        rotated::declared(),
        translate::declared(),
        p2m::declared(),
        l2p::declared(),
        m2p::declared(),
        close::declared(),
        p2p::declared(),
    ]
}
