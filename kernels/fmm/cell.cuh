// A box of the octree, as crates/fmm/src/gpu/tree.rs declares it.
#pragma once
#include "real.cuh"

struct __align__(16) Cell {
    u32 x, y, z;           // among the 2^level boxes an axis
    u32 level;
    u32 first_child;       // the other children follow it
    u32 child_count;       // 0: a leaf
    u32 parent;
    u32 source_begin, source_end;  // in Morton order
    u32 target_begin, target_end;
    u32 unused;
};

// The cube that holds all points.
struct Root {
    double corner[3];
    double side;
};

__device__ __forceinline__ double side_of(u32 level) { return __longlong_as_double((u64)(1023 - level) << 52); }
