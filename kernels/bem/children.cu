// Potentials and normal derivatives at places on each panel: closed forms of near panels in place
// of the points that stand for them in a fast sum. CPU twin:
// crates/bem/src/physics/estimate/close_panels.rs.
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
