//! Sums whose rounding does not depend on how threads share the work: the length alone determines
//! where a sum is cut and in which order its parts are added.

use std::ops::Range;

use parallel::prelude::*;

/// Number of runs of a sum: enough for the threads of a large machine.
const RUNS: usize = 256;

/// `count` sums; `add` adds the contributions of some items of `range`, up to `together` at a time.
/// Runs of items are added pair by pair, so that few of their sums are in memory at once.
pub fn sums(
    range: Range<usize>,
    together: usize,
    count: usize,
    add: impl Fn(Range<usize>, &mut [f64]) + Sync,
) -> Vec<f64> {
    let run = together * range.len().div_ceil(together * RUNS).max(1);
    let of_run = |run: Range<usize>| {
        let mut sums = vec![0.0; count];
        for start in run.clone().step_by(together) {
            add(start..run.end.min(start + together), &mut sums);
        }
        sums
    };
    of_runs(range, run, &of_run)
}

fn of_runs(
    range: Range<usize>,
    run: usize,
    of_run: &(impl Fn(Range<usize>) -> Vec<f64> + Sync),
) -> Vec<f64> {
    let runs = range.len().div_ceil(run);
    if runs <= 1 {
        return of_run(range);
    }
    let middle = range.start + runs / 2 * run;
    let (left, right) = (range.start..middle, middle..range.end);
    let (mut sums, more) =
        rayon::join(|| of_runs(left, run, of_run), || of_runs(right, run, of_run));
    sums.iter_mut().zip(&more).for_each(|(sum, more)| *sum += more);
    sums
}

/// The sum of `of` over the items, in their order.
pub fn sum<T: Sync>(things: &[T], of: impl Fn(&T) -> f64 + Sync) -> f64 {
    things.par_iter().map(&of).collect::<Vec<f64>>().iter().sum()
}
