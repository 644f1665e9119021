// Potentials and normal derivatives at places on each panel: closed forms of near panels in place
// of the points that stand for them in a fast sum; and integrals between the children of a panel.
// CPU twins: crates/bem/src/physics/estimate/close_panels.rs and wide.rs.
#include "rows.cuh"

// The gradient with respect to x of int_T dS_y / |x - y|, in the plane of T the mean of both sides.
// Not inlined, as `potential`.
__device__ __noinline__ Vec potential_gradient(const Triangle& t, Vec x) {
    Vec a[3] = {t.v[0] - x, t.v[1] - x, t.v[2] - x};
    double r[3] = {norm(a[0]), norm(a[1]), norm(a[2])};
    double z = -dot(t.n, a[0]);
    double z2 = z * z + ON_EDGE;
    Vec sum = {0.0, 0.0, 0.0};
#pragma unroll
    for (u32 i = 0; i < 3; i++) {
        u32 j = (i + 1) % 3;
        double d = dot(a[i], t.m[i]);
        double rho2 = d * d + z2;
        double s = dot(a[i], t.t[i]), u = dot(a[j], t.t[i]);
        double ri = r[i] + fabs(s), rj = r[j] + fabs(u);
        double before = s >= 0.0 ? ri : rho2 / ri;
        double after = u <= 0.0 ? rj : rho2 / rj;
        sum = sum - t.m[i] * log((r[i] + r[j] + t.l[i]) / (before + after));
    }
    if (z == 0.0) return sum;
    double denominator = r[0] * r[1] * r[2] + dot(a[0], a[1]) * r[2] + dot(a[1], a[2]) * r[0] + dot(a[2], a[0]) * r[1];
    return sum - t.n * copysign(2.0 * atan2(2.0 * t.area * fabs(z), denominator), z);
}

// Adds to sums what closed forms of the panels within `near` radii make beyond their points,
// [columns][n][place_count]; on interfaces normal becomes the derivative along the panel's normal
// of the sum, whose gradient is [columns][n][place_count][3], with that. places: barycentric
// coordinates; rule: nodes_of_rule nodes.
extern "C" __global__ void children_correct(const double* vertices, const double* centroids, const Node* nodes, const u32* starts,
                                            u32 depth, u32 n, double near, const double* places, u32 place_count,
                                            const double* rule, u32 nodes_of_rule, const double* x, const double* gradient,
                                            double* sums, double* normal, const Rows* rows) {
    u64 k = blockIdx.x * (u64)THREADS + threadIdx.x, count_of_targets = n * (u64)place_count;
    if (k >= count_of_targets) return;
    u32 i = (u32)(k / place_count);
    u64 to = blockIdx.y * count_of_targets + k;
    const double* charges = x + blockIdx.y * (u64)n;
    Corners own = load(vertices, i);
    Vec at = on(own.v, places + 4 * (k % place_count));
    bool has_slope = GENERAL && kind_of(rows, i) == ADJOINT;
    Vec along = {0.0, 0.0, 0.0};
    double sum = 0.0, slope = 0.0;
    if (has_slope) {
        along = normal_of(own);
        const double* g = gradient + 3 * to;
        slope = dot(Vec{g[0], g[1], g[2]}, along);
    }
    for (u32 g = 0; g < images_of(rows); g++) {
        // A place is as far from an image of j as its image from j.
        Vec seen = reflected(rows, g, at);
        u32 open[40], count = 1;
        open[0] = 1;
        while (count) {
            u32 m = open[--count];
            Node node = nodes[m];
            if (outside2(node, seen) >= node.reach * node.reach) continue;
            if (m < 1u << depth) {
                open[count++] = 2 * m + 1;
                open[count++] = 2 * m;
                continue;
            }
            u32 leaf = m - (1u << depth);
            for (u32 j = starts[leaf]; j < starts[leaf + 1]; j++) {
                const double* c = centroids + 4 * (u64)j;
                double apart = norm2(Vec{c[0], c[1], c[2]} - seen), factor = factor_of(rows, g, j);
                if (apart >= c[3] * c[3] || factor == 0.0) continue;
                Corners corners = load(vertices, j);
                double reach = near * radius_of(corners, Vec{c[0], c[1], c[2]});
                if (apart >= reach * reach) continue;
                corners = image_of(rows, g, corners);
                Triangle t = triangle_of(corners);
                double value = potential(t, at) / t.area, along_normal = 0.0;
                // In its own plane a panel has no normal derivative.
                if (has_slope && (i != j || g)) along_normal = dot(potential_gradient(t, at), along) / t.area;
                for (u32 q = 0; q < nodes_of_rule; q++) {
                    Vec r = at - on(corners.v, rule + 4 * q);
                    double r2 = norm2(r), inverse = r2 > 0.0 ? rsqrt(r2) : 0.0, weighted = rule[4 * q + 3] * inverse;
                    value -= weighted;
                    along_normal += weighted * inverse * inverse * dot(r, along);
                }
                sum += factor * charges[j] * value;
                slope += factor * charges[j] * along_normal;
            }
        }
    }
    sums[to] += sum;
    if (has_slope) normal[to] = slope;
}

// int_0^1 (1/2 - t/6) / |a + t b| dt, by the lengths of a, b and a + b.
__device__ double toward(double a, double b, double sum) {
    double inverse = log((a + sum + b) / (a + sum - b)) / b;
    double along = 0.5 * (sum * sum - a * a - b * b);
    return 0.5 * inverse - (sum - a - along * inverse) / (6.0 * b * b);
}

// The integral of 1/r over pairs of points of a parallelogram.
__device__ double of_parallelogram(double area, double a, double b, double diagonal) {
    double other = sqrt(2.0 * (a * a + b * b) - diagonal * diagonal);
    double sum = toward(a, b, diagonal) + toward(b, a, diagonal) + toward(a, b, other) + toward(b, a, other);
    return 2.0 * area * area * sum;
}

// Single-layer integrals between the children of each panel, over the power 3/2 of a child's area,
// [n][7]: of a child with itself, of the middle one with those at the corners, and of those at
// corners k and k + 1. 0 where a panel's height is less than the share `wide` of its longest side.
extern "C" __global__ void children_integrals(const double* vertices, u32 n, double wide, const double* rule,
                                              u32 nodes_of_rule, float* integrals) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    float* to = integrals + 7 * (u64)i;
    Corners panel = load(vertices, i);
    Vec half[3];
    for (u32 k = 0; k < 3; k++) half[k] = (panel.v[k] + panel.v[(k + 1) % 3]) * 0.5;
    Triangle middle = triangle_of(Corners{{half[0], half[1], half[2]}});
    double longest = fmax(middle.l[0], fmax(middle.l[1], middle.l[2]));
    if (!(2.0 * middle.area >= wide * longest * longest)) {
        for (u32 k = 0; k < 7; k++) to[k] = 0.0f;
        return;
    }
    double scale = 1.0 / (middle.area * sqrt(middle.area));
    double own = self_integral(middle), rest = 2.0 * own, apart[3];
    to[0] = (float)(scale * own);
    for (u32 k = 0; k < 3; k++) {
        // The side that corner k has in common with the middle.
        double p = middle.l[k], q = middle.l[(k + 1) % 3], side = middle.l[(k + 2) % 3];
        double beside = 0.5 * of_parallelogram(2.0 * middle.area, p, q, side) - own;
        rest -= beside;
        to[1 + k] = (float)(scale * beside);
    }
    double sum = 0.0;
    for (u32 k = 0; k < 3; k++) {
        u32 next = (k + 1) % 3;
        Vec corners[3] = {half[k], panel.v[next], half[next]};
        Vec twice = half[(k + 2) % 3] + half[k];
        apart[k] = 0.0;
        for (u32 q = 0; q < nodes_of_rule; q++)
            apart[k] += rule[4 * q + 3] * potential(middle, twice - on(corners, rule + 4 * q));
        sum += apart[k];
    }
    for (u32 k = 0; k < 3; k++) to[4 + k] = (float)(scale * rest / sum * apart[k]);
}
