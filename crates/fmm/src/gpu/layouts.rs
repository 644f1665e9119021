//! Structs that kernels read from memory, laid out as the CUDA sources declare them.

use cuda::Plain;

/// A close pair, as `kernels/fmm/near.cuh` declares it: of the same size in both formats.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct UnresolvedPair(pub(super) [u32; 8]);

// SAFETY: eight 32-bit numbers.
unsafe impl Plain for UnresolvedPair {}

/// A box, as `kernels/fmm/cell.cuh` declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Place among the boxes of its level.
    pub place: [u32; 3],
    /// Level, the root's being 0.
    pub level: u32,
    /// Its first child, if it has any.
    pub first_child: u32,
    /// Number of children.
    pub child_count: u32,
    /// Its parent.
    pub parent: u32,
    /// Where its sources begin and end, in Morton order.
    pub sources: [u32; 2],
    /// Where its targets begin and end.
    pub targets: [u32; 2],
    pub(super) unused: u32,
}

// SAFETY: twelve 32-bit numbers.
unsafe impl Plain for Cell {}

/// Four 32-bit numbers of one P2P item: first target, targets, first and last near entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Item(pub(super) [u32; 4]);

// SAFETY: four 32-bit numbers.
unsafe impl Plain for Item {}

/// Where the expansions of a level are, as `kernels/fmm/levels.cuh` declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Level {
    pub(super) values: u64,
    pub(super) stride: u32,
    pub(super) p: u32,
}

// SAFETY: 64 and twice 32 bits.
unsafe impl Plain for Level {}

/// Pairs that share a matrix, as `kernels/fmm/translate.cu` declares them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Batch {
    pub(super) matrix: u64,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) from_stride: u32,
    pub(super) to_stride: u32,
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(super) lda: u32,
    pub(super) first_pair: u32,
    pub(super) pairs: u32,
    pub(super) unused: [u32; 3],
}

// SAFETY: three 64-bit and ten 32-bit numbers, 64 bytes.
unsafe impl Plain for Batch {}

/// What a block computes, as `kernels/fmm/translate.cu` declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tile {
    pub(super) batch: u32,
    pub(super) pair: u32,
    pub(super) row: u32,
    pub(super) rows: u32,
}

// SAFETY: four 32-bit numbers.
unsafe impl Plain for Tile {}

/// A translation vector, as `kernels/fmm/m2l.cu` declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Vector {
    pub(super) offset: [i32; 3],
    pub(super) finer_source: i32,
    pub(super) p: u32,
    pub(super) lda: u32,
    pub(super) matrix: u64,
}

// SAFETY: six 32-bit numbers and a 64-bit one, 32 bytes.
unsafe impl Plain for Vector {}

/// What one matrix is made of, as `kernels/fmm/rotated.cu` declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rotated {
    pub(super) matrix: u64,
    pub(super) polar: u64,
    pub(super) coaxial: u64,
    pub(super) cos: f64,
    pub(super) sin: f64,
    pub(super) p: u32,
    pub(super) lda: u32,
    pub(super) coaxial_p: u32,
    pub(super) unused: u32,
}

// SAFETY: five 64-bit and four 32-bit numbers, 56 bytes.
unsafe impl Plain for Rotated {}

/// Radial tables of one level, as `kernels/fmm/screening.cuh` declares them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Radial {
    pub(super) series: u64,
    pub(super) ratios: u64,
    pub(super) derivatives: u64,
    pub(super) terms: [u32; 2],
    pub(super) ends: [u32; 3],
    pub(super) unused: u32,
}

// SAFETY: three 64-bit and six 32-bit numbers, 48 bytes.
unsafe impl Plain for Radial {}

/// What one warp takes, as `kernels/fmm/m2p.cu` declares it: some boxes at some targets of a box.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evaluation {
    pub(super) cell: u32,
    pub(super) entry: u32,
    pub(super) target: u32,
    pub(super) boxes: u16,
    pub(super) targets: u16,
}

// SAFETY: three 32-bit and two 16-bit numbers, 16 bytes.
unsafe impl Plain for Evaluation {}

cuda::elements! {
    UnresolvedPair: "UnresolvedPair",
    Cell: "Cell",
    Item: "Item",
    Level: "Level",
    Batch: "Batch",
    Tile: "Tile",
    Vector: "Vector",
    Rotated: "Rotated",
    Radial: "Radial",
    Evaluation: "Evaluation",
}
