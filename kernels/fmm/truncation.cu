// Errors of truncated translations, measured on pairs of the plan's own points (docs/math.md,
// "Truncation"). CPU twin: crates/fmm/src/truncation/measure.rs.
#include "cell.cuh"

struct Sampled {
    const Cell* cells;
    const double* centres;
    const Point* sources;  // relative to their leaves
    const Point* targets;
    double side;
};

__device__ __forceinline__ u64 mix(u64 z) {
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

__device__ __forceinline__ u32 below(u64 bits, u32 count) { return (u32)__umul64hi(bits, count); }

// Draws that a thing with an expectation of `share` of them gets, by its own hash.
__device__ __forceinline__ u32 draws(double share, u64 hash) {
    u32 whole = (u32)share;
    return whole + ((double)(hash >> 11) * 0x1p-53 < share - whole);
}

__device__ __forceinline__ u64 hash_of(uint2 pair) { return mix((u64)pair.x << 32 | pair.y); }

// Point k in Morton order, which is in the box, relative to its centre in units of the root's side.
__device__ void relative(const Sampled& d, u32 box, u32 k, bool of_targets, double* out) {
    u32 leaf = box;
    for (u32 children = d.cells[box].child_count; children; children = d.cells[leaf].child_count) {
        leaf = d.cells[leaf].first_child;
        while ((of_targets ? d.cells[leaf].target_end : d.cells[leaf].source_end) <= k) leaf++;
    }
    Point p = (of_targets ? d.targets : d.sources)[k];
    double within[3] = {p.x, p.y, p.z};
    const double* from = d.centres + 3 * (u64)box;
    const double* to = d.centres + 3 * (u64)leaf;
    for (u32 a = 0; a < 3; a++) out[a] = within[a] + (to[a] - from[a]) / d.side;
}

// A source of box s and a target of box t, drawn by `seed`, relative to the boxes' centres in units
// of the root's side; returns how many such pairs there are.
__device__ double draw(const Sampled& d, uint2 pair, u64 seed, double* source, double* target, double* between) {
    Cell s = d.cells[pair.x], t = d.cells[pair.y];
    u32 n = s.source_end - s.source_begin, m = t.target_end - t.target_begin;
    relative(d, pair.x, s.source_begin + below(mix(seed), n), false, source);
    relative(d, pair.y, t.target_begin + below(mix(seed ^ 0xabcdef), m), true, target);
    for (u32 k = 0; k < 3; k++)
        between[k] = (d.centres[3 * (u64)pair.y + k] - d.centres[3 * (u64)pair.x + k]) / d.side;
    return (double)n * (double)m;
}

__device__ double warp_sum(double v) {
    for (u32 d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    return v;
}

// One block per batch, about `samples` draws, at most CAPACITY. Which pairs are drawn depends on
// the pairs themselves, not on their order, which changes from run to run. out: [batch][P_MAX + 3]:
// for p' = 1 .. P_MAX the sum over the batch's pairs of points of the squared error of 1/r, at
// [p'], and the sums of 1/r^2 and 1/r^4 at [P_MAX + 1], [P_MAX + 2]. factors: sqrt((n+k)! ...) of a
// translation along z for m <= k <= n < degrees, at most P_MAX, m after m. recurrence: what z times
// the harmonic of degree n - 1 and r^2 times that of degree n - 2 count in the one of degree n, for
// m < n < degrees, m after m. Beyond `degrees` errors are not measured.
//
// One thread per draw. Harmonics of one order m, of all degrees, lie in shared memory, [target,
// source][degree][thread], before what is drawn: in a thread's own memory they would go through the
// L2 cache, three quarters of the time of this kernel.
extern "C" __global__ void __launch_bounds__(THREADS)
    truncation_far(const Cell* cells, const double* centres, const Point* sources, const Point* targets, double side,
                   const uint2* pairs, const u32* begins, u32 samples, u32 degrees, const double* factors,
                   const double2* recurrence, double* out) {
    extern __shared__ double2 harmonics[];
    __shared__ double sums[P_MAX + 3];
    // A pair, and above 16 bits which of its draws: more than one only where pairs are few.
    u32* drawn = (u32*)(harmonics + 2 * degrees * THREADS);
    __shared__ u32 taken;
    if (threadIdx.x == 0) taken = 0;
    Sampled d = {cells, centres, sources, targets, side};
    for (u32 i = threadIdx.x; i < P_MAX + 3; i += THREADS) sums[i] = 0.0;
    __syncthreads();
    u32 begin = begins[blockIdx.x], count = begins[blockIdx.x + 1] - begin;
    double share = (double)samples / count;
    bool repeats = share > 1.0;
    for (u32 i = threadIdx.x; i < count; i += THREADS) {
        u32 times = draws(share, hash_of(pairs[begin + i]));
        u32 place = times ? atomicAdd(&taken, times) : 0;
        for (u32 k = 0; k < times && place + k < CAPACITY; k++) drawn[place + k] = repeats ? i | k << 16 : i;
    }
    __syncthreads();
    samples = min(taken, CAPACITY);
    double2* xs = harmonics + threadIdx.x;
    double2* ys = xs + degrees * THREADS;
    double errors[P_MAX], squares = 0.0, fourths = 0.0;
    for (u32 n = 0; n < P_MAX; n++) errors[n] = 0.0;
    for (u32 sample = threadIdx.x; sample < samples; sample += THREADS) {
        u32 which = drawn[sample];
        uint2 pair = pairs[begin + (repeats ? which & 0xffff : which)];
        u64 seed = mix(hash_of(pair) + (repeats ? which >> 16 : 0));
        double source[3], target[3], between[3];
        double weight = draw(d, pair, seed, source, target, between) * count / samples;
        double r2 = 0.0, distance = 0.0;
        for (u32 k = 0; k < 3; k++) {
            double v = between[k] + target[k] - source[k];
            r2 += v * v;
            distance += between[k] * between[k];
        }
        distance = sqrt(distance);
        // A frame whose z-axis is the translation; lengths in units of it.
        double e[3][3];
        u32 axis = fabs(between[0]) > fabs(between[1]) ? 1 : 0;
        double along = between[axis] / distance, norm = 0.0;
        for (u32 k = 0; k < 3; k++) {
            e[2][k] = between[k] / distance;
            e[0][k] = (k == axis ? 1.0 : 0.0) - along * e[2][k];
            norm += e[0][k] * e[0][k];
        }
        for (u32 k = 0; k < 3; k++) e[0][k] /= sqrt(norm);
        for (u32 k = 0; k < 3; k++)
            e[1][k] = e[2][(k + 1) % 3] * e[0][(k + 2) % 3] - e[2][(k + 2) % 3] * e[0][(k + 1) % 3];
        double y[3], x[3];
        for (u32 a = 0; a < 3; a++) {
            y[a] = x[a] = 0.0;
            for (u32 k = 0; k < 3; k++) {
                y[a] += e[a][k] * source[k] / distance;
                x[a] += e[a][k] * target[k] / distance;
            }
        }
        double y2 = y[0] * y[0] + y[1] * y[1] + y[2] * y[2], x2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
        double terms[P_MAX];
        for (u32 n = 0; n < P_MAX; n++) terms[n] = 0.0;
        double2 first_y = make_double2(1.0, 0.0), first_x = make_double2(1.0, 0.0);
        const double* factor = factors;
        const double2* step = recurrence;
        for (u32 m = 0; m < degrees; m++) {
            if (m) {
                double f = m == 1 ? 1.0 : sqrt((2.0 * m - 1.0) / (2.0 * m));
                first_y = make_double2(f * (y[0] * first_y.x - y[1] * first_y.y), f * (y[0] * first_y.y + y[1] * first_y.x));
                first_x = make_double2(f * (x[0] * first_x.x - x[1] * first_x.y), f * (x[0] * first_x.y + x[1] * first_x.x));
            }
            // Those of the target with the sign (-1)^(n + m).
            double2 yn = first_y, xn = first_x, y1 = {0.0, 0.0}, x1 = {0.0, 0.0};
            for (u32 n = m; n < degrees; n++) {
                if (n > m) {
                    double2 ab = *step++;
                    double ay = ab.x * y[2], by = ab.y * y2, ax = -ab.x * x[2], bx = ab.y * x2;
                    double2 y_next = make_double2(ay * yn.x - by * y1.x, ay * yn.y - by * y1.y);
                    double2 x_next = make_double2(ax * xn.x - bx * x1.x, ax * xn.y - bx * x1.y);
                    y1 = yn;
                    x1 = xn;
                    yn = y_next;
                    xn = x_next;
                }
                ys[n * THREADS] = yn;
                xs[n * THREADS] = xn;
                double sum = 0.0;
#pragma unroll 4
                for (u32 k = m; k < n; k++) {
                    double2 yk = ys[k * THREADS], xk = xs[k * THREADS];
                    double v = xn.x * yk.x + xn.y * yk.y + xk.x * yn.x + xk.y * yn.y;
                    sum += factor[k - m] * v;
                }
                sum += factor[n - m] * (xn.x * yn.x + xn.y * yn.y);
                factor += n - m + 1;
                terms[n] += sum;
            }
        }
        double error = 1.0 / sqrt(r2);
        squares += weight / r2;
        fourths += weight / (r2 * r2);
        for (u32 n = 0; n < degrees; n++) {
            error -= terms[n] / distance;
            errors[n] += weight * error * error;
        }
    }
    // All lanes of a warp, those without a draw too.
    for (u32 n = 0; n < P_MAX + 2; n++) {
        double own = warp_sum(n < P_MAX ? errors[n] : n == P_MAX ? squares : fourths);
        if ((threadIdx.x & 31) == 0) atomicAdd(&sums[n + 1], own);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < P_MAX + 3; i += THREADS) out[(u64)blockIdx.x * (P_MAX + 3) + i] = sums[i];
}

// Sums of 1/r^2 and 1/r^4 over near pairs of points, estimated from about as many draws as there
// are threads; distances count as ENCOUNTER of the target box's side at least, as in
// crates/fmm/src/truncation/norms.rs. One warp a target box, whose near boxes are entries begins[t]
// to begins[t + 1]; count: of all entries. out: [2], zeros.
extern "C" __global__ void truncation_near(const Cell* cells, const double* centres, const Point* sources,
                                           const Point* targets, double side, const u32* begins, const u32* entries,
                                           u32 boxes, u32 count, double* out) {
    Sampled d = {cells, centres, sources, targets, side};
    double share = (double)gridDim.x * blockDim.x / count;
    double sums[2] = {0.0, 0.0};
    u32 lane = threadIdx.x & 31, warps = gridDim.x * (blockDim.x / 32);
    for (u32 t = (blockIdx.x * blockDim.x + threadIdx.x) / 32; t < boxes; t += warps) {
        for (u32 e = begins[t] + lane, end = begins[t + 1]; e < end; e += 32) {
            uint2 pair = make_uint2(entries[e], t);
            u32 times = draws(share, hash_of(pair));
            double least = ENCOUNTER * side_of(cells[pair.y].level);
            for (u32 k = 0; k < times; k++) {
                double source[3], target[3], between[3], r2 = 0.0;
                double weight = draw(d, pair, mix(hash_of(pair) + k), source, target, between) / share;
                for (u32 a = 0; a < 3; a++) {
                    double v = between[a] + target[a] - source[a];
                    r2 += v * v;
                }
                if (r2 <= 0.0) continue;
                r2 = fmax(r2, least * least);
                sums[0] += weight / r2;
                sums[1] += weight / (r2 * r2);
            }
        }
    }
    double two = warp_sum(sums[0]), four = warp_sum(sums[1]);
    if ((threadIdx.x & 31) == 0) {
        atomicAdd(&out[0], two);
        atomicAdd(&out[1], four);
    }
}
