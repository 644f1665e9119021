// Errors of truncated translations, measured on pairs of the plan's own points (docs/math.md, "Truncation"). CPU twin:
// crates/fmm/src/truncation/measure.rs.
#include "shared/cell.cuh"

#define THREADS 128
#define SAMPLES 4096
#ifndef P_MAX
#define P_MAX 20
#endif

struct Sampled {
    const Cell* cells;
    const double* centres;
    const double* source_points;
    const u32* source_index;
    const double* target_points;
    const u32* target_index;
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

// A source of box s and a target of box t, drawn by `seed`, relative to the boxes' centres in units of the root's side; returns
// how many such pairs there are.
__device__ double draw(const Sampled& d, uint2 pair, u64 seed, double* source, double* target, double* between) {
    Cell s = d.cells[pair.x], t = d.cells[pair.y];
    u32 n = s.source_end - s.source_begin, m = t.target_end - t.target_begin;
    const double* y = d.source_points + 3 * (u64)d.source_index[s.source_begin + below(mix(seed), n)];
    const double* x = d.target_points + 3 * (u64)d.target_index[t.target_begin + below(mix(seed ^ 0xabcdef), m)];
    for (u32 k = 0; k < 3; k++) {
        double from = d.centres[3 * (u64)pair.x + k], to = d.centres[3 * (u64)pair.y + k];
        source[k] = (y[k] - from) / d.side;
        target[k] = (x[k] - to) / d.side;
        between[k] = (to - from) / d.side;
    }
    return (double)n * (double)m;
}

__device__ double warp_sum(double v) {
    for (u32 d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    return v;
}

// One block a batch, about `samples` draws, at most SAMPLES. Which pairs are drawn hangs on the pairs themselves, not on their order,
// which changes from run to run. out: [batch][P_MAX + 3]: for p' = 1 .. P_MAX the sum over the batch's pairs of points of the
// squared error of 1/r, at [p'], and the sums of 1/r^2 and 1/r^4 at [P_MAX + 1], [P_MAX + 2]. factors: sqrt((n+k)! ...) of a
// translation along z for m <= k <= n < P_MAX, m after m.
extern "C" __global__ void truncation_far(const Cell* cells, const double* centres, const double* source_points,
                                          const u32* source_index, const double* target_points,
                                          const u32* target_index, double side, const uint2* pairs, const u32* begins,
                                          u32 samples, const double* factors, double* out) {
    __shared__ double sums[P_MAX + 3];
    // By chance a few more than wanted.
    const u32 CAPACITY = SAMPLES + 512;
    __shared__ uint2 drawn[CAPACITY];
    __shared__ u32 taken;
    if (threadIdx.x == 0) taken = 0;
    Sampled d = {cells, centres, source_points, source_index, target_points, target_index, side};
    for (u32 i = threadIdx.x; i < P_MAX + 3; i += THREADS) sums[i] = 0.0;
    __syncthreads();
    u32 begin = begins[blockIdx.x], count = begins[blockIdx.x + 1] - begin;
    double share = (double)samples / count;
    for (u32 i = threadIdx.x; i < count; i += THREADS) {
        u32 times = draws(share, hash_of(pairs[begin + i]));
        u32 place = times ? atomicAdd(&taken, times) : 0;
        for (u32 k = 0; k < times && place + k < CAPACITY; k++) drawn[place + k] = make_uint2(i, k);
    }
    __syncthreads();
    samples = min(taken, CAPACITY);
    for (u32 sample = threadIdx.x; sample < samples; sample += THREADS) {
        uint2 pair = pairs[begin + drawn[sample].x];
        u64 seed = mix(hash_of(pair) + drawn[sample].y);
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
        double terms[P_MAX], cy[P_MAX], sy[P_MAX], cx[P_MAX], sx[P_MAX];
        for (u32 n = 0; n < P_MAX; n++) terms[n] = 0.0;
        double dcy = 1.0, dsy = 0.0, dcx = 1.0, dsx = 0.0;
        const double* factor = factors;
        for (u32 m = 0; m < P_MAX; m++) {
            if (m) {
                double f = m == 1 ? 1.0 : sqrt((2.0 * m - 1.0) / (2.0 * m));
                double next = f * (y[0] * dcy - y[1] * dsy);
                dsy = f * (y[0] * dsy + y[1] * dcy);
                dcy = next;
                next = f * (x[0] * dcx - x[1] * dsx);
                dsx = f * (x[0] * dsx + x[1] * dcx);
                dcx = next;
            }
            cy[m] = dcy;
            sy[m] = dsy;
            cx[m] = dcx;
            sx[m] = dsx;
            for (u32 n = m; n < P_MAX; n++) {
                if (n > m) {
                    double root = sqrt((double)(n - m) * (double)(n + m));
                    double a = (2.0 * n - 1.0) / root;
                    double b = n - 1 > m ? sqrt((double)(n - 1 - m) * (double)(n - 1 + m)) / root : 0.0;
                    u32 two = n - 1 > m ? n - 2 : m;
                    cy[n] = a * y[2] * cy[n - 1] - b * y2 * cy[two];
                    sy[n] = a * y[2] * sy[n - 1] - b * y2 * sy[two];
                    cx[n] = a * x[2] * cx[n - 1] - b * x2 * cx[two];
                    sx[n] = a * x[2] * sx[n - 1] - b * x2 * sx[two];
                }
                double sum = 0.0;
                double sign_n = (n + m) & 1 ? -1.0 : 1.0;
                for (u32 k = m; k <= n; k++) {
                    double sign_k = (k + m) & 1 ? -1.0 : 1.0;
                    double v = sign_n * (cx[n] * cy[k] + sx[n] * sy[k]);
                    if (k < n) v += sign_k * (cx[k] * cy[n] + sx[k] * sy[n]);
                    sum += factor[k - m] * v;
                }
                factor += n - m + 1;
                terms[n] += sum;
            }
        }
        double error = 1.0 / sqrt(r2);
        atomicAdd(&sums[P_MAX + 1], weight / r2);
        atomicAdd(&sums[P_MAX + 2], weight / (r2 * r2));
        for (u32 n = 0; n < P_MAX; n++) {
            error -= terms[n] / distance;
            atomicAdd(&sums[n + 1], weight * error * error);
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < P_MAX + 3; i += THREADS) out[(u64)blockIdx.x * (P_MAX + 3) + i] = sums[i];
}

// Sums of 1/r^2 and 1/r^4 over near pairs of points, estimated from about gridDim.x * THREADS draws. out: [2],
// zeros.
extern "C" __global__ void truncation_near(const Cell* cells, const double* centres, const double* source_points,
                                           const u32* source_index, const double* target_points,
                                           const u32* target_index, double side, const uint2* pairs, u32 count,
                                           double* out) {
    Sampled d = {cells, centres, source_points, source_index, target_points, target_index, side};
    double share = (double)gridDim.x * THREADS / count;
    double sums[2] = {0.0, 0.0};
    u64 step = (u64)gridDim.x * THREADS;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < count; i += step) {
        uint2 pair = pairs[i];
        u32 times = draws(share, hash_of(pair));
        for (u32 k = 0; k < times; k++) {
            double source[3], target[3], between[3], r2 = 0.0;
            double weight = draw(d, pair, mix(hash_of(pair) + k), source, target, between) / share;
            for (u32 a = 0; a < 3; a++) {
                double v = between[a] + target[a] - source[a];
                r2 += v * v;
            }
            sums[0] += r2 > 0.0 ? weight / r2 : 0.0;
            sums[1] += r2 > 0.0 ? weight / (r2 * r2) : 0.0;
        }
    }
    double two = warp_sum(sums[0]), four = warp_sum(sums[1]);
    if ((threadIdx.x & 31) == 0) {
        atomicAdd(&out[0], two);
        atomicAdd(&out[1], four);
    }
}
