//! Loops compared with those of ordinary iterators.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use parallel::prelude::*;
use parallel::run;

/// With one thread and with more than there are cores.
fn with_threads(test: impl Fn() + Sync) {
    for threads in [1, 3, 16] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(&test);
    }
}

#[test]
fn ranges_have_each_place_once_and_keep_to_their_sizes() {
    with_threads(|| {
        for places in [0usize, 1, 2, 7, 100, 1000] {
            for [least, most] in [[1, usize::MAX], [1, 1], [30, usize::MAX], [3, 10], [0, 0]] {
                let seen: Vec<AtomicUsize> = (0..places).map(|_| 0.into()).collect();
                run(places, [least, most], &|range| {
                    assert!(!range.is_empty());
                    assert!(range.len() >= least.min(places) || range.len() == places);
                    assert!(range.len() <= most.max(2 * least).max(1), "{range:?} {most}");
                    range.for_each(|i| {
                        seen[i].fetch_add(1, Relaxed);
                    });
                });
                assert!(seen.iter().all(|count| count.load(Relaxed) == 1));
            }
        }
    });
}

#[test]
fn sequences_are_those_of_ordinary_iterators() {
    let values: Vec<i64> = (0..997).map(|i| (i * i * 31 + 7 * i) % 1009 - 400).collect();
    let others: Vec<i64> = values.iter().rev().copied().collect();
    with_threads(|| {
        let odd = |v: &&i64| **v % 2 != 0;
        let found: Vec<i64> = values.par_iter().copied().collect();
        assert_eq!(found, values);
        let found: Vec<&i64> = values.par_iter().filter(odd).collect();
        assert!(found.iter().eq(&values.iter().filter(odd).collect::<Vec<_>>()));
        let found: Vec<i64> = values.par_iter().filter_map(|v| (*v > 9).then_some(-v)).collect();
        assert!(
            found.iter().eq(&values.iter().filter(|v| **v > 9).map(|v| -v).collect::<Vec<_>>())
        );
        let twice = |v: &i64| [*v, v + 1];
        let found: Vec<i64> = values.par_iter().flat_map_iter(twice).collect();
        assert_eq!(found, values.iter().flat_map(twice).collect::<Vec<_>>());
        let nested: Vec<Vec<i64>> = values.par_chunks(10).map(<[i64]>::to_vec).collect();
        assert_eq!(nested.into_par_iter().flatten_iter().collect::<Vec<_>>(), values);
        let found: Vec<(usize, (&i64, &i64))> =
            values.par_iter().zip(&others[..500]).enumerate().with_min_len(3).collect();
        assert_eq!(found, values.iter().zip(&others[..500]).enumerate().collect::<Vec<_>>());
        let counts = values.par_iter().map_init(
            || 0,
            |count: &mut usize, _| {
                *count += 1;
                *count
            },
        );
        assert!(counts.collect::<Vec<_>>().iter().all(|&count| (1..=997).contains(&count)));
        assert_eq!(values.par_chunks_exact(10).map(<[i64]>::len).sum::<usize>(), 990);
        assert_eq!(values.par_iter().sum::<i64>(), values.iter().sum());
        assert_eq!(values.par_iter().max(), values.iter().max());
        assert_eq!(values.par_iter().min(), values.iter().min());
        let by = |a: &(usize, &i64), b: &(usize, &i64)| (a.1 % 7).cmp(&(b.1 % 7));
        assert_eq!(values.par_iter().enumerate().max_by(by), values.iter().enumerate().max_by(by));
        assert_eq!(values.par_iter().filter(odd).count(), values.iter().filter(odd).count());
        assert!(values.par_iter().any(|v| *v == others[3]));
        assert!(!values.par_iter().any(|v| *v == 5000));
        assert!(values.par_iter().all(|v| *v < 5000));
        assert!(!values.par_iter().all(|v| *v != others[500]));
        assert_eq!(values.par_iter().find_first(odd), values.iter().find(odd));
        let folded = values.par_iter().fold(|| 0, |sum, v| sum + v).reduce(|| 0, |a, b| a + b);
        assert_eq!(folded, values.iter().sum::<i64>());
        assert_eq!((0usize..0).into_par_iter().reduce(|| 42, usize::max), 42);
        let (a, b): (Vec<_>, Vec<_>) = values.par_iter().map(|v| (v + 1, v - 1)).unzip();
        assert!(a.iter().zip(&b).zip(&values).all(|((a, b), v)| a - 1 == *v && b + 1 == *v));
        let set: HashSet<i64> = values.par_iter().copied().collect();
        assert_eq!(set, values.iter().copied().collect());
        let map: HashMap<usize, i64> = values.par_iter().copied().enumerate().collect();
        assert!(map.len() == values.len() && map.iter().all(|(i, v)| values[*i] == *v));
        assert_eq!((3i64..900).into_par_iter().collect::<Vec<_>>(), (3..900).collect::<Vec<_>>());
        let mut more = vec![-1];
        more.par_extend(values.par_iter().copied());
        assert!(more[0] == -1 && more[1..] == values);
    });
}

#[test]
fn elements_are_changed_each_once() {
    with_threads(|| {
        let mut values = vec![1usize; 1001];
        values.par_iter_mut().enumerate().for_each(|(i, value)| *value += i);
        values.par_chunks_mut(10).for_each(|chunk| chunk[0] = chunk.len());
        values.par_chunks_exact_mut(10).enumerate().for_each(|(k, chunk)| chunk[1] = k);
        let expected = |i: usize| match (i / 10, i % 10) {
            (100, 0) => 1,
            (_, 0) => 10,
            (k, 1) => k,
            _ => i + 1,
        };
        assert!(values.iter().enumerate().all(|(i, value)| *value == expected(i)));
    });
}

#[test]
fn a_failure_ends_a_collection_and_the_first_one_found_is_reported() {
    with_threads(|| {
        let fails = |i: usize| if i % 100 == 99 { Err(i) } else { Ok(i) };
        let found: Result<Vec<usize>, usize> = (0usize..990).into_par_iter().map(fails).collect();
        assert_eq!(found.unwrap_err() % 100, 99);
        let found: Result<Vec<usize>, usize> = (0usize..99).into_par_iter().map(fails).collect();
        assert!(found.unwrap().into_iter().eq(0..99));
        let some = |i: usize| (i != 50).then_some(i);
        assert_eq!((0usize..99).into_par_iter().map(some).collect::<Option<Vec<_>>>(), None);
        let found: Option<Vec<usize>> = (0usize..50).into_par_iter().map(some).collect();
        assert!(found.unwrap().into_iter().eq(0..50));
    });
}

#[test]
fn owned_elements_are_given_away_or_dropped_once() {
    with_threads(|| {
        let counted = Arc::new(());
        let all = || vec![Arc::clone(&counted); 100];
        let kept: Vec<Arc<()>> = all().into_par_iter().collect();
        assert_eq!(Arc::strong_count(&counted), 101);
        drop(kept);
        // Items that a shorter sequence does not reach, and sequences that nobody walks.
        all().into_par_iter().zip(0usize..40).for_each(drop);
        all().into_par_iter().for_each(drop);
        drop(all().into_par_iter());
        assert!(all().into_par_iter().any(|_| true));
        let is_first = |item: &Arc<()>| Arc::strong_count(item) > 1;
        assert!(all().into_par_iter().find_first(is_first).is_some());
        assert_eq!(Arc::strong_count(&counted), 1);
    });
}

#[test]
fn a_panic_passes_through() {
    with_threads(|| {
        let broken = || (0usize..100).into_par_iter().map(|i| assert!(i != 57)).count();
        assert!(std::panic::catch_unwind(broken).is_err());
    });
}

/// What parts have found is moved, not copied: each value is dropped once.
#[test]
fn large_parts_are_moved_in_order() {
    let value = Arc::new(());
    let of = |n: usize| (0..n % 7).map(move |k| (n, k));
    let n: usize = 100_000;
    let counted = |(n, k): (usize, usize)| (n, k, Arc::clone(&value));
    let mut found = vec![counted((0, 0))];
    found.par_extend((0..n).into_par_iter().flat_map_iter(|n: usize| of(n).map(counted)));
    let expected = [(0, 0)].into_iter().chain((0..n).flat_map(of));
    assert!(found.iter().map(|(n, k, _)| (*n, *k)).eq(expected));
    assert_eq!(Arc::strong_count(&value), found.len() + 1);
    drop(found);
    assert_eq!(Arc::strong_count(&value), 1);
}
