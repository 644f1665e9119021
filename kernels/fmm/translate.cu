// M2M, M2L and L2L as products of a dense matrix, one for each translation vector, with the
// expansions of all pairs that share it (docs/math.md, "Dense translations"). CPU twins:
// crates/fmm/src/m2m.rs, m2l.rs, l2l.rs.
//
// A block makes a tile of some rows by BN pairs in registers and adds it to the target expansions
// atomically. In double precision a warp takes sixteen rows and all pairs, on the tensor cores,
// whose products and sums are those of IEEE double precision. In single precision a warp takes half
// of the rows and 32 pairs, on the tensor cores too, whose factors have eleven bits: each number is
// split in two such parts, and three of the four products are summed, which leaves 2^-22 of a
// product. Their sums are cut, not rounded (docs/performance.md, "GPU"). Matrix and expansions pass
// through shared memory in STAGES chunks of KC columns, copied asynchronously.
#include "real.cuh"

// One vector's pairs; the matrix is stored column by column, `lda` scalars apart, zero beyond its
// size.
struct __align__(16) Batch {
    u64 matrix;
    u64 from, to;               // addresses of the expansions of cell 0, were it of the level
    u32 from_stride, to_stride;
    u32 rows, columns;          // squares of the truncation numbers of result and input
    u32 lda;
    u32 first_pair, pairs;
};

// What a block computes: pairs of a batch from `pair` on, and `rows` rows from `row` on, whole
// eights; sixteens in double precision.
struct __align__(16) Tile {
    u32 batch, pair, row, rows;
};

// Scalars of a 16-byte copy.
#define WIDE (16 / (int)sizeof(REAL))
// Pairs of a tile, columns of a chunk, chunks in shared memory.
#if PRECISION == 32
#define BN SINGLE_PAIRS
#define KC SINGLE_COLUMNS
#define STAGES SINGLE_STAGES
static_assert(SINGLE_ROWS == 9 * 16, "the switch of translate() has the cases 1 to 9");
#else
#define BN DOUBLE_PAIRS
#define KC DOUBLE_COLUMNS
#define STAGES DOUBLE_STAGES
static_assert(DOUBLE_ROWS == THREADS / 32 * 16 && BN == 4 * 16, "sixteen rows per warp, and the cases 1 to 4 of translate()");
#endif
// Scalars between two pairs' chunks.
#define PITCH (KC + COLUMN_PAD)

// Starts a copy of 16 bytes to shared memory, of which all beyond `bytes` are zero.
__device__ __forceinline__ void copy_async(REAL* to, const REAL* from, u32 bytes) {
    u32 address = (u32)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
}

// `WIDE` neighbours at once where the GPU can.
__device__ __forceinline__ void add_wide(REAL* to, const REAL* v, u32 valid) {
#if PRECISION == 32 && __CUDA_ARCH__ >= 900
    if (valid >= 4) {
        asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3])
                     : "memory");
        return;
    }
#endif
#pragma unroll
    for (u32 i = 0; i < WIDE; i++)
        if (i < valid) atomicAdd(to + i, v[i]);
}

struct Staged {
    REAL* a;                  // [STAGES][KC][height]
    REAL* b;                  // [STAGES][BN][PITCH]
    const REAL* const* from;  // of each pair
    REAL* const* to;
    u32 rows, height, row0, width;
};

// Starts copying one chunk of the matrix and of the expansions.
__device__ __forceinline__ void fetch(const Batch& batch, const Staged& tile, u32 stage, u32 k0) {
    REAL* a = tile.a + stage * KC * tile.height;
    REAL* b = tile.b + stage * BN * PITCH;
    const REAL* matrix = (const REAL*)batch.matrix + (u64)k0 * batch.lda + tile.row0;
    u32 wides = tile.rows / WIDE;
    for (u32 i = threadIdx.x; i < KC * wides; i += THREADS) {
        u32 k = i / wides, row = i % wides * WIDE;
        bool there = tile.row0 + row < batch.lda && k0 + k < batch.columns;
        copy_async(a + k * tile.height + row, there ? matrix + (u64)k * batch.lda + row : matrix, there ? 16 : 0);
    }
    for (u32 i = threadIdx.x; i < tile.width * (KC / WIDE); i += THREADS) {
        u32 pair = i / (KC / WIDE), k = i % (KC / WIDE) * WIDE;
        u32 valid = k0 + k < batch.columns ? min(WIDE, batch.columns - k0 - k) : 0;
        copy_async(b + pair * PITCH + k, tile.from[pair] + (valid ? k0 + k : 0), valid * sizeof(REAL));
    }
}

// Starts copying the first chunks.
__device__ __forceinline__ u32 begin_chunks(const Batch& batch, const Staged& tile) {
    u32 chunks = (batch.columns + KC - 1) / KC;
#pragma unroll
    for (u32 s = 0; s < STAGES - 1; s++) {
        if (s < chunks) fetch(batch, tile, s, s * KC);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    return chunks;
}

// Waits for a chunk and starts copying a later one.
__device__ __forceinline__ void next_chunk(const Batch& batch, const Staged& tile, u32 chunk, u32 chunks) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();
    u32 later = chunk + STAGES - 1;
    if (later < chunks) fetch(batch, tile, later % STAGES, later * KC);
    asm volatile("cp.async.commit_group;" ::: "memory");
}

#if PRECISION == 32
// x as two numbers of eleven bits, up to 2^-22 of it.
__device__ __forceinline__ void split(float x, u32& high, u32& low) {
    high = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
    low = __float_as_uint(x - __uint_as_float(high));
}

// Adds the product of A (16 x 8) and B (8 x 8). Lane l, g = l/4, t = l%4, has A[g][t], A[g+8][t],
// A[g][t+4], A[g+8][t+4], B[t][g], B[t+4][g], C[g][2t], C[g][2t+1], C[g+8][2t], C[g+8][2t+1].
__device__ __forceinline__ void product(float* c, const u32* a, const u32* b) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Products of a tile of up to 16 N rows: of each warp's eights of rows, the last may lie beyond the
// tile's.
template <int N>
__device__ __forceinline__ void multiply(const Batch& batch, const Staged& tile) {
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 g = lane / 4, t = lane % 4;
    u32 first_pair = warp % 4 * 32, first_row = warp / 4 * (N * 8);
    bool some = first_pair < tile.width, both = first_pair + 16 < tile.width;
    bool last = first_row + N * 8 < tile.rows + 8;
    constexpr u32 HEIGHT = 16 * N + SINGLE_ROW_PAD;
    float sums[2][N][4];
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) sums[m][n][i] = 0;
    u32 chunks = begin_chunks(batch, tile);
    for (u32 chunk = 0; chunk < chunks; chunk++) {
        next_chunk(batch, tile, chunk, chunks);
        if (!some) continue;
        const float* as = tile.a + (chunk % STAGES * KC + t) * HEIGHT + first_row + g;
        const float* bs = tile.b + (chunk % STAGES * BN + first_pair + g) * PITCH + t;
#pragma unroll
        for (u32 k = 0; k < KC; k += 8) {
            if (chunk * KC + k >= batch.columns) break;
            u32 high[2][4], low[2][4];
#pragma unroll
            for (int m = 0; m < 2; m++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    split(bs[(16 * m + 8 * (i % 2)) * PITCH + k + 4 * (i / 2)], high[m][i], low[m][i]);
#pragma unroll
            for (int n = 0; n < N; n++) {
                if (n == N - 1 && !last) break;
                u32 matrix_high[2], matrix_low[2];
#pragma unroll
                for (int i = 0; i < 2; i++) split(as[(k + 4 * i) * HEIGHT + 8 * n], matrix_high[i], matrix_low[i]);
                // Small ones first.
                product(sums[0][n], low[0], matrix_high);
                if (both) product(sums[1][n], low[1], matrix_high);
                product(sums[0][n], high[0], matrix_low);
                if (both) product(sums[1][n], high[1], matrix_low);
                product(sums[0][n], high[0], matrix_high);
                if (both) product(sums[1][n], high[1], matrix_high);
            }
        }
    }
    if (!some) return;
    bool odd = t % 2;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int n = 0; n < N; n++) {
            // Neighbours exchange halves, so that each has four rows of one pair.
            float* c = sums[m][n];
            float other0 = __shfl_xor_sync(~0u, odd ? c[0] : c[2], 1);
            float other1 = __shfl_xor_sync(~0u, odd ? c[1] : c[3], 1);
            float v[4] = {odd ? other0 : c[0], odd ? other1 : c[1], odd ? c[2] : other0, odd ? c[3] : other1};
            u32 pair = first_pair + 16 * m + g + (odd ? 8 : 0), row = first_row + 8 * n + t / 2 * 4;
            u32 there = tile.row0 + row;
            if (pair < tile.width && row < tile.rows && there < batch.rows)
                add_wide(tile.to[pair] + there, v, batch.rows - there);
        }
}
#else
// Adds the product of A (8 x 4) and B (4 x 8): lane l has A[l/4][l%4], B[l%4][l/4], C[l/4][2 (l%4)]
// and the next.
__device__ __forceinline__ void product(double* c, double a, double b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c[0]), "+d"(c[1])
                 : "d"(a), "d"(b));
}

// Products of the pairs 0 .. 16 J; a warp takes sixteen rows.
template <int J>
__device__ __forceinline__ void multiply(const Batch& batch, const Staged& tile) {
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    bool some = 16 * warp < tile.rows;
    u32 across = lane / 4, along = lane % 4;
    double sums[2][2 * J][2];
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 2 * J; j++) sums[i][j][0] = sums[i][j][1] = 0;
    u32 chunks = begin_chunks(batch, tile);
    for (u32 chunk = 0; chunk < chunks; chunk++) {
        next_chunk(batch, tile, chunk, chunks);
        if (!some) continue;
        const double* as = tile.a + (chunk % STAGES * KC + along) * tile.height + 16 * warp + across;
        const double* bs = tile.b + chunk % STAGES * BN * PITCH + across * PITCH + along;
        u32 left = min(KC, batch.columns - chunk * KC);
#pragma unroll 1
        for (u32 k = 0; k < left; k += 4) {
            double a0 = as[k * tile.height], a1 = as[k * tile.height + 8];
#pragma unroll
            for (int j = 0; j < 2 * J; j++) {
                double b = bs[8 * j * PITCH + k];
                product(sums[0][j], a0, b);
                product(sums[1][j], a1, b);
            }
        }
    }
    if (!some) return;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        u32 row = tile.row0 + 16 * warp + 8 * i + across;
        if (row < min(batch.rows, tile.row0 + tile.rows))
#pragma unroll
            for (int j = 0; j < 2 * J; j++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    u32 pair = 8 * j + 2 * along + e;
                    if (pair < tile.width) atomicAdd(tile.to[pair] + row, sums[i][j][e]);
                }
    }
}
#endif

// One tile a block. pairs: (from, to), or with `turned` (to, from).
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    translate(const Batch* batches, const Tile* tiles, const uint2* pairs, u32 turned) {
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ const REAL* from[BN];
    __shared__ REAL* to[BN];
    Tile work = tiles[blockIdx.x];
    Batch batch = batches[work.batch];
    Staged tile;
    tile.row0 = work.row;
    tile.rows = work.rows;
    tile.height = PRECISION == 32 ? (tile.rows + 15) / 16 * 16 + SINGLE_ROW_PAD : tile.rows + DOUBLE_ROW_PAD;
    tile.width = min(BN, batch.pairs - work.pair);
    tile.a = (REAL*)memory;
    tile.b = tile.a + STAGES * KC * tile.height;
    tile.from = from;
    tile.to = to;
    for (u32 i = threadIdx.x; i < tile.width; i += THREADS) {
        uint2 pair = pairs[batch.first_pair + work.pair + i];
        from[i] = (const REAL*)batch.from + (u64)(turned ? pair.y : pair.x) * batch.from_stride;
        to[i] = (REAL*)batch.to + (u64)(turned ? pair.x : pair.y) * batch.to_stride;
    }
    __syncthreads();
#define CASE(N)                    \
    case N:                        \
        multiply<N>(batch, tile); \
        break;
#if PRECISION == 32
    switch ((tile.rows + 15) / 16) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
        CASE(9)
    }
#else
    switch ((tile.width + 15) / 16) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
    }
#endif
}
