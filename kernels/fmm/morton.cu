// The root cube and Morton keys of points. CPU twins: crates/fmm/src/tree.rs, morton.rs.
#include "cell.cuh"

// points: [n][3]; out: [blocks][6], the smallest and largest coordinates.
extern "C" __global__ void bounds(const double* points, u32 n, double* out) {
    __shared__ double parts[THREADS / 32][6];
    double low[3], high[3];
    for (u32 k = 0; k < 3; k++) {
        low[k] = __longlong_as_double(0x7ff0000000000000LL);
        high[k] = -low[k];
    }
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < n; i += (u64)gridDim.x * THREADS)
        for (u32 k = 0; k < 3; k++) {
            double v = points[3 * i + k];
            low[k] = fmin(low[k], v);
            high[k] = fmax(high[k], v);
        }
    for (u32 d = 16; d; d /= 2)
        for (u32 k = 0; k < 3; k++) {
            low[k] = fmin(low[k], __shfl_down_sync(~0u, low[k], d));
            high[k] = fmax(high[k], __shfl_down_sync(~0u, high[k], d));
        }
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (lane == 0)
        for (u32 k = 0; k < 3; k++) {
            parts[warp][k] = low[k];
            parts[warp][3 + k] = high[k];
        }
    __syncthreads();
    if (threadIdx.x < 6) {
        double v = parts[0][threadIdx.x];
        for (u32 w = 1; w < THREADS / 32; w++)
            v = threadIdx.x < 3 ? fmin(v, parts[w][threadIdx.x]) : fmax(v, parts[w][threadIdx.x]);
        out[6 * blockIdx.x + threadIdx.x] = v;
    }
}

// Puts two zero bits between the 21 low bits.
__device__ __forceinline__ u64 spread(u64 x) {
    x = (x | x << 32) & 0x001f00000000ffffULL;
    x = (x | x << 16) & 0x001f0000ff0000ffULL;
    x = (x | x << 8) & 0x100f00f00f00f00fULL;
    x = (x | x << 4) & 0x10c30c30c30c30c3ULL;
    return (x | x << 2) & 0x1249249249249249ULL;
}

// Of n points, which are number `first` and the following of all.
extern "C" __global__ void morton_keys(const double* points, u32 first, u32 n, double x, double y, double z, double scale,
                                       u64* keys, u32* index) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    double corner[3] = {x, y, z};
    u64 key = 0;
    for (u32 k = 0; k < 3; k++) {
        double scaled = (points[3 * i + k] - corner[k]) * scale;
        u64 place = scaled > 0.0 ? (u64)scaled : 0;
        if (place >= 1 << MAX_DEPTH) place = (1 << MAX_DEPTH) - 1;
        key |= spread(place) << k;
    }
    keys[first + i] = key;
    index[first + i] = first + (u32)i;
}

// out: [MAX_DEPTH + 1], at level l the number of neighbours in order that part at this level (their
// boxes differ first there).
extern "C" __global__ void partings(const u64* keys, u32 n, u32* out) {
    __shared__ u32 counts[MAX_DEPTH + 2];
    if (threadIdx.x < MAX_DEPTH + 2) counts[threadIdx.x] = 0;
    __syncthreads();
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i + 1 < n; i += (u64)gridDim.x * THREADS) {
        u64 differ = keys[i] ^ keys[i + 1];
        if (differ) atomicAdd(&counts[MAX_DEPTH - (63 - __clzll(differ)) / 3], 1);
    }
    __syncthreads();
    if (threadIdx.x < MAX_DEPTH + 1) atomicAdd(&out[threadIdx.x], counts[threadIdx.x]);
}
