// Exclusive prefix sums of 32-bit numbers, in blocks of THREADS * ITEMS; the host goes up and down
// the levels.
#include "real.cuh"

// values: [n], replaced by prefix sums within each block; sums: one total a block.
extern "C" __global__ void scan_blocks(u32* values, u32* sums, u32 n) {
    __shared__ u32 of_warps[THREADS / 32];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u64 first = ((u64)blockIdx.x * THREADS + threadIdx.x) * ITEMS;
    u32 own[ITEMS], total = 0;
    for (u32 i = 0; i < ITEMS; i++) {
        u32 v = first + i < n ? values[first + i] : 0;
        own[i] = total;
        total += v;
    }
    u32 inclusive = total;
    for (u32 d = 1; d < 32; d *= 2) {
        u32 v = __shfl_up_sync(~0u, inclusive, d);
        if (lane >= d) inclusive += v;
    }
    if (lane == 31) of_warps[warp] = inclusive;
    __syncthreads();
    u32 before = inclusive - total;
    for (u32 w = 0; w < warp; w++) before += of_warps[w];
    for (u32 i = 0; i < ITEMS; i++)
        if (first + i < n) values[first + i] = before + own[i];
    if (threadIdx.x == THREADS - 1) sums[blockIdx.x] = before + total;
}

// Adds to each block the sum of those before it.
extern "C" __global__ void scan_add(u32* values, const u32* sums, u32 n) {
    u64 first = (u64)blockIdx.x * THREADS * ITEMS + threadIdx.x;
    u32 before = sums[blockIdx.x];
    for (u32 i = 0; i < ITEMS; i++, first += THREADS)
        if (first < n) values[first] += before;
}
