//! Kernels in CUDA sources.

use cuda::testing::kernels_of;

#[test]
fn kernels_are_found_with_their_parameters() {
    let text = "// extern \"C\" __global__ void not(int a)\n\
        extern \"C\" __global__ void __launch_bounds__((WARPS) * 32, 2)\n    first(const REAL* x, // of all\n  u32 n) {}\n\
        extern \"C\" __global__ void second(long long* out) {}";
    let of = |of_type: &str, name: &str| (of_type.to_owned(), name.to_owned());
    let first = ("first".to_owned(), vec![of("REAL*", "x"), of("u32", "n")]);
    let second = ("second".to_owned(), vec![of("long long*", "out")]);
    assert_eq!(kernels_of(text), [first, second]);
}
