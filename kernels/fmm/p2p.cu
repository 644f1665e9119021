// P2P: near pairs. CPU twin: crates/fmm/src/p2p.
//
// A warp takes up to 128 targets of one leaf and a run of near leaves. Its lanes make two groups of
// sixteen, or one where sums are many: all groups hold the same targets in registers, up to eight a
// lane, and each takes every other source, so that leaves fill lanes but for half a group. Groups
// and warps that share a target add their sums atomically.
//
// In single precision some pairs are closer than relative coordinates can tell. In a leaf itself
// those are counted as if they were at a threshold, with other leaves the squared distance is
// softened a little, at no price; p2p_close puts both right from a list of such pairs. With
// dipoles, whose field at the threshold would drown the rest, they are left out instead. In double
// precision such pairs are much rarer, and left out likewise.
#include "near.cuh"
#include "screening.cuh"

// How many densities; whether there are charges and dipoles and gradients are asked for; whether
// all pairs of points are summed: most leaves are apart then; whether the kernel is that of Yukawa.
#if !defined(DENSITIES) || !defined(CHARGES) || !defined(DIPOLES) || !defined(GRADIENT) || !defined(ALL_PAIRS)
#error macros DENSITIES, CHARGES, DIPOLES, GRADIENT and ALL_PAIRS are needed
#endif
#ifndef SCREENED
#error macro SCREENED (0 or 1) is missing
#endif

#define STRENGTHS (DENSITIES * (CHARGES + 3 * DIPOLES))
#define SUMS (DENSITIES * (1 + 3 * GRADIENT))
#define EXPANDED (ALL_PAIRS && PRECISION == 32 && !DIPOLES && !GRADIENT)
// Lanes of a group, rows of targets, sources between two branches, sources in shared memory and
// blocks of a multiprocessor, as measured best.
#define GROUP (SUMS > 4 ? 32 : 16)
#define WAYS (32 / GROUP)
#if SUMS > 4
#define ROWS 2
#elif PRECISION == 64 || DIPOLES
#define ROWS 4
#elif GRADIENT
#define ROWS 6
#else
#define ROWS 8
#endif
#define UNROLL (SUMS == 1 ? 4 : PRECISION == 64 ? 1 : 2)
#define STAGED (SUMS == 1 && STRENGTHS == 1 ? 64 : 32)
#define BLOCKS (PRECISION == 32 && !DIPOLES && (SUMS > 1 ? (DENSITIES == 2 || GRADIENT) && SUMS <= 4 : SCREENED) ? 4 : 1)

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

// 1/distance to a source of the targets' own leaf, or one that may be as close; r2 becomes the
// squared distance that the pair counts with.
__device__ __forceinline__ REAL clamped_inverse(REAL& r2, REAL threshold) {
#if SCREENED && !DIPOLES && PRECISION == 32
    r2 = max(r2, threshold);
    return inverse_root(r2);
#elif DIPOLES && PRECISION == 32
    return r2 > threshold ? inverse_root(r2) : (REAL)0;
#else
    return inverse_distance(r2, threshold);
#endif
}

// Whether pairs of this kind are clamped.
template <Kind KIND>
__device__ __forceinline__ constexpr bool clamps() {
    return KIND == SAME || (KIND == OTHER && (DIPOLES || PRECISION == 64));
}

// Adds one source's share: d = target minus source, inv = 1/|d|, q: strengths; with screening also
// r2 = |d|^2. With t = kappa r then 1/r becomes exp(-t) / r, 1/r^3 also gets a factor 1 + t, and
// 3/r^5 instead of its 3 a factor 3 + 3t + t^2.
__device__ __forceinline__ void add(REAL dx, REAL dy, REAL dz, REAL r2, REAL inv, REAL kappa, const REAL* q,
                                    REAL (*sums)[1 + 3 * GRADIENT]) {
    REAL r = r2 * inv;
    REAL first = SCREENED ? inv * decay(kappa, r) : inv;
#if DIPOLES || GRADIENT
    REAL inv2 = inv * inv, inv3 = inv2 * first;
    REAL slope = SCREENED ? fused(kappa, r, (REAL)1) : (REAL)1;
#endif
#if GRADIENT
    REAL along_r = inv3 * slope;
#if DIPOLES
    REAL curve = SCREENED ? fused(slope, slope + 1, (REAL)1) : (REAL)3;
#endif
#endif
#pragma unroll
    for (int k = 0; k < DENSITIES; k++) {
        const REAL* own = q + k * (CHARGES + 3 * DIPOLES);
        REAL* sum = sums[k];
#if CHARGES
        sum[0] = fused(own[0], first, sum[0]);
#endif
#if DIPOLES
        const REAL* d = own + CHARGES;
        REAL along = fused(d[2], dz, fused(d[1], dy, d[0] * dx)) * inv3;
        sum[0] = SCREENED ? fused(along, slope, sum[0]) : sum[0] + along;
#endif
#if GRADIENT
        REAL factor = 0;
#if CHARGES
        factor = own[0] * along_r;
#endif
#if DIPOLES
        factor = fused(curve * along, inv2, factor);
        sum[1] = fused(d[0], along_r, sum[1]);
        sum[2] = fused(d[1], along_r, sum[2]);
        sum[3] = fused(d[2], along_r, sum[3]);
#endif
        sum[1] = fused(-factor, dx, sum[1]);
        sum[2] = fused(-factor, dy, sum[2]);
        sum[3] = fused(-factor, dz, sum[3]);
#endif
    }
}

struct Stage {
    Point points[STAGED];  // w: the first strength; of leaves apart: minus twice the place, and its square
    REAL more[STRENGTHS > 1 || EXPANDED ? STRENGTHS : 1][STAGED];
};

// The staged sources at T rows of targets; squares: those of the targets' places.
template <int T, Kind KIND>
__device__ __forceinline__ void sum_stage(const Stage& stage, u32 count, REAL threshold, const REAL* x, const REAL* y,
                                          const REAL* z, const REAL* squares, REAL kappa,
                                          REAL (*sums)[DENSITIES][1 + 3 * GRADIENT]) {
    REAL softening = (REAL)SOFTENING * threshold;
    for (u32 j = (threadIdx.x & 31) / GROUP; j < count; j += UNROLL * WAYS) {
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) {
            Point s = stage.points[j + WAYS * i];
            REAL own[STRENGTHS];
            own[0] = KIND == APART ? stage.more[0][j + WAYS * i] : s.w;
#pragma unroll
            for (int k = 1; k < STRENGTHS; k++) own[k] = stage.more[k][j + WAYS * i];
#pragma unroll
            for (int t = 0; t < T; t++) {
                if constexpr (KIND == APART) {
                    REAL r2 = fused(s.x, x[t], fused(s.y, y[t], fused(s.z, z[t], s.w + squares[t])));
                    add(0, 0, 0, r2, inverse_root(r2), kappa, own, sums[t]);
                } else {
                    REAL dx = x[t] - s.x, dy = y[t] - s.y, dz = z[t] - s.z;
                    REAL first = clamps<KIND>() ? dx * dx : fused(dx, dx, softening);
                    REAL r2 = fused(dz, dz, fused(dy, dy, first));
                    REAL inv = clamps<KIND>() ? clamped_inverse(r2, threshold) : inverse_root(r2);
                    add(dx, dy, dz, r2, inv, kappa, own, sums[t]);
                }
            }
        }
    }
}

// Brings sources begin .. begin + here of a leaf to shared memory, and more of no strength behind
// them.
__device__ __forceinline__ void fill_stage(Stage& stage, const Leaf& leaf, u32 begin, u32 here, const Point* sources,
                                           const Strengths& strengths) {
    u32 lane = threadIdx.x & 31;
    __syncwarp();
#pragma unroll
    for (u32 slot = lane; slot < STAGED; slot += 32) {
        u32 source = begin + min(slot, here - 1);
        Point p = sources[source];
        p.x += leaf.x;
        p.y += leaf.y;
        p.z += leaf.z;
        REAL q[STRENGTHS];
#pragma unroll
        for (int i = 0; i < STRENGTHS; i++) q[i] = slot < here ? strength(strengths, i, source) : (REAL)0;
        p.w = q[0];
        if (EXPANDED && leaf.kind == APART) {
            p.w = fused(p.x, p.x, fused(p.y, p.y, p.z * p.z));
            p.x *= -2;
            p.y *= -2;
            p.z *= -2;
        }
        stage.points[slot] = p;
#pragma unroll
        for (int i = EXPANDED ? 0 : 1; i < STRENGTHS; i++) stage.more[i][slot] = q[i];
    }
    __syncwarp();
}

template <int T>
__device__ __forceinline__ void sum_rows(const Near& near, const Item& item, u32 cell, u32 first, u32 count,
                                         const Point* sources, const Point* targets, const Strengths& strengths,
                                         REAL kappa, REAL* potential, REAL* gradient, u64 m, Stage& stage) {
    u32 lane = threadIdx.x & 31, own = lane % GROUP;
    REAL x[T], y[T], z[T], squares[T], sums[T][DENSITIES][1 + 3 * GRADIENT];
#pragma unroll
    for (int t = 0; t < T; t++) {
        Point p = targets[first + min(own + GROUP * t, count - 1)];
        x[t] = p.x;
        y[t] = p.y;
        z[t] = p.z;
        squares[t] = fused(p.x, p.x, fused(p.y, p.y, p.z * p.z));
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
            for (u32 begin = leaf.begin; begin < leaf.end; begin += STAGED) {
                u32 here = min(STAGED, leaf.end - begin);
                fill_stage(stage, leaf, begin, here, sources, strengths);
                u32 whole = (here + UNROLL * WAYS - 1) / (UNROLL * WAYS) * (UNROLL * WAYS);
                if (leaf.kind == SAME)
                    sum_stage<T, SAME>(stage, whole, leaf.threshold, x, y, z, squares, kappa, sums);
                else if (!EXPANDED || leaf.kind == OTHER)
                    sum_stage<T, OTHER>(stage, whole, leaf.threshold, x, y, z, squares, kappa, sums);
                else
                    sum_stage<T, EXPANDED ? APART : OTHER>(stage, whole, leaf.threshold, x, y, z, squares, kappa, sums);
            }
        }
    }
#pragma unroll
    for (int t = 0; t < T; t++) {
        u32 row = own + GROUP * t;
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

extern "C" __global__ void __launch_bounds__(WARPS * 32, BLOCKS)
    p2p(const Cell* cells, const double* centres, const u32* entries, const Item* items, const u32* item_cells, u32 count,
        double side, const Point* sources, const Point* targets, const REAL* charges, const REAL* dipoles, u64 n,
        REAL* potential, REAL* gradient, u64 m, double kappa) {
    __shared__ Stage stages[WARPS];
    u32 warp = threadIdx.x >> 5;
    u32 i = blockIdx.x * WARPS + warp;
    if (i >= count) return;
    Near near = {cells, centres, entries, items, item_cells, side};
    Strengths strengths = {charges, dipoles, n};
    Item item = items[i];
    u32 cell = item_cells[i];
    for (u32 done = 0; done < item.count; done += GROUP * ROWS) {
        u32 left = min(GROUP * ROWS, item.count - done);
        u32 first = item.target + done;
        Stage& stage = stages[warp];
        switch ((left + GROUP - 1) / GROUP) {
#define CASE(T)                                                                                                        \
    case T:                                                                                                            \
        sum_rows<T>(near, item, cell, first, left, sources, targets, strengths, (REAL)kappa, potential, gradient, m,   \
                    stage);                                                                                            \
        break;
            CASE(1)
            CASE(2)
#if ROWS >= 4
            CASE(3)
            CASE(4)
#endif
#if ROWS >= 6
            CASE(5)
            CASE(6)
#endif
#if ROWS >= 8
            CASE(7)
            CASE(8)
#endif
#undef CASE
        }
    }
}

// Puts the close pairs right; squares: what the loop took the root of. Coincident points contribute
// nothing.
extern "C" __global__ void p2p_close(const UnresolvedPair* pairs, u32 count, const float* squares, const REAL* charges,
                                     const REAL* dipoles, u64 n, REAL* potential, REAL* gradient, u64 m, double kappa) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    UnresolvedPair pair = pairs[i];
    Strengths strengths = {charges, dipoles, n};
    REAL q[STRENGTHS], sums[DENSITIES][1 + 3 * GRADIENT], off[DENSITIES][1 + 3 * GRADIENT];
    for (int k = 0; k < STRENGTHS; k++) q[k] = strength(strengths, k, pair.source);
    for (int k = 0; k < DENSITIES; k++)
        for (int c = 0; c < 1 + 3 * GRADIENT; c++) sums[k][c] = off[k][c] = 0;
    REAL dx = pair.exact[0], dy = pair.exact[1], dz = pair.exact[2];
    REAL r2 = fused(dz, dz, fused(dy, dy, dx * dx));
    if (r2 > 0) add(dx, dy, dz, r2, 1 / sqrt(r2), (REAL)kappa, q, sums);
#if !DIPOLES && PRECISION == 32
    REAL used = squares[i];
    add(pair.used[0], pair.used[1], pair.used[2], used, inverse_root(used), (REAL)kappa, q, off);
#endif
    for (int k = 0; k < DENSITIES; k++) {
        atomicAdd(&potential[k * m + pair.target], sums[k][0] - off[k][0]);
#if GRADIENT
        for (int c = 0; c < 3; c++) atomicAdd(&gradient[(3 * k + c) * m + pair.target], sums[k][1 + c] - off[k][1 + c]);
#endif
    }
}
