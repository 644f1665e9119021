// Interaction lists: pairs of boxes are settled or split, all of a generation at once, from (root,
// root) down. CPU twin: crates/fmm/src/lists.rs, which has the rule.
#include "shared/cell.cuh"

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

// Block-wide exclusive sums of three counts, and places for the block's totals behind
// counters[0..3].
__device__ void reserve(u32* counts, u32* counters) {
    __shared__ u32 warps[THREADS / 32][3];
    __shared__ u32 bases[3];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 before[3];
    for (u32 k = 0; k < 3; k++) {
        u32 inclusive = counts[k];
        for (u32 d = 1; d < 32; d *= 2) {
            u32 v = __shfl_up_sync(~0u, inclusive, d);
            if (lane >= d) inclusive += v;
        }
        if (lane == 31) warps[warp][k] = inclusive;
        before[k] = inclusive - counts[k];
    }
    __syncthreads();
    if (threadIdx.x < 3) {
        u32 total = 0;
        for (u32 w = 0; w < THREADS / 32; w++) {
            u32 v = warps[w][threadIdx.x];
            warps[w][threadIdx.x] = total;
            total += v;
        }
        bases[threadIdx.x] = total ? atomicAdd(&counters[threadIdx.x], total) : 0;
    }
    __syncthreads();
    for (u32 k = 0; k < 3; k++) counts[k] = bases[k] + warps[warp][k] + before[k];
}

// One generation. counters: far pairs, near pairs, pairs of the next generation.
extern "C" __global__ void lists_settle(const Cell* cells, const uint2* pairs, u32 n, const long long* acceptance,
                                        u32 full_stencil, u64* far_keys, uint2* far, uint2* near, uint2* next,
                                        u32* counters) {
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
    u32 places[3] = {what == FAR, what == NEAR, children};
    reserve(places, counters);
    if (what == FAR) {
        far_keys[places[0]] = key;
        far[places[0]] = pair;
    } else if (what == NEAR) {
        near[places[1]] = pair;
    } else {
        for (u32 c = 0; c < children; c++)
            next[places[2] + c] = what == SOURCE ? make_uint2(s.first_child + c, pair.y)
                                                 : make_uint2(pair.x, t.first_child + c);
    }
}

// No key: offsets are never all that small.
#define EMPTY 0ull

// Finds or makes the slot of each key in an open table of `size` (a power of two) slots, empty at
// first; full = 1 when there is none.
extern "C" __global__ void lists_slots(const u64* keys, u32 n, u64* table, u32 size, u32* slots, u32* full) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    u64 key = keys[i];
    u64 hash = key * 0x9e3779b97f4a7c15ULL;
    u32 slot = (u32)(hash >> 32) & (size - 1);
    for (u32 tries = 0; tries < size; tries++) {
        u64 there = ((volatile u64*)table)[slot];
        if (there == EMPTY) there = atomicCAS(&table[slot], EMPTY, key);
        if (there == EMPTY || there == key) {
            slots[i] = slot;
            return;
        }
        slot = (slot + 1) & (size - 1);
    }
    *full = 1;
}

// Gathers the keys of a table and their slots; found: 0 at first.
extern "C" __global__ void lists_found(const u64* table, u32 size, u64* keys, u32* slots, u32* found) {
    u32 slot = blockIdx.x * THREADS + threadIdx.x;
    if (slot >= size || table[slot] == EMPTY) return;
    u32 place = atomicAdd(found, 1);
    keys[place] = table[slot];
    slots[place] = slot;
}

// Writes each batch's number into its slot.
extern "C" __global__ void lists_name(const u32* slots, u32 count, u32* numbers) {
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i < count) numbers[slots[i]] = i;
}

// Replaces each slot by the number of its batch.
extern "C" __global__ void lists_number(u32* slots, u32 n, const u32* numbers) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) slots[i] = numbers[slots[i]];
}

// begins[b] = first place of sorted keys that is at least b, for b <= count.
extern "C" __global__ void lists_begins(const u32* keys, u32 n, u32* begins, u32 count) {
    u32 b = blockIdx.x * THREADS + threadIdx.x;
    if (b > count) return;
    u32 low = 0, high = n;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (keys[middle] < b)
            low = middle + 1;
        else
            high = middle;
    }
    begins[b] = low;
}

// Near pairs of each target box: counts[t].
extern "C" __global__ void lists_near_count(const uint2* near, u32 n, u32* counts) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) atomicAdd(&counts[near[i].y], 1);
}

// Compressed rows: entries of target box t from begins[t] on; filled: zeros, [cells].
extern "C" __global__ void lists_near_fill(const uint2* near, u32 n, const u32* begins, u32* filled, u32* entries) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    uint2 pair = near[i];
    entries[begins[pair.y] + atomicAdd(&filled[pair.y], 1)] = pair.x;
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
    u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    items_out[i] = items[numbers[i]];
    cells_out[i] = item_cells[numbers[i]];
}
