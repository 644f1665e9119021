// Close pairs of panels and their exact entries: search in the tree of panels, choice by estimated error, integrals. CPU twins:
// crates/bem/src/panels.rs (Neighbours), near/select.rs, single_layer.rs.
#include "shared/pair.cuh"

#define THREADS 128

// Box around some panels' centroids; reach: the farthest that any of them looks.
struct Node {
    Vec low, high;
    double reach;
};

struct Pair {
    u32 i, j;
};

__device__ __forceinline__ Corners load(const double* vertices, u32 i) {
    const double* p = vertices + 9 * (u64)i;
    return {{{p[0], p[1], p[2]}, {p[3], p[4], p[5]}, {p[6], p[7], p[8]}}};
}

// Centroid and reach of each panel.
extern "C" __global__ void near_panels(const double* vertices, u32 n, double diameters, double* centroids) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    Corners t = load(vertices, i);
    Vec c = centroid_of(t);
    double* out = centroids + 4 * (u64)i;
    out[0] = c.x;
    out[1] = c.y;
    out[2] = c.z;
    out[3] = diameters * diameter_of(t);
}

// The tree is a heap: node k has children 2k and 2k + 1, the leaves are 2^depth on. Halving ranges makes the panels of a leaf.
// starts: [2^depth + 1].
extern "C" __global__ void near_leaves(const double* centroids, u32 n, u32 depth, Node* nodes, u32* starts) {
    u32 leaf = blockIdx.x * THREADS + threadIdx.x;
    if (leaf >= 1u << depth) return;
    u32 begin = 0, end = n;
    for (u32 bit = depth; bit-- > 0;) {
        u32 middle = begin + (end - begin) / 2;
        if (leaf >> bit & 1) begin = middle;
        else end = middle;
    }
    Node node = {{1e300, 1e300, 1e300}, {-1e300, -1e300, -1e300}, 0.0};
    for (u32 i = begin; i < end; i++) {
        const double* c = centroids + 4 * (u64)i;
        node.low = {fmin(node.low.x, c[0]), fmin(node.low.y, c[1]), fmin(node.low.z, c[2])};
        node.high = {fmax(node.high.x, c[0]), fmax(node.high.y, c[1]), fmax(node.high.z, c[2])};
        node.reach = fmax(node.reach, c[3]);
    }
    nodes[(1u << depth) + leaf] = node;
    starts[leaf] = begin;
    if (leaf + 1 == 1u << depth) starts[leaf + 1] = n;
}

// Nodes first .. 2 first from their children.
extern "C" __global__ void near_parents(Node* nodes, u32 first) {
    u32 k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= first) return;
    Node a = nodes[2 * (first + k)], b = nodes[2 * (first + k) + 1];
    a.low = {fmin(a.low.x, b.low.x), fmin(a.low.y, b.low.y), fmin(a.low.z, b.low.z)};
    a.high = {fmax(a.high.x, b.high.x), fmax(a.high.y, b.high.y), fmax(a.high.z, b.high.z)};
    a.reach = fmax(a.reach, b.reach);
    nodes[first + k] = a;
}

// Pairs within reach whose first panel is one of first .. first + rows, each pair once: the first is first in the mesh's
// order. Without `pairs` they are counted into counts; with it they are written from counts (by then their beginnings) on.
extern "C" __global__ void near_candidates(const double* centroids, const u32* order, const Node* nodes, const u32* starts,
                                           u32 depth, u32 first, u32 rows, u32* counts, Pair* pairs) {
    u32 row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows) return;
    u32 i = first + row, own = order[i], found = 0, begin = pairs ? counts[row] : 0;
    const double* c = centroids + 4 * (u64)i;
    Vec x = {c[0], c[1], c[2]};
    double reach = c[3];
    u32 open[40], count = 1;
    open[0] = 1;
    while (count) {
        u32 k = open[--count];
        Node node = nodes[k];
        double within = fmax(reach, node.reach);
        Vec outside = {fmax(fmax(node.low.x - x.x, x.x - node.high.x), 0.0),
                       fmax(fmax(node.low.y - x.y, x.y - node.high.y), 0.0),
                       fmax(fmax(node.low.z - x.z, x.z - node.high.z), 0.0)};
        if (norm2(outside) >= within * within) continue;
        if (k < 1u << depth) {
            open[count++] = 2 * k + 1;
            open[count++] = 2 * k;
            continue;
        }
        u32 leaf = k - (1u << depth);
        for (u32 j = starts[leaf]; j < starts[leaf + 1]; j++) {
            const double* other = centroids + 4 * (u64)j;
            double far = fmax(reach, other[3]);
            if (order[j] <= own || norm2(Vec{other[0], other[1], other[2]} - x) >= far * far) continue;
            if (pairs) pairs[begin + found] = {i, j};
            found++;
        }
    }
    if (!pairs) counts[row] = found;
}

// Smallest distance of points of two panels relative to the smaller panel's width, at most 1, one value a block; rule: nodes_of_rule
// nodes. CPU twin: closest in near/select.rs.
extern "C" __global__ void near_closest(const double* vertices, const double* areas, const double* centroids, double diameters,
                                        const Node* nodes, const u32* starts, u32 depth, u32 n, const double* rule,
                                        u32 nodes_of_rule, double* parts) {
    __shared__ double of_warps[THREADS / 32];
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    double best = 1.0;
    if (i < n) {
        auto width_of = [=](u32 k) { return 2.0 * areas[k] * diameters / centroids[4 * (u64)k + 3]; };
        const double* c = centroids + 4 * (u64)i;
        Vec x = {c[0], c[1], c[2]};
        Corners own = load(vertices, i);
        double width = width_of(i);
        u32 open[40], count = 1;
        open[0] = 1;
        while (count) {
            u32 k = open[--count];
            Node node = nodes[k];
            Vec outside = {fmax(fmax(node.low.x - x.x, x.x - node.high.x), 0.0),
                           fmax(fmax(node.low.y - x.y, x.y - node.high.y), 0.0),
                           fmax(fmax(node.low.z - x.z, x.z - node.high.z), 0.0)};
            if (norm2(outside) > 4.0 * width * width) continue;
            if (k < 1u << depth) {
                open[count++] = 2 * k + 1;
                open[count++] = 2 * k;
                continue;
            }
            u32 leaf = k - (1u << depth);
            for (u32 j = max(starts[leaf], i + 1); j < starts[leaf + 1]; j++) {
                const double* other = centroids + 4 * (u64)j;
                double size = fmin(width, width_of(j));
                if (norm(Vec{other[0], other[1], other[2]} - x) > 2.0 * size) continue;
                Corners t = load(vertices, j);
                double nearest = 1e300;
                for (u32 p = 0; p < nodes_of_rule; p++) {
                    Vec a = on(own.v, rule + 4 * p);
                    for (u32 q = 0; q < nodes_of_rule; q++) nearest = fmin(nearest, norm2(on(t.v, rule + 4 * q) - a));
                }
                best = fmin(best, sqrt(nearest) / size);
            }
        }
    }
    for (u32 d = 16; d > 0; d /= 2) best = fmin(best, __shfl_down_sync(~0u, best, d));
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x) return;
    for (u32 w = 1; w < THREADS / 32; w++) best = fmin(best, of_warps[w]);
    parts[blockIdx.x] = best;
}

// Whether an error matters; NaN does.
__device__ __forceinline__ bool matters(double error, double size, double allowed) { return !(error * size <= allowed); }

// Whether rules cannot tell, and the integral itself decides.
__device__ __forceinline__ bool overlap(const Corners& s, const Corners& t) {
    Vec a = centroid_of(s), b = centroid_of(t);
    return norm(a - b) < radius_of(s, a) + radius_of(t, b);
}

// Whether errors of the entries of a pair, which are the same, matter: part and charge of each panel as in panels.rs (weights).
__device__ __forceinline__ bool pair_matters(double error, const double* charges, const u32* parts, Pair pair, double allowed) {
    double a = charges[pair.i], b = charges[pair.j];
    return matters(error, parts[pair.i] == parts[pair.j] ? sqrt(a * b) : fmax(a, b), allowed);
}

// Numbers of the pairs that need an integral.
extern "C" __global__ void near_select(const double* vertices, const double* charges, const u32* parts, const Pair* pairs, u32 count,
                                       const double* triangle, const u32* rule_starts, u32 most_degree, u32 degree, u32 finer,
                                       double allowed, u32* chosen, u32* chosen_count) {
    u32 k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count) return;
    Rules rules = {triangle, rule_starts, nullptr, most_degree, 0};
    Pair pair = pairs[k];
    Corners s = load(vertices, pair.i), t = load(vertices, pair.j);
    if (!overlap(s, t)) {
        double plain = sum_by_points(rules, degree, s.v, degree, t.v);
        double left = sum_by_points(rules, finer, s.v, degree, t.v);
        double right = sum_by_points(rules, degree, s.v, finer, t.v);
        if (!pair_matters(fabs(left - plain) + fabs(right - plain), charges, parts, pair, allowed)) return;
    }
    chosen[atomicAdd(chosen_count, 1u)] = k;
}

// Integrals of chosen pairs. edges 0: those that plain quadrature can do, the others are listed in `rest`; 1: all, along edges.
// Pairs that turn out to need no entry are left out of kept.
extern "C" __global__ void near_integrate(const double* vertices, const double* charges, const u32* parts,
                                          const Pair* pairs, const u32* chosen,
                                          u32 count, const double* triangle, const u32* rule_starts, const double* line,
                                          u32 most_degree, u32 most_points, u32 degree, double allowed, double accuracy,
                                          u32 increment, u32 edges, u32* rest, u32* rest_count, Pair* kept, double* values,
                                          u32* kept_count) {
    u32 k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count) return;
    Rules rules = {triangle, rule_starts, line, most_degree, most_points};
    Quadrature quadrature = {accuracy, increment};
    Pair pair = pairs[chosen[k]];
    Corners cs = load(vertices, pair.i), ct = load(vertices, pair.j);
    Triangle s = triangle_of(cs), t = triangle_of(ct);
    // Which counts as the smaller is not left to rounding.
    bool swap = s.radius > t.radius * TIE;
    const Triangle &small = swap ? t : s, &large = swap ? s : t;
    double value;
    if (edges) {
        value = edge_integral(quadrature, rules, small, large);
    } else {
        bool same = true;
        for (u32 i = 0; i < 3; i++) same = same && norm2(cs.v[i] - ct.v[i]) == 0.0;
        if (same) value = self_integral(s);
        else if (!smooth_integral(quadrature, rules, small, large, &value)) {
            rest[atomicAdd(rest_count, 1u)] = chosen[k];
            return;
        }
    }
    value /= s.area * t.area;
    if (overlap(cs, ct)) {
        double plain = sum_by_points(rules, degree, cs.v, degree, ct.v);
        if (!pair_matters(fabs(value - plain), charges, parts, pair, allowed)) return;
    }
    u32 at = atomicAdd(kept_count, 1u);
    kept[at] = pair;
    values[at] = value;
}

// Entries on the diagonal.
extern "C" __global__ void near_diagonal(const double* vertices, u32 n, double* diagonal) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    Triangle t = triangle_of(load(vertices, i));
    diagonal[i] = self_integral(t) / (t.area * t.area);
}
