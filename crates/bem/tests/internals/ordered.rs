//! Sums whose rounding does not depend on threads.

use std::ops::Range;

use bem::internals::ordered::{sum, sums};

/// Sizes and signs so that almost every other order rounds otherwise.
fn term(i: usize) -> f64 {
    (i as f64).sin() * 10f64.powi((i % 13) as i32)
}

/// The bits of sums over `n` things, by this number of threads.
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
