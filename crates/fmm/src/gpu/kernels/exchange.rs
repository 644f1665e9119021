//! Multipole expansions between ranks.

use cuda::{Pointer, Real};

use crate::gpu::layouts::{Cell, Level};

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
