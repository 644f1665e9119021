// Vectors of GMRES and the points that stand for panels. CPU twins: crates/bem/src/gmres.rs, points.rs.
#include "shared/triangle.cuh"

#define THREADS 256
#define WARPS (THREADS / 32)

// Charges of panels to charges of points: point p of panel i carries weights[p] of it. count: panels of all columns.
extern "C" __global__ void points_spread(u64 count, u32 nodes, const double* rule, const double* panels, double* points) {
    u64 k = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (k < count * nodes) points[k] = rule[4 * (k % nodes) + 3] * panels[k / nodes];
}

// Potentials of points to means over panels.
extern "C" __global__ void points_average(u64 count, u32 nodes, const double* rule, const double* points, double* panels) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i >= count) return;
    double sum = 0.0;
    for (u32 p = 0; p < nodes; p++) sum += points[i * nodes + p] * rule[4 * p + 3];
    panels[i] = sum;
}

#define TARGETS 8

// Adds sum_q charges_q / |x - x_q| over all points at TARGETS targets of the grid's second dimension; a point at a target's very
// place contributes nothing. targets: [count][3].
extern "C" __global__ void points_direct(const double* vertices, u32 n, u32 nodes, const double* rule, const double* charges,
                                         const double* targets, u32 count, double* sums) {
    __shared__ double of_warps[WARPS][TARGETS];
    u32 first = blockIdx.y * TARGETS;
    double x[TARGETS], y[TARGETS], z[TARGETS], total[TARGETS];
    for (u32 t = 0; t < TARGETS; t++) {
        const double* at = targets + 3 * (u64)min(first + t, count - 1);
        x[t] = at[0];
        y[t] = at[1];
        z[t] = at[2];
        total[t] = 0.0;
    }
    for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        const double* p = vertices + 9 * (u64)i;
        Vec v[3] = {{p[0], p[1], p[2]}, {p[3], p[4], p[5]}, {p[6], p[7], p[8]}};
        for (u32 k = 0; k < nodes; k++) {
            Vec s = on(v, rule + 4 * k);
            double q = charges[(u64)i * nodes + k];
            for (u32 t = 0; t < TARGETS; t++) {
                double r2 = norm2(Vec{s.x - x[t], s.y - y[t], s.z - z[t]});
                total[t] += r2 > 0.0 ? q * rsqrt(r2) : 0.0;
            }
        }
    }
    for (u32 t = 0; t < TARGETS; t++) {
        for (u32 d = 16; d > 0; d /= 2) total[t] += __shfl_down_sync(~0u, total[t], d);
        if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32][t] = total[t];
    }
    __syncthreads();
    if (threadIdx.x < TARGETS && first + threadIdx.x < count) {
        double sum = 0.0;
        for (u32 w = 0; w < WARPS; w++) sum += of_warps[w][threadIdx.x];
        atomicAdd(sums + first + threadIdx.x, sum);
    }
}

__device__ __forceinline__ void reduce(double sum, double* out) {
    __shared__ double sums[WARPS];
    for (u32 d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x) return;
    for (u32 w = 1; w < WARPS; w++) sum += sums[w];
    *out = sum;
}

// sum_i w_i u_i v_i, one part a block.
extern "C" __global__ void vector_dot(u64 n, const double* weights, const double* u, const double* v, double* parts) {
    double sum = 0.0;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < n; i += (u64)gridDim.x * THREADS)
        sum += weights[i] * u[i] * v[i];
    reduce(sum, parts + blockIdx.x);
}

// The parts' sum, by one block.
extern "C" __global__ void vector_total(u32 count, const double* parts, double* out) {
    double sum = 0.0;
    for (u32 k = threadIdx.x; k < count; k += THREADS) sum += parts[k];
    reduce(sum, out);
}

// sum_i w_i u_i^2 over the panels of each group, added up; of: [n].
extern "C" __global__ void vector_squares(u64 n, const u32* of, const double* weights, const double* u, double* sums) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    u32 group = i < n ? of[i] : ~0u;
    double square = i < n ? weights[i] * u[i] * u[i] : 0.0;
    // Neighbours are mostly of one group: then one addition a warp.
    u32 same = __match_any_sync(~0u, group);
    if (same == ~0u) {
        for (u32 d = 16; d > 0; d /= 2) square += __shfl_down_sync(~0u, square, d);
        if (threadIdx.x % 32 == 0 && group != ~0u) atomicAdd(sums + group, square);
    } else if (group != ~0u) {
        atomicAdd(sums + group, square);
    }
}

// y = factor x + other y; with other = 0 whatever y was.
extern "C" __global__ void vector_combine(u64 n, double factor, const double* x, double other, double* y) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) y[i] = other == 0.0 ? factor * x[i] : factor * x[i] + other * y[i];
}
