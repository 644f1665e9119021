//! Local expansions at the targets.

use cuda::{Point, Pointer, Real};

use super::arguments::Harmonics;
use crate::gpu::layouts::{Cell, Level, Radial};

cuda::kernels! {
    kernels::fmm::L2P;
    // Boxes say of which levels they are.
    struct L2p = "l2p" {
        cells: Pointer<Cell> [count],
        count: u32,
        levels: Pointer<Level> [..],
        targets: Pointer<Point> [m_targets],
        tables: Harmonics,
        radials: Pointer<Radial> [..],
        potential: Pointer<Real> [m_targets],
        gradient: Pointer<Real> [3 * m_targets] or null,
        m_targets: u64,
    }
}
