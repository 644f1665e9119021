//! Sequences based on others.

use std::iter;
use std::ops::Range;

use crate::Parallel;

/// A sequence with the places of `of` and these parts.
macro_rules! adapter {
    (
        $(#[$doc:meta])*
        $name:ident<$($param:ident),*> { $($field:ident: $type:ty),* }
        where [$($bounds:tt)*] $item:ty; $part:ty; exact: $exact:expr;
        |$this:ident, $inner:ident, $range:ident| $make:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name<P, $($param),*> {
            pub(crate) of: P,
            $(pub(crate) $field: $type,)*
        }

        // SAFETY: places are those of the underlying sequence.
        unsafe impl<P: Parallel, $($param),*> Parallel for $name<P, $($param),*>
        where
            $($bounds)*
        {
            type Item = $item;
            type Part<'a>
                = $part
            where
                Self: 'a;
            const IS_EXACT: bool = $exact;

            fn places(&self) -> usize {
                self.of.places()
            }

            fn sizes(&self) -> [usize; 2] {
                self.of.sizes()
            }

            unsafe fn part(&self, $range: Range<usize>) -> Self::Part<'_> {
                let $this = self;
                // SAFETY: the caller's contract.
                let $inner = unsafe { self.of.part($range.clone()) };
                $make
            }
        }
    };
}

adapter! {
    /// See [`Parallel::map`].
    Map<F, R> { f: F, result: std::marker::PhantomData<fn() -> R> }
    where [F: Fn(P::Item) -> R + Sync, R: Send]
    R; iter::Map<P::Part<'a>, &'a F>; exact: P::IS_EXACT;
    |this, inner, range| inner.map(&this.f)
}

adapter! {
    /// See [`Parallel::filter`].
    Filter<F> { f: F }
    where [F: Fn(&P::Item) -> bool + Sync]
    P::Item; iter::Filter<P::Part<'a>, &'a F>; exact: false;
    |this, inner, range| inner.filter(&this.f)
}

adapter! {
    /// See [`Parallel::filter_map`].
    FilterMap<F, R> { f: F, result: std::marker::PhantomData<fn() -> R> }
    where [F: Fn(P::Item) -> Option<R> + Sync, R: Send]
    R; iter::FilterMap<P::Part<'a>, &'a F>; exact: false;
    |this, inner, range| inner.filter_map(&this.f)
}

adapter! {
    /// See [`Parallel::flat_map_iter`].
    FlatMap<F, I> { f: F, result: std::marker::PhantomData<fn() -> I> }
    where [F: Fn(P::Item) -> I + Sync, I: IntoIterator, I::Item: Send]
    I::Item; iter::FlatMap<P::Part<'a>, I, &'a F>; exact: false;
    |this, inner, range| inner.flat_map(&this.f)
}

adapter! {
    /// See [`Parallel::flatten_iter`].
    Flatten<> {}
    where [P::Item: IntoIterator, <P::Item as IntoIterator>::Item: Send]
    <P::Item as IntoIterator>::Item; iter::Flatten<P::Part<'a>>; exact: false;
    |_this, inner, range| inner.flatten()
}

adapter! {
    /// See [`Parallel::enumerate`].
    Enumerate<> {}
    where []
    (usize, P::Item); iter::Zip<Range<usize>, P::Part<'a>>; exact: P::IS_EXACT;
    |_this, inner, range| range.zip(inner)
}

adapter! {
    /// See [`Parallel::map_init`].
    MapInit<I, F, R> { init: I, f: F, result: std::marker::PhantomData<fn() -> R> }
    where [I: Init, F: Fn(&mut I::State, P::Item) -> R + Sync, R: Send]
    R; PartWithState<'a, P::Part<'a>, I::State, F>; exact: P::IS_EXACT;
    |this, inner, range| PartWithState { part: inner, state: this.init.make(), f: &this.f }
}

adapter! {
    /// See [`Parallel::fold`].
    Fold<I, F> { init: I, f: F }
    where [I: Init, I::State: Send, F: Fn(I::State, P::Item) -> I::State + Sync]
    I::State; iter::Once<I::State>; exact: false;
    |this, inner, range| iter::once(inner.fold(this.init.make(), &this.f))
}

/// Creates the state of a range.
pub trait Init: Sync {
    /// Type of the state.
    type State;
    /// A new state.
    fn make(&self) -> Self::State;
}

impl<S, F: Fn() -> S + Sync> Init for F {
    type State = S;

    fn make(&self) -> S {
        self()
    }
}

/// Items of a range, mapped with a state of the range.
pub struct PartWithState<'a, P, S, F> {
    part: P,
    state: S,
    f: &'a F,
}

impl<P: Iterator, S, R, F: Fn(&mut S, P::Item) -> R> Iterator for PartWithState<'_, P, S, F> {
    type Item = R;

    fn next(&mut self) -> Option<R> {
        self.part.next().map(|item| (self.f)(&mut self.state, item))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.part.size_hint()
    }
}

/// See [`Parallel::copied`] and [`Parallel::cloned`].
pub struct Cloned<P>(pub(crate) P);

// SAFETY: places are those of the underlying sequence.
unsafe impl<'s, T: Clone + Send + Sync + 's, P: Parallel<Item = &'s T>> Parallel for Cloned<P> {
    type Item = T;
    type Part<'a>
        = iter::Cloned<P::Part<'a>>
    where
        Self: 'a;
    const IS_EXACT: bool = P::IS_EXACT;

    fn places(&self) -> usize {
        self.0.places()
    }

    fn sizes(&self) -> [usize; 2] {
        self.0.sizes()
    }

    unsafe fn part(&self, range: Range<usize>) -> Self::Part<'_> {
        // SAFETY: the caller's contract.
        unsafe { self.0.part(range) }.cloned()
    }
}

/// See [`Parallel::zip`].
pub struct Zip<A, B>(pub(crate) A, pub(crate) B);

// SAFETY: places are those of both sequences.
unsafe impl<A: Parallel, B: Parallel> Parallel for Zip<A, B> {
    type Item = (A::Item, B::Item);
    type Part<'a>
        = iter::Zip<A::Part<'a>, B::Part<'a>>
    where
        Self: 'a;
    const IS_EXACT: bool = {
        assert!(A::IS_EXACT && B::IS_EXACT, "places of both have one item each");
        true
    };

    fn places(&self) -> usize {
        self.0.places().min(self.1.places())
    }

    fn sizes(&self) -> [usize; 2] {
        let ([least, most], [other_least, other_most]) = (self.0.sizes(), self.1.sizes());
        [least.max(other_least), most.min(other_most)]
    }

    unsafe fn part(&self, range: Range<usize>) -> Self::Part<'_> {
        // SAFETY: the caller's contract.
        unsafe { self.0.part(range.clone()).zip(self.1.part(range)) }
    }
}

/// See [`Parallel::with_min_len`] and [`Parallel::with_max_len`].
pub struct WithSizes<P> {
    pub(crate) of: P,
    pub(crate) sizes: [usize; 2],
}

// SAFETY: places are those of the underlying sequence.
unsafe impl<P: Parallel> Parallel for WithSizes<P> {
    type Item = P::Item;
    type Part<'a>
        = P::Part<'a>
    where
        Self: 'a;
    const IS_EXACT: bool = P::IS_EXACT;

    fn places(&self) -> usize {
        self.of.places()
    }

    fn sizes(&self) -> [usize; 2] {
        self.sizes
    }

    unsafe fn part(&self, range: Range<usize>) -> Self::Part<'_> {
        // SAFETY: the caller's contract.
        unsafe { self.of.part(range) }
    }
}
