// P2P: near pairs. CPU twin: crates/fmm/src/p2p.rs.
//
// A warp takes up to 128 targets of one leaf, up to four a lane, in registers, and a run of near leaves. Several warps may
// share a target, so sums are added atomically. In single precision pairs closer than a threshold are counted as if they
// were at it, at the price of one instruction; p2p_close puts them right from a list of such pairs. With dipoles, whose field
// at the threshold would drown the rest, they are left out instead.
#include "shared/near.cuh"

#ifndef DENSITIES
#define DENSITIES 1
#endif
#ifndef CHARGES
#define CHARGES 1
#endif
#ifndef DIPOLES
#define DIPOLES 0
#endif
#ifndef GRADIENT
#define GRADIENT 0
#endif

#define WARPS 4
#define STRENGTHS (DENSITIES * (CHARGES + 3 * DIPOLES))
#if PRECISION == 32 && DENSITIES * (1 + 3 * GRADIENT) <= 4 && !DIPOLES
#define ROWS 4
#else
#define ROWS 2
#endif

// Strengths of k densities in Morton order: charges [k][n], dipoles [k][3][n].
struct Strengths {
    const REAL* charges;
    const REAL* dipoles;
    u64 n;
};

// Strength number i: for each density its charge, then its dipole.
__device__ __forceinline__ REAL strength(const Strengths& s, u32 i, u32 source) {
    u32 density = i / (CHARGES + 3 * DIPOLES), part = i % (CHARGES + 3 * DIPOLES);
    if (CHARGES && part == 0) return s.charges[density * s.n + source];
    return s.dipoles[(3 * density + part - CHARGES) * s.n + source];
}

// 1/distance as the loop takes it.
__device__ __forceinline__ REAL loop_inverse(REAL r2, REAL threshold) {
#if DIPOLES && PRECISION == 32
    return r2 > threshold ? inverse_root(r2) : (REAL)0;
#else
    return inverse_distance(r2, threshold);
#endif
}

// Adds one source's share: d = target minus source, inv = 1/|d|, q: strengths.
__device__ __forceinline__ void add(REAL dx, REAL dy, REAL dz, REAL inv, const REAL* q, REAL (*sums)[1 + 3 * GRADIENT]) {
#if DIPOLES || GRADIENT
    REAL inv2 = inv * inv, inv3 = inv2 * inv;
#endif
#pragma unroll
    for (int k = 0; k < DENSITIES; k++) {
        const REAL* own = q + k * (CHARGES + 3 * DIPOLES);
        REAL* sum = sums[k];
#if CHARGES
        sum[0] = fused(own[0], inv, sum[0]);
#endif
#if DIPOLES
        const REAL* d = own + CHARGES;
        REAL along = fused(d[2], dz, fused(d[1], dy, d[0] * dx)) * inv3;
        sum[0] += along;
#endif
#if GRADIENT
        REAL factor = 0;
#if CHARGES
        factor = own[0] * inv3;
#endif
#if DIPOLES
        factor = fused(3 * along, inv2, factor);
        sum[1] = fused(d[0], inv3, sum[1]);
        sum[2] = fused(d[1], inv3, sum[2]);
        sum[3] = fused(d[2], inv3, sum[3]);
#endif
        sum[1] = fused(-factor, dx, sum[1]);
        sum[2] = fused(-factor, dy, sum[2]);
        sum[3] = fused(-factor, dz, sum[3]);
#endif
    }
}

struct Stage {
    Point points[32];  // w: the first strength
    REAL more[STRENGTHS > 1 ? STRENGTHS - 1 : 1][32];
};

// The staged sources at T rows of targets; CLOSE_THERE: some pairs may be closer than the threshold, or coincide.
template <int T, bool CLOSE_THERE>
__device__ __forceinline__ void sum_stage(const Stage& stage, u32 count, REAL threshold, const REAL* x, const REAL* y,
                                          const REAL* z, REAL (*sums)[DENSITIES][1 + 3 * GRADIENT]) {
    for (u32 j = 0; j < count; j += 4) {
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            Point s = stage.points[j + i];
            REAL own[STRENGTHS];
            own[0] = s.w;
#pragma unroll
            for (int k = 1; k < STRENGTHS; k++) own[k] = stage.more[k - 1][j + i];
#pragma unroll
            for (int t = 0; t < T; t++) {
                REAL dx = x[t] - s.x, dy = y[t] - s.y, dz = z[t] - s.z;
                REAL r2 = fused(dz, dz, fused(dy, dy, dx * dx));
                REAL inv = CLOSE_THERE ? loop_inverse(r2, threshold) : inverse_root(r2);
                add(dx, dy, dz, inv, own, sums[t]);
            }
        }
    }
}

template <int T>
__device__ __forceinline__ void sum_rows(const Near& near, const Item& item, u32 cell, u32 first, u32 count,
                                         const Point* sources, const Point* targets, const Strengths& strengths,
                                         REAL* potential, REAL* gradient, u64 m, Stage& stage) {
    u32 lane = threadIdx.x & 31;
    REAL x[T], y[T], z[T], sums[T][DENSITIES][1 + 3 * GRADIENT];
#pragma unroll
    for (int t = 0; t < T; t++) {
        Point p = targets[first + min(lane + 32 * t, count - 1)];
        x[t] = p.x;
        y[t] = p.y;
        z[t] = p.z;
#pragma unroll
        for (int k = 0; k < DENSITIES; k++)
#pragma unroll
            for (int c = 0; c < 1 + 3 * GRADIENT; c++) sums[t][k][c] = 0;
    }
    for (u32 group = item.begin; group < item.end; group += 32) {
        u32 leaves = min(32, item.end - group);
        Leaf mine = near_leaf(near, cell, group + min(lane, leaves - 1));
        for (u32 e = 0; e < leaves; e++) {
            Leaf leaf = from_lane(mine, e);
            for (u32 begin = leaf.begin; begin < leaf.end; begin += 32) {
                u32 here = min(32, leaf.end - begin);
                u32 source = begin + min(lane, here - 1);
                Point p = sources[source];
                p.x += leaf.x;
                p.y += leaf.y;
                p.z += leaf.z;
                REAL q[STRENGTHS];
#pragma unroll
                for (int i = 0; i < STRENGTHS; i++) q[i] = lane < here ? strength(strengths, i, source) : (REAL)0;
                p.w = q[0];
                __syncwarp();
                stage.points[lane] = p;
#pragma unroll
                for (int i = 1; i < STRENGTHS; i++) stage.more[i - 1][lane] = q[i];
                __syncwarp();
                if (leaf.threshold > 0)
                    sum_stage<T, true>(stage, (here + 3) & ~3u, leaf.threshold, x, y, z, sums);
                else
                    sum_stage<T, false>(stage, (here + 3) & ~3u, leaf.threshold, x, y, z, sums);
            }
        }
    }
#pragma unroll
    for (int t = 0; t < T; t++) {
        u32 row = lane + 32 * t;
        if (row < count)
#pragma unroll
            for (int k = 0; k < DENSITIES; k++) {
                atomicAdd(&potential[k * m + first + row], sums[t][k][0]);
#if GRADIENT
#pragma unroll
                for (int c = 0; c < 3; c++)
                    atomicAdd(&gradient[(3 * k + c) * m + first + row], sums[t][k][1 + c]);
#endif
            }
    }
}

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    p2p(const Cell* cells, const double* centres, const u32* entries, const Item* items, const u32* item_cells, u32 count,
        double side, const Point* sources, const Point* targets, const REAL* charges, const REAL* dipoles, u64 n,
        REAL* potential, REAL* gradient, u64 m) {
    __shared__ Stage stages[WARPS];
    u32 warp = threadIdx.x >> 5;
    u32 i = blockIdx.x * WARPS + warp;
    if (i >= count) return;
    Near near = {cells, centres, entries, items, item_cells, side};
    Strengths strengths = {charges, dipoles, n};
    Item item = items[i];
    u32 cell = item_cells[i];
    for (u32 done = 0; done < item.count; done += 32 * ROWS) {
        u32 left = min(32 * ROWS, item.count - done);
        u32 first = item.target + done;
        Stage& stage = stages[warp];
        switch ((left + 31) / 32) {
#if ROWS == 4
            case 4:
                sum_rows<4>(near, item, cell, first, left, sources, targets, strengths, potential, gradient, m, stage);
                break;
            case 3:
                sum_rows<3>(near, item, cell, first, left, sources, targets, strengths, potential, gradient, m, stage);
                break;
#endif
            case 2:
                sum_rows<2>(near, item, cell, first, left, sources, targets, strengths, potential, gradient, m, stage);
                break;
            default:
                sum_rows<1>(near, item, cell, first, left, sources, targets, strengths, potential, gradient, m, stage);
        }
    }
}

// A pair that the loop above counts at the threshold: the displacement that double precision gives (zero for coincident
// points, which contribute nothing), and the one that the loop used.
struct __align__(16) ClosePair {
    u32 target, source;
    float exact[3];
    float used[3];
};

// Puts the close pairs right.
extern "C" __global__ void p2p_close(const ClosePair* pairs, u32 count, const float* thresholds, const REAL* charges,
                                     const REAL* dipoles, u64 n, REAL* potential, REAL* gradient, u64 m) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    ClosePair pair = pairs[i];
    Strengths strengths = {charges, dipoles, n};
    REAL q[STRENGTHS], sums[DENSITIES][1 + 3 * GRADIENT], off[DENSITIES][1 + 3 * GRADIENT];
    for (int k = 0; k < STRENGTHS; k++) q[k] = strength(strengths, k, pair.source);
    for (int k = 0; k < DENSITIES; k++)
        for (int c = 0; c < 1 + 3 * GRADIENT; c++) sums[k][c] = off[k][c] = 0;
    REAL dx = pair.exact[0], dy = pair.exact[1], dz = pair.exact[2];
    REAL r2 = fused(dz, dz, fused(dy, dy, dx * dx));
    if (r2 > 0) add(dx, dy, dz, 1 / sqrt(r2), q, sums);
#if !DIPOLES
    add(pair.used[0], pair.used[1], pair.used[2], inverse_root((REAL)thresholds[i]), q, off);
#endif
    for (int k = 0; k < DENSITIES; k++) {
        atomicAdd(&potential[k * m + pair.target], sums[k][0] - off[k][0]);
#if GRADIENT
        for (int c = 0; c < 3; c++) atomicAdd(&gradient[(3 * k + c) * m + pair.target], sums[k][1 + c] - off[k][1 + c]);
#endif
    }
}
