// L2P: local expansions of the leaves at their targets (docs/math.md, "L2P"). CPU twin:
// crates/fmm/src/l2p.rs.
//
// One warp a leaf, one target a lane. Shared memory has, column after column, what each step needs:
// both coefficients and the two factors of the recursion, and the coefficients of the three
// derivatives, which are expansions too; with screening also the radial functions at each target.
#include "cell.cuh"
#include "harmonics.cuh"
#include "levels.cuh"
#include "screening.cuh"

// Whether gradients are asked for; whether the kernel is that of Yukawa.
#if !defined(GRADIENT) || !defined(SCREENED)
#error macros GRADIENT and SCREENED (0 or 1) are needed
#endif

// A step: cosine, sine, factors.
struct __align__(16) Step {
    REAL c, s, a, b;
};

// Of the derivatives: (cosine, sine) for x, y, z.
struct Slope {
    REAL v[6];
};

// Adds to potential [m] and gradient [3][m]. radials: of each level, which then has derivatives of
// its own.
extern "C" __global__ void l2p(const Cell* cells, u32 count, const Level* levels, const Point* targets,
                               const REAL* diagonal, const REAL* columns, u32 table_p, const Derivative* derivatives,
                               u32 end_x, u32 end_y, u32 end_z, const Radial* radials, REAL* potential, REAL* gradient,
                               u64 m_targets) {
    extern __shared__ __align__(16) unsigned char memory[];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    u32 i = blockIdx.x * warps + warp;
    u32 most = table_p * (table_p + 1) / 2;
    Step* steps = (Step*)memory + (u64)warp * most;
#if GRADIENT
    Slope* slopes = (Slope*)((Step*)memory + (u64)warps * most) + (u64)warp * most;
#endif
#if SCREENED
    // Behind what all warps have of steps and slopes.
    REAL* functions = (REAL*)memory + (4 + 6 * GRADIENT) * ((u64)warps * most) + (u64)warp * 32 * table_p + lane;
#endif
    if (i >= count) return;
    Cell cell = cells[i];
    Level level = levels[cell.level];
    if (cell.child_count || cell.target_begin == cell.target_end || level.p == 0) return;
    u32 p = level.p;
    Recursion table = {diagonal, columns, table_p};
    const REAL* from = expansion(level, i);
#if SCREENED
    Radial radial = radials[cell.level];
#endif
    for (u32 k = lane; k < p * p; k += 32) {
        bool is_sine;
        u32 step = step_of(k, p, is_sine);
        REAL v = from[k];
        if (is_sine)
            steps[step].s = v;
        else
            steps[step].c = v;
        u32 n = (u32)sqrtf((float)k + 0.5f);
        u32 m = is_sine ? k - n * n + 1 : k - n * n - n;
        if (!is_sine) {
            bool last = n + 1 >= p;
            const REAL* factors = column(table, m) + 2 * (n - m);
            steps[step].a = last ? (REAL)0 : factors[0];
            steps[step].b = last ? (REAL)0 : factors[1];
            if (m == 0) steps[step].s = 0;
        }
    }
#if GRADIENT
    for (u32 k = lane; k < p * (p + 1) / 2; k += 32)
        for (u32 c = 0; c < 6; c++) slopes[k].v[c] = 0;
    __syncwarp();
#if SCREENED
    derivatives = (const Derivative*)radial.derivatives;
    u32 begins[4] = {0, radial.ends[0], radial.ends[1], radial.ends[2]};
#else
    u32 begins[4] = {0, end_x, end_y, end_z};
#endif
    for (u32 k = 0; k < 3; k++)
        for (u32 e = begins[k] + lane; e < begins[k + 1]; e += 32) {
            Derivative d = derivatives[e];
            if (d.row >= p * p) continue;
            bool is_sine;
            u32 step = step_of(d.column, p, is_sine);
            atomicAdd(&slopes[step].v[2 * k + is_sine], d.factor * from[d.row]);
        }
#endif
    __syncwarp();
    REAL scale = (REAL)(1.0 / side_of(cell.level));
    for (u32 target = cell.target_begin + lane; target < cell.target_end; target += 32) {
        Point point = targets[target];
        REAL x = point.x * scale, y = point.y * scale, z = point.z * scale;
        REAL r2 = z * z + (y * y + x * x);
        REAL sum = 0;
#if SCREENED
        radial_functions(radial, p, r2, functions, 32);
#endif
#if GRADIENT
        REAL gx = 0, gy = 0, gz = 0;
        const Slope* slope = slopes;
#endif
        REAL c = 1, s = 0;
        const Step* step = steps;
        for (u32 m = 0; m < p; m++) {
            raise_order(table, m, x, y, c, s);
            REAL c1 = c, c2 = 0, s1 = s, s2 = 0;
#pragma unroll 4
            for (u32 n = m; n < p; n++) {
                Step e = *step++;
#if SCREENED
                REAL function = functions[32 * n];
                REAL hc = c1 * function, hs = s1 * function;
#else
                REAL hc = c1, hs = s1;
#endif
                sum = fused(e.s, hs, fused(e.c, hc, sum));
#if GRADIENT
                const REAL* v = (slope++)->v;
                gx = fused(v[1], hs, fused(v[0], hc, gx));
                gy = fused(v[3], hs, fused(v[2], hc, gy));
                gz = fused(v[5], hs, fused(v[4], hc, gz));
#endif
                REAL a = e.a * z, b = e.b * r2;
                REAL c0 = a * c1 - b * c2, s0 = a * s1 - b * s2;
                c2 = c1;
                c1 = c0;
                s2 = s1;
                s1 = s0;
            }
        }
        atomicAdd(&potential[target], sum * scale);
#if GRADIENT
        atomicAdd(&gradient[target], gx * scale * scale);
        atomicAdd(&gradient[m_targets + target], gy * scale * scale);
        atomicAdd(&gradient[2 * m_targets + target], gz * scale * scale);
#endif
    }
}
