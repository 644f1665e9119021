// Charges to the nodes of the grid, block by block of nodes: no two threads add to one node, and
// sums are the same each time. CPU twin: crates/fgt/src/spread.rs.
#include "window.cuh"

// Sources of one box, and how many blocks the block of nodes lies after the box along each axis.
struct Item {
    u32 begin, end;
    u32 after[3];
};

// Up to LARGEST sources' items, and the block of nodes, of `nodes` or of `parts`, that they make.
struct Job {
    u32 first, last;
    u32 to;
    u32 partial;
};

// A row of nodes, or a part of it, that a thread sums at, and threads that share one.
constexpr u32 ROW = 8, OWNERS = NODES / ROW, SHARES = THREADS / OWNERS;

// Sources whose weights are in shared memory.
constexpr u32 TILE = 32;

constexpr u32 AXIS_NODES = DIMENSIONS * BLOCK;

// Threads that make weights by the same polynomials, which they keep.
constexpr u32 MAKERS = THREADS / PADDED;

constexpr u32 MOST_ITEMS = DIMENSIONS == 3 ? SPAN * SPAN * SPAN : DIMENSIONS == 2 ? SPAN * SPAN : SPAN;

// One job a block. places: [3][n] in node spacings from the corner of each source's box.
extern "C" __global__ void __launch_bounds__(THREADS)
    spread(const Job* jobs, const Item* items, const REAL* places, const REAL* charges, u32 n, const REAL* window,
           REAL* nodes, REAL* parts) {
    __shared__ __align__(16) REAL weights[TILE][AXIS_NODES];
    __shared__ REAL partial[THREADS][ROW + 1];
    __shared__ Item own[MOST_ITEMS];
    __shared__ u32 ends[MOST_ITEMS];
    Job job = jobs[blockIdx.x];
    u32 count = job.last - job.first;
    u32 node = threadIdx.x % PADDED;
    REAL polynomial[TERMS];
#pragma unroll
    for (u32 term = 0; term < TERMS; term++) polynomial[term] = window[term * PADDED + node];
    if (threadIdx.x < count) own[threadIdx.x] = items[job.first + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        u32 end = 0;
        for (u32 i = 0; i < count; i++) ends[i] = end += own[i].end - own[i].begin;
    }
    __syncthreads();
    u32 total = ends[count - 1];
    u32 owner = threadIdx.x % OWNERS, share = threadIdx.x / OWNERS;
    u32 z = owner * ROW % BLOCK, y = owner * ROW / BLOCK % BLOCK, x = owner * ROW / BLOCK / BLOCK;
    REAL sums[ROW] = {};
    for (u32 begin = 0; begin < total; begin += TILE) {
        u32 some = min(total - begin, TILE);
        for (u32 i = threadIdx.x; i < some * AXIS_NODES; i += THREADS) weights[i / AXIS_NODES][i % AXIS_NODES] = 0;
        __syncthreads();
        for (u32 i = threadIdx.x / PADDED; i < some * DIMENSIONS; i += MAKERS) {
            u32 p = i / DIMENSIONS, axis = i % DIMENSIONS, a = axis + 3 - DIMENSIONS;
            u32 item = 0;
            while (begin + p >= ends[item]) item++;
            u32 j = own[item].end - (ends[item] - begin - p);
            REAL t;
            // Nodes before the block wrap to beyond it.
            u32 to = first_node(places[(u64)a * n + j], &t) + node - own[item].after[a] * BLOCK;
            if (node >= WIDTH || to >= BLOCK) continue;
            REAL weight = polynomial[0];
#pragma unroll
            for (u32 term = 1; term < TERMS; term++) weight = fused(weight, t, polynomial[term]);
            weights[p][axis * BLOCK + to] = a == 2 ? weight * charges[j] : weight;
        }
        __syncthreads();
        for (u32 p = share; p < some; p += SHARES) {
            const REAL* w = weights[p];
            REAL across = 1;
            if (DIMENSIONS == 3) across = w[x] * w[BLOCK + y];
            if (DIMENSIONS == 2) across = w[y];
            if (across == 0) continue;
            constexpr u32 WIDE = 16 / sizeof(REAL);
            REAL last[ROW];
#pragma unroll
            for (u32 i = 0; i < ROW; i += WIDE) load_wide(w + (DIMENSIONS - 1) * BLOCK + z + i, last + i);
#pragma unroll
            for (u32 i = 0; i < ROW; i++) sums[i] = fused(across, last[i], sums[i]);
        }
        __syncthreads();
    }
    for (u32 i = 0; i < ROW; i++) partial[threadIdx.x][i] = sums[i];
    __syncthreads();
    REAL* to = (job.partial ? parts : nodes) + (u64)job.to * NODES;
    for (node = threadIdx.x; node < NODES; node += THREADS) {
        REAL sum = 0;
        for (u32 s = 0; s < SHARES; s++) sum += partial[s * OWNERS + node / ROW][node % ROW];
        to[node] = sum;
    }
}

// A block of nodes and its parts.
struct Whole {
    u32 to;
    u32 first, last;
};

// Adds the parts of blocks with more sources than one job takes: one a block.
extern "C" __global__ void spread_join(const Whole* wholes, const REAL* parts, REAL* nodes) {
    Whole whole = wholes[blockIdx.x];
    for (u32 node = threadIdx.x; node < NODES; node += THREADS) {
        REAL sum = 0;
        for (u32 part = whole.first; part < whole.last; part++) sum += parts[(u64)part * NODES + node];
        nodes[(u64)whole.to * NODES + node] = sum;
    }
}
