//! What each class of translations adds to the error for every truncation number, measured on the
//! plan's own points.

use std::collections::BTreeMap;
use std::ops::Range;

use parallel::prelude::*;

use super::candidates::{Candidates, PointSets};
use super::class::Class;
use super::norms::Measures;
use super::optimise::{Goal, Statistics};
use super::sampling::{self, Point, Pool, mix};
use super::screened;
use super::series::{self, Sample};
use crate::tree::{Cell, side};
use simd::{Level, dispatch};

/// Pairs of points sampled for a class with many translations.
const SAMPLES: usize = 192;

/// Translations of a class for each of its samples: measuring must cost less than what it saves.
const TRANSLATIONS_PER_SAMPLE: usize = 8;

/// What is added to the squared error of a class, times the error, divided by the number of
/// samples: few samples miss more.
const DOUBT: f64 = 96.0;

/// Samples that find where a class's error becomes negligible; beyond that truncation number the
/// others are not evaluated.
const PILOTS: usize = 32;

/// Samples that share a pair of boxes.
const DRAWS_PER_PAIR: usize = 4;

/// Share of the error budget below which the errors of all classes together are negligible.
const NEGLIGIBLE: f64 = 0.02;

/// Measures the errors of every class for every p' up to `p_max`, or until they are so small that
/// more terms are of no use: beyond, errors are taken as constant, and not listed. `classes`
/// share the goal.
pub(super) fn measure(
    points: &PointSets<'_>,
    candidates: &BTreeMap<Class, Candidates>,
    measures: Measures,
    classes: usize,
    p_max: usize,
    goal: Goal,
    simd: Level,
) -> BTreeMap<Class, Statistics> {
    let PointSets { root, tree, sources, targets, .. } = points;
    let draw = |order, points, range: fn(&Cell) -> Range<u32>| -> Vec<Pool> {
        let of = |level| sampling::draw(root, tree, level, order, points, range);
        (0..tree.levels.len()).into_par_iter().map(of).collect()
    };
    let sources_drawn = draw(sources.0, sources.1, |c| c.sources.clone());
    let own_targets = !std::ptr::eq(sources.0, targets.0);
    let targets_drawn = own_targets.then(|| draw(targets.0, targets.1, |c| c.targets.clone()));
    let measurement = Measurement {
        points,
        pools: [&sources_drawn, targets_drawn.as_ref().unwrap_or(&sources_drawn)],
        measures,
        p_max,
        negligible: NEGLIGIBLE * goal.budget / classes.max(1) as f64,
        own2: goal.own2,
        simd,
    };
    let classes: Vec<_> = candidates.iter().collect();
    let of =
        |(class, candidates): (&Class, &Candidates)| (*class, measurement.of(class, candidates));
    let measured: Vec<_> = classes.into_par_iter().map(of).collect();
    measured.into_iter().collect()
}

/// What the measurements of all classes share.
struct Measurement<'a> {
    points: &'a PointSets<'a>,
    /// Drawn sources and targets of each level.
    pools: [&'a Vec<Pool>; 2],
    measures: Measures,
    p_max: usize,
    /// The error of [`Statistics::error2`] and that of [`Statistics::own2`] at which more terms are
    /// of no use.
    negligible: f64,
    own2: f64,
    simd: Level,
}

impl Measurement<'_> {
    /// Measures one class.
    fn of(&self, class: &Class, candidates: &Candidates) -> Statistics {
        let whole = |samples: usize| samples.next_multiple_of(PILOTS).clamp(PILOTS, SAMPLES);
        // All ranks together take `of_all` samples, each its share.
        let of_all = whole(candidates.of_all as usize / TRANSLATIONS_PER_SAMPLE);
        let samples = whole((of_all as f64 * candidates.count / candidates.of_all).ceil() as usize);
        let [of_level, of_boxes] = self.samples(class, candidates, samples);
        // From the smaller box's side as the unit of length to the root's.
        let unit = side(class.level.max(class.levels()[0] as u8));
        let alone = self.measures.alone(class.distance2());
        // Shares of the squared error in the whole sum, and of the class alone.
        let kappa = self.points.screening.root * unit;
        let screened = (kappa > 0.0).then(|| {
            let (source, target) = class.sides();
            let distance = class.distance2().sqrt() / unit;
            screened::Translation::new(self.p_max, kappa, [source, target], distance)
        });
        let errors = |pairs: &[Sample], p_max: usize| {
            let Measures { gradient, dipoles, .. } = self.measures;
            let error2 = match &screened {
                None => series::errors(self.simd, pairs, p_max, [gradient, dipoles]),
                Some(translation) => {
                    let errors = screened::Errors { translation, pairs, p_max, gradient, dipoles };
                    dispatch(self.simd, errors)
                }
            };
            let doubt = 1.0 + DOUBT / of_all as f64;
            let of = |error2: &[f64; 4]| {
                let relative = [&self.measures, &alone].map(|m| doubt * m.relative(error2, unit));
                [candidates.weight * relative[0], relative[1]]
            };
            error2.iter().map(of).collect::<Vec<[f64; 2]>>()
        };
        // The pilots are spread over all pairs of boxes.
        let pilots: Vec<Sample> =
            of_level.iter().copied().step_by(samples / PILOTS).take(PILOTS).collect();
        let enough = |[share, own]: &[f64; 2]| *share < self.negligible && *own < self.own2;
        let pilot = errors(&pilots, self.p_max);
        let mut limit =
            pilot.iter().position(enough).map_or(self.p_max, |p| (p + 1).min(self.p_max));
        let measured = loop {
            let mut measured = errors(&of_level, limit);
            for ([share, own], other) in measured.iter_mut().zip(errors(&of_boxes, limit)) {
                *share = share.max(other[0]);
                *own = own.max(other[1]);
            }
            // The pilots may have missed the rare points that decide.
            if limit == self.p_max || enough(&measured[limit].map(|e| 0.5 * e)) {
                break measured;
            }
            limit = (limit + 4).min(self.p_max);
        };
        let (error2, own2) = measured.into_iter().map(|[e, o]| (e, o)).unzip();
        Statistics { count: candidates.count, error2, own2 }
    }

    /// Pairs of points, as many as `samples`: points of the whole level, which resolve the corners
    /// best, and points of the very boxes, which show on which side of a box its points crowd. The
    /// larger error of the two counts.
    fn samples(&self, class: &Class, candidates: &Candidates, samples: usize) -> [Vec<Sample>; 2] {
        let PointSets { root, tree, sources, targets, .. } = *self.points;
        let (source_side, target_side) = class.sides();
        let salt = class.offset.iter().fold(u64::from(class.level), |salt, &o| mix(salt, o as u64));
        let [from, to] = class.levels();
        let (from, to) = (&self.pools[0][from], &self.pools[1][to]);
        let pair = |d: [f64; 3], (y, of_y): (Point, f64), (x, of_x): (Point, f64)| Sample {
            distance: d,
            target: x.map(|c| c * target_side),
            source: y.map(|c| c * source_side),
            weight: of_x * of_y,
        };
        let mut of_level = Vec::with_capacity(samples);
        let mut of_boxes = Vec::with_capacity(samples);
        let boxes =
            sampling::resample(&candidates.pairs, candidates.weight, samples / DRAWS_PER_PAIR);
        for (i, &[s, t]) in boxes.iter().enumerate() {
            let (source, target) = (&tree.cells[s as usize], &tree.cells[t as usize]);
            let d = crate::tree::lists::offset(source, target).map(|o| 0.5 * f64::from(o));
            let seed = mix(i as u64, salt);
            let (order, points) = sources;
            let y = sampling::draw_in_cell(root, source, order, points, &source.sources, seed);
            let (order, points) = targets;
            let x = sampling::draw_in_cell(root, target, order, points, &target.targets, !seed);
            for draw in 0..DRAWS_PER_PAIR {
                of_boxes.push(pair(d, y[draw], x[(draw + i) % DRAWS_PER_PAIR]));
                let seed = mix(seed, draw as u64);
                let (y, x) = (seed as usize % from.len(), (seed >> 32) as usize % to.len());
                of_level.push(pair(d, from[y], to[x]));
            }
        }
        [of_level, of_boxes]
    }
}
