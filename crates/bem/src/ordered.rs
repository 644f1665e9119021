//! Sums over many things whose rounding does not depend on how threads share the work: where a sum
//! is cut, and in which order its parts are added, follows from its length alone.

use std::ops::Range;

use parallel::prelude::*;

/// Runs that a sum is cut into: enough for the threads of a large machine.
const RUNS: usize = 256;

/// `count` sums, to which `add` adds what some things of `range` give, up to `together` of them at
/// a time. Runs of things are added pair by pair, so that few of their sums are in memory at once.
pub(crate) fn sums(
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

/// The sum of what each of some things gives, in their order.
pub(crate) fn sum<T: Sync>(things: &[T], of: impl Fn(&T) -> f64 + Sync) -> f64 {
    things.par_iter().map(&of).collect::<Vec<f64>>().iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes and signs so that almost every other order rounds otherwise.
    fn term(i: usize) -> f64 {
        (i as f64).sin() * 10f64.powi((i % 13) as i32)
    }

    /// The bits of sums over some things, by so many threads.
    fn by(threads: usize, n: usize) -> (Vec<u64>, u64) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let add = |range: Range<usize>, sums: &mut [f64]| {
                for i in range {
                    sums[0] += term(i);
                    sums[1] += term(3 * i + 1);
                }
            };
            let things: Vec<usize> = (0..n).collect();
            let both = sums(0..n, 16, 2, add);
            (both.iter().map(|sum| sum.to_bits()).collect(), sum(&things, |&i| term(i)).to_bits())
        })
    }

    #[test]
    fn sums_are_the_same_to_the_bit_on_any_number_of_threads() {
        for n in [0, 1, 15, 16, 17, 1000, 100_000] {
            let first = by(1, n);
            for threads in [1, 2, 3, 8, 8, 8, 8] {
                assert_eq!(by(threads, n), first, "{n} things, {threads} threads");
            }
        }
    }

    #[test]
    fn sums_have_each_thing_once() {
        for (start, n, together) in [(0, 0, 4), (7, 1, 4), (3, 1000, 7), (5, 100_000, 16)] {
            let add = |range: Range<usize>, sums: &mut [f64]| {
                assert!(range.len() <= together);
                range.for_each(|i| sums[i - start] += 1.0);
            };
            let one_each = sums(start..start + n.min(1000), together, n.min(1000), add);
            assert!(one_each.iter().all(|&count| count == 1.0));
            let of_numbers = |range: Range<usize>, sums: &mut [f64]| {
                sums[0] += range.map(|i| i as f64).sum::<f64>();
            };
            let exact = (start..start + n).map(|i| i as f64).sum::<f64>();
            assert_eq!(sums(start..start + n, together, 1, of_numbers)[0], exact);
        }
    }
}
