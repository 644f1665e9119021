// M2M, M2L and L2L as products of a dense matrix, one for each translation vector, with the expansions of all pairs that share
// it (docs/math.md, "Dense translations"). CPU twins: crates/fmm/src/m2m.rs, m2l.rs, l2l.rs.
//
// A block makes a tile of up to 128 rows by BN pairs in registers and adds it to the target expansions atomically: in single
// precision eight rows by up to TN pairs a thread, in double precision sixteen rows by all pairs a warp on the tensor cores, whose
// products and sums are those of IEEE double precision. Matrix and expansions pass through shared memory in STAGES chunks
// of KC, copied asynchronously.
#include "shared/real.cuh"

// One vector's pairs; the matrix is stored column by column, `lda` scalars apart, zero beyond its size.
struct __align__(16) Batch {
    u64 matrix;
    u64 from, to;               // addresses of the expansions of cell 0, were it of the level
    u32 from_stride, to_stride;
    u32 rows, columns;          // squares of the truncation numbers of result and input
    u32 lda;
    u32 first_pair, pairs;
    u32 first_tile;  // of the launch
    u32 unused[2];
};

#define TM 8
#define CT 16
#define STAGES 3
#if PRECISION == 32
#define TN 8
#else
#define TN 4
#endif
#define BN (CT * TN)
// Scalars of a 16-byte copy, and of a chunk.
#define WIDE (16 / (int)sizeof(REAL))
#define KC (4 * WIDE)
// Scalars between two pairs' chunks, and beyond the rows of a column: neighbours start in different banks.
#if PRECISION == 32
#define PITCH (KC + 4)
#define BEYOND 0
#else
#define PITCH (KC + 4)
#define BEYOND 4
#endif

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

struct Tile {
    REAL* a;               // [STAGES][KC][bm + BEYOND]
    REAL* b;               // [STAGES][BN][PITCH]
    const REAL* const* from;  // of each pair
    REAL* const* to;
    u32 bm, row0, width;
};

// Starts copying one chunk of the matrix and of the expansions.
__device__ __forceinline__ void fetch(const Batch& batch, const Tile& tile, u32 stage, u32 k0) {
    u32 height = tile.bm + BEYOND;
    REAL* a = tile.a + stage * KC * height;
    REAL* b = tile.b + stage * BN * PITCH;
    const REAL* matrix = (const REAL*)batch.matrix + (u64)k0 * batch.lda + tile.row0;
    u32 wides = tile.bm / WIDE;
    for (u32 i = threadIdx.x; i < KC * wides; i += blockDim.x) {
        u32 k = i / wides, row = i % wides * WIDE;
        bool there = tile.row0 + row < batch.lda;
        copy_async(a + k * height + row, there ? matrix + (u64)k * batch.lda + row : matrix, there ? 16 : 0);
    }
    for (u32 i = threadIdx.x; i < tile.width * (KC / WIDE); i += blockDim.x) {
        u32 pair = i / (KC / WIDE), k = i % (KC / WIDE) * WIDE;
        u32 valid = k0 + k < batch.columns ? min(WIDE, batch.columns - k0 - k) : 0;
        copy_async(b + pair * PITCH + k, tile.from[pair] + (valid ? k0 + k : 0), valid * sizeof(REAL));
    }
}

#if PRECISION == 32
// Products of all pairs cx + CT j, j < J; pairs beyond the tile's width are worked with whatever is there and not added.
template <int J>
__device__ __forceinline__ void multiply(const Batch& batch, const Tile& tile) {
    u32 cx = threadIdx.x % CT, ry = threadIdx.x / CT;
    REAL sums[TM][J];
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < J; j++) sums[i][j] = 0;
    u32 chunks = (batch.columns + KC - 1) / KC;
#pragma unroll
    for (u32 s = 0; s < STAGES - 1; s++) {
        if (s < chunks) fetch(batch, tile, s, s * KC);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (u32 chunk = 0; chunk < chunks; chunk++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        if (chunk + STAGES - 1 < chunks) fetch(batch, tile, (chunk + STAGES - 1) % STAGES, (chunk + STAGES - 1) * KC);
        asm volatile("cp.async.commit_group;" ::: "memory");
        const REAL* as = tile.a + chunk % STAGES * KC * tile.bm + ry * TM;
        const REAL* bs = tile.b + chunk % STAGES * BN * PITCH + cx * PITCH;
        u32 left = min(KC, batch.columns - chunk * KC);
#pragma unroll 1
        for (u32 k = 0; k < left; k += WIDE) {
            REAL b[J][WIDE];
#pragma unroll
            for (int j = 0; j < J; j++) load_wide(bs + j * CT * PITCH + k, b[j]);
#pragma unroll
            for (int w = 0; w < WIDE; w++) {
                REAL a[TM];
#pragma unroll
                for (int i = 0; i < TM; i += WIDE) load_wide(as + (k + w) * tile.bm + i, a + i);
#pragma unroll
                for (int i = 0; i < TM; i++)
#pragma unroll
                    for (int j = 0; j < J; j++) sums[i][j] = fused(a[i], b[j][w], sums[i][j]);
            }
        }
    }
    u32 row = tile.row0 + ry * TM;
    if (row >= batch.rows) return;
#pragma unroll
    for (int j = 0; j < J; j++) {
        u32 pair = cx + CT * j;
        if (pair < tile.width) {
            REAL* to = tile.to[pair] + row;
#pragma unroll
            for (int i = 0; i < TM; i += WIDE)
                if (row + i < batch.rows) {
                    REAL v[WIDE];
#pragma unroll
                    for (int k = 0; k < WIDE; k++) v[k] = sums[i + k][j];
                    add_wide(to + i, v, batch.rows - row - i);
                }
        }
    }
}
#else
// Adds the product of A (8 x 4) and B (4 x 8): lane l has A[l/4][l%4], B[l%4][l/4], C[l/4][2 (l%4)] and the next.
__device__ __forceinline__ void product(double* c, double a, double b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c[0]), "+d"(c[1])
                 : "d"(a), "d"(b));
}

// Products of the pairs 0 .. 16 J; a warp takes sixteen rows.
template <int J>
__device__ __forceinline__ void multiply(const Batch& batch, const Tile& tile) {
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 across = lane / 4, along = lane % 4;
    double sums[2][2 * J][2];
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 2 * J; j++) sums[i][j][0] = sums[i][j][1] = 0;
    u32 chunks = (batch.columns + KC - 1) / KC;
#pragma unroll
    for (u32 s = 0; s < STAGES - 1; s++) {
        if (s < chunks) fetch(batch, tile, s, s * KC);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    u32 height = tile.bm + BEYOND;
    for (u32 chunk = 0; chunk < chunks; chunk++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        if (chunk + STAGES - 1 < chunks) fetch(batch, tile, (chunk + STAGES - 1) % STAGES, (chunk + STAGES - 1) * KC);
        asm volatile("cp.async.commit_group;" ::: "memory");
        const double* as = tile.a + (chunk % STAGES * KC + along) * height + 16 * warp + across;
        const double* bs = tile.b + chunk % STAGES * BN * PITCH + across * PITCH + along;
        u32 left = min(KC, batch.columns - chunk * KC);
#pragma unroll 1
        for (u32 k = 0; k < left; k += 4) {
            double a0 = as[k * height], a1 = as[k * height + 8];
#pragma unroll
            for (int j = 0; j < 2 * J; j++) {
                double b = bs[8 * j * PITCH + k];
                product(sums[0][j], a0, b);
                product(sums[1][j], a1, b);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        u32 row = tile.row0 + 16 * warp + 8 * i + across;
        if (row < batch.rows)
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

// tiles: the batch of each tile. blockDim.x = CT * (rows of a tile / TM), a multiple of a warp in double precision. pairs: (from, to), or with `turned` (to, from).
extern "C" __global__ void __launch_bounds__(256, 2)
    translate(const Batch* batches, const u32* tiles, const uint2* pairs, u32 turned) {
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ const REAL* from[BN];
    __shared__ REAL* to[BN];
    Batch batch = batches[tiles[blockIdx.x]];
    Tile tile;
    tile.bm = blockDim.x / CT * TM;
    tile.row0 = blockIdx.y * tile.bm;
    if (tile.row0 >= batch.rows) return;
    u32 first = (blockIdx.x - batch.first_tile) * BN;
    tile.width = min(BN, batch.pairs - first);
    tile.a = (REAL*)memory;
    tile.b = tile.a + STAGES * KC * (tile.bm + BEYOND);
    tile.from = from;
    tile.to = to;
    for (u32 i = threadIdx.x; i < tile.width; i += blockDim.x) {
        uint2 pair = pairs[batch.first_pair + first + i];
        from[i] = (const REAL*)batch.from + (u64)(turned ? pair.y : pair.x) * batch.from_stride;
        to[i] = (REAL*)batch.to + (u64)(turned ? pair.x : pair.y) * batch.to_stride;
    }
    __syncthreads();
    if (tile.width > BN / 2)
        multiply<TN>(batch, tile);
    else if (tile.width > BN / 4)
        multiply<TN / 2>(batch, tile);
    else
        multiply<TN / 4>(batch, tile);
}
