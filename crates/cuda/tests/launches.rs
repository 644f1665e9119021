//! Launches on a GPU; skipped with a printed reason where there is none.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use cuda::{Arguments, Device, Error, Graph, Grid, Kernel, Pointer, Source, testing};
use kernels::File;

cuda::arguments! {
    /// Sums what it wrote into dynamic shared memory: 0 + 1 + ... + words - 1.
    struct Sum { words: u32, out: Pointer<u64> [1] }
}

impl Arguments for Sum {
    const NAME: &'static str = "sum";
    const SOURCE: Source = Source {
        file: File {
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
        },
        constants: &[],
    };
}

#[test]
fn shared_memory_that_was_allowed_stays_allowed() {
    let test = "shared_memory_that_was_allowed_stays_allowed";
    let Some(device) = testing::device_for(test, || Device::open(0)).unwrap() else { return };
    let (most, less) = (96 << 10, 64 << 10);
    let large = Kernel::<Sum>::new(&device, &[]).unwrap();
    large.allow_shared(most).unwrap();
    // Another user of the same kernel needs less.
    Kernel::<Sum>::new(&device, &[]).unwrap().allow_shared(less).unwrap();
    let words = most / 4;
    let out = device.upload(&[0u64]).unwrap();
    let grid = Grid { shared: most, ..Grid::new(1, 256) };
    // SAFETY: the kernel stays inside its shared memory and one word of `out`.
    unsafe { large.launch(device.stream(), grid, Sum { words, out: out.pointer() }).unwrap() };
    let words = u64::from(words);
    assert_eq!(out.to_vec().unwrap(), [words * (words - 1) / 2]);
}

#[test]
fn kernels_with_arrays_that_are_too_short_are_not_started() {
    let test = "kernels_with_arrays_that_are_too_short_are_not_started";
    let Some(device) = testing::device_for(test, || Device::open(0)).unwrap() else { return };
    let kernel = Kernel::<Sum>::new(&device, &[]).unwrap();
    let out = device.upload(&[0u64; 2]).unwrap();
    let launch = |out, blocks| {
        let grid = Grid { shared: 4 << 10, ..Grid::new(blocks, 256) };
        // SAFETY: the kernel stays inside its shared memory and one word of `out`.
        unsafe { kernel.launch(device.stream(), grid, Sum { words: 4, out }) }
    };
    let (kernel, argument) = ("sum", "out");
    let error = Error::TooShort { kernel, argument, needed: 1, there: 0 };
    // Behind the last word, and nowhere; without blocks nothing is touched.
    assert_eq!(launch(out.pointer_to(2), 1), Err(error.clone()));
    assert_eq!(launch(Pointer::null(), 1), Err(error));
    assert_eq!(launch(out.pointer_to(2), 0), Ok(()));
    assert_eq!(launch(out.pointer_to(1), 1), Ok(()));
    assert_eq!(out.to_vec().unwrap(), [0, 6]);
}

#[test]
fn arrays_larger_than_any_memory_are_refused() {
    let test = "arrays_larger_than_any_memory_are_refused";
    let Some(device) = testing::device_for(test, || Device::open(0)).unwrap() else { return };
    // 2^64 bytes and one element more: wrapped around, 0 and 8 bytes.
    for len in [1usize << 61, (1 << 61) + 1, usize::MAX] {
        assert!(matches!(device.buffer::<f64>(len), Err(Error::OutOfMemory { .. })), "{len}");
        assert!(matches!(device.pinned::<f64>(len), Err(Error::OutOfMemory { .. })), "{len}");
    }
}

#[test]
fn a_panic_while_recording_leaves_the_stream_running() {
    let test = "a_panic_while_recording_leaves_the_stream_running";
    let Some(device) = testing::device_for(test, || Device::open(0)).unwrap() else { return };
    let buffer = device.upload(&[1.0f64, 2.0]).unwrap();
    let recording = std::panic::AssertUnwindSafe(|| {
        Graph::record(device.stream(), || -> Result<(), Error> { panic!("while recording") })
    });
    assert!(std::panic::catch_unwind(recording).is_err());
    let failed: Result<Graph, Error> = Graph::record(device.stream(), || Err(Error::NoDevice));
    assert_eq!(failed.err(), Some(Error::NoDevice));
    // A stream that is still being captured would refuse to be waited for.
    assert_eq!(buffer.to_vec().unwrap(), [1.0, 2.0]);
    assert!(Graph::record(device.stream(), || buffer.zero()).is_ok());
}

#[test]
fn copies_between_streams_keep_their_order() {
    let test = "copies_between_streams_keep_their_order";
    let Some(device) = testing::device_for(test, || Device::open(0)).unwrap() else { return };
    let other = device.with_own_stream().unwrap();
    let second = device.new_stream().unwrap();
    // Large enough for the copy to be under way when the source is gone and its memory given to
    // another.
    let count = 8 << 20;
    let values: Vec<u64> = (0..count as u64).collect();
    for _ in 0..8 {
        let copy = device.buffer::<u64>(count).unwrap();
        let source = other.upload(&values).unwrap();
        copy.copy_from(&source, count).unwrap();
        drop(source);
        let again = other.buffer::<u64>(count).unwrap();
        again.zero().unwrap();
        assert!(copy.to_vec().unwrap() == values);
        // To a buffer of the other stream, which is used there at once.
        copy.copy_to(&again, count).unwrap();
        assert!(again.to_vec().unwrap() == values);
        copy.zero_on(&second).unwrap();
        assert!(copy.to_vec().unwrap().iter().all(|&v| v == 0));
    }
}
