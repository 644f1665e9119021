//! Interaction lists on the device: M2L pairs sorted into batches that share a translation vector
//! and a level, P2P rows and the work items that P2P's warps take. CPU twin: module `lists`.

use cuda::{Buffer, Device, Error, Grid, Plain};

use super::kernels::lists::{self, THREADS};
use super::kernels::{Kernel, count};
use super::primitives::{Scan, Sort};
use super::tree::{Tree, grown};
use crate::Stencil;
use crate::lists::{Rows, acceptance};
use crate::truncation::Class;

/// Slots of the table of distinct batches; filled to one half at most in practice (300 to 1,200
/// vectors on each level).
const TABLE: usize = 1 << 17;

/// Targets of one P2P item at most: four warps' rows.
const CHUNK: usize = 128;

/// Sources of one P2P item, about: long enough to amortise its start, short enough to balance the
/// processors.
const SPLIT: usize = 2048;

/// M2L pairs that share a translation vector and levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Batch {
    /// Level of the sources minus level of the targets.
    pub(super) finer_source: i32,
    pub(super) source_level: u32,
    /// Target minus source in half sides of the smaller box.
    pub(super) offset: [i32; 3],
}

impl Batch {
    fn unpack(key: u64) -> Self {
        const BITS: u32 = lists::OFFSET_BITS;
        const LEVEL_BITS: u32 = lists::LEVEL_BITS;
        let part =
            |i: u32| (key >> (BITS * (2 - i)) & ((1 << BITS) - 1)) as i32 - (1 << (BITS - 1));
        Self {
            finer_source: (key >> (3 * BITS + LEVEL_BITS)) as i32
                - lists::MAX_LEVEL_DIFFERENCE as i32,
            source_level: (key >> (3 * BITS) & ((1 << LEVEL_BITS) - 1)) as u32,
            offset: [part(0), part(1), part(2)],
        }
    }

    pub(super) fn target_level(&self) -> usize {
        (self.source_level as i32 - self.finer_source) as usize
    }

    /// Its class of translations, which have the same truncation number.
    pub(super) fn class(&self) -> Class {
        Class::new(self.target_level() as u8, -self.finer_source as i8, self.offset)
    }
}

/// Four 32-bit numbers of one P2P item: first target, targets, first and last near entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Item([u32; 4]);

// SAFETY: four 32-bit numbers.
unsafe impl Plain for Item {}
cuda::elements! { Item: "Item" }

/// All interactions of a tree.
#[derive(Debug)]
pub(super) struct Lists {
    pub(super) batches: Vec<Batch>,
    /// Where each batch's pairs begin, and the end.
    pub(super) begins: Vec<u32>,
    pub(super) device_begins: Buffer<u32>,
    /// Source and target box of each M2L pair, in one 64-bit number.
    pub(super) far: Buffer<u64>,
    /// Source and target box of each P2P pair.
    pub(super) near: Buffer<u64>,
    pub(super) near_count: usize,
    /// Near source leaves of each target leaf.
    pub(super) entries: Buffer<u32>,
    pub(super) items: Buffer<Item>,
    pub(super) item_cells: Buffer<u32>,
    /// Pairs of points that P2P sums.
    pub(super) pairs: u64,
}

impl Lists {
    /// With `far` none nothing is translated: all pairs are near.
    pub(super) fn new(device: &Device, tree: &Tree, far: Option<Stencil>) -> Result<Self, Error> {
        let Settled { keys, mut far, far_count, near, near_count } = settle(device, tree, far)?;
        let (batches, mut numbers) = number(device, &keys, far_count)?;
        drop(keys);
        let bits = usize::BITS as usize - batches.len().leading_zeros() as usize;
        Sort::of_pairs(device)?.run(device, &mut numbers, &mut far, far_count, 0..bits)?;
        let device_begins = device.buffer::<u32>(batches.len() + 1)?;
        let of_batches = lists::Begins {
            keys: numbers.pointer(),
            n: count(far_count),
            begins: device_begins.pointer(),
            count: count(batches.len()),
        };
        let grid = Grid::covering(batches.len() + 1, THREADS);
        Kernel::new(device)?.launch(device.stream(), grid, of_batches)?;
        let begins = device_begins.to_vec()?;
        let (rows, entries) = near_rows(device, tree, &near, near_count)?;
        let Items { items, item_cells, pairs } = items(device, tree, &rows, &entries)?;
        Ok(Self {
            batches,
            begins,
            device_begins,
            far,
            near,
            near_count,
            entries,
            items,
            item_cells,
            pairs,
        })
    }

    /// Near leaves alone, of rows that the CPU found.
    pub(super) fn of_rows(device: &Device, tree: &Tree, rows: &Rows) -> Result<Self, Error> {
        let mut begins = vec![0; tree.len() + 1];
        for (&cell, ends) in rows.cells.iter().zip(rows.begins.windows(2)) {
            begins[cell as usize] = ends[1] - ends[0];
        }
        let mut end = 0;
        for begin in &mut begins {
            (*begin, end) = (end, end + *begin);
        }
        let (begins, entries) = (device.upload(&begins)?, device.upload(&rows.entries)?);
        let Items { items, item_cells, pairs } = items(device, tree, &begins, &entries)?;
        Ok(Self {
            batches: Vec::new(),
            begins: vec![0],
            device_begins: device.buffer(0)?,
            far: device.buffer(0)?,
            near: device.buffer(0)?,
            near_count: 0,
            entries,
            items,
            item_cells,
            pairs,
        })
    }
}

/// Near pairs as compressed rows: where the sources of each target leaf begin, and the sources.
fn near_rows(
    device: &Device,
    tree: &Tree,
    near: &Buffer<u64>,
    near_count: usize,
) -> Result<(Buffer<u32>, Buffer<u32>), Error> {
    let cells = tree.len();
    let begins = device.buffer::<u32>(cells + 1)?;
    begins.zero()?;
    let grid = Grid::covering(near_count, THREADS);
    let (near, n) = (near.pointer(), count(near_count));
    let of_rows = lists::NearCount { near, n, counts: begins.pointer() };
    Kernel::new(device)?.launch(device.stream(), grid, of_rows)?;
    Scan::new(device)?.run(device, &begins, cells + 1)?;
    let filled = device.buffer::<u32>(cells)?;
    filled.zero()?;
    let entries = device.buffer::<u32>(near_count)?;
    let fill = lists::NearFill {
        near,
        n,
        begins: begins.pointer(),
        filled: filled.pointer(),
        entries: entries.pointer(),
    };
    Kernel::new(device)?.launch(device.stream(), grid, fill)?;
    Ok((begins, entries))
}

/// Work items of P2P with their target boxes, and the pairs of points of all.
struct Items {
    items: Buffer<Item>,
    item_cells: Buffer<u32>,
    pairs: u64,
}

/// Cuts the near field into items of similar work, the largest first.
fn items(
    device: &Device,
    tree: &Tree,
    rows: &Buffer<u32>,
    entries: &Buffer<u32>,
) -> Result<Items, Error> {
    let cells = tree.len();
    let places = device.buffer::<u32>(cells + 1)?;
    let pairs = device.upload(&[0u64])?;
    let rows = lists::NearRows {
        cells: tree.cells.pointer(),
        n: count(cells),
        begins: rows.pointer(),
        entries: entries.pointer(),
        chunk: count(CHUNK),
        split: count(SPLIT),
    };
    let of_cells = lists::ItemsCount { rows, counts: places.pointer(), pairs: pairs.pointer() };
    let grid = Grid::covering(cells + 1, THREADS);
    Kernel::new(device)?.launch(device.stream(), grid, of_cells)?;
    Scan::new(device)?.run(device, &places, cells + 1)?;
    let mut total = [0];
    places.read(cells, &mut total)?;
    let total = total[0] as usize;
    let (items, item_cells) = (device.buffer::<Item>(total)?, device.buffer::<u32>(total)?);
    let mut orders = device.buffer::<u32>(total)?;
    let mut numbers = device.buffer::<u64>(total)?;
    let fill = lists::ItemsFill {
        rows,
        places: places.pointer(),
        items: items.pointer(),
        item_cells: item_cells.pointer(),
        orders: orders.pointer(),
        numbers: numbers.pointer(),
    };
    Kernel::new(device)?.launch(device.stream(), Grid::covering(cells, THREADS), fill)?;
    // The largest first, so that small ones fill the processors in the end.
    Sort::of_pairs(device)?.run(device, &mut orders, &mut numbers, total, 0..8)?;
    let (sorted, sorted_cells) = (device.buffer::<Item>(total)?, device.buffer::<u32>(total)?);
    let gather = lists::ItemsGather {
        numbers: numbers.pointer(),
        n: count(total),
        items: items.pointer(),
        item_cells: item_cells.pointer(),
        items_out: sorted.pointer(),
        cells_out: sorted_cells.pointer(),
    };
    Kernel::new(device)?.launch(device.stream(), Grid::covering(total, THREADS), gather)?;
    Ok(Items { items: sorted, item_cells: sorted_cells, pairs: pairs.to_vec()?[0] })
}

/// Pairs as the traversal leaves them.
struct Settled {
    keys: Buffer<u64>,
    far: Buffer<u64>,
    far_count: usize,
    near: Buffer<u64>,
    near_count: usize,
}

/// Traverses pairs of boxes from (root, root) down.
fn settle(device: &Device, tree: &Tree, far: Option<Stencil>) -> Result<Settled, Error> {
    let kernel = Kernel::new(device)?;
    let never = || acceptance(Stencil::Full).map(|_| i64::MAX);
    let full = far == Some(Stencil::Full);
    let acceptance = device.upload(&far.map_or_else(never, acceptance))?;
    let cells = tree.len();
    let (mut far_capacity, mut near_capacity) = (1024 + 128 * cells, 1024 + 28 * cells);
    let mut keys = device.buffer::<u64>(far_capacity)?;
    let mut far = device.buffer::<u64>(far_capacity)?;
    let mut near = device.buffer::<u64>(near_capacity)?;
    let mut pairs = device.upload(&[0u64])?;
    let mut n = 1;
    let counters = device.upload(&[0u32; 3])?;
    let (mut far_count, mut near_count) = (0, 0);
    while n > 0 {
        if far_count + n > far_capacity {
            far_capacity = (far_count + n).max(3 * far_capacity / 2);
            keys = grown(device, &keys, far_count, far_capacity)?;
            far = grown(device, &far, far_count, far_capacity)?;
        }
        if near_count + n > near_capacity {
            near_capacity = (near_count + n).max(3 * near_capacity / 2);
            near = grown(device, &near, near_count, near_capacity)?;
        }
        let next = device.buffer::<u64>(8 * n)?;
        let generation = lists::Settle {
            cells: tree.cells.pointer(),
            pairs: pairs.pointer(),
            n: count(n),
            acceptance: acceptance.pointer(),
            full_stencil: full,
            far_keys: keys.pointer(),
            far: far.pointer(),
            near: near.pointer(),
            next: next.pointer(),
            counters: counters.pointer(),
        };
        kernel.launch(device.stream(), Grid::covering(n, THREADS), generation)?;
        let totals = counters.to_vec()?;
        (far_count, near_count, n) = (totals[0] as usize, totals[1] as usize, totals[2] as usize);
        counters.write(&[totals[0], totals[1], 0])?;
        pairs = next;
    }
    Ok(Settled { keys, far, far_count, near, near_count })
}

/// The distinct batches, and for each pair the number of its batch.
fn number(
    device: &Device,
    keys: &Buffer<u64>,
    n: usize,
) -> Result<(Vec<Batch>, Buffer<u32>), Error> {
    let table = device.buffer::<u64>(TABLE)?;
    table.zero()?;
    let slots = device.buffer::<u32>(n)?;
    // Whether the table is full, and how many batches were found.
    let counters = device.buffer::<u32>(2)?;
    counters.zero()?;
    let grid = Grid::covering(n, THREADS);
    let of_keys = lists::Slots {
        keys: keys.pointer(),
        n: count(n),
        table: table.pointer(),
        size: count(TABLE),
        slots: slots.pointer(),
        full: counters.pointer(),
    };
    Kernel::new(device)?.launch(device.stream(), grid, of_keys)?;
    let (found_keys, found_slots) = (device.buffer::<u64>(TABLE)?, device.buffer::<u32>(TABLE)?);
    let found = lists::Found {
        table: table.pointer(),
        size: count(TABLE),
        keys: found_keys.pointer(),
        slots: found_slots.pointer(),
        found: counters.pointer_to(1),
    };
    Kernel::new(device)?.launch(device.stream(), Grid::covering(TABLE, THREADS), found)?;
    let totals = counters.to_vec()?;
    if totals[0] != 0 {
        return Err(Error::Driver {
            what: "sorting translations",
            reason: format!("more than {TABLE} distinct translation vectors and levels"),
        });
    }
    let batches = totals[1] as usize;
    let (mut keys, mut places) = (vec![0u64; batches], vec![0u32; batches]);
    found_keys.read(0, &mut keys)?;
    found_slots.read(0, &mut places)?;
    let mut found: Vec<(u64, u32)> = keys.into_iter().zip(places).collect();
    found.sort_unstable();
    let places: Vec<u32> = found.iter().map(|&(_, slot)| slot).collect();
    let numbers = found_slots;
    let places = device.upload(&places)?;
    let numbers = numbers.pointer();
    let name = lists::Name { slots: places.pointer(), count: count(batches), numbers };
    Kernel::new(device)?.launch(device.stream(), Grid::covering(batches, THREADS), name)?;
    let of_pairs = lists::Number { slots: slots.pointer(), n: count(n), numbers };
    Kernel::new(device)?.launch(device.stream(), grid, of_pairs)?;
    Ok((found.into_iter().map(|(key, _)| Batch::unpack(key)).collect(), slots))
}
