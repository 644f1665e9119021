// Interaction lists: pairs of boxes are settled or split, all of a generation at once, from (root,
// root) down. CPU twin: crates/fmm/src/lists.rs, which has the rule.
#include "cell.cuh"

// Source level minus target level, level of the source, offset: what decides a translation up to
// scale, and its level. 2 LEVEL_BITS + 3 OFFSET_BITS.
__device__ u64 pack(const Cell& s, const Cell& t, const int* offset) {
    u64 key = (u64)(s.level - t.level + MAX_LEVEL_DIFFERENCE) << LEVEL_BITS | s.level;
    for (u32 k = 0; k < 3; k++) key = key << OFFSET_BITS | (u64)(offset[k] + (1 << (OFFSET_BITS - 1)));
    return key;
}

__device__ void offset_of(const Cell& s, const Cell& t, int* offset) {
    u32 finest = max(s.level, t.level);
    u32 down_s = finest - s.level, down_t = finest - t.level;
    u32 ps[3] = {s.x, s.y, s.z}, pt[3] = {t.x, t.y, t.z};
    for (u32 k = 0; k < 3; k++)
        offset[k] = (int)((long long)((2ull * pt[k] + 1) << down_t) - (long long)((2ull * ps[k] + 1) << down_s));
}

enum { FAR, NEAR, SOURCE, TARGET, NOTHING };

__device__ int settle(const Cell& s, const Cell& t, const long long* acceptance, bool full_stencil, u64& key) {
    if (s.source_begin == s.source_end || t.target_begin == t.target_end) return NOTHING;
    u32 difference = s.level > t.level ? s.level - t.level : t.level - s.level;
    int offset[3];
    offset_of(s, t, offset);
    long long r2 = 0;
    for (u32 k = 0; k < 3; k++) r2 += (long long)offset[k] * offset[k];
    bool comparable = !full_stencil || difference == 0 || (s.level < t.level && s.child_count == 0) ||
                      (s.level > t.level && t.child_count == 0);
    if (comparable && difference <= MAX_LEVEL_DIFFERENCE && r2 >= acceptance[difference]) {
        key = pack(s, t, offset);
        return FAR;
    }
    if (s.child_count && (s.level <= t.level || t.child_count == 0)) return SOURCE;
    return t.child_count ? TARGET : NEAR;
}

// Places for `own` things of each thread, behind *counter.
__device__ u32 reserve(u32 own, u32* counter) {
    __shared__ u32 warps[THREADS / 32];
    __shared__ u32 base;
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 inclusive = own;
    for (u32 d = 1; d < 32; d *= 2) {
        u32 v = __shfl_up_sync(~0u, inclusive, d);
        if (lane >= d) inclusive += v;
    }
    if (lane == 31) warps[warp] = inclusive;
    __syncthreads();
    if (threadIdx.x == 0) {
        u32 total = 0;
        for (u32 w = 0; w < THREADS / 32; w++) {
            u32 v = warps[w];
            warps[w] = total;
            total += v;
        }
        base = total ? atomicAdd(counter, total) : 0;
    }
    __syncthreads();
    return base + warps[warp] + inclusive - own;
}

// No key: offsets are never all that small.
#define EMPTY 0ull

// Slots that are tried for a key: a table that is half full has hardly any runs as long.
#define TRIES 128

// The slot of a key in an open table of `size` (a power of two) slots, made if it is not there;
// `size` if there is no room near its place.
__device__ u32 slot_of(u64 key, u64* table, u32 size) {
    // Levels, the highest bits, count too.
    u64 hash = (key ^ key >> 31) * 0x9e3779b97f4a7c15ULL;
    u32 slot = (u32)(hash >> 32) & (size - 1);
    for (u32 tries = 0; tries < TRIES; tries++) {
        u64 there = ((volatile u64*)table)[slot];
        if (there == EMPTY) there = atomicCAS(&table[slot], EMPTY, key);
        if (there == EMPTY || there == key) return slot;
        slot = (slot + 1) & (size - 1);
    }
    return size;
}

// Some pairs are settled or split. Twice for all: first with far and entries null, when far_places
// (of each slot of the table) and near_places (of each target box) count; then they are where the
// next pair goes. next: pairs of children; next_count: their number, and far pairs for which the
// table had no room, both 0 before. totals: far pairs and near pairs.
extern "C" __global__ void lists_settle(const Cell* cells, const uint2* pairs, u32 n, const long long* acceptance,
                                        u32 full_stencil, u64* table, u32 size, u32* far_places, uint2* far,
                                        u32* near_places, u32* entries, uint2* next, u32* next_count, u64* totals) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    uint2 pair = make_uint2(0, 0);
    Cell s = {}, t = {};
    u64 key = 0;
    int what = NOTHING;
    if (i < n) {
        pair = pairs[i];
        s = cells[pair.x];
        t = cells[pair.y];
        what = settle(s, t, acceptance, full_stencil, key);
    }
    u32 children = what == SOURCE ? s.child_count : what == TARGET ? t.child_count : 0;
    u32 place = reserve(children, next_count);
    u32 far_here = __syncthreads_count(what == FAR), near_here = __syncthreads_count(what == NEAR);
    if (threadIdx.x == 0) {
        if (far_here) atomicAdd(&totals[0], (u64)far_here);
        if (near_here) atomicAdd(&totals[1], (u64)near_here);
    }
    u32 together = __ballot_sync(~0u, what == FAR);
    if (what == FAR) {
        u32 slot = slot_of(key, table, size);
        // Those of one slot in a warp take their places at once.
        u32 peers = __match_any_sync(together, slot);
        u32 lane = threadIdx.x & 31, leader = __ffs(peers) - 1, first = 0;
        if (lane == leader) {
            if (slot < size)
                first = atomicAdd(&far_places[slot], __popc(peers));
            else
                atomicAdd(&next_count[1], __popc(peers));
        }
        first = __shfl_sync(peers, first, leader);
        if (far && slot < size) far[first + __popc(peers & ((1u << lane) - 1))] = pair;
    } else if (what == NEAR) {
        u32 first = atomicAdd(&near_places[pair.y], 1);
        if (entries) entries[first] = pair.x;
    } else {
        for (u32 c = 0; c < children; c++)
            next[place + c] = what == SOURCE ? make_uint2(s.first_child + c, pair.y)
                                             : make_uint2(pair.x, t.first_child + c);
    }
}

// Work of P2P: a run of at most `chunk` targets of a leaf with a run of its near leaves that hold
// about `split` sources.
struct __align__(16) Item {
    u32 target, count;  // first target, number of targets
    u32 begin, end;     // of the near entries
};

__device__ void pieces(const Cell* cells, u32 i, const u32* begins, const u32* entries, u32 chunk, u32 split, u32& chunks,
                       u32& parts, u64& sources) {
    Cell cell = cells[i];
    u32 count = cell.target_end - cell.target_begin;
    u32 near = begins[i + 1] - begins[i];
    sources = 0;
    chunks = parts = 0;
    if (count == 0 || near == 0) return;
    for (u32 e = begins[i]; e < begins[i + 1]; e++) sources += cells[entries[e]].source_end - cells[entries[e]].source_begin;
    chunks = (count + chunk - 1) / chunk;
    parts = min(near, (u32)((sources + split - 1) / split));
}

// counts: [cells + 1]; pairs: total of target-source pairs.
extern "C" __global__ void lists_items_count(const Cell* cells, u32 n, const u32* begins, const u32* entries, u32 chunk,
                                             u32 split, u32* counts, u64* pairs) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i > n) return;
    u32 chunks = 0, parts = 0;
    u64 sources = 0;
    if (i < n) {
        pieces(cells, i, begins, entries, chunk, split, chunks, parts, sources);
        if (sources) atomicAdd(pairs, sources * (cells[i].target_end - cells[i].target_begin));
    }
    counts[i] = chunks * parts;
}

// orders: small for much work, in whole groups of 16 targets; numbers: of the items.
extern "C" __global__ void lists_items_fill(const Cell* cells, u32 n, const u32* begins, const u32* entries, u32 chunk,
                                            u32 split, const u32* places, Item* items, u32* item_cells, u32* orders,
                                            u64* numbers) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n || places[i] == places[i + 1]) return;
    u32 chunks, parts;
    u64 sources;
    pieces(cells, i, begins, entries, chunk, split, chunks, parts, sources);
    Cell cell = cells[i];
    u32 count = cell.target_end - cell.target_begin, near = begins[i + 1] - begins[i];
    u32 place = places[i];
    for (u32 c = 0; c < chunks; c++) {
        // Equal shares in whole warps.
        u32 rows = (count + 31) / 32;
        u32 from = 32 * (rows * c / chunks), to = min(count, 32 * (rows * (c + 1) / chunks));
        for (u32 part = 0; part < parts; part++, place++) {
            Item item = {cell.target_begin + from, to - from, begins[i] + (u32)((u64)near * part / parts),
                         begins[i] + (u32)((u64)near * (part + 1) / parts)};
            items[place] = item;
            item_cells[place] = i;
            u64 work = (to - from + 15) / 16 * (sources / parts) * 128 / (chunk / 16 * split);
            orders[place] = 255 - (u32)min(work, 255ull);
            numbers[place] = place;
        }
    }
}

// Items in the order of `numbers`.
extern "C" __global__ void lists_items_gather(const u64* numbers, u32 n, const Item* items, const u32* item_cells,
                                              Item* items_out, u32* cells_out) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    items_out[i] = items[numbers[i]];
    cells_out[i] = item_cells[numbers[i]];
}
