//! The octree.

use cuda::Pointer;

use crate::gpu::layouts::Cell;

cuda::arguments! {
    /// Lowest corner and side of the root cube.
    struct Cube { x: f64, y: f64, z: f64, side: f64 }
}

cuda::kernels! {
    kernels::fmm::TREE;
    constants {
        THREADS: u32 = 128;
        MAX_DEPTH: usize = crate::tree::morton::MAX_DEPTH;
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
