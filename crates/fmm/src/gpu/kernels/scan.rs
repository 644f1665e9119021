//! Prefix sums.

use cuda::Pointer;

cuda::kernels! {
    kernels::fmm::SCAN;
    constants {
        THREADS: u32 = 256;
        /// Numbers per thread.
        ITEMS: usize = 8;
    }
    struct Blocks = "scan_blocks" [blocks, _] {
        values: Pointer<u32> [n],
        sums: Pointer<u32> [blocks],
        n: u32,
    }
    struct Add = "scan_add" [blocks, _] {
        values: Pointer<u32> [n],
        sums: Pointer<u32> [blocks],
        n: u32,
    }
}
