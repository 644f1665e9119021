//! Arguments that kernels of several files take, and what they point to.

use cuda::{Plain, Pointer};

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
pub(crate) struct Mirror(pub(crate) [f64; 7]);

// SAFETY: numbers.
unsafe impl Plain for Mirror {}

/// The table of module [`rows`](crate::device::rows).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Table {}

/// An entry of the near field, whose type is a macro.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {}

cuda::elements! { Node: "Node", Pair: "Pair", Mirror: "Image", Table: "Rows", Value: "VALUE" }

/// Threads of a block in the kernels that work on panels.
pub(crate) const THREADS: u32 = 128;

/// Lanes that share a row of a sparse matrix.
pub(crate) const LANES: usize = 8;

/// Kinds of rows.
pub(crate) const SINGLE: u32 = 0;
pub(crate) const ADJOINT: u32 = 1;
pub(crate) const NONE: u32 = 2;

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
