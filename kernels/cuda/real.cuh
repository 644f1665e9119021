// The floating-point format of near field and expansions: REAL is float or double (macro PRECISION:
// 32 or 64). Kernels that do without have no such macro, and no REAL.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

#ifdef PRECISION
#if PRECISION == 32
typedef float REAL;
#else
typedef double REAL;
#endif
struct __align__(16) Point { REAL x, y, z, w; };

// 16 bytes at once.
__device__ __forceinline__ void load_wide(const REAL* from, REAL* to) { *(int4*)to = *(const int4*)from; }
#endif

// Fused multiply-add, the same in every kernel, so that two kernels that decide by a distance
// decide alike.
__device__ __forceinline__ float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

// 1/sqrt(x) for x > 0: the special-function unit's, good to 1e-7.
__device__ __forceinline__ float inverse_root(float x) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// In double precision the unit's answer is good to about 20 bits; one step of Halley's third-order
// method completes it.
__device__ __forceinline__ double inverse_root(double x) {
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    double e = __fma_rn(-x * y, y, 1.0);
    return __fma_rn(__fma_rn(0.375, e, 0.5) * e, y, y);
}

// 1/distance as the near field's loops take it. Pairs up to `threshold` (squared) are put right
// elsewhere: in single precision they count as if they were that far apart, in double precision
// they contribute nothing.
__device__ __forceinline__ float inverse_distance(float r2, float threshold) {
    return inverse_root(fmaxf(r2, threshold));
}
__device__ __forceinline__ double inverse_distance(double r2, double threshold) {
    return r2 > threshold ? inverse_root(r2) : 0.0;
}
