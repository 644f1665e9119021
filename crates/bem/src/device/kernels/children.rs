//! Closed forms of near panels at places on each panel, and integrals between its children.

use cuda::Pointer;

use super::arguments::{self, Table};
use super::near::Tree;

cuda::kernels! {
    kernels::bem::CHILDREN;
    constants {
        THREADS: u32 = arguments::THREADS;
        SINGLE: u32 = arguments::SINGLE;
        ADJOINT: u32 = arguments::ADJOINT;
        ON_EDGE: f64 = crate::constants::ON_EDGE;
    }
    struct Correct = "children_correct" [_, columns] {
        vertices: Pointer<f64> [9 * n],
        centroids: Pointer<[f64; 4]> [n],
        tree: Tree,
        n: u32,
        near: f64,
        places: Pointer<[f64; 4]> [place_count],
        place_count: u32,
        rule: Pointer<[f64; 4]> [nodes_of_rule],
        nodes_of_rule: u32,
        x: Pointer<f64> [columns * n],
        // Of sums with interfaces alone.
        gradient: Pointer<f64> [..],
        sums: Pointer<f64> [columns * n * place_count],
        normal: Pointer<f64> [..],
        rows: Pointer<Table> [1],
    }
    struct Integrals = "children_integrals" {
        vertices: Pointer<f64> [9 * n],
        n: u32,
        wide: f64,
        rule: Pointer<[f64; 4]> [nodes_of_rule],
        nodes_of_rule: u32,
        integrals: Pointer<[f32; 7]> [n],
    }
}
