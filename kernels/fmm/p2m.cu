// P2M: multipole expansions of the leaves (docs/math.md, "P2M"). CPU twin: crates/fmm/src/p2m.rs.
//
// One warp a leaf, 32 sources at a time, order by order: lanes make a column of harmonics, one
// source a lane, then sum rows of it, one harmonic a lane. Without dipoles the charge goes into the
// harmonics from the start.
#include "cell.cuh"
#include "harmonics.cuh"
#include "levels.cuh"
#include "screening.cuh"

// Whether there are dipoles; whether the kernel is that of Yukawa.
#if !defined(DIPOLES) || !defined(SCREENED)
#error macros DIPOLES and SCREENED (0 or 1) are needed
#endif

// Moments with charges (first) and with the components of dipoles.
#define SUMS (1 + 3 * DIPOLES)
#define WIDE (16 / (int)sizeof(REAL))
// Scalars between rows: rows begin in different banks, on 16 bytes.
#define PITCH (32 + WIDE)

// charges: [n] or null; dipoles: [3][n]; derivatives: three lists, the end of each in ends;
// radials: of each level, which then has derivatives of its own. Shared memory of a warp: a column,
// the strengths, radial functions, the sums.
extern "C" __global__ void p2m(const Cell* cells, u32 count, const Level* levels, const Point* sources,
                               const REAL* charges, const REAL* dipoles, u64 n, const REAL* diagonal, const REAL* columns,
                               u32 table_p, const Derivative* derivatives, u32 end_x, u32 end_y, u32 end_z,
                               const Radial* radials) {
    extern __shared__ __align__(16) unsigned char memory[];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    u32 i = blockIdx.x * warps + warp;
    u32 size = ((2 + SCREENED) * table_p + SUMS) * PITCH + SUMS * ((table_p * table_p + 3) & ~3u);
    REAL* rows = (REAL*)memory + (u64)warp * size;
    REAL* weights = rows + 2 * table_p * PITCH;
    REAL* sums = weights + (SUMS + SCREENED * table_p) * PITCH;
    if (i >= count) return;
    Cell cell = cells[i];
    Level level = levels[cell.level];
    if (cell.child_count || cell.source_begin == cell.source_end || level.p == 0) return;
    u32 p = level.p;
    Recursion table = {diagonal, columns, table_p};
    REAL scale = (REAL)(1.0 / side_of(cell.level));
#if SCREENED
    Radial radial = radials[cell.level];
    REAL* functions = weights + SUMS * PITCH + lane;
#endif
    for (u32 k = lane; k < SUMS * p * p; k += 32) sums[k] = 0;
    for (u32 begin = cell.source_begin; begin < cell.source_end; begin += 32) {
        bool valid = begin + lane < cell.source_end;
        u32 source = valid ? begin + lane : cell.source_end - 1;
        Point point = sources[source];
        REAL x = point.x * scale, y = point.y * scale, z = point.z * scale;
        REAL r2 = z * z + (y * y + x * x);
        REAL charge = valid && charges ? charges[source] : (REAL)0;
        REAL c = 1, s = 0;
#if DIPOLES
        weights[lane] = charge;
        for (u32 k = 0; k < 3; k++) weights[(1 + k) * PITCH + lane] = valid ? dipoles[k * n + source] * scale : (REAL)0;
#endif
#if SCREENED
        radial_functions(radial, p, r2, functions, PITCH);
#endif
        for (u32 m = 0; m < p; m++) {
            raise_order(table, m, x, y, c, s);
#if !DIPOLES
            if (m == 0) c = charge;
#endif
            const REAL* factors = column(table, m);
            REAL c1 = c, c2 = 0, s1 = s, s2 = 0;
            u32 height = p - m;
            REAL* cosines = rows + lane;
            REAL* sines = cosines + height * PITCH;
#pragma unroll 2
            for (u32 row = 0; row < height; row++) {
#if SCREENED
                REAL function = functions[(m + row) * PITCH];
                cosines[row * PITCH] = c1 * function;
                sines[row * PITCH] = s1 * function;
#else
                cosines[row * PITCH] = c1;
                sines[row * PITCH] = s1;
#endif
                REAL a = 0, b = 0;
                if (row + 1 < height) {
                    a = factors[2 * row] * z;
                    b = factors[2 * row + 1] * r2;
                }
                REAL c0 = a * c1 - b * c2, s0 = a * s1 - b * s2;
                c2 = c1;
                c1 = c0;
                s2 = s1;
                s1 = s0;
            }
            __syncwarp();
            u32 all = m ? 2 * height : height;
            for (u32 row = lane; row < all; row += 32) {
                REAL total[SUMS] = {};
#pragma unroll
                for (u32 j = 0; j < 32; j += WIDE) {
                    REAL h[WIDE];
                    load_wide(rows + row * PITCH + j, h);
#if DIPOLES
                    for (int k = 0; k < SUMS; k++) {
                        REAL w[WIDE];
                        load_wide(weights + k * PITCH + j, w);
                        for (int e = 0; e < WIDE; e++) total[k] = fused(h[e], w[e], total[k]);
                    }
#else
                    for (int e = 0; e < WIDE; e++) total[0] += h[e];
#endif
                }
                u32 place = row < height ? cosine(m + row, m) : sine(m + row - height, m);
                for (int k = 0; k < SUMS; k++) sums[k * p * p + place] += total[k];
            }
            __syncwarp();
        }
    }
    REAL* out = expansion(level, i);
#if DIPOLES
#if SCREENED
    derivatives = (const Derivative*)radial.derivatives;
    u32 begins[4] = {0, radial.ends[0], radial.ends[1], radial.ends[2]};
#else
    u32 begins[4] = {0, end_x, end_y, end_z};
#endif
    for (u32 k = 0; k < 3; k++)
        for (u32 e = begins[k] + lane; e < begins[k + 1]; e += 32) {
            Derivative d = derivatives[e];
            if (d.row < p * p) atomicAdd(&sums[d.row], d.factor * sums[(1 + k) * p * p + d.column]);
        }
    __syncwarp();
#endif
    for (u32 k = lane; k < p * p; k += 32) out[k] = sums[k];
}
