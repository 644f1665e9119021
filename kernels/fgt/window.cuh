// The window between points and the nodes of a grid (docs/math.md, "Fast Gauss transform") and the
// layout of blocks of nodes. Macros: DIMENSIONS, WIDTH (nodes that a point reaches along an axis),
// layout of blocks. Macros: DIMENSIONS, WIDTH (nodes that a point reaches along an axis),
// along an axis). CPU twins: crates/fgt/src/window.rs, crates/fgt/src/node_blocks.rs.
#pragma once
#include "real.cuh"

// Nodes of a block.
constexpr u32 NODES = DIMENSIONS == 3 ? BLOCK * BLOCK * BLOCK : DIMENSIONS == 2 ? BLOCK * BLOCK : BLOCK;

// Blocks that the nodes of a box's points lie in, along an axis.
constexpr u32 SPAN = (BLOCK + WIDTH + BLOCK - 1) / BLOCK;

// First node, counted from WIDTH / 2 nodes before the corner of a box, and t in [-1, 1], of a point
// `u` node spacings from that corner.
__device__ __forceinline__ int first_node(REAL u, REAL* t) {
    REAL edge = u - (REAL)(0.5 * WIDTH);
    REAL first = ceil(edge);
    *t = 2 * (first - edge) - 1;
    return max((int)first + WIDTH / 2, 0);
}

// Polynomial of node i, 0 <= i < WIDTH. rows: [terms][PADDED], the highest power first.
template <u32 terms>
__device__ __forceinline__ REAL window_at(const REAL* rows, u32 i, REAL t) {
    REAL sum = rows[i];
#pragma unroll
    for (u32 term = 1; term < terms; term++) sum = fused(sum, t, rows[term * PADDED + i]);
    return sum;
}
