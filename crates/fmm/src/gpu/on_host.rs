//! Boxes, lists and truncation numbers of the CPU over the points' order on the device: for hybrid
//! sums, and for the truncation numbers of screened ones, whose errors only the CPU measures.

use std::collections::BTreeMap;

use super::lists::Lists;
use super::truncation::Chosen;
use super::{points, tree};
use crate::geometry::{Geometry, OrderedPoints};
use crate::model::Points;
use crate::tree::{Crowded, MortonOrder};
use crate::truncation::{Class, class_of};
use crate::{Backend, Error, Options, Precision};
use simd::Level;

/// The CPU's geometry, with the instruction set that it is meant for.
pub(super) fn geometry(
    points: Points<'_>,
    on_device: &points::Points<'_>,
    leaf_size: usize,
    options: &Options,
    precision: Precision,
) -> Result<(Level, Geometry), Error> {
    let download = |order: &tree::MortonOrder| -> Result<MortonOrder, cuda::Error> {
        Ok(MortonOrder { keys: order.keys.to_vec()?, index: order.index.to_vec()? })
    };
    let ordered = OrderedPoints {
        root: on_device.root,
        source_order: download(&on_device.sources.1)?,
        target_order: on_device.targets.as_ref().map(|t| download(&t.1)).transpose()?,
        leaf_size,
        // The GPU sums the pairs that its own lists leave.
        direct: 0,
        // As on the device.
        crowded: Crowded::Whole,
    };
    let (simd, mut info) = (simd::check()?, crate::Info::default());
    Ok((simd, Geometry::new(points, ordered, options, precision, simd, &mut info)))
}

/// Truncation numbers of the device's `lists`, made by the stencil of `options`, as the CPU chooses
/// them.
pub(super) fn choose(
    points: Points<'_>,
    on_device: &points::Points<'_>,
    leaf_size: usize,
    lists: &Lists,
    options: &Options,
    precision: Precision,
) -> Result<Chosen, Error> {
    // As in a hybrid sum boxes with few points are translated, not summed directly, so that the few
    // translations that are exact alone must not decide what all boxes store.
    let options = Options { backend: Backend::Hybrid, ..options.clone() };
    let (_, geometry) = geometry(points, on_device, leaf_size, &options, precision)?;
    let batches = batches(&geometry.lists, geometry.numbers.max(), lists);
    Ok(Chosen::new(geometry.tree.levels.len(), lists, batches))
}

/// The truncation numbers of the device's batches: those of the CPU's over the same boxes; `most`:
/// the largest.
pub(super) fn batches(
    on_host: &crate::tree::lists::Lists,
    most: usize,
    lists: &Lists,
) -> Vec<usize> {
    let mut numbers = BTreeMap::<Class, usize>::new();
    for block in &on_host.target_blocks {
        for batch in &block.batches {
            let class = class_of(block.level, &on_host.vectors[batch.vector as usize]);
            numbers.insert(class, usize::from(batch.order));
        }
    }
    // The lists are the same, so that every class is there.
    let of = |batch: &super::lists::Batch| numbers.get(&batch.class()).copied().unwrap_or(most);
    lists.batches.iter().map(of).collect()
}
