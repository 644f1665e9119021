//! Close pairs.

use cuda::Pointer;

use super::arguments::{NEAR_WARPS, NearItems};
use crate::gpu::layouts::UnresolvedPair;

cuda::kernels! {
    kernels::fmm::CLOSE;
    constants {
        WARPS: u32 = NEAR_WARPS;
        CLOSE_SINGLE: f64 = crate::near::CLOSE_SINGLE;
        CLOSE_DOUBLE: f64 = crate::near::CLOSE_DOUBLE;
        /// Sources from which on a leaf is a crowd: they coincide, or no box separates them.
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
