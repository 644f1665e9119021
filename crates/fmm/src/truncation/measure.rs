//! What each class of translations adds to the error for every truncation number, measured on the plan's own points.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::Class;
use super::sampling::{self, Pool, mix};
use crate::coaxial::Coaxial;
use crate::harmonics::{Harmonics, cosine, parity, sine};
use crate::lists::{Chunk, Lists};
use crate::simd::{Level, Real, Simd, Task, scalars_mut};
use crate::tree::{Cell, Order, Root, Tree, side};

/// Pairs of points sampled for a class with many translations: a multiple of every vector width.
const SAMPLES: usize = 192;

/// Translations of a class for each of its samples: measuring must cost less than what it saves.
const TRANSLATIONS_A_SAMPLE: usize = 8;

/// What is added to the squared error of a class, times the error, divided by the number of samples: few samples miss more.
const DOUBT: f64 = 96.0;

/// Samples that find where a class's error becomes negligible; beyond that truncation number the others are not worked.
const PILOTS: usize = 32;

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
    /// `sum 1/r^4`: gradients, and potentials of dipoles.
    pub(super) gradient: f64,
}

/// In which quantities the error is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measures {
    pub(super) norms: Norms,
    pub(super) gradient: bool,
    pub(super) dipoles: bool,
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
pub(super) struct Statistics {
    /// Translations.
    pub(super) count: f64,
    /// `sum N_source N_target` over them.
    pub(super) weight: f64,
    /// What the class adds to the squared relative error for each p' (index).
    pub(super) error2: Vec<f64>,
    /// Pairs of boxes, each with the weight that it stands for.
    pub(super) candidates: Vec<([u32; 2], f64)>,
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

/// Measures what every class adds to the squared relative error for every p' up to `p_max`, or until that is less than
/// `negligible`: from there on it is taken as constant.
pub(super) fn measure(
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
        .map(|level| sampling::draw(root, tree, level, *sources, |c| c.sources.clone()))
        .collect();
    let target_pools: Vec<Pool> = levels
        .into_par_iter()
        .map(|level| sampling::draw(root, tree, level, *targets, |c| c.targets.clone()))
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
        let boxes = sampling::resample(&statistics.candidates, statistics.weight, samples);
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
                let (y, of_y) =
                    sampling::draw_in_cell(root, source, *sources, &source.sources, salt);
                let (x, of_x) =
                    sampling::draw_in_cell(root, target, *targets, &target.targets, salt >> 2);
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
pub(super) fn norms(
    geometry: &Geometry<'_>,
    lists: &Lists,
    classes: &BTreeMap<Class, Statistics>,
) -> Norms {
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
}
