//! The preconditioner's rows of interfaces.

use cuda::Pointer;

use super::arguments::Value;

cuda::kernels! {
    kernels::bem::INTERFACES;
    constants {
        THREADS: u32 = 256;
    }
    struct Chosen = "interfaces_chosen" [_, columns] {
        count: u32,
        chosen: Pointer<u32> [count],
        n: u32,
        panels: Pointer<f64> [columns * n],
        values: Pointer<f64> [columns * count],
        to_panels: bool,
    }
    // `starts` say how many entries there are.
    struct Solve = "interfaces_solve" [_, vectors] {
        count: u32,
        interfaces: Pointer<u32> [count],
        n: u32,
        conductors: u32,
        starts: Pointer<u32> [count + 1],
        columns: Pointer<u32> [..],
        values: Pointer<Value> [..],
        charges: Pointer<f64> [vectors * conductors],
        coupling: Pointer<f64> [n],
        diagonal: Pointer<f64> [n],
        v: Pointer<f64> [vectors * n],
        z: Pointer<f64> [vectors * n],
    }
}
