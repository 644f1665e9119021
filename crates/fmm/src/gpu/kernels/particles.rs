//! Points, strengths and sums between the caller's order and Morton order.

use cuda::{Point, Pointer, Real};

use crate::gpu::layouts::Cell;

cuda::kernels! {
    kernels::fmm::PARTICLES;
    constants {
        THREADS: u32 = 256;
        CLOSE_SINGLE: f64 = crate::near::CLOSE_SINGLE;
    }
    // Boxes say which points are theirs.
    struct Place = "particles_place" {
        cells: Pointer<Cell> [count],
        centres: Pointer<f64> [3 * count],
        count: u32,
        of_targets: bool,
        points: Pointer<f64> [3 * here],
        first: u32,
        here: u32,
        index: Pointer<u32> [..],
        side: f64,
        out: Pointer<Point> [..],
    }
    struct Largest = "particles_largest" {
        values: Pointer<f64> [count],
        count: u64,
        largest: Pointer<u64> [1],
    }
    struct Gather = "particles_gather" {
        from: Pointer<f64> [n * width],
        index: Pointer<u32> [n],
        n: u32,
        width: u32,
        unit: f64,
        largest: Pointer<u64> [2],
        side: f64,
        to: Pointer<Real> [n * width],
    }
    struct Scatter = "particles_scatter" {
        index: Pointer<u32> [m],
        m: u32,
        side: f64,
        targets: Pointer<Point> [m],
        itself: bool,
        slots: Pointer<u32> [m] or null,
        charges: Pointer<Real> [itself * m],
        largest: Pointer<u64> [2],
        potential: Pointer<Real> [m],
        gradient: Pointer<Real> [3 * m] or null,
        kappa: f64,
        potential_out: Pointer<f64> [m] or null,
        gradient_out: Pointer<f64> [3 * m] or null,
    }
}
