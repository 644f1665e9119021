// What P2P and the search for close pairs share: a warp goes through the near leaves of one item,
// 32 sources at a time, which it keeps in shared memory in the frame of the targets' leaf.
#pragma once
#include "cell.cuh"

struct __align__(16) Item {
    u32 target, count;
    u32 begin, end;
};

struct Near {
    const Cell* cells;
    const double* centres;
    const u32* entries;
    const Item* items;
    const u32* item_cells;
    double side;  // of the root
};

// Sides of the larger leaf below which coordinates relative to it have lost too many digits. CPU
// twin: close_sides in crates/fmm/src/near.rs.
#if PRECISION == 32
#define CLOSE CLOSE_SINGLE
#else
#define CLOSE CLOSE_DOUBLE
#endif

// Added to the squared distance of pairs in different leaves, as a share of the threshold: it
// changes those beyond the threshold by less than rounding, and keeps the rest finite.
#define SOFTENING 1e-8f

// A close pair: the displacement that double precision gives, and in single precision the one that
// P2P's loop used.
struct __align__(16) UnresolvedPair {
    u32 target, source;
    REAL exact[3];
#if PRECISION == 32
    float used[3];
#endif
};

// How the loops treat the pairs of a leaf.
enum Kind {
    SAME,   // the targets' own leaf: pairs may coincide
    OTHER,
    APART,  // so far that squared distances may be computed as |x|^2 - 2 x.y + |y|^2
};

// A near leaf as one lane holds it until its turn comes.
struct Leaf {
    u32 begin, end;
    REAL x, y, z;    // centre of the source leaf minus centre of the target leaf
    REAL threshold;  // squared distance up to which a pair is close; 0: none is
    u32 kind;
};

__device__ __forceinline__ Leaf near_leaf(const Near& near, u32 target_cell, u32 entry) {
    u32 s = near.entries[entry];
    Cell source = near.cells[s];
    u32 target_level = near.cells[target_cell].level;
    u32 level = min(source.level, target_level);
    const double* from = near.centres + 3 * (u64)s;
    const double* to = near.centres + 3 * (u64)target_cell;
    double d = CLOSE * side_of(level);
    Leaf leaf;
    leaf.begin = source.source_begin;
    leaf.end = source.source_end;
    leaf.x = (REAL)((from[0] - to[0]) / near.side);
    leaf.y = (REAL)((from[1] - to[1]) / near.side);
    leaf.z = (REAL)((from[2] - to[2]) / near.side);
    // Leaves apart by more than that have no close pairs.
    REAL apart = (REAL)(0.5 * (side_of(source.level) + side_of(target_level)) + 1.01 * d);
    REAL largest = max(max(fabs(leaf.x), fabs(leaf.y)), fabs(leaf.z));
    leaf.threshold = largest > apart ? (REAL)0 : (REAL)(d * d);
    // With a gap of half the larger leaf the three squares are at most 11 times their sum.
    leaf.kind = s == target_cell ? SAME : largest > apart + (REAL)(0.5 * side_of(level)) ? APART : OTHER;
    return leaf;
}

__device__ __forceinline__ Leaf from_lane(const Leaf& leaf, u32 lane) {
    Leaf out;
    out.begin = __shfl_sync(~0u, leaf.begin, lane);
    out.end = __shfl_sync(~0u, leaf.end, lane);
    out.x = __shfl_sync(~0u, leaf.x, lane);
    out.y = __shfl_sync(~0u, leaf.y, lane);
    out.z = __shfl_sync(~0u, leaf.z, lane);
    out.threshold = __shfl_sync(~0u, leaf.threshold, lane);
    out.kind = __shfl_sync(~0u, leaf.kind, lane);
    return out;
}
