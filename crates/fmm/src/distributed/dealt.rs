//! Points dealt out to ranks along the space-filling curve, and the work of each.

use std::ops::Range;

use comm::{Communicator, Operation};
use rayon::prelude::*;

use super::agreement::agreed;
use super::essential::Essential;
use super::route::Route;
use super::scout::Scout;
use super::steps::Steps;
use super::top::{Top, code, keys_of};
use super::tuning::Tuning;
use crate::lists::{BoxKey, Lists, Rows, Rule, TargetBlock};
use crate::morton::{self, Sample};
use crate::plan::check_count;
use crate::tree::{MortonOrder, Root, Tree, divides};
use crate::tuning::enlargement;
use crate::{Error, Options};

/// Ratio of the largest share of the work to the mean from which on points are dealt out anew.
const IMBALANCE: f64 = 1.1;

/// Times that points are dealt out anew, at most.
const TRIES: usize = 2;

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

/// The points that ranks were called with, with their Morton keys.
pub(super) struct Callers<'a> {
    pub sources: (&'a [u64], &'a [[f64; 3]]),
    pub targets: Option<(&'a [u64], &'a [[f64; 3]])>,
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
        steps: &mut Steps,
    ) -> Result<Self, Error> {
        let begins = top.begins(group.size());
        let mut deal = |(keys, points): (&[u64], &[[f64; 3]])| {
            let route = steps.of("route", || Route::new(group, keys, &begins))?;
            let points = steps.of("points", || route.points(group, points))?;
            Ok::<_, comm::Error>((route, points))
        };
        let (sources, source_points) = deal(callers.sources)?;
        let (targets, target_points) = callers.targets.map(deal).transpose()?.unzip();
        agreed(group, check_count("source", source_points.len()))?;
        agreed(group, check_count("target", target_points.as_ref().map_or(0, Vec::len)))?;
        // A leaf of one set may be a box to split for the other.
        let enough = if target_points.is_none() { leaf_size } else { 0 };
        let order = |points: &[[f64; 3]]| order(root, top, points, enough);
        let source_order = steps.of("sort", || order(&source_points));
        let other_order = target_points.as_ref().map(|points| steps.of("sort", || order(points)));
        let target_keys = &other_order.as_ref().unwrap_or(&source_order).keys;
        let tree = steps.of("tree", || {
            Tree::split(&source_order, other_order.as_ref(), |cell| {
                top.is_split(code(cell.level, cell.place))
                    || divides(&cell.targets, target_keys, leaf_size)
                    || divides(&cell.sources, &source_order.keys, leaf_size)
            })
        });
        let rule = Rule::new(tuning.stencil, tuning.direct);
        let scout = steps.of("scout", || Scout::new(group, top, &tree, rule))?;
        let essential = steps.of("essential", || {
            Essential::new(group, &tree, (&source_order, source_points), scout)
        })?;
        let lists = steps.of("lists", || {
            let cells = essential.tree.cells.par_iter().zip(&essential.source_counts);
            let boxes = cells.map(|(cell, &sources)| BoxKey::with_sources(cell, sources));
            let boxes: Vec<BoxKey> = boxes.collect();
            Lists::of_boxes(&essential.tree, &boxes, rule, tuning.block_size)
        });
        let mut own =
            OwnTargets { order: other_order.unwrap_or(source_order), points: target_points };
        own.order.keys = Vec::new();
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
        let of_near = |row: usize| {
            let cell = lists.near.cells[row] as usize;
            let near = lists.near.row(row).iter();
            let sources: usize = near.map(|&s| tree.cells[s as usize].sources.len()).sum();
            (cell, pair * tree.cells[cell].targets.len() as f64 * sources as f64)
        };
        let of_block = |block: &TargetBlock| -> Vec<(usize, f64)> {
            let mut counts = vec![0u32; block.cells.len()];
            block.pairs.iter().for_each(|pair| counts[pair[1] as usize] += 1);
            let works = counts.into_iter().map(|count| translation * f64::from(count));
            block.cells.clone().zip(works).collect()
        };
        let near = (0..lists.near.cells.len()).into_par_iter().map(of_near);
        let of_boxes = near.chain(lists.target_blocks.par_iter().flat_map_iter(of_block));
        let none = || vec![0.0; top.grains.len()];
        let add = |mut work: Vec<f64>, (cell, more): (usize, f64)| {
            let cell = &tree.cells[cell];
            if let Some(grain) = top.grain_of(code(cell.level, cell.place)) {
                work[grain] += more;
            }
            work
        };
        let sum = |mut work: Vec<f64>, more: Vec<f64>| {
            work.iter_mut().zip(&more).for_each(|(work, more)| *work += more);
            work
        };
        let mut work = of_boxes.fold(none, add).reduce(none, sum);
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

/// Deals the points out, and anew while shares of the work differ. Collective.
pub(super) fn deal(
    group: &dyn Communicator,
    callers: &Callers<'_>,
    root: &Root,
    top: &mut Top,
    leaf_size: usize,
    tuning: &Tuning,
    steps: &mut Steps,
) -> Result<(Dealt, f64), Error> {
    let mut tries = 0;
    loop {
        let dealt = Dealt::new(group, callers, root, top, leaf_size, tuning, steps)?;
        let (grains, imbalance) = steps.of("work", || dealt.work(group, top, tuning))?;
        tries += 1;
        if imbalance <= IMBALANCE || tries > TRIES || top.grains.len() <= group.size() {
            return Ok((dealt, imbalance));
        }
        let before = top.owners.clone();
        top.deal(&grains, group.size());
        if top.owners == before {
            return Ok((dealt, imbalance));
        }
    }
}

/// A rank's points in the order of its boxes: those of at most `enough` points are not sorted
/// within unless they are split at the top, where other ranks have more.
fn order(root: &Root, top: &Top, points: &[[f64; 3]], enough: usize) -> MortonOrder {
    let mut order = MortonOrder::of_leaves(root, points, enough);
    let keys = morton::Keys::new(root);
    let mut split = vec![(0, 0..points.len())];
    while let Some((of, own)) = split.pop() {
        let children = top.boxes[of].children.clone();
        if own.is_empty() || children.is_empty() {
            continue;
        }
        if own.len() <= enough {
            let run = (&mut order.keys[own.clone()], &mut order.index[own]);
            morton::sort_wholly(&keys, points, run);
            continue;
        }
        split.extend(children.map(|child| {
            let (keys, own_keys) = (keys_of(top.boxes[child].code), &order.keys[own.clone()]);
            let place = |of: u64| own.start + own_keys.partition_point(|&key| key < of);
            (child, place(keys.start)..place(keys.end))
        }));
    }
    order
}

/// Rows of the near list that one job splits.
const ROWS: usize = 1024;

/// Takes other ranks' leaves out of the near list, into that of the halo.
pub(super) fn split_near(essential: &Essential, own_sources: usize, lists: &mut Lists) {
    let tree = &essential.tree;
    let is_own = |leaf: u32| {
        let first = tree.cells[leaf as usize].sources.start as usize;
        (essential.order.index[first] as usize) < own_sources
    };
    let near = std::mem::take(&mut lists.near);
    let of_rows = |rows: Range<usize>| -> [Rows; 2] {
        let none = || Rows { begins: vec![0], ..Rows::default() };
        let mut parts = [none(), none()];
        for row in rows {
            for &leaf in near.row(row) {
                parts[usize::from(!is_own(leaf))].entries.push(leaf);
            }
            for part in &mut parts {
                part.cells.push(near.cells[row]);
                part.begins.push(part.entries.len() as u32);
            }
        }
        parts
    };
    let count = near.cells.len();
    let jobs = (0..count.div_ceil(ROWS)).into_par_iter();
    let split = jobs.map(|job| of_rows(job * ROWS..((job + 1) * ROWS).min(count)));
    let (own, halo): (Vec<Rows>, Vec<Rows>) = split.map(|[own, halo]| (own, halo)).unzip();
    (lists.near, lists.halo) = (Rows::joined(own), Rows::joined(halo));
    if lists.halo.entries.is_empty() {
        lists.halo = Rows::default();
    }
}
