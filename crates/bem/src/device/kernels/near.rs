//! Search, choice and integrals of close pairs.

use cuda::Pointer;

use super::arguments::{self, Node, Pair, PairRules, Table, TriangleRules};
use crate::constants;
use crate::integrals::{edge, pair, solid_angle};

cuda::arguments! {
    /// The tree of panels.
    struct Tree {
        nodes: Pointer<Node> [2 << depth],
        starts: Pointer<u32> [(1 << depth) + 1],
        depth: u32,
    }

    // Pairs say which panels there are.
    /// Sizes by which pairs of panels are judged.
    struct Sizes {
        vertices: Pointer<f64> [..],
        charges: Pointer<f64> [..],
        parts: Pointer<u32> [..],
    }
}

cuda::kernels! {
    kernels::bem::NEAR;
    constants {
        THREADS: u32 = arguments::THREADS;
        SINGLE: u32 = arguments::SINGLE;
        ADJOINT: u32 = arguments::ADJOINT;
        ON_EDGE: f64 = constants::ON_EDGE;
        IN_PLANE: f64 = constants::IN_PLANE;
        FAR_MEETING: f64 = pair::FAR_MEETING;
        TIE: f64 = pair::TIE;
        MAX_SMOOTH_DEGREE: f64 = pair::MAX_SMOOTH_DEGREE;
        BELOW_BOUND: f64 = pair::BELOW_BOUND;
        POTENTIAL_COST: usize = pair::POTENTIAL_COST;
        SMALLEST_PIECE: f64 = edge::SMALLEST_PIECE;
        AT_END: f64 = edge::AT_END;
        MOST_POINTS: usize = edge::MOST_POINTS;
        CUT: f64 = edge::CUT;
        INTERIOR: f64 = edge::INTERIOR;
        TOGETHER: f64 = constants::TOGETHER;
        ANGLES_BELOW_BOUND: f64 = solid_angle::BELOW_BOUND;
    }
    struct Panels = "near_panels" {
        vertices: Pointer<f64> [9 * n],
        n: u32,
        diameters: f64,
        centroids: Pointer<[f64; 4]> [n],
    }
    struct Leaves = "near_leaves" {
        centroids: Pointer<[f64; 4]> [n],
        n: u32,
        depth: u32,
        nodes: Pointer<Node> [2 << depth],
        starts: Pointer<u32> [(1 << depth) + 1],
    }
    struct Parents = "near_parents" { nodes: Pointer<Node> [4 * first], first: u32 }
    // Leaves say which panels there are, counts where pairs go.
    struct Candidates = "near_candidates" {
        centroids: Pointer<[f64; 4]> [first + count_of_rows],
        order: Pointer<u32> [first + count_of_rows],
        tree: Tree,
        first: u32,
        count_of_rows: u32,
        counts: Pointer<u32> [count_of_rows],
        pairs: Pointer<Pair> [..],
        rows: Pointer<Table> [1],
    }
    struct Closest = "near_closest" [blocks, _] {
        vertices: Pointer<f64> [9 * n],
        areas: Pointer<f64> [n],
        centroids: Pointer<[f64; 4]> [n],
        diameters: f64,
        tree: Tree,
        n: u32,
        rule: Pointer<[f64; 4]> [nodes_of_rule],
        nodes_of_rule: u32,
        parts: Pointer<[f64; 2]> [blocks],
        rows: Pointer<Table> [1],
    }
    struct Select = "near_select" {
        panels: Sizes,
        pairs: Pointer<Pair> [count],
        count: u32,
        rules: TriangleRules,
        degree: u32,
        finer: u32,
        allowed: f64,
        chosen: Pointer<u32> [count],
        chosen_count: Pointer<u32> [1],
        rows: Pointer<Table> [1],
    }
    // `chosen` says which pairs there are, `kept_count` where they go on; general rows have two
    // values of each.
    struct Integrate = "near_integrate" {
        panels: Sizes,
        pairs: Pointer<Pair> [..],
        chosen: Pointer<u32> [count],
        count: u32,
        rules: PairRules,
        degree: u32,
        allowed: f64,
        accuracy: f64,
        increment: u32,
        edges: u32,
        rest: Pointer<u32> [count],
        rest_count: Pointer<u32> [1],
        kept: Pointer<Pair> [count],
        values: Pointer<f64> [count],
        kept_count: Pointer<u32> [1],
        rows: Pointer<Table> [1],
    }
    struct Diagonal = "near_diagonal" {
        vertices: Pointer<f64> [9 * n],
        n: u32,
        rules: PairRules,
        accuracy: f64,
        increment: u32,
        diagonal: Pointer<f64> [n],
        rows: Pointer<Table> [1],
    }
}
