//! Pairs.

use cuda::{Plain, Pointer, Real};

/// Targets of one box, or some of them, the runs of sources that reach them, and the corner of
/// the box.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct Job {
    pub(crate) corner: [f64; 3],
    pub(crate) begin: u32,
    pub(crate) end: u32,
    pub(crate) first_run: u32,
    pub(crate) last_run: u32,
}

/// Sources `begin .. end`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct Run {
    pub(crate) begin: u32,
    pub(crate) end: u32,
}

// SAFETY: 40 bytes of numbers.
unsafe impl Plain for Job {}
// SAFETY: whole numbers of 32 bits.
unsafe impl Plain for Run {}
cuda::elements! { Job: "Job", Run: "uint2" }

cuda::kernels! {
    kernels::fgt::PAIRS;
    constants {
        THREADS: u32 = 128;
        /// Targets of a thread.
        OWN: u32 = 2;
    }
    // Jobs say which runs there are; macros, how many densities and columns.
    struct Pairs = "pairs" [blocks, _] {
        jobs: Pointer<Job> [blocks],
        runs: Pointer<Run> [..],
        x: Pointer<f64> [stride],
        y: Pointer<f64> [stride],
        z: Pointer<f64> [stride],
        stride: u32,
        exponents: Pointer<f64> [stride],
        charges: Pointer<Real> [stride],
        target_x: Pointer<f64> [m],
        target_y: Pointer<f64> [m],
        target_z: Pointer<f64> [m],
        m: u32,
        slices: u32,
        sums: Pointer<Real> [slices * m],
    }
}
