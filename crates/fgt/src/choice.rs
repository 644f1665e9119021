//! Which boxes are left to the grid: a pair of boxes is, if both are.

use parallel::prelude::*;

use crate::boxes::{Boxes, PointBox};
use crate::lists::Rows;
use crate::tuning::Costs;

/// For each box of sources, and of targets, whether it is left to the grid.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) sources: Vec<bool>,
    pub(crate) targets: Vec<bool>,
}

impl Choice {
    /// Everything to the grid.
    pub(crate) fn all(sources: &Boxes, targets: &Boxes) -> Self {
        let all = |boxes: &Boxes| vec![true; boxes.boxes.len()];
        Self { sources: all(sources), targets: all(targets) }
    }
}

/// Points in runs of boxes.
pub(crate) fn points(boxes: &Boxes, runs: &[(u32, u32)]) -> usize {
    let boxes = &boxes.boxes;
    let count = |&(a, b): &(u32, u32)| boxes[b as usize - 1].end - boxes[a as usize].begin;
    runs.iter().map(|run| count(run) as usize).sum()
}

/// Compares, box by box, its pairs with what it costs on the grid; `None` if nothing is left to
/// the grid.
pub(crate) fn choose(
    sources: &Boxes,
    targets: &Boxes,
    to_sources: &Rows<(u32, u32)>,
    to_targets: &Rows<(u32, u32)>,
    costs: &Costs,
) -> Option<Choice> {
    let pays = |own: &PointBox, others: usize, each: f64| {
        let count = own.count() as f64;
        count * others as f64 * costs.pair > count * each + costs.block
    };
    let compare = |own: &Boxes, others: &Boxes, runs: &Rows<(u32, u32)>, each: f64| -> Vec<bool> {
        let all = own.boxes.par_iter().enumerate().with_min_len(256);
        all.map(|(i, own)| pays(own, points(others, runs.row(i)), each)).collect()
    };
    let mut choice = Choice {
        sources: compare(sources, targets, to_targets, costs.spread),
        targets: compare(targets, sources, to_sources, costs.interpolate),
    };
    // What reaches nothing of the other side gains nothing.
    let keep = |own: &mut [bool], others: &[bool], runs: &Rows<(u32, u32)>| {
        own.par_iter_mut().enumerate().with_min_len(256).for_each(|(i, own)| {
            let any = |&(a, b): &(u32, u32)| others[a as usize..b as usize].contains(&true);
            *own = *own && runs.row(i).iter().any(any);
        });
    };
    keep(&mut choice.sources, &choice.targets, to_targets);
    keep(&mut choice.targets, &choice.sources, to_sources);
    choice.targets.contains(&true).then_some(choice)
}
