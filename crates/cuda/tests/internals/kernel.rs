//! Arguments of kernels, their lengths, and a launch.

use cuda::{Argument, Device, Error, Grid, Kernel, Launch, Lengths, Pointer, arguments, testing};

arguments! {
    struct Inner { at: Pointer<f64> [3 * n], n: u32 }
    struct Outer [blocks, columns] {
        factor: f64,
        inner: Inner,
        some: bool,
        sums: Pointer<u64> [columns * u128::from(inner.n) + blocks] or null,
        found: Pointer<u32> [..],
    }
}

fn outer(n: u32, [at, sums]: [usize; 2]) -> Outer {
    let inner = Inner { at: Pointer::new(8, at), n };
    let found = Pointer::null();
    Outer { factor: 1.0, inner, some: true, sums: Pointer::new(16, sums), found }
}

/// The example of `kernels!`.
mod scale {
    use super::Pointer;

    cuda::kernels! {
        kernels::cuda::SCALE;
        constants {
            THREADS: u32 = 256;
        }
        struct Scale = "scale" { values: Pointer<f64> [n], factor: f64, n: u32 }
    }
}

#[test]
fn the_source_has_these_kernels() {
    testing::compare_all(kernels::cuda::KERNELS, &[scale::declared()]);
}

#[test]
fn the_example_multiplies() {
    let open = || Device::open(0);
    let Some(device) = testing::device_for("the_example_multiplies", open).unwrap() else {
        return;
    };
    let values = device.upload(&[1.5; 1000]).unwrap();
    let kernel = Kernel::new(&device, &[]).unwrap();
    let scale = scale::Scale { values: values.pointer(), factor: 2.0, n: 1000 };
    // SAFETY: the kernel stays below `n`, which is checked; `values` outlive it.
    unsafe { kernel.launch(device.stream(), Grid::new(4, scale::THREADS), scale).unwrap() };
    assert_eq!(values.to_vec().unwrap(), [3.0; 1000]);
}

#[test]
fn arguments_within_arguments_follow_one_another() {
    let (mut words, mut parameters) = (Vec::new(), Vec::new());
    outer(3, [9, 11]).words(&mut words);
    Outer::parameters("", &mut parameters);
    assert_eq!(words, [1.0f64.to_bits(), 8, 3, 1, 16, 0]);
    let names: Vec<_> = parameters.iter().map(|p| (p.name, p.types[0], p.pointer)).collect();
    let expected = [
        ("factor", "double", false),
        ("at", "double", true),
        ("n", "u32", false),
        ("some", "u32", false),
        ("sums", "u64", true),
        ("found", "u32", true),
    ];
    assert_eq!(names, expected);
}

#[test]
fn arrays_that_are_too_short_are_refused() {
    let launch = Launch { kernel: "outer", blocks: [5, 2] };
    let of = |n, lengths| outer(n, lengths).check(launch);
    // Three for each of n; two columns of n and one for each of five blocks.
    assert_eq!(of(3, [9, 11]), Ok(()));
    let (kernel, argument) = ("outer", "sums");
    let error = Error::TooShort { kernel, argument, needed: 11, there: 10 };
    assert_eq!(of(3, [9, 10]), Err(error));
    let error = of(3, [8, 11]).unwrap_err().to_string();
    let start = "the GPU kernel outer was not started: its argument at needs 9 elements, 8 are";
    assert!(error.starts_with(start), "{error}");
    // 3 * n does not wrap around.
    let argument = "at";
    let error = Error::TooShort { kernel, argument, needed: 3 * (1 << 31), there: 1 << 31 };
    assert_eq!(of(1 << 31, [1 << 31, usize::MAX]), Err(error));
    // An array that may be missing, and one that may not.
    let none = Outer { sums: Pointer::null(), ..outer(3, [9, 0]) };
    assert_eq!(none.check(launch), Ok(()));
    let inner = Inner { at: Pointer::null(), n: 1 };
    assert!(Outer { inner, ..none }.check(launch).is_err());
}

#[test]
fn elements_of_another_size_are_counted_anew() {
    let bytes = Pointer::<u8>::new(8, 23);
    assert_eq!(format!("{:?}", bytes.cast::<f64>(8)), "0x8[2]");
    assert_eq!(format!("{:?}", Pointer::<u64>::new(8, 8).cast::<u32>(64)), "0x8[1]");
}
