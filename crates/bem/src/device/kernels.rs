//! The kernels under `kernels/bem`, with their arguments, and how they are started.

pub(super) use cuda::count;
use cuda::testing::Declared;
use cuda::{Arguments, Buffer, Device, Error, Grid, Plain, Pointer};

/// A kernel ready to be started on its device's main stream.
#[derive(Clone, Debug)]
pub(super) struct Kernel<A> {
    kernel: cuda::Kernel<A>,
    device: Device,
    threads: u32,
}

impl<A: Arguments> Kernel<A> {
    /// The kernel with macros NAME=VALUE, whose blocks have `threads` threads.
    pub(super) fn new(device: &Device, macros: &[String], threads: u32) -> Result<Self, Error> {
        let kernel = cuda::Kernel::new(device, macros)?;
        Ok(Self { kernel, device: device.clone(), threads })
    }

    /// Starts as many blocks as give `count` threads, for each of `columns`.
    pub(super) fn over(&self, count: usize, columns: usize, arguments: A) -> Result<(), Error> {
        self.blocks(count.div_ceil(self.threads as usize), columns, arguments)
    }

    /// Starts `blocks` blocks for each of `columns`.
    pub(super) fn blocks(&self, blocks: usize, columns: usize, arguments: A) -> Result<(), Error> {
        let grid = Grid { blocks: [blocks as u32, columns as u32], ..Grid::new(1, self.threads) };
        // SAFETY: the launch checks the lengths that are declared below. Where rows begin, indices
        // and addresses, by which kernels find the rest (`[..]` below), are made by this module.
        // Buffers live until the stream has passed the launch. The tests run under
        // compute-sanitizer check that (docs/performance.md, "GPU").
        unsafe { self.kernel.launch(self.device.stream(), grid, arguments) }
    }
}

/// A node of the tree of panels, as `kernels/bem/near.cu` declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node([f64; 7]);

// SAFETY: numbers.
unsafe impl Plain for Node {}

/// A pair of panels, as `kernels/bem/near.cu` declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair([u32; 2]);

// SAFETY: numbers.
unsafe impl Plain for Pair {}

/// Scales, shifts and factor of an image, as `kernels/bem/rows.cuh` declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mirror(pub(super) [f64; 7]);

// SAFETY: numbers.
unsafe impl Plain for Mirror {}

/// The table of module [`rows`](super::rows).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Table {}

/// An entry of the near field, whose type is a macro.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {}

cuda::elements! { Node: "Node", Pair: "Pair", Mirror: "Image", Table: "Rows", Value: "VALUE" }

/// Kinds of rows.
pub(super) const SINGLE: u32 = 0;
pub(super) const ADJOINT: u32 = 1;
pub(super) const NONE: u32 = 2;

cuda::arguments! {
    // `rule_starts` say how many nodes there are.
    /// Quadrature rules of triangles, one for each degree up to `most_degree`.
    struct TriangleRules {
        triangle: Pointer<[f64; 4]> [..],
        rule_starts: Pointer<u32> [most_degree + 2],
        most_degree: u32,
    }

    // Likewise.
    /// Rules of triangles, and of lines for each number of points up to `most_points`.
    struct PairRules {
        triangle: Pointer<[f64; 4]> [..],
        rule_starts: Pointer<u32> [most_degree + 2],
        line: Pointer<[f64; 2]> [most_points * (most_points + 1) / 2],
        most_degree: u32,
        most_points: u32,
    }

    // `starts` say how many entries there are.
    /// The near field of `n` panels.
    struct Matrix {
        n: u32,
        starts: Pointer<u32> [n + 1],
        columns: Pointer<u32> [..],
        values: Pointer<Value> [..],
        diagonal: Pointer<f64> [n],
    }

    /// Images.
    struct Images { images: Pointer<Mirror> [image_count], image_count: u32 }
}

/// Search, choice and integrals of close pairs.
pub(super) mod near {
    use super::*;
    use crate::constants;
    use crate::integrals::{edge, pair, solid_angle};

    cuda::arguments! {
        /// The tree of panels.
        struct Tree {
            nodes: Pointer<Node> [2 << depth],
            starts: Pointer<u32> [(1 << depth) + 1],
            depth: u32,
        }

        // Pairs say which panels there are.
        /// What pairs of panels are judged by.
        struct Sizes {
            vertices: Pointer<f64> [..],
            charges: Pointer<f64> [..],
            parts: Pointer<u32> [..],
        }
    }

    cuda::kernels! {
        kernels::bem::NEAR;
        constants {
            THREADS: u32 = crate::device::THREADS;
            SINGLE: u32 = super::SINGLE;
            ADJOINT: u32 = super::ADJOINT;
            ON_EDGE: f64 = constants::ON_EDGE;
            IN_PLANE: f64 = constants::IN_PLANE;
            FAR_MEETING: f64 = pair::FAR_MEETING;
            TIE: f64 = pair::TIE;
            MAX_SMOOTH_DEGREE: f64 = pair::MAX_SMOOTH_DEGREE;
            BELOW_BOUND: f64 = pair::BELOW_BOUND;
            POTENTIAL_COST: usize = pair::POTENTIAL_COST;
            SMALLEST_PIECE: f64 = edge::SMALLEST_PIECE;
            AT_END: f64 = edge::AT_END;
            MOST_POINTS: usize = edge::MOST_POINTS;
            CUT: f64 = edge::CUT;
            INTERIOR: f64 = edge::INTERIOR;
            TOGETHER: f64 = constants::TOGETHER;
            ANGLES_BELOW_BOUND: f64 = solid_angle::BELOW_BOUND;
        }
        struct Panels = "near_panels" {
            vertices: Pointer<f64> [9 * n],
            n: u32,
            diameters: f64,
            centroids: Pointer<[f64; 4]> [n],
        }
        struct Leaves = "near_leaves" {
            centroids: Pointer<[f64; 4]> [n],
            n: u32,
            depth: u32,
            nodes: Pointer<Node> [2 << depth],
            starts: Pointer<u32> [(1 << depth) + 1],
        }
        struct Parents = "near_parents" { nodes: Pointer<Node> [4 * first], first: u32 }
        // Leaves say which panels there are, counts where pairs go.
        struct Candidates = "near_candidates" {
            centroids: Pointer<[f64; 4]> [first + count_of_rows],
            order: Pointer<u32> [first + count_of_rows],
            tree: Tree,
            first: u32,
            count_of_rows: u32,
            counts: Pointer<u32> [count_of_rows],
            pairs: Pointer<Pair> [..],
            rows: Pointer<Table> [1],
        }
        struct Closest = "near_closest" [blocks, _] {
            vertices: Pointer<f64> [9 * n],
            areas: Pointer<f64> [n],
            centroids: Pointer<[f64; 4]> [n],
            diameters: f64,
            tree: Tree,
            n: u32,
            rule: Pointer<[f64; 4]> [nodes_of_rule],
            nodes_of_rule: u32,
            parts: Pointer<f64> [blocks],
            rows: Pointer<Table> [1],
        }
        struct Select = "near_select" {
            panels: Sizes,
            pairs: Pointer<Pair> [count],
            count: u32,
            rules: TriangleRules,
            degree: u32,
            finer: u32,
            allowed: f64,
            chosen: Pointer<u32> [count],
            chosen_count: Pointer<u32> [1],
            rows: Pointer<Table> [1],
        }
        // `chosen` says which pairs there are, `kept_count` where they go on; general rows have two
        // values of each.
        struct Integrate = "near_integrate" {
            panels: Sizes,
            pairs: Pointer<Pair> [..],
            chosen: Pointer<u32> [count],
            count: u32,
            rules: PairRules,
            degree: u32,
            allowed: f64,
            accuracy: f64,
            increment: u32,
            edges: u32,
            rest: Pointer<u32> [count],
            rest_count: Pointer<u32> [1],
            kept: Pointer<Pair> [count],
            values: Pointer<f64> [count],
            kept_count: Pointer<u32> [1],
            rows: Pointer<Table> [1],
        }
        struct Diagonal = "near_diagonal" {
            vertices: Pointer<f64> [9 * n],
            n: u32,
            rules: PairRules,
            accuracy: f64,
            increment: u32,
            diagonal: Pointer<f64> [n],
            rows: Pointer<Table> [1],
        }
    }
}

/// The near field as a sparse matrix.
pub(super) mod sparse {
    use super::*;

    cuda::arguments! {
        // `chosen` says which rows there are, `starts` which entries.
        /// Some rows, and the numbers of the columns to be taken from them.
        struct Chosen {
            count: u32,
            chosen: Pointer<u32> [count],
            index: Pointer<u32> [..],
            starts: Pointer<u32> [..],
            columns: Pointer<u32> [..],
        }
    }

    cuda::kernels! {
        kernels::bem::SPARSE;
        constants {
            THREADS: u32 = crate::device::THREADS;
            LANES: usize = crate::device::LANES;
            SINGLE: u32 = super::SINGLE;
            ADJOINT: u32 = super::ADJOINT;
            ON_EDGE: f64 = crate::constants::ON_EDGE;
        }
        // Pairs say which panels there are.
        struct Count = "sparse_count" {
            pairs: Pointer<Pair> [count],
            count: u32,
            counts: Pointer<u32> [..],
        }
        // Likewise, and `next` where entries go; with general rows a pair has two.
        struct Fill = "sparse_fill" {
            pairs: Pointer<Pair> [count],
            entries: Pointer<f64> [count],
            count: u32,
            next: Pointer<u32> [..],
            columns: Pointer<u32> [..],
            values: Pointer<Value> [..],
        }
        // `starts` say how many entries there are.
        struct Sort = "sparse_sort" {
            n: u32,
            starts: Pointer<u32> [n + 1],
            columns: Pointer<u32> [..],
            values: Pointer<Value> [..],
        }
        struct Subtract = "sparse_subtract" {
            matrix: Matrix,
            vertices: Pointer<f64> [9 * u128::from(matrix.n)],
            order: Pointer<u32> [u128::from(matrix.n)],
            rules: TriangleRules,
            degree: u32,
            rows: Pointer<Table> [1],
        }
        struct PartLengths = "sparse_part_lengths" {
            from: Chosen,
            lengths: Pointer<u32> [u128::from(from.count)],
        }
        // As in `Chosen`; `part_starts` say where they go.
        struct Part = "sparse_part" {
            from: Chosen,
            values: Pointer<Value> [..],
            part_starts: Pointer<u32> [u128::from(from.count)],
            part_columns: Pointer<u32> [..],
            part_values: Pointer<Value> [..],
        }
        struct MultiplyAdd = "sparse_multiply_add" [_, columns] {
            matrix: Matrix,
            x: Pointer<f64> [columns * u128::from(matrix.n)],
            y: Pointer<f64> [columns * u128::from(matrix.n)],
        }
    }
}

/// Local inverses over a coarse level.
pub(super) mod preconditioner {
    use super::*;
    use crate::precondition::{clusters, entries, local_inverse};

    cuda::arguments! {
        /// The near field and the panels that it belongs to.
        struct Near {
            matrix: Matrix,
            vertices: Pointer<f64> [9 * u128::from(matrix.n)],
            centroids: Pointer<[f64; 4]> [u128::from(matrix.n)],
        }
    }

    cuda::kernels! {
        kernels::bem::PRECONDITIONER;
        constants {
            THREADS: u32 = crate::device::THREADS;
            LANES: usize = crate::device::LANES;
            /// Threads of the block that solves the coarse level.
            SOLVERS: u32 = 1024;
            /// These kernels have what they need of rows as arguments.
            GENERAL: u32 = 0;
            SINGLE: u32 = super::SINGLE;
            ADJOINT: u32 = super::ADJOINT;
            ON_EDGE: f64 = crate::constants::ON_EDGE;
            FACING: f64 = local_inverse::FACING;
            OUT_OF_PLANE: f64 = local_inverse::OUT_OF_PLANE;
            PARALLEL: f64 = crate::constants::PARALLEL;
            FAR: f64 = entries::FAR;
            POINTS: f64 = clusters::POINTS;
        }
        struct LocalLengths = "local_lengths" {
            near: Near,
            neighbours: u32,
            of_facing: u32,
            lengths: Pointer<u32> [u128::from(near.matrix.n)],
        }
        // `local_starts` say how long rows are.
        struct LocalInverse = "local_inverse" {
            near: Near,
            images: Images,
            local_starts: Pointer<u32> [u128::from(near.matrix.n) + 1],
            local_columns: Pointer<u32> [..],
            local_values: Pointer<f32> [..],
        }
        // `starts` say which members there are, these which panels.
        struct CoarseMeans = "coarse_means" [_, columns] {
            clusters: u32,
            starts: Pointer<u32> [clusters + 1],
            members: Pointer<u32> [..],
            shares: Pointer<f64> [..],
            v: Pointer<f64> [columns * n],
            n: u32,
            means: Pointer<f64> [columns * clusters],
        }
        // `starts` say which neighbours there are.
        struct CoarseGradients = "coarse_gradients" [_, columns] {
            clusters: u32,
            starts: Pointer<u32> [clusters + 1],
            neighbours: Pointer<u32> [..],
            weights: Pointer<f64> [..],
            means: Pointer<f64> [columns * clusters],
            gradients: Pointer<f64> [3 * columns * clusters],
        }
        struct CoarseRemove = "coarse_remove" [_, columns] {
            n: u32,
            clusters: u32,
            cluster: Pointer<u32> [n],
            offsets: Pointer<[f32; 3]> [n],
            means: Pointer<f64> [columns * clusters],
            gradients: Pointer<f64> [3 * columns * clusters],
            v: Pointer<f64> [columns * n],
            rest: Pointer<f64> [columns * n],
        }
        // `starts` say how many entries there are.
        struct Apply = "preconditioner_apply" [_, vectors] {
            n: u32,
            starts: Pointer<u32> [n + 1],
            columns: Pointer<u32> [..],
            values: Pointer<f32> [..],
            v: Pointer<f64> [vectors * n],
            clusters: u32,
            cluster: Pointer<u32> [n] or null,
            shares: Pointer<f64> [n] or null,
            solution: Pointer<f64> [vectors * clusters],
            z: Pointer<f64> [vectors * n],
        }
        struct CoarseSolve = "coarse_solve" [blocks, _] {
            l: Pointer<f64> [n * n],
            n: u32,
            xs: Pointer<f64> [blocks * n],
        }
        // `starts` say how many entries there are, those of cells and members how many of these,
        // which say what panels there are.
        struct CoarseEntries = "coarse_entries" {
            count: u32,
            starts: Pointer<u32> [count + 1],
            columns: Pointer<u32> [..],
            clusters: Pointer<[f64; 4]> [count],
            cells: Pointer<[f64; 4]> [..],
            cell_starts: Pointer<u32> [count + 1],
            member_starts: Pointer<u32> [..],
            members: Pointer<u32> [..],
            shares: Pointer<f64> [..],
            centroids: Pointer<[f64; 4]> [..],
            cell_variances: Pointer<f64> [..],
            panel_variances: Pointer<f64> [..],
            cluster_variances: Pointer<f64> [count],
            images: Images,
            rank: u32,
            ranks: u32,
            entries: Pointer<f64> [..],
        }
        // Panels say of which clusters and cells they are, `pair_starts` which entries there are.
        struct CoarseCorrect = "coarse_correct" {
            matrix: Matrix,
            own: Pointer<u32> [u128::from(matrix.n)] or null,
            pair_starts: Pointer<u32> [..],
            pair_columns: Pointer<u32> [..],
            clusters: Pointer<[f64; 4]> [..],
            cluster: Pointer<u32> [u128::from(matrix.n)],
            cells: Pointer<[f64; 4]> [..],
            cell: Pointer<u32> [u128::from(matrix.n)],
            shares: Pointer<f64> [u128::from(matrix.n)],
            centroids: Pointer<[f64; 4]> [u128::from(matrix.n)],
            cell_variances: Pointer<f64> [..],
            panel_variances: Pointer<f64> [u128::from(matrix.n)],
            images: Images,
            entries: Pointer<f64> [..],
        }
    }
}

/// GMRES's vectors, points that stand for panels, laws that rows meet.
pub(super) mod vectors {
    use super::*;

    cuda::kernels! {
        kernels::bem::VECTORS;
        constants {
            THREADS: u32 = 256;
            /// Targets that a block of direct sums takes.
            TARGETS: usize = 8;
            /// These kernels have what they need of rows as arguments.
            GENERAL: u32 = 0;
            SINGLE: u32 = super::SINGLE;
            ADJOINT: u32 = super::ADJOINT;
            ON_EDGE: f64 = crate::constants::ON_EDGE;
        }
        struct Spread = "points_spread" [_, columns] {
            n: u32,
            nodes: u32,
            rule: Pointer<[f64; 4]> [nodes],
            factors: Pointer<f64> [image_count * n],
            image_count: u32,
            panels: Pointer<f64> [columns * n],
            points: Pointer<f64> [columns * image_count * n * nodes],
        }
        struct Average = "points_average" [_, columns] {
            n: u32,
            nodes: u32,
            rule: Pointer<[f64; 4]> [nodes],
            kinds: Pointer<u32> [n],
            vertices: Pointer<f64> [9 * n],
            potentials: Pointer<f64> [columns * n * nodes] or null,
            gradients: Pointer<f64> [3 * columns * n * nodes] or null,
            panels: Pointer<f64> [columns * n],
        }
        struct Direct = "points_direct" {
            vertices: Pointer<f64> [9 * n],
            n: u32,
            nodes: u32,
            rule: Pointer<[f64; 4]> [nodes],
            images: Images,
            charges: Pointer<f64> [u128::from(images.image_count) * n * nodes],
            targets: Pointer<[f64; 3]> [count],
            count: u32,
            gradient: bool,
            sums: Pointer<f64> [(1 + 2 * gradient) * count],
        }
        struct Dot = "vector_dot" [blocks, _] {
            n: u64,
            weights: Pointer<f64> [n],
            u: Pointer<f64> [n],
            v: Pointer<f64> [n],
            parts: Pointer<f64> [blocks],
        }
        struct Total = "vector_total" {
            count: u32,
            parts: Pointer<f64> [count],
            out: Pointer<f64> [1],
        }
        // `of` says which groups there are.
        struct Squares = "vector_squares" {
            n: u64,
            of: Pointer<u32> [n],
            weights: Pointer<f64> [n],
            factors: Pointer<f64> [n] or null,
            u: Pointer<f64> [n],
            sums: Pointer<f64> [..],
        }
        struct AddLaws = "laws_add" [_, columns] {
            count: u32,
            rows: Pointer<u32> [count],
            places: Pointer<u32> [count],
            values: Pointer<f64> [count],
            absolute: bool,
            inputs: u64,
            from: Pointer<f64> [columns * inputs],
            outputs: u64,
            to: Pointer<f64> [columns * outputs],
        }
        struct Complete = "rows_complete" [_, columns] {
            n: u32,
            own_and_factor: Pointer<[f64; 2]> [n],
            x: Pointer<f64> [columns * n],
            y: Pointer<f64> [columns * n],
        }
        // `chosen` says which panels there are.
        struct Gather = "vector_gather" {
            count: u32,
            chosen: Pointer<u32> [count],
            from: Pointer<f64> [..],
            to: Pointer<f64> [count],
        }
        struct Combine = "vector_combine" {
            n: u64,
            factor: f64,
            x: Pointer<f64> [n],
            other: f64,
            y: Pointer<f64> [n],
        }
    }
}

/// The preconditioner's rows of interfaces.
pub(super) mod interfaces {
    use super::*;

    cuda::kernels! {
        kernels::bem::INTERFACES;
        constants {
            THREADS: u32 = 256;
        }
        struct Chosen = "interfaces_chosen" [_, columns] {
            count: u32,
            chosen: Pointer<u32> [count],
            n: u32,
            panels: Pointer<f64> [columns * n],
            values: Pointer<f64> [columns * count],
            to_panels: bool,
        }
        // `starts` say how many entries there are.
        struct Solve = "interfaces_solve" [_, vectors] {
            count: u32,
            interfaces: Pointer<u32> [count],
            n: u32,
            conductors: u32,
            starts: Pointer<u32> [count + 1],
            columns: Pointer<u32> [..],
            values: Pointer<Value> [..],
            charges: Pointer<f64> [vectors * conductors],
            coupling: Pointer<f64> [n],
            diagonal: Pointer<f64> [n],
            v: Pointer<f64> [vectors * n],
            z: Pointer<f64> [vectors * n],
        }
    }
}

/// Sums of all before, and of all.
pub(super) fn prefix_sums(counts: &[u32]) -> (Vec<u32>, u64) {
    let mut total = 0u64;
    let mut starts = Vec::with_capacity(counts.len() + 1);
    for &count in counts {
        // Too large a sum is seen by the caller in the total.
        starts.push(total as u32);
        total += u64::from(count);
    }
    starts.push(total as u32);
    (starts, total)
}

/// The first `count` elements in a buffer of their own.
pub(super) fn shrunk<T: Plain>(
    device: &Device,
    from: &Buffer<T>,
    count: usize,
) -> Result<Buffer<T>, Error> {
    let to = device.buffer(count)?;
    to.copy_from(from, count)?;
    Ok(to)
}

/// The kernels' files, each with the kernels that are declared for it.
pub fn declared() -> Vec<Declared> {
    vec![
        near::declared(),
        sparse::declared(),
        preconditioner::declared(),
        vectors::declared(),
        interfaces::declared(),
    ]
}
