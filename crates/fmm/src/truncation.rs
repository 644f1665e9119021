//! The truncation number p' of every batch of translations, from measured errors (docs/math.md, "Truncation").
//!
//! For charges of random sign the squared errors of all translations add up, each weighted by the sources and targets that
//! it serves. So the batches of one level and class (equal up to the symmetries of the cube) are given the truncation
//! numbers that cost least for a given sum: minimise `sum count cost(p') + lambda sum weight error(p')^2`, with the
//! multiplier lambda that meets the tolerance. Errors are measured on the plan's own points: pairs of points placed in
//! two boxes of the class, the truncated expansion against 1/r, for every p' at once. High powers of the radius decide,
//! which few points near the corners of a box contribute, so those are sampled more often and weighted less. Paper 001's
//! eq. 24 equalises worst-case bounds instead, which is far from optimal (docs/performance.md has the comparison).

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::coaxial::Coaxial;
use crate::harmonics::{Harmonics, cosine, parity, sine};
use crate::lists::{Chunk, Lists};
use crate::simd::{Level, Real, Simd, Task, scalars_mut};
use crate::translate::{Kind, Vector};
use crate::tree::{Cell, Order, Root, Tree, side};
use crate::{Options, Truncation};

/// Largest truncation number.
pub(crate) const P_MAX: usize = 60;

/// Pairs of points sampled for a class with many translations: a multiple of every vector width.
const SAMPLES: usize = 192;

/// Translations of a class for each of its samples: measuring must cost less than what it saves.
const TRANSLATIONS_A_SAMPLE: usize = 8;

/// What is added to the squared error of a class, times the error, divided by the number of samples: few samples miss more.
const DOUBT: f64 = 96.0;

/// Points of a level among which samples are drawn.
const CANDIDATES: usize = 8192;

/// Points drawn with a probability that goes with each of these powers of the radius, so many for each.
const POWERS: [i32; 4] = [0, 8, 24, 60];
const DRAWN: usize = 128;

/// Margin between the tolerance and the error that is predicted. The prediction rests on a sample, which misses rare pairs the
/// more the higher the truncation numbers are, and one set of charges may do worse than the mean. Seen: 2 at 1e-3, 5 at 1e-9.
fn safety(tolerance: f64) -> f64 {
    2.0 - 0.25 * tolerance.ln()
}

/// Samples that find where a class's error becomes negligible; beyond that truncation number the others are not worked.
const PILOTS: usize = 32;

/// Part of the error budget below which the errors of all classes together are negligible.
const NEGLIGIBLE: f64 = 0.02;

/// A child's expansion needs this fraction of its parent's truncation number, and [`CHILD_MORE`]: it is seen from at least
/// twice as far in units of its own side, `ln 0.7637 / ln 0.62 = 0.56` in the worst case.
const CHILD_FRACTION: f64 = 0.7;

/// At two digits, where truncation numbers are 2 to 5, the fraction alone leaves errors of the size of the tolerance.
const CHILD_MORE: usize = 1;

/// Geometry that the measurement samples.
pub(crate) struct Geometry<'a> {
    pub root: &'a Root,
    pub tree: &'a Tree,
    pub sources: (&'a Order, &'a [[f64; 3]]),
    pub targets: (&'a Order, &'a [[f64; 3]]),
}

/// The truncation numbers of a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orders {
    /// Of the multipole expansions of each level; 0 = none is needed.
    pub multipole: Vec<usize>,
    /// Of the local expansions of each level; 0 = none is needed.
    pub local: Vec<usize>,
    /// Mean p' over all translations.
    pub mean: f64,
}

/// Translations of one target level that are equal up to symmetries of the cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Class {
    level: u8,
    finer_target: i8,
    /// Sorted absolute offsets.
    offset: [i32; 3],
}

impl Class {
    fn of(level: u8, vector: &Vector) -> Self {
        let mut offset = vector.offset.map(i32::abs);
        offset.sort_unstable();
        let finer_target = match vector.kind {
            Kind::M2l { finer_target } => finer_target,
            Kind::M2m | Kind::L2l => 0,
        };
        Self { level, finer_target, offset }
    }

    /// `(R_source, R_target, D)` of the boxes' spheres, in sides of the smaller box.
    fn spheres(&self) -> (f64, f64, f64) {
        let (source, target) = self.sides();
        let half_diagonal = 0.5 * 3f64.sqrt();
        let r2: f64 = self.offset.iter().map(|&o| f64::from(o) * f64::from(o)).sum();
        (half_diagonal * source, half_diagonal * target, 0.5 * r2.sqrt())
    }

    /// Sides of source and target in units of the smaller.
    fn sides(&self) -> (f64, f64) {
        let ratio = f64::from(self.finer_target).exp2();
        if self.finer_target >= 0 { (ratio, 1.0) } else { (1.0, 1.0 / ratio) }
    }
}

/// Sums over all pairs of points, in units of the root's side: what charges +1 and -1 at random give for the sum of squares.
#[derive(Clone, Copy, Debug, Default)]
struct Norms {
    /// `sum 1/r^2`: potentials.
    potential: f64,
    /// `sum 1/r^4`: gradients, and potentials of dipoles.
    gradient: f64,
}

/// In which quantities the error is measured.
#[derive(Clone, Copy, Debug)]
struct Measures {
    norms: Norms,
    gradient: bool,
    dipoles: bool,
}

impl Measures {
    /// Squared relative errors for a unit sum of squared errors of potentials of charges. A derivative multiplies the error of
    /// the last degree by about p' over half the side of the box in which it is taken; twice that, as the worst points are
    /// the ones that decide.
    fn factor(&self, class: &Class, p: usize) -> f64 {
        let target = side(class.level);
        let source = target * f64::from(class.finer_target).exp2();
        let derivative = |side: f64| (4.0 * p as f64 / side).powi(2) / self.norms.gradient;
        let mut factor = 1.0 / self.norms.potential;
        if self.gradient {
            factor = factor.max(derivative(target));
        }
        if self.dipoles {
            factor = factor.max(derivative(source));
        }
        factor
    }
}

/// What is known of one class.
#[derive(Clone, Debug, Default)]
struct Statistics {
    /// Translations.
    count: f64,
    /// `sum N_source N_target` over them.
    weight: f64,
    /// What the class adds to the squared relative error for each p' (index).
    error2: Vec<f64>,
    /// Pairs of boxes, each with the weight that it stands for.
    candidates: Vec<([u32; 2], f64)>,
}

/// Chooses p' of every batch of `lists`.
pub(crate) fn choose(
    geometry: &Geometry<'_>,
    lists: &mut Lists,
    options: &Options,
    simd: Level,
) -> Orders {
    let mut classes = collect(geometry.tree, lists);
    let p_max = options.truncation_number.unwrap_or_else(|| guess(options)).min(P_MAX);
    let chosen: BTreeMap<Class, usize> = match (options.truncation, options.truncation_number) {
        (Truncation::Fixed, Some(p)) => classes.keys().map(|&class| (class, p)).collect(),
        (Truncation::WorstCaseBound, Some(p)) => {
            classes.keys().map(|c| (*c, bound(c, p))).collect()
        }
        (truncation, _) => {
            let norms = norms(geometry, lists, &classes);
            let measures = Measures { norms, gradient: options.gradient, dipoles: options.dipoles };
            let budget = (options.tolerance / safety(options.tolerance)).powi(2);
            let negligible = NEGLIGIBLE * budget / classes.len().max(1) as f64;
            measure(geometry, &mut classes, p_max, &measures, negligible, simd);
            let error = |of: &dyn Fn(&Class) -> usize| -> f64 {
                classes.iter().map(|(c, s)| s.error2[of(c)]).sum()
            };
            match truncation {
                Truncation::Measured => optimise(&classes, budget, p_max),
                Truncation::Fixed | Truncation::WorstCaseBound => {
                    let of = |p: usize| {
                        move |c: &Class| match truncation {
                            Truncation::Fixed => p,
                            _ => bound(c, p),
                        }
                    };
                    let p = (1..p_max).find(|&p| error(&of(p)) <= budget).unwrap_or(p_max);
                    classes.keys().map(|c| (*c, of(p)(c))).collect()
                }
            }
        }
    };
    assign(geometry.tree, lists, &chosen)
}

/// A truncation number that hardly any class exceeds at this tolerance: the closest pairs converge like 0.55^p on average, the
/// corners of boxes like 0.6^p.
fn guess(options: &Options) -> usize {
    let derivatives = usize::from(options.gradient) + usize::from(options.dipoles);
    let p = (options.tolerance.ln() / 0.6f64.ln()).ceil() as usize + 6 + 3 * derivatives;
    p.clamp(6, P_MAX)
}

/// Paper 001, eq. 24: `p' = p ln(eta*) / ln(eta)`.
fn bound(class: &Class, p: usize) -> usize {
    let (source, target, distance) = class.spheres();
    let eta = source.max(target) / (distance - source.min(target));
    let standard = 3f64.sqrt() / (4.0 - 3f64.sqrt());
    ((p as f64 * standard.ln() / eta.ln()).ceil() as usize).clamp(1, p)
}

/// Counts, weights and candidate pairs of boxes of every class.
fn collect(tree: &Tree, lists: &Lists) -> BTreeMap<Class, Statistics> {
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
            let weight: f64 = pairs.iter().map(weight_of).sum();
            statistics.count += pairs.len() as f64;
            statistics.weight += weight;
            // A few pairs in proportion to their weight.
            let few = pairs.len().min(4);
            let (mut cumulative, mut taken) = (0.0, 0);
            for pair in pairs {
                cumulative += weight_of(pair) / weight * few as f64;
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

/// A deterministic hash for choosing samples.
fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Points of the boxes of one level, each relative to its box and in units of it, with the inverse of the probability of
/// being drawn relative to a uniform draw.
type Pool = Vec<([f64; 3], f64)>;

/// Draws points of the boxes of `level`.
fn draw(
    root: &Root,
    tree: &Tree,
    level: usize,
    (order, points): (&Order, &[[f64; 3]]),
    range: impl Fn(&Cell) -> std::ops::Range<u32>,
) -> Pool {
    let cells = &tree.cells[tree.levels[level].clone()];
    let total: usize = cells.iter().map(|c| range(c).len()).sum();
    let step = total.div_ceil(CANDIDATES).max(1);
    let mut candidates = Vec::with_capacity(total.div_ceil(step));
    let mut skip = step / 2;
    for cell in cells {
        let range = range(cell);
        while skip < range.len() {
            let i = order.index[range.start as usize + skip] as usize;
            candidates.push(relative(root, cell, &points[i]));
            skip += step;
        }
        skip -= range.len();
    }
    if candidates.is_empty() {
        return Vec::new();
    }
    let mut pool = Vec::with_capacity(POWERS.len() * DRAWN);
    draw_by_radius(&candidates, DRAWN, |x, weight| pool.push((x, weight)));
    pool
}

/// Draws `count` of the candidates (point, radius) for each of [`POWERS`], and passes each with the inverse of its probability
/// relative to a uniform draw.
fn draw_by_radius(
    candidates: &[([f64; 3], f64)],
    count: usize,
    mut put: impl FnMut([f64; 3], f64),
) {
    let uniform = 1.0 / candidates.len() as f64;
    let sums = POWERS.map(|power| {
        candidates.iter().map(|(_, r)| r.powi(power)).sum::<f64>().max(f64::MIN_POSITIVE)
    });
    for (power, sum) in POWERS.into_iter().zip(sums) {
        // Systematic draw: one point for each part of the cumulative probability.
        let mut cumulative = 0.0;
        let mut drawn = 0;
        for (x, r) in candidates {
            cumulative += r.powi(power) / sum * count as f64;
            while drawn < count && cumulative > drawn as f64 + 0.5 {
                let terms = POWERS.into_iter().zip(sums).map(|(power, sum)| r.powi(power) / sum);
                let probability = terms.sum::<f64>() / POWERS.len() as f64;
                put(*x, uniform / probability);
                drawn += 1;
            }
        }
    }
}

/// One point of a box, drawn by radius among a few, with its weight.
fn draw_in_cell(
    root: &Root,
    cell: &Cell,
    (order, points): (&Order, &[[f64; 3]]),
    range: &std::ops::Range<u32>,
    salt: u64,
) -> ([f64; 3], f64) {
    const FEW: usize = 16;
    let count = range.len().min(FEW);
    let mut candidates = [([0.0; 3], 0.0); FEW];
    let first = mix(salt, u64::from(range.start)) as usize;
    for (i, candidate) in candidates[..count].iter_mut().enumerate() {
        let slot = range.start as usize + (first + i * range.len() / count) % range.len();
        *candidate = relative(root, cell, &points[order.index[slot] as usize]);
    }
    let power = POWERS[salt as usize % POWERS.len()];
    let mut drawn = (candidates[0].0, 1.0);
    // The stratum of this draw within the power's cumulative probability.
    let sum: f64 = candidates[..count].iter().map(|(_, r)| r.powi(power)).sum();
    let goal = (mix(salt, 77) % 1024) as f64 / 1024.0 * sum;
    let mut cumulative = 0.0;
    let sums = POWERS.map(|power| {
        candidates[..count].iter().map(|(_, r)| r.powi(power)).sum::<f64>().max(f64::MIN_POSITIVE)
    });
    for (x, r) in &candidates[..count] {
        cumulative += r.powi(power);
        if cumulative > goal {
            let terms = POWERS.into_iter().zip(sums).map(|(power, sum)| r.powi(power) / sum);
            let probability = terms.sum::<f64>() / POWERS.len() as f64;
            drawn = (*x, 1.0 / (count as f64 * probability));
            break;
        }
    }
    drawn
}

/// A point relative to its box in units of the box, and its distance from the centre in half diagonals.
fn relative(root: &Root, cell: &Cell, point: &[f64; 3]) -> ([f64; 3], f64) {
    let (scaled, centre, side) = (root.scaled(point), cell.centre(), side(cell.level));
    let x: [f64; 3] = std::array::from_fn(|k| (scaled[k] - centre[k]) / side);
    let radius = (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]).sqrt();
    (x, radius / (0.5 * 3f64.sqrt()))
}

/// Measures what every class adds to the squared relative error for every p' up to `p_max`, or until that is less than
/// `negligible`: from there on it is taken as constant.
fn measure(
    geometry: &Geometry<'_>,
    classes: &mut BTreeMap<Class, Statistics>,
    p_max: usize,
    measures: &Measures,
    negligible: f64,
    simd: Level,
) {
    let Geometry { root, tree, sources, targets } = geometry;
    let levels = 0..tree.levels.len();
    let source_pools: Vec<Pool> = levels
        .clone()
        .into_par_iter()
        .map(|level| draw(root, tree, level, *sources, |c| c.sources.clone()))
        .collect();
    let target_pools: Vec<Pool> = levels
        .into_par_iter()
        .map(|level| draw(root, tree, level, *targets, |c| c.targets.clone()))
        .collect();
    let harmonics = Harmonics::<f64>::new(p_max);
    let coaxials: BTreeMap<_, _> = {
        let mut distinct: Vec<Class> = classes.keys().map(|c| Class { level: 0, ..*c }).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let of = |class: Class| {
            let ((source, target), (_, _, distance)) = (class.sides(), class.spheres());
            (class, Coaxial::<f64>::m2l(p_max, source, target, distance))
        };
        distinct.into_par_iter().map(of).collect()
    };
    let classes: Vec<_> = classes.iter_mut().collect();
    classes.into_par_iter().for_each(|(class, statistics)| {
        let (_, _, distance) = class.spheres();
        let coaxial = &coaxials[&Class { level: 0, ..*class }];
        // From the target's side as the unit of length to the root's.
        let unit2 = side(class.level).powi(2);
        let source_level = class.level as i32 - i32::from(class.finer_target);
        let from = &source_pools[source_level as usize];
        let to = &target_pools[class.level as usize];
        let samples = (statistics.count as usize / TRANSLATIONS_A_SAMPLE)
            .next_multiple_of(PILOTS)
            .clamp(PILOTS, SAMPLES);
        let boxes = resample(&statistics.candidates, statistics.weight, samples);
        statistics.candidates = Vec::new();
        // Points of the whole level resolve the corners best; points of the very boxes know on which side of a box its
        // points crowd. The larger error of the two counts.
        let of_level: Vec<Sample> = boxes
            .iter()
            .enumerate()
            .map(|(i, &[s, t])| {
                let axis = aligned(&tree.cells[s as usize], &tree.cells[t as usize]);
                let (y, of_y) = from[mix(i as u64, u64::from(class.level)) as usize % from.len()];
                let (x, of_x) = to[mix(i as u64, 1000 + distance.to_bits()) as usize % to.len()];
                (y, x, axis, of_x * of_y)
            })
            .collect();
        let of_boxes: Vec<Sample> = boxes
            .iter()
            .enumerate()
            .map(|(i, &[s, t])| {
                let (source, target) = (&tree.cells[s as usize], &tree.cells[t as usize]);
                let salt = mix(i as u64, distance.to_bits()) & !15 | (i as u64 & 15);
                let (y, of_y) = draw_in_cell(root, source, *sources, &source.sources, salt);
                let (x, of_x) = draw_in_cell(root, target, *targets, &target.targets, salt >> 2);
                (y, x, aligned(source, target), of_x * of_y)
            })
            .collect();
        let weight = statistics.weight;
        let error2 = |pairs: &[Sample], p_max: usize| {
            let task = Errors { harmonics: &harmonics, coaxial, class: *class, pairs, p_max };
            let mut error = f64::dispatch(simd, task);
            for (p, e) in error.iter_mut().enumerate() {
                *e *= weight / unit2 * measures.factor(class, p) * (1.0 + DOUBT / samples as f64);
            }
            error
        };
        // The pilots are spread over all pairs of boxes.
        let pilots: Vec<Sample> =
            of_level.iter().copied().step_by(samples / PILOTS).take(PILOTS).collect();
        let pilot = error2(&pilots, p_max);
        let mut limit =
            pilot.iter().position(|&e| e < negligible).map_or(p_max, |p| (p + 1).min(p_max));
        let mut error = loop {
            let mut error = error2(&of_level, limit);
            for (e, other) in error.iter_mut().zip(error2(&of_boxes, limit)) {
                *e = e.max(other);
            }
            // The pilots may have missed the rare points that decide.
            if limit == p_max || error[limit] <= 2.0 * negligible {
                break error;
            }
            limit = (limit + 4).min(p_max);
        };
        error.resize(p_max + 1, error[limit]);
        statistics.error2 = error;
    });
}

/// `samples` pairs of boxes in proportion to their weight.
fn resample(candidates: &[([u32; 2], f64)], weight: f64, samples: usize) -> Vec<[u32; 2]> {
    let mut boxes = Vec::with_capacity(samples);
    let mut cumulative = 0.0;
    for (pair, share) in candidates {
        cumulative += share / weight * samples as f64;
        while boxes.len() < samples && cumulative > boxes.len() as f64 + 0.5 {
            boxes.push(*pair);
        }
    }
    let last = candidates[candidates.len() - 1].0;
    boxes.resize(samples, last);
    boxes
}

/// The unit vector from source to target.
fn aligned(source: &Cell, target: &Cell) -> [f64; 3] {
    let offset = crate::lists::offset(source, target).map(f64::from);
    let length = offset.iter().map(|o| o * o).sum::<f64>().sqrt();
    offset.map(|o| o / length)
}

/// A source point and a target point, each in its box, the direction between the boxes and the sample's weight.
type Sample = ([f64; 3], [f64; 3], [f64; 3], f64);

/// The squared error of the truncated expansion for every p' at once, averaged over the samples.
struct Errors<'a> {
    harmonics: &'a Harmonics<f64>,
    coaxial: &'a Coaxial<f64>,
    class: Class,
    pairs: &'a [Sample],
    p_max: usize,
}

impl Task<f64> for Errors<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Vec<f64> {
        let p = self.p_max;
        let (source_side, target_side) = self.class.sides();
        let (_, _, distance) = self.class.spheres();
        let mut sums = vec![0.0; p + 1];
        let mut x = vec![V::zero(); p * p];
        let mut y = vec![V::zero(); p * p];
        // V::LANES samples at a time, each in the frame whose z-axis joins the boxes.
        for pairs in self.pairs.chunks_exact(V::LANES) {
            let mut from = [V::zero(); 3];
            let mut to = [V::zero(); 3];
            let mut exact = [V::zero()];
            let mut weight = [V::zero()];
            for (lane, (source, target, axis, w)) in pairs.iter().enumerate() {
                let frame = frame(*axis);
                let dot = |a: &[f64; 3], b: &[f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
                let mut d2 = 0.0;
                for k in 0..3 {
                    scalars_mut(&mut from)[k * V::LANES + lane] = dot(&frame[k], source);
                    scalars_mut(&mut to)[k * V::LANES + lane] = dot(&frame[k], target);
                    let d = distance * axis[k] + target_side * target[k] - source_side * source[k];
                    d2 += d * d;
                }
                // In units of the target's side.
                scalars_mut(&mut exact)[lane] = target_side / d2.sqrt();
                scalars_mut(&mut weight)[lane] = *w;
            }
            self.harmonics.regular(p, from, &mut y);
            self.harmonics.regular(p, to, &mut x);
            let mut rest = exact[0];
            for q in 0..=p {
                sums[q] += rest.mul(rest).mul(weight[0]).sum();
                if q < p {
                    rest = rest.sub(shell(self.coaxial, q, &x, &y));
                }
            }
        }
        for sum in &mut sums {
            *sum /= self.pairs.len() as f64;
        }
        sums
    }
}

/// What raising the truncation number from q to q + 1 adds: row q and column q of each order's matrix.
#[inline(always)]
fn shell<V: Simd<Scalar = f64>>(coaxial: &Coaxial<f64>, q: usize, x: &[V], y: &[V]) -> V {
    let mut sum = V::zero();
    for m in 0..=q {
        let (matrix, stride) = coaxial.matrix(m);
        // The table carries the sign (-1)^m of the way back of a rotation, which does not happen here.
        let sign = V::splat(parity(m));
        let mut row = [V::zero(); 2];
        let mut column = [V::zero(); 2];
        for n in m..=q {
            let of_row = V::splat(matrix[(q - m) * stride + n - m]);
            row[0] = of_row.mul_add(y[cosine(n, m)], row[0]);
            if m > 0 {
                row[1] = of_row.mul_add(y[sine(n, m)], row[1]);
            }
            if n < q {
                let of_column = V::splat(matrix[(n - m) * stride + q - m]);
                column[0] = of_column.mul_add(x[cosine(n, m)], column[0]);
                if m > 0 {
                    column[1] = of_column.mul_add(x[sine(n, m)], column[1]);
                }
            }
        }
        let mut part = row[0].mul(x[cosine(q, m)]).add(column[0].mul(y[cosine(q, m)]));
        if m > 0 {
            part = part.add(row[1].mul(x[sine(q, m)])).add(column[1].mul(y[sine(q, m)]));
        }
        sum = sign.mul_add(part, sum);
    }
    sum
}

/// Rows of a rotation that takes the unit vector `axis` to z.
fn frame(axis: [f64; 3]) -> [[f64; 3]; 3] {
    let [x, y, z] = axis;
    let rho = x.hypot(y);
    let (c, s) = if rho > 0.0 { (x / rho, y / rho) } else { (1.0, 0.0) };
    [[z * c, z * s, -rho], [-s, c, 0.0], [rho * c, rho * s, z]]
}

/// The sums over all pairs of points.
///
/// Far pairs count by their boxes' distance, near ones by a sample of targets. Close encounters are rare, so the
/// estimate errs on the small side, which only tightens the truncation.
fn norms(geometry: &Geometry<'_>, lists: &Lists, classes: &BTreeMap<Class, Statistics>) -> Norms {
    const TARGETS: usize = 2000;
    let mut norms = Norms::default();
    for (class, statistics) in classes {
        let (_, _, distance) = class.spheres();
        let (_, target_side) = class.sides();
        let d2 = (distance / target_side * side(class.level)).powi(2);
        norms.potential += statistics.weight / d2;
        norms.gradient += statistics.weight / (d2 * d2);
    }
    let tree = geometry.tree;
    let leaves = &lists.near.cells;
    let picked = TARGETS.min(4 * leaves.len());
    let (near, targets) = (0..picked)
        .into_par_iter()
        .map(|i| {
            let row = i * leaves.len() / picked;
            let leaf = &tree.cells[leaves[row] as usize];
            let count = leaf.targets.len();
            let mut near = Norms::default();
            if count == 0 {
                return (near, 0.0);
            }
            let t = leaf.targets.start as usize + mix(i as u64, 3) as usize % count;
            let x = geometry.root.scaled(&geometry.targets.1[geometry.targets.0.index[t] as usize]);
            for &s in lists.near.row(row) {
                for j in tree.cells[s as usize].sources.clone() {
                    let j = geometry.sources.0.index[j as usize] as usize;
                    let y = geometry.root.scaled(&geometry.sources.1[j]);
                    let r2: f64 = (0..3).map(|k| (x[k] - y[k]) * (x[k] - y[k])).sum();
                    if r2 > 0.0 {
                        // One target stands for all of its leaf.
                        near.potential += count as f64 / r2;
                        // One close encounter in the sample would count for thousands.
                        let r2 = r2.max((side(leaf.level) / 16.0).powi(2));
                        near.gradient += count as f64 / (r2 * r2);
                    }
                }
            }
            (near, count as f64)
        })
        .reduce(Default::default, |(a, n), (b, m)| {
            let sum =
                Norms { potential: a.potential + b.potential, gradient: a.gradient + b.gradient };
            (sum, n + m)
        });
    if targets > 0.0 {
        let scale = geometry.targets.1.len() as f64 / targets;
        norms.potential += near.potential * scale;
        norms.gradient += near.gradient * scale;
    }
    norms
}

/// Relative time of one translation.
fn cost(p: usize) -> f64 {
    let p = p as f64;
    2.0 * p * p * p + 10.0 * p * p + 30.0
}

/// The cheapest truncation numbers whose summed squared error is at most `budget`, or the most exact ones there are.
fn optimise(
    classes: &BTreeMap<Class, Statistics>,
    budget: f64,
    p_max: usize,
) -> BTreeMap<Class, usize> {
    let best = |s: &Statistics, lambda: f64| {
        let objective = |p: usize| s.count * cost(p) + lambda * s.error2[p];
        (1..=p_max).min_by(|&a, &b| objective(a).total_cmp(&objective(b))).unwrap_or(p_max)
    };
    let error = |lambda: f64| -> f64 { classes.values().map(|s| s.error2[best(s, lambda)]).sum() };
    let work: f64 = classes.values().map(|s| s.count * cost(p_max)).sum();
    // From "all as cheap as possible" to "all as exact as possible", on a logarithmic scale.
    let (mut low, mut high) =
        (work * 1e-6 / budget.max(f64::MIN_POSITIVE), work * 1e12 / budget.max(f64::MIN_POSITIVE));
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if error(middle) > budget {
            low = middle;
        } else {
            high = middle;
        }
    }
    classes.iter().map(|(class, s)| (*class, best(s, high))).collect()
}

/// Writes the truncation numbers into the batches and derives those of the stored expansions.
fn assign(tree: &Tree, lists: &mut Lists, chosen: &BTreeMap<Class, usize>) -> Orders {
    let levels = tree.levels.len();
    let mut orders = Orders { multipole: vec![0; levels], local: vec![0; levels], mean: 0.0 };
    let mut count = 0;
    for chunk in &mut lists.chunks {
        for batch in &mut chunk.batches {
            let p = chosen[&Class::of(chunk.level, &lists.vectors[batch.vector as usize])];
            batch.order = p as u16;
            let (source, target) = (batch.source_level as usize, chunk.level as usize);
            orders.multipole[source] = orders.multipole[source].max(p);
            orders.local[target] = orders.local[target].max(p);
            orders.mean += p as f64 * batch.pairs.len() as f64;
            count += batch.pairs.len();
        }
    }
    orders.mean /= count.max(1) as f64;
    for level in 1..levels {
        for stored in [&mut orders.multipole, &mut orders.local] {
            let above = stored[level - 1];
            if above > 0 {
                let inherited = (CHILD_FRACTION * above as f64).ceil() as usize + CHILD_MORE;
                stored[level] = stored[level].max(inherited.min(above));
            }
        }
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_rotations_onto_z() {
        for axis in [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.6, 0.0, 0.8], [0.36, -0.48, -0.8]] {
            let f = frame(axis);
            for i in 0..3 {
                for j in 0..3 {
                    let dot: f64 = (0..3).map(|k| f[i][k] * f[j][k]).sum();
                    assert!((dot - if i == j { 1.0 } else { 0.0 }).abs() < 1e-15);
                }
                let z: f64 = (0..3).map(|k| f[i][k] * axis[k]).sum();
                assert!((z - if i == 2 { 1.0 } else { 0.0 }).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn the_worst_case_bound_is_paper_001_eq_24() {
        let class = |finer_target, offset| Class { level: 3, finer_target, offset };
        assert_eq!(bound(&class(0, [0, 0, 4]), 8), 8);
        // The corner pair of the text: eta = 0.199.
        assert_eq!(bound(&class(0, [6, 6, 6]), 8), 2);
    }
}
