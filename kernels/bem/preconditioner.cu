// Local inverses over a coarse level of clusters. VALUE: float or double, as the near field's
// entries. CPU twins: crates/bem/src/precondition/local_inverse.rs, local.rs, coarse.rs,
// entries.rs, gradients.rs.
#include "rows.cuh"

#define WARPS (THREADS / 32)
// local_inverse computes rows of S with more panels than LEAST and at most MOST, LOCAL_WARPS of
// them in a block. Panels of pairs that the near field has not are POINTS_OF_PANEL points each.
#define PITCH (MOST + 1)
#define SLOTS ((MOST + 31) / 32)

__device__ __forceinline__ Vec at(const double* p) { return Vec{p[0], p[1], p[2]}; }

__device__ __forceinline__ double distance_to(const Image& image, const Vec& x, const Vec& y) {
    return norm(x - Vec{image.scale[0] * y.x + image.shift[0], image.scale[1] * y.y + image.shift[1],
                        image.scale[2] * y.z + image.shift[2]});
}

// The sum over y and its images, times their factors, of what f makes of the distance from x.
template <class F>
__device__ __forceinline__ double over_images(const Image* images, u32 count, const Vec& x, const Vec& y, F f) {
    double sum = 0.0;
    for (u32 g = 0; g < count; g++) sum += images[g].factor * f(distance_to(images[g], x, y));
    return sum;
}

__device__ __forceinline__ Vec normal_of(const double* vertices, u32 i) {
    const double* p = vertices + 9 * (u64)i;
    Vec normal = cross(at(p + 3) - at(p), at(p + 6) - at(p));
    return normal * (1.0 / norm(normal));
}

// Lengths of the rows of S: the panel with its neighbours, `neighbours` at most, `of_facing` where
// it faces another.
extern "C" __global__ void local_lengths(u32 n, const u32* starts, const u32* columns, const VALUE* values,
                                         const double* diagonal, const double* vertices, const double* centroids,
                                         u32 neighbours, u32 of_facing, u32* lengths) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    double own = sqrt(diagonal[i]);
    bool faces = false;
    for (u32 k = starts[i]; k < starts[i + 1] && !faces; k++) {
        u32 j = columns[k];
        if ((double)values[k] <= FACING * own * sqrt(diagonal[j])) continue;
        Vec normal = normal_of(vertices, i), apart = at(centroids + 4 * (u64)j) - at(centroids + 4 * (u64)i);
        faces = fabs(dot(normal, normal_of(vertices, j))) > PARALLEL && fabs(dot(normal, apart)) > OUT_OF_PLANE * norm(apart);
    }
    lengths[i] = min(starts[i + 1] - starts[i] + 1, faces ? of_facing : neighbours);
}

// Row i of S, one warp each: the strongest neighbours, their matrix, the column of its inverse that
// belongs to i, by A = L D L^T with i last.
extern "C" __global__ void local_inverse(u32 n, const u32* starts, const u32* columns, const VALUE* values,
                                         const double* diagonal, const double* vertices, const double* centroids,
                                         const Image* images, u32 image_count, const u32* local_starts, u32* local_columns, float* local_values) {
    __shared__ double matrices[LOCAL_WARPS][MOST * PITCH];
    __shared__ u32 lists[LOCAL_WARPS][MOST + 2];
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    u32 i = blockIdx.x * LOCAL_WARPS + warp;
    if (i >= n) return;
    double* a = matrices[warp];
    u32* chosen = lists[warp];
    u32 begin = starts[i], length = starts[i + 1] - begin;
    u32 out = local_starts[i], m = local_starts[i + 1] - out, others = m - 1;
    if (m <= LEAST || m > MOST) return;
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
        u32 place = count + __popc(votes & ((1u << lane) - 1));
        if (take && place < others) chosen[place] = columns[begin + k];
        count += __popc(votes);
    }
    // NaN among the strengths must not leave places empty.
    for (u32 k = min(count, others) + lane; k < others; k += 32) chosen[k] = i;
    if (lane == 0) chosen[others] = i;
    __syncwarp();
    // A point or a few for each panel, unless the near field has the pair.
    for (u32 k = lane; k < m * m; k += 32) {
        u32 r = k / m, c = k % m;
        if (c > r) continue;
        double sum = 0.0;
        for (u32 p = 0; p < POINTS_OF_PANEL; p++)
            for (u32 q = 0; q < POINTS_OF_PANEL; q++) {
                Vec x = at(centroids + 4 * (u64)chosen[r]), y = at(centroids + 4 * (u64)chosen[c]);
                if (POINTS_OF_PANEL > 1) {
                    x = (x + at(vertices + 9 * (u64)chosen[r] + 3 * p)) * 0.5;
                    y = (y + at(vertices + 9 * (u64)chosen[c] + 3 * q)) * 0.5;
                }
                sum += over_images(images, image_count, x, y, [](double r) { return r > 0.0 ? 1.0 / r : 0.0; });
            }
        a[r * PITCH + c] = r == c ? diagonal[chosen[r]] : sum / (POINTS_OF_PANEL * POINTS_OF_PANEL);
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
        for (u32 r = lane; r < m; r += 32) {
            if (r <= j) continue;
            double factor = a[r * PITCH + j] / pivot;
            for (u32 k = j + 1; k <= r; k++) a[r * PITCH + k] -= factor * a[k * PITCH + j];
        }
        __syncwarp();
    }
    // L^T x = D^-1 e, the columns still without their 1 / pivot; entry r is lane r % 32's.
    double x[SLOTS] = {};
    if (lane == others % 32) x[others / 32] = 1.0 / a[others * PITCH + others];
    for (u32 r = others; r-- > 0;) {
        double term = 0.0;
        for (u32 slot = 0; slot < SLOTS; slot++) {
            u32 s = 32 * slot + lane;
            if (s > r && s < m) term += a[s * PITCH + r] * x[slot];
        }
        for (u32 d = 16; d > 0; d /= 2) term += __shfl_xor_sync(~0u, term, d);
        if (lane == r % 32) x[r / 32] = -term / a[r * PITCH + r];
    }
    for (u32 slot = 0; slot < SLOTS; slot++) {
        u32 s = 32 * slot + lane;
        if (s >= m) continue;
        // Should the neighbours be no positive definite system, the panel goes alone.
        double alone = s == others ? 1.0 / diagonal[i] : 0.0;
        local_columns[out + s] = chosen[s];
        local_values[out + s] = (float)(definite ? x[slot] : alone);
    }
}

// Mean of each cluster's potentials over its area, one block per cluster; v: [columns][n], means:
// [columns][clusters].
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

// Gradient in each cluster of a potential with these means, by the weights of its neighbours':
// gradients: [columns][clusters][3].
extern "C" __global__ void coarse_gradients(u32 clusters, const u32* starts, const u32* neighbours, const double* weights,
                                         const double* means, double* gradients) {
    u32 c = blockIdx.x * THREADS + threadIdx.x;
    if (c >= clusters) return;
    means += (u64)blockIdx.y * clusters;
    Vec gradient{0.0, 0.0, 0.0};
    for (u32 k = starts[c]; k < starts[c + 1]; k++)
        gradient = gradient + at(weights + 3 * (u64)k) * (means[neighbours[k]] - means[c]);
    double* to = gradients + 3 * ((u64)blockIdx.y * clusters + c);
    to[0] = gradient.x, to[1] = gradient.y, to[2] = gradient.z;
}

// What means and gradients leave of v; offsets: places of the panels from the centres of their
// clusters.
extern "C" __global__ void coarse_remove(u32 n, u32 clusters, const u32* cluster, const float* offsets, const double* means,
                                         const double* gradients, const double* v, double* rest) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    u64 c = (u64)blockIdx.y * clusters + cluster[i], k = (u64)blockIdx.y * n + i;
    const float* offset = offsets + 3 * (u64)i;
    rest[k] = v[k] - means[c] - dot(at(gradients + 3 * c), Vec{offset[0], offset[1], offset[2]});
}

// z = S v + shares times solution, by clusters; without clusters z = S v.
extern "C" __global__ void preconditioner_apply(u32 n, const u32* starts, const u32* columns, const float* values,
                                                const double* v, u32 clusters, const u32* cluster, const double* shares,
                                                const double* solution, double* z) {
    u32 thread = blockIdx.x * THREADS + threadIdx.x, row = thread / LANES, lane = thread % LANES;
    v += (u64)blockIdx.y * n;
    z += (u64)blockIdx.y * n;
    solution += (u64)blockIdx.y * clusters;
    double sum = 0.0;
    if (row < n)
        for (u32 k = starts[row] + lane; k < starts[row + 1]; k += LANES) sum += (double)values[k] * v[columns[k]];
    for (u32 d = LANES / 2; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d, LANES);
    if (row < n && lane == 0) z[row] = clusters ? sum + shares[row] * solution[cluster[row]] : sum;
}

#define BLOCK 64

// x = A^-1 x with A = L L^T, L in the lower triangle of a column-major [n][n]; one block a
// right-hand side.
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

// Whether a cluster is far from another and all its images.
__device__ __forceinline__ bool far_apart(const Image* images, u32 count, const double* c, const double* d) {
    double nearest = 1e300;
    for (u32 g = 0; g < count; g++) nearest = fmin(nearest, distance_to(images[g], at(c), at(d)));
    return nearest > FAR * (c[3] + d[3]);
}

// Mean inverse distance of two clouds with variances that sum to `variance`, r the distance of
// their centres.
__device__ __forceinline__ double of_clouds(double r, double variance) {
    if (r * r >= POINTS * POINTS * variance) return r > 0.0 ? 1.0 / r : 0.0;
    double x = r * sqrt(0.5 / variance);
    return x < 1e-3 ? (1.0 - x * x / 3.0) * sqrt(0.636619772367581343 / variance) : erf(x) / r;
}

// Where d is in row c, columns in increasing order, or all of them if there are none given; ~0 if
// it is not.
__device__ __forceinline__ u32 place_of(const u32* starts, const u32* columns, u32 c, u32 d) {
    u32 low = starts[c], end = starts[c + 1], high = end;
    if (!columns) return low + d;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (columns[middle] < d) low = middle + 1;
        else high = middle;
    }
    return low < end && columns[low] == d ? low : ~0u;
}

// Puts the near field's entries in the place of what distances say; pair_starts, pair_columns: the
// pairs of clusters; clusters: centre and radius; cells: centres; variances of the clouds: of cells
// and of panels; own: whether a row counts, all do if it is null.
extern "C" __global__ void coarse_correct(u32 n, const u32* starts, const u32* columns, const VALUE* values,
                                          const double* diagonal, const u32* own, const u32* pair_starts,
                                          const u32* pair_columns, const double* clusters, const u32* cluster, const double* cells, const u32* cell,
                                          const double* shares, const double* centroids, const double* cell_variances,
                                          const double* panel_variances, const Image* images, u32 image_count,
                                          double* entries) {
    u32 thread = blockIdx.x * THREADS + threadIdx.x, i = thread / LANES, lane = thread % LANES;
    if (i >= n || (own && !own[i])) return;
    u32 c = cluster[i];
    if (lane == 0) {
        u32 place = place_of(pair_starts, pair_columns, c, c);
        if (place != ~0u) atomicAdd(entries + place, shares[i] * shares[i] * diagonal[i]);
    }
    for (u32 k = starts[i] + lane; k < starts[i + 1]; k += LANES) {
        u32 j = columns[k], d = cluster[j];
        const double *at_c = clusters + 4 * (u64)c, *at_d = clusters + 4 * (u64)d;
        if (c != d && far_apart(images, image_count, at_c, at_d)) continue;
        u32 place = place_of(pair_starts, pair_columns, c, d);
        if (place == ~0u) continue;
        u32 a = cell[i], b = cell[j];
        const double *p = a == b ? centroids + 4 * (u64)i : cells + 4 * (u64)a;
        const double *q = a == b ? centroids + 4 * (u64)j : cells + 4 * (u64)b;
        double variance = a == b ? panel_variances[i] + panel_variances[j] : cell_variances[a] + cell_variances[b];
        double rough = over_images(images, image_count, at(p), at(q), [=](double r) { return of_clouds(r, variance); });
        atomicAdd(entries + place, shares[i] * shares[j] * ((double)values[k] - rough));
    }
}
