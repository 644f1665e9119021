//! The kernels' files, and what is declared for them.

use fgt::internals::gpu::kernels::declared;

#[test]
fn the_source_has_these_kernels() {
    cuda::testing::compare_all(kernels::fgt::KERNELS, &declared());
}
