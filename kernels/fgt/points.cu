// Charges to sorted order, and sums to the caller's. CPU twin: crates/fgt/src/engine.rs.
#include "real.cuh"

// sorted: [n], charges of one density by `order`, times the shares of the sources in a channel
// where there are some.
extern "C" __global__ void points_gather(const double* charges, const u32* order, const double* shares, u32 n,
                                         REAL* sorted) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    double charge = charges[order[i]];
    sorted[i] = (REAL)(shares ? shares[i] * charge : charge);
}

// Adds the sums of one group, [slices][1 + dimensions][m] in sorted order, to those of all, in the
// caller's: values [m], and gradients [m][dimensions] in units of 1 / scale. Either may be null.
extern "C" __global__ void points_scatter(const REAL* sums, u32 slices, const u32* rank, u32 m, u32 dimensions,
                                          u32 columns, double scale, double* values, double* gradients) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= m) return;
    for (u32 column = values ? 0 : 1; column < columns; column++) {
        double sum = 0;
        for (u32 slice = 0; slice < slices; slice++) sum += sums[((u64)slice * columns + column) * m + rank[i]];
        if (column == 0) values[i] += sum;
        else gradients[(u64)i * dimensions + column - 1] += scale * sum;
    }
}
