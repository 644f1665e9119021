//! Errors of truncated translations.

use cuda::{Point, Pointer};

use crate::gpu::layouts::Cell;

cuda::arguments! {
    // Pairs say which boxes there are, these which points.
    /// Points in their boxes.
    struct Sampled {
        cells: Pointer<Cell> [..],
        centres: Pointer<f64> [..],
        sources: Pointer<Point> [..],
        targets: Pointer<Point> [..],
        side: f64,
    }
}

/// Draws of pairs for each batch, at least and at most, and for all together, where many digits are
/// asked for: few pairs in the corners of boxes decide then.
pub(crate) const MORE_SAMPLES: [usize; 3] = [512, 4096, 1 << 21];

cuda::kernels! {
    kernels::fmm::TRUNCATION;
    constants {
        /// Draws of a batch at most: by chance a few more than are wanted.
        CAPACITY: usize = MORE_SAMPLES[1] + 512;
        ENCOUNTER: f64 = crate::truncation::ENCOUNTER;
    }
    // `begins` say which pairs there are. A row of `out` is for P_MAX degrees, a macro that is
    // at least `degrees`.
    struct Far = "truncation_far" [blocks, _] {
        points: Sampled,
        pairs: Pointer<u64> [..],
        begins: Pointer<u32> [blocks + 1],
        samples: u32,
        degrees: u32,
        factors: Pointer<f64> [degrees * (degrees + 1) * (degrees + 2) / 6],
        recurrence: Pointer<[f64; 2]> [(degrees * degrees - degrees) / 2],
        out: Pointer<f64> [blocks * (degrees + 3)],
    }
    struct Near = "truncation_near" {
        points: Sampled,
        begins: Pointer<u32> [boxes + 1],
        entries: Pointer<u32> [count],
        boxes: u32,
        count: u32,
        out: Pointer<f64> [2],
    }
}
