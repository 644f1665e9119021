// The preconditioner's rows of interfaces: their diagonals, once the charges of conductors are
// known. VALUE: float or double. CPU twin: crates/bem/src/precondition/interfaces.rs.

typedef unsigned int u32;
typedef unsigned long long u64;

// to_panels = 0: values of the chosen panels in a row; else these to their places. [columns][n] and
// [columns][count].
extern "C" __global__ void interfaces_chosen(u32 count, const u32* chosen, u32 n, double* panels, double* values, u32 to_panels) {
    u32 k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count) return;
    double* panel = panels + (u64)blockIdx.y * n + chosen[k];
    double* value = values + (u64)blockIdx.y * count + k;
    if (to_panels) *panel = *value;
    else *value = *panel;
}

// z_i = (v_i - coupling_i sum_j A_ij q_j) / diagonal_i on the panels i of interfaces, q being the
// conductors' charges.
extern "C" __global__ void interfaces_solve(u32 count, const u32* interfaces, u32 n, u32 conductors, const u32* starts,
                                            const u32* columns, const VALUE* values, const double* charges, const double* coupling,
                                            const double* diagonal, const double* v, double* z) {
    u32 k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count) return;
    const double* q = charges + (u64)blockIdx.y * conductors;
    double sum = 0.0;
    for (u32 e = starts[k]; e < starts[k + 1]; e++) sum += (double)values[e] * q[columns[e]];
    u64 i = (u64)blockIdx.y * n + interfaces[k];
    z[i] = (v[i] - coupling[interfaces[k]] * sum) / diagonal[interfaces[k]];
}
