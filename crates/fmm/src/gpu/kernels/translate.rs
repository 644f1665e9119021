//! M2M, M2L and L2L.

use cuda::Pointer;

use crate::gpu::layouts::{Batch, Tile};

cuda::kernels! {
    kernels::fmm::TRANSLATE;
    constants {
        THREADS: u32 = 256;
        /// Rows of a tile at most, its pairs, columns of a chunk and chunks in shared memory,
        /// in single precision.
        SINGLE_ROWS: usize = 144;
        SINGLE_PAIRS: usize = 128;
        SINGLE_COLUMNS: usize = 32;
        SINGLE_STAGES: usize = 2;
        /// As above, in double precision.
        DOUBLE_ROWS: usize = 128;
        DOUBLE_PAIRS: usize = 64;
        DOUBLE_COLUMNS: usize = 8;
        DOUBLE_STAGES: usize = 3;
        /// Scalars between two columns beyond a tile's rows, and between the chunks of two
        /// pairs beyond its columns, so that neighbours start in different banks.
        SINGLE_ROW_PAD: usize = 8;
        DOUBLE_ROW_PAD: usize = 4;
        COLUMN_PAD: usize = 4;
    }
    // Tiles say of which batches and pairs they are; batches have the addresses of the rest.
    struct Translate = "translate" [blocks, _] {
        batches: Pointer<Batch> [..],
        tiles: Pointer<Tile> [blocks],
        pairs: Pointer<u64> [..],
        turned: bool,
    }
}
