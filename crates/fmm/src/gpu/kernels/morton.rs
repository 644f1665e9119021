//! The root cube and Morton keys.

use cuda::Pointer;

cuda::kernels! {
    kernels::fmm::MORTON;
    constants {
        THREADS: u32 = 256;
        MAX_DEPTH: usize = crate::tree::morton::MAX_DEPTH;
    }
    struct Bounds = "bounds" [blocks, _] {
        points: Pointer<f64> [3 * n],
        n: u32,
        out: Pointer<f64> [6 * blocks],
    }
    struct Keys = "morton_keys" {
        points: Pointer<f64> [3 * n],
        first: u32,
        n: u32,
        x: f64,
        y: f64,
        z: f64,
        scale: f64,
        keys: Pointer<u64> [first + n],
        index: Pointer<u32> [first + n],
    }
    struct Partings = "partings" {
        keys: Pointer<u64> [n],
        n: u32,
        out: Pointer<u32> [MAX_DEPTH as u128 + 1],
    }
}
