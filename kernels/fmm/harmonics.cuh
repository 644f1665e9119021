// Regular solid harmonics column by column (docs/math.md, "Expansions"): for one order m, the
// degrees n = m .. p-1.
#pragma once
#include "real.cuh"

// Factors of the recursions, as crates/fmm/src/gpu/tables.rs lays them out.
struct Recursion {
    const REAL* diagonal;  // [p]
    const REAL* columns;   // for m, for n = m+1 .. p: two factors
    u32 p;                 // that the tables were made for
};

// Cosine and sine parts of degree and order m, from those of m - 1; m = 0 starts with (1, 0).
__device__ __forceinline__ void raise_order(const Recursion& t, u32 m, REAL x, REAL y, REAL& c, REAL& s) {
    if (m == 0) {
        c = 1;
        s = 0;
        return;
    }
    REAL f = t.diagonal[m];
    REAL cx = x * f, cy = y * f;
    REAL next = cx * c - cy * s;
    s = cx * s + cy * c;
    c = next;
}

__device__ __forceinline__ const REAL* column(const Recursion& t, u32 m) {
    return t.columns + 2 * (m * (t.p - 1) - m * (m - 1) / 2);
}

// Place of S(n,m), m >= 1, and of C(n,m).
__device__ __forceinline__ u32 sine(u32 n, u32 m) { return n * n + m - 1; }
__device__ __forceinline__ u32 cosine(u32 n, u32 m) { return n * n + n + m; }

// Which step of a walk through columns of truncation number p a place of an expansion belongs to,
// and whether as its sine part.
__device__ __forceinline__ u32 step_of(u32 place, u32 p, bool& is_sine) {
    u32 n = (u32)sqrtf((float)place + 0.5f);
    u32 rest = place - n * n;
    is_sine = rest < n;
    u32 m = is_sine ? rest + 1 : rest - n;
    return m * p - m * (m - 1) / 2 + n - m;
}

// One entry of a derivative: d(harmonic row)/d(axis) takes `factor` times harmonic `column`.
struct Derivative {
    u32 row, column;
    REAL factor;
};
