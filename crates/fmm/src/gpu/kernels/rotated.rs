//! Matrices of screened translations.

use cuda::Pointer;

use crate::gpu::layouts::Rotated;

cuda::kernels! {
    kernels::fmm::ROTATED;
    constants {
        WHOLE_COLUMNS: usize = crate::gpu::tables::WHOLE_COLUMNS;
        P_MAX: usize = crate::truncation::P_MAX;
    }
    struct Fill = "rotated_fill" [blocks, _] { matrices: Pointer<Rotated> [blocks] }
}
