// Galerkin integrals of a pair of triangles, int_S int_T dS_x dS_y / |x - y|, touching or not. CPU
// twins: crates/bem/src/integrals/pair.rs and edge.rs, whose names these are, and whose constants
// are macros.
#pragma once
#include "triangle.cuh"

// Accuracy of pair integrals; increment: orders added to every rule.
struct Quadrature {
    double accuracy;
    u32 increment;
};

__device__ inline double distance_to(const Triangle& t, Vec x) {
    bool inside = true;
    double to_edges = 1e300;
    for (u32 i = 0; i < 3; i++) {
        Vec a = t.v[i] - x;
        inside = inside && dot(a, t.m[i]) >= 0.0;
        double along = fmin(fmax(-dot(a, t.t[i]), 0.0), t.l[i]);
        to_edges = fmin(to_edges, norm2(a + t.t[i] * along));
    }
    return inside ? fabs(dot(t.v[0] - x, t.n)) : sqrt(to_edges);
}

// Degree of a rule for a triangle of this radius with singularities at `distance`; none: ~0.
__device__ inline u32 degree_for(const Quadrature& q, double radius, double distance) {
    if (distance <= 1.2 * radius) return ~0u;
    double needed = log(BELOW_BOUND / q.accuracy) / log(distance / radius) - 1.0;
    if (!(needed <= MAX_SMOOTH_DEGREE)) return ~0u;
    return (u32)ceil(fmax(needed, 2.0)) + q.increment;
}

// Plain quadrature over one triangle or both. False: not smooth enough.
__device__ inline bool smooth_integral(const Quadrature& q, const Rules& rules, const Triangle& s, const Triangle& l,
                                       double* value) {
    double between = norm(s.c - l.c);
    if (between <= l.radius) return false;
    u32 outer = degree_for(q, s.radius, distance_to(l, s.c));
    u32 inner = degree_for(q, l.radius, between - s.radius);
    if (outer == ~0u) return false;
    if (inner != ~0u && rule_length(rules, inner) < POTENTIAL_COST) {
        *value = s.area * l.area * sum_by_points(rules, outer, s.v, inner, l.v);
        return true;
    }
    const double* p = rule_nodes(rules, outer);
    u32 n = rule_length(rules, outer);
    double sum = 0.0;
    for (u32 i = 0; i < n; i++) sum += p[4 * i + 3] * potential(l, on(s.v, p + 4 * i));
    *value = s.area * sum;
    return true;
}

// Singular parameters of a line, the edge being [0, 1]: real and imaginary part.
struct Singularities {
    double re[6], im[6];
    u32 count;
};

__device__ inline Singularities singularities(Vec start, Vec tangent, double length, const Triangle& source) {
    Singularities out;
    out.count = 0;
    auto push = [&](double re, double im) {
        out.re[out.count] = re;
        out.im[out.count] = im;
        out.count++;
    };
    for (u32 k = 0; k < 3; k++) {
        Vec a = source.v[k] - start;
        double foot = dot(a, tangent);
        push(foot / length, norm(a - tangent * foot) / length);
        // Where the line's distance to the line of edge k vanishes, if that is next to the edge.
        Vec e = source.t[k], u = start - source.v[k];
        double cosine = dot(e, tangent);
        Vec across = u - e * dot(u, e), step = tangent - e * cosine;
        double step2 = norm2(step);
        if (step2 < 1e-8) continue;
        double t = -dot(across, step) / step2;
        double along = dot(u, e) + t * cosine;
        if (along > 0.0 && along < source.l[k])
            push(t / length, norm(across + step * t) / (sqrt(step2) * length));
    }
    return out;
}

enum PieceKind { GAUSS, TO_START, TO_END, CUT_AT };
struct Piece {
    PieceKind kind;
    u32 points;
    double at;
};

__device__ inline Piece plan_piece(double a, double b, const Singularities& s, double digits, u32 increment, u32 most_line) {
    double width = b - a;
    u32 most = max((u32)MOST_POINTS, (u32)(digits / 2.0)) + increment;
    bool at_start = false, at_end = false;
    double worst = 1e300, worst_at = 0.0;
    for (u32 k = 0; k < s.count; k++) {
        double re = s.re[k], im2 = s.im[k] * s.im[k];
        double to_start = sqrt((re - a) * (re - a) + im2), to_end = sqrt((re - b) * (re - b) + im2);
        if (to_start < AT_END) at_start = true;
        else if (to_end < AT_END) at_end = true;
        else {
            double ratio = (to_start + to_end) / width;
            if (ratio < worst) {
                worst = ratio;
                worst_at = re;
            }
        }
    }
    if (at_start && at_end) return {CUT_AT, 0, 0.5 * (a + b)};
    double rate = acosh(fmax(worst, 1.0 + 1e-12));
    bool grade = at_start || at_end;
    double needed = fmax(ceil(digits / (2.0 * (grade ? 0.5 * rate : rate))), 2.0);
    if (grade) needed += (double)((u32)digits / 8);
    if (needed <= (double)most || width < SMALLEST_PIECE) {
        u32 n = min((u32)fmin(needed, (double)most) + increment, most_line);
        if (!grade) return {GAUSS, n, 0.0};
        return {at_start ? TO_START : TO_END, max(n, 6u), 0.0};
    }
    if (worst_at > a + INTERIOR * width && worst_at < b - INTERIOR * width) return {CUT_AT, 0, worst_at};
    if (at_start || (worst_at > 0.5 * (a + b) && !at_end)) return {CUT_AT, 0, b - CUT * width};
    return {CUT_AT, 0, a + CUT * width};
}

// sum of w f(x) over the points that integrate along an edge, f being singular where the potential
// of `source` is.
template <class F>
__device__ inline double along_line(Vec start, Vec tangent, double length, const Triangle& source, double digits,
                                    u32 increment, const Rules& rules, F f) {
    // Each cut leaves one piece for later; pieces shrink at least by 0.95, mostly by half, down to
    // SMALLEST_PIECE.
    const u32 DEPTH = 48;
    double left[DEPTH], right[DEPTH];
    double sum = 0.0;
    Singularities singular = singularities(start, tangent, length, source);
    u32 open = 1;
    left[0] = 0.0;
    right[0] = 1.0;
    while (open) {
        open--;
        double a = left[open], b = right[open], width = b - a;
        Piece piece = plan_piece(a, b, singular, digits, increment, rules.most_points);
        if (piece.kind == CUT_AT && open + 2 <= DEPTH) {
            left[open] = piece.at;
            right[open] = b;
            left[open + 1] = a;
            right[open + 1] = piece.at;
            open += 2;
            continue;
        }
        u32 n = piece.kind == CUT_AT ? rules.most_points : piece.points;
        const double* nodes = rules.line + n * (n - 1);
        for (u32 k = 0; k < n; k++) {
            double at = nodes[2 * k], u = at, derivative = 1.0;
            if (piece.kind == TO_START) u = at * at * at, derivative = 3.0 * at * at;
            if (piece.kind == TO_END) u = 1.0 - at * at * at, derivative = 3.0 * at * at;
            sum += length * width * nodes[2 * k + 1] * derivative * f(start + tangent * ((a + width * u) * length));
        }
    }
    return sum;
}

// The same along edge i of `of`.
template <class F>
__device__ inline double along_edge(const Triangle& of, u32 i, const Triangle& source, double digits, u32 increment,
                                    const Rules& rules, F f) {
    return along_line(of.v[i], of.t[i], of.l[i], source, digits, increment, rules, f);
}

// int ln(h + |x - y|) dt over y on edge j of t, for x a height h above the plane.
__device__ inline double log_along_edge(const Triangle& t, u32 j, Vec x, double h) {
    Vec a = t.v[j] - x;
    double d = fabs(dot(a, t.m[j])), start = dot(a, t.t[j]);
    double off = sqrt(d * d + h * h + ON_EDGE);
    auto primitive = [=](double u) {
        double r = sqrt(u * u + off * off);
        double angle = atan2(u * d * (r - h), d * d * r + h * u * u);
        return u * log(h + r) - u + h * asinh(u / off) + d * angle;
    };
    return primitive(start + t.l[j]) - primitive(start);
}

// Longest edge over twice the height above it, no less than 1.
__device__ __forceinline__ double slenderness(const Triangle& t) {
    double longest = fmax(t.l[0], fmax(t.l[1], t.l[2]));
    return fmax(longest * longest / (4.0 * t.area), 1.0);
}

// The point o, which lies in the plane of t, and the height of the plane of s over it; 0 where the
// planes meet there.
struct Origin {
    Vec at;
    double height;
};

__device__ __forceinline__ bool has_vertex(const Triangle& t, Vec v) {
    bool has = false;
    for (u32 k = 0; k < 3; k++) has = has || norm2(t.v[k] - v) == 0.0;
    return has;
}

__device__ inline Origin choose_origin(const Triangle& s, const Triangle& t, double size) {
    u32 best_edges = ~0u;
    double best_arms = 0.0;
    Vec best = {0.0, 0.0, 0.0};
    for (u32 side = 0; side < 2; side++) {
        const Triangle &of = side ? t : s, &other = side ? s : t;
        for (u32 k = 0; k < 3; k++) {
            Vec v = of.v[k];
            if (fabs(dot(v - other.v[0], other.n)) > IN_PLANE * size && !has_vertex(other, v)) continue;
            // The fewer edges remain, and the shorter the arms, the less work and cancellation.
            u32 edges = 0;
            double arms = 0.0;
            for (u32 i = 0; i < 6; i++) {
                const Triangle& triangle = i < 3 ? s : t;
                double d = fabs(dot(triangle.v[i % 3] - v, triangle.m[i % 3]));
                edges += d > IN_PLANE * size;
                arms += d;
            }
            if (best_edges == ~0u || edges < best_edges || (edges == best_edges && arms * TIE < best_arms)) {
                best_edges = edges;
                best_arms = arms;
                best = v;
            }
        }
    }
    if (best_edges != ~0u) return {best, 0.0};
    // The point on the planes' common line nearest to the smaller triangle. The normals' difference
    // has all its digits where they are almost the same; `across` is the part of t's normal in the
    // plane of s, as long as the sine of the angle.
    Vec from = s.area <= t.area ? s.c : t.c;
    Vec facing = dot(s.n, t.n) < 0.0 ? t.n * -1.0 : t.n;
    Vec apart = facing - s.n, across = apart - s.n * dot(apart, s.n);
    double above_s = dot(from - s.v[0], s.n), above_t = dot(from - t.v[0], facing);
    double gap = above_s - above_t - 0.5 * norm2(apart) * above_s, sine = norm(across);
    if (fabs(gap) < FAR_MEETING * size * sine) return {from - s.n * above_s + across * (gap / (sine * sine)), 0.0};
    Vec at = s.c - t.n * dot(s.c - t.v[0], t.n);
    return {at, dot(s.c - at, s.n)};
}

// Integrals along the edges; holds for every pair, meant for touching and close ones.
__device__ inline double edge_integral(const Quadrature& q, const Rules& rules, const Triangle& s, const Triangle& t) {
    double size = fmax(fmax(s.l[0], fmax(s.l[1], s.l[2])), fmax(t.l[0], fmax(t.l[1], t.l[2])));
    Origin origin = choose_origin(s, t, size);
    // Far meeting points make large terms that cancel, and so do the two sides of a sliver.
    double far = norm(origin.at - s.c) / size, thin = fmax(slenderness(s), slenderness(t));
    double digits = -log(fmax(q.accuracy / (fmax(far, 1.0) * thin), 1e-15));
    double sum = 0.0;
    for (u32 i = 0; i < 6; i++) {
        const Triangle &of = i < 3 ? s : t, &source = i < 3 ? t : s;
        double d = dot(of.v[i % 3] - origin.at, of.m[i % 3]);
        if (fabs(d) > IN_PLANE * size)
            sum += d * along_edge(of, i % 3, source, digits, q.increment, rules,
                                  [&](Vec x) { return potential(source, x); });
    }
    if (origin.height != 0.0) {
        double layers = 0.0;
        Vec up = dot(s.c - t.v[0], t.n) < 0.0 ? t.n * -1.0 : t.n;
        for (u32 i = 0; i < 3; i++) {
            Vec across = cross(s.t[i], up);
            layers += along_edge(s, i, t, digits, q.increment, rules, [&](Vec x) {
                double terms = 0.0, h = fabs(dot(x - t.v[0], t.n));
                for (u32 j = 0; j < 3; j++) terms += dot(across, t.m[j]) * log_along_edge(t, j, x, h);
                return terms;
            });
        }
        sum += origin.height * layers;
    }
    return sum / 3.0;
}
