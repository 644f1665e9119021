//! The near field as a sparse matrix.

use cuda::Pointer;

use super::arguments::{self, Matrix, Pair, Table, TriangleRules, Value};

cuda::arguments! {
    // `chosen` says which rows there are, `starts` which entries.
    /// Some rows, and the numbers of the columns to be taken from them.
    struct Chosen {
        count: u32,
        chosen: Pointer<u32> [count],
        index: Pointer<u32> [..],
        starts: Pointer<u32> [..],
        columns: Pointer<u32> [..],
    }
}

cuda::kernels! {
    kernels::bem::SPARSE;
    constants {
        THREADS: u32 = arguments::THREADS;
        LANES: usize = arguments::LANES;
        SINGLE: u32 = arguments::SINGLE;
        ADJOINT: u32 = arguments::ADJOINT;
        ON_EDGE: f64 = crate::constants::ON_EDGE;
    }
    // Pairs say which panels there are.
    struct Count = "sparse_count" {
        pairs: Pointer<Pair> [count],
        count: u32,
        counts: Pointer<u32> [..],
    }
    // Likewise, and `next` where entries go; with general rows a pair has two.
    struct Fill = "sparse_fill" {
        pairs: Pointer<Pair> [count],
        entries: Pointer<f64> [count],
        count: u32,
        next: Pointer<u32> [..],
        columns: Pointer<u32> [..],
        values: Pointer<Value> [..],
    }
    // `starts` say how many entries there are.
    struct Sort = "sparse_sort" {
        n: u32,
        starts: Pointer<u32> [n + 1],
        columns: Pointer<u32> [..],
        values: Pointer<Value> [..],
    }
    struct Subtract = "sparse_subtract" {
        matrix: Matrix,
        vertices: Pointer<f64> [9 * u128::from(matrix.n)],
        order: Pointer<u32> [u128::from(matrix.n)],
        rules: TriangleRules,
        degree: u32,
        rows: Pointer<Table> [1],
    }
    struct PartLengths = "sparse_part_lengths" {
        from: Chosen,
        lengths: Pointer<u32> [u128::from(from.count)],
    }
    // As in `Chosen`; `part_starts` say where they go.
    struct Part = "sparse_part" {
        from: Chosen,
        values: Pointer<Value> [..],
        part_starts: Pointer<u32> [u128::from(from.count)],
        part_columns: Pointer<u32> [..],
        part_values: Pointer<Value> [..],
    }
    struct MultiplyAdd = "sparse_multiply_add" [_, columns] {
        matrix: Matrix,
        x: Pointer<f64> [columns * u128::from(matrix.n)],
        y: Pointer<f64> [columns * u128::from(matrix.n)],
    }
}
