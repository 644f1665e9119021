//! Interaction lists.

use cuda::Pointer;

use crate::gpu::layouts::{Cell, Item};

cuda::arguments! {
    // Where rows begin says how many entries there are.
    /// Near lists of all boxes, and how they are cut into items.
    struct NearRows {
        cells: Pointer<Cell> [n],
        n: u32,
        begins: Pointer<u32> [n + 1],
        entries: Pointer<u32> [..],
        chunk: u32,
        split: u32,
    }
}

cuda::kernels! {
    kernels::fmm::LISTS;
    constants {
        THREADS: u32 = 256;
        MAX_LEVEL_DIFFERENCE: u32 = crate::tree::lists::MAX_LEVEL_DIFFERENCE;
        /// Bits of a level, and of each component of an offset, in a packed vector.
        LEVEL_BITS: u32 = 5;
        OFFSET_BITS: u32 = 18;
    }
    // Pairs say which boxes there are, counts where far and near pairs go.
    struct Settle = "lists_settle" {
        cells: Pointer<Cell> [..],
        pairs: Pointer<u64> [n],
        n: u32,
        acceptance: Pointer<i64> [u128::from(MAX_LEVEL_DIFFERENCE) + 1],
        full_stencil: bool,
        table: Pointer<u64> [size],
        size: u32,
        far_places: Pointer<u32> [size],
        far: Pointer<u64> [..],
        near_places: Pointer<u32> [..],
        entries: Pointer<u32> [..],
        next: Pointer<u64> [8 * n],
        next_count: Pointer<u32> [2],
        totals: Pointer<u64> [2],
    }
    struct ItemsCount = "lists_items_count" {
        rows: NearRows,
        counts: Pointer<u32> [u128::from(rows.n) + 1],
        pairs: Pointer<u64> [1],
    }
    // Items go where `places` say.
    struct ItemsFill = "lists_items_fill" {
        rows: NearRows,
        places: Pointer<u32> [u128::from(rows.n) + 1],
        items: Pointer<Item> [..],
        item_cells: Pointer<u32> [..],
        orders: Pointer<u32> [..],
        numbers: Pointer<u64> [..],
    }
    struct ItemsGather = "lists_items_gather" {
        numbers: Pointer<u64> [n],
        n: u32,
        items: Pointer<Item> [n],
        item_cells: Pointer<u32> [n],
        items_out: Pointer<Item> [n],
        cells_out: Pointer<u32> [n],
    }
}
