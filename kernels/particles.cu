// Points relative to their leaves, and strengths and sums between the caller's order and Morton order. CPU twin:
// crates/fmm/src/particles.rs.
#include "shared/cell.cuh"

#define THREADS 256

// Sides of the larger leaf below which single precision treats a pair apart.
#define CLOSE (1.0 / 32.0)

__device__ __forceinline__ REAL close_threshold(u32 level) {
    double d = CLOSE * side_of(level);
    return (REAL)(d * d);
}

// One warp a cell. out: [n], coordinates in units of the root's side relative to the leaf's centre; w: squared distance up to
// which points of this leaf are close.
extern "C" __global__ void particles_place(const Cell* cells, const double* centres, u32 count, u32 of_targets,
                                           const double* points, const u32* index, double side, Point* out) {
    u32 i = (blockIdx.x * THREADS + threadIdx.x) / 32;
    if (i >= count) return;
    Cell cell = cells[i];
    if (cell.child_count) return;
    u32 begin = of_targets ? cell.target_begin : cell.source_begin;
    u32 end = of_targets ? cell.target_end : cell.source_end;
    double x = centres[3 * (u64)i], y = centres[3 * (u64)i + 1], z = centres[3 * (u64)i + 2];
    for (u32 k = begin + (threadIdx.x & 31); k < end; k += 32) {
        const double* p = points + 3 * (u64)index[k];
        Point q;
        q.x = (REAL)((p[0] - x) / side);
        q.y = (REAL)((p[1] - y) / side);
        q.z = (REAL)((p[2] - z) / side);
        q.w = close_threshold(cell.level);
        out[k] = q;
    }
}

// from: [n][width] in the caller's order; to: [width][n] in Morton order, times factor.
extern "C" __global__ void particles_gather(const double* from, const u32* index, u32 n, u32 width, double factor,
                                            REAL* to) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    u64 at = (u64)index[i] * width;
    for (u32 k = 0; k < width; k++) to[k * (u64)n + i] = (REAL)(from[at + k] * factor);
}

// Sums of one density to the caller's order and units. itself: what single precision counted of each target with itself is taken
// off, the targets being the sources with the given charges. potential, gradient: null if not asked for.
extern "C" __global__ void particles_scatter(const u32* index, u32 m, double side, const Point* targets, u32 itself,
                                             const REAL* charges, const REAL* potential, const REAL* gradient,
                                             double* potential_out, double* gradient_out) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i >= m) return;
    u64 at = index[i];
    if (potential_out) {
        REAL own = 0;
#if PRECISION == 32
        if (itself) own = charges[i] * inverse_root(targets[i].w);
#endif
        potential_out[at] = ((double)potential[i] - (double)own) / side;
    }
    if (gradient_out)
        for (u32 k = 0; k < 3; k++) gradient_out[3 * at + k] = (double)gradient[k * (u64)m + i] / (side * side);
}
