// Vectors of GMRES and the points that stand for panels. CPU twins: crates/bem/src/solve/gmres.rs,
// operator/points.rs, solve/completion.rs.
#include "rows.cuh"

#define WARPS (THREADS / 32)

// Charges of panels to charges of points: point p of panel i carries weights[p] of it, that of an
// image times its factor. One column of the grid's second dimension each; panels:
// [columns][n], points: [columns][images][n][nodes].
extern "C" __global__ void points_spread(u32 n, u32 nodes, const double* rule, const double* factors, u32 image_count,
                                         const double* panels, double* points) {
    u64 k = (u64)blockIdx.x * THREADS + threadIdx.x, of_column = (u64)image_count * n * nodes;
    if (k >= of_column) return;
    u64 panel = k / nodes;
    double charge = panels[(u64)blockIdx.y * n + panel % n];
    points[blockIdx.y * of_column + k] = rule[4 * (k % nodes) + 3] * factors[panel] * charge;
}

// Sums at points to rows of panels: means of potentials, or of gradients along the panel's normal.
// One column of the grid's second dimension each; potentials: [columns][n][nodes], gradients:
// [..][3], each null if no row is of it.
extern "C" __global__ void points_average(u32 n, u32 nodes, const double* rule, const u32* kinds, const double* vertices,
                                          const double* potentials, const double* gradients, double* panels) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    u64 first = ((u64)blockIdx.y * n + i) * nodes;
    double sum = 0.0;
    if (kinds[i] == SINGLE) {
        for (u32 p = 0; p < nodes; p++) sum += potentials[first + p] * rule[4 * p + 3];
    } else if (kinds[i] == ADJOINT) {
        Vec mean = {0.0, 0.0, 0.0};
        for (u32 p = 0; p < nodes; p++) {
            const double* g = gradients + 3 * (first + p);
            mean = mean + Vec{g[0], g[1], g[2]} * rule[4 * p + 3];
        }
        sum = dot(mean, normal_of(load(vertices, i)));
    }
    panels[(u64)blockIdx.y * n + i] = sum;
}

// Adds sum_q charges_q / |x - x_q|, or with `gradient` its gradient, over all points and those of
// images at TARGETS targets of the grid's second dimension; a point at a target's very place
// contributes nothing. charges: [images][n][nodes], targets: [count][3].
extern "C" __global__ void points_direct(const double* vertices, u32 n, u32 nodes, const double* rule, const Image* images,
                                         u32 image_count, const double* charges, const double* targets, u32 count, u32 gradient,
                                         double* sums) {
    __shared__ double of_warps[WARPS][TARGETS][3];
    u32 first = blockIdx.y * TARGETS, width = gradient ? 3 : 1;
    Vec x[TARGETS], total[TARGETS];
    for (u32 t = 0; t < TARGETS; t++) {
        const double* at = targets + 3 * (u64)min(first + t, count - 1);
        x[t] = {at[0], at[1], at[2]};
        total[t] = {0.0, 0.0, 0.0};
    }
    for (u64 k = blockIdx.x * THREADS + threadIdx.x; k < (u64)image_count * n; k += gridDim.x * THREADS) {
        const Image& image = images[k / n];
        const double* p = vertices + 9 * (k % n);
        // Images of panels are run around the other way, as their charges are ordered.
        bool odd = image.scale[0] * image.scale[1] * image.scale[2] < 0.0;
        Vec v[3];
        for (u32 c = 0; c < 3; c++) {
            const double* q = p + 3 * (odd ? (3 - c) % 3 : c);
            v[c] = {image.scale[0] * q[0] + image.shift[0], image.scale[1] * q[1] + image.shift[1],
                    image.scale[2] * q[2] + image.shift[2]};
        }
        for (u32 m = 0; m < nodes; m++) {
            Vec s = on(v, rule + 4 * m);
            double q = charges[k * nodes + m];
            for (u32 t = 0; t < TARGETS; t++) {
                Vec d = s - x[t];
                double r2 = norm2(d), inverse = r2 > 0.0 ? rsqrt(r2) : 0.0;
                if (gradient) total[t] = total[t] + d * (q * inverse * inverse * inverse);
                else total[t].x += q * inverse;
            }
        }
    }
    for (u32 t = 0; t < TARGETS; t++) {
        double parts[3] = {total[t].x, total[t].y, total[t].z};
        for (u32 c = 0; c < width; c++) {
            for (u32 d = 16; d > 0; d /= 2) parts[c] += __shfl_down_sync(~0u, parts[c], d);
            if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32][t][c] = parts[c];
        }
    }
    __syncthreads();
    if (threadIdx.x < TARGETS && first + threadIdx.x < count) {
        for (u32 c = 0; c < width; c++) {
            double sum = 0.0;
            for (u32 w = 0; w < WARPS; w++) sum += of_warps[w][threadIdx.x][c];
            atomicAdd(sums + width * (first + threadIdx.x) + c, sum);
        }
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

// sum_i w_i (f_i u_i)^2 over the panels of each group, added up; of: [n]; factors: [n], or null
// for 1.
extern "C" __global__ void vector_squares(u64 n, const u32* of, const double* weights, const double* factors, const double* u,
                                          double* sums) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    u32 group = i < n ? of[i] : ~0u;
    double value = i < n ? (factors ? factors[i] : 1.0) * u[i] : 0.0;
    double square = i < n ? weights[i] * value * value : 0.0;
    // Neighbours are mostly of one group: then one addition a warp.
    u32 same = __match_any_sync(~0u, group);
    if (same == ~0u) {
        for (u32 d = 16; d > 0; d /= 2) square += __shfl_down_sync(~0u, square, d);
        if (threadIdx.x % 32 == 0 && group != ~0u) atomicAdd(sums + group, square);
    } else if (group != ~0u) {
        atomicAdd(sums + group, square);
    }
}

// to_i += a_ij from_j, or |from_j| with `absolute`, over entries (i, j) of a sparse matrix, which
// may repeat places. One column of the grid's second dimension each; from: [columns][inputs], to:
// [columns][outputs].
extern "C" __global__ void laws_add(u32 count, const u32* rows, const u32* places, const double* values, u32 absolute, u64 inputs,
                                    const double* from, u64 outputs, double* to) {
    u32 e = blockIdx.x * THREADS + threadIdx.x;
    from += blockIdx.y * inputs;
    to += blockIdx.y * outputs;
    u32 row = e < count ? rows[e] : ~0u;
    double value = 0.0;
    if (e < count) value = absolute ? fabs(from[places[e]]) : values[e] * from[places[e]];
    // Neighbours are mostly of one law: then one addition a warp.
    u32 same = __match_any_sync(~0u, row);
    if (same == ~0u) {
        for (u32 d = 16; d > 0; d /= 2) value += __shfl_down_sync(~0u, value, d);
        if (threadIdx.x % 32 == 0 && row != ~0u) atomicAdd(to + row, value);
    } else if (row != ~0u) {
        atomicAdd(to + row, value);
    }
}

// y_i = own_i x_i + factor_i y_i, in each of the grid's columns; own_and_factor: [n][2], x and y:
// [columns][n].
extern "C" __global__ void rows_complete(u32 n, const double* own_and_factor, const double* x, double* y) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    u64 k = (u64)blockIdx.y * n + i;
    y[k] = own_and_factor[2 * i] * x[k] + own_and_factor[2 * i + 1] * y[k];
}

// Values of the chosen panels.
extern "C" __global__ void vector_gather(u32 count, const u32* chosen, const double* from, double* to) {
    u32 k = blockIdx.x * THREADS + threadIdx.x;
    if (k < count) to[k] = from[chosen[k]];
}

// y = factor x + other y; with other = 0 whatever y was.
extern "C" __global__ void vector_combine(u64 n, double factor, const double* x, double other, double* y) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) y[i] = other == 0.0 ? factor * x[i] : factor * x[i] + other * y[i];
}
