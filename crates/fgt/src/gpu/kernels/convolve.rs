//! Nodes to nodes.

use cuda::{Plain, Pointer, Real};

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
