// Dense matrices of M2L (docs/math.md, "Dense translations"), made in double precision. Oracle: the
// addition theorem.
#include "cell.cuh"
#include "harmonics.cuh"

struct Vector {
    int x, y, z;        // target minus source in half sides of the smaller box
    int finer_source;   // level of the source minus level of the target
    u32 p;
    u32 lda;
    u64 matrix;         // address of [columns rounded up to WHOLE_COLUMNS][lda]
};

// Degree, order and kind of the harmonic at a place of an expansion.
__device__ __forceinline__ void harmonic_at(u32 place, u32& n, u32& m, bool& is_sine) {
    n = (u32)sqrt((double)place + 0.5);
    u32 rest = place - n * n;
    is_sine = rest < n;
    m = is_sine ? rest + 1 : rest - n;
}

// gridDim.y blocks a vector. roots: sqrt(k!), k < 4 p. Shared: regular harmonics of the direction
// up to degree 2p - 2, powers of the boxes' sides over the distance.
extern "C" __global__ void m2l_fill(const Vector* vectors, const double* roots) {
    extern __shared__ double direction[];
    Vector v = vectors[blockIdx.x];
    u32 degrees = 2 * v.p - 1;
    double x = v.x, y = v.y, z = v.z;
    double length = sqrt(x * x + y * y + z * z);
    x /= length;
    y /= length;
    z /= length;
    for (u32 m = threadIdx.x; m < degrees; m += blockDim.x) {
        double c = 1.0, s = 0.0;
        for (u32 k = 1; k <= m; k++) {
            double f = k == 1 ? 1.0 : sqrt((2.0 * k - 1.0) / (2.0 * k));
            double next = f * (x * c - y * s);
            s = f * (x * s + y * c);
            c = next;
        }
        double c2 = 0.0, s2 = 0.0;
        for (u32 n = m; n < degrees; n++) {
            direction[cosine(n, m)] = c;
            if (m) direction[sine(n, m)] = s;
            double root = sqrt((double)(n + 1 - m) * (double)(n + 1 + m));
            double a = (2.0 * n + 1.0) / root * z;
            double b = sqrt((double)(n - m) * (double)(n + m)) / root;
            double c0 = a * c - b * c2, s0 = a * s - b * s2;
            c2 = c;
            c = c0;
            s2 = s;
            s = s0;
        }
    }
    // Sides of the boxes over the distance, which counts half sides of the smaller.
    double smaller = 2.0 / length;
    double of_source = v.finer_source >= 0 ? smaller : smaller * (double)(1 << -v.finer_source);
    double of_target = v.finer_source >= 0 ? smaller * (double)(1 << v.finer_source) : smaller;
    double* powers_target = direction + degrees * degrees;
    double* powers_source = powers_target + v.p + 1;
    for (u32 n = threadIdx.x; n <= v.p; n += blockDim.x) {
        powers_target[n] = pow(of_target, (double)n);
        powers_source[n] = pow(of_source, (double)n);
    }
    __syncthreads();
    u32 size = v.p * v.p, columns = (size + WHOLE_COLUMNS - 1) / WHOLE_COLUMNS * WHOLE_COLUMNS;
    REAL* matrix = (REAL*)v.matrix;
    u64 step = (u64)blockDim.x * gridDim.y;
    for (u64 i = (u64)blockIdx.y * blockDim.x + threadIdx.x; i < (u64)columns * v.lda; i += step) {
        u32 place_k = (u32)(i / v.lda), place_n = (u32)(i % v.lda);
        double value = 0.0;
        if (place_k < size && place_n < size) {
            u32 n, m, k, l;
            bool sine_n, sine_k;
            harmonic_at(place_n, n, m, sine_n);
            harmonic_at(place_k, k, l, sine_k);
            u32 j = n + k, sum = m + l, difference = m > l ? m - l : l - m;
            double below = roots[n - m] * roots[n + m] * roots[k - l] * roots[k + l];
            const double half_root = 0.70710678118654752440;
            // Orders m + l and |m - l| of the singular harmonics of the vector.
            double weight = roots[j - sum] * roots[j + sum] / below * (sum ? half_root : 1.0);
            double a = weight * direction[cosine(j, sum)];
            double b = sum ? weight * direction[sine(j, sum)] : 0.0;
            weight = roots[j - difference] * roots[j + difference] / below * (difference ? half_root : 1.0);
            double a2 = weight * direction[cosine(j, difference)];
            double b2 = difference ? weight * direction[sine(j, difference)] : 0.0;
            if (m < l) b2 = -b2;
            if (min(m, l) & 1) {
                a2 = -a2;
                b2 = -b2;
            }
            if (m == 0 || l == 0) {
                double root2 = m == 0 && l == 0 ? 1.0 : 2.0 * half_root;
                value = root2 * (sine_n || sine_k ? b : a);
            } else if (sine_n) {
                value = sine_k ? a2 - a : b + b2;
            } else {
                value = sine_k ? b - b2 : a + a2;
            }
            if (n & 1) value = -value;
            value *= powers_target[n + 1] * powers_source[k];
        }
        matrix[i] = (REAL)value;
    }
}
