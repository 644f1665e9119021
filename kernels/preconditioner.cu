// Local inverses over a coarse level of clusters. VALUE: float or double, as the near field's entries. CPU twins:
// crates/bem/src/preconditioner.rs, local.rs, coarse.rs.
#include "shared/triangle.cuh"

#ifndef VALUE
#define VALUE float
#endif
#define THREADS 128
#define WARPS (THREADS / 32)
#define LANES 8
// Panels of a neighbourhood at most.
#define MOST 30
#define PITCH 31

// Lengths of the rows of S: the panel with its neighbours, `neighbours` at most.
extern "C" __global__ void local_lengths(u32 n, const u32* starts, u32 neighbours, u32* lengths) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) lengths[i] = min(starts[i + 1] - starts[i] + 1, neighbours);
}

// Row i of S, one warp each: the strongest neighbours, their matrix, the column of its inverse that belongs to i, by
// A = L D L^T with i last.
extern "C" __global__ void local_inverse(u32 n, const u32* starts, const u32* columns, const VALUE* values,
                                         const double* diagonal, const double* centroids, const u32* local_starts,
                                         u32* local_columns, float* local_values) {
    __shared__ double matrices[WARPS][MOST * PITCH];
    __shared__ u32 lists[WARPS][32];
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    u32 i = blockIdx.x * WARPS + warp;
    if (i >= n) return;
    double* a = matrices[warp];
    u32* chosen = lists[warp];
    u32 begin = starts[i], length = starts[i + 1] - begin;
    u32 out = local_starts[i], m = local_starts[i + 1] - out, others = m - 1;
    // Columns increase, so the chosen ones do.
    auto strength = [&](u32 k) { return (double)values[begin + k] * rsqrt(diagonal[columns[begin + k]]); };
    u32 count = 0;
    for (u32 base = 0; base < length; base += 32) {
        u32 k = base + lane;
        bool take = k < length;
        if (take && length > others) {
            double own = strength(k);
            u32 stronger = 0;
            for (u32 e = 0; e < length; e++) {
                double s = strength(e);
                stronger += s > own || (s == own && e < k);
            }
            take = stronger < others;
        }
        u32 votes = __ballot_sync(~0u, take);
        u32 at = count + __popc(votes & ((1u << lane) - 1));
        if (take && at < others) chosen[at] = columns[begin + k];
        count += __popc(votes);
    }
    // NaN among the strengths must not leave places empty.
    for (u32 k = min(count, others) + lane; k < others; k += 32) chosen[k] = i;
    if (lane == 0) chosen[others] = i;
    __syncwarp();
    // Points to each other, unless the near field has the pair.
    for (u32 k = lane; k < m * m; k += 32) {
        u32 r = k / m, c = k % m;
        if (c > r) continue;
        const double *p = centroids + 4 * (u64)chosen[r], *q = centroids + 4 * (u64)chosen[c];
        double r2 = norm2(Vec{p[0] - q[0], p[1] - q[1], p[2] - q[2]});
        a[r * PITCH + c] = r == c ? diagonal[chosen[r]] : r2 > 0.0 ? rsqrt(r2) : 0.0;
    }
    __syncwarp();
    for (u32 r = 0; r < m; r++) {
        u32 row = chosen[r];
        for (u32 k = starts[row] + lane; k < starts[row + 1]; k += 32) {
            u32 j = columns[k], low = 0, high = others;
            while (low < high) {
                u32 middle = (low + high) / 2;
                if (chosen[middle] < j) low = middle + 1;
                else high = middle;
            }
            // Row r of the lower triangle; the rows below have the others.
            if (low < others && chosen[low] == j && low < r) a[r * PITCH + low] = (double)values[k];
        }
    }
    __syncwarp();
    bool definite = true;
    for (u32 j = 0; j < m; j++) {
        double pivot = a[j * PITCH + j];
        definite = definite && pivot > 0.0;
        if (lane > j && lane < m) {
            double factor = a[lane * PITCH + j] / pivot;
            for (u32 k = j + 1; k <= lane; k++) a[lane * PITCH + k] -= factor * a[k * PITCH + j];
        }
        __syncwarp();
    }
    // L^T x = D^-1 e, the columns still without their 1 / pivot.
    double x = lane == others ? 1.0 / a[others * PITCH + others] : 0.0;
    for (u32 r = others; r-- > 0;) {
        double term = lane > r && lane < m ? a[lane * PITCH + r] * x : 0.0;
        for (u32 d = 16; d > 0; d /= 2) term += __shfl_xor_sync(~0u, term, d);
        if (lane == r) x = -term / a[r * PITCH + r];
    }
    if (lane < m) {
        // Should the neighbours be no positive definite system, the panel goes alone.
        double alone = lane == others ? 1.0 / diagonal[i] : 0.0;
        local_columns[out + lane] = chosen[lane];
        local_values[out + lane] = (float)(definite ? x : alone);
    }
}

// Mean of each cluster's potentials over its area, one block a cluster; v: [columns][n], means: [columns][clusters].
extern "C" __global__ void coarse_means(u32 clusters, const u32* starts, const u32* members, const double* shares,
                                        const double* v, u32 n, double* means) {
    __shared__ double sums[WARPS];
    v += (u64)blockIdx.y * n;
    double sum = 0.0;
    for (u32 k = starts[blockIdx.x] + threadIdx.x; k < starts[blockIdx.x + 1]; k += THREADS)
        sum += shares[members[k]] * v[members[k]];
    for (u32 d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x) return;
    for (u32 w = 1; w < WARPS; w++) sum += sums[w];
    means[(u64)blockIdx.y * clusters + blockIdx.x] = sum;
}

// z = S (v - means of v) + shares times solution, by clusters; without clusters z = S v.
extern "C" __global__ void preconditioner_apply(u32 n, const u32* starts, const u32* columns, const float* values,
                                                const double* v, u32 clusters, const u32* cluster, const double* shares,
                                                const double* means, const double* solution, double* z) {
    u32 thread = blockIdx.x * THREADS + threadIdx.x, row = thread / LANES, lane = thread % LANES;
    v += (u64)blockIdx.y * n;
    z += (u64)blockIdx.y * n;
    means += (u64)blockIdx.y * clusters;
    solution += (u64)blockIdx.y * clusters;
    double sum = 0.0;
    if (row < n)
        for (u32 k = starts[row] + lane; k < starts[row + 1]; k += LANES) {
            u32 j = columns[k];
            sum += (double)values[k] * (clusters ? v[j] - means[cluster[j]] : v[j]);
        }
    for (u32 d = LANES / 2; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d, LANES);
    if (row < n && lane == 0) z[row] = clusters ? sum + shares[row] * solution[cluster[row]] : sum;
}

#define BLOCK 64
#define SOLVERS 1024

// x = A^-1 x with A = L L^T, L in the lower triangle of a column-major [n][n]; one block a right-hand side.
extern "C" __global__ void __launch_bounds__(SOLVERS) coarse_solve(const double* l, u32 n, double* xs) {
    __shared__ double corner[BLOCK][BLOCK + 1];  // [row][column]
    __shared__ double part[BLOCK];
    double* x = xs + (u64)blockIdx.x * n;
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    auto load_corner = [&](u32 first, u32 width) {
        for (u32 k = threadIdx.x; k < width * width; k += SOLVERS)
            corner[k % width][k / width] = l[(u64)(first + k / width) * n + first + k % width];
    };
    for (u32 first = 0; first < n; first += BLOCK) {
        u32 width = min((u32)BLOCK, n - first);
        load_corner(first, width);
        if (threadIdx.x < width) part[threadIdx.x] = x[first + threadIdx.x];
        __syncthreads();
        if (warp == 0)
            for (u32 j = 0; j < width; j++) {
                double xj = part[j] / corner[j][j];
                __syncwarp();
                if (lane == 0) part[j] = xj;
                for (u32 r = j + 1 + lane; r < width; r += 32) part[r] -= corner[r][j] * xj;
                __syncwarp();
            }
        __syncthreads();
        if (threadIdx.x < width) x[first + threadIdx.x] = part[threadIdx.x];
        for (u32 r = first + width + threadIdx.x; r < n; r += SOLVERS) {
            double sum = 0.0;
            for (u32 j = 0; j < width; j++) sum += l[(u64)(first + j) * n + r] * part[j];
            x[r] -= sum;
        }
        __syncthreads();
    }
    for (u32 first = (n - 1) / BLOCK * BLOCK;; first -= BLOCK) {
        u32 width = min((u32)BLOCK, n - first);
        load_corner(first, width);
        for (u32 j = warp; j < width; j += SOLVERS / 32) {
            double sum = 0.0;
            for (u32 r = first + width + lane; r < n; r += 32) sum += l[(u64)(first + j) * n + r] * x[r];
            for (u32 d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
            if (lane == 0) part[j] = x[first + j] - sum;
        }
        __syncthreads();
        if (warp == 0)
            for (u32 j = width; j-- > 0;) {
                double xj = part[j] / corner[j][j];
                __syncwarp();
                if (lane == 0) part[j] = xj;
                for (u32 r = lane; r < j; r += 32) part[r] -= corner[j][r] * xj;
                __syncwarp();
            }
        __syncthreads();
        if (threadIdx.x < width) x[first + threadIdx.x] = part[threadIdx.x];
        __syncthreads();
        if (first == 0) break;
    }
}

#define FAR 1.5

__device__ __forceinline__ double between(const double* a, const double* b) {
    return norm(Vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]});
}

__device__ __forceinline__ bool far_apart(const double* c, const double* d, double distance) {
    return distance > FAR * (c[3] + d[3]);
}

#define POINTS 4.0

// Mean inverse distance of two clouds with variances that sum to `variance`, r the distance of their centres.
__device__ __forceinline__ double of_clouds(double r, double variance) {
    if (r * r >= POINTS * POINTS * variance) return r > 0.0 ? 1.0 / r : 0.0;
    double x = r * sqrt(0.5 / variance);
    return x < 1e-3 ? (1.0 - x * x / 3.0) * sqrt(0.636619772367581343 / variance) : erf(x) / r;
}

// Entries (c, d) of the coarse matrix, one warp each, from distances alone. clusters: centre and radius; cells: centre and share of
// the cluster's area; cell_starts: cells of each cluster; member_starts: panels of each cell; variances of the clouds: of cells, of
// panels and of clusters.
extern "C" __global__ void coarse_matrix(u32 count, const double* clusters, const double* cells, const u32* cell_starts,
                                         const u32* member_starts, const u32* members, const double* shares,
                                         const double* centroids, const double* cell_variances,
                                         const double* panel_variances, const double* cluster_variances, double* matrix) {
    u64 entry = ((u64)blockIdx.x * THREADS + threadIdx.x) / 32;
    u32 lane = threadIdx.x % 32;
    u32 c = (u32)(entry / count), d = (u32)(entry % count);
    if (c >= count || d > c) return;
    const double *at_c = clusters + 4 * (u64)c, *at_d = clusters + 4 * (u64)d;
    double distance = between(at_c, at_d), sum = 0.0;
    if (c != d && far_apart(at_c, at_d, distance)) {
        sum = lane == 0 ? of_clouds(distance, cluster_variances[c] + cluster_variances[d]) : 0.0;
    } else {
        u32 first = cell_starts[d], others = cell_starts[d + 1] - first;
        u32 own = cell_starts[c], total = (cell_starts[c + 1] - own) * others;
        for (u32 k = lane; k < total; k += 32) {
            u32 a = own + k / others, b = first + k % others;
            const double *p = cells + 4 * (u64)a, *q = cells + 4 * (u64)b;
            if (a != b) {
                sum += p[3] * q[3] * of_clouds(between(p, q), cell_variances[a] + cell_variances[b]);
                continue;
            }
            for (u32 i = member_starts[a]; i < member_starts[a + 1]; i++)
                for (u32 j = member_starts[a]; j < member_starts[a + 1]; j++) {
                    if (i == j) continue;
                    u32 s = members[i], t = members[j];
                    double r = between(centroids + 4 * (u64)s, centroids + 4 * (u64)t);
                    sum += shares[s] * shares[t] * of_clouds(r, panel_variances[s] + panel_variances[t]);
                }
        }
    }
    for (u32 l = 16; l > 0; l /= 2) sum += __shfl_xor_sync(~0u, sum, l);
    if (lane == 0) matrix[(u64)c * count + d] = matrix[(u64)d * count + c] = sum;
}

// Puts the near field's entries in the place of what distances say.
extern "C" __global__ void coarse_correct(u32 n, const u32* starts, const u32* columns, const VALUE* values,
                                          const double* diagonal, u32 count, const double* clusters, const u32* cluster,
                                          const double* cells, const u32* cell, const double* shares,
                                          const double* centroids, const double* cell_variances,
                                          const double* panel_variances, double* matrix) {
    u32 thread = blockIdx.x * THREADS + threadIdx.x, i = thread / LANES, lane = thread % LANES;
    if (i >= n) return;
    u32 c = cluster[i];
    if (lane == 0) atomicAdd(matrix + (u64)c * count + c, shares[i] * shares[i] * diagonal[i]);
    for (u32 k = starts[i] + lane; k < starts[i + 1]; k += LANES) {
        u32 j = columns[k], d = cluster[j];
        const double *at_c = clusters + 4 * (u64)c, *at_d = clusters + 4 * (u64)d;
        if (c != d && far_apart(at_c, at_d, between(at_c, at_d))) continue;
        u32 a = cell[i], b = cell[j];
        double rough = a == b ? of_clouds(between(centroids + 4 * (u64)i, centroids + 4 * (u64)j),
                                          panel_variances[i] + panel_variances[j])
                              : of_clouds(between(cells + 4 * (u64)a, cells + 4 * (u64)b),
                                          cell_variances[a] + cell_variances[b]);
        atomicAdd(matrix + (u64)c * count + d, shares[i] * shares[j] * ((double)values[k] - rough));
    }
}
