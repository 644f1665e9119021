//! Interaction lists on the device: M2L pairs sorted into batches that share a translation vector
//! and a level, P2P rows and the work items that P2P's warps take. CPU twin: module `lists`.

use cuda::{Buffer, Device, Error, Grid, Pointer};

use super::kernels::lists::{self, THREADS};
use super::kernels::{Kernel, count};
use super::layouts::Item;
use super::primitives::{Scan, Sort};
use super::tree::{Tree, grown};
use crate::Stencil;
use crate::tree::lists::{Rows, acceptance};
use crate::truncation::Class;

/// Slots of the table of distinct batches at first, how many times more the next one has if it gets
/// too full, and the most: uniform points have 300 to 1,200 vectors on each level. A surface cuts
/// off corners of large boxes, which stay leaves next to small ones, by vectors of many kinds:
/// 13,000 for 4 million points on a sphere, about 2.3 times as many for each 4 times as many.
const TABLE: usize = 1 << 17;
const MORE_SLOTS: usize = 8;
const MOST_SLOTS: usize = 1 << 26;

/// Pairs of boxes that are settled at once, for each box, and their least and largest number: so
/// many that the device is busy, and so few that their children take little memory.
const AT_ONCE: usize = 4;
const LEAST_AT_ONCE: usize = 1 << 16;
const MOST_AT_ONCE: usize = 1 << 23;

/// Targets of one P2P item at most: four warps' rows.
const CHUNK: usize = 128;

/// Sources of one P2P item, about: long enough to amortise its start, short enough to balance the
/// processors.
const SPLIT: usize = 2048;

/// M2L pairs that share a translation vector and levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Batch {
    /// Level of the sources minus level of the targets.
    pub finer_source: i32,
    pub source_level: u32,
    /// Target minus source in half sides of the smaller box.
    pub offset: [i32; 3],
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

    pub fn target_level(&self) -> usize {
        (self.source_level as i32 - self.finer_source) as usize
    }

    /// Its class of translations, which have the same truncation number.
    pub(super) fn class(&self) -> Class {
        Class::new(self.target_level() as u8, -self.finer_source as i8, self.offset)
    }
}

/// All interactions of a tree.
#[derive(Debug)]
pub struct Lists {
    /// Translations that share a vector.
    pub batches: Vec<Batch>,
    /// Where each batch's pairs begin, and the end.
    pub begins: Vec<u32>,
    pub(super) device_begins: Buffer<u32>,
    /// Source and target box of each M2L pair, in one 64-bit number.
    pub far: Buffer<u64>,
    /// Where the near source leaves of each box begin, and the end.
    pub near_begins: Buffer<u32>,
    /// Near source leaves of each target leaf.
    pub entries: Buffer<u32>,
    /// Work of near pairs, item by item.
    pub items: Buffer<Item>,
    pub(super) item_cells: Buffer<u32>,
    /// Pairs of points that P2P sums.
    pub pairs: u64,
}

impl Lists {
    /// With `far` none nothing is translated: all pairs are near. The pairs are found twice: once
    /// to count those of each batch and each target box, then each goes to its place. That takes
    /// no memory but the lists'.
    pub fn new(device: &Device, tree: &Tree, far: Option<Stencil>) -> Result<Self, Error> {
        Self::with_table(device, tree, far, TABLE)
    }

    /// As [`Self::new`], with `slots` (a power of two) initial slots for distinct batches.
    pub fn with_table(
        device: &Device,
        tree: &Tree,
        far: Option<Stencil>,
        mut slots: usize,
    ) -> Result<Self, Error> {
        let (mut traversal, [far_count, near_count]) = loop {
            let mut traversal = Traversal::new(device, tree, far, slots)?;
            if let Some(counts) = traversal.run(None)? {
                break (traversal, counts);
            }
            slots *= MORE_SLOTS;
            if slots > MOST_SLOTS {
                let reason = "too many distinct translation vectors and levels".to_owned();
                return Err(Error::Driver { what: "sorting translations", reason });
            }
        };
        if let Some(pairs) = [far_count, near_count].into_iter().find(|&n| n > MOST_PAIRS) {
            let reason = format!("{pairs} pairs of boxes are more than 32-bit numbers count");
            return Err(Error::Driver { what: "listing interactions", reason });
        }
        let (batches, begins) = traversal.batches()?;
        let near_begins = device.buffer::<u32>(tree.len() + 1)?;
        near_begins.copy_from(&traversal.near_places, tree.len() + 1)?;
        let far = device.buffer::<u64>(far_count as usize)?;
        let entries = device.buffer::<u32>(near_count as usize)?;
        // Every batch has its slot by now.
        traversal.run(Some((&far, &entries)))?;
        drop(traversal);
        let device_begins = device.upload(&begins)?;
        let Items { items, item_cells, pairs } = items(device, tree, &near_begins, &entries)?;
        Ok(Self {
            batches,
            begins,
            device_begins,
            far,
            near_begins,
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
            near_begins: begins,
            entries,
            items,
            item_cells,
            pairs,
        })
    }
}

/// A tree with its interaction lists.
#[derive(Clone, Copy, Debug)]
pub struct Boxes<'a> {
    /// The boxes.
    pub tree: &'a Tree,
    /// Their interactions.
    pub lists: &'a Lists,
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

/// Far pairs and near pairs at most.
const MOST_PAIRS: u64 = u32::MAX as u64;

/// The way through pairs of boxes from (root, root) down, some at a time, the last found first.
struct Traversal<'a> {
    device: &'a Device,
    tree: &'a Tree,
    settle: Kernel<lists::Settle>,
    full_stencil: bool,
    acceptance: Buffer<i64>,
    /// Keys of distinct batches, by slot.
    table: Buffer<u64>,
    /// How many pairs each slot and each target box has, then where the next of them goes.
    far_places: Buffer<u32>,
    near_places: Buffer<u32>,
    /// Pairs that wait.
    waiting: Buffer<u64>,
    /// Pairs of children, and far pairs for which the table had no room.
    next_count: Buffer<u32>,
    totals: Buffer<u64>,
}

impl<'a> Traversal<'a> {
    fn new(
        device: &'a Device,
        tree: &'a Tree,
        far: Option<Stencil>,
        slots: usize,
    ) -> Result<Self, Error> {
        let never = || acceptance(Stencil::Full).map(|_| i64::MAX);
        let zeros = |len: usize| -> Result<_, Error> {
            let buffer = device.buffer::<u32>(len)?;
            buffer.zero()?;
            Ok(buffer)
        };
        let table = device.buffer::<u64>(slots)?;
        table.zero()?;
        Ok(Self {
            device,
            tree,
            settle: Kernel::new(device)?,
            full_stencil: far == Some(Stencil::Full),
            acceptance: device.upload(&far.map_or_else(never, acceptance))?,
            table,
            far_places: zeros(slots)?,
            near_places: zeros(tree.len() + 1)?,
            waiting: device.buffer(waiting_pairs(tree.len()))?,
            next_count: device.buffer(2)?,
            totals: device.buffer(2)?,
        })
    }

    /// Settles all pairs. Counts them, or with lists to `fill` puts each where it belongs. Far and
    /// near pairs; none as soon as the table has no room for one.
    fn run(
        &mut self,
        fill: Option<(&Buffer<u64>, &Buffer<u32>)>,
    ) -> Result<Option<[u64; 2]>, Error> {
        let stream = self.device.stream();
        let most = at_once(self.tree.len());
        let (far, entries) = match fill {
            Some((far, entries)) => (far.pointer(), entries.pointer()),
            None => (Pointer::null(), Pointer::null()),
        };
        self.totals.zero()?;
        // Box 0 with itself.
        self.waiting.write(&[0])?;
        let mut runs = vec![(0, 1)];
        while let Some((begin, length)) = runs.pop() {
            // The last ones of the run; what they leave goes behind them.
            let n = most.min(length);
            let first = begin + length - n;
            let next = begin + length;
            if n < length {
                runs.push((begin, length - n));
            }
            if next + 8 * n > self.waiting.len() {
                let capacity = (next + 8 * n).max(3 * self.waiting.len() / 2);
                self.waiting = grown(self.device, &self.waiting, next, capacity)?;
            }
            self.next_count.zero()?;
            let some = lists::Settle {
                cells: self.tree.cells.pointer(),
                pairs: self.waiting.pointer_to(first),
                n: count(n),
                acceptance: self.acceptance.pointer(),
                full_stencil: self.full_stencil,
                table: self.table.pointer(),
                size: count(self.table.len()),
                far_places: self.far_places.pointer(),
                far,
                near_places: self.near_places.pointer(),
                entries,
                next: self.waiting.pointer_to(next),
                next_count: self.next_count.pointer(),
                totals: self.totals.pointer(),
            };
            self.settle.launch(stream, Grid::covering(n, THREADS), some)?;
            let mut found = [0; 2];
            self.next_count.read(0, &mut found)?;
            let [children, crowded] = found;
            if crowded > 0 {
                return Ok(None);
            }
            if children > 0 {
                runs.push((next, children as usize));
            }
        }
        let mut totals = [0; 2];
        self.totals.read(0, &mut totals)?;
        Ok(Some(totals))
    }

    /// The distinct batches in their order with where their pairs begin; from here on places are
    /// where the first pair of each goes.
    fn batches(&mut self) -> Result<(Vec<Batch>, Vec<u32>), Error> {
        let (keys, mut places) = (self.table.to_vec()?, self.far_places.to_vec()?);
        let mut found: Vec<(u64, usize)> =
            keys.into_iter().zip(0..).filter(|&(key, _)| key != 0).collect();
        found.sort_unstable();
        let mut begins = vec![0];
        let mut end = 0;
        for &(_, slot) in &found {
            (places[slot], end) = (end, end + places[slot]);
            begins.push(end);
        }
        self.far_places.write(&places)?;
        let cells = self.tree.len();
        Scan::new(self.device)?.run(self.device, &self.near_places, cells + 1)?;
        Ok((found.into_iter().map(|(key, _)| Batch::unpack(key)).collect(), begins))
    }
}

/// Room for pairs that wait, at first.
pub(super) fn waiting_pairs(boxes: usize) -> usize {
    1 + 10 * at_once(boxes)
}

/// Pairs settled per pass in a tree of `boxes` boxes.
fn at_once(boxes: usize) -> usize {
    (AT_ONCE * boxes).clamp(LEAST_AT_ONCE, MOST_AT_ONCE)
}
