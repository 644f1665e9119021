//! Truncation numbers that several ranks agree on.
//!
//! Each rank measures the errors of its own translations, on its own targets and their sources. A
//! class's squared errors add up over ranks, compared with the sum over all ranks' pairs; the
//! optimum is then the same on all of them.

use std::collections::{BTreeMap, BTreeSet};

use comm::{Communicator, Operation};

use super::candidates::{self, Candidates, PointSets};
use super::choose::assign;
use super::class::Class;
use super::limits::{choose_by, margin, method};
use super::measure;
use super::norms::Measures;
use super::optimise::{Rule, Statistics};
use crate::expansions::truncation_numbers::{TruncationNumbers, inherit};
use crate::model::Options;
use crate::tree::lists::Lists;
use simd::Level;

/// Chooses p' of every batch of `lists`, each rank's own; `source_counts`: the sources of each box,
/// here or elsewhere. Collective.
pub(crate) fn choose_on_ranks(
    group: &dyn Communicator,
    points: &PointSets<'_>,
    source_counts: &[f64],
    lists: &mut Lists,
    options: &Options,
    simd: Level,
) -> Result<TruncationNumbers, comm::Error> {
    let mut candidates = candidates::collect(points.tree, lists, Some(source_counts));
    let chosen = match Rule::given(options) {
        Some(rule) => candidates.keys().map(|class| (*class, rule.of(class))).collect(),
        None => {
            let measures = Measures::new(points, lists, &candidates, options).of_all(group)?;
            let classes = classes_of_all(group, candidates.keys())?;
            count_of_all(group, &classes, &mut candidates)?;
            let count = classes.len();
            choose_by(options, margin(options), method(options), |p_max, goal| {
                let own = measure::measure(points, &candidates, measures, count, p_max, goal, simd);
                statistics_of_all(group, &classes, &own, &candidates, p_max)
            })?
        }
    };
    let numbers = assign(points.tree.levels.len(), lists, &chosen);
    numbers_of_all(group, numbers, lists)
}

/// The classes of all ranks.
fn classes_of_all<'a>(
    group: &dyn Communicator,
    own: impl Iterator<Item = &'a Class>,
) -> Result<BTreeSet<Class>, comm::Error> {
    let own: Vec<[u64; 2]> = own.map(Class::pack).collect();
    let all = comm::all_gather(group, &own)?;
    Ok(all.into_iter().flatten().map(Class::unpack).collect())
}

/// How many translations of each class all ranks have.
fn count_of_all(
    group: &dyn Communicator,
    classes: &BTreeSet<Class>,
    own: &mut BTreeMap<Class, Candidates>,
) -> Result<(), comm::Error> {
    let count = |class: &Class| own.get(class).map_or(0.0, |own| own.count);
    let mut counts: Vec<f64> = classes.iter().map(count).collect();
    group.all_reduce(&mut counts, Operation::Sum)?;
    for (class, of_all) in classes.iter().zip(counts) {
        if let Some(own) = own.get_mut(class) {
            own.of_all = of_all;
        }
    }
    Ok(())
}

/// What all ranks together know of each class: errors of a class alone are means over the pairs of
/// points that it serves.
fn statistics_of_all(
    group: &dyn Communicator,
    classes: &BTreeSet<Class>,
    own: &BTreeMap<Class, Statistics>,
    candidates: &BTreeMap<Class, Candidates>,
    p_max: usize,
) -> Result<BTreeMap<Class, Statistics>, comm::Error> {
    let terms = p_max + 1;
    let width = 2 * (1 + terms);
    let mut sums = vec![0.0; classes.len() * width];
    for (class, sums) in classes.iter().zip(sums.chunks_mut(width)) {
        let (Some(own), Some(candidates)) = (own.get(class), candidates.get(class)) else {
            continue;
        };
        (sums[0], sums[1]) = (own.count, candidates.weight);
        let (error2, own2) = sums[2..].split_at_mut(terms);
        for p in 0..terms {
            error2[p] = own.error2(p);
            own2[p] = candidates.weight * own.own2[p.min(own.last())];
        }
    }
    group.all_reduce(&mut sums, Operation::Sum)?;
    let statistics = sums.chunks(width).map(|sums| {
        let (error2, own2) = sums[2..].split_at(terms);
        let mean = |sum: &f64| sum / sums[1].max(f64::MIN_POSITIVE);
        Statistics {
            count: sums[0],
            error2: error2.to_vec(),
            own2: own2.iter().map(mean).collect(),
        }
    });
    Ok(classes.iter().copied().zip(statistics).collect())
}

/// What boxes store on all ranks: a multipole expansion made by one is translated by others.
fn numbers_of_all(
    group: &dyn Communicator,
    mut numbers: TruncationNumbers,
    lists: &Lists,
) -> Result<TruncationNumbers, comm::Error> {
    let mut levels = [numbers.multipole.len() as f64];
    group.all_reduce(&mut levels, Operation::Max)?;
    let all = levels[0] as usize;
    let mut largest = vec![0.0; 2 * all];
    for (i, stored) in [&numbers.multipole, &numbers.local].into_iter().enumerate() {
        for (largest, &p) in largest[i * all..].iter_mut().zip(stored) {
            *largest = p as f64;
        }
    }
    group.all_reduce(&mut largest, Operation::Max)?;
    let mut largest: Vec<usize> = largest.into_iter().map(|p| p as usize).collect();
    let of_own = numbers.multipole.len();
    for (stored, largest) in
        [&mut numbers.multipole, &mut numbers.local].into_iter().zip(largest.chunks_mut(all))
    {
        // One rank's boxes may be deeper than those of any rank that translates them.
        inherit(largest);
        stored.copy_from_slice(&largest[..of_own]);
    }
    let pairs: usize = lists.target_blocks.iter().map(|block| block.pairs.len()).sum();
    let mut mean = [pairs as f64 * numbers.mean, pairs as f64];
    group.all_reduce(&mut mean, Operation::Sum)?;
    numbers.mean = mean[0] / mean[1].max(1.0);
    Ok(numbers)
}
