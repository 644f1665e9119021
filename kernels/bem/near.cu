// Close pairs of panels and their exact entries: search in the tree of panels, choice by estimated
// error, integrals. CPU twins: crates/bem/src/geometry/neighbours.rs, near/select.rs,
// near/pairs.rs.
#include "rows.cuh"
#include "solid_angle.cuh"

struct Pair {
    u32 i, j;
};

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

// The tree is a heap: node k has children 2k and 2k + 1, the leaves are 2^depth on. Halving ranges
// makes the panels of a leaf. starts: [2^depth + 1].
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

// Pairs of panels, or of a panel and an image of the other, within reach, whose first panel is one
// of first .. first + rows, each pair of panels once: the first is first in the mesh's order.
// Without `pairs` they are counted into counts; with it they are written from counts (by then their
// beginnings) on.
extern "C" __global__ void near_candidates(const double* centroids, const u32* order, const Node* nodes, const u32* starts,
                                           u32 depth, u32 first, u32 count_of_rows, u32* counts, Pair* pairs, const Rows* rows) {
    u32 row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= count_of_rows) return;
    u32 i = first + row, own = order[i], found = 0, begin = pairs ? counts[row] : 0;
    const double* c = centroids + 4 * (u64)i;
    double reach = c[3];
    for (u32 g = 0; g < images_of(rows); g++) {
        // An image of i is as far from j as i from an image of j.
        Vec x = reflected(rows, g, {c[0], c[1], c[2]});
        u32 open[40], count = 1;
        open[0] = 1;
        while (count) {
            u32 k = open[--count];
            Node node = nodes[k];
            double within = fmax(reach, node.reach);
            if (outside2(node, x) >= within * within) continue;
            if (k < 1u << depth) {
                open[count++] = 2 * k + 1;
                open[count++] = 2 * k;
                continue;
            }
            u32 leaf = k - (1u << depth);
            for (u32 j = starts[leaf]; j < starts[leaf + 1]; j++) {
                const double* other = centroids + 4 * (u64)j;
                double far = fmax(reach, other[3]);
                Vec y = {other[0], other[1], other[2]};
                if (order[j] <= own || norm2(y - x) >= far * far) continue;
                bool is_new = true;
                for (u32 h = 0; h < g; h++) is_new = is_new && norm2(y - reflected(rows, h, {c[0], c[1], c[2]})) >= far * far;
                if (!is_new) continue;
                if (pairs) pairs[begin + found] = {i, j};
                found++;
            }
        }
    }
    if (!pairs) counts[row] = found;
}

// Rounding errors of heights, relative to the triangle's size.
#define ON_PLANE 1e-9

// Distance of a point from a triangle's plane, if the point is in front of or behind the triangle
// and not on it; else infinite.
__device__ __forceinline__ double height_above(const Corners& t, Vec x) {
    const Vec &a = t.v[0], &b = t.v[1], &c = t.v[2];
    Vec normal = cross(b - a, c - a);
    double least = ON_PLANE * norm2(normal);
    auto is_inside = [=](Vec p, Vec q) { return dot(cross(q - p, x - p), normal) > least; };
    if (!(is_inside(a, b) && is_inside(b, c) && is_inside(c, a))) return 1e300;
    double height = fabs(dot(x - a, normal)) / norm(normal);
    return height > ON_PLANE * fmax(norm(b - a), norm(c - a)) ? height : 1e300;
}

// The smallest over a block, in its first thread.
__device__ double smallest_of_block(double best) {
    __shared__ double of_warps[THREADS / 32];
    for (u32 d = 16; d > 0; d /= 2) best = fmin(best, __shfl_down_sync(~0u, best, d));
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x == 0) for (u32 w = 1; w < THREADS / 32; w++) best = fmin(best, of_warps[w]);
    return best;
}

// Smallest distance of points of two panels, and smallest height of a point of one above the other,
// relative to the smaller panel's width, at most 1, two values per block; rule: nodes_of_rule
// nodes.
// CPU twins: smallest_relative_gap and smallest_relative_height in near/select.rs.
extern "C" __global__ void near_closest(const double* vertices, const double* areas, const double* centroids, double diameters,
                                        const Node* nodes, const u32* starts, u32 depth, u32 n, const double* rule,
                                        u32 nodes_of_rule, double* parts, const Rows* rows) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    double gap = 1.0, height = 1.0;
    auto diameter = [=](u32 k) { return centroids[4 * (u64)k + 3] / diameters; };
    auto width_of = [=](u32 k) { return 2.0 * areas[k] * diameters / centroids[4 * (u64)k + 3]; };
    for (u32 g = 0; i < n && g < images_of(rows); g++) {
        const double* c = centroids + 4 * (u64)i;
        Vec x = reflected(rows, g, {c[0], c[1], c[2]});
        Corners own = image_of(rows, g, load(vertices, i));
        double width = width_of(i), reach = diameter(i);
        // A panel and its own image count, a panel and itself do not.
        u32 from = g ? i : i + 1;
        u32 open[40], count = 1;
        open[0] = 1;
        while (count) {
            u32 k = open[--count];
            Node node = nodes[k];
            double within = fmax(2.0 * width, fmax(reach, node.reach / diameters));
            if (outside2(node, x) > within * within) continue;
            if (k < 1u << depth) {
                open[count++] = 2 * k + 1;
                open[count++] = 2 * k;
                continue;
            }
            u32 leaf = k - (1u << depth);
            for (u32 j = max(starts[leaf], from); j < starts[leaf + 1]; j++) {
                const double* other = centroids + 4 * (u64)j;
                double others = width_of(j), size = fmin(width, others);
                double distance = norm(Vec{other[0], other[1], other[2]} - x);
                bool is_near = distance <= 2.0 * size, is_within = distance < fmax(reach, diameter(j));
                if (!(is_near || is_within) || !act(rows, g, i, j)) continue;
                Corners t = load(vertices, j);
                if (is_within) {
                    const Corners &small = width < others ? own : t, &large = width < others ? t : own;
                    for (u32 p = 0; p < nodes_of_rule; p++)
                        height = fmin(height, height_above(large, on(small.v, rule + 4 * p)) / size);
                }
                if (!is_near) continue;
                double nearest = 1e300;
                for (u32 p = 0; p < nodes_of_rule; p++) {
                    Vec a = on(own.v, rule + 4 * p);
                    for (u32 q = 0; q < nodes_of_rule; q++) nearest = fmin(nearest, norm2(on(t.v, rule + 4 * q) - a));
                }
                gap = fmin(gap, sqrt(nearest) / size);
            }
        }
    }
    gap = smallest_of_block(gap);
    height = smallest_of_block(height);
    if (threadIdx.x) return;
    parts[2 * blockIdx.x] = gap;
    parts[2 * blockIdx.x + 1] = height;
}

// Whether an error matters; NaN does.
__device__ __forceinline__ bool matters(double error, double size, double allowed) { return !(error * size <= allowed); }

// Whether rules cannot tell, and the integral itself decides.
__device__ __forceinline__ bool overlap(const Corners& s, const Corners& t) {
    Vec a = centroid_of(s), b = centroid_of(t);
    return norm(a - b) < radius_of(s, a) + radius_of(t, b);
}

// A pair that belongs to the near field whatever its integral is.
#define CERTAIN 0x80000000u

// Entries (i, j) and (j, i) of a pair over the points of two rules, one of which may be an image.
struct Both {
    double forth, back;
};

__device__ __forceinline__ Both by_points(const Rows* rows, const Rules& rules, u32 outer, const Corners& s, u32 inner,
                                          const Corners& t, Pair pair) {
    u32 i = kind_of(rows, pair.i), j = kind_of(rows, pair.j);
    Both sums = {0.0, 0.0};
    if (i == SINGLE || j == SINGLE) {
        double sum = sum_by_points(rules, outer, s.v, inner, t.v);
        if (i == SINGLE) sums.forth = sum;
        if (j == SINGLE) sums.back = sum;
    }
    if (i == ADJOINT || j == ADJOINT) {
        Vec field = field_by_points(rules, outer, s.v, inner, t.v);
        if (i == ADJOINT) sums.forth = -dot(normal_of(s), field);
        if (j == ADJOINT) sums.back = dot(normal_of(t), field);
    }
    return sums;
}

// Whether errors of the entries of a pair matter.
__device__ __forceinline__ bool pair_matters(const Rows* rows, Both errors, const double* charges, const u32* parts, Pair pair,
                                             double allowed) {
    return matters(errors.forth, weight_of(rows, charges, parts, pair.i, pair.j), allowed) ||
           matters(errors.back, weight_of(rows, charges, parts, pair.j, pair.i), allowed);
}

__device__ __forceinline__ Both differences(Both a, Both b) { return {fabs(a.forth - b.forth), fabs(a.back - b.back)}; }

// Numbers of the pairs that need an integral.
extern "C" __global__ void near_select(const double* vertices, const double* charges, const u32* parts, const Pair* pairs, u32 count,
                                       const double* triangle, const u32* rule_starts, u32 most_degree, u32 degree, u32 finer,
                                       double allowed, u32* chosen, u32* chosen_count, const Rows* rows) {
    u32 k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count) return;
    Rules rules = {triangle, rule_starts, nullptr, most_degree, 0};
    Pair pair = pairs[k];
    Corners s = load(vertices, pair.i), other = load(vertices, pair.j);
    bool overlaps = false, certain = false;
    for (u32 g = 0; g < images_of(rows) && !certain; g++) {
        if (!act(rows, g, pair.i, pair.j)) continue;
        Corners t = image_of(rows, g, other);
        if (overlap(s, t)) {
            overlaps = true;
            continue;
        }
        // One side at a time: errors of the two sides do not cancel here.
        Both plain = by_points(rows, rules, degree, s, degree, t, pair);
        Both left = differences(by_points(rows, rules, finer, s, degree, t, pair), plain);
        Both right = differences(by_points(rows, rules, degree, s, finer, t, pair), plain);
        Both errors = {left.forth + right.forth, left.back + right.back};
        certain = pair_matters(rows, errors, charges, parts, pair, allowed);
    }
    if (overlaps || certain) chosen[atomicAdd(chosen_count, 1u)] = certain ? k | CERTAIN : k;
}

// int_S int_T 1 / |x - y|; false if plain quadrature cannot do it and edges is 0.
__device__ __forceinline__ bool potential_integral(const Quadrature& quadrature, const Rules& rules, const Corners& cs,
                                                   const Corners& ct, const Triangle& s, const Triangle& t, u32 edges,
                                                   double* value) {
    bool same = true;
    for (u32 i = 0; i < 3; i++) same = same && norm2(cs.v[i] - ct.v[i]) == 0.0;
    // Which counts as the smaller is not left to rounding.
    bool swap = s.radius > t.radius * TIE;
    const Triangle &small = swap ? t : s, &large = swap ? s : t;
    // With images, some of a pair's integrals may be along edges and others not.
    bool try_plain = GENERAL || !edges;
    if (try_plain && same) {
        *value = self_integral(s);
        return true;
    }
    if (try_plain && smooth_integral(quadrature, rules, small, large, value)) return true;
    if (!edges) return false;
    *value = edge_integral(quadrature, rules, small, large);
    return true;
}

// int_S Omega_T; false as above.
__device__ __forceinline__ bool angle_integral(const Rules& rules, const Triangle& s, const Triangle& t, double accuracy, u32 edges,
                                               double* value) {
    if (smooth_angles(rules, s, t, accuracy, value)) return true;
    if (!edges) return false;
    *value = angles_by_edges(rules, s, t, allowed_angle(s, t, accuracy));
    return true;
}

// Entries (i, j) and (j, i) of a pair, one of which may be an image; false as above.
__device__ __forceinline__ bool exact(const Rows* rows, const Quadrature& quadrature, const Rules& rules, const Corners& cs,
                                      const Corners& ct, Pair pair, u32 edges, Both* entries) {
    u32 i = kind_of(rows, pair.i), j = kind_of(rows, pair.j);
    Triangle s = triangle_of(cs), t = triangle_of(ct);
    double per_area = 1.0 / (s.area * t.area), value = 0.0;
    *entries = {0.0, 0.0};
    if (i == SINGLE || j == SINGLE) {
        if (!potential_integral(quadrature, rules, cs, ct, s, t, edges, &value)) return false;
        if (i == SINGLE) entries->forth = value * per_area;
        if (j == SINGLE) entries->back = value * per_area;
    }
    // The flux of what one makes through the other is that other's mean solid angle seen from the
    // one.
    if (GENERAL && i == ADJOINT) {
        if (!angle_integral(rules, t, s, rows->angles, edges, &value)) return false;
        entries->forth = value * per_area;
    }
    if (GENERAL && j == ADJOINT) {
        if (!angle_integral(rules, s, t, rows->angles, edges, &value)) return false;
        entries->back = value * per_area;
    }
    return true;
}

// Integrals of chosen pairs, summed over images. edges 0: those that plain quadrature can do, the
// others are listed in `rest`; 1: all, along edges. Pairs that turn out to need no entry are left
// out of kept. values: [..] with GENERAL 0, else [..][2], (i, j) and (j, i).
extern "C" __global__ void near_integrate(const double* vertices, const double* charges, const u32* parts,
                                          const Pair* pairs, const u32* chosen,
                                          u32 count, const double* triangle, const u32* rule_starts, const double* line,
                                          u32 most_degree, u32 most_points, u32 degree, double allowed, double accuracy,
                                          u32 increment, u32 edges, u32* rest, u32* rest_count, Pair* kept, double* values,
                                          u32* kept_count, const Rows* rows) {
    u32 k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count) return;
    Rules rules = {triangle, rule_starts, line, most_degree, most_points};
    Quadrature quadrature = {accuracy, increment};
    Pair pair = pairs[chosen[k] & ~CERTAIN];
    bool needed = chosen[k] & CERTAIN;
    Corners s = load(vertices, pair.i), other = load(vertices, pair.j);
    Both sums = {0.0, 0.0};
    for (u32 g = 0; g < images_of(rows); g++) {
        if (!act(rows, g, pair.i, pair.j)) continue;
        Corners t = image_of(rows, g, other);
        Both entries;
        if (!exact(rows, quadrature, rules, s, t, pair, edges, &entries)) {
            rest[atomicAdd(rest_count, 1u)] = chosen[k];
            return;
        }
        if (!needed && overlap(s, t)) {
            Both errors = differences(entries, by_points(rows, rules, degree, s, degree, t, pair));
            needed = pair_matters(rows, errors, charges, parts, pair, allowed);
        }
        // Seen from the image, the first panel is the image.
        sums.forth += factor_of(rows, g, pair.j) * entries.forth;
        sums.back += factor_of(rows, g, pair.i) * entries.back;
    }
    if (!needed) return;
    u32 at = atomicAdd(kept_count, 1u);
    kept[at] = pair;
#if GENERAL
    values[2 * (u64)at] = sums.forth;
    values[2 * (u64)at + 1] = sums.back;
#else
    values[at] = sums.forth;
#endif
}

// Entries on the diagonal, summed over images.
extern "C" __global__ void near_diagonal(const double* vertices, u32 n, const double* triangle, const u32* rule_starts,
                                         const double* line, u32 most_degree, u32 most_points, double accuracy, u32 increment,
                                         double* diagonal, const Rows* rows) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    Corners own = load(vertices, i);
    Triangle t = triangle_of(own);
    double sum = kind_of(rows, i) == SINGLE ? self_integral(t) / (t.area * t.area) : 0.0;
#if GENERAL
    sum *= factor_of(rows, 0, i);
    Rules rules = {triangle, rule_starts, line, most_degree, most_points};
    Quadrature quadrature = {accuracy, increment};
    for (u32 g = 1; g < images_of(rows); g++) {
        if (!act(rows, g, i, i)) continue;
        Both entries;
        exact(rows, quadrature, rules, own, image_of(rows, g, own), {i, i}, 1, &entries);
        sum += factor_of(rows, g, i) * entries.forth;
    }
#endif
    diagonal[i] = sum;
}
