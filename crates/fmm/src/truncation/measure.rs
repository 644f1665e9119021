//! What each class of translations adds to the error for every truncation number, measured on the plan's own points.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;

use super::Class;
use super::sampling::{self, Point, Pool, mix};
use super::series::{Errors, Sample};
use crate::lists::{Chunk, Lists};
use crate::simd::{Level, Real};
use crate::tree::{Cell, Order, Root, Tree, side};

/// Pairs of points sampled for a class with many translations.
const SAMPLES: usize = 192;

/// Translations of a class for each of its samples: measuring must cost less than what it saves.
const TRANSLATIONS_A_SAMPLE: usize = 8;

/// What is added to the squared error of a class, times the error, divided by the number of samples: few samples miss more.
const DOUBT: f64 = 96.0;

/// Samples that find where a class's error becomes negligible; beyond that truncation number the others are not worked.
const PILOTS: usize = 32;

/// Samples that share a pair of boxes.
const DRAWS_A_BOX: usize = 4;

/// Pairs of a batch that are looked at for the weight of all of it.
const WEIGHED: usize = 64;

/// Geometry that the measurement samples.
pub(crate) struct Geometry<'a> {
    pub root: &'a Root,
    pub tree: &'a Tree,
    pub sources: (&'a Order, &'a [[f64; 3]]),
    pub targets: (&'a Order, &'a [[f64; 3]]),
}

/// Sums over all pairs of points, in units of the root's side: what charges +1 and -1 at random give for the sum of squares.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Norms {
    /// `sum 1/r^2`: potentials.
    pub(super) potential: f64,
    /// `sum 1/r^4`: gradients; with a third of it on both sides, potentials of dipoles of random directions.
    pub(super) gradient: f64,
    /// `sum 6/r^6`: likewise gradients of dipoles.
    pub(super) second: f64,
}

impl Norms {
    fn add(&mut self, weight: f64, r2: f64) {
        self.potential += weight / r2;
        self.gradient += weight / (r2 * r2);
        self.second += 6.0 * weight / (r2 * r2 * r2);
    }
}

/// In which quantities the error is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measures {
    pub(super) norms: Norms,
    /// The part of `norms` that translations serve.
    pub(super) far: Norms,
    pub(super) gradient: bool,
    pub(super) dipoles: bool,
}

impl Measures {
    /// For charges whose far pairs are all in boxes with this squared distance. Where points are sparse, that is all of their
    /// potential; of derivatives, the near part is at least as large as on average.
    fn alone(&self, d2: f64) -> Self {
        let mut norms = Norms::default();
        norms.add(1.0, d2);
        norms.gradient *= self.norms.gradient / self.far.gradient;
        norms.second *= self.norms.second / self.far.second;
        Self { norms, ..*self }
    }

    /// The largest of the squared relative errors, for squared errors of 1/r and of its derivatives (as [`Errors`] lists them)
    /// with lengths in units of `unit`. A derivative in one direction has a third of the gradient's square.
    fn relative(&self, error2: &[f64; 4], unit: f64) -> f64 {
        let unit2 = unit * unit;
        let mut worst = error2[0] / (unit2 * self.norms.potential);
        for (asked, of) in [(self.gradient, error2[1]), (self.dipoles, error2[2])] {
            if asked {
                worst = worst.max(3.0 * of / (unit2 * unit2 * self.norms.gradient));
            }
        }
        if self.gradient && self.dipoles {
            worst = worst.max(9.0 * error2[3] / (unit2 * unit2 * unit2 * self.norms.second));
        }
        worst
    }
}

/// What is known of one class.
#[derive(Clone, Debug, Default)]
pub(super) struct Statistics {
    /// Translations.
    pub(super) count: f64,
    /// `sum N_source N_target` over them.
    pub(super) weight: f64,
    /// What the class adds to the squared relative error for each p' (index); the last stands for all above.
    pub(super) error2: Vec<f64>,
    /// Squared error relative to what far pairs add to the sum, were all of them of this class; likewise.
    pub(super) own2: Vec<f64>,
    /// Pairs of boxes, each with the weight that it stands for.
    pub(super) candidates: Vec<([u32; 2], f64)>,
}

impl Statistics {
    /// What the class adds to the squared relative error with truncation number `p`.
    pub(super) fn error2(&self, p: usize) -> f64 {
        self.error2[p.min(self.error2.len() - 1)]
    }

    /// The least truncation number with which the class alone errs by no more than `own2`.
    pub(super) fn least(&self, own2: f64) -> usize {
        let last = self.own2.len() - 1;
        self.own2.iter().position(|&e| e <= own2).unwrap_or(last).clamp(1, last)
    }
}

/// Counts, weights and candidate pairs of boxes of every class.
pub(super) fn collect(tree: &Tree, lists: &Lists) -> BTreeMap<Class, Statistics> {
    let of_chunk = |chunk: &Chunk| {
        let mut classes = BTreeMap::<Class, Statistics>::new();
        for batch in &chunk.batches {
            let class = Class::of(chunk.level, &lists.vectors[batch.vector as usize]);
            let statistics = classes.entry(class).or_default();
            let base = tree.levels[batch.source_level as usize].start as u32;
            let pairs = &chunk.pairs[batch.pairs.start as usize..batch.pairs.end as usize];
            let weight_of = |&[s, t]: &[u32; 2]| {
                tree.cells[(base + s) as usize].sources.len() as f64
                    * tree.cells[chunk.cells.start + t as usize].targets.len() as f64
            };
            let step = pairs.len().div_ceil(WEIGHED);
            let weighed = pairs.len().div_ceil(step) as f64;
            let weights: Vec<f64> = pairs.iter().step_by(step).map(weight_of).collect();
            let sum: f64 = weights.iter().sum();
            let weight = sum / weighed * pairs.len() as f64;
            statistics.count += pairs.len() as f64;
            statistics.weight += weight;
            // A few pairs in proportion to their weight.
            let few = pairs.len().min(4);
            let (mut cumulative, mut taken) = (0.0, 0);
            for (pair, of_pair) in pairs.iter().step_by(step).zip(weights) {
                cumulative += of_pair / sum * few as f64;
                while taken < few && cumulative > taken as f64 + 0.5 {
                    let pair = [base + pair[0], chunk.cells.start as u32 + pair[1]];
                    statistics.candidates.push((pair, weight / few as f64));
                    taken += 1;
                }
            }
        }
        classes
    };
    let maps: Vec<_> = lists.chunks.par_iter().map(of_chunk).collect();
    let mut classes = BTreeMap::<Class, Statistics>::new();
    for (class, found) in maps.into_iter().flatten() {
        let statistics = classes.entry(class).or_default();
        statistics.count += found.count;
        statistics.weight += found.weight;
        statistics.candidates.extend(found.candidates);
    }
    classes
}

/// Squared errors of a class up to which more terms are of no use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    /// Of [`Statistics::error2`].
    pub(super) negligible: f64,
    /// Of [`Statistics::own2`].
    pub(super) own2: f64,
}

/// Measures the errors of every class for every p' up to `p_max`, or until they reach `goal`: from there on they are taken as
/// constant, and not listed.
pub(super) fn measure(
    geometry: &Geometry<'_>,
    classes: &mut BTreeMap<Class, Statistics>,
    p_max: usize,
    measures: &Measures,
    goal: Goal,
    simd: Level,
) {
    let Geometry { root, tree, sources, targets } = geometry;
    let draw = |order, range: fn(&Cell) -> Range<u32>| -> Vec<Pool> {
        let of = |level| sampling::draw(root, tree, level, order, range);
        (0..tree.levels.len()).into_par_iter().map(of).collect()
    };
    let source_pools = draw(*sources, |c| c.sources.clone());
    let own_targets = !std::ptr::eq(sources.0, targets.0);
    let of_targets = own_targets.then(|| draw(*targets, |c| c.targets.clone()));
    let target_pools = of_targets.as_ref().unwrap_or(&source_pools);
    let classes: Vec<_> = classes.iter_mut().collect();
    classes.into_par_iter().for_each(|(class, statistics)| {
        let (source_side, target_side) = class.sides();
        let salt = class.offset.iter().fold(u64::from(class.level), |salt, &o| mix(salt, o as u64));
        let source_level = class.level as i32 - i32::from(class.finer_target);
        // From the smaller box's side as the unit of length to the root's.
        let unit = side(class.level.max(source_level as u8));
        let from = &source_pools[source_level as usize];
        let to = &target_pools[class.level as usize];
        let samples = (statistics.count as usize / TRANSLATIONS_A_SAMPLE)
            .next_multiple_of(PILOTS)
            .clamp(PILOTS, SAMPLES);
        let boxes =
            sampling::resample(&statistics.candidates, statistics.weight, samples / DRAWS_A_BOX);
        statistics.candidates = Vec::new();
        let pair = |d: [f64; 3], (y, of_y): (Point, f64), (x, of_x): (Point, f64)| Sample {
            distance: d,
            target: x.map(|c| c * target_side),
            source: y.map(|c| c * source_side),
            weight: of_x * of_y,
        };
        // Points of the whole level resolve the corners best; points of the very boxes know on which side of a box its
        // points crowd. The larger error of the two counts.
        let mut of_level = Vec::with_capacity(samples);
        let mut of_boxes = Vec::with_capacity(samples);
        for (i, &[s, t]) in boxes.iter().enumerate() {
            let (source, target) = (&tree.cells[s as usize], &tree.cells[t as usize]);
            let d = crate::lists::offset(source, target).map(|o| 0.5 * f64::from(o));
            let seed = mix(i as u64, salt);
            let y = sampling::draw_in_cell(root, source, *sources, &source.sources, seed);
            let x = sampling::draw_in_cell(root, target, *targets, &target.targets, !seed);
            for draw in 0..DRAWS_A_BOX {
                of_boxes.push(pair(d, y[draw], x[(draw + i) % DRAWS_A_BOX]));
                let seed = mix(seed, draw as u64);
                let (y, x) = (seed as usize % from.len(), (seed >> 32) as usize % to.len());
                of_level.push(pair(d, from[y], to[x]));
            }
        }
        let weight = statistics.weight;
        let alone = measures.alone(class.distance2());
        // Shares of the squared error in the whole sum, and of the class alone.
        let errors = |pairs: &[Sample], p_max: usize| {
            let Measures { gradient, dipoles, .. } = *measures;
            let error2 = f64::dispatch(simd, Errors { pairs, p_max, gradient, dipoles });
            let doubt = 1.0 + DOUBT / samples as f64;
            let of = |error2: &[f64; 4]| {
                let [share, own] = [measures, &alone].map(|m| doubt * m.relative(error2, unit));
                [weight * share, own]
            };
            error2.iter().map(of).collect::<Vec<[f64; 2]>>()
        };
        // The pilots are spread over all pairs of boxes.
        let pilots: Vec<Sample> =
            of_level.iter().copied().step_by(samples / PILOTS).take(PILOTS).collect();
        let enough = |[share, own]: &[f64; 2]| *share < goal.negligible && *own < goal.own2;
        let pilot = errors(&pilots, p_max);
        let mut limit = pilot.iter().position(enough).map_or(p_max, |p| (p + 1).min(p_max));
        let measured = loop {
            let mut measured = errors(&of_level, limit);
            for ([share, own], other) in measured.iter_mut().zip(errors(&of_boxes, limit)) {
                *share = share.max(other[0]);
                *own = own.max(other[1]);
            }
            // The pilots may have missed the rare points that decide.
            if limit == p_max || enough(&measured[limit].map(|e| 0.5 * e)) {
                break measured;
            }
            limit = (limit + 4).min(p_max);
        };
        (statistics.error2, statistics.own2) = measured.into_iter().map(|[e, o]| (e, o)).unzip();
    });
}

/// The sums over all pairs of points, and over far ones alone.
///
/// Far pairs count by their boxes' distance, near ones by a sample of targets. Close encounters are rare, so the
/// estimate errs on the small side, which only tightens the truncation.
pub(super) fn norms(
    geometry: &Geometry<'_>,
    lists: &Lists,
    classes: &BTreeMap<Class, Statistics>,
) -> [Norms; 2] {
    const LEAVES: usize = 128;
    const TARGETS: usize = 4;
    let mut norms = Norms::default();
    for (class, statistics) in classes {
        norms.add(statistics.weight, class.distance2());
    }
    let far = norms;
    let tree = geometry.tree;
    let leaves = &lists.near.cells;
    let picked = LEAVES.min(leaves.len());
    let at = |(order, points): &(&Order, &[[f64; 3]]), slot: usize| -> Point {
        points[order.index[slot] as usize]
    };
    let scale2 = geometry.root.side.powi(-2);
    let (near, targets) = (0..picked)
        .into_par_iter()
        .map(|i| {
            let row = (2 * i + 1) * leaves.len() / (2 * picked);
            let leaf = &tree.cells[leaves[row] as usize];
            let count = leaf.targets.len();
            let mut near = Norms::default();
            if count == 0 {
                return (near, 0.0);
            }
            let of_row = lists.near.row(row).iter();
            let sources: Vec<Point> = of_row
                .flat_map(|&s| tree.cells[s as usize].sources.clone())
                .map(|j| at(&geometry.sources, j as usize))
                .collect();
            let taken = TARGETS.min(count);
            // One close encounter in the sample would count for thousands, though all there are hardly matter to the sum.
            let cap = (side(leaf.level) / 16.0).powi(-2);
            let mut sums = [0.0; 3];
            for k in 0..taken {
                let skip = (mix(i as u64, 3) as usize + k * count / taken) % count;
                let x = at(&geometry.targets, leaf.targets.start as usize + skip);
                for y in &sources {
                    let r2: f64 = (0..3).map(|k| (x[k] - y[k]) * (x[k] - y[k])).sum();
                    if r2 > 0.0 {
                        let capped = (1.0 / (r2 * scale2)).min(cap);
                        sums[0] += capped;
                        sums[1] += capped * capped;
                        sums[2] += capped * capped * capped;
                    }
                }
            }
            // Each target stands for its share of the leaf.
            let share = count as f64 / taken as f64;
            near.potential = share * sums[0];
            near.gradient = share * sums[1];
            near.second = 6.0 * share * sums[2];
            (near, count as f64)
        })
        .reduce(Default::default, |(a, n), (b, m)| {
            let sum = Norms {
                potential: a.potential + b.potential,
                gradient: a.gradient + b.gradient,
                second: a.second + b.second,
            };
            (sum, n + m)
        });
    if targets > 0.0 {
        let scale = geometry.targets.1.len() as f64 / targets;
        norms.potential += near.potential * scale;
        norms.gradient += near.gradient * scale;
        norms.second += near.second * scale;
    }
    [norms, far]
}
