//! The truncation number p' of every batch of translations, from measured errors (docs/math.md, "Truncation").
//!
//! For charges of random sign the squared errors of all translations add up, each weighted by the sources and targets that
//! it serves. So the batches of one level and class (equal up to the symmetries of the cube) are given the truncation
//! numbers that cost least for a given sum: minimise `sum count cost(p') + lambda sum weight error(p')^2`, with the
//! multiplier lambda that meets the tolerance. Errors are measured on the plan's own points: pairs of points placed in
//! two boxes of the class, the truncated expansion against 1/r, for every p' at once. High powers of the radius decide,
//! which few points near the corners of a box contribute, so those are sampled more often and weighted less. Paper 001's
//! eq. 24 equalises worst-case bounds instead, which is far from optimal (docs/experiments.md has the comparison).

mod measure;
mod sampling;
mod series;

use std::collections::BTreeMap;

pub(crate) use measure::Geometry;
use measure::{Goal, Measures, Statistics, collect, measure, norms};

use crate::lists::Lists;
use crate::simd::Level;
use crate::translate::{Kind, Vector};
use crate::tree::{Tree, side};
use crate::{Backend, Options, Truncation};

/// Largest truncation number.
pub(crate) const P_MAX: usize = 60;

/// Margin between the tolerance and the error that is predicted. The prediction rests on a sample, which misses rare pairs the
/// more the higher the truncation numbers are, and one set of charges may do worse than the mean. Seen: 2 at 1e-3, 5 at 1e-9.
/// Derivatives depend even more on the points nearest to the corners of their boxes.
fn safety(options: &Options) -> f64 {
    let derivatives = if options.gradient || options.dipoles { 2.0 } else { 1.0 };
    derivatives * (2.0 - 0.25 * options.tolerance.ln())
}

/// Part of the error budget below which the errors of all classes together are negligible.
const NEGLIGIBLE: f64 = 0.02;

/// Largest error of a class alone, in tolerances (with a GPU, if the boxes store as many terms): to charges where points are sparse
/// a few classes are all there is, however little those count beside the rest.
pub(crate) const OWN: f64 = 0.7;

/// A child's expansion needs this fraction of its parent's truncation number, and [`CHILD_MORE`]: it is seen from at least
/// twice as far in units of its own side, `ln 0.7637 / ln 0.62 = 0.56` in the worst case.
const CHILD_FRACTION: f64 = 0.7;

/// At two digits, where truncation numbers are 2 to 5, the fraction alone leaves errors of the size of the tolerance.
const CHILD_MORE: usize = 1;

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

impl Orders {
    /// Terms that both expansions of a class's translations have.
    fn common(&self, class: &Class) -> usize {
        let source = class.level as i32 - i32::from(class.finer_target);
        self.multipole[source as usize].min(self.local[class.level as usize])
    }
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

    /// Squared distance of the boxes' centres in units of the root's side.
    fn distance2(&self) -> f64 {
        let (_, _, distance) = self.spheres();
        let (_, target_side) = self.sides();
        (distance / target_side * side(self.level)).powi(2)
    }

    /// Sides of source and target in units of the smaller.
    fn sides(&self) -> (f64, f64) {
        let ratio = f64::from(self.finer_target).exp2();
        if self.finer_target >= 0 { (ratio, 1.0) } else { (1.0, 1.0 / ratio) }
    }
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
            let [norms, far] = norms(geometry, lists, &classes);
            let Options { gradient, dipoles, .. } = *options;
            let measures = Measures { norms, far, gradient, dipoles };
            let budget = (options.tolerance / safety(options)).powi(2);
            let goal = Goal {
                negligible: NEGLIGIBLE * budget / classes.len().max(1) as f64,
                own2: (OWN * options.tolerance).powi(2),
            };
            measure(geometry, &mut classes, p_max, &measures, goal, simd);
            let error = |of: &dyn Fn(&Class) -> usize| -> f64 {
                classes.iter().map(|(c, s)| s.error2(of(c))).sum()
            };
            match truncation {
                Truncation::Measured => {
                    // Beside a GPU boxes with few points are translated, not summed directly, and all boxes of their level
                    // would have to store what they ask for.
                    let hybrid = options.backend == Backend::Hybrid;
                    let asked = if hybrid { f64::INFINITY } else { goal.own2 };
                    let mut chosen = optimise(&classes, budget, asked);
                    if hybrid {
                        let stored = assign(geometry.tree, lists, &chosen);
                        for (class, p) in &mut chosen {
                            *p = classes[class].least(goal.own2).min(stored.common(class)).max(*p);
                        }
                    }
                    chosen
                }
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
pub(crate) fn guess(options: &Options) -> usize {
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

/// Relative time of one translation.
fn cost(p: usize) -> f64 {
    let p = p as f64;
    2.0 * p * p * p + 10.0 * p * p + 30.0
}

/// The cheapest truncation numbers whose summed squared error is at most `budget` and that of no class alone above `own2`, or the
/// most exact ones there are.
fn optimise(
    classes: &BTreeMap<Class, Statistics>,
    budget: f64,
    own2: f64,
) -> BTreeMap<Class, usize> {
    let costs: Vec<f64> = (0..=P_MAX).map(cost).collect();
    let best = |s: &Statistics, lambda: f64| {
        let objective = |p: usize| s.count * costs[p] + lambda * s.error2[p];
        let last = s.error2.len() - 1;
        (s.least(own2)..=last)
            .min_by(|&a, &b| objective(a).total_cmp(&objective(b)))
            .unwrap_or(last)
    };
    let error = |lambda: f64| -> f64 { classes.values().map(|s| s.error2[best(s, lambda)]).sum() };
    let work: f64 = classes.values().map(|s| s.count * costs[s.error2.len() - 1]).sum();
    // From "all as cheap as possible" to "all as exact as possible", on a logarithmic scale.
    let (mut low, mut high) =
        (work * 1e-6 / budget.max(f64::MIN_POSITIVE), work * 1e12 / budget.max(f64::MIN_POSITIVE));
    for _ in 0..40 {
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
    fn the_worst_case_bound_is_paper_001_eq_24() {
        let class = |finer_target, offset| Class { level: 3, finer_target, offset };
        assert_eq!(bound(&class(0, [0, 0, 4]), 8), 8);
        // The corner pair of the text: eta = 0.199.
        assert_eq!(bound(&class(0, [6, 6, 6]), 8), 2);
    }
}
