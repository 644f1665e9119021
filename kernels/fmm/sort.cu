// Stable radix sort of keys (KEY) with values (VALUE), DIGIT_BITS a pass, least significant first.
// A pass counts the digits of each tile, the host sums the counts (scan.cu), and each tile scatters
// its items.
#include "real.cuh"

#define DIGITS (1 << DIGIT_BITS)
#define TILE (WARPS * 32 * ITEMS)

// counts: [DIGITS][tiles]; a block has DIGITS threads.
extern "C" __global__ void sort_count(const KEY* keys, u32* counts, u32 n, u32 shift, u32 tiles) {
    __shared__ u32 histogram[DIGITS];
    histogram[threadIdx.x] = 0;
    __syncthreads();
    u64 first = (u64)blockIdx.x * TILE + threadIdx.x;
    for (u32 i = 0; i < ITEMS; i++, first += WARPS * 32)
        if (first < n) atomicAdd(&histogram[(u32)(keys[first] >> shift) & (DIGITS - 1)], 1);
    __syncthreads();
    counts[(u64)threadIdx.x * tiles + blockIdx.x] = histogram[threadIdx.x];
}

// offsets: the prefix sums of counts.
extern "C" __global__ void sort_scatter(const KEY* keys, const VALUE* values, KEY* keys_out, VALUE* values_out,
                                        const u32* offsets, u32 n, u32 shift, u32 tiles) {
    __shared__ u32 places[WARPS][DIGITS];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (u32 w = 0; w < WARPS; w++) places[w][threadIdx.x] = 0;
    __syncthreads();
    u64 first = (u64)blockIdx.x * TILE + warp * 32 * ITEMS + lane;
    KEY own[ITEMS];
    u32 rank[ITEMS];
    for (u32 i = 0; i < ITEMS; i++) {
        u64 at = first + 32 * i;
        bool valid = at < n;
        own[i] = valid ? keys[at] : 0;
        u32 digit = (u32)(own[i] >> shift) & (DIGITS - 1);
        u32 there = __ballot_sync(~0u, valid);
        if (valid) {
            u32 peers = __match_any_sync(there, digit);
            u32 before = places[warp][digit];
            __syncwarp(there);
            rank[i] = before + __popc(peers & ((1u << lane) - 1));
            if (lane == __ffs(peers) - 1) places[warp][digit] = before + __popc(peers);
        }
        __syncwarp();
    }
    __syncthreads();
    u32 place = offsets[(u64)threadIdx.x * tiles + blockIdx.x];
    for (u32 w = 0; w < WARPS; w++) {
        u32 count = places[w][threadIdx.x];
        places[w][threadIdx.x] = place;
        place += count;
    }
    __syncthreads();
    for (u32 i = 0; i < ITEMS; i++) {
        u64 at = first + 32 * i;
        if (at < n) {
            u32 to = places[warp][(u32)(own[i] >> shift) & (DIGITS - 1)] + rank[i];
            keys_out[to] = own[i];
            values_out[to] = values[at];
        }
    }
}
