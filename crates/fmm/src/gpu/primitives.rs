//! Prefix sums and radix sort on the device.

use std::ops::Range;

use cuda::{Buffer, Device, Error, Grid, Plain};

use super::kernels::{Kernel, count, scan, sort};

/// Numbers that one block of prefix sums takes.
const SCAN_TILE: usize = scan::THREADS as usize * scan::ITEMS;

/// Threads of a block of the sort, and items that it takes.
const SORT_THREADS: u32 = 32 * sort::WARPS;
const SORT_TILE: usize = SORT_THREADS as usize * sort::ITEMS;

/// Values of a digit: a thread counts each.
const DIGITS: usize = 1 << sort::DIGIT_BITS;
const _: () = assert!(DIGITS == SORT_THREADS as usize);

/// Prefix sums.
#[derive(Clone, Debug)]
pub struct Scan {
    blocks: Kernel<scan::Blocks>,
    add: Kernel<scan::Add>,
}

impl Scan {
    /// Compiles the kernels.
    pub fn new(device: &Device) -> Result<Self, Error> {
        Ok(Self { blocks: Kernel::new(device)?, add: Kernel::new(device)? })
    }

    /// Replaces the first `n` values by their exclusive prefix sums.
    pub fn run(&self, device: &Device, values: &Buffer<u32>, n: usize) -> Result<(), Error> {
        let tiles = n.div_ceil(SCAN_TILE);
        let sums = device.buffer::<u32>(tiles)?;
        let grid = Grid::new(tiles, scan::THREADS);
        let (values, n) = (values.pointer(), count(n));
        let blocks = scan::Blocks { values, sums: sums.pointer(), n };
        self.blocks.launch(device.stream(), grid, blocks)?;
        if tiles > 1 {
            self.run(device, &sums, tiles)?;
            let add = scan::Add { values, sums: sums.pointer(), n };
            self.add.launch(device.stream(), grid, add)?;
        }
        Ok(())
    }
}

/// Stable sort of keys with values.
#[derive(Clone, Debug)]
pub struct Sort<K, V> {
    count: Kernel<sort::Count>,
    scatter: Kernel<sort::Scatter>,
    scan: Scan,
    of: std::marker::PhantomData<(K, V)>,
}

impl Sort<u64, u32> {
    /// 64-bit keys with 32-bit values.
    pub fn of_points(device: &Device) -> Result<Self, Error> {
        Self::new(device, [("KEY", "unsigned long long"), ("VALUE", "unsigned")])
    }
}

impl Sort<u32, u64> {
    /// 32-bit keys with 64-bit values.
    pub(super) fn of_pairs(device: &Device) -> Result<Self, Error> {
        Self::new(device, [("KEY", "unsigned"), ("VALUE", "unsigned long long")])
    }
}

impl<K: Plain, V: Plain> Sort<K, V> {
    fn new(device: &Device, types: [(&str, &str); 2]) -> Result<Self, Error> {
        Ok(Self {
            count: Kernel::with(device, &types)?,
            scatter: Kernel::with(device, &types)?,
            scan: Scan::new(device)?,
            of: std::marker::PhantomData,
        })
    }

    /// Sorts the first `n` items by some bits of their keys.
    pub fn run(
        &self,
        device: &Device,
        keys: &mut Buffer<K>,
        values: &mut Buffer<V>,
        n: usize,
        bits: Range<usize>,
    ) -> Result<(), Error> {
        if n < 2 {
            return Ok(());
        }
        let tiles = n.div_ceil(SORT_TILE);
        let (mut keys_out, mut values_out) = (device.buffer::<K>(n)?, device.buffer::<V>(n)?);
        let counts = device.buffer::<u32>(DIGITS * tiles)?;
        let grid = Grid::new(tiles, SORT_THREADS);
        for shift in bits.step_by(sort::DIGIT_BITS) {
            let of_digits = sort::Count {
                keys: keys.pointer().cast(size_of::<K>()),
                counts: counts.pointer(),
                n: count(n),
                shift: count(shift),
                tiles: count(tiles),
            };
            self.count.launch(device.stream(), grid, of_digits)?;
            self.scan.run(device, &counts, DIGITS * tiles)?;
            let items = sort::Scatter {
                keys: keys.pointer().cast(size_of::<K>()),
                values: values.pointer().cast(size_of::<V>()),
                keys_out: keys_out.pointer().cast(size_of::<K>()),
                values_out: values_out.pointer().cast(size_of::<V>()),
                offsets: counts.pointer(),
                n: count(n),
                shift: count(shift),
                tiles: count(tiles),
            };
            self.scatter.launch(device.stream(), grid, items)?;
            std::mem::swap(keys, &mut keys_out);
            std::mem::swap(values, &mut values_out);
        }
        Ok(())
    }
}
