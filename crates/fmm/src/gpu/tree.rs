//! Root cube, Morton order and octree, made on the device. CPU twin: module `tree`, whose boxes
//! these are, one for one.

use std::ops::Range;

use cuda::{Buffer, Device, Error, Grid, Plain};
use parallel::prelude::*;

use super::coordinates::Coordinates;
use super::kernels::{Kernel, count, morton, tree};
use super::layouts::Cell;
use super::primitives::{Scan, Sort};
use crate::tree::morton::MAX_DEPTH;
use crate::tree::{self as cpu, Root};

/// Points in Morton order.
#[derive(Debug)]
pub struct MortonOrder {
    /// Morton keys, ascending.
    pub keys: Buffer<u64>,
    /// Caller's index of each point.
    pub index: Buffer<u32>,
}

/// Blocks that go through all points: enough to fill a GPU.
const BLOCKS: usize = 528;

/// Smallest cube about all of `sets` of points.
pub fn root(device: &Device, sets: &[&Coordinates<'_>]) -> Result<Root, Error> {
    // A pass over the caller's memory takes less time than to bring all of it here.
    if sets.iter().any(|points| !points.are_resident()) {
        let sets: Vec<&[[f64; 3]]> = sets.iter().map(|points| points.on_host()).collect();
        return Ok(Root::around(&sets));
    }
    let bounds = Kernel::new(device)?;
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    let out = device.buffer::<f64>(6 * BLOCKS)?;
    for points in sets.iter().filter(|points| points.len() > 0) {
        points.visit(|chunk| {
            let (points, n) = (chunk.points.pointer(), count(chunk.count));
            let of_blocks = morton::Bounds { points, n, out: out.pointer() };
            bounds.launch(device.stream(), Grid::new(BLOCKS, morton::THREADS), of_blocks)?;
            for part in out.to_vec()?.chunks_exact(6) {
                low = std::array::from_fn(|i| low[i].min(part[i]));
                high = std::array::from_fn(|i| high[i].max(part[3 + i]));
            }
            Ok(())
        })?;
    }
    Ok(Root::of_bounds([low, high]))
}

/// Levels that a sketch tells of, in whole passes of the sort.
const SKETCHED: usize = 8;

impl MortonOrder {
    /// Sorts the points.
    pub fn new(device: &Device, root: &Root, points: &Coordinates<'_>) -> Result<Self, Error> {
        Self::by_levels(device, root, points, MAX_DEPTH)
    }

    /// Points in the order of the boxes of some levels from the root on.
    fn by_levels(
        device: &Device,
        root: &Root,
        points: &Coordinates<'_>,
        levels: usize,
    ) -> Result<Self, Error> {
        let n = points.len();
        let (mut keys, mut index) = (device.buffer(n)?, device.buffer(n)?);
        let [x, y, z] = root.corner;
        let make = Kernel::new(device)?;
        points.visit(|chunk| {
            let [first, n] = chunk.range();
            let of_some = morton::Keys {
                points: chunk.points.pointer(),
                first,
                n,
                x,
                y,
                z,
                // As module `morton` scales.
                scale: (1u64 << MAX_DEPTH) as f64 / root.side,
                keys: keys.pointer(),
                index: index.pointer(),
            };
            let grid = Grid::covering(chunk.count, morton::THREADS);
            make.launch(device.stream(), grid, of_some)
        })?;
        let bits = 3 * (MAX_DEPTH - levels)..3 * MAX_DEPTH;
        Sort::of_points(device)?.run(device, &mut keys, &mut index, n, bits)?;
        Ok(Self { keys, index })
    }

    /// Number of occupied boxes of each level.
    pub fn occupied(&self, device: &Device) -> Result<Vec<usize>, Error> {
        let out = device.buffer::<u32>(MAX_DEPTH + 1)?;
        out.zero()?;
        let n = self.keys.len();
        let partings =
            morton::Partings { keys: self.keys.pointer(), n: count(n), out: out.pointer() };
        let blocks = n.div_ceil(morton::THREADS as usize).min(BLOCKS);
        let grid = Grid::new(blocks, morton::THREADS);
        Kernel::new(device)?.launch(device.stream(), grid, partings)?;
        let mut boxes = 1;
        Ok(out
            .to_vec()?
            .iter()
            .map(|&parted| {
                boxes += parted as usize;
                boxes
            })
            .collect())
    }
}

/// Number of occupied boxes of each level, at least down to where they hold `occupancy` points on
/// average.
pub(super) fn occupied(
    device: &Device,
    root: &Root,
    points: &Coordinates<'_>,
    occupancy: f64,
) -> Result<Vec<usize>, Error> {
    let mut boxes = MortonOrder::by_levels(device, root, points, SKETCHED)?.occupied(device)?;
    boxes.truncate(SKETCHED + 1);
    let n = points.len() as f64;
    if boxes.last().is_some_and(|&boxes| n <= occupancy * boxes as f64) {
        return Ok(boxes);
    }
    MortonOrder::new(device, root, points)?.occupied(device)
}

/// The octree.
#[derive(Debug)]
pub struct Tree {
    /// Boxes level by level, in Morton order within a level; box 0 is the root.
    pub cells: Buffer<Cell>,
    /// Their centres in the caller's coordinates, shape (cells, 3).
    pub(super) centres: Buffer<f64>,
    /// First box of each level, and the number of all boxes.
    pub levels: Vec<usize>,
}

impl Tree {
    /// Splits boxes until none holds more sources or targets than a leaf may, in that order. With
    /// `targets` none, they are the sources.
    pub fn new(
        device: &Device,
        root: &Root,
        sources: &MortonOrder,
        targets: Option<&MortonOrder>,
        leaf_sizes: [usize; 2],
    ) -> Result<Self, Error> {
        let (count_children, split) = (Kernel::new(device)?, Kernel::new(device)?);
        let scan = Scan::new(device)?;
        let (n, target_order) = (sources.keys.len(), targets.unwrap_or(sources));
        let m = target_order.keys.len();
        let [source_leaf, target_leaf] = leaf_sizes.map(count);
        let mut capacity = 1024 + 4 * n / leaf_sizes[0].max(1) + 4 * m / leaf_sizes[1].max(1);
        let mut cells = device.buffer::<Cell>(capacity)?;
        let mut centres = device.buffer::<f64>(3 * capacity)?;
        let [x, y, z] = root.corner;
        let cube = tree::Cube { x, y, z, side: root.side };
        let place = tree::Root {
            cells: cells.pointer(),
            centres: centres.pointer(),
            sources: count(n),
            targets: count(m),
            cube,
        };
        Kernel::new(device)?.launch(device.stream(), Grid::new(1, 1), place)?;
        let (source_keys, target_keys) = (sources.keys.pointer(), target_order.keys.pointer());
        let mut levels = vec![0, 1];
        for level in 0..MAX_DEPTH {
            let (first, next) = (levels[level], levels[level + 1]);
            let here = next - first;
            let places = device.buffer::<u32>(here + 1)?;
            let of_boxes = tree::Count {
                cells: cells.pointer(),
                first: count(first),
                count: count(here),
                source_keys,
                target_keys,
                source_leaf,
                target_leaf,
                counts: places.pointer(),
            };
            let grid = Grid::covering(here + 1, tree::THREADS);
            count_children.launch(device.stream(), grid, of_boxes)?;
            scan.run(device, &places, here + 1)?;
            let mut total = [0];
            places.read(here, &mut total)?;
            let total = total[0] as usize;
            if next + total > capacity {
                capacity = 2 * (next + total);
                cells = grown(device, &cells, next, capacity)?;
                centres = grown(device, &centres, 3 * next, 3 * capacity)?;
            }
            let children = tree::Split {
                cells: cells.pointer(),
                centres: centres.pointer(),
                first: count(first),
                count: count(here),
                next: count(next),
                source_keys,
                target_keys,
                places: places.pointer(),
                cube,
            };
            split.launch(device.stream(), Grid::covering(here, tree::THREADS), children)?;
            if total == 0 {
                break;
            }
            levels.push(next + total);
        }
        // What is not needed goes back.
        let all = levels[levels.len() - 1];
        cells = grown(device, &cells, all, all)?;
        centres = grown(device, &centres, 3 * all, 3 * all)?;
        Ok(Self { cells, centres, levels })
    }

    /// An octree that the CPU made, in `root`; also its boxes.
    pub(super) fn of_host(
        device: &Device,
        root: &Root,
        tree: &cpu::Tree,
    ) -> Result<(Self, Vec<Cell>), Error> {
        let range = |range: &Range<u32>| [range.start, range.end];
        let cell = |cell: &cpu::Cell| Cell {
            place: cell.place,
            level: u32::from(cell.level),
            first_child: cell.first_child,
            child_count: u32::from(cell.child_count),
            parent: cell.parent,
            sources: range(&cell.sources),
            targets: range(&cell.targets),
            unused: 0,
        };
        let cells: Vec<Cell> = tree.cells.par_iter().map(cell).collect();
        let centre = |cell: &cpu::Cell| root.centre(cell);
        let centres: Vec<[f64; 3]> = tree.cells.par_iter().map(centre).collect();
        let ends = tree.levels.iter().map(|level| level.end);
        let on_device = Self {
            cells: device.upload(&cells)?,
            centres: device.upload(centres.as_flattened())?,
            levels: std::iter::once(0).chain(ends).collect(),
        };
        Ok((on_device, cells))
    }

    /// Number of boxes.
    pub(super) fn len(&self) -> usize {
        self.levels[self.levels.len() - 1]
    }

    /// Number of levels.
    pub fn depth(&self) -> usize {
        self.levels.len() - 2
    }
}

/// A longer buffer with the same first `used` elements.
pub(super) fn grown<T: Plain>(
    device: &Device,
    old: &Buffer<T>,
    used: usize,
    capacity: usize,
) -> Result<Buffer<T>, Error> {
    let new = device.buffer(capacity)?;
    new.copy_from(old, used)?;
    Ok(new)
}
