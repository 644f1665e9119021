//! Points dealt out to ranks along the space-filling curve, and the work of each.

use comm::{Communicator, Operation};

use super::agreement::agreed;
use super::essential::Essential;
use super::route::Route;
use super::scout::Scout;
use super::top::{Top, code};
use super::tuning::Tuning;
use crate::lists::{Lists, Rows, Rule};
use crate::morton::Sample;
use crate::plan::check_points;
use crate::tree::{MortonOrder, Root, Tree, divides};
use crate::tuning::enlargement;
use crate::{Error, Options};

/// The root cube about the points of all ranks, and the most points a leaf may hold.
pub(super) fn root_and_leaf_size(
    group: &dyn Communicator,
    sources: &[[f64; 3]],
    targets: Option<&[[f64; 3]]>,
    options: &Options,
    tuning: &Tuning,
) -> Result<(Root, usize), Error> {
    let all: Vec<&[[f64; 3]]> = std::iter::once(sources).chain(targets).collect();
    let [low, high] = Root::bounds(&all);
    let mut bounds = [low.map(|x| -x), high].concat();
    group.all_reduce(&mut bounds, Operation::Max)?;
    let bound = |i: usize| [bounds[i], bounds[i + 1], bounds[i + 2]];
    let root = Root::of_bounds([bound(0).map(|x| -x), bound(3)]);
    if let Some(leaf_size) = options.leaf_size {
        return Ok((root, leaf_size));
    }
    let mut count = [sources.len() as f64];
    group.all_reduce(&mut count, Operation::Sum)?;
    let share = sources.len() as f64 / f64::max(count[0], 1.0);
    let own = Sample::draw(&root, sources, share);
    let drawn = comm::all_gather(group, &own)?.concat();
    let sample = Sample::of_keys(drawn, count[0] as usize);
    let occupancy = tuning.occupancy;
    Ok((root.enlarged(enlargement(&sample, occupancy)), (2.0 * occupancy) as usize))
}

/// The points that ranks were called with, in Morton order.
pub(super) struct Callers<'a> {
    pub sources: (&'a MortonOrder, &'a [[f64; 3]]),
    pub targets: Option<(&'a MortonOrder, &'a [[f64; 3]])>,
}

/// The targets that a rank computes at.
pub(super) struct OwnTargets {
    pub order: MortonOrder,
    /// None: its sources.
    pub points: Option<Vec<[f64; 3]>>,
}

/// Points dealt out, and what each rank does with its own.
pub(super) struct Dealt {
    pub sources: Route,
    pub targets: Option<Route>,
    pub own: OwnTargets,
    pub essential: Essential,
    pub lists: Lists,
}

impl Dealt {
    /// Deals points out as `top` says. Collective.
    pub(super) fn new(
        group: &dyn Communicator,
        callers: &Callers<'_>,
        root: &Root,
        top: &Top,
        leaf_size: usize,
        tuning: &Tuning,
    ) -> Result<Self, Error> {
        let deal = |(order, points): (&MortonOrder, &[[f64; 3]])| {
            let parts = top.parts(&order.keys, group.size());
            let route = Route::new(group, &order.index, &parts)?;
            let points = route.points(group, points)?;
            Ok::<_, comm::Error>((route, points))
        };
        let (sources, source_points) = deal(callers.sources)?;
        let (targets, target_points) = callers.targets.map(deal).transpose()?.unzip();
        agreed(group, check_points("source", &source_points))?;
        agreed(group, check_points("target", target_points.as_deref().unwrap_or(&[])))?;
        let source_order = MortonOrder::new(root, &source_points);
        let other_order = target_points.as_ref().map(|points| MortonOrder::new(root, points));
        let target_keys = &other_order.as_ref().unwrap_or(&source_order).keys;
        let tree = Tree::split(&source_order, other_order.as_ref(), |cell| {
            top.is_split(code(cell.level, cell.place))
                || divides(&cell.targets, target_keys, leaf_size)
                || divides(&cell.sources, &source_order.keys, leaf_size)
        });
        let Tuning { stencil, block_size, .. } = *tuning;
        let scout = Scout::new(group, top, &tree, Rule::new(stencil, 0))?;
        let essential = Essential::new(group, &tree, (&source_order, source_points), scout)?;
        let lists = Lists::new(&essential.tree, stencil, 0, block_size);
        let own = OwnTargets { order: other_order.unwrap_or(source_order), points: target_points };
        Ok(Self { sources, targets, own, essential, lists })
    }

    /// The work for the targets of each grain, by the cost model, and the largest share of any rank
    /// over the mean. Collective.
    pub(super) fn work(
        &self,
        group: &dyn Communicator,
        top: &Top,
        &Tuning { pair, translation, .. }: &Tuning,
    ) -> Result<(Vec<f64>, f64), comm::Error> {
        let Self { essential, lists, .. } = self;
        let tree = &essential.tree;
        let mut work = vec![0.0; top.grains.len()];
        let mut add = |cell: usize, more: f64| {
            let cell = &tree.cells[cell];
            if let Some(grain) = top.grain_of(code(cell.level, cell.place)) {
                work[grain] += more;
            }
        };
        for (row, &cell) in lists.near.cells.iter().enumerate() {
            let targets = tree.cells[cell as usize].targets.len() as f64;
            let near = lists.near.row(row).iter();
            let sources: usize = near.map(|&s| tree.cells[s as usize].sources.len()).sum();
            add(cell as usize, pair * targets * sources as f64);
        }
        for block in &lists.target_blocks {
            let mut counts = vec![0u32; block.cells.len()];
            block.pairs.iter().for_each(|pair| counts[pair[1] as usize] += 1);
            for (cell, count) in block.cells.clone().zip(counts) {
                add(cell, translation * f64::from(count));
            }
        }
        group.all_reduce(&mut work, Operation::Sum)?;
        let mut of_ranks = vec![0.0; group.size()];
        for (&rank, work) in top.owners.iter().zip(&work) {
            of_ranks[rank] += work;
        }
        let mean = of_ranks.iter().sum::<f64>() / group.size() as f64;
        let most = of_ranks.iter().fold(0.0f64, |most, &work| most.max(work));
        Ok((work, if mean > 0.0 { most / mean } else { 1.0 }))
    }
}

/// Takes other ranks' leaves out of the near list, into that of the halo.
pub(super) fn split_near(essential: &Essential, own_sources: usize, lists: &mut Lists) {
    let tree = &essential.tree;
    let is_own = |leaf: u32| {
        let first = tree.cells[leaf as usize].sources.start as usize;
        (essential.order.index[first] as usize) < own_sources
    };
    let near = std::mem::take(&mut lists.near);
    let empty = || Rows { cells: near.cells.clone(), begins: vec![0], entries: Vec::new() };
    let (mut own, mut halo) = (empty(), empty());
    for row in 0..near.cells.len() {
        for &leaf in near.row(row) {
            let rows = if is_own(leaf) { &mut own } else { &mut halo };
            rows.entries.push(leaf);
        }
        own.begins.push(own.entries.len() as u32);
        halo.begins.push(halo.entries.len() as u32);
    }
    if halo.entries.is_empty() {
        halo = Rows::default();
    }
    (lists.near, lists.halo) = (own, halo);
}
