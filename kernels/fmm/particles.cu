// Points relative to their leaves, and strengths and sums between the caller's order and Morton
// order. CPU twin: crates/fmm/src/particles.rs.
#include "cell.cuh"
#include "screening.cuh"

// Squared distance below which single precision counts a pair as if it were that far apart; in
// double precision it is not used.
__device__ __forceinline__ REAL close_threshold(u32 level) {
    double d = CLOSE_SINGLE * side_of(level);
    return (REAL)(d * d);
}

// One warp a cell. points: of all points, in the caller's order, `here` from number `first` on; the
// others are left alone. out: [all], coordinates in units of the root's side relative to the leaf's
// centre; w: squared distance up to which points of this leaf are close.
extern "C" __global__ void particles_place(const Cell* cells, const double* centres, u32 count, u32 of_targets,
                                           const double* points, u32 first, u32 here, const u32* index, double side,
                                           Point* out) {
    u64 i = ((u64)blockIdx.x * THREADS + threadIdx.x) / 32;
    if (i >= count) return;
    Cell cell = cells[i];
    if (cell.child_count) return;
    u32 begin = of_targets ? cell.target_begin : cell.source_begin;
    u32 end = of_targets ? cell.target_end : cell.source_end;
    double x = centres[3 * i], y = centres[3 * i + 1], z = centres[3 * i + 2];
    for (u32 k = begin + (threadIdx.x & 31); k < end; k += 32) {
        // Those before `first` wrap around, beyond all others.
        u32 at = index[k] - first;
        if (at >= here) continue;
        const double* p = points + 3 * (u64)at;
        Point q;
        q.x = (REAL)((p[0] - x) / side);
        q.y = (REAL)((p[1] - y) / side);
        q.z = (REAL)((p[2] - z) / side);
        q.w = close_threshold(cell.level);
        out[k] = q;
    }
}

// Raises *largest to the largest magnitude of the values, as the bits of a double, which are
// ordered as the numbers are.
extern "C" __global__ void particles_largest(const double* values, u64 count, u64* largest) {
    u64 most = 0;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < count; i += (u64)gridDim.x * THREADS)
        most = max(most, (u64)__double_as_longlong(fabs(values[i])));
    for (u32 d = 16; d > 0; d /= 2) most = max(most, __shfl_down_sync(~0u, most, d));
    if (threadIdx.x % 32 == 0 && most) atomicMax(largest, most);
}

// Exponent of a positive number's leading bit; of zero one below all others.
__device__ __forceinline__ int exponent_of(u64 bits) { return bits ? (int)(bits >> 52) - 1023 : -4000; }

// Exponent of the largest strength of a density: charges as they are, dipoles in units of the
// root's side. largest: of charges, of dipoles. CPU twin: crates/fmm/src/scale.rs.
__device__ __forceinline__ int strength_exponent(const u64* largest, double side) {
    int dipoles = largest[1] ? exponent_of(largest[1]) - exponent_of((u64)__double_as_longlong(side)) : -4000;
    int most = max(exponent_of(largest[0]), dipoles);
    return most == -4000 ? 0 : min(max(most, -1000), 1000);
}

__device__ __forceinline__ double power_of_two(int exponent) {
    return __longlong_as_double((u64)(1023 + exponent) << 52);
}

// from: [n][width] in the caller's order; to: [width][n] in Morton order, by the density's scale
// and over `unit`.
extern "C" __global__ void particles_gather(const double* from, const u32* index, u32 n, u32 width, double unit,
                                            const u64* largest, double side, REAL* to) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    double scale = power_of_two(-strength_exponent(largest, side));
    u64 at = (u64)index[i] * width;
    for (u32 k = 0; k < width; k++) to[k * (u64)n + i] = (REAL)(from[at + k] * scale / unit);
}

// Sums of one density to the caller's order, scale and units. itself: what single precision counted
// of each target with itself is taken off, the targets being sources with the given charges; slots:
// which one each target is, null if they are in the same order.
// kappa: that of the Yukawa kernel, or 0. potential, gradient: null if not asked for.
extern "C" __global__ void particles_scatter(const u32* index, u32 m, double side, const Point* targets, u32 itself,
                                             const u32* slots, const REAL* charges, const u64* largest, const REAL* potential,
                                             const REAL* gradient, double kappa, double* potential_out,
                                             double* gradient_out) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i >= m) return;
    u64 at = index[i];
    double scale = power_of_two(strength_exponent(largest, side));
    if (potential_out) {
        REAL own = 0;
#if PRECISION == 32
        if (itself) {
            REAL r2 = targets[i].w, inv = inverse_root(r2);
            own = charges[slots ? slots[i] : i] * (kappa > 0 ? inv * decay((REAL)kappa, r2 * inv) : inv);
        }
#endif
        potential_out[at] = ((double)potential[i] - (double)own) / side * scale;
    }
    if (gradient_out)
        for (u32 k = 0; k < 3; k++) gradient_out[3 * at + k] = (double)gradient[k * (u64)m + i] / side * scale / side;
}
