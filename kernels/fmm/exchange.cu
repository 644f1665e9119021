// Multipole expansions that go to other ranks, or come from them, one after the other in one array.
#include "cell.cuh"
#include "levels.cuh"

// One warp a box. boxes: their numbers; places: where the expansion of each begins in `packed`.
extern "C" __global__ void exchange_pack(const Cell* cells, const Level* levels, const u32* boxes, const u64* places,
                                         u32 count, REAL* packed) {
    u32 i = (blockIdx.x * THREADS + threadIdx.x) / 32;
    if (i >= count) return;
    Level level = levels[cells[boxes[i]].level];
    const REAL* from = expansion(level, boxes[i]);
    for (u32 k = threadIdx.x & 31; k < level.p * level.p; k += 32) packed[places[i] + k] = from[k];
}

// added: to what a box has, else in its place. No box is there twice.
extern "C" __global__ void exchange_unpack(const Cell* cells, const Level* levels, const u32* boxes, const u64* places,
                                           u32 count, const REAL* packed, u32 added) {
    u32 i = (blockIdx.x * THREADS + threadIdx.x) / 32;
    if (i >= count) return;
    Level level = levels[cells[boxes[i]].level];
    REAL* to = expansion(level, boxes[i]);
    for (u32 k = threadIdx.x & 31; k < level.p * level.p; k += 32) {
        REAL value = packed[places[i] + k];
        to[k] = added ? to[k] + value : value;
    }
}
