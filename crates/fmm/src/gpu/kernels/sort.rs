//! Radix sort.

use cuda::Pointer;

/// Keys and values, whose types are macros.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key {}
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {}
cuda::elements! { Key: "KEY", Value: "VALUE" }

cuda::kernels! {
    kernels::fmm::SORT;
    constants {
        WARPS: u32 = 8;
        /// Items per thread.
        ITEMS: usize = 16;
        /// Bits of a digit.
        DIGIT_BITS: usize = 8;
    }
    struct Count = "sort_count" {
        keys: Pointer<Key> [n],
        counts: Pointer<u32> [tiles << DIGIT_BITS],
        n: u32,
        shift: u32,
        tiles: u32,
    }
    struct Scatter = "sort_scatter" {
        keys: Pointer<Key> [n],
        values: Pointer<Value> [n],
        keys_out: Pointer<Key> [n],
        values_out: Pointer<Value> [n],
        offsets: Pointer<u32> [tiles << DIGIT_BITS],
        n: u32,
        shift: u32,
        tiles: u32,
    }
}
