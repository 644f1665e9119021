//! The kernels under `kernels/`, embedded, with their arguments, and how they are started.

pub(super) use cuda::count;
use cuda::{Arguments, Buffer, Device, Error, Grid, Plain, Pointer};

/// Headers that kernels include.
const HEADERS: &[(&str, &str)] =
    cuda::kernel_headers!["triangle.cuh", "pair.cuh", "rows.cuh", "solid_angle.cuh"];

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
        // SAFETY: every call in this module passes arrays of the lengths that the kernel's file
        // states, in buffers that live until the stream has passed the launch; the tests run under
        // compute-sanitizer check that (docs/performance.md, "GPU").
        unsafe { self.kernel.launch(self.device.stream(), grid, arguments) }
    }
}

/// A node of the tree of panels, as `kernels/near.cu` declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node([f64; 7]);

// SAFETY: numbers.
unsafe impl Plain for Node {}

/// A pair of panels, as `kernels/near.cu` declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair([u32; 2]);

// SAFETY: numbers.
unsafe impl Plain for Pair {}

/// Scales, shifts and factor of an image, as `kernels/rows.cuh` declares it.
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
    /// Quadrature rules of triangles, one for each degree up to `most_degree`.
    struct TriangleRules { triangle: Pointer<[f64; 4]>, rule_starts: Pointer<u32>, most_degree: u32 }

    /// Rules of triangles, and of lines for each number of points up to `most_points`.
    struct PairRules {
        triangle: Pointer<[f64; 4]>,
        rule_starts: Pointer<u32>,
        line: Pointer<[f64; 2]>,
        most_degree: u32,
        most_points: u32,
    }

    /// The near field of `n` panels.
    struct Matrix {
        n: u32,
        starts: Pointer<u32>,
        columns: Pointer<u32>,
        values: Pointer<Value>,
        diagonal: Pointer<f64>,
    }

    /// Images.
    struct Images { images: Pointer<Mirror>, image_count: u32 }
}

/// Search, choice and integrals of close pairs.
pub(super) mod near {
    use super::*;
    use crate::constants;
    use crate::integrals::{edge, pair, solid_angle};

    cuda::arguments! {
        /// The tree of panels.
        struct Tree { nodes: Pointer<Node>, starts: Pointer<u32>, depth: u32 }

        /// Pairs of panels.
        struct Pairs {
            vertices: Pointer<f64>,
            charges: Pointer<f64>,
            parts: Pointer<u32>,
            pairs: Pointer<Pair>,
        }
    }

    cuda::kernels! {
        "near.cu", HEADERS;
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
            vertices: Pointer<f64>,
            n: u32,
            diameters: f64,
            centroids: Pointer<[f64; 4]>,
        }
        struct Leaves = "near_leaves" {
            centroids: Pointer<[f64; 4]>,
            n: u32,
            depth: u32,
            nodes: Pointer<Node>,
            starts: Pointer<u32>,
        }
        struct Parents = "near_parents" { nodes: Pointer<Node>, first: u32 }
        struct Candidates = "near_candidates" {
            centroids: Pointer<[f64; 4]>,
            order: Pointer<u32>,
            tree: Tree,
            first: u32,
            count_of_rows: u32,
            counts: Pointer<u32>,
            pairs: Pointer<Pair>,
            rows: Pointer<Table>,
        }
        struct Closest = "near_closest" {
            vertices: Pointer<f64>,
            areas: Pointer<f64>,
            centroids: Pointer<[f64; 4]>,
            diameters: f64,
            tree: Tree,
            n: u32,
            rule: Pointer<[f64; 4]>,
            nodes_of_rule: u32,
            parts: Pointer<f64>,
            rows: Pointer<Table>,
        }
        struct Select = "near_select" {
            panels: Pairs,
            count: u32,
            rules: TriangleRules,
            degree: u32,
            finer: u32,
            allowed: f64,
            chosen: Pointer<u32>,
            chosen_count: Pointer<u32>,
            rows: Pointer<Table>,
        }
        struct Integrate = "near_integrate" {
            panels: Pairs,
            chosen: Pointer<u32>,
            count: u32,
            rules: PairRules,
            degree: u32,
            allowed: f64,
            accuracy: f64,
            increment: u32,
            edges: u32,
            rest: Pointer<u32>,
            rest_count: Pointer<u32>,
            kept: Pointer<Pair>,
            values: Pointer<f64>,
            kept_count: Pointer<u32>,
            rows: Pointer<Table>,
        }
        struct Diagonal = "near_diagonal" {
            vertices: Pointer<f64>,
            n: u32,
            rules: PairRules,
            accuracy: f64,
            increment: u32,
            diagonal: Pointer<f64>,
            rows: Pointer<Table>,
        }
    }
}

/// The near field as a sparse matrix.
pub(super) mod sparse {
    use super::*;

    cuda::arguments! {
        /// Some rows, and the numbers of the columns to be taken from them.
        struct Chosen {
            count: u32,
            chosen: Pointer<u32>,
            index: Pointer<u32>,
            starts: Pointer<u32>,
            columns: Pointer<u32>,
        }
    }

    cuda::kernels! {
        "sparse.cu", HEADERS;
        constants {
            THREADS: u32 = crate::device::THREADS;
            LANES: usize = crate::device::LANES;
            SINGLE: u32 = super::SINGLE;
            ADJOINT: u32 = super::ADJOINT;
            ON_EDGE: f64 = crate::constants::ON_EDGE;
        }
        struct Count = "sparse_count" { pairs: Pointer<Pair>, count: u32, counts: Pointer<u32> }
        struct Fill = "sparse_fill" {
            pairs: Pointer<Pair>,
            entries: Pointer<f64>,
            count: u32,
            next: Pointer<u32>,
            columns: Pointer<u32>,
            values: Pointer<Value>,
        }
        struct Sort = "sparse_sort" {
            n: u32,
            starts: Pointer<u32>,
            columns: Pointer<u32>,
            values: Pointer<Value>,
        }
        struct Subtract = "sparse_subtract" {
            matrix: Matrix,
            vertices: Pointer<f64>,
            order: Pointer<u32>,
            rules: TriangleRules,
            degree: u32,
            rows: Pointer<Table>,
        }
        struct PartLengths = "sparse_part_lengths" { from: Chosen, lengths: Pointer<u32> }
        struct Part = "sparse_part" {
            from: Chosen,
            values: Pointer<Value>,
            part_starts: Pointer<u32>,
            part_columns: Pointer<u32>,
            part_values: Pointer<Value>,
        }
        struct MultiplyAdd = "sparse_multiply_add" {
            matrix: Matrix,
            x: Pointer<f64>,
            y: Pointer<f64>,
        }
    }
}

/// Local inverses over a coarse level.
pub(super) mod preconditioner {
    use super::*;
    use crate::precondition::{clusters, entries, local_inverse};

    cuda::arguments! {
        /// The near field and the panels that it belongs to.
        struct Near { matrix: Matrix, vertices: Pointer<f64>, centroids: Pointer<[f64; 4]> }
    }

    cuda::kernels! {
        "preconditioner.cu", HEADERS;
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
            lengths: Pointer<u32>,
        }
        struct LocalInverse = "local_inverse" {
            near: Near,
            images: Images,
            local_starts: Pointer<u32>,
            local_columns: Pointer<u32>,
            local_values: Pointer<f32>,
        }
        struct CoarseMeans = "coarse_means" {
            clusters: u32,
            starts: Pointer<u32>,
            members: Pointer<u32>,
            shares: Pointer<f64>,
            v: Pointer<f64>,
            n: u32,
            means: Pointer<f64>,
        }
        struct CoarseGradients = "coarse_gradients" {
            clusters: u32,
            starts: Pointer<u32>,
            neighbours: Pointer<u32>,
            weights: Pointer<f64>,
            means: Pointer<f64>,
            gradients: Pointer<f64>,
        }
        struct CoarseRemove = "coarse_remove" {
            n: u32,
            clusters: u32,
            cluster: Pointer<u32>,
            offsets: Pointer<[f32; 3]>,
            means: Pointer<f64>,
            gradients: Pointer<f64>,
            v: Pointer<f64>,
            rest: Pointer<f64>,
        }
        struct Apply = "preconditioner_apply" {
            n: u32,
            starts: Pointer<u32>,
            columns: Pointer<u32>,
            values: Pointer<f32>,
            v: Pointer<f64>,
            clusters: u32,
            cluster: Pointer<u32>,
            shares: Pointer<f64>,
            solution: Pointer<f64>,
            z: Pointer<f64>,
        }
        struct CoarseSolve = "coarse_solve" { l: Pointer<f64>, n: u32, xs: Pointer<f64> }
        struct CoarseEntries = "coarse_entries" {
            count: u32,
            starts: Pointer<u32>,
            columns: Pointer<u32>,
            clusters: Pointer<[f64; 4]>,
            cells: Pointer<[f64; 4]>,
            cell_starts: Pointer<u32>,
            member_starts: Pointer<u32>,
            members: Pointer<u32>,
            shares: Pointer<f64>,
            centroids: Pointer<[f64; 4]>,
            cell_variances: Pointer<f64>,
            panel_variances: Pointer<f64>,
            cluster_variances: Pointer<f64>,
            images: Images,
            rank: u32,
            ranks: u32,
            entries: Pointer<f64>,
        }
        struct CoarseCorrect = "coarse_correct" {
            matrix: Matrix,
            own: Pointer<u32>,
            pair_starts: Pointer<u32>,
            pair_columns: Pointer<u32>,
            clusters: Pointer<[f64; 4]>,
            cluster: Pointer<u32>,
            cells: Pointer<[f64; 4]>,
            cell: Pointer<u32>,
            shares: Pointer<f64>,
            centroids: Pointer<[f64; 4]>,
            cell_variances: Pointer<f64>,
            panel_variances: Pointer<f64>,
            images: Images,
            entries: Pointer<f64>,
        }
    }
}

/// GMRES's vectors, points that stand for panels, laws that rows meet.
pub(super) mod vectors {
    use super::*;

    cuda::kernels! {
        "vectors.cu", HEADERS;
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
        struct Spread = "points_spread" {
            n: u32,
            nodes: u32,
            rule: Pointer<[f64; 4]>,
            factors: Pointer<f64>,
            image_count: u32,
            panels: Pointer<f64>,
            points: Pointer<f64>,
        }
        struct Average = "points_average" {
            n: u32,
            nodes: u32,
            rule: Pointer<[f64; 4]>,
            kinds: Pointer<u32>,
            vertices: Pointer<f64>,
            potentials: Pointer<f64>,
            gradients: Pointer<f64>,
            panels: Pointer<f64>,
        }
        struct Direct = "points_direct" {
            vertices: Pointer<f64>,
            n: u32,
            nodes: u32,
            rule: Pointer<[f64; 4]>,
            images: Images,
            charges: Pointer<f64>,
            targets: Pointer<[f64; 3]>,
            count: u32,
            gradient: bool,
            sums: Pointer<f64>,
        }
        struct Dot = "vector_dot" {
            n: u64,
            weights: Pointer<f64>,
            u: Pointer<f64>,
            v: Pointer<f64>,
            parts: Pointer<f64>,
        }
        struct Total = "vector_total" { count: u32, parts: Pointer<f64>, out: Pointer<f64> }
        struct Squares = "vector_squares" {
            n: u64,
            of: Pointer<u32>,
            weights: Pointer<f64>,
            factors: Pointer<f64>,
            u: Pointer<f64>,
            sums: Pointer<f64>,
        }
        struct AddLaws = "laws_add" {
            count: u32,
            rows: Pointer<u32>,
            places: Pointer<u32>,
            values: Pointer<f64>,
            absolute: bool,
            inputs: u64,
            from: Pointer<f64>,
            outputs: u64,
            to: Pointer<f64>,
        }
        struct Complete = "rows_complete" {
            n: u32,
            own_and_factor: Pointer<[f64; 2]>,
            x: Pointer<f64>,
            y: Pointer<f64>,
        }
        struct Gather = "vector_gather" {
            count: u32,
            chosen: Pointer<u32>,
            from: Pointer<f64>,
            to: Pointer<f64>,
        }
        struct Combine = "vector_combine" {
            n: u64,
            factor: f64,
            x: Pointer<f64>,
            other: f64,
            y: Pointer<f64>,
        }
    }
}

/// The preconditioner's rows of interfaces.
pub(super) mod interfaces {
    use super::*;

    cuda::kernels! {
        "interfaces.cu", HEADERS;
        constants {
            THREADS: u32 = 256;
        }
        struct Chosen = "interfaces_chosen" {
            count: u32,
            chosen: Pointer<u32>,
            n: u32,
            panels: Pointer<f64>,
            values: Pointer<f64>,
            to_panels: bool,
        }
        struct Solve = "interfaces_solve" {
            count: u32,
            interfaces: Pointer<u32>,
            n: u32,
            conductors: u32,
            starts: Pointer<u32>,
            columns: Pointer<u32>,
            values: Pointer<Value>,
            charges: Pointer<f64>,
            coupling: Pointer<f64>,
            diagonal: Pointer<f64>,
            v: Pointer<f64>,
            z: Pointer<f64>,
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
