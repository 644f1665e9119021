// One flat triangle in double precision: geometry, closed-form potential, self integral, quadrature
// points. CPU twins: crates/bem/src/geometry/triangle.rs and quadrature/sums.rs.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

struct Vec {
    double x, y, z;
};

__device__ __forceinline__ Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ __forceinline__ Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__device__ __forceinline__ Vec operator*(Vec a, double s) { return {a.x * s, a.y * s, a.z * s}; }
__device__ __forceinline__ double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ __forceinline__ Vec cross(Vec a, Vec b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
__device__ __forceinline__ double norm2(Vec a) { return dot(a, a); }
__device__ __forceinline__ double norm(Vec a) { return sqrt(dot(a, a)); }

// Vertices as they are stored, [n][3].
struct Corners {
    Vec v[3];
};

__device__ __forceinline__ Vec centroid_of(const Corners& t) { return (t.v[0] + t.v[1] + t.v[2]) * (1.0 / 3.0); }

__device__ __forceinline__ double radius_of(const Corners& t, Vec centroid) {
    double r2 = fmax(norm2(t.v[0] - centroid), fmax(norm2(t.v[1] - centroid), norm2(t.v[2] - centroid)));
    return sqrt(r2);
}

__device__ __forceinline__ double diameter_of(const Corners& t) {
    double d2 = fmax(norm2(t.v[1] - t.v[0]), fmax(norm2(t.v[2] - t.v[1]), norm2(t.v[0] - t.v[2])));
    return sqrt(d2);
}

struct Triangle {
    Vec v[3];  // vertices
    Vec t[3];  // unit tangents, edge i from vertex i
    Vec m[3];  // outward normals of the edges in the plane
    double l[3];
    Vec n, c;  // normal, centroid
    double area, radius;
};

__device__ inline Triangle triangle_of(const Corners& corners) {
    Triangle t;
    Vec e[3];
    for (u32 i = 0; i < 3; i++) t.v[i] = corners.v[i];
    for (u32 i = 0; i < 3; i++) {
        e[i] = t.v[(i + 1) % 3] - t.v[i];
        t.l[i] = norm(e[i]);
    }
    // The two shorter edges span the plane with the least cancellation.
    u32 longest = 0;
    for (u32 i = 1; i < 3; i++)
        if (t.l[i] > t.l[longest]) longest = i;
    Vec a = longest == 0 ? e[1] : longest == 1 ? e[2] : e[0];
    Vec b = longest == 0 ? e[2] : longest == 1 ? e[0] : e[1];
    Vec normal = cross(a, b);
    double twice = norm(normal);
    t.n = normal * (1.0 / twice);
    t.area = 0.5 * twice;
    for (u32 i = 0; i < 3; i++) {
        t.t[i] = e[i] * (1.0 / t.l[i]);
        t.m[i] = cross(t.t[i], t.n);
    }
    t.c = centroid_of(corners);
    t.radius = radius_of(corners, t.c);
    return t;
}

// int_T dS_y / |x - y|. Not inlined: the compiler of CUDA 13.0 makes wrong code of it within loops
// (every pair integral was off, by up to 274 times, without optimisation and out of line none).
// ON_EDGE keeps the logarithm finite on an edge.
__device__ __noinline__ double potential(const Triangle& t, Vec x) {
    Vec a[3] = {t.v[0] - x, t.v[1] - x, t.v[2] - x};
    double r[3] = {norm(a[0]), norm(a[1]), norm(a[2])};
    double z = fabs(dot(t.n, a[0]));
    double z2 = z * z + ON_EDGE, sum = 0.0;
#pragma unroll
    for (u32 i = 0; i < 3; i++) {
        u32 j = (i + 1) % 3;
        double d = dot(a[i], t.m[i]);
        double rho2 = d * d + z2;
        // r_i + s and r_j - t without cancellation: their product with the conjugate is rho^2.
        double s = dot(a[i], t.t[i]), u = dot(a[j], t.t[i]);
        double ri = r[i] + fabs(s), rj = r[j] + fabs(u);
        double before = s >= 0.0 ? ri : rho2 / ri;
        double after = u <= 0.0 ? rj : rho2 / rj;
        sum += d * log((r[i] + r[j] + t.l[i]) / (before + after));
    }
    double denominator = r[0] * r[1] * r[2] + dot(a[0], a[1]) * r[2] + dot(a[1], a[2]) * r[0] + dot(a[2], a[0]) * r[1];
    return sum - z * 2.0 * atan2(2.0 * t.area * z, denominator);
}

// int_T int_T dS_x dS_y / |x - y|.
__device__ inline double self_integral(const Triangle& t) {
    double perimeter = t.l[0] + t.l[1] + t.l[2];
    double small = fmin(t.l[0], fmin(t.l[1], t.l[2])), large = fmax(t.l[0], fmax(t.l[1], t.l[2]));
    double middle = fmax(fmin(t.l[0], t.l[1]), fmin(fmax(t.l[0], t.l[1]), t.l[2]));
    // Heron, so that needles do not cancel.
    double q_small = perimeter - 2.0 * small, q_middle = perimeter - 2.0 * middle;
    double q_large = 16.0 * t.area * t.area / (perimeter * q_small * q_middle);
    double sum = log(perimeter / q_small) / small + log(perimeter / q_middle) / middle + log(perimeter / q_large) / large;
    return 4.0 / 3.0 * t.area * t.area * sum;
}

// Quadrature rules: of triangles by degree, nodes of barycentric coordinates and a weight; of the
// unit interval by number of points, nodes of a place and a weight.
struct Rules {
    const double* triangle;  // [nodes][4]
    const u32* starts;       // [degrees + 1], in nodes
    const double* line;      // [nodes][2]; n points begin at n (n - 1) / 2
    u32 most_degree, most_points;
};

__device__ __forceinline__ u32 rule_length(const Rules& rules, u32 degree) {
    degree = min(degree, rules.most_degree);
    return rules.starts[degree + 1] - rules.starts[degree];
}

__device__ __forceinline__ const double* rule_nodes(const Rules& rules, u32 degree) {
    return rules.triangle + 4 * rules.starts[min(degree, rules.most_degree)];
}

// Node of a rule on a triangle; rounded as the CPU does it, so that points which coincide there
// coincide here.
__device__ __forceinline__ Vec on(const Vec* v, const double* node) {
    double a = node[0], b = node[1], c = node[2];
    auto mix = [=](double x, double y, double z) {
        return __dadd_rn(__dadd_rn(__dmul_rn(x, a), __dmul_rn(y, b)), __dmul_rn(z, c));
    };
    return {mix(v[0].x, v[1].x, v[2].x), mix(v[0].y, v[1].y, v[2].y), mix(v[0].z, v[1].z, v[2].z)};
}

// sum_pq v_p w_q / |x_p - y_q| over the points of two rules on two triangles; coincident points
// contribute nothing.
__device__ inline double sum_by_points(const Rules& rules, u32 outer, const Vec* s, u32 inner, const Vec* t) {
    const double *p = rule_nodes(rules, outer), *q = rule_nodes(rules, inner);
    u32 m = rule_length(rules, outer), n = rule_length(rules, inner);
    double total = 0.0;
    for (u32 i = 0; i < m; i++) {
        Vec x = on(s, p + 4 * i);
        double sum = 0.0;
        for (u32 j = 0; j < n; j++) {
            double r2 = norm2(on(t, q + 4 * j) - x);
            sum += r2 > 0.0 ? q[4 * j + 3] * rsqrt(r2) : 0.0;
        }
        total += p[4 * i + 3] * sum;
    }
    return total;
}

// sum_pq v_p w_q (x_p - y_q) / |x_p - y_q|^3 over the same points.
__device__ inline Vec field_by_points(const Rules& rules, u32 outer, const Vec* s, u32 inner, const Vec* t) {
    const double *p = rule_nodes(rules, outer), *q = rule_nodes(rules, inner);
    u32 m = rule_length(rules, outer), n = rule_length(rules, inner);
    Vec total = {0.0, 0.0, 0.0};
    for (u32 i = 0; i < m; i++) {
        Vec x = on(s, p + 4 * i);
        for (u32 j = 0; j < n; j++) {
            Vec d = x - on(t, q + 4 * j);
            double r2 = norm2(d), inverse = r2 > 0.0 ? rsqrt(r2) : 0.0;
            total = total + d * (p[4 * i + 3] * q[4 * j + 3] * inverse * inverse * inverse);
        }
    }
    return total;
}
