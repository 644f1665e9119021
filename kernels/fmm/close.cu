// Close pairs: those whose relative coordinates have lost digits, found once for a plan with P2P's
// own arithmetic. CPU twin: crates/fmm/src/close.rs.
#include "near.cuh"

// All but their exact displacements. squares: in single precision the squared distance that P2P's
// loop takes the root of. found: number of close pairs, which may exceed capacity: then only that
// number counts. Above `most` it need not be all: crowded leaves have too many to wait for. itself:
// the targets are the sources, and no point is paired with itself.
extern "C" __global__ void close_find(const Cell* cells, const double* centres, const u32* entries, const Item* items,
                                      const u32* item_cells, u32 count, double side, const Point* sources,
                                      const Point* targets, u32 itself, const u32* source_index,
                                      const u32* target_index, UnresolvedPair* pairs, float* squares, u32 capacity,
                                      u64* found, u64 most) {
    __shared__ Point stages[WARPS][32];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 i = blockIdx.x * WARPS + warp;
    if (i >= count) return;
    Near near = {cells, centres, entries, items, item_cells, side};
    Item item = items[i];
    u32 cell = item_cells[i];
    for (u32 row = 0; row < item.count; row += 32) {
        bool valid = row + lane < item.count;
        u32 target = item.target + min(row + lane, item.count - 1);
        Point p = targets[target];
        for (u32 group = item.begin; group < item.end; group += 32) {
            u32 leaves = min(32, item.end - group);
            Leaf mine = near_leaf(near, cell, group + min(lane, leaves - 1));
            for (u32 e = 0; e < leaves; e++) {
                Leaf leaf = from_lane(mine, e);
                if (leaf.threshold == 0) continue;
                bool crowded = leaf.end - leaf.begin > CROWD;
                for (u32 begin = leaf.begin; begin < leaf.end; begin += 32) {
                    if (crowded && __any_sync(~0u, *(volatile u64*)found > most)) return;
                    u32 here = min(32, leaf.end - begin);
                    Point s = sources[begin + min(lane, here - 1)];
                    s.x += leaf.x;
                    s.y += leaf.y;
                    s.z += leaf.z;
                    __syncwarp();
                    stages[warp][lane] = s;
                    __syncwarp();
                    for (u32 j = 0; j < here; j++) {
                        Point s = stages[warp][j];
                        REAL dx = p.x - s.x, dy = p.y - s.y, dz = p.z - s.z;
                        REAL r2 = fused(dz, dz, fused(dy, dy, dx * dx));
                        if (!(r2 <= leaf.threshold) || !valid || (itself && target_index[target] == source_index[begin + j])) continue;
                        u64 place = atomicAdd(found, (u64)1);
                        if (place >= capacity) continue;
                        UnresolvedPair pair;
                        pair.target = target;
                        pair.source = begin + j;
#if PRECISION == 32
                        pair.used[0] = dx;
                        pair.used[1] = dy;
                        pair.used[2] = dz;
                        squares[place] = leaf.kind == SAME
                                             ? (float)leaf.threshold
                                             : fused(dz, dz, fused(dy, dy, fused(dx, dx, SOFTENING * leaf.threshold)));
#endif
                        pairs[place] = pair;
                    }
                }
            }
        }
    }
}

// Adds targets' coordinates to the displacements of the pairs that they are in, or takes sources'
// off: of those points, in the caller's order, that are among the `here` from number `first` on.
// displacements: [count][3], zeros before; when both ends have been added each is the rounded
// difference, whichever came first.
extern "C" __global__ void close_displace(const UnresolvedPair* pairs, u32 count, u32 of_targets, const u32* index,
                                          const double* points, u32 first, u32 here, double* displacements) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    u32 at = index[of_targets ? pairs[i].target : pairs[i].source] - first;
    if (at >= here) return;
    const double* p = points + 3 * (u64)at;
    for (u32 k = 0; k < 3; k++) displacements[3 * i + k] += of_targets ? p[k] : -p[k];
}

// Displacements in units of the root's side.
extern "C" __global__ void close_resolve(UnresolvedPair* pairs, u32 count, const double* displacements, double side) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    for (u32 k = 0; k < 3; k++) pairs[i].exact[k] = (REAL)(displacements[3 * i + k] / side);
}
