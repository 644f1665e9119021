// Dense matrices of screened translations, M2M, M2L and L2L, multiplied out of rotations and
// coaxial translations (docs/math.md, "Screened sums"), in double precision. Oracle: the same on
// the CPU.
#include "harmonics.cuh"

struct Rotated {
    u64 matrix;       // address of [columns rounded up to WHOLE_COLUMNS][lda]
    u64 polar;        // for each degree the rotation's matrix of the cosines, then of the sines
    u64 coaxial;      // for each order a matrix over degrees of result and input
    double cos, sin;  // of the azimuth
    u32 p, lda;
    u32 coaxial_p;    // what the coaxial table was made for
    u32 unused;
};

// Where the matrices of degree n begin in a table of rotations.
__device__ __forceinline__ u32 rotation_of(u32 n) { return n * (2 * n * n + 1) / 3; }

// Sum of the first n squares.
__device__ __forceinline__ u32 squares(u32 n) { return n * (n + 1) * (2 * n + 1) / 6; }

// Degree and order number `i`, degree by degree.
__device__ __forceinline__ void degree_and_order(u32 i, u32& n, u32& m) {
    n = (u32)(0.5 * (sqrt(8.0 * i + 1.0) - 1.0));
    m = i - n * (n + 1) / 2;
}

// gridDim.y blocks a matrix. Shared: cosine and sine of the multiples of the azimuth.
extern "C" __global__ void rotated_fill(const Rotated* matrices) {
    __shared__ double turns[2 * P_MAX];
    Rotated of = matrices[blockIdx.x];
    u32 p = of.p;
    if (threadIdx.x == 0) {
        double c = 1.0, s = 0.0;
        for (u32 m = 0; m < p; m++) {
            turns[2 * m] = c;
            turns[2 * m + 1] = s;
            double next = c * of.cos - s * of.sin;
            s = s * of.cos + c * of.sin;
            c = next;
        }
    }
    __syncthreads();
    const double* polar = (const double*)of.polar;
    const double* coaxial = (const double*)of.coaxial;
    REAL* matrix = (REAL*)of.matrix;
    u32 step = blockDim.x * gridDim.y, first = blockIdx.y * blockDim.x + threadIdx.x;
    u32 pairs = p * (p + 1) / 2;
    for (u32 i = first; i < pairs * pairs; i += step) {
        u32 n, m, k, l;
        degree_and_order(i % pairs, n, m);
        degree_and_order(i / pairs, k, l);
        // Of cosines and of sines, between the turns about z.
        const double* cosines_n = polar + rotation_of(n) + m * (n + 1);
        const double* cosines_k = polar + rotation_of(k) + l;
        bool sines = m && l;
        const double* sines_n = sines ? polar + rotation_of(n) + (n + 1) * (n + 1) + (m - 1) * n : polar;
        const double* sines_k = sines ? polar + rotation_of(k) + (k + 1) * (k + 1) + l - 1 : polar;
        double a = 0.0, b = 0.0;
        for (u32 order = 0; order <= min(n, k); order++) {
            u32 size = of.coaxial_p - order;
            u32 place = squares(of.coaxial_p) - squares(size) + (n - order) * size + k - order;
            double along = coaxial[place];
            a += cosines_n[order] * along * cosines_k[order * (k + 1)];
            if (sines && order) b += sines_n[order - 1] * along * sines_k[(order - 1) * k];
        }
        // On the way back (-1)^m is left of the rotation.
        double sign = m & 1 ? -1.0 : 1.0;
        double c_in = turns[2 * l], s_in = turns[2 * l + 1];
        double c_out = sign * turns[2 * m], s_out = sign * turns[2 * m + 1];
        REAL* column = matrix + (u64)cosine(k, l) * of.lda;
        column[cosine(n, m)] = (REAL)(c_out * a * c_in + s_out * b * s_in);
        if (m) column[sine(n, m)] = (REAL)(s_out * a * c_in - c_out * b * s_in);
        if (l) {
            column = matrix + (u64)sine(k, l) * of.lda;
            column[cosine(n, m)] = (REAL)(c_out * a * s_in - s_out * b * c_in);
            if (m) column[sine(n, m)] = (REAL)(s_out * a * s_in + c_out * b * c_in);
        }
    }
    // Zero beyond the size.
    u32 size = p * p, columns = (size + WHOLE_COLUMNS - 1) / WHOLE_COLUMNS * WHOLE_COLUMNS;
    u32 rows = of.lda - size;
    for (u32 i = first; i < rows * size; i += step) matrix[(u64)(i / rows) * of.lda + size + i % rows] = 0;
    for (u32 i = first; i < (columns - size) * of.lda; i += step) matrix[(u64)size * of.lda + i] = 0;
}
