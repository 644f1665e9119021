//! The truncation numbers of a treecode: of each level and band of distances, from the errors of
//! multipole expansions measured on the plan's own boxes and targets (docs/math.md, "Treecode").
//!
//! In a source's point times t the kernel is a power series without the target's, whose terms are
//! Legendre polynomials of the angle between the two: a few operations a term, and so no sample is
//! dear. Derivatives along an axis at the target, at the source and along both go along, as dual
//! numbers.

use std::collections::BTreeMap;

use parallel::prelude::*;

use super::candidates::PointSets;
use super::class::Class;
use super::limits::{largest, margin};
use super::norms::Norms;
use super::optimise::{Goal, Statistics, cheapest};
use super::sampling::{self, Point, mix};
use crate::expansions::screened::{DEAF, HALF_DIAGONAL, Screening, regular, singular};
use crate::expansions::truncation_numbers::{P_MAX, TruncationNumbers};
use crate::geometry::far_rows::{BANDS, FarRows, begin_of};
use crate::model::{Options, Truncation};
use crate::tree::lists::Lists;
use crate::tree::{Cell, side};

/// Pairs of a box and a target that are sampled for a class, each with four points of the box.
const PAIRS: usize = 48;

/// Targets of a box among which the nearest to a source is looked for.
const LOOKED_AT: usize = 32;

/// Far over near edge of a band.
const BAND_RATIO: f64 = 1.090_507_732_665_257_7;

/// Pairs of boxes of one class that are remembered of each job.
const REMEMBERED: usize = 64;

/// As that of M2L, per number of samples.
const DOUBT: f64 = 96.0;

/// Errors and cost of a level's boxes at one band of distances.
#[derive(Clone, Debug, Default)]
struct Candidates {
    /// Evaluations: boxes times targets.
    count: f64,
    /// Pairs of points.
    weight: f64,
    /// Boxes of targets and of sources, each with its pairs of points.
    pairs: Vec<([u32; 2], f64)>,
}

/// Chooses the truncation number of every entry of `far`, and those of the multipole expansions.
pub(crate) fn choose_for_treecode(
    points: &PointSets<'_>,
    near: &Lists,
    far: &mut FarRows,
    options: &Options,
) -> TruncationNumbers {
    let tree = points.tree;
    let p_max = largest(options);
    let classes: Vec<(usize, Candidates)> = collect(points, far)
        .into_iter()
        .enumerate()
        .filter(|(_, candidates)| candidates.count > 0.0)
        .collect();
    let chosen: BTreeMap<Class, usize> = if let (Some(p), true) =
        (options.truncation_number, options.truncation != Truncation::Measured)
    {
        classes.iter().map(|(class, _)| (key(*class), p)).collect()
    } else {
        let measured: Vec<Measured> = classes
            .par_iter()
            .map(|(class, candidates)| measure(points, candidates, *class, p_max))
            .collect();
        let statistics = statistics(points, near, &classes, measured, options);
        let goal = Goal::new(options, margin(options));
        let cost = |p: usize| (p * p + 8) as f64;
        if options.truncation == Truncation::Measured {
            cheapest(&statistics, goal.budget, cost, |_, s| s.least(goal.own2)..=s.last())
        } else {
            let error = |p: usize| -> f64 { statistics.values().map(|s| s.error2(p)).sum() };
            let p = (1..p_max).find(|&p| error(p) <= goal.budget).unwrap_or(p_max);
            statistics.keys().map(|class| (*class, p)).collect()
        }
    };
    // A derivative at the target raises degrees by one.
    let more = usize::from(options.gradient);
    far.for_gradients = more;
    let mut orders = vec![0; tree.levels.len() * BANDS];
    let (mut terms, mut count) = (0.0, 0.0);
    for (class, candidates) in &classes {
        if points.screening.at((class / BANDS) as u8) <= DEAF {
            let p = chosen.get(&key(*class)).map_or(0, |&p| p.min(P_MAX - more) + more);
            orders[*class] = p as u16;
            terms += candidates.count * p as f64;
            count += candidates.count;
        }
    }
    far.assign(tree, &orders);
    let of_classes = orders.iter().enumerate().map(|(class, &p)| (class / BANDS, usize::from(p)));
    let mut numbers = TruncationNumbers::of_multipoles(tree.levels.len(), of_classes);
    numbers.mean = terms / f64::max(count, 1.0);
    numbers
}

/// What [`cheapest`] knows a class by.
fn key(class: usize) -> Class {
    Class::new((class / BANDS) as u8, 0, [(class % BANDS) as i32, 0, 0])
}

/// Counts, weights and some pairs of boxes of every class.
fn collect(points: &PointSets<'_>, far: &FarRows) -> Vec<Candidates> {
    const ROWS: usize = 256;
    let tree = points.tree;
    let none = || vec![Candidates::default(); tree.levels.len() * BANDS];
    let rows: Vec<usize> = (0..far.cells.len()).collect();
    let of_rows = |rows: &[usize]| {
        let mut classes = none();
        for &row in rows {
            let targets = tree.cells[far.cells[row] as usize].targets.len() as f64;
            for i in far.range(row) {
                let source = &tree.cells[far.entries[i] as usize];
                let of = &mut classes[usize::from(far.orders[i])];
                let weight = targets * source.sources.len() as f64;
                of.count += targets;
                of.weight += weight;
                let pair = ([far.cells[row], far.entries[i]], weight);
                if of.pairs.len() < REMEMBERED {
                    of.pairs.push(pair);
                    continue;
                }
                // Each place keeps one pair of those that come by, in proportion to their weights.
                let draw = mix(u64::from(pair.0[0]), u64::from(pair.0[1]));
                let place = &mut of.pairs[draw as usize % REMEMBERED];
                place.1 += weight;
                if (draw >> 11) as f64 / (1u64 << 53) as f64 * place.1 < weight {
                    place.0 = pair.0;
                }
            }
        }
        classes
    };
    let parts: Vec<_> = rows.par_chunks(ROWS).map(of_rows).collect();
    let mut classes = none();
    for (of, found) in parts.into_iter().flat_map(|part| part.into_iter().enumerate()) {
        classes[of].count += found.count;
        classes[of].weight += found.weight;
        classes[of].pairs.extend(found.pairs);
    }
    classes
}

/// Mean squares of one class, in units of the root's side.
struct Measured {
    /// Of the kernel, its gradient and its second derivatives.
    norms: Norms,
    /// The least squared distance of box and target.
    closest2: f64,
    /// Of the errors for each truncation number: of the kernel, of its derivatives along an axis at
    /// the target, at the source, and at both.
    error2: Vec<[f64; 4]>,
}

/// Measures a class.
fn measure(points: &PointSets<'_>, of: &Candidates, class: usize, p_max: usize) -> Measured {
    let PointSets { screening, tree, targets, .. } = *points;
    let weight = of.pairs.iter().map(|pair| pair.1).sum();
    let unit = side((class / BANDS) as u8);
    let kappa = screening.at((class / BANDS) as u8);
    // Of each pair of boxes the nearest target, whose error may be most of all, and one that stands
    // for the others.
    let mut candidates = Vec::with_capacity(2 * DRAWN_FROM);
    for (i, [target, source]) in
        sampling::resample(&of.pairs, weight, DRAWN_FROM).into_iter().enumerate()
    {
        let (target, source) = (&tree.cells[target as usize], &tree.cells[source as usize]);
        let place =
            |slot: usize| relative(points, source, &targets.1[targets.0.index[slot] as usize]);
        let count = target.targets.len();
        let slots = target.targets.start as usize..target.targets.end as usize;
        let some = slots.clone().step_by(count.div_ceil(LOOKED_AT)).map(place);
        let nearest = some.min_by(|a, b| dot(a, a).total_cmp(&dot(b, b)));
        let other = place(slots.start + (mix(i as u64, class as u64) >> 20) as usize % count);
        let share = 1.0 / count as f64;
        candidates.extend(nearest.map(|x| (source, x, share)));
        if count > 1 {
            candidates.push((source, other, 1.0 - share));
        }
    }
    // Large errors are those of few of them, which a corner of the box points to: they are drawn
    // with probabilities that grow with its part of the distance.
    let near =
        |x: &Point| 0.25 * x.iter().map(|c| c.abs()).sum::<f64>().powi(2) / dot(x, x).powi(2);
    let parts: Vec<f64> = candidates.iter().map(|(_, x, _)| near(x)).collect();
    let shares: Vec<f64> = candidates.iter().map(|of| of.2).collect();
    let (mut norms, mut closest2, mut samples) = (Norms::default(), f64::INFINITY, 0.0);
    let mut error2 = vec![[0.0; 4]; p_max + 1];
    for i in 0..PAIRS / POWERS.len() {
        let drawn = pick(&parts, &shares, mix(i as u64, class as u64));
        for (which, (candidate, share)) in drawn.into_iter().enumerate() {
            let (source, x, _) = &candidates[candidate];
            let i = POWERS.len() * i + which;
            let seed = mix(i as u64, !(class as u64));
            // Errors are those of the near edge of the band: to its far edge they fall by far more
            // than the few samples tell.
            let r = dot(x, x).sqrt();
            let near = f64::max(begin_of(class % BANDS), r / BAND_RATIO).min(r) / r;
            let x = x.map(|x| near * x);
            closest2 = f64::min(closest2, unit * unit * dot(&x, &x));
            for (draw, (y, weight)) in draw(points, source, &x, seed).into_iter().enumerate() {
                samples += share;
                let d: Point = std::array::from_fn(|k| x[k] - y[k]);
                norms.add(screening, share * weight, unit * unit * dot(&d, &d));
                // Axes in turn, the two independent of one another.
                let turn = i + draw;
                let axes = [turn % 3, turn / 3 % 3];
                for (sums, error) in error2.iter_mut().zip(errors(kappa, &x, &y, axes, p_max)) {
                    for (component, sum) in sums.iter_mut().enumerate() {
                        // From the box's unit of length to the root's.
                        let units = unit.powi(1 + (component & 1) as i32 + (component >> 1) as i32);
                        *sum += share * weight * (error[component] / units).powi(2);
                    }
                }
            }
        }
    }
    let samples = f64::max(samples, 1.0);
    let doubt = (1.0 + DOUBT / samples) / samples;
    error2.iter_mut().flatten().for_each(|sum| *sum *= doubt);
    // Few samples may happen to agree at a low truncation number: more terms never count as worse.
    for p in (0..p_max).rev() {
        for i in 0..4 {
            error2[p][i] = f64::max(error2[p][i], error2[p + 1][i]);
        }
    }
    Measured { norms: norms.times(1.0 / samples), closest2, error2 }
}

/// Powers that samples are drawn by, one for each.
const POWERS: [i32; 4] = [0, 3, 10, 30];

/// Points of a box, and pairs of boxes of a class, among which samples are drawn.
const DRAWN_FROM: usize = 128;

/// Points of a box, and the inverse of the probability of each relative to a uniform draw.
///
/// Large errors are those of the few points that lie toward the target, in a corner of the box, if
/// one is there: they are drawn with probabilities that grow as their distance from it falls.
fn draw(points: &PointSets<'_>, source: &Cell, x: &Point, seed: u64) -> [(Point, f64); 4] {
    let (order, all) = points.sources;
    let range = source.sources.start as usize..source.sources.end as usize;
    let count = range.len().min(DRAWN_FROM);
    let first = seed as usize % range.len();
    let at = |i: usize| {
        let slot = range.start + (first + i * range.len() / count) % range.len();
        relative(points, source, &all[order.index[slot] as usize])
    };
    let inverses: Vec<f64> = (0..count)
        .map(|i| {
            let y = at(i);
            let d: Point = std::array::from_fn(|k| x[k] - y[k]);
            1.0 / dot(&d, &d)
        })
        .collect();
    pick(&inverses, &vec![1.0; count], seed).map(|(i, weight)| (at(i), weight))
}

/// One item for each of [`POWERS`], drawn with probabilities that go with that power of its value
/// and with its share; with each what it counts for: its mean over draws is that over all shares.
fn pick(values: &[f64], shares: &[f64], seed: u64) -> [(usize, f64); 4] {
    let most = values.iter().fold(f64::MIN_POSITIVE, |most, value| most.max(*value));
    let of = |(value, share): (&f64, &f64)| POWERS.map(|power| share * (value / most).powi(power));
    let chances: Vec<[f64; 4]> = values.iter().zip(shares).map(of).collect();
    let mut sums = [f64::MIN_POSITIVE; 4];
    for chances in &chances {
        sums.iter_mut().zip(chances).for_each(|(sum, chance)| *sum += chance);
    }
    let all: f64 = shares.iter().sum();
    std::array::from_fn(|which| {
        let goal = (mix(seed, which as u64) % 4096) as f64 / 4096.0 * sums[which];
        let mut cumulative = 0.0;
        let reached = |chances: &[f64; 4]| {
            cumulative += chances[which];
            cumulative > goal
        };
        let i = chances.iter().position(reached).unwrap_or(chances.len() - 1);
        let probability: f64 = chances[i].iter().zip(sums).map(|(chance, sum)| chance / sum).sum();
        (i, POWERS.len() as f64 * shares[i] / all / probability)
    })
}

/// A point in sides of a box, from its centre.
fn relative(points: &PointSets<'_>, cell: &Cell, x: &Point) -> Point {
    let (centre, scale) = (points.root.centre(cell), 1.0 / (points.root.side * side(cell.level)));
    std::array::from_fn(|i| (x[i] - centre[i]) * scale)
}

/// Squared errors of all classes relative to the whole sum, and of each class alone.
fn statistics(
    points: &PointSets<'_>,
    near: &Lists,
    classes: &[(usize, Candidates)],
    measured: Vec<Measured>,
    options: &Options,
) -> BTreeMap<Class, Statistics> {
    let mut far = Norms::default();
    let (mut closest2, mut far_pairs) = (f64::INFINITY, 0.0);
    for ((_, candidates), measured) in classes.iter().zip(&measured) {
        far.join(&measured.norms.times(candidates.weight));
        closest2 = f64::min(closest2, measured.closest2);
        far_pairs += candidates.weight;
    }
    let mut all = far;
    all.add_near(points, near);
    let of = |((class, candidates), measured): (&(usize, Candidates), Measured)| {
        let alone = alone(&all, &far, &measured.norms, points.screening, closest2, far_pairs);
        let relative = |norms: &Norms, error2: &[f64; 4]| norms.relative(error2, 1.0, options);
        let statistics = Statistics {
            count: candidates.count,
            error2: measured.error2.iter().map(|e| candidates.weight * relative(&all, e)).collect(),
            own2: measured.error2.iter().map(|e| relative(&alone, e)).collect(),
        };
        (key(*class), statistics)
    };
    classes.iter().zip(measured).map(of).collect()
}

/// What a pair of charges makes that interact by one class alone: as
/// [`Measures::alone`](super::norms::Measures::alone).
fn alone(
    all: &Norms,
    far: &Norms,
    own: &Norms,
    screening: Screening,
    closest2: f64,
    far_pairs: f64,
) -> Norms {
    let mut norms = *own;
    if screening.is_some() {
        norms = Norms::default();
        norms.add(screening, 1.0, closest2);
    }
    norms.completed(all, far, screening, far_pairs)
}

fn dot(a: &Point, b: &Point) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// A number with its derivatives along an axis of the target's point, along one of the source's,
/// and along both.
type Dual = [f64; 4];

fn product(a: &Dual, b: &Dual) -> Dual {
    [
        a[0] * b[0],
        a[1] * b[0] + a[0] * b[1],
        a[2] * b[0] + a[0] * b[2],
        a[3] * b[0] + a[1] * b[2] + a[2] * b[1] + a[0] * b[3],
    ]
}

/// What the expansion at `x` of a source at `y`, in sides of a box about the origin, lacks with
/// truncation numbers 0 to `p_max`; `kappa` times the side.
///
/// Without screening term n is `|y|^n P(n)(cos) / |x|^(n+1)`, which has the recurrence of Legendre
/// polynomials in `a = x.y / |x|^2` and `b = |y|^2 / |x|^2`; with screening it has the factors
/// `i^(n)(kappa |y|) k^(n)(kappa |x|)` (module `screened`).
pub fn errors(kappa: f64, x: &Point, y: &Point, [u, v]: [usize; 2], p_max: usize) -> Vec<Dual> {
    let (x2, y2, xy) = (dot(x, x), dot(y, y), dot(x, y));
    let same = if u == v { 1.0 } else { 0.0 };
    let over_x2: Dual = [1.0 / x2, -2.0 * x[u] / (x2 * x2), 0.0, 0.0];
    let a = product(&[xy, y[u], x[v], same], &over_x2);
    let b = product(&[y2, 0.0, 2.0 * y[v], 0.0], &over_x2);
    let inverse = 1.0 / x2.sqrt();
    let (mut term, mut before) = ([inverse, -x[u] * inverse / x2, 0.0, 0.0], [0.0; 4]);
    let d: Point = std::array::from_fn(|i| x[i] - y[i]);
    let [potential, first, second] = Screening { root: kappa }.slopes(dot(&d, &d).sqrt());
    let along = if u == v { first } else { 0.0 };
    let mut rest = [potential, -first * d[u], first * d[v], along - second * d[u] * d[v]];
    let (r, rho) = (x2.sqrt(), y2.sqrt());
    let screened = (kappa > 0.0).then(|| {
        // In units of what they are at the corners.
        let corner = HALF_DIAGONAL * kappa;
        let inside = regular(p_max + 1, kappa * rho, (-corner).exp());
        (inside, singular(p_max + 1, kappa * r, corner))
    });
    let mut all = Vec::with_capacity(p_max + 1);
    all.push(rest);
    for n in 0..p_max {
        let mut whole = term;
        if let Some((inside, outside)) = &screened {
            // Their derivatives: t i^(n+1) / (2n+3) and -t k^(n-1) / (2n-1), times kappa and the
            // derivative of the distance.
            let k2 = kappa * kappa;
            let of_inside = k2 * y[v] * inside[n + 1] / (2 * n + 3) as f64;
            let below = match n {
                0 => -kappa * x[u] * inverse * outside[0],
                _ => -k2 * x[u] * outside[n - 1] / (2 * n - 1) as f64,
            };
            whole = product(&whole, &[inside[n], 0.0, of_inside, 0.0]);
            whole = product(&whole, &[outside[n], below, 0.0, 0.0]);
        }
        for i in 0..4 {
            rest[i] -= whole[i];
        }
        all.push(rest);
        let (n, next) = (n as f64, term);
        let (first, second) = (product(&a, &term), product(&b, &before));
        let scale = [(2.0 * n + 1.0) / (n + 1.0), n / (n + 1.0)];
        term = std::array::from_fn(|i| scale[0] * first[i] - scale[1] * second[i]);
        before = next;
    }
    all
}
