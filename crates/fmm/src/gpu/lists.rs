//! Interaction lists on the device: M2L pairs sorted into batches that share a translation vector and a level, P2P rows and
//! the work items that P2P's warps take. CPU twin: module `lists`.

use ::gpu::{Arg, Buffer, Device, Error, Grid, Plain};

use super::kernels::{self, count, kernel};
use super::primitives::{Scan, Sort};
use super::tree::{Tree, grown};
use crate::Stencil;
use crate::lists::acceptance;
use crate::truncation::Class;

/// Slots of the table of distinct batches; filled to one half at most in practice (300 to 1,200 vectors on each level).
const TABLE: usize = 1 << 17;

/// Targets of one P2P item at most: four warps' rows.
const CHUNK: usize = 128;

/// Sources of one P2P item, about: long enough to amortise its start, short enough to balance the processors.
const SPLIT: usize = 2048;

/// Level bias in a batch's key.
const LEVEL_BIAS: i32 = 14;

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
        let part = |i: u32| (key >> (18 * (2 - i)) & 0x3ffff) as i32 - (1 << 17);
        Self {
            finer_source: (key >> 59) as i32 - LEVEL_BIAS,
            source_level: (key >> 54 & 31) as u32,
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
pub(super) struct Item([u32; 4]);

// SAFETY: four 32-bit numbers.
unsafe impl Plain for Item {}

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
        let scan = Scan::new(device)?;
        let Settled { keys, far, far_count, near, near_count } = settle(device, tree, far)?;
        let (batches, mut numbers) = number(device, &keys, far_count)?;
        drop(keys);
        let mut far = far;
        let bits = usize::BITS as usize - batches.len().leading_zeros() as usize;
        Sort::of_pairs(device)?.run(device, &mut numbers, &mut far, far_count, 0..bits)?;
        let device_begins = device.buffer::<u32>(batches.len() + 1)?;
        kernel(device, &kernels::LISTS, &[], "lists_begins")?.launch(
            device.stream(),
            Grid::covering(batches.len() + 1, 256),
            &[numbers.arg(), count(far_count), device_begins.arg(), count(batches.len())],
        )?;
        let begins = device_begins.to_vec()?;

        let cells = tree.len();
        let rows = device.buffer::<u32>(cells + 1)?;
        rows.zero()?;
        let grid = Grid::covering(near_count, 256);
        let near_args = [near.arg(), count(near_count)];
        kernel(device, &kernels::LISTS, &[], "lists_near_count")?.launch(
            device.stream(),
            grid,
            &[&near_args[..], &[rows.arg()]].concat(),
        )?;
        scan.run(device, &rows, cells + 1)?;
        let filled = device.buffer::<u32>(cells)?;
        filled.zero()?;
        let entries = device.buffer::<u32>(near_count)?;
        kernel(device, &kernels::LISTS, &[], "lists_near_fill")?.launch(
            device.stream(),
            grid,
            &[&near_args[..], &[rows.arg(), filled.arg(), entries.arg()]].concat(),
        )?;
        let places = device.buffer::<u32>(cells + 1)?;
        let pairs = device.buffer::<u64>(1)?;
        pairs.zero()?;
        let shape =
            [tree.cells.arg(), count(cells), rows.arg(), entries.arg(), count(CHUNK), count(SPLIT)];
        kernel(device, &kernels::LISTS, &[], "lists_items_count")?.launch(
            device.stream(),
            Grid::covering(cells + 1, 256),
            &[&shape[..], &[places.arg(), pairs.arg()]].concat(),
        )?;
        scan.run(device, &places, cells + 1)?;
        let mut total = [0];
        places.read(cells, &mut total)?;
        let items = device.buffer::<Item>(total[0] as usize)?;
        let item_cells = device.buffer::<u32>(total[0] as usize)?;
        let mut orders = device.buffer::<u32>(items.len())?;
        let mut numbers = device.buffer::<u64>(items.len())?;
        let out = [places.arg(), items.arg(), item_cells.arg(), orders.arg(), numbers.arg()];
        kernel(device, &kernels::LISTS, &[], "lists_items_fill")?.launch(
            device.stream(),
            Grid::covering(cells, 256),
            &[&shape[..], &out].concat(),
        )?;
        // The largest first, so that small ones fill the processors in the end.
        let total = items.len();
        Sort::of_pairs(device)?.run(device, &mut orders, &mut numbers, total, 0..8)?;
        let (sorted, sorted_cells) = (device.buffer::<Item>(total)?, device.buffer::<u32>(total)?);
        kernel(device, &kernels::LISTS, &[], "lists_items_gather")?.launch(
            device.stream(),
            Grid::covering(total, 256),
            &[
                numbers.arg(),
                count(total),
                items.arg(),
                item_cells.arg(),
                sorted.arg(),
                sorted_cells.arg(),
            ],
        )?;
        let (items, item_cells) = (sorted, sorted_cells);
        let pairs = pairs.to_vec()?[0];
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
    let kernel = kernel(device, &kernels::LISTS, &[], "lists_settle")?;
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
        kernel.launch(
            device.stream(),
            Grid::covering(n, 256),
            &[
                tree.cells.arg(),
                pairs.arg(),
                count(n),
                acceptance.arg(),
                Arg::U32(u32::from(full)),
                keys.arg(),
                far.arg(),
                near.arg(),
                next.arg(),
                counters.arg(),
            ],
        )?;
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
    let grid = Grid::covering(n, 256);
    kernel(device, &kernels::LISTS, &[], "lists_slots")?.launch(
        device.stream(),
        grid,
        &[keys.arg(), count(n), table.arg(), count(TABLE), slots.arg(), counters.arg()],
    )?;
    let (found_keys, found_slots) = (device.buffer::<u64>(TABLE)?, device.buffer::<u32>(TABLE)?);
    kernel(device, &kernels::LISTS, &[], "lists_found")?.launch(
        device.stream(),
        Grid::covering(TABLE, 256),
        &[table.arg(), count(TABLE), found_keys.arg(), found_slots.arg(), counters.at(1)],
    )?;
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
    kernel(device, &kernels::LISTS, &[], "lists_name")?.launch(
        device.stream(),
        Grid::covering(batches, 256),
        &[places.arg(), count(batches), numbers.arg()],
    )?;
    kernel(device, &kernels::LISTS, &[], "lists_number")?.launch(
        device.stream(),
        grid,
        &[slots.arg(), count(n), numbers.arg()],
    )?;
    Ok((found.into_iter().map(|(key, _)| Batch::unpack(key)).collect(), slots))
}
