// M2P: multipole expansions of boxes at targets far from them (docs/math.md, "Treecode"). CPU twin:
// crates/fmm/src/treecode/m2p.rs.
//
// One warp takes up to 32 boxes and some targets. Where a treecode pays, a leaf has few targets, so
// lanes are boxes; where boxes are fewer than lanes, groups of lanes take other targets. The boxes'
// coefficients lie side by side in shared memory; harmonics stay in registers, order by order.
//
// A harmonic of order m is E(x, y) Q(z), E being (x + iy)^m and Q the same for cosine and sine, at
// the place inverted at the box's sphere: powers of the distance come with it. With the sums over
// degrees of one order, of coefficients times Q, its slope in z and Q times what the distance's
// derivative has of each degree, the gradient needs no expansions of its own.
#include "cell.cuh"
#include "harmonics.cuh"
#include "levels.cuh"
#include "screening.cuh"

// Whether gradients are asked for; whether the kernel is that of Yukawa.
#if !defined(GRADIENT) || !defined(SCREENED)
#error macros GRADIENT and SCREENED (0 or 1) are needed
#endif

// Targets of a lane at a time at most, which share coefficients: radial functions are in memory for
// one.
#define ROWS (SCREENED ? 1 : GRADIENT || PRECISION == 64 ? 2 : 4)

// What a warp takes.
struct __align__(16) Evaluation {
    u32 cell;    // whose targets they are
    u32 entry;   // the first box, which has most terms
    u32 target;  // the first target
    unsigned short boxes, targets;
};

// Coefficients of cosine and sine, or the two factors of a step.
struct __align__(2 * PRECISION / 8) Pair {
    REAL c, s;
};

// A lane's box as seen from the box of the targets.
struct Box {
    REAL x, y, z;  // centre of the targets' box minus its own
    REAL scale;    // one over its side
    REAL kappa;    // times its side
    u32 lane;
    const Pair* coefficients;  // of a step of the walk at step * pitch
    const REAL* corners;       // what its radial functions are at its corners
    REAL* functions;           // room for radial functions, 32 apart, and their slopes behind all
    u32 pitch, p;
};

__device__ __forceinline__ void copy_async(REAL* to, const REAL* from, bool valid) {
    u32 address = (u32)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(sizeof(REAL)),
                 "r"(valid ? (u32)sizeof(REAL) : 0u)
                 : "memory");
}

// The functions k^(n) of the distance r in sides of the box, times what multipoles are in units of;
// with gradients also minus what n + 1 becomes in the derivative by the distance.
__device__ __forceinline__ void fill_functions(const Box& box, REAL r) {
    REAL t = box.kappa * r;
    REAL here = decay(box.kappa, r - (REAL)0.8660254037844386), above = (t + 1) * here;
    for (u32 n = 0; n < box.p; n++) {
        REAL corner = box.corners[n], degree = (REAL)(2 * n + 1);
        box.functions[32 * n] = corner * here;
#if GRADIENT
        box.functions[32 * (box.p + n)] = corner * (degree * above - (REAL)n * here);
#endif
        REAL next = fused(t * t / (degree * (degree + 2)), here, above);
        here = above;
        above = next;
    }
}

// Of some targets: the sums over degrees and orders.
template <int T>
struct Sums {
    REAL value[T];
#if GRADIENT
    REAL radial[T], x[T], y[T], z[T];
#endif
};

// Adds one order; x, y, z: inverted places, r2: their squares, inverse: their lengths, c and s: E,
// and what it was for the order before.
template <int T, bool SINES>
__device__ __forceinline__ void add_order(const Box& box, const Recursion& table, u32 m, const Pair*& coefficients,
                                          const REAL* z, const REAL* r2, const REAL* inverse, const REAL* c,
                                          const REAL* s, const REAL* c_before, const REAL* s_before, Sums<T>& sums) {
    const Pair* factors = (const Pair*)column(table, m);
    REAL q[T], q_before[T], a[T], b[T];
#if GRADIENT
    REAL d[T], d_before[T], az[T], bz[T], ar[T], br[T];
#endif
#pragma unroll
    for (int i = 0; i < T; i++) {
        q[i] = 1;
        q_before[i] = a[i] = b[i] = 0;
#if GRADIENT
        d[i] = d_before[i] = az[i] = bz[i] = ar[i] = br[i] = 0;
#endif
    }
#pragma unroll 4
    for (u32 n = m; n < box.p; n++) {
        REAL mc = coefficients->c, ms = coefficients->s;
        coefficients += box.pitch;
        Pair step = {0, 0};
        if (n + 1 < box.p) step = *factors++;
        REAL f = step.c, g = step.s;
#if SCREENED
        REAL function = box.functions[32 * n];
#if GRADIENT
        REAL slope = box.functions[32 * (box.p + n)];
#endif
#elif GRADIENT
        REAL slope = (REAL)(n + 1);
#endif
#pragma unroll
        for (int i = 0; i < T; i++) {
#if SCREENED
            REAL value = q[i] * function;
#else
            REAL value = q[i];
#endif
            a[i] = fused(mc, value, a[i]);
            if (SINES) b[i] = fused(ms, value, b[i]);
            REAL fz = f * z[i], gr = g * r2[i];
            REAL next = fz * q[i] - gr * q_before[i];
#if GRADIENT
#if SCREENED
            REAL in_z = d[i] * function;
#else
            REAL in_z = d[i];
#endif
            REAL along = q[i] * slope;
            az[i] = fused(mc, in_z, az[i]);
            ar[i] = fused(mc, along, ar[i]);
            if (SINES) {
                bz[i] = fused(ms, in_z, bz[i]);
                br[i] = fused(ms, along, br[i]);
            }
            REAL next_d = fused(f * inverse[i], q[i], fz * d[i] - gr * d_before[i]);
            d_before[i] = d[i];
            d[i] = next_d;
#endif
            q_before[i] = q[i];
            q[i] = next;
        }
    }
#if GRADIENT
    REAL raised = (REAL)m * (SINES ? table.diagonal[m] : (REAL)0);
#endif
#pragma unroll
    for (int i = 0; i < T; i++) {
        sums.value[i] += c[i] * a[i] + s[i] * b[i];
#if GRADIENT
        sums.radial[i] += c[i] * ar[i] + s[i] * br[i];
        sums.z[i] += c[i] * az[i] + s[i] * bz[i];
        if (SINES) {
            REAL factor = raised * inverse[i];
            sums.x[i] += factor * (c_before[i] * a[i] + s_before[i] * b[i]);
            sums.y[i] += factor * (c_before[i] * b[i] - s_before[i] * a[i]);
        }
#endif
    }
}

// Adds up what the lanes of a group have.
__device__ __forceinline__ REAL group_sum(REAL value, u32 width) {
    for (u32 d = width / 2; d > 0; d /= 2) value += __shfl_xor_sync(~0u, value, d);
    return value;
}

// T targets of each group of `width` lanes, from number `first` of the warp's targets on.
template <int T>
__device__ __forceinline__ void evaluate(const Box& box, const Recursion& table, const REAL* points, const Evaluation& of,
                                         u32 first, u32 width, REAL* potential, REAL* gradient, u64 m_targets) {
    u32 ways = 32 / width, way = box.lane / width, own = box.lane % width;
    // Directions, and places inverted.
    REAL nx[T], ny[T], nz[T], x[T], y[T], z[T], r2[T], inverse[T], c[T], s[T], c_before[T], s_before[T];
    Sums<T> sums;
#pragma unroll
    for (int i = 0; i < T; i++) {
        u32 target = min(first + way + i * ways, (u32)of.targets - 1);
        x[i] = (points[target] + box.x) * box.scale;
        y[i] = (points[TARGETS + target] + box.y) * box.scale;
        z[i] = (points[2 * TARGETS + target] + box.z) * box.scale;
        REAL square = fused(z[i], z[i], fused(y[i], y[i], x[i] * x[i]));
        inverse[i] = inverse_root(square);
#if SCREENED
        fill_functions(box, square * inverse[i]);
#endif
        nx[i] = x[i] * inverse[i];
        ny[i] = y[i] * inverse[i];
        nz[i] = z[i] * inverse[i];
        x[i] = nx[i] * inverse[i];
        y[i] = ny[i] * inverse[i];
        z[i] = nz[i] * inverse[i];
        r2[i] = inverse[i] * inverse[i];
        c[i] = 1;
        s[i] = c_before[i] = s_before[i] = 0;
        sums.value[i] = 0;
#if GRADIENT
        sums.radial[i] = sums.x[i] = sums.y[i] = sums.z[i] = 0;
#endif
    }
    const Pair* coefficients = box.coefficients;
    add_order<T, false>(box, table, 0, coefficients, z, r2, inverse, c, s, c_before, s_before, sums);
    for (u32 m = 1; m < box.p; m++) {
#pragma unroll
        for (int i = 0; i < T; i++) {
            c_before[i] = c[i];
            s_before[i] = s[i];
            raise_order(table, m, x[i], y[i], c[i], s[i]);
        }
        add_order<T, true>(box, table, m, coefficients, z, r2, inverse, c, s, c_before, s_before, sums);
    }
    // Lanes behind the last box have that one once more.
    REAL scale = own < of.boxes ? box.scale : (REAL)0;
#pragma unroll
    for (int i = 0; i < T; i++) {
        u32 place = first + way + i * ways;
        bool writes = own == 0 && place < of.targets;
        u64 target = of.target + place;
        REAL value = group_sum(sums.value[i] * inverse[i] * scale, width);
        if (writes) atomicAdd(&potential[target], value);
#if GRADIENT
        // Off the sphere E(x, y) Q(z) is anything: its slope along the radius is taken off.
        REAL off = fused(nx[i], sums.x[i], fused(ny[i], sums.y[i], nz[i] * sums.z[i])) + sums.radial[i];
        REAL unit = r2[i] * scale * scale;
        REAL gx = group_sum((sums.x[i] - nx[i] * off) * unit, width);
        REAL gy = group_sum((sums.y[i] - ny[i] * off) * unit, width);
        REAL gz = group_sum((sums.z[i] - nz[i] * off) * unit, width);
        if (writes) {
            atomicAdd(&gradient[target], gx);
            atomicAdd(&gradient[m_targets + target], gy);
            atomicAdd(&gradient[2 * m_targets + target], gz);
        }
#endif
    }
}

// boxes: each with its truncation number; pitch: from step to step of the walk, odd, at least the
// boxes of a warp; targets: [m][3]; corners: [levels][table_p], with screening. Adds to potential
// [m] and gradient [3][m]. Shared memory: the targets' places, radial functions, coefficients.
extern "C" __global__ void __launch_bounds__(32)
    m2p(const Evaluation* evaluations, const uint2* boxes, u32 pitch, const Cell* cells, const double* centres,
        double side, const Level* levels, const double* targets, const REAL* diagonal, const REAL* columns, u32 table_p,
        double kappa, const REAL* corners, REAL* potential, REAL* gradient, u64 m_targets) {
    extern __shared__ __align__(16) unsigned char memory[];
    Evaluation of = evaluations[blockIdx.x];
    u32 lane = threadIdx.x, width = 1;
    while (width < of.boxes) width *= 2;
    uint2 entry = boxes[of.entry + min(lane % width, (u32)of.boxes - 1)];
    u32 level_of_box = cells[entry.x].level;
    u32 p = __shfl_sync(~0u, entry.y, 0);
    REAL* points = (REAL*)memory;
    REAL* functions = points + 3 * TARGETS;
    REAL* coefficients = functions + SCREENED * (1 + GRADIENT) * 32 * p;
    __shared__ const REAL* from[32];
    __shared__ u32 there[32];
    from[lane] = expansion(levels[level_of_box], entry.x);
    there[lane] = entry.y * entry.y;
    __syncwarp();
    for (u32 k = lane; k < p * p; k += 32) {
        bool is_sine;
        REAL* to = coefficients + 2 * step_of(k, p, is_sine) * pitch + is_sine;
#pragma unroll 4
        for (u32 b = 0; b < of.boxes; b++) {
            bool valid = k < there[b];
            copy_async(to + 2 * b, from[b] + (valid ? k : 0), valid);
        }
    }
    const double* centre = centres + 3 * (u64)of.cell;
    const double* own = centres + 3 * (u64)entry.x;
    if (lane < of.targets)
        for (u32 k = 0; k < 3; k++)
            points[k * TARGETS + lane] = (REAL)((targets[3 * ((u64)of.target + lane) + k] - centre[k]) / side);
    Box box;
    box.x = (REAL)((centre[0] - own[0]) / side);
    box.y = (REAL)((centre[1] - own[1]) / side);
    box.z = (REAL)((centre[2] - own[2]) / side);
    box.scale = (REAL)(1 / side_of(level_of_box));
    box.kappa = (REAL)(kappa * side_of(level_of_box));
    box.lane = lane;
    box.coefficients = (const Pair*)coefficients + min(lane % width, (u32)of.boxes - 1);
    box.corners = corners + (u64)level_of_box * table_p;
    box.functions = functions + lane;
    box.pitch = pitch;
    box.p = p;
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncwarp();
    Recursion table = {diagonal, columns, table_p};
    u32 ways = 32 / width, done = 0;
    // As many as leave no more than half of their places empty.
    for (; ROWS > 2 && done + 2 * ways < of.targets; done += 4 * ways)
        evaluate<ROWS>(box, table, points, of, done, width, potential, gradient, m_targets);
    for (; ROWS > 1 && done + ways < of.targets; done += 2 * ways)
        evaluate<ROWS < 2 ? 1 : 2>(box, table, points, of, done, width, potential, gradient, m_targets);
    for (; done < of.targets; done += ways)
        evaluate<1>(box, table, points, of, done, width, potential, gradient, m_targets);
}
