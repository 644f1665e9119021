// The adaptive octree, one level at a time. CPU twin: crates/fmm/src/tree.rs.
#include "cell.cuh"

// First of keys[begin, end) whose digit at `shift` is above `octant`.
__device__ u32 upper(const u64* keys, u32 begin, u32 end, u32 shift, u32 octant) {
    while (begin < end) {
        u32 middle = begin + (end - begin) / 2;
        if ((u32)(keys[middle] >> shift & 7) <= octant)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

__device__ bool full(const u64* keys, u32 begin, u32 end, u32 leaf_size) {
    return end - begin > leaf_size && keys[begin] != keys[end - 1];
}

__device__ __forceinline__ void place_centre(const Cell& cell, const Root& root, double* centre) {
    u32 place[3] = {cell.x, cell.y, cell.z};
    for (u32 k = 0; k < 3; k++)
        centre[k] = root.corner[k] + root.side * ((place[k] + 0.5) * side_of(cell.level));
}

extern "C" __global__ void tree_root(Cell* cells, double* centres, u32 sources, u32 targets, double x, double y, double z,
                                     double side) {
    Cell cell = {};
    cell.source_end = sources;
    cell.target_end = targets;
    cells[0] = cell;
    Root root = {{x, y, z}, side};
    place_centre(cell, root, centres);
}

// Children of cells first .. first + count. counts: [count + 1], their numbers, and 0 in the end.
extern "C" __global__ void tree_count(const Cell* cells, u32 first, u32 count, const u64* source_keys,
                                      const u64* target_keys, u32 source_leaf, u32 target_leaf, u32* counts) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i > count) return;
    u32 children = 0;
    if (i < count) {
        Cell cell = cells[first + i];
        u32 shift = 3 * (MAX_DEPTH - 1 - cell.level);
        if (cell.level < MAX_DEPTH && (full(source_keys, cell.source_begin, cell.source_end, source_leaf) ||
                                       full(target_keys, cell.target_begin, cell.target_end, target_leaf))) {
            u32 s = cell.source_begin, t = cell.target_begin;
            for (u32 octant = 0; octant < 8; octant++) {
                u32 s_end = upper(source_keys, s, cell.source_end, shift, octant);
                u32 t_end = upper(target_keys, t, cell.target_end, shift, octant);
                children += s_end > s || t_end > t;
                s = s_end;
                t = t_end;
            }
        }
    }
    counts[i] = children;
}

// places: prefix sums of counts; the children begin at cell next.
extern "C" __global__ void tree_split(Cell* cells, double* centres, u32 first, u32 count, u32 next,
                                      const u64* source_keys, const u64* target_keys, const u32* places, double x,
                                      double y, double z, double side) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count) return;
    Root root = {{x, y, z}, side};
    Cell cell = cells[first + i];
    u32 child = next + places[i];
    cells[first + i].first_child = child;
    cells[first + i].child_count = places[i + 1] - places[i];
    if (places[i + 1] == places[i]) return;
    u32 shift = 3 * (MAX_DEPTH - 1 - cell.level);
    u32 s = cell.source_begin, t = cell.target_begin;
    for (u32 octant = 0; octant < 8; octant++) {
        u32 s_end = upper(source_keys, s, cell.source_end, shift, octant);
        u32 t_end = upper(target_keys, t, cell.target_end, shift, octant);
        if (s_end > s || t_end > t) {
            Cell out = {2 * cell.x + (octant & 1), 2 * cell.y + (octant >> 1 & 1), 2 * cell.z + (octant >> 2),
                        cell.level + 1, 0, 0, first + i, s, s_end, t, t_end, 0};
            cells[child] = out;
            place_centre(out, root, centres + 3 * (u64)child);
            child++;
        }
        s = s_end;
        t = t_end;
    }
}

// Children of one level by octant: pairs[octant][capacity] gets (child, parent), counts[octant]
// their number.
extern "C" __global__ void tree_families(const Cell* cells, u32 first, u32 count, uint2* pairs, u32 capacity,
                                         u32* counts) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count) return;
    Cell cell = cells[first + i];
    u32 octant = (cell.x & 1) | (cell.y & 1) << 1 | (cell.z & 1) << 2;
    u32 active = __activemask();
    u32 peers = __match_any_sync(active, octant);
    u32 leader = __ffs(peers) - 1, lane = threadIdx.x & 31, base = 0;
    if (lane == leader) base = atomicAdd(&counts[octant], __popc(peers));
    base = __shfl_sync(peers, base, leader);
    pairs[(u64)octant * capacity + base + __popc(peers & ((1u << lane) - 1))] = make_uint2(first + i, cell.parent);
}
