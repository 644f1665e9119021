//! The truncation numbers that cost least for a given error (docs/math.md, "Truncation").

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::class::Class;
use crate::expansions::costs::{dense_cost, rotated_cost};
use crate::expansions::truncation_numbers::TruncationNumbers;
use crate::model::{Options, Truncation};

/// Largest error of a class alone, in tolerances (with a GPU, if the boxes store as many terms):
/// where points are sparse, charges interact by a few classes only, however little those contribute
/// to the whole sum.
const ALONE: f64 = 0.7;

/// Share of a level's translations on a GPU that may not raise what all its boxes store.
const RARE: f64 = 0.04;

/// The errors that truncation numbers may leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    /// Summed squared relative error of all classes.
    pub(super) budget: f64,
    /// Squared relative error of a class alone.
    pub(super) own2: f64,
}

impl Goal {
    /// For the tolerance of `options`; `margin`: ratio of the tolerance to the error that may be
    /// predicted.
    pub(crate) fn new(options: &Options, margin: f64) -> Self {
        let budget = (options.tolerance / margin).powi(2);
        Self { budget, own2: (ALONE * options.tolerance).powi(2) }
    }
}

/// Errors and cost of a class.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statistics {
    /// Translations, in units of the cost of one.
    pub(crate) count: f64,
    /// What the class adds to the squared relative error for each p' (index); the last stands for
    /// all above.
    pub(crate) error2: Vec<f64>,
    /// Squared error relative to what far pairs add to the sum, were all of them of this class;
    /// likewise.
    pub(crate) own2: Vec<f64>,
}

impl Statistics {
    /// The largest truncation number that is of use.
    pub(super) fn last(&self) -> usize {
        self.error2.len() - 1
    }

    /// What the class adds to the squared relative error with truncation number `p`.
    pub(super) fn error2(&self, p: usize) -> f64 {
        self.error2[p.min(self.last())]
    }

    /// The least truncation number with which the error of the class alone is at most `own2`.
    pub(super) fn least(&self, own2: f64) -> usize {
        (1..self.last()).find(|&p| self.own2[p] <= own2).unwrap_or(self.last())
    }
}

/// How translations are computed, which decides what they cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// By rotations, all on the CPU.
    Rotated,
    /// By rotations on the CPU while a GPU sums points.
    Hybrid,
    /// By dense products on a GPU.
    Dense,
}

impl Method {
    /// Relative time of one translation.
    fn cost(self, p: usize) -> f64 {
        match self {
            Self::Rotated | Self::Hybrid => rotated_cost(p as f64),
            Self::Dense => dense_cost(p as f64),
        }
    }
}

/// The truncation numbers of all classes up to `p_max`, from their errors.
pub(crate) fn optimise(
    classes: &BTreeMap<Class, Statistics>,
    p_max: usize,
    goal: Goal,
    truncation: Truncation,
    method: Method,
) -> BTreeMap<Class, usize> {
    if truncation != Truncation::Measured {
        let rule = (1..p_max)
            .map(|p| Rule { truncation, p })
            .find(|rule| error(classes, |class| rule.of(class)) <= goal.budget)
            .unwrap_or(Rule { truncation, p: p_max });
        return classes.keys().map(|class| (*class, rule.of(class))).collect();
    }
    let cost = |p| method.cost(p);
    match method {
        Method::Rotated => {
            let exact = |_: &Class, s: &Statistics| s.least(goal.own2)..=s.last();
            cheapest(classes, goal.budget, cost, exact)
        }
        // With a GPU boxes with few points are translated, not summed directly, and all boxes of
        // their level would have to store the terms that these need.
        Method::Hybrid => {
            let chosen = cheapest(classes, goal.budget, cost, |_, s| 1..=s.last());
            raised(classes, goal.own2, chosen)
        }
        Method::Dense => {
            let chosen = cheapest(classes, goal.budget, cost, |_, s| 1..=s.last());
            let chosen = capped(classes, goal.budget, cost, p_max, chosen);
            raised(classes, goal.own2, chosen)
        }
    }
}

/// A rule that needs no measured errors once p is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    truncation: Truncation,
    p: usize,
}

impl Rule {
    /// The rule that `options` give, if errors need not be measured for it.
    pub(crate) fn given(options: &Options) -> Option<Self> {
        let truncation = options.truncation;
        let p = options.truncation_number.filter(|_| truncation != Truncation::Measured)?;
        Some(Self { truncation, p })
    }

    /// The truncation number of a class.
    pub(crate) fn of(&self, class: &Class) -> usize {
        match self.truncation {
            Truncation::WorstCaseBound => class.bound(self.p),
            Truncation::Fixed | Truncation::Measured => self.p,
        }
    }
}

/// Summed squared error with truncation numbers `of` classes.
pub(super) fn error(classes: &BTreeMap<Class, Statistics>, of: impl Fn(&Class) -> usize) -> f64 {
    classes.iter().map(|(class, s)| s.error2(of(class))).sum()
}

/// The cheapest truncation numbers in `range` whose summed squared error is at most `budget`, or
/// the most exact ones there are.
pub(super) fn cheapest(
    classes: &BTreeMap<Class, Statistics>,
    budget: f64,
    cost: impl Fn(usize) -> f64,
    range: impl Fn(&Class, &Statistics) -> RangeInclusive<usize>,
) -> BTreeMap<Class, usize> {
    let ranges: Vec<_> = classes.iter().map(|(class, s)| (s, range(class, s))).collect();
    let p_max = ranges.iter().map(|(_, range)| *range.end()).max().unwrap_or(0);
    let costs: Vec<f64> = (0..=p_max).map(cost).collect();
    let best = |(s, range): &(&Statistics, RangeInclusive<usize>), lambda: f64| {
        let objective = |p: usize| s.count * costs[p] + lambda * s.error2[p];
        let by_objective = |&a: &usize, &b: &usize| objective(a).total_cmp(&objective(b));
        range.clone().min_by(by_objective).unwrap_or(*range.end())
    };
    let error =
        |lambda: f64| -> f64 { ranges.iter().map(|of| of.0.error2[best(of, lambda)]).sum() };
    let work: f64 = ranges.iter().map(|(s, range)| s.count * costs[*range.end()]).sum();
    // From "all as cheap as possible" to "all as exact as possible", on a logarithmic scale.
    let least = budget.max(f64::MIN_POSITIVE);
    let (mut low, mut high) = (work * 1e-6 / least, work * 1e12 / least);
    for _ in 0..40 {
        let middle = (low * high).sqrt();
        if error(middle) > budget {
            low = middle;
        } else {
            high = middle;
        }
    }
    classes.keys().zip(&ranges).map(|(class, of)| (*class, best(of, high))).collect()
}

/// As `chosen`, but without the few translations of a level that would make all its boxes store,
/// and all its points expand, more than the others need; the rest makes up for their errors.
fn capped(
    classes: &BTreeMap<Class, Statistics>,
    budget: f64,
    cost: impl Fn(usize) -> f64 + Copy,
    p_max: usize,
    chosen: BTreeMap<Class, usize>,
) -> BTreeMap<Class, usize> {
    let depth = classes.keys().flat_map(Class::levels).max().map_or(0, |level| level + 1);
    let mut of_level = vec![Vec::new(); depth];
    for (class, s) in classes {
        for level in class.levels() {
            of_level[level].push((chosen[class], s.count));
        }
    }
    let caps: Vec<usize> = of_level
        .iter_mut()
        .map(|numbers| {
            numbers.sort_unstable_by_key(|&(p, _)| std::cmp::Reverse(p));
            let mut left = RARE * numbers.iter().map(|of| of.1).sum::<f64>();
            let common = numbers.iter().find(|&&(_, count)| {
                left -= count;
                left < 0.0
            });
            common.map_or(p_max, |&(p, _)| p)
        })
        .collect();
    for more in 0..p_max {
        let cap = |class: &Class, s: &Statistics| {
            let [source, target] = class.levels();
            1..=(caps[source].min(caps[target]) + more).min(s.last())
        };
        let within = cheapest(classes, budget, cost, cap);
        if error(classes, |class| within[class]) <= budget {
            return within;
        }
    }
    chosen
}

/// As `chosen`, raised to what the error of each class alone needs, as far as the boxes store so
/// many terms anyway.
fn raised(
    classes: &BTreeMap<Class, Statistics>,
    own2: f64,
    mut chosen: BTreeMap<Class, usize>,
) -> BTreeMap<Class, usize> {
    let levels = chosen.keys().flat_map(Class::levels).max().map_or(0, |level| level + 1);
    let stored = TruncationNumbers::new(levels, chosen.iter().map(|(c, &p)| (c.levels(), p, 0.0)));
    for (class, p) in &mut chosen {
        *p = classes[class].least(own2).min(stored.common(class.levels())).max(*p);
    }
    chosen
}
