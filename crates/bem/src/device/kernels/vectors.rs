//! GMRES's vectors, points that stand for panels, laws that rows meet.

use cuda::Pointer;

use super::arguments::{self, Images};

cuda::kernels! {
    kernels::bem::VECTORS;
    constants {
        THREADS: u32 = 256;
        /// Targets that a block of direct sums takes.
        TARGETS: usize = 8;
        /// These kernels have what they need of rows as arguments.
        GENERAL: u32 = 0;
        SINGLE: u32 = arguments::SINGLE;
        ADJOINT: u32 = arguments::ADJOINT;
        ON_EDGE: f64 = crate::constants::ON_EDGE;
    }
    struct Spread = "points_spread" [_, columns] {
        n: u32,
        nodes: u32,
        rule: Pointer<[f64; 4]> [nodes],
        factors: Pointer<f64> [image_count * n],
        image_count: u32,
        panels: Pointer<f64> [columns * n],
        points: Pointer<f64> [columns * image_count * n * nodes],
    }
    struct Average = "points_average" [_, columns] {
        n: u32,
        nodes: u32,
        rule: Pointer<[f64; 4]> [nodes],
        kinds: Pointer<u32> [n],
        vertices: Pointer<f64> [9 * n],
        potentials: Pointer<f64> [columns * n * nodes] or null,
        gradients: Pointer<f64> [3 * columns * n * nodes] or null,
        panels: Pointer<f64> [columns * n],
    }
    struct Direct = "points_direct" {
        vertices: Pointer<f64> [9 * n],
        n: u32,
        nodes: u32,
        rule: Pointer<[f64; 4]> [nodes],
        images: Images,
        charges: Pointer<f64> [u128::from(images.image_count) * n * nodes],
        targets: Pointer<[f64; 3]> [count],
        count: u32,
        gradient: bool,
        sums: Pointer<f64> [(1 + 2 * gradient) * count],
    }
    struct Dot = "vector_dot" [blocks, _] {
        n: u64,
        weights: Pointer<f64> [n],
        u: Pointer<f64> [n],
        v: Pointer<f64> [n],
        parts: Pointer<f64> [blocks],
    }
    struct Total = "vector_total" {
        count: u32,
        parts: Pointer<f64> [count],
        out: Pointer<f64> [1],
    }
    // `of` says which groups there are.
    struct Squares = "vector_squares" {
        n: u64,
        of: Pointer<u32> [n],
        weights: Pointer<f64> [n],
        factors: Pointer<f64> [n] or null,
        u: Pointer<f64> [n],
        sums: Pointer<f64> [..],
    }
    struct AddLaws = "laws_add" [_, columns] {
        count: u32,
        rows: Pointer<u32> [count],
        places: Pointer<u32> [count],
        values: Pointer<f64> [count],
        absolute: bool,
        inputs: u64,
        from: Pointer<f64> [columns * inputs],
        outputs: u64,
        to: Pointer<f64> [columns * outputs],
    }
    struct Complete = "rows_complete" [_, columns] {
        n: u32,
        own_and_factor: Pointer<[f64; 2]> [n],
        x: Pointer<f64> [columns * n],
        y: Pointer<f64> [columns * n],
    }
    // `chosen` says which panels there are.
    struct Gather = "vector_gather" {
        count: u32,
        chosen: Pointer<u32> [count],
        from: Pointer<f64> [..],
        to: Pointer<f64> [count],
    }
    struct Combine = "vector_combine" {
        n: u64,
        factor: f64,
        x: Pointer<f64> [n],
        other: f64,
        y: Pointer<f64> [n],
    }
}
