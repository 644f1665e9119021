//! Nodes to targets.

use cuda::{Plain, Pointer, Real};

/// Targets of one box, or some of them, and the cell of the box.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct Job {
    pub(crate) begin: u32,
    pub(crate) end: u32,
    pub(crate) cell: u32,
}

// SAFETY: whole numbers of 32 bits.
unsafe impl Plain for Job {}
cuda::elements! { Job: "Job" }

cuda::kernels! {
    kernels::fgt::INTERPOLATE;
    constants { THREADS: u32 = 128; }
    // Jobs say which cells there are, these which nodes; macros, the length of windows, and how
    // many sums a target has.
    struct Interpolate = "interpolate" [blocks, _] {
        jobs: Pointer<Job> [blocks],
        cells: Pointer<u32> [..],
        places: Pointer<Real> [3 * m],
        m: u32,
        window: Pointer<Real> [..],
        slopes: Pointer<Real> [..],
        nodes: Pointer<Real> [..],
        per_unit: f64,
        sums: Pointer<Real> [m],
    }
}
