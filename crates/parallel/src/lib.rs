//! Loops over ranges, slices and vectors on rayon's threads, by one compiled core.
//!
//! rayon's iterators compile jobs, splits and joins for each loop: a third of the functions of
//! a program with some hundred loops. Here a loop is a sequence of places ([`Parallel`]), any range
//! of which an ordinary iterator can walk; code without type parameters distributes the ranges
//! ([`run()`]). Names and meanings are rayon's. Results are in the order of the sequence.

mod adapters;
mod collect;
mod disjoint;
mod ordered;
mod run;
mod sources;

pub use adapters::{
    Cloned, Enumerate, Filter, FilterMap, FlatMap, Flatten, Fold, Init, Map, MapInit,
    PartWithState, WithSizes, Zip,
};
pub use disjoint::DisjointSlice;
pub use run::run;
pub use sources::{Chunks, ChunksMut, Numbers, Owned, OwnedPart, Slice, SliceMut, Slices};

use std::cmp::Ordering;
use std::iter::Sum;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ordered::Ordered;

/// Imports for loops.
pub mod prelude {
    pub use crate::{IntoParallel, Parallel, ParallelExtend, Slices};
}

/// A type that converts into a [`Parallel`] sequence.
pub trait IntoParallel {
    /// Item type.
    type Item: Send;
    /// The sequence.
    type Into: Parallel<Item = Self::Item>;
    /// This as a sequence.
    fn into_par_iter(self) -> Self::Into;
}

/// Vectors that can be extended.
pub trait ParallelExtend<T> {
    /// Appends all items of a sequence, in their order.
    fn par_extend(&mut self, items: impl IntoParallel<Item = T>);
}

/// A type in which items of a sequence can be collected.
pub trait FromParallel<T>: Sized {
    /// All items, in their order.
    fn from_parallel<P: Parallel<Item = T>>(of: P) -> Self;
}

/// A sequence of places, ranges of which threads walk at the same time.
///
/// # Safety
/// If [`IS_EXACT`](Self::IS_EXACT), each place has one item.
pub unsafe trait Parallel: Sized + Sync {
    /// Item type.
    type Item: Send;
    /// Items of a range of places.
    type Part<'a>: Iterator<Item = Self::Item>
    where
        Self: 'a;
    /// Whether each place has one item.
    const IS_EXACT: bool;

    /// Number of places.
    fn places(&self) -> usize;

    /// Smallest and largest number of places per range.
    fn sizes(&self) -> [usize; 2] {
        [1, usize::MAX]
    }

    /// Items of a range of places.
    ///
    /// # Safety
    /// Each place must be requested at most once, and none past the end.
    unsafe fn part(&self, range: Range<usize>) -> Self::Part<'_>;

    /// Applies `f` to each item.
    fn map<R: Send, F: Fn(Self::Item) -> R + Sync>(self, f: F) -> Map<Self, F, R> {
        Map { of: self, f, result: PhantomData }
    }

    /// With a state that items of one range share.
    fn map_init<I: Init, R: Send, F>(self, init: I, f: F) -> MapInit<Self, I, F, R>
    where
        F: Fn(&mut I::State, Self::Item) -> R + Sync,
    {
        MapInit { of: self, init, f, result: PhantomData }
    }

    /// Items for which `f` is true.
    fn filter<F: Fn(&Self::Item) -> bool + Sync>(self, f: F) -> Filter<Self, F> {
        Filter { of: self, f }
    }

    /// Results of `f` that are not `None`.
    fn filter_map<R: Send, F>(self, f: F) -> FilterMap<Self, F, R>
    where
        F: Fn(Self::Item) -> Option<R> + Sync,
    {
        FilterMap { of: self, f, result: PhantomData }
    }

    /// All items of the results of `f`.
    fn flat_map_iter<I, F>(self, f: F) -> FlatMap<Self, F, I>
    where
        I: IntoIterator,
        I::Item: Send,
        F: Fn(Self::Item) -> I + Sync,
    {
        FlatMap { of: self, f, result: PhantomData }
    }

    /// All items of each item.
    fn flatten_iter(self) -> Flatten<Self>
    where
        Self::Item: IntoIterator,
        <Self::Item as IntoIterator>::Item: Send,
    {
        Flatten { of: self }
    }

    /// Each item with its place.
    fn enumerate(self) -> Enumerate<Self> {
        Enumerate { of: self }
    }

    /// Pairs of items with those of another sequence; the shorter one determines the length.
    fn zip<O: IntoParallel>(self, other: O) -> Zip<Self, O::Into> {
        Zip(self, other.into_par_iter())
    }

    /// Copies.
    fn copied<'s, T: Copy + Send + Sync + 's>(self) -> Cloned<Self>
    where
        Self: Parallel<Item = &'s T>,
    {
        Cloned(self)
    }

    /// Clones.
    fn cloned<'s, T: Clone + Send + Sync + 's>(self) -> Cloned<Self>
    where
        Self: Parallel<Item = &'s T>,
    {
        Cloned(self)
    }

    /// In ranges of at least `least` places.
    fn with_min_len(self, least: usize) -> WithSizes<Self> {
        let [_, most] = self.sizes();
        WithSizes { of: self, sizes: [least, most] }
    }

    /// In ranges of at most `most` places.
    fn with_max_len(self, most: usize) -> WithSizes<Self> {
        let [least, _] = self.sizes();
        WithSizes { of: self, sizes: [least, most] }
    }

    /// Folds the items of each range with `f`, beginning with `init()`.
    fn fold<I: Init, F>(self, init: I, f: F) -> Fold<Self, I, F>
    where
        F: Fn(I::State, Self::Item) -> I::State + Sync,
        I::State: Send,
    {
        Fold { of: self, init, f }
    }

    /// Calls `f` with each item.
    fn for_each<F: Fn(Self::Item) + Sync>(self, f: F) {
        // SAFETY: `run` gives each place once.
        run(self.places(), self.sizes(), &|range| unsafe { self.part(range) }.for_each(&f));
    }

    /// With a state that items of one range share.
    fn for_each_init<I: Init, F>(self, init: I, f: F)
    where
        F: Fn(&mut I::State, Self::Item) + Sync,
    {
        self.map_init(init, f).for_each(|()| {});
    }

    /// All items.
    fn collect<C: FromParallel<Self::Item>>(self) -> C {
        C::from_parallel(self)
    }

    /// Splits pairs into two collections.
    fn unzip<A: Send, B: Send>(self) -> (Vec<A>, Vec<B>)
    where
        Self: Parallel<Item = (A, B)>,
    {
        self.collect::<Vec<_>>().into_iter().unzip()
    }

    /// Combines all items by `f`, two at a time; `None` if there are none.
    fn reduce_with<F: Fn(Self::Item, Self::Item) -> Self::Item + Sync>(
        self,
        f: F,
    ) -> Option<Self::Item> {
        let parts = Ordered::new();
        let part = |range: Range<usize>| {
            let start = range.start;
            // SAFETY: `run` gives each place once.
            if let Some(value) = unsafe { self.part(range) }.reduce(&f) {
                parts.put(start, value);
            }
        };
        run(self.places(), self.sizes(), &part);
        parts.into_values().reduce(&f)
    }

    /// Combines all items by `f`, two at a time; `identity()` is neutral.
    fn reduce<I, F>(self, identity: I, f: F) -> Self::Item
    where
        I: Fn() -> Self::Item,
        F: Fn(Self::Item, Self::Item) -> Self::Item + Sync,
    {
        self.reduce_with(f).unwrap_or_else(identity)
    }

    /// Adds up the sums of ranges.
    fn sum<S: Sum<Self::Item> + Sum<S> + Send>(self) -> S {
        let parts = Ordered::new();
        let part = |range: Range<usize>| {
            let start = range.start;
            // SAFETY: `run` gives each place once.
            parts.put(start, unsafe { self.part(range) }.sum::<S>());
        };
        run(self.places(), self.sizes(), &part);
        parts.into_values().sum()
    }

    /// Number of items.
    fn count(self) -> usize {
        self.map(|_| 1).sum()
    }

    /// The largest item; the last one of several equal ones.
    fn max(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.reduce_with(Ord::max)
    }

    /// The smallest item; the first one of several equal ones.
    fn min(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.reduce_with(Ord::min)
    }

    /// The largest item by an order; the last one of several equal ones.
    fn max_by<F: Fn(&Self::Item, &Self::Item) -> Ordering + Sync>(
        self,
        order: F,
    ) -> Option<Self::Item> {
        self.reduce_with(|a, b| if order(&a, &b) == Ordering::Greater { a } else { b })
    }

    /// Whether `f` is true for any item; may skip items.
    fn any<F: Fn(Self::Item) -> bool + Sync>(self, f: F) -> bool {
        let is_found = AtomicBool::new(false);
        let part = |range: Range<usize>| {
            // SAFETY: `run` gives each place once.
            let mut part = unsafe { self.part(range) };
            if !is_found.load(Relaxed) && part.any(|item| is_found.load(Relaxed) || f(item)) {
                is_found.store(true, Relaxed);
            }
        };
        run(self.places(), self.sizes(), &part);
        is_found.into_inner()
    }

    /// Whether `f` is true for every item; may skip items.
    fn all<F: Fn(Self::Item) -> bool + Sync>(self, f: F) -> bool {
        !self.any(|item| !f(item))
    }

    /// The first item for which `f` is true.
    fn find_first<F: Fn(&Self::Item) -> bool + Sync>(self, f: F) -> Option<Self::Item> {
        let parts = Ordered::new();
        let part = |range: Range<usize>| {
            let start = range.start;
            // SAFETY: `run` gives each place once.
            if let Some(found) = unsafe { self.part(range) }.find(|item| f(item)) {
                parts.put(start, found);
            }
        };
        run(self.places(), self.sizes(), &part);
        parts.into_values().next()
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::prelude::*;
    use super::*;

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
            let found: Vec<i64> =
                values.par_iter().filter_map(|v| (*v > 9).then_some(-v)).collect();
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
            assert_eq!(
                values.par_iter().enumerate().max_by(by),
                values.iter().enumerate().max_by(by)
            );
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
            assert_eq!(
                (3i64..900).into_par_iter().collect::<Vec<_>>(),
                (3..900).collect::<Vec<_>>()
            );
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
            let found: Result<Vec<usize>, usize> =
                (0usize..990).into_par_iter().map(fails).collect();
            assert_eq!(found.unwrap_err() % 100, 99);
            let found: Result<Vec<usize>, usize> =
                (0usize..99).into_par_iter().map(fails).collect();
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
}
