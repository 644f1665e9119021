//! The near field between the points of panels, of layers with screened kernels.

use cuda::Pointer;

use super::arguments::{self, Pair, PairRules};

cuda::arguments! {
    // Pairs say which panels there are, macros how many numbers each has.
    /// Panels with their points, and the regions around them.
    struct Surfaces {
        patches: Pointer<[f64; 3]> [..],
        places: Pointer<[f64; 3]> [..],
        normals: Pointer<[f64; 3]> [..],
        weights: Pointer<f64> [..],
        sides: Pointer<u32> [..],
        media: Pointer<[f64; 2]> [..],
        stencil: Pointer<f64> [..],
        straight: Pointer<u32> [..],
    }

    /// How panels are cut for points off them, and how many points rules around points on them
    /// have along both parameters.
    struct Cutting {
        digits: f64,
        largest_degree: f64,
        cuts: u32,
        along: u32,
        across: u32,
    }
}

cuda::kernels! {
    kernels::bem::SCREENED;
    constants {
        THREADS: u32 = arguments::THREADS;
        LANES: usize = arguments::LANES;
        ON_EDGE: f64 = crate::constants::ON_EDGE;
    }
    // Pairs say which panels there are.
    struct Keep = "screened_keep" {
        pairs: Pointer<Pair> [count],
        count: u32,
        sides: Pointer<u32> [..],
        kept: Pointer<Pair> [count],
        kept_count: Pointer<u32> [1],
    }
    // Likewise, and `next` where entries go.
    struct Fill = "screened_fill" {
        pairs: Pointer<Pair> [count],
        count: u32,
        next: Pointer<u32> [..],
        columns: Pointer<u32> [2 * count],
        places: Pointer<u32> [2 * count],
    }
    struct Integrate = "screened_integrate" {
        of: Surfaces,
        rules: PairRules,
        pairs: Pointer<Pair> [count],
        count: u32,
        first: u64,
        blocks: u32,
        by: Cutting,
        values: Pointer<f32> [..],
    }
    // `starts` say how many entries there are, macros how many numbers each has.
    struct MultiplyAdd = "screened_multiply_add" {
        n: u32,
        starts: Pointer<u32> [n + 1],
        columns: Pointer<u32> [..],
        places: Pointer<u32> [..],
        values: Pointer<f32> [..],
        diagonals: u64,
        x: Pointer<f64> [..],
        y: Pointer<f64> [..],
    }
}
