// How the Yukawa kernel exp(-kappa r) / r screens pairs and expansions (docs/math.md, "Screened
// sums"). CPU twins: crates/fmm/src/p2p/distances.rs, crates/fmm/src/radial.rs.
#pragma once
#include "real.cuh"

// exp(-kappa r); in single precision the special-function unit's, whose error and that of its
// argument are at most 1e-7 of 1/r where they are largest.
__device__ __forceinline__ float decay(float kappa, float r) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(-1.44269504088896341f * kappa * r));
    return y;
}
__device__ __forceinline__ double decay(double kappa, double r) { return exp(-kappa * r); }

// What screening makes of the expansions of one level, as crates/fmm/src/gpu/radials.rs declares
// it.
struct __align__(16) Radial {
    u64 series;       // address of two power series, one after the other, lowest power first
    u64 ratios;       // address of two factors for each degree but the first
    u64 derivatives;  // address of the entries of the derivatives by x, y and z
    u32 terms[2];     // of each series
    u32 ends[3];      // of the entries of each derivative
    u32 unused;
};

// Radial functions of degrees 0 .. p-1 at a squared distance from the centre in units of the side;
// that of degree n to values[n * pitch].
__device__ __forceinline__ void radial_functions(const Radial& of, u32 p, REAL r2, REAL* values, u32 pitch) {
    const REAL* series = (const REAL*)of.series;
    // In units of the corners' distance.
    REAL v2 = r2 * (REAL)(4.0 / 3.0), here = 0, above = 0;
    for (u32 j = of.terms[0]; j > 0; j--) here = fused(here, v2, series[j - 1]);
    series += of.terms[0];
    for (u32 j = of.terms[1]; j > 0; j--) above = fused(above, v2, series[j - 1]);
    const REAL* ratios = (const REAL*)of.ratios;
    values[(p - 1) * pitch] = here;
    for (u32 n = p - 1; n > 0; n--) {
        REAL below = fused(r2 * ratios[2 * n - 1], above, ratios[2 * n - 2] * here);
        above = here;
        here = below;
        values[(n - 1) * pitch] = here;
    }
}
