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
