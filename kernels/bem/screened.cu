// The near field between the points of panels: layers with the kernels exp(-kappa r) / r of several
// regions. POINTS: points of a panel; ORDER: of the polynomials that panels are. CPU twins:
// crates/bem/src/poisson_boltzmann/close.rs, kernel.rs, pairs.rs, regions.rs;
// crates/bem/src/geometry/patch.rs.
#include "triangle.cuh"

#define TERMS ((ORDER + 1) * (ORDER + 2) / 2)

struct Pair {
    u32 i, j;
};

// The layers of one region in the rows of a point: V, K, K' and T, and K' with points and panels
// exchanged.
struct Layers {
    double kappa, single_layer, double_layer, adjoint, hypersingular, transposed;
};

struct Entries {
    double single_layer, double_layer, adjoint, hypersingular, transposed;
};

// All panels with their points, and the regions around them.
struct Surfaces {
    const double* patches;    // [n][TERMS][3], by powers of the parameters
    const double* places;     // [n][POINTS][3]
    const double* normals;    // [n][POINTS][3]
    const double* weights;    // [n][POINTS]
    const u32* sides;         // [n][2], regions in front and behind
    const double2* media;     // permittivity and kappa
    const double* stencil;    // [POINTS][2 + POINTS], parameters of a point and coefficients of its polynomial
};

__device__ __forceinline__ Vec vector_at(const double* p) { return {p[0], p[1], p[2]}; }

// 1 if the panel's normal points out of the region, -1 if into it, 0 if it does not bound it.
__device__ __forceinline__ double sign_of(const u32* sides, u32 panel, u32 region) {
    return (double)(sides[2 * panel + 1] == region) - (double)(sides[2 * panel] == region);
}

// Layers of panel j in the equations of a point of panel i; how many.
__device__ __forceinline__ u32 layers_between(const Surfaces& all, u32 i, u32 j, Layers* layers) {
    u32 count = 0;
    for (u32 side = 0; side < 2; side++) {
        u32 region = all.sides[2 * i + side];
        double sign = sign_of(all.sides, j, region), own = sign_of(all.sides, i, region);
        if (sign == 0.0) continue;
        double2 medium = all.media[region];
        layers[count++] = {medium.y, sign, -sign * medium.x, sign / medium.x, -sign, own / medium.x};
    }
    return count;
}

// All kernels for points x with unit normals `normal` and y with its area times its unit normal
// `stretched`, d = x - y. Zero for coincident points.
__device__ __forceinline__ Entries kernels_at(const Layers* layers, u32 count, Vec d, Vec normal, Vec stretched) {
    double square = norm2(d), inverse = square > 0.0 ? rsqrt(square) : 0.0;
    double r = square * inverse, inverse2 = inverse * inverse, area = norm(stretched);
    double at_x = dot(normal, d), at_y = dot(stretched, d), both = dot(normal, stretched);
    Entries sums = {0.0, 0.0, 0.0, 0.0, 0.0};
    for (u32 k = 0; k < count; k++) {
        const Layers& of = layers[k];
        double x = r * of.kappa, g0 = inverse * (of.kappa > 0.0 ? exp(-x) : 1.0);
        // grad_x G = -g1 d, and dg1/dr = -g2 r.
        double g1 = g0 * inverse2 * (x + 1.0), g2 = g0 * inverse2 * inverse2 * (x * x + 3.0 * (x + 1.0));
        sums.single_layer += of.single_layer * g0 * area;
        sums.double_layer += of.double_layer * g1 * at_y;
        sums.adjoint -= of.adjoint * g1 * at_x * area;
        sums.hypersingular += of.hypersingular * (g1 * both - g2 * at_x * at_y);
        sums.transposed += of.transposed * g1 * at_y;
    }
    return sums;
}

// Integrals over one panel times the terms of polynomials, for one point. LANES lanes share the
// points of its rules.
struct Integral {
    Vec patch[TERMS];
    const Layers* layers;
    u32 count, lane;
    Vec place, normal;
    Entries moments[POINTS];

    __device__ __forceinline__ static void powers_of(double s, double t, double* powers) {
        powers[0] = 1.0;
#pragma unroll
        for (u32 degree = 1; degree <= ORDER; degree++) {
            u32 first = degree * (degree + 1) / 2;
#pragma unroll
            for (u32 k = 0; k < degree; k++) powers[first + k] = powers[first + k - degree] * s;
            powers[first + degree] = powers[first - 1] * t;
        }
    }

    __device__ __forceinline__ Vec at(double s, double t) const {
        double powers[TERMS];
        powers_of(s, t, powers);
        Vec x = {0.0, 0.0, 0.0};
#pragma unroll
        for (u32 k = 1; k < TERMS; k++) x = x + patch[k] * powers[k];
        return patch[0] + x;
    }

    // x_s cross x_t: along the normal; its length is the area per unit of parameters.
    __device__ __forceinline__ Vec stretched_at(double s, double t) const {
        double powers[TERMS];
        powers_of(s, t, powers);
        Vec by_s = {0.0, 0.0, 0.0}, by_t = {0.0, 0.0, 0.0};
#pragma unroll
        for (u32 degree = 1; degree <= ORDER; degree++) {
#pragma unroll
            for (u32 k = 0; k <= degree; k++) {
                u32 lower = degree * (degree - 1) / 2;
                Vec c = patch[degree * (degree + 1) / 2 + k];
                if (k < degree) by_s = by_s + c * ((degree - k) * powers[lower + k]);
                if (k > 0) by_t = by_t + c * (k * powers[lower + k - 1]);
            }
        }
        return cross(by_s, by_t);
    }

    __device__ __forceinline__ void add(double s, double t, double weight) {
        Entries found = kernels_at(layers, count, place - at(s, t), normal, stretched_at(s, t));
        double powers[6] = {weight, weight * s, weight * t, weight * s * s, weight * s * t, weight * t * t};
#pragma unroll
        for (u32 k = 0; k < POINTS; k++) {
            moments[k].single_layer += powers[k] * found.single_layer;
            moments[k].double_layer += powers[k] * found.double_layer;
            moments[k].adjoint += powers[k] * found.adjoint;
            moments[k].hypersingular += powers[k] * found.hypersingular;
            moments[k].transposed += powers[k] * found.transposed;
        }
    }

    // For a point off the panel: this is cut in four until rules are accurate. `path` has the
    // number of a quarter for each cut, the last one lowest.
    __device__ __forceinline__ void off(const Rules& rules, double digits, double largest_degree, u32 cuts) {
        u32 path = 0, level = 0;
        for (;;) {
            // The part's first corner and its sides along both parameters.
            double s = 0.0, t = 0.0, side = 1.0;
            for (u32 k = level; k-- > 0;) {
                u32 quarter = path >> 2 * k & 3;
                side *= 0.5;
                if (quarter & 1) s += side;
                if (quarter & 2) t += side;
                if (quarter == 3) side = -side;
            }
            Vec middle = at(s + side / 3.0, t + side / 3.0);
            double a = norm2(at(s, t) - middle), b = norm2(at(s + side, t) - middle), c = norm2(at(s, t + side) - middle);
            double ratio = log(norm(middle - place) / sqrt(fmax(a, fmax(b, c)))), degree = digits / ratio - 1.0;
            bool is_last = level == cuts;
            if (!is_last && !(ratio > 0.0 && degree <= largest_degree)) {
                path <<= 2;
                level++;
                continue;
            }
            u32 whole = (u32)ceil(is_last ? largest_degree : fmax(degree, 2.0));
            const double* nodes = rule_nodes(rules, whole);
            for (u32 k = lane; k < rule_length(rules, whole); k += LANES) {
                const double* node = nodes + 4 * k;
                add(s + side * node[1], t + side * node[2], 0.5 * side * side * node[3]);
            }
            for (; level && (path & 3) == 3; level--) path >>= 2;
            if (!level) return;
            path++;
        }
    }

    // For a point on the panel, with these parameters: in polar coordinates about it, in three
    // parts, with `along` points along the opposite side and `across` towards it.
    __device__ __forceinline__ void around(const Rules& rules, double at_s, double at_t, u32 along, u32 across) {
        const double *angles = rules.line + along * (along - 1), *radii = rules.line + across * (across - 1);
        Vec by_s = (at(at_s + 1e-3, at_t) - at(at_s - 1e-3, at_t)) * (1.0 / 2e-3);
        Vec by_t = (at(at_s, at_t + 1e-3) - at(at_s, at_t - 1e-3)) * (1.0 / 2e-3);
        for (u32 k = 0; k < 3; k++) {
            double s0 = (k == 1) - at_s, t0 = (k == 2) - at_t, s1 = (k == 0) - at_s, t1 = (k == 1) - at_t;
            double area = fabs(s0 * t1 - t0 * s1);
            Vec p = by_s * s0 + by_t * t0, side = by_s * s1 + by_t * t1 - p;
            double length = norm(side), foot = -dot(p, side) / length, height = norm(p + side * (foot / length));
            double from = asinh(-foot / height), to = asinh((length - foot) / height);
            for (u32 angle = lane; angle < along; angle += LANES) {
                double tau = from + (to - from) * angles[2 * angle];
                double fraction = (height * sinh(tau) + foot) / length;
                double per_tau = height * cosh(tau) / length * (to - from) * angles[2 * angle + 1];
                double to_s = s0 + fraction * (s1 - s0), to_t = t0 + fraction * (t1 - t0);
                for (u32 radius = 0; radius < across; radius++) {
                    double xi = radii[2 * radius];
                    add(at_s + xi * to_s, at_t + xi * to_t, area * xi * radii[2 * radius + 1] * per_tau);
                }
            }
        }
    }

    // Adds up what the lanes have.
    __device__ __forceinline__ void join() {
        u32 group = ((1u << LANES) - 1) << (threadIdx.x % 32 / LANES * LANES);
#pragma unroll
        for (u32 k = 0; k < POINTS; k++) {
            double* parts = &moments[k].single_layer;
#pragma unroll
            for (u32 of = 0; of < sizeof(Entries) / sizeof(double); of++)
                for (u32 d = LANES / 2; d > 0; d /= 2) parts[of] += __shfl_xor_sync(group, parts[of], d);
        }
    }
};

// The kernels between point k of panel i and point l of panel j, times the area of the second.
__device__ __forceinline__ Entries between_points(const Surfaces& all, const Layers* layers, u32 count, u64 x, u64 y) {
    Vec d = vector_at(all.places + 3 * x) - vector_at(all.places + 3 * y);
    return kernels_at(layers, count, d, vector_at(all.normals + 3 * x), vector_at(all.normals + 3 * y) * all.weights[y]);
}

// The pairs whose panels bound a common region.
extern "C" __global__ void screened_keep(const Pair* pairs, u32 count, const u32* sides, Pair* kept, u32* kept_count) {
    u32 k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count) return;
    Pair pair = pairs[k];
    bool common = sign_of(sides, pair.j, sides[2 * pair.i]) != 0.0 || sign_of(sides, pair.j, sides[2 * pair.i + 1]) != 0.0;
    if (common) kept[atomicAdd(kept_count, 1u)] = pair;
}

// Puts pairs into rows, in no order: columns, and where the entries are, those of (i, j) at 2k, of
// (j, i) at 2k + 1. next: where each row goes on.
extern "C" __global__ void screened_fill(const Pair* pairs, u32 count, u32* next, u32* columns, u32* places) {
    u32 k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count) return;
    Pair pair = pairs[k];
    u32 a = atomicAdd(next + pair.i, 1u), b = atomicAdd(next + pair.j, 1u);
    columns[a] = pair.j;
    places[a] = 2 * k;
    columns[b] = pair.i;
    places[b] = 2 * k + 1;
}

// Integrals minus sums over points: V, K, K' and T. values: [2 pairs + n][POINTS][POINTS][4], those
// of panels with themselves last. This launch makes `blocks` of them, from `first` on. Between
// straight panels K' is the transposed K of the other direction.
extern "C" __global__ void screened_integrate(const double* patches, const double* places, const double* normals,
                                              const double* weights, const u32* sides, const double2* media,
                                              const double* stencil, const u32* straight, const double* triangle,
                                              const u32* rule_starts, const double* line, u32 most_degree, u32 most_points,
                                              const Pair* pairs, u32 count, u64 first, u32 blocks, double digits,
                                              double largest_degree, u32 cuts, u32 along, u32 across, float* values) {
    u32 thread = blockIdx.x * THREADS + threadIdx.x, lane = thread % LANES, own = thread / LANES % POINTS;
    if (thread / LANES / POINTS >= blocks) return;
    u64 block = first + thread / LANES / POINTS;
    Surfaces all = {patches, places, normals, weights, sides, media, stencil};
    Rules rules = {triangle, rule_starts, line, most_degree, most_points};
    bool is_diagonal = block >= 2 * (u64)count;
    Pair pair = is_diagonal ? Pair{(u32)(block - 2 * (u64)count), (u32)(block - 2 * (u64)count)} : pairs[block / 2];
    u32 i = !is_diagonal && block & 1 ? pair.j : pair.i, j = !is_diagonal && block & 1 ? pair.i : pair.j;
    Layers layers[2], back[2];
    u32 between = layers_between(all, i, j, layers), of_back = layers_between(all, j, i, back);
    u64 x = (u64)i * POINTS + own;
    Integral integral = {{}, layers, between, lane, vector_at(places + 3 * x), vector_at(normals + 3 * x), {}};
#pragma unroll
    for (u32 k = 0; k < TERMS; k++) integral.patch[k] = vector_at(patches + 3 * (TERMS * (u64)j + k));
    const double* at = stencil + own * (2 + POINTS);
    if (is_diagonal) integral.around(rules, at[0], at[1], along, across);
    else integral.off(rules, digits, largest_degree, cuts);
    integral.join();
    bool is_transposed = !is_diagonal && straight[i] && straight[j];
    float* out = values + 4 * POINTS * POINTS * block;
    float* other = values + 4 * POINTS * POINTS * (block ^ 1);
    for (u32 l = lane; l < POINTS; l += LANES) {
        const double* polynomial = stencil + l * (2 + POINTS) + 2;
        Entries sum = {0.0, 0.0, 0.0, 0.0, 0.0};
        for (u32 k = 0; k < POINTS; k++) {
            sum.single_layer += polynomial[k] * integral.moments[k].single_layer;
            sum.double_layer += polynomial[k] * integral.moments[k].double_layer;
            sum.adjoint += polynomial[k] * integral.moments[k].adjoint;
            sum.hypersingular += polynomial[k] * integral.moments[k].hypersingular;
            sum.transposed += polynomial[k] * integral.moments[k].transposed;
        }
        u64 y = (u64)j * POINTS + l;
        Entries by_points = between_points(all, layers, between, x, y);
        float* entry = out + 4 * (POINTS * own + l);
        entry[0] = (float)(sum.single_layer - by_points.single_layer);
        entry[1] = (float)(sum.double_layer - by_points.double_layer);
        entry[3] = (float)(sum.hypersingular - by_points.hypersingular);
        if (is_transposed) {
            double transposed = weights[x] / weights[y] * sum.transposed;
            other[4 * (POINTS * l + own) + 2] = (float)(transposed - between_points(all, back, of_back, y, x).adjoint);
        } else {
            entry[2] = (float)(sum.adjoint - by_points.adjoint);
        }
    }
}

// y += A x; LANES lanes share the row of a panel. x, y: [2][POINTS][n], potentials and then fluxes.
// values: as above, the panels' own from `diagonals` on.
extern "C" __global__ void screened_multiply_add(u32 n, const u32* starts, const u32* columns, const u32* places,
                                                 const float* values, u64 diagonals, const double* x, double* y) {
    u32 thread = blockIdx.x * THREADS + threadIdx.x, row = thread / LANES, lane = thread % LANES;
    double sums[2][POINTS] = {};
    u32 begin = row < n ? starts[row] : 0, end = row < n ? starts[row + 1] : 0;
    // The panel's own entries come last.
    for (u32 k = begin + lane; row < n && k <= end; k += LANES) {
        u32 j = k < end ? columns[k] : row;
        u64 block = k < end ? (u64)places[k] : diagonals + row;
        const float4* entries = (const float4*)values + POINTS * POINTS * block;
        for (u32 l = 0; l < POINTS; l++) {
            double potential = x[(u64)l * n + j], flux = x[(u64)(POINTS + l) * n + j];
#pragma unroll
            for (u32 own = 0; own < POINTS; own++) {
                float4 of = entries[POINTS * own + l];
                sums[0][own] += (double)of.x * flux + (double)of.y * potential;
                sums[1][own] += (double)of.z * flux + (double)of.w * potential;
            }
        }
    }
#pragma unroll
    for (u32 own = 0; own < POINTS; own++) {
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            double sum = sums[half][own];
            for (u32 d = LANES / 2; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d, LANES);
            if (row < n && lane == 0) y[(u64)(half * POINTS + own) * n + row] += sum;
        }
    }
}
