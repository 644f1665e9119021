// The mean solid angle of one triangle seen from another, int_S Omega_T(x) dS_x: the double layer's
// Galerkin integral. CPU twin: crates/bem/src/integrals/solid_angle.rs, whose names these are, and
// whose constants are macros; there pairs with a vertex in common have rules of their own.
#pragma once
#include "pair.cuh"

#define PI 3.14159265358979323846

__device__ __forceinline__ double longest_of(const Triangle& t) { return fmax(t.l[0], fmax(t.l[1], t.l[2])); }

__device__ __forceinline__ double height_over(const Triangle& t, Vec x) { return dot(x - t.v[0], t.n); }

// int_T n_y . (x - y) / |x - y|^3 dS_y: positive in front of T.
__device__ __noinline__ double solid_angle(const Triangle& t, Vec x) {
    Vec a = t.v[0] - x, b = t.v[1] - x, c = t.v[2] - x;
    double ra = norm(a), rb = norm(b), rc = norm(c);
    double height = -dot(t.n, a);
    double denominator = ra * rb * rc + dot(a, b) * rc + dot(b, c) * ra + dot(c, a) * rb;
    return 2.0 * atan2(2.0 * t.area * height, denominator);
}

// Whether s lies in the plane of t.
__device__ inline bool in_plane_of(const Triangle& s, const Triangle& t) {
    double size = fmax(longest_of(s), longest_of(t));
    bool in = true;
    for (u32 k = 0; k < 3; k++) in = in && fabs(height_over(t, s.v[k])) <= TOGETHER * size;
    return in;
}

// Degree of a rule for the integral of the solid angle over s; ~0u if t is too close for any.
__device__ inline u32 far_degree(const Rules& rules, const Triangle& s, const Triangle& t, double allowed) {
    double distance = distance_to(t, s.c);
    if (distance <= 1.5 * s.radius) return ~0u;
    double full = s.area * 2.0 * PI * fmin(t.area / (distance * distance), 1.0);
    double needed = log(fmax(ANGLES_BELOW_BOUND * full / allowed, 1.0)) / log(distance / s.radius) - 1.0;
    double degree = ceil(fmax(needed, 1.0));
    return degree <= (double)rules.most_degree ? (u32)degree : ~0u;
}

__device__ inline double angles_by_rule(const Rules& rules, u32 degree, const Triangle& s, const Triangle& t) {
    const double* p = rule_nodes(rules, degree);
    u32 n = rule_length(rules, degree);
    double sum = 0.0;
    for (u32 i = 0; i < n; i++) sum += p[4 * i + 3] * solid_angle(t, on(s.v, p + 4 * i));
    return s.area * sum;
}

// The solid angle, counted as positive, over a polygon on one side of the plane of t, by its edges;
// normal: around which its corners run.
__device__ inline double angles_over_polygon(const Rules& rules, const Vec* corners, u32 count, Vec normal, const Triangle& t,
                                             double digits) {
    double highest = 0.0;
    for (u32 i = 0; i < count; i++) {
        double height = height_over(t, corners[i]);
        if (fabs(height) > fabs(highest)) highest = height;
    }
    Vec up = highest < 0.0 ? t.n * -1.0 : t.n;
    double cosine = dot(normal, up), sum = 0.0;
    for (u32 i = 0; i < count; i++) {
        Vec edge = corners[(i + 1) % count] - corners[i];
        double length = norm(edge);
        if (length == 0.0) continue;
        Vec tangent = edge * (1.0 / length), across = cross(tangent, up);
        double of_potential = dot(normal, across);
        sum += along_line(corners[i], tangent, length, t, digits, 0, rules, [&](Vec x) {
            double h = fabs(height_over(t, x)), logs = 0.0;
            for (u32 j = 0; j < 3; j++) logs += cosine * dot(across, t.m[j]) * log_along_edge(t, j, x, h);
            return of_potential * potential(t, x) - logs;
        });
    }
    return sum;
}

// int_S Omega_T along the edges of the parts of s on either side of the plane of t.
__device__ inline double angles_by_edges(const Rules& rules, const Triangle& s, const Triangle& t, double allowed) {
    double own = longest_of(s), other = longest_of(t), size = fmax(own, other), heights[3];
    for (u32 k = 0; k < 3; k++) {
        double height = height_over(t, s.v[k]);
        heights[k] = fabs(height) <= TOGETHER * size || has_vertex(t, s.v[k]) ? 0.0 : height;
    }
    double digits = -log(fmax(allowed / (6.0 * own * fmax(other, own)), 1e-15)), sum = 0.0;
    for (u32 half = 0; half < 2; half++) {
        double side = half ? -1.0 : 1.0;
        Vec corners[4];
        u32 count = 0;
        bool beyond = false;
        for (u32 i = 0; i < 3; i++) {
            u32 j = (i + 1) % 3;
            double here = side * heights[i], next = side * heights[j];
            beyond = beyond || here > 0.0;
            if (here >= 0.0) corners[count++] = s.v[i];
            if (here * next < 0.0) corners[count++] = s.v[i] + (s.v[j] - s.v[i]) * (here / (here - next));
        }
        // What only touches the plane is on neither side.
        if (beyond) sum += side * angles_over_polygon(rules, corners, count, s.n, t, digits);
    }
    return sum;
}

__device__ __forceinline__ double allowed_angle(const Triangle& s, const Triangle& t, double accuracy) {
    return accuracy * 2.0 * PI * fmin(s.area, t.area);
}

// int_S Omega_T where a rule does; false if none does.
__device__ inline bool smooth_angles(const Rules& rules, const Triangle& s, const Triangle& t, double accuracy, double* value) {
    *value = 0.0;
    if (in_plane_of(s, t)) return true;
    u32 degree = far_degree(rules, s, t, allowed_angle(s, t, accuracy));
    if (degree == ~0u) return false;
    *value = angles_by_rule(rules, degree, s, t);
    return true;
}
