//! Multipole expansions at targets far from them.

use cuda::{Pointer, Real};

use crate::gpu::layouts::{Cell, Evaluation, Level};

cuda::kernels! {
    kernels::fmm::M2P;
    constants {
        /// Targets of a warp at most.
        TARGETS: usize = 32;
    }
    // Evaluations say which boxes there are, these of which cells and levels; there are corners
    // with screening alone.
    struct M2p = "m2p" [blocks, _] {
        evaluations: Pointer<Evaluation> [blocks],
        boxes: Pointer<u64> [..],
        pitch: u32,
        cells: Pointer<Cell> [..],
        centres: Pointer<f64> [..],
        side: f64,
        levels: Pointer<Level> [..],
        targets: Pointer<f64> [3 * m_targets],
        diagonal: Pointer<Real> [table_p],
        columns: Pointer<Real> [table_p * table_p - table_p],
        table_p: u32,
        kappa: f64,
        corners: Pointer<Real> [..],
        potential: Pointer<Real> [m_targets],
        gradient: Pointer<Real> [3 * m_targets] or null,
        m_targets: u64,
    }
}
