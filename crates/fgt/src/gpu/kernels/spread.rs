//! Charges to nodes.

use cuda::{Plain, Pointer, Real};

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
