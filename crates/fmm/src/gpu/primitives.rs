//! Prefix sums and radix sort on the device.

use std::ops::Range;

use ::gpu::{Buffer, Device, Error, Grid, Plain};

use super::kernels::{self, Kernel, count, kernel, kernel_of_types};

/// Numbers that one block of `scan_blocks` sums.
const SCAN_TILE: usize = 2048;

/// Items that one block of `sort_scatter` takes.
const SORT_TILE: usize = 4096;

/// Prefix sums.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    blocks: Kernel,
    add: Kernel,
}

impl Scan {
    pub(super) fn new(device: &Device) -> Result<Self, Error> {
        Ok(Self {
            blocks: kernel(device, &kernels::SCAN, &[], "scan_blocks")?,
            add: kernel(device, &kernels::SCAN, &[], "scan_add")?,
        })
    }

    /// Replaces the first `n` values by their exclusive prefix sums.
    pub(super) fn run(&self, device: &Device, values: &Buffer<u32>, n: usize) -> Result<(), Error> {
        let tiles = n.div_ceil(SCAN_TILE);
        let sums = device.buffer::<u32>(tiles)?;
        let grid = Grid::new(tiles, 256);
        self.blocks.launch(device.stream(), grid, &[values.arg(), sums.arg(), count(n)])?;
        if tiles > 1 {
            self.run(device, &sums, tiles)?;
            self.add.launch(device.stream(), grid, &[values.arg(), sums.arg(), count(n)])?;
        }
        Ok(())
    }
}

/// Stable sort of keys with values.
#[derive(Clone, Debug)]
pub(super) struct Sort<K, V> {
    count: Kernel,
    scatter: Kernel,
    scan: Scan,
    of: std::marker::PhantomData<(K, V)>,
}

impl Sort<u64, u32> {
    /// 64-bit keys with 32-bit values.
    pub(super) fn of_points(device: &Device) -> Result<Self, Error> {
        Self::new(device, &["KEY=unsigned long long", "VALUE=unsigned"])
    }
}

impl Sort<u32, u64> {
    /// 32-bit keys with 64-bit values.
    pub(super) fn of_pairs(device: &Device) -> Result<Self, Error> {
        Self::new(device, &["KEY=unsigned", "VALUE=unsigned long long"])
    }
}

impl<K: Plain, V: Plain> Sort<K, V> {
    fn new(device: &Device, types: &[&str]) -> Result<Self, Error> {
        Ok(Self {
            count: kernel_of_types(device, &kernels::SORT, types, "sort_count")?,
            scatter: kernel_of_types(device, &kernels::SORT, types, "sort_scatter")?,
            scan: Scan::new(device)?,
            of: std::marker::PhantomData,
        })
    }

    /// Sorts the first `n` items by some bits of their keys.
    pub(super) fn run(
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
        let counts = device.buffer::<u32>(256 * tiles)?;
        let grid = Grid::new(tiles, 256);
        for shift in bits.step_by(8) {
            let numbers = [count(n), count(shift), count(tiles)];
            self.count.launch(
                device.stream(),
                grid,
                &[&[keys.arg(), counts.arg()][..], &numbers].concat(),
            )?;
            self.scan.run(device, &counts, 256 * tiles)?;
            let buffers =
                [keys.arg(), values.arg(), keys_out.arg(), values_out.arg(), counts.arg()];
            self.scatter.launch(device.stream(), grid, &[&buffers[..], &numbers].concat())?;
            std::mem::swap(keys, &mut keys_out);
            std::mem::swap(values, &mut values_out);
        }
        Ok(())
    }
}
