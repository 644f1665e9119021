// Where the expansions of each level are, as crates/fmm/src/gpu/expansions.rs declares it.
#pragma once
#include "real.cuh"

struct Level {
    u64 values;  // address of the expansion of cell 0, were it of this level
    u32 stride;  // scalars between two expansions
    u32 p;       // truncation number; 0 = none is stored
};

__device__ __forceinline__ REAL* expansion(const Level& level, u32 cell) {
    return (REAL*)level.values + (u64)cell * level.stride;
}
