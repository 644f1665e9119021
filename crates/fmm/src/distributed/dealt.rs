//! Points distributed to ranks along the space-filling curve, and the work of each rank.

use std::ops::Range;

use comm::{Communicator, Operation};
use parallel::prelude::*;

use super::agreement::agreed;
use super::code::{code, keys_of};
use super::essential::Essential;
use super::route::Route;
use super::scout::Scout;
use super::steps::Steps;
use super::top::Top;
use super::tuning::{Costs, Tuning};
use super::work::{Counted, StageWork};
use crate::Error;
use crate::expansions::screened::Screening;
use crate::expansions::truncation_numbers::TruncationNumbers;
use crate::geometry::Geometry;
use crate::model::points::check_count;
use crate::model::{Options, Points};
use crate::tree::lists::{BoxKey, Lists, Rows, Rule};
use crate::tree::morton::{self, KeyRun, Sample};
use crate::tree::{Crowded, MortonOrder, Root, Tree};
use crate::truncation::{PointSets, choose_on_ranks};
use crate::tuning::enlargement;
use simd::Level;

/// Ratio of the largest share of the work to the mean from which points are redistributed.
const IMBALANCE: f64 = 1.1;

/// Redistributions of points, at most.
const TRIES: usize = 2;

/// The root cube about the points of all ranks, and the most points a leaf may hold.
pub(super) fn root_and_leaf_size(
    group: &dyn Communicator,
    points: Points<'_>,
    options: &Options,
    tuning: &Tuning,
) -> Result<(Root, usize), Error> {
    let sources = points.sources;
    let [low, high] = Root::bounds(&points.sets());
    let mut bounds = [low.map(|x| -x), high].concat();
    group.all_reduce(&mut bounds, Operation::Max)?;
    let bound = |i: usize| [bounds[i], bounds[i + 1], bounds[i + 2]];
    let bounds = [bound(0).map(|x| -x), bound(3)];
    options.kernel.check_extent(bounds)?;
    let root = Root::of_bounds(bounds);
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

/// How points come to their ranks, and sums back.
#[derive(Debug)]
pub(super) struct Routes {
    pub sources: Route,
    /// None: the targets are the sources.
    pub targets: Option<Route>,
}

impl Routes {
    /// The way of targets.
    pub(super) fn back(&self) -> &Route {
        self.targets.as_ref().unwrap_or(&self.sources)
    }
}

/// Distributed points, and each rank's work on its own ones.
pub(super) struct Dealt {
    pub own: OwnTargets,
    /// The sources that are this rank's: the first ones.
    pub own_sources: usize,
    pub essential: Essential,
    /// Which boxes hold sources of this rank.
    pub own_boxes: Vec<bool>,
    pub lists: Lists,
    pub numbers: TruncationNumbers,
}

/// What all ranks go by.
pub(super) struct Common<'a> {
    pub root: Root,
    pub leaf_size: usize,
    pub crowded: Crowded,
    pub options: &'a Options,
    pub tuning: Tuning,
    pub simd: Level,
}

impl Dealt {
    /// Deals points out as `top` says. Collective.
    fn new(
        group: &dyn Communicator,
        callers: &Callers<'_>,
        top: &Top,
        common: &Common<'_>,
        steps: &mut Steps,
    ) -> Result<(Self, Routes), Error> {
        let &Common { ref root, leaf_size, crowded, options, ref tuning, simd } = common;
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
                    || crowded.divides(&cell.targets, target_keys, leaf_size)
                    || crowded.divides(&cell.sources, &source_order.keys, leaf_size)
            })
        });
        let rule = Rule::new(tuning.stencil, tuning.direct);
        let scout = steps.of("scout", || Scout::new(group, top, &tree, rule))?;
        let essential = steps.of("essential", || {
            Essential::new(group, &tree, &source_order, source_points, scout)
        })?;
        let mut lists = steps.of("lists", || {
            let cells = essential.tree.cells.par_iter().zip(&essential.source_counts);
            let boxes = cells.map(|(cell, &sources)| BoxKey::with_sources(cell, sources));
            let boxes: Vec<BoxKey> = boxes.collect();
            Lists::of_boxes(&essential.tree, &boxes, rule, tuning.block_size)
        });
        let mut own =
            OwnTargets { order: other_order.unwrap_or(source_order), points: target_points };
        own.order.keys = Vec::new();
        let own_sources = sources.received();
        let numbers = steps.of("truncation", || {
            let points = own.points.as_deref().unwrap_or(&essential.points[..own_sources]);
            let sets = PointSets {
                root,
                screening: Screening::new(options.kernel, root.side),
                tree: &essential.tree,
                sources: (&essential.order, &essential.points),
                targets: (&own.order, points),
            };
            choose_on_ranks(group, &sets, &essential.source_counts, &mut lists, options, simd)
        })?;
        let own_boxes = essential.own(own_sources);
        let dealt = Self { own, own_sources, essential, own_boxes, lists, numbers };
        Ok((dealt, Routes { sources, targets }))
    }

    /// The targets of this rank.
    pub(super) fn targets(&self) -> &[[f64; 3]] {
        self.own.points.as_deref().unwrap_or(&self.essential.points[..self.own_sources])
    }

    /// For engines on cores; returns the sources, too, and the targets if they are others.
    pub(super) fn into_geometry(self, common: &Common<'_>) -> (Geometry, DealtPoints) {
        let Self { own, own_sources, essential, own_boxes, lists, numbers } = self;
        let Common { root, options, .. } = common;
        let Essential { tree, order, points, .. } = essential;
        let geometry = Geometry {
            root: *root,
            screening: Screening::new(options.kernel, root.side),
            tree,
            lists,
            far: None,
            numbers,
            source_order: order,
            target_order: Some(MortonOrder { keys: Vec::new(), index: own.order.index }),
            own: Some(own_boxes),
            itself: own.points.is_none(),
        };
        (geometry, DealtPoints { sources: points, own_sources, targets: own.points })
    }

    /// The work for the points of each grain, by the cost model, and how it is shared out.
    /// Collective.
    fn work(
        &self,
        group: &dyn Communicator,
        top: &Top,
        costs: &Costs,
    ) -> Result<(Vec<f64>, Shares), comm::Error> {
        let Self { essential, lists, numbers, own_boxes, .. } = self;
        let counted = Counted { essential, lists, numbers, own: own_boxes, costs };
        let (grains, mut own) = counted.of_grains(top);
        grains.iter().for_each(|work| own.add(work));
        let mut work: Vec<f64> = grains.iter().map(StageWork::total).collect();
        // What is for boxes above grains goes with the others.
        let more = own.total() / work.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        work.iter_mut().for_each(|work| *work *= more);
        group.all_reduce(&mut work, Operation::Sum)?;
        let mut of_ranks = vec![0.0; group.size()];
        for (&rank, work) in top.owners.iter().zip(&work) {
            of_ranks[rank] += work;
        }
        let mean = of_ranks.iter().sum::<f64>() / group.size() as f64;
        let most = of_ranks.iter().fold(0.0f64, |most, &work| most.max(work));
        let imbalance = if mean > 0.0 { most / mean } else { 1.0 };
        Ok((work, Shares { imbalance, own }))
    }
}

/// The points that a rank computes with.
pub(super) struct DealtPoints {
    sources: Vec<[f64; 3]>,
    own_sources: usize,
    targets: Option<Vec<[f64; 3]>>,
}

impl DealtPoints {
    pub(super) fn points(&self) -> Points<'_> {
        let targets = self.targets.as_deref().unwrap_or(&self.sources[..self.own_sources]);
        Points { sources: &self.sources, targets: Some(targets) }
    }
}

/// How the work of a sum is shared out, by the cost model.
pub(super) struct Shares {
    /// Largest share of any rank over the mean.
    pub imbalance: f64,
    /// The work of this rank.
    pub own: StageWork,
}

/// Distributes the points, repeatedly while shares of the work differ. Collective.
pub(super) fn deal(
    group: &dyn Communicator,
    callers: &Callers<'_>,
    top: &mut Top,
    common: &Common<'_>,
    steps: &mut Steps,
) -> Result<(Dealt, Routes, Shares), Error> {
    let mut tries = 0;
    loop {
        let (dealt, routes) = Dealt::new(group, callers, top, common, steps)?;
        let costs = &common.tuning.costs;
        let (grains, shares) = steps.of("work", || dealt.work(group, top, costs))?;
        tries += 1;
        if shares.imbalance <= IMBALANCE || tries > TRIES || top.grains.len() <= group.size() {
            return Ok((dealt, routes, shares));
        }
        let before = top.owners.clone();
        top.deal(&grains, group.size());
        if top.owners == before {
            return Ok((dealt, routes, shares));
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
            let run = KeyRun { keys: &mut order.keys[own.clone()], index: &mut order.index[own] };
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
pub(super) fn split_near(dealt: &mut Dealt) {
    let Dealt { essential, own_sources, lists, .. } = dealt;
    let tree = &essential.tree;
    let is_own = |leaf: u32| {
        let first = tree.cells[leaf as usize].sources.start as usize;
        (essential.order.index[first] as usize) < *own_sources
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
