//! Launches on a GPU; skipped with a printed reason where there is none.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use gpu::{Device, Grid, Source, count, testing};

/// Sums what it wrote into dynamic shared memory: 0 + 1 + ... + words - 1.
const SUM: Source<'static> = Source {
    name: "sum.cu",
    text: r#"
extern "C" __global__ void sum(unsigned words, unsigned long long* out) {
    extern __shared__ unsigned memory[];
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) memory[i] = i;
    __syncthreads();
    unsigned long long own = 0;
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) own += memory[words - 1 - i];
    atomicAdd(out, own);
}
"#,
    headers: &[],
};

#[test]
fn shared_memory_that_was_allowed_stays_allowed() {
    let test = "shared_memory_that_was_allowed_stays_allowed";
    let Some(device) = testing::device_for(test, || Device::open(0)).unwrap() else { return };
    let (most, less) = (96 << 10, 64 << 10);
    let module = device.module(&SUM, &[]).unwrap();
    let large = module.function("sum").unwrap();
    large.allow_shared(most).unwrap();
    // Another user of the same kernel needs less.
    module.function("sum").unwrap().allow_shared(less).unwrap();
    let words = most as u64 / 4;
    let out = device.upload(&[0u64]).unwrap();
    let grid = Grid { shared: most, ..Grid::new(1, 256) };
    // SAFETY: the arguments are those that the kernel declares; it stays inside its shared memory and one word of `out`.
    unsafe {
        large.launch(device.stream(), grid, &[count(words as usize), out.arg()]).unwrap();
    }
    assert_eq!(out.to_vec().unwrap(), [words * (words - 1) / 2]);
}
