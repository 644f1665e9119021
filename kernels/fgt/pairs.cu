// Sums over pairs of points. CPU twin: crates/fgt/src/pairs.rs.
#include "real.cuh"

// Targets of one box, or some of them, the runs of sources that reach them, and the corner of the
// box, from which distances are taken.
struct Job {
    double corner[3];
    u32 begin, end;
    u32 first_run, last_run;
};

// 2^t for t <= 0; the special-function unit's, good to 2e-7.
__device__ __forceinline__ float power(float t) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(t));
    return y;
}

// 2^n e^r, t = n + r / ln 2: to 1e-8 with 6 terms of the exponential series beyond the first, if
// ROUGH, fitted as crates/simd does; to the last digits otherwise.
__device__ __forceinline__ double power(double t) {
    const double shift = 6755399441055744.0;  // 1.5 * 2^52
    t = fmax(t, -1021.0);
    double shifted = t + shift;
    double r = (t - (shifted - shift)) * 0.6931471805599453;
#if ROUGH
    double p = 0.0013926183587713495;
    p = __fma_rn(p, r, 0.008363179052722577);
    p = __fma_rn(p, r, 0.041666554617204575);
    p = __fma_rn(p, r, 0.16666576989698776);
    p = __fma_rn(p, r, 0.5);
#else
    double p = 2.510038549551032e-8;
    p = __fma_rn(p, r, 2.7620088445409748e-7);
    p = __fma_rn(p, r, 2.7557268459997065e-6);
    p = __fma_rn(p, r, 0.000024801521295954375);
    p = __fma_rn(p, r, 0.00019841269863053617);
    p = __fma_rn(p, r, 0.0013888888917213717);
    p = __fma_rn(p, r, 0.008333333333330062);
    p = __fma_rn(p, r, 0.04166666666662413);
    p = __fma_rn(p, r, 0.16666666666666674);
    p = __fma_rn(p, r, 0.5000000000000001);
#endif
    p = __fma_rn(r * r, p, r) + 1.0;
    return __hiloint2double(__double2hiint(p) + (__double2loint(shifted) << 20), __double2loint(p));
}

// Ends of the sources of up to THREADS runs, laid end to end: one run a thread. All threads.
__device__ __forceinline__ u32 lay_out(u32 length, u32* ends) {
    __shared__ u32 of_warps[THREADS / 32];
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, end = length;
    for (u32 d = 1; d < 32; d *= 2) {
        u32 before = __shfl_up_sync(~0u, end, d);
        if (lane >= d) end += before;
    }
    if (lane == 31) of_warps[warp] = end;
    __syncthreads();
    for (u32 w = 0; w < warp; w++) end += of_warps[w];
    ends[threadIdx.x] = end;
    __syncthreads();
    return ends[THREADS - 1];
}

constexpr u32 COLUMNS = 1 + (GRADIENT ? DIMENSIONS : 0);

// One job of up to OWN * THREADS targets a block; blockIdx.y is one of `slices` parts of the
// sources. exponents: -1 / bandwidth. charges: [DENSITIES][stride], sums:
// [DENSITIES][slices][COLUMNS][m], both in sorted order; sums are overwritten at the jobs' targets.
extern "C" __global__ void __launch_bounds__(THREADS)
    pairs(const Job* jobs, const uint2* runs, const double* x, const double* y, const double* z, u32 stride,
          const double* exponents, const REAL* charges, const double* target_x, const double* target_y,
          const double* target_z, u32 m, u32 slices, REAL* sums) {
    __shared__ Point tile[THREADS];
    __shared__ REAL strengths[DENSITIES][THREADS];
    __shared__ REAL partial[THREADS];
    __shared__ u32 ends[THREADS], last_of_run[THREADS];
    Job job = jobs[blockIdx.x];
    u32 count = job.end - job.begin;
    // Threads of a target share its sources.
    u32 lanes = 1;
    while (lanes * OWN < count) lanes *= 2;
    u32 shares = THREADS / lanes, share = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    bool active = lane < count;
    REAL at[OWN][3] = {};
    for (u32 own = 0; own < OWN; own++) {
        // Past the last the last once more.
        u32 i = job.begin + min(lane + own * lanes, count - 1);
        if (DIMENSIONS == 3) at[own][0] = (REAL)(target_x[i] - job.corner[0]);
        if (DIMENSIONS >= 2) at[own][1] = (REAL)(target_y[i] - job.corner[1]);
        at[own][2] = (REAL)(target_z[i] - job.corner[2]);
    }
    REAL sum[OWN][DENSITIES][COLUMNS] = {};
    u32 turn = 0;
    for (u32 r = job.first_run; r < job.last_run; r += THREADS) {
        uint2 run = r + threadIdx.x < job.last_run ? runs[r + threadIdx.x] : make_uint2(0, 0);
        __syncthreads();
        last_of_run[threadIdx.x] = run.y;
        u32 total = lay_out(run.y - run.x, ends);
        for (u32 begin = 0; begin < total; begin += THREADS) {
            if (turn++ % slices != blockIdx.y) continue;
            u32 some = min(total - begin, (u32)THREADS);
            __syncthreads();
            if (threadIdx.x < some) {
                // The first run that ends after it.
                u32 place = begin + threadIdx.x, found = 0;
                for (u32 step = THREADS / 2; step > 0; step /= 2)
                    if (ends[found + step - 1] <= place) found += step;
                u32 j = last_of_run[found] - (ends[found] - place);
                Point q;
                q.x = DIMENSIONS == 3 ? (REAL)(x[j] - job.corner[0]) : 0;
                q.y = DIMENSIONS >= 2 ? (REAL)(y[j] - job.corner[1]) : 0;
                q.z = (REAL)(z[j] - job.corner[2]);
                q.w = (REAL)(exponents[j] * 1.4426950408889634);
                tile[threadIdx.x] = q;
                for (u32 k = 0; k < DENSITIES; k++) strengths[k][threadIdx.x] = charges[(u64)k * stride + j];
            }
            __syncthreads();
            if (!active) continue;
#pragma unroll 4
            for (u32 s = share; s < some; s += shares) {
                Point q = tile[s];
                for (u32 own = 0; own < OWN; own++) {
                    REAL dx = at[own][0] - q.x, dy = at[own][1] - q.y, dz = at[own][2] - q.z;
                    REAL square = dz * dz;
                    if (DIMENSIONS >= 2) square = fused(dy, dy, square);
                    if (DIMENSIONS == 3) square = fused(dx, dx, square);
                    REAL gaussian = power(square * q.w);
                    for (u32 k = 0; k < DENSITIES; k++) {
                        REAL* sums_here = sum[own][k];
#if GRADIENT
                        REAL term = strengths[k][s] * gaussian, slope = term * q.w;
                        sums_here[0] += term;
                        if (DIMENSIONS == 3) sums_here[COLUMNS - 3] = fused(slope, dx, sums_here[COLUMNS - 3]);
                        if (DIMENSIONS >= 2) sums_here[COLUMNS - 2] = fused(slope, dy, sums_here[COLUMNS - 2]);
                        sums_here[COLUMNS - 1] = fused(slope, dz, sums_here[COLUMNS - 1]);
#else
                        sums_here[0] = fused(strengths[k][s], gaussian, sums_here[0]);
#endif
                    }
                }
            }
        }
    }
    for (u32 own = 0; own < OWN; own++) {
        u32 target = own * lanes + threadIdx.x;
        for (u32 k = 0; k < DENSITIES; k++) {
            for (u32 column = 0; column < COLUMNS; column++) {
                __syncthreads();
                partial[threadIdx.x] = sum[own][k][column];
                __syncthreads();
                if (threadIdx.x >= lanes || target >= count) continue;
                REAL all = 0;
                for (u32 s = 0; s < shares; s++) all += partial[s * lanes + threadIdx.x];
                // Exponents are in powers of two: slopes are 2 ln 2 times what was summed.
                if (column) all *= (REAL)1.3862943611198906;
                u64 row = ((u64)k * slices + blockIdx.y) * COLUMNS + column;
                sums[row * m + job.begin + target] = all;
            }
        }
    }
}
