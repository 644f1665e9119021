//! The kernels under `kernels/`, embedded, with their arguments.

use cuda::{Plain, Pointer};

/// Headers that kernels include.
const HEADERS: &[(&str, &str)] = cuda::kernel_headers!["window.cuh"];

/// A number in the plan's format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Real {}

cuda::elements! { Real: "REAL" }

/// Charges to sorted order and sums back.
pub(super) mod points {
    use super::*;

    cuda::kernels! {
        "points.cu", HEADERS;
        constants { THREADS: u32 = 256; }
        struct Gather = "points_gather" {
            charges: Pointer<f64>,
            order: Pointer<u32>,
            shares: Pointer<f64>,
            n: u32,
            sorted: Pointer<Real>,
        }
        struct Scatter = "points_scatter" {
            sums: Pointer<Real>,
            slices: u32,
            rank: Pointer<u32>,
            m: u32,
            dimensions: u32,
            columns: u32,
            scale: f64,
            values: Pointer<f64>,
            gradients: Pointer<f64>,
        }
    }
}

/// Pairs.
pub(super) mod pairs {
    use super::*;

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
        "pairs.cu", HEADERS;
        constants {
            THREADS: u32 = 128;
            /// Targets of a thread.
            OWN: u32 = 2;
        }
        struct Pairs = "pairs" {
            jobs: Pointer<Job>,
            runs: Pointer<Run>,
            x: Pointer<f64>,
            y: Pointer<f64>,
            z: Pointer<f64>,
            stride: u32,
            exponents: Pointer<f64>,
            charges: Pointer<Real>,
            target_x: Pointer<f64>,
            target_y: Pointer<f64>,
            target_z: Pointer<f64>,
            m: u32,
            slices: u32,
            sums: Pointer<Real>,
        }
    }
}

/// Charges to nodes.
pub(super) mod spread {
    use super::*;

    /// Sources of one box, and how many blocks the block of nodes lies after the box.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    pub(crate) struct Item {
        pub(crate) begin: u32,
        pub(crate) end: u32,
        pub(crate) after: [u32; 3],
    }

    /// Items, and the block of nodes, or of parts of such, that they make.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    pub(crate) struct Job {
        pub(crate) first: u32,
        pub(crate) last: u32,
        pub(crate) to: u32,
        pub(crate) partial: u32,
    }

    /// A block of nodes and its parts.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    pub(crate) struct Whole {
        pub(crate) to: u32,
        pub(crate) first: u32,
        pub(crate) last: u32,
    }

    // SAFETY: whole numbers of 32 bits.
    unsafe impl Plain for Item {}
    // SAFETY: as above.
    unsafe impl Plain for Job {}
    // SAFETY: as above.
    unsafe impl Plain for Whole {}
    cuda::elements! { Item: "Item", Job: "Job", Whole: "Whole" }

    cuda::kernels! {
        "spread.cu", HEADERS;
        constants { THREADS: u32 = 128; }
        struct Spread = "spread" {
            jobs: Pointer<Job>,
            items: Pointer<Item>,
            places: Pointer<Real>,
            charges: Pointer<Real>,
            n: u32,
            window: Pointer<Real>,
            nodes: Pointer<Real>,
            parts: Pointer<Real>,
        }
        struct Join = "spread_join" { wholes: Pointer<Whole>, parts: Pointer<Real>, nodes: Pointer<Real> }
    }
}

/// Nodes to nodes.
pub(super) mod convolve {
    use super::*;

    /// A block of nodes that another takes from, and by how many blocks it lies ahead.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    pub(crate) struct Input {
        pub(crate) block: u32,
        pub(crate) step: i32,
    }

    // SAFETY: whole numbers of 32 bits.
    unsafe impl Plain for Input {}
    cuda::elements! { Input: "Input" }

    cuda::kernels! {
        "convolve.cu", HEADERS;
        constants {
            THREADS: u32 = 128;
            PADDING: usize = crate::axis_kernel::PADDING;
        }
        struct Convolve = "convolve" {
            axis: u32,
            offsets: Pointer<u32>,
            inputs: Pointer<Input>,
            count: u32,
            kernel: Pointer<Real>,
            reach: u32,
            from: Pointer<Real>,
            to: Pointer<Real>,
            add: bool,
        }
    }

    /// Nodes along the axis that a thread sums at.
    pub(crate) const ROW: usize = 8;
}

/// Nodes to targets.
pub(super) mod interpolate {
    use super::*;

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
        "interpolate.cu", HEADERS;
        constants { THREADS: u32 = 128; }
        struct Interpolate = "interpolate" {
            jobs: Pointer<Job>,
            cells: Pointer<u32>,
            places: Pointer<Real>,
            m: u32,
            window: Pointer<Real>,
            slopes: Pointer<Real>,
            nodes: Pointer<Real>,
            per_unit: f64,
            sums: Pointer<Real>,
        }
    }
}
