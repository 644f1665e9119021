//! Charges to sorted order and sums back.

use cuda::{Pointer, Real};

cuda::kernels! {
    kernels::fgt::POINTS;
    constants { THREADS: u32 = 256; }
    // `order` says which charges of all there are.
    struct Gather = "points_gather" {
        charges: Pointer<f64> [..],
        order: Pointer<u32> [n],
        shares: Pointer<f64> [n] or null,
        n: u32,
        sorted: Pointer<Real> [n],
    }
    struct Scatter = "points_scatter" {
        sums: Pointer<Real> [slices * columns * m],
        slices: u32,
        rank: Pointer<u32> [m],
        m: u32,
        dimensions: u32,
        columns: u32,
        scale: f64,
        values: Pointer<f64> [m] or null,
        gradients: Pointer<f64> [m * dimensions] or null,
    }
}
