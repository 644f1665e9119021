//! Leaves of the last level that hold more points than leaves may: clusters much smaller than their
//! distance, which this tree cannot split.
//!
//! Their pairs number as the square of their points. So they are left out of the near list and
//! summed by plans of their own, whose root cubes are about these clusters; such a plan may have
//! crowds in turn. All else of a cluster, seen from afar, is the tree's.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::Error;
use crate::geometry::Geometry;
use crate::model::{Backend, Densities, Info, Mode, Options, Points, Potentials};
use crate::tree::lists::Rows;
use crate::tree::morton::MAX_DEPTH;
use crate::tree::{Cell, MortonOrder, Root, Tree};
use simd::Level;

/// The sum within a crowd: a plan.
pub(crate) trait Sum: Sized {
    /// Plans the sum over `points`.
    fn planned(points: Points<'_>, options: &Options, simd: Level) -> Result<Self, Error>;
    /// What was planned.
    fn info(&self) -> &Info;
    /// Sums `densities` into `sums`.
    fn apply(&mut self, densities: Densities<'_>, sums: Potentials<'_>) -> Result<(), Error>;
}

/// The crowds of a plan.
#[derive(Debug)]
pub(crate) struct Crowds<S>(Vec<Crowd<S>>);

impl<S> Default for Crowds<S> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Leaves of targets with the same crowded leaves of sources.
#[derive(Debug)]
struct Crowd<S> {
    plan: S,
    /// Indices among the points that the crowd was taken from; without targets these are the
    /// sources.
    sources: Vec<u32>,
    targets: Option<Vec<u32>>,
}

/// Whether two leaves of the last level have more pairs than two full leaves. A larger leaf holds
/// no more points than it may, and a plan about both would have a root as large as this one.
fn are_crowded(target: &Cell, source: &Cell, leaf_size: usize) -> bool {
    let is_last = |cell: &Cell| usize::from(cell.level) == MAX_DEPTH;
    let pairs = target.targets.len() * source.sources.len();
    is_last(target) && is_last(source) && pairs > leaf_size * leaf_size
}

impl<S: Sum> Crowds<S> {
    /// Takes crowded pairs of leaves out of the near list; `options`: those of the plan, whose
    /// leaves may hold `leaf_size` points.
    pub(crate) fn take(
        geometry: &mut Geometry,
        points: Points<'_>,
        leaf_size: usize,
        options: &Options,
        simd: Level,
    ) -> Result<Self, Error> {
        let Geometry { tree, lists, .. } = &mut *geometry;
        // Other leaves hold no more than they may.
        if tree.depth() < MAX_DEPTH {
            return Ok(Self::default());
        }
        let (found, pairs) = taken(tree, &mut lists.near, leaf_size);
        lists.near_pairs -= pairs;
        let geometry = &*geometry;
        // A crowd may be small, or its targets few, as the whole is not.
        let options = Options { mode: Mode::Auto, backend: Backend::Cpu, ..options.clone() };
        let mut crowds = Vec::new();
        for (sources, targets) in found {
            let are_sources = geometry.target_order.is_none() && sources == targets;
            let of_sources = |cell: &Cell| cell.sources.clone();
            let of_targets = |cell: &Cell| cell.targets.clone();
            let sources = indices(&geometry.tree, &geometry.source_order, &sources, of_sources);
            let targets = (!are_sources)
                .then(|| indices(&geometry.tree, geometry.target_order(), &targets, of_targets));
            let at = |all: &[[f64; 3]], of: &[u32]| -> Vec<[f64; 3]> {
                of.iter().map(|&i| all[i as usize]).collect()
            };
            let mut own = [at(points.sources, &sources), Vec::new()];
            if let Some(of) = &targets {
                own[1] = at(points.targets.unwrap_or(points.sources), of);
            }
            let bounds = Root::bounds(&[&own[0], &own[1]]);
            // Coincident points contribute nothing, and no root cube would part them.
            if bounds[0] == bounds[1] {
                continue;
            }
            let origin = origin(bounds);
            for x in own.iter_mut().flatten() {
                *x = std::array::from_fn(|i| x[i] - origin[i]);
            }
            let own_targets = targets.is_some().then_some(&own[1][..]);
            let own_points = Points { sources: &own[0], targets: own_targets };
            let plan = S::planned(own_points, &options, simd)?;
            crowds.push(Crowd { plan, sources, targets });
        }
        Ok(Self(crowds))
    }

    /// Adds the counts of their plans to `info`.
    pub(crate) fn describe(&self, info: &mut Info) {
        for Crowd { plan, sources, targets } in &self.0 {
            let own = plan.info();
            info.p2p_pairs += own.p2p_pairs;
            info.m2l_count += own.m2l_count;
            info.m2p_count += own.m2p_count;
            info.truncation_number = info.truncation_number.max(own.truncation_number);
            let indices = sources.len() + targets.as_ref().map_or(0, Vec::len);
            info.memory_bytes += own.memory_bytes + 4 * indices as u64;
        }
    }

    /// Adds the sums of k densities within crowds, given and asked for by the points that these
    /// were taken from.
    pub(crate) fn add(
        &mut self,
        k: usize,
        densities: Densities<'_>,
        sums: &mut Potentials<'_>,
    ) -> Result<(), Error> {
        for Crowd { plan, sources, targets } in &mut self.0 {
            let of = |values: Option<&[f64]>, width| values.map(|v| gather(v, k, width, sources));
            let (charges, dipoles) = (of(densities.charges, 1), of(densities.dipoles, 3));
            let own = Densities { charges: charges.as_deref(), dipoles: dipoles.as_deref() };
            let targets = targets.as_ref().unwrap_or(sources);
            let room = |wanted: bool, width| wanted.then(|| vec![0.0; k * width * targets.len()]);
            let mut potential = room(sums.potential.is_some(), 1);
            let mut gradient = room(sums.gradient.is_some(), 3);
            let into = Potentials {
                potential: potential.as_deref_mut(),
                gradient: gradient.as_deref_mut(),
            };
            plan.apply(own, into)?;
            let outputs = [(&mut sums.potential, potential, 1), (&mut sums.gradient, gradient, 3)];
            for (all, own, width) in outputs {
                if let (Some(all), Some(own)) = (all, own) {
                    add(all, &own, k, width, targets);
                }
            }
        }
        Ok(())
    }
}

/// Takes crowded pairs of leaves out of `near`. Returns the leaves of sources and of targets of
/// each crowd, and how many pairs of points these have.
fn taken(tree: &Tree, near: &mut Rows, leaf_size: usize) -> (BTreeMap<Vec<u32>, Vec<u32>>, u64) {
    let (mut found, mut pairs) = (BTreeMap::<Vec<u32>, Vec<u32>>::new(), 0);
    let (mut begin, mut kept) = (0, 0);
    for row in 0..near.cells.len() {
        let target = &tree.cells[near.cells[row] as usize];
        let end = near.begins[row + 1];
        let mut crowded = Vec::new();
        for entry in begin as usize..end as usize {
            let index = near.entries[entry];
            let source = &tree.cells[index as usize];
            if are_crowded(target, source, leaf_size) {
                pairs += (target.targets.len() * source.sources.len()) as u64;
                crowded.push(index);
            } else {
                near.entries[kept as usize] = index;
                kept += 1;
            }
        }
        (begin, near.begins[row + 1]) = (end, kept);
        if !crowded.is_empty() {
            found.entry(crowded).or_default().push(near.cells[row]);
        }
    }
    near.entries.truncate(kept as usize);
    (found, pairs)
}

/// What is subtracted from coordinates between these bounds, without rounding: far from zero the
/// centres of boxes would be rounded by more than a small part of the boxes.
fn origin([low, high]: [[f64; 3]; 2]) -> [f64; 3] {
    std::array::from_fn(|i| {
        let [near, far] = [low[i].abs().min(high[i].abs()), low[i].abs().max(high[i].abs())];
        // Differences of numbers within a factor of two of each other are exact.
        if low[i] * high[i] > 0.0 && far <= 2.0 * near { low[i] } else { 0.0 }
    })
}

/// The callers' indices of the points of some leaves.
fn indices(
    tree: &Tree,
    order: &MortonOrder,
    cells: &[u32],
    range: impl Fn(&Cell) -> Range<u32>,
) -> Vec<u32> {
    let of = |&cell: &u32| {
        let range = range(&tree.cells[cell as usize]);
        &order.index[range.start as usize..range.end as usize]
    };
    cells.iter().flat_map(of).copied().collect()
}

/// What some points have, of k rows with `width` values a point.
fn gather(values: &[f64], k: usize, width: usize, of: &[u32]) -> Vec<f64> {
    let length = values.len() / k.max(1);
    let mut own = Vec::with_capacity(k * width * of.len());
    for row in values.chunks(length.max(1)) {
        own.extend(of.iter().flat_map(|&i| &row[width * i as usize..][..width]));
    }
    own
}

/// Adds what [`gather`] takes.
fn add(all: &mut [f64], own: &[f64], k: usize, width: usize, of: &[u32]) {
    let length = all.len() / k.max(1);
    let rows = all.chunks_mut(length.max(1)).zip(own.chunks((width * of.len()).max(1)));
    for (all, own) in rows {
        for (&i, own) in of.iter().zip(own.chunks(width)) {
            let all = &mut all[width * i as usize..][..width];
            all.iter_mut().zip(own).for_each(|(all, own)| *all += own);
        }
    }
}
