//! The truncation number p' of every batch of translations, from measured errors (docs/math.md, "Truncation").
//!
//! For charges of random sign the squared errors of all translations add up, each weighted by the sources and targets that
//! it serves. So the batches of one level and class (equal up to the symmetries of the cube) are given the truncation
//! numbers that cost least for a given sum: minimise `sum count cost(p') + lambda sum weight error(p')^2`, with the
//! multiplier lambda that meets the tolerance. Errors are measured on the plan's own points: a few pairs of boxes of each
//! class, a pair of points in each, the truncated expansion against 1/r, for every p' at once. Paper 001's eq. 24 equalises
//! worst-case bounds instead, which is far from optimal (docs/performance.md has the comparison).

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::coaxial::Coaxial;
use crate::harmonics::{Harmonics, cosine, sine};
use crate::lists::Lists;
use crate::simd::{Level, Real, Simd, Task, scalars_mut};
use crate::translate::{Kind, Vector};
use crate::tree::{Cell, Order, Root, Tree, side};
use crate::{Error, Options, Truncation};

/// Largest truncation number.
pub(crate) const P_MAX: usize = 40;

/// Pairs of points sampled for each class and level: a multiple of every vector width.
const SAMPLES: usize = 64;

/// The measured rms error is that of a sample, and M2M and L2L add a little.
const SAFETY: f64 = 1.5;

/// A child's expansion needs this fraction of its parent's truncation number: it is seen from at least twice as far in
/// units of its own side, `ln 0.7637 / ln 0.62 = 0.56` in the worst case.
const CHILD_FRACTION: f64 = 0.7;

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

/// What is known of one class.
#[derive(Clone, Debug, Default)]
struct Statistics {
    /// Translations.
    count: f64,
    /// `sum N_source N_target` over them.
    weight: f64,
    /// Mean squared error of 1/r for each p' (index), in units of the root's side.
    error2: Vec<f64>,
    /// Sampled pairs of boxes.
    samples: Vec<[u32; 2]>,
}

/// Chooses p' of every batch of `lists`.
///
/// # Errors
/// [`Error::Option`] when the tolerance asks for more than [`P_MAX`].
pub(crate) fn choose(
    geometry: &Geometry<'_>,
    lists: &mut Lists,
    options: &Options,
    simd: Level,
) -> Result<Orders, Error> {
    let mut classes = collect(geometry.tree, lists);
    let p_max = options.truncation_number.unwrap_or_else(|| guess(options.tolerance)).min(P_MAX);
    let chosen: BTreeMap<Class, usize> = match (options.truncation, options.truncation_number) {
        (Truncation::Fixed, Some(p)) => classes.keys().map(|&class| (class, p)).collect(),
        (Truncation::WorstCaseBound, Some(p)) => classes.keys().map(|c| (*c, bound(c, p))).collect(),
        (truncation, limit) => {
            measure(geometry, &mut classes, p_max, simd);
            let budget = {
                let tolerance = options.tolerance / SAFETY;
                tolerance * tolerance * squared_potential(geometry, lists, &classes)
            };
            let error = |of: &dyn Fn(&Class) -> usize| -> f64 {
                classes.iter().map(|(c, s)| s.weight * s.error2[of(c)]).sum()
            };
            match truncation {
                Truncation::Measured => optimise(&classes, budget, p_max, limit.is_none())?,
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
    Ok(assign(geometry.tree, lists, &chosen))
}

/// A truncation number that no class exceeds at this tolerance: the closest pairs converge like 0.55^p on average.
fn guess(tolerance: f64) -> usize {
    ((tolerance.ln() / 0.55f64.ln()).ceil() as usize + 6).clamp(6, P_MAX)
}

/// Paper 001, eq. 24: `p' = p ln(eta*) / ln(eta)`.
fn bound(class: &Class, p: usize) -> usize {
    let (source, target, distance) = class.spheres();
    let eta = source.max(target) / (distance - source.min(target));
    let standard = 3f64.sqrt() / (4.0 - 3f64.sqrt());
    ((p as f64 * standard.ln() / eta.ln()).ceil() as usize).clamp(1, p)
}

/// Counts, weights and sampled pairs of every class.
fn collect(tree: &Tree, lists: &Lists) -> BTreeMap<Class, Statistics> {
    let mut classes = BTreeMap::<Class, Statistics>::new();
    for chunk in &lists.chunks {
        for batch in &chunk.batches {
            let class = Class::of(chunk.level, &lists.vectors[batch.vector as usize]);
            let statistics = classes.entry(class).or_default();
            let base = tree.levels[batch.source_level as usize].start as u32;
            let pairs = &chunk.pairs[batch.pairs.start as usize..batch.pairs.end as usize];
            statistics.count += pairs.len() as f64;
            for &[s, t] in pairs {
                let (source, target) = (base + s, chunk.cells.start as u32 + t);
                let weight = tree.cells[source as usize].sources.len() as f64
                    * tree.cells[target as usize].targets.len() as f64;
                statistics.weight += weight;
            }
            // Every batch may contribute, later ones by replacing earlier ones, evenly spread by a fixed stride.
            for (i, &[s, t]) in pairs.iter().enumerate().step_by(pairs.len().div_ceil(4)) {
                let pair = [base + s, chunk.cells.start as u32 + t];
                if statistics.samples.len() < SAMPLES {
                    statistics.samples.push(pair);
                } else {
                    let slot = mix(statistics.count as u64, i as u64) as usize % (4 * SAMPLES);
                    if slot < SAMPLES {
                        statistics.samples[slot] = pair;
                    }
                }
            }
        }
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

/// Measures the mean squared error of every class for every p' up to `p_max`.
fn measure(
    geometry: &Geometry<'_>,
    classes: &mut BTreeMap<Class, Statistics>,
    p_max: usize,
    simd: Level,
) {
    let harmonics = Harmonics::<f64>::new(p_max);
    classes.iter_mut().par_bridge().for_each(|(class, statistics)| {
        let (source_side, target_side) = class.sides();
        let (_, _, distance) = class.spheres();
        let coaxial = Coaxial::<f64>::m2l(p_max, source_side, target_side, distance);
        let pairs: Vec<_> = (0..SAMPLES)
            .map(|i| {
                let [s, t] = statistics.samples[i % statistics.samples.len()];
                let source = &geometry.tree.cells[s as usize];
                let target = &geometry.tree.cells[t as usize];
                let pick = |range: &std::ops::Range<u32>, salt: u64| {
                    range.start + (mix(u64::from(s) << 32 | u64::from(t), salt + i as u64) % range.len() as u64) as u32
                };
                let y = pick(&source.sources, 0);
                let x = pick(&target.targets, 1 << 20);
                let weight = source.sources.len() as f64 * target.targets.len() as f64;
                (in_box(geometry.root, geometry.sources, source, y), in_box(geometry.root, geometry.targets, target, x),
                 aligned(source, target), weight)
            })
            .collect();
        let task = Errors { harmonics: &harmonics, coaxial: &coaxial, class: *class, pairs: &pairs, p_max };
        statistics.error2 = f64::dispatch(simd, task);
        // From the target's side as the unit of length to the root's.
        let unit = side(class.level);
        for e in &mut statistics.error2 {
            *e /= unit * unit;
        }
        statistics.samples = Vec::new();
    });
}

/// Point `i` (in Morton order) relative to its box, in units of the box.
fn in_box(root: &Root, (order, points): (&Order, &[[f64; 3]]), cell: &Cell, i: u32) -> [f64; 3] {
    let scaled = root.scaled(&points[order.index[i as usize] as usize]);
    let (centre, side) = (cell.centre(), side(cell.level));
    std::array::from_fn(|k| (scaled[k] - centre[k]) / side)
}

/// The unit vector from source to target.
fn aligned(source: &Cell, target: &Cell) -> [f64; 3] {
    let offset = crate::lists::offset(source, target).map(f64::from);
    let length = offset.iter().map(|o| o * o).sum::<f64>().sqrt();
    offset.map(|o| o / length)
}

/// A source point and a target point, each in its box, the direction between the boxes and the pair's weight.
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
        let mut total = 0.0;
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
                total += w;
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
            *sum /= total;
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
        let sign = V::splat(if m % 2 == 0 { 1.0 } else { -1.0 });
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

/// `sum 1/r^2` over all pairs of points, in units of the root's side: what charges +1 and -1 at random give for the sum of
/// squared potentials.
///
/// Far pairs count by their boxes' distance, near ones by a sample of targets. Close encounters are rare, so the
/// estimate errs on the small side, which only tightens the truncation.
fn squared_potential(
    geometry: &Geometry<'_>,
    lists: &Lists,
    classes: &BTreeMap<Class, Statistics>,
) -> f64 {
    const TARGETS: usize = 2000;
    let far: f64 = classes
        .iter()
        .map(|(class, s)| {
            let (_, _, distance) = class.spheres();
            let (_, target_side) = class.sides();
            let d = distance / target_side * side(class.level);
            s.weight / (d * d)
        })
        .sum();
    let tree = geometry.tree;
    let leaves = &lists.near.cells;
    let picked = TARGETS.min(4 * leaves.len());
    let (sum, targets, all) = (0..picked)
        .into_par_iter()
        .map(|i| {
            let row = i * leaves.len() / picked;
            let leaf = &tree.cells[leaves[row] as usize];
            let count = leaf.targets.len();
            if count == 0 {
                return (0.0, 0.0, 0.0);
            }
            let t = leaf.targets.start as usize + mix(i as u64, 3) as usize % count;
            let x = geometry.root.scaled(&geometry.targets.1[geometry.targets.0.index[t] as usize]);
            let mut sum = 0.0;
            for &s in lists.near.row(row) {
                for j in tree.cells[s as usize].sources.clone() {
                    let j = geometry.sources.0.index[j as usize] as usize;
                    let y = geometry.root.scaled(&geometry.sources.1[j]);
                    let r2: f64 = (0..3).map(|k| (x[k] - y[k]) * (x[k] - y[k])).sum();
                    if r2 > 0.0 {
                        sum += 1.0 / r2;
                    }
                }
            }
            // One target stands for all of its leaf.
            (sum * count as f64, count as f64, 0.0)
        })
        .reduce(|| (0.0, 0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
    let _ = all;
    let m = geometry.targets.1.len() as f64;
    far + if targets > 0.0 { sum / targets * m } else { 0.0 }
}

/// Relative time of one translation.
fn cost(p: usize) -> f64 {
    let p = p as f64;
    2.0 * p * p * p + 10.0 * p * p + 30.0
}

/// The cheapest truncation numbers whose summed squared error is at most `budget`.
fn optimise(
    classes: &BTreeMap<Class, Statistics>,
    budget: f64,
    p_max: usize,
    strict: bool,
) -> Result<BTreeMap<Class, usize>, Error> {
    let best = |s: &Statistics, lambda: f64| {
        let objective = |p: usize| s.count * cost(p) + lambda * s.weight * s.error2[p];
        (1..=p_max).min_by(|&a, &b| objective(a).total_cmp(&objective(b))).unwrap_or(p_max)
    };
    let error = |lambda: f64| -> f64 {
        classes.values().map(|s| s.weight * s.error2[best(s, lambda)]).sum()
    };
    let work: f64 = classes.values().map(|s| s.count * cost(p_max)).sum();
    // From "all as cheap as possible" to "all as exact as possible", on a logarithmic scale.
    let (mut low, mut high) = (work * 1e-6 / budget.max(f64::MIN_POSITIVE), work * 1e12 / budget.max(f64::MIN_POSITIVE));
    if strict && error(high) > budget && p_max >= P_MAX {
        return Err(Error::Option {
            option: "tolerance",
            value: "smaller than truncation number 40 reaches".into(),
            allowed: "raise it, or use Mode::Direct",
        });
    }
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if error(middle) > budget {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(classes.iter().map(|(class, s)| (*class, best(s, high))).collect())
}

/// Writes the truncation numbers into the batches and derives those of the stored expansions.
fn assign(tree: &Tree, lists: &mut Lists, chosen: &BTreeMap<Class, usize>) -> Orders {
    let levels = tree.levels.len();
    let mut orders =
        Orders { multipole: vec![0; levels], local: vec![0; levels], mean: 0.0 };
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
            let inherited = (CHILD_FRACTION * stored[level - 1] as f64).ceil() as usize;
            stored[level] = stored[level].max(inherited);
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
