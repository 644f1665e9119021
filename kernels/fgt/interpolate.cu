// Sums at the nodes to targets, a warp a target. CPU twin: crates/fgt/src/interpolate.rs.
#include "window.cuh"

// Targets of one box, or some of them, and the cell of the box.
struct Job {
    u32 begin, end;
    u32 cell;
};

constexpr u32 WARPS = THREADS / 32;

constexpr u32 SPANNED = DIMENSIONS == 3 ? SPAN * SPAN * SPAN : DIMENSIONS == 2 ? SPAN * SPAN : SPAN;

// Lanes along the last axis, and rows of nodes that a warp takes at once.
constexpr u32 LANES = WIDTH <= 8 ? 8 : 16, ROWS = 32 / LANES;

__device__ __forceinline__ REAL warp_sum(REAL value) {
    for (u32 d = 16; d > 0; d /= 2) value += __shfl_xor_sync(~0u, value, d);
    return value;
}

// One job a block. places: [3][m] in node spacings from the corner of each target's box. cells:
// indices of the blocks that each cell spans. slopes: the polynomials of the window's derivative,
// [SLOPE_TERMS][PADDED].
// Adds to sums: [1, or 1 + DIMENSIONS][m]. per_unit: node spacings in a unit of length.
extern "C" __global__ void __launch_bounds__(THREADS)
    interpolate(const Job* jobs, const u32* cells, const REAL* places, u32 m, const REAL* window, const REAL* slopes,
                const REAL* nodes, double per_unit, REAL* sums) {
    __shared__ REAL rows[TERMS * PADDED], steep_rows[GRADIENT ? SLOPE_TERMS * PADDED : 1];
    // Of weights, and of slopes.
    __shared__ REAL weights[WARPS][1 + GRADIENT][3][16];
    __shared__ u32 firsts[WARPS][3];
    __shared__ u32 blocks[SPANNED];
    Job job = jobs[blockIdx.x];
    for (u32 i = threadIdx.x; i < TERMS * PADDED; i += THREADS) rows[i] = window[i];
    for (u32 i = threadIdx.x; GRADIENT && i < SLOPE_TERMS * PADDED; i += THREADS) steep_rows[i] = slopes[i];
    for (u32 i = threadIdx.x; i < SPANNED; i += THREADS) blocks[i] = cells[(u64)job.cell * SPANNED + i];
    __syncthreads();
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    u32 column = lane % LANES, row = lane / LANES;
    for (u32 target = job.begin + warp; target < job.end; target += WARPS) {
        __syncwarp();
        for (u32 i = lane; i < DIMENSIONS * WIDTH; i += 32) {
            u32 axis = 3 - DIMENSIONS + i / WIDTH, node = i % WIDTH;
            REAL t;
            u32 first = first_node(places[(u64)axis * m + target], &t);
            weights[warp][0][axis][node] = window_at<TERMS>(rows, node, t);
            if (GRADIENT) weights[warp][GRADIENT][axis][node] = window_at<SLOPE_TERMS>(steep_rows, node, t);
            if (node == 0) firsts[warp][axis] = first;
        }
        __syncwarp();
        REAL value = 0, slope[3] = {};
        if (column < WIDTH) {
            u32 z = firsts[warp][2] + column, block_z = z / BLOCK;
            for (u32 k = row; k < (DIMENSIONS >= 2 ? WIDTH : 1); k += ROWS) {
                u32 y = DIMENSIONS >= 2 ? firsts[warp][1] + k : 0, block_y = y / BLOCK;
                u32 in_block = y % BLOCK * BLOCK + z % BLOCK;
                REAL line = 0, steep = 0;
#pragma unroll 8
                for (u32 i = 0; i < (DIMENSIONS == 3 ? WIDTH : 1); i++) {
                    u32 x = DIMENSIONS == 3 ? firsts[warp][0] + i : 0, block_x = x / BLOCK;
                    u32 of = DIMENSIONS == 3   ? (block_x * SPAN + block_y) * SPAN + block_z
                             : DIMENSIONS == 2 ? block_y * SPAN + block_z
                                               : block_z;
                    REAL node = nodes[(u64)blocks[of] * NODES + x % BLOCK * BLOCK * BLOCK + in_block];
                    if (DIMENSIONS < 3) line = node;
                    else line = fused(weights[warp][0][0][i], node, line);
                    if (GRADIENT && DIMENSIONS == 3) steep = fused(weights[warp][GRADIENT][0][i], node, steep);
                }
                REAL across = DIMENSIONS >= 2 ? weights[warp][0][1][k] : (REAL)1;
                value = fused(across, line, value);
                if (GRADIENT && DIMENSIONS == 3) slope[0] = fused(across, steep, slope[0]);
                if (GRADIENT && DIMENSIONS >= 2) slope[1] = fused(weights[warp][GRADIENT][1][k], line, slope[1]);
            }
            if (GRADIENT) slope[2] = value * weights[warp][GRADIENT][2][column];
            REAL last = weights[warp][0][2][column];
            value *= last;
            slope[0] *= last;
            slope[1] *= last;
        }
        value = warp_sum(value);
        if (lane == 0) sums[target] += value;
        for (u32 axis = 3 - DIMENSIONS; GRADIENT && axis < 3; axis++) {
            REAL all = warp_sum(slope[axis]);
            if (lane == 0) sums[(u64)(axis + DIMENSIONS - 2) * m + target] += all * (REAL)per_unit;
        }
    }
}
