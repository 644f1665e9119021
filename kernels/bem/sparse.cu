// The near field as a sparse matrix: a diagonal in double precision, and rows of the other entries,
// columns increasing. VALUE: float or double. LANES lanes share a row in products. CPU twins:
// crates/bem/src/near/block.rs and mod.rs.
#include "rows.cuh"

struct Pair {
    u32 i, j;
};

// Entries of each row that some pairs make.
extern "C" __global__ void sparse_count(const Pair* pairs, u32 count, u32* counts) {
    u32 k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count) return;
    atomicAdd(counts + pairs[k].i, 1u);
    atomicAdd(counts + pairs[k].j, 1u);
}

// Puts them into their rows, in no order; next: where each row goes on. entries: as near_integrate
// makes them.
extern "C" __global__ void sparse_fill(const Pair* pairs, const double* entries, u32 count, u32* next, u32* columns,
                                       VALUE* values) {
    u32 k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count) return;
    Pair pair = pairs[k];
    u32 a = atomicAdd(next + pair.i, 1u), b = atomicAdd(next + pair.j, 1u);
    columns[a] = pair.j;
    columns[b] = pair.i;
#if GENERAL
    values[a] = (VALUE)entries[2 * (u64)k];
    values[b] = (VALUE)entries[2 * (u64)k + 1];
#else
    values[a] = values[b] = (VALUE)entries[k];
#endif
}

// Sorts each row by its columns: products do not depend on the order in which pairs came.
extern "C" __global__ void sparse_sort(u32 n, const u32* starts, u32* columns, VALUE* values) {
    u32 row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= n) return;
    u32 begin = starts[row], end = starts[row + 1];
    for (u32 k = begin + 1; k < end; k++) {
        u32 column = columns[k], at = k;
        VALUE value = values[k];
        for (; at > begin && columns[at - 1] > column; at--) {
            columns[at] = columns[at - 1];
            values[at] = values[at - 1];
        }
        columns[at] = column;
        values[at] = value;
    }
}

// What the points of the rule on two panels and on images of the second give to the entry in the
// row of the first.
__device__ __forceinline__ double over_points(const Rows* rows, const Rules& rules, u32 degree, u32 row, u32 column,
                                              const Corners& own, const Corners& other, bool first) {
    u32 kind = kind_of(rows, row);
    double sum = 0.0;
    for (u32 g = 0; g < images_of(rows); g++) {
        double factor = factor_of(rows, g, column);
        if (factor == 0.0) continue;
        Corners t = image_of(rows, g, other);
        double value = 0.0;
        if (kind == SINGLE) {
            // A pair's sum has the mesh's order.
            const Corners &a = first || g ? own : t, &b = first || g ? t : own;
            value = sum_by_points(rules, degree, a.v, degree, b.v);
        } else if (kind == ADJOINT) {
            value = -dot(normal_of(own), field_by_points(rules, degree, own.v, degree, t.v));
        }
        sum += factor * value;
    }
    return sum;
}

// Takes from all entries what the points of the rule give. order: places of the panels in the mesh.
extern "C" __global__ void sparse_subtract(u32 n, const u32* starts, const u32* columns, VALUE* values, double* diagonal,
                                           const double* vertices, const u32* order, const double* triangle,
                                           const u32* rule_starts, u32 most_degree, u32 degree, const Rows* rows) {
    u32 thread = blockIdx.x * THREADS + threadIdx.x, row = thread / LANES, lane = thread % LANES;
    if (row >= n) return;
    Rules rules = {triangle, rule_starts, nullptr, most_degree, 0};
    Corners own = load(vertices, row);
    u32 place = order[row];
    for (u32 k = starts[row] + lane; k < starts[row + 1]; k += LANES) {
        u32 j = columns[k];
        double sum = over_points(rows, rules, degree, row, j, own, load(vertices, j), place <= order[j]);
        values[k] = (VALUE)((double)values[k] - sum);
    }
    if (lane == 0) diagonal[row] -= over_points(rows, rules, degree, row, row, own, own, true);
}

// Of some rows the entries in columns that have an index (not ~0): how many there are, and they,
// their columns renamed.
extern "C" __global__ void sparse_part_lengths(u32 count, const u32* chosen, const u32* index, const u32* starts, const u32* columns,
                                               u32* lengths) {
    u32 k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count) return;
    u32 row = chosen[k], found = 0;
    for (u32 e = starts[row]; e < starts[row + 1]; e++) found += index[columns[e]] != ~0u;
    lengths[k] = found;
}

extern "C" __global__ void sparse_part(u32 count, const u32* chosen, const u32* index, const u32* starts, const u32* columns,
                                       const VALUE* values, const u32* part_starts, u32* part_columns, VALUE* part_values) {
    u32 k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count) return;
    u32 row = chosen[k], at = part_starts[k];
    for (u32 e = starts[row]; e < starts[row + 1]; e++) {
        u32 column = index[columns[e]];
        if (column == ~0u) continue;
        part_columns[at] = column;
        part_values[at++] = values[e];
    }
}

// y += A x, one column of the grid's second dimension each; x, y: [columns][n].
extern "C" __global__ void sparse_multiply_add(u32 n, const u32* starts, const u32* columns, const VALUE* values,
                                               const double* diagonal, const double* x, double* y) {
    u32 thread = blockIdx.x * THREADS + threadIdx.x, row = thread / LANES, lane = thread % LANES;
    x += (u64)blockIdx.y * n;
    y += (u64)blockIdx.y * n;
    double sum = 0.0;
    if (row < n)
        for (u32 k = starts[row] + lane; k < starts[row + 1]; k += LANES) sum += (double)values[k] * x[columns[k]];
    for (u32 d = LANES / 2; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d, LANES);
    if (row < n && lane == 0) y[row] += sum + diagonal[row] * x[row];
}
