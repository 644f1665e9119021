// Convolution of blocks of nodes along one axis. CPU twin: crates/fgt/src/convolve.rs.
#include "real.cuh"

// A block of nodes that another takes from, and by how many blocks it lies ahead.
struct Input {
    u32 block;
    int step;
};

constexpr u32 NODES = DIMENSIONS == 3 ? BLOCK * BLOCK * BLOCK : DIMENSIONS == 2 ? BLOCK * BLOCK : BLOCK;

// Nodes along the axis that a thread sums at, threads of a block of nodes, and blocks of nodes of a
// block of threads.
constexpr int ROW = 8;
constexpr u32 OWNERS = NODES / ROW, BLOCKS = THREADS / OWNERS;

// Fills, or adds to, `count` blocks of nodes. offsets: of each block's inputs. kernel: K(n), |n| <=
// reach, with PADDING zeros at either end, in dynamic shared memory.
extern "C" __global__ void __launch_bounds__(THREADS)
    convolve(u32 axis, const u32* offsets, const Input* inputs, u32 count, const REAL* kernel, u32 reach, const REAL* from,
             REAL* to, u32 add) {
    extern __shared__ __align__(16) char dynamic[];
    REAL* factors = (REAL*)dynamic;
    for (u32 i = threadIdx.x; i < 2 * (PADDING + reach) + 1; i += THREADS) factors[i] = kernel[i];
    __syncthreads();
    u32 block = blockIdx.x * BLOCKS + threadIdx.x / OWNERS, owner = threadIdx.x % OWNERS;
    if (block >= count) return;
    // Lines are along the axis, `stride` apart from node to node.
    u32 stride = axis == 2 ? 1 : axis == 1 ? BLOCK : BLOCK * BLOCK;
    u32 line = axis == 2 ? owner / (BLOCK / ROW) : owner % (OWNERS * ROW / BLOCK);
    int segment = axis == 2 ? owner % (BLOCK / ROW) : owner / (OWNERS * ROW / BLOCK);
    u32 base = line / stride * stride * BLOCK + line % stride;
    REAL sums[ROW];
    REAL* out = to + (u64)block * NODES + base + segment * ROW * stride;
#pragma unroll
    for (int i = 0; i < ROW; i++) sums[i] = add ? out[i * stride] : (REAL)0;
    for (u32 k = offsets[block]; k < offsets[block + 1]; k++) {
        Input input = inputs[k];
        const REAL* in = from + (u64)input.block * NODES + base;
#pragma unroll
        for (int part = 0; part < BLOCK / ROW; part++) {
            // Output i takes K(shift + i - j) times input j.
            int shift = (segment - part) * ROW - input.step * BLOCK;
            if (abs(shift) >= (int)reach + ROW) continue;
            const REAL* own = factors + PADDING + (int)reach + shift;
            REAL values[ROW];
#pragma unroll
            for (int j = 0; j < ROW; j++) values[j] = in[(part * ROW + j) * stride];
            REAL taps[2 * ROW - 1];
#pragma unroll
            for (int i = 0; i < 2 * ROW - 1; i++) taps[i] = own[i - ROW + 1];
#pragma unroll
            for (int j = 0; j < ROW; j++)
#pragma unroll
                for (int i = 0; i < ROW; i++) sums[i] = fused(taps[i - j + ROW - 1], values[j], sums[i]);
        }
    }
#pragma unroll
    for (int i = 0; i < ROW; i++) out[i * stride] = sums[i];
}
