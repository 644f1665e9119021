//! Near pairs.

use cuda::Pointer;

use super::arguments::{NEAR_WARPS, NearItems, NearSums};
use crate::gpu::layouts::UnresolvedPair;

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
