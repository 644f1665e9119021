//! The kernels under `kernels/fgt`, with their arguments.

use cuda::testing::Declared;
use cuda::{Plain, Pointer};

/// A number in the plan's format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Real {}

cuda::elements! { Real: "REAL" }

/// Charges to sorted order and sums back.
pub(super) mod points {
    use super::*;

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
        kernels::fgt::SPREAD;
        constants { THREADS: u32 = 128; }
        // Jobs say which items, nodes and parts there are; macros, the length of the window.
        struct Spread = "spread" [blocks, _] {
            jobs: Pointer<Job> [blocks],
            items: Pointer<Item> [..],
            places: Pointer<Real> [3 * n],
            charges: Pointer<Real> [n],
            n: u32,
            window: Pointer<Real> [..],
            nodes: Pointer<Real> [..],
            parts: Pointer<Real> [..],
        }
        // Wholes say which parts and nodes there are.
        struct Join = "spread_join" [blocks, _] {
            wholes: Pointer<Whole> [blocks],
            parts: Pointer<Real> [..],
            nodes: Pointer<Real> [..],
        }
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
        kernels::fgt::CONVOLVE;
        constants {
            THREADS: u32 = 128;
            PADDING: usize = crate::axis_kernel::PADDING;
        }
        // `offsets` say which inputs there are, these which blocks; a macro, how many nodes a block
        // has: one at least.
        struct Convolve = "convolve" {
            axis: u32,
            offsets: Pointer<u32> [count + 1],
            inputs: Pointer<Input> [..],
            count: u32,
            kernel: Pointer<Real> [2 * (PADDING as u128 + reach) + 1],
            reach: u32,
            from: Pointer<Real> [..],
            to: Pointer<Real> [count],
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
}

/// The kernels' files, each with the kernels that are declared for it.
pub fn declared() -> Vec<Declared> {
    vec![
        points::declared(),
        pairs::declared(),
        spread::declared(),
        convolve::declared(),
        interpolate::declared(),
    ]
}
