// The example in the documentation of `kernels!`: multiplies numbers by a factor.
#include "real.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) scale(double* values, double factor, u32 n) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) values[i] *= factor;
}
