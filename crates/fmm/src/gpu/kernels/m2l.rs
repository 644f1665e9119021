//! Matrices of M2L.

use cuda::Pointer;

use crate::gpu::layouts::Vector;

cuda::kernels! {
    kernels::fmm::M2L;
    constants {
        WHOLE_COLUMNS: usize = crate::gpu::tables::WHOLE_COLUMNS;
    }
    // Vectors have the truncation numbers, and the addresses of the matrices.
    struct Fill = "m2l_fill" [blocks, _] {
        vectors: Pointer<Vector> [blocks],
        roots: Pointer<f64> [..],
    }
}
