//! Local inverses over a coarse level.

use std::ops::Range;

use cuda::Pointer;

use super::arguments::{self, Images, Matrix};
use crate::precondition::{clusters, entries, local_panels};

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
        THREADS: u32 = arguments::THREADS;
        LANES: usize = arguments::LANES;
        /// Threads of the block that solves the coarse level.
        SOLVERS: u32 = 1024;
        /// These kernels have what they need of rows as arguments.
        GENERAL: u32 = 0;
        SINGLE: u32 = arguments::SINGLE;
        ADJOINT: u32 = arguments::ADJOINT;
        ON_EDGE: f64 = crate::constants::ON_EDGE;
        FACING: f64 = local_panels::FACING;
        OUT_OF_PLANE: f64 = local_panels::OUT_OF_PLANE;
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

/// Macros of the kernels for a near field with entries of this type: rows of S with some numbers of
/// panels, by warps of a block.
pub(crate) fn macros(
    value: &[String],
    rows: Range<usize>,
    warps: u32,
    points: usize,
) -> Vec<String> {
    let (least, most) = (rows.start, rows.end);
    let sizes = format!("LEAST={least} MOST={most} LOCAL_WARPS={warps} POINTS_OF_PANEL={points}");
    value.iter().cloned().chain(sizes.split(' ').map(str::to_owned)).collect()
}

/// Macros of all kernels except the one for the larger rows of S.
pub(crate) fn usual_macros(value: &[String]) -> Vec<String> {
    macros(value, 0..local_panels::NEIGHBOURS, THREADS / 32, 1)
}
