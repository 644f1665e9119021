//! The kernels under `kernels/`, embedded, with their arguments, and how they are started.

use std::fmt::Display;

pub(super) use cuda::count;
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

/// Headers that kernels include.
const HEADERS: &[(&str, &str)] =
    cuda::kernel_headers!["cell.cuh", "harmonics.cuh", "levels.cuh", "near.cuh", "screening.cuh"];

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
        // SAFETY: every call in this module passes arrays of the lengths that the kernel's file
        // states, in buffers that the plan owns; the tests run under compute-sanitizer check that
        // (docs/performance.md, "GPU").
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
        "scan.cu", HEADERS;
        constants {
            THREADS: u32 = 256;
            /// Numbers per thread.
            ITEMS: usize = 8;
        }
        struct Blocks = "scan_blocks" { values: Pointer<u32>, sums: Pointer<u32>, n: u32 }
        struct Add = "scan_add" { values: Pointer<u32>, sums: Pointer<u32>, n: u32 }
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
        "sort.cu", HEADERS;
        constants {
            WARPS: u32 = 8;
            /// Items per thread.
            ITEMS: usize = 16;
            /// Bits of a digit.
            DIGIT_BITS: usize = 8;
        }
        struct Count = "sort_count" { keys: Pointer<Key>, counts: Pointer<u32>, n: u32, shift: u32, tiles: u32 }
        struct Scatter = "sort_scatter" {
            keys: Pointer<Key>,
            values: Pointer<Value>,
            keys_out: Pointer<Key>,
            values_out: Pointer<Value>,
            offsets: Pointer<u32>,
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
        "morton.cu", HEADERS;
        constants {
            THREADS: u32 = 256;
            MAX_DEPTH: usize = crate::morton::MAX_DEPTH;
        }
        struct Bounds = "bounds" { points: Pointer<f64>, n: u32, out: Pointer<f64> }
        struct Keys = "morton_keys" {
            points: Pointer<f64>,
            first: u32,
            n: u32,
            x: f64,
            y: f64,
            z: f64,
            scale: f64,
            keys: Pointer<u64>,
            index: Pointer<u32>,
        }
        struct Partings = "partings" { keys: Pointer<u64>, n: u32, out: Pointer<u32> }
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
        "tree.cu", HEADERS;
        constants {
            THREADS: u32 = 128;
            MAX_DEPTH: usize = crate::morton::MAX_DEPTH;
        }
        struct Root = "tree_root" {
            cells: Pointer<Cell>,
            centres: Pointer<f64>,
            sources: u32,
            targets: u32,
            cube: Cube,
        }
        struct Count = "tree_count" {
            cells: Pointer<Cell>,
            first: u32,
            count: u32,
            source_keys: Pointer<u64>,
            target_keys: Pointer<u64>,
            source_leaf: u32,
            target_leaf: u32,
            counts: Pointer<u32>,
        }
        struct Split = "tree_split" {
            cells: Pointer<Cell>,
            centres: Pointer<f64>,
            first: u32,
            count: u32,
            next: u32,
            source_keys: Pointer<u64>,
            target_keys: Pointer<u64>,
            places: Pointer<u32>,
            cube: Cube,
        }
        struct Families = "tree_families" {
            cells: Pointer<Cell>,
            first: u32,
            count: u32,
            pairs: Pointer<u64>,
            capacity: u32,
            counts: Pointer<u32>,
        }
    }
}

/// Interaction lists.
pub(super) mod lists {
    use super::*;

    cuda::arguments! {
        /// Near lists of all boxes, and how they are cut into items.
        struct NearRows {
            cells: Pointer<Cell>,
            n: u32,
            begins: Pointer<u32>,
            entries: Pointer<u32>,
            chunk: u32,
            split: u32,
        }
    }

    cuda::kernels! {
        "lists.cu", HEADERS;
        constants {
            THREADS: u32 = 256;
            MAX_LEVEL_DIFFERENCE: u32 = crate::lists::MAX_LEVEL_DIFFERENCE;
            /// Bits of a level, and of each component of an offset, in a packed vector.
            LEVEL_BITS: u32 = 5;
            OFFSET_BITS: u32 = 18;
        }
        struct Settle = "lists_settle" {
            cells: Pointer<Cell>,
            pairs: Pointer<u64>,
            n: u32,
            acceptance: Pointer<i64>,
            full_stencil: bool,
            table: Pointer<u64>,
            size: u32,
            far_places: Pointer<u32>,
            far: Pointer<u64>,
            near_places: Pointer<u32>,
            entries: Pointer<u32>,
            next: Pointer<u64>,
            next_count: Pointer<u32>,
            totals: Pointer<u64>,
        }
        struct ItemsCount = "lists_items_count" {
            rows: NearRows,
            counts: Pointer<u32>,
            pairs: Pointer<u64>,
        }
        struct ItemsFill = "lists_items_fill" {
            rows: NearRows,
            places: Pointer<u32>,
            items: Pointer<Item>,
            item_cells: Pointer<u32>,
            orders: Pointer<u32>,
            numbers: Pointer<u64>,
        }
        struct ItemsGather = "lists_items_gather" {
            numbers: Pointer<u64>,
            n: u32,
            items: Pointer<Item>,
            item_cells: Pointer<u32>,
            items_out: Pointer<Item>,
            cells_out: Pointer<u32>,
        }
    }
}

/// Points, strengths and sums between the caller's order and Morton order.
pub(super) mod particles {
    use super::*;

    cuda::kernels! {
        "particles.cu", HEADERS;
        constants {
            THREADS: u32 = 256;
            CLOSE_SINGLE: f64 = crate::near::CLOSE_SINGLE;
        }
        struct Place = "particles_place" {
            cells: Pointer<Cell>,
            centres: Pointer<f64>,
            count: u32,
            of_targets: bool,
            points: Pointer<f64>,
            first: u32,
            here: u32,
            index: Pointer<u32>,
            side: f64,
            out: Pointer<Point>,
        }
        struct Largest = "particles_largest" { values: Pointer<f64>, count: u64, largest: Pointer<u64> }
        struct Gather = "particles_gather" {
            from: Pointer<f64>,
            index: Pointer<u32>,
            n: u32,
            width: u32,
            unit: f64,
            largest: Pointer<u64>,
            side: f64,
            to: Pointer<Real>,
        }
        struct Scatter = "particles_scatter" {
            index: Pointer<u32>,
            m: u32,
            side: f64,
            targets: Pointer<Point>,
            itself: bool,
            slots: Pointer<u32>,
            charges: Pointer<Real>,
            largest: Pointer<u64>,
            potential: Pointer<Real>,
            gradient: Pointer<Real>,
            kappa: f64,
            potential_out: Pointer<f64>,
            gradient_out: Pointer<f64>,
        }
    }
}

/// Multipole expansions between ranks.
pub(super) mod exchange {
    use super::*;

    cuda::kernels! {
        "exchange.cu", HEADERS;
        constants {
            THREADS: u32 = 256;
        }
        struct Pack = "exchange_pack" {
            cells: Pointer<Cell>,
            levels: Pointer<Level>,
            boxes: Pointer<u32>,
            places: Pointer<u64>,
            count: u32,
            packed: Pointer<Real>,
        }
        struct Unpack = "exchange_unpack" {
            cells: Pointer<Cell>,
            levels: Pointer<Level>,
            boxes: Pointer<u32>,
            places: Pointer<u64>,
            count: u32,
            packed: Pointer<Real>,
            added: bool,
        }
    }
}

/// Errors of truncated translations.
pub(super) mod truncation {
    use super::*;

    cuda::arguments! {
        /// Points in their boxes.
        struct Sampled {
            cells: Pointer<Cell>,
            centres: Pointer<f64>,
            sources: Pointer<Point>,
            targets: Pointer<Point>,
            side: f64,
        }
    }

    cuda::kernels! {
        "truncation.cu", HEADERS;
        constants {
            /// Draws of a batch at most: by chance a few more than are wanted.
            CAPACITY: usize = crate::gpu::truncation::MORE_SAMPLES[1] + 512;
            ENCOUNTER: f64 = crate::truncation::ENCOUNTER;
        }
        struct Far = "truncation_far" {
            points: Sampled,
            pairs: Pointer<u64>,
            begins: Pointer<u32>,
            samples: u32,
            degrees: u32,
            factors: Pointer<f64>,
            recurrence: Pointer<[f64; 2]>,
            out: Pointer<f64>,
        }
        struct Near = "truncation_near" {
            points: Sampled,
            begins: Pointer<u32>,
            entries: Pointer<u32>,
            boxes: u32,
            count: u32,
            out: Pointer<f64>,
        }
    }
}

/// Matrices of M2L.
pub(super) mod m2l {
    use super::*;

    cuda::kernels! {
        "m2l.cu", HEADERS;
        constants {
            WHOLE_COLUMNS: usize = crate::gpu::tables::WHOLE_COLUMNS;
        }
        struct Fill = "m2l_fill" { vectors: Pointer<Vector>, roots: Pointer<f64> }
    }
}

/// Matrices of screened translations.
pub(super) mod rotated {
    use super::*;

    cuda::kernels! {
        "rotated.cu", HEADERS;
        constants {
            WHOLE_COLUMNS: usize = crate::gpu::tables::WHOLE_COLUMNS;
            P_MAX: usize = crate::truncation::P_MAX;
        }
        struct Fill = "rotated_fill" { matrices: Pointer<Rotated> }
    }
}

/// M2M, M2L and L2L.
pub(super) mod translate {
    use super::*;

    cuda::kernels! {
        "translate.cu", HEADERS;
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
        struct Translate = "translate" {
            batches: Pointer<Batch>,
            tiles: Pointer<Tile>,
            pairs: Pointer<u64>,
            turned: bool,
        }
    }
}

cuda::arguments! {
    /// Factors of the recursions of harmonics and their derivatives.
    struct Harmonics {
        diagonal: Pointer<Real>,
        columns: Pointer<Real>,
        table_p: u32,
        derivatives: Pointer<Derivative>,
        end_x: u32,
        end_y: u32,
        end_z: u32,
    }
}

/// Multipole expansions of the leaves.
pub(super) mod p2m {
    use super::*;

    cuda::kernels! {
        "p2m.cu", HEADERS;
        struct P2m = "p2m" {
            cells: Pointer<Cell>,
            count: u32,
            levels: Pointer<Level>,
            sources: Pointer<Point>,
            charges: Pointer<Real>,
            dipoles: Pointer<Real>,
            n: u64,
            tables: Harmonics,
            radials: Pointer<Radial>,
        }
    }
}

/// Local expansions at the targets.
pub(super) mod l2p {
    use super::*;

    cuda::kernels! {
        "l2p.cu", HEADERS;
        struct L2p = "l2p" {
            cells: Pointer<Cell>,
            count: u32,
            levels: Pointer<Level>,
            targets: Pointer<Point>,
            tables: Harmonics,
            radials: Pointer<Radial>,
            potential: Pointer<Real>,
            gradient: Pointer<Real>,
            m_targets: u64,
        }
    }
}

/// Multipole expansions at targets far from them.
pub(super) mod m2p {
    use super::*;

    cuda::kernels! {
        "m2p.cu", HEADERS;
        constants {
            /// Targets of a warp at most.
            TARGETS: usize = 32;
        }
        struct M2p = "m2p" {
            evaluations: Pointer<Evaluation>,
            boxes: Pointer<u64>,
            pitch: u32,
            cells: Pointer<Cell>,
            centres: Pointer<f64>,
            side: f64,
            levels: Pointer<Level>,
            targets: Pointer<f64>,
            diagonal: Pointer<Real>,
            columns: Pointer<Real>,
            table_p: u32,
            kappa: f64,
            corners: Pointer<Real>,
            potential: Pointer<Real>,
            gradient: Pointer<Real>,
            m_targets: u64,
        }
    }
}

cuda::arguments! {
    /// Near leaves of every item of work, with the points.
    struct NearItems {
        cells: Pointer<Cell>,
        centres: Pointer<f64>,
        entries: Pointer<u32>,
        items: Pointer<Item>,
        item_cells: Pointer<u32>,
        count: u32,
        side: f64,
        sources: Pointer<Point>,
        targets: Pointer<Point>,
    }

    /// Strengths of some densities and what they are summed to.
    struct NearSums {
        charges: Pointer<Real>,
        dipoles: Pointer<Real>,
        n: u64,
        potential: Pointer<Real>,
        gradient: Pointer<Real>,
        m: u64,
    }
}

/// Warps of a block that takes items of the near field, one each.
pub(super) const NEAR_WARPS: u32 = 4;

/// Close pairs.
pub(super) mod close {
    use super::*;

    cuda::kernels! {
        "close.cu", HEADERS;
        constants {
            WARPS: u32 = NEAR_WARPS;
            CLOSE_SINGLE: f64 = crate::near::CLOSE_SINGLE;
            CLOSE_DOUBLE: f64 = crate::near::CLOSE_DOUBLE;
        }
        struct Find = "close_find" {
            near: NearItems,
            itself: bool,
            source_index: Pointer<u32>,
            target_index: Pointer<u32>,
            pairs: Pointer<UnresolvedPair>,
            squares: Pointer<f32>,
            capacity: u32,
            found: Pointer<u32>,
        }
        struct Displace = "close_displace" {
            pairs: Pointer<UnresolvedPair>,
            count: u32,
            of_targets: bool,
            index: Pointer<u32>,
            points: Pointer<f64>,
            first: u32,
            here: u32,
            displacements: Pointer<f64>,
        }
        struct Resolve = "close_resolve" {
            pairs: Pointer<UnresolvedPair>,
            count: u32,
            displacements: Pointer<f64>,
            side: f64,
        }
    }
}

/// Near pairs.
pub(super) mod p2p {
    use super::*;

    cuda::kernels! {
        "p2p.cu", HEADERS;
        constants {
            WARPS: u32 = NEAR_WARPS;
            CLOSE_SINGLE: f64 = crate::near::CLOSE_SINGLE;
            CLOSE_DOUBLE: f64 = crate::near::CLOSE_DOUBLE;
        }
        struct P2p = "p2p" { near: NearItems, sums: NearSums, kappa: f64 }
        struct Close = "p2p_close" {
            pairs: Pointer<UnresolvedPair>,
            count: u32,
            squares: Pointer<f32>,
            sums: NearSums,
            kappa: f64,
        }
    }
}
