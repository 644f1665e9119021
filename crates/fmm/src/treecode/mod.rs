//! The treecode: multipole expansions are evaluated at the targets themselves, near boxes are
//! summed directly, and there are no local expansions (docs/math.md, "Treecode"). For targets that
//! are few, or far fewer than the sources.
//!
//! It is an FMM whose lists have no translations ([`Geometry`]'s), with [`FarRows`] of boxes and
//! targets in their place. Boxes that are far from all targets are not split.

mod m2p;
mod traversal;

pub(crate) use m2p::{M2pJob, Tables};

use crate::expansions::screened::Screening;
use crate::expansions::truncation_numbers::TruncationNumbers;
use crate::geometry::far_rows::FarRows;
use crate::geometry::{Geometry, OrderedPoints};
use crate::model::{Info, Options, Points, Precision};
use crate::planning::root_and_leaf_size;
use crate::tree::lists::Lists;
use crate::tree::morton::{self, KeyRun, MAX_DEPTH};
use crate::tree::{Cell, Crowded, MortonOrder, Tree};
use crate::truncation::{self, PointSets};
use crate::tuning;
use traversal::Traversal;

/// Targets of a leaf: with more of them, boxes of targets are far from fewer boxes of sources.
pub(crate) const TARGETS: usize = 32;

/// Sources of a box that is split even if it is far from all targets: its moments are the work of
/// one thread.
const WHOLE: usize = 4096;

/// Chooses leaf size and root cube, and sorts the points.
pub fn order(points: Points<'_>, options: &Options, precision: Precision) -> OrderedPoints {
    let Points { sources, targets } = points;
    let occupancy = tuning::treecode_occupancy(options, precision);
    let (root, leaf_size) = root_and_leaf_size(points, options, occupancy);
    let crowded = Crowded::ToTheLast;
    let Some(targets) = targets else {
        // Splitting boxes of targets may split leaves of sources.
        let source_order = MortonOrder::of_leaves(&root, sources, leaf_size.min(TARGETS));
        return OrderedPoints {
            root,
            source_order,
            target_order: None,
            leaf_size,
            direct: 0,
            crowded,
        };
    };
    let target_order = MortonOrder::new(&root, targets);
    let source_order = if are_few(targets.len(), sources.len()) {
        // Boxes that will not be split need no order.
        let MortonOrder { mut keys, mut index } = MortonOrder::of_leaves(&root, sources, WHOLE);
        let needed = |level: usize, place: u64| has_near_target(&target_order.keys, level, place);
        let run = KeyRun { keys: &mut keys, index: &mut index };
        morton::refine(&root, sources, run, WHOLE, &needed);
        MortonOrder { keys, index }
    } else {
        MortonOrder::new(&root, sources)
    };
    let target_order = Some(target_order);
    OrderedPoints { root, source_order, target_order, leaf_size, direct: 0, crowded }
}

/// Tree, near and far boxes, and truncation numbers, with their counts in `info`.
pub fn geometry(
    points: Points<'_>,
    ordered: OrderedPoints,
    options: &Options,
    precision: Precision,
    info: &mut Info,
) -> Geometry {
    let OrderedPoints { root, ref source_order, ref target_order, leaf_size, crowded, .. } =
        ordered;
    let target_keys = &target_order.as_ref().unwrap_or(source_order).keys;
    let few = are_few(target_keys.len(), source_order.keys.len());
    let needed = |cell: &Cell| {
        let place = || morton::of_place(cell.place);
        let near = || has_near_target(target_keys, usize::from(cell.level), place());
        !few || cell.sources.len() > WHOLE || near()
    };
    let leaf_sizes = [leaf_size, leaf_size.min(TARGETS)];
    let tree = Tree::where_needed(source_order, target_order.as_ref(), leaf_sizes, crowded, needed);
    let whole = |index: usize| {
        let cell = &tree.cells[index];
        let full = usize::from(cell.level) < MAX_DEPTH && cell.sources.len() > leaf_size;
        cell.is_leaf() && full
    };
    let sources = (source_order, points.sources);
    let targets = target_order.as_ref().zip(points.targets).unwrap_or(sources);
    let direct = tuning::direct_sources(options, precision);
    let screening = Screening::new(options.kernel, root.side);
    let sets = PointSets { root: &root, screening, tree: &tree, sources, targets };
    let (lists, far, numbers) = settle(&sets, &whole, direct, options);
    ordered.into_geometry(screening, tree, lists, Some(far), numbers, info)
}

/// Near and far boxes of a tree, and truncation numbers; `whole` and `direct` as of [`Traversal`].
pub(crate) fn settle(
    points: &PointSets<'_>,
    whole: &(dyn Fn(usize) -> bool + Sync),
    direct: [f64; 2],
    options: &Options,
) -> (Lists, FarRows, TruncationNumbers) {
    let PointSets { root, tree, targets: (order, targets), .. } = *points;
    let (near, near_pairs, mut far) =
        Traversal::new(root, tree, order, targets, whole, direct).run();
    let lists = Lists { near, near_pairs, ..Lists::default() };
    let numbers = truncation::choose_for_treecode(points, &lists, &mut far, options);
    (lists, far, numbers)
}

/// Whether boxes may be far from all targets; where these are as many as boxes, hardly any is.
fn are_few(targets: usize, sources: usize) -> bool {
    8 * targets < sources
}

/// Whether a target is in this box or one next to it: others are far from it, by their own
/// distance. `place`: the key of the box's place in its level.
fn has_near_target(keys: &[u64], level: usize, place: u64) -> bool {
    let last = (1u32 << level) - 1;
    let shift = 3 * (MAX_DEPTH - level);
    let [x, y, z] = morton::place_of(place);
    let around = |i: u32| i.saturating_sub(1)..(i + 1).min(last) + 1;
    let mut places =
        around(z).flat_map(|z| around(y).flat_map(move |y| around(x).map(move |x| [x, y, z])));
    places.any(|place| {
        let first = morton::of_place(place) << shift;
        let slot = keys.partition_point(|&key| key < first);
        keys.get(slot).is_some_and(|key| key >> shift == first >> shift)
    })
}
