//! Multipole expansions of the leaves.

use cuda::{Point, Pointer, Real};

use super::arguments::Harmonics;
use crate::gpu::layouts::{Cell, Level, Radial};

cuda::kernels! {
    kernels::fmm::P2M;
    // Boxes say of which levels they are.
    struct P2m = "p2m" {
        cells: Pointer<Cell> [count],
        count: u32,
        levels: Pointer<Level> [..],
        sources: Pointer<Point> [n],
        charges: Pointer<Real> [n] or null,
        dipoles: Pointer<Real> [3 * n] or null,
        n: u64,
        tables: Harmonics,
        radials: Pointer<Radial> [..],
    }
}
