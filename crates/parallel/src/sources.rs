//! Ranges, slices and vectors as sequences.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::{IntoParallel, Parallel};

/// Numbers of a range.
pub struct Numbers<T>(Range<T>);

macro_rules! numbers {
    ($($number:ty),*) => {$(
        // SAFETY: numbers are copies.
        unsafe impl Parallel for Numbers<$number> {
            type Item = $number;
            type Part<'a> = Range<$number>;
            const IS_EXACT: bool = true;

            fn places(&self) -> usize {
                usize::try_from(self.0.end.saturating_sub(self.0.start)).unwrap_or(0)
            }

            unsafe fn part(&self, range: Range<usize>) -> Range<$number> {
                self.0.start + range.start as $number..self.0.start + range.end as $number
            }
        }

        impl IntoParallel for Range<$number> {
            type Item = $number;
            type Into = Numbers<$number>;

            fn into_par_iter(self) -> Self::Into {
                Numbers(self)
            }
        }
    )*};
}
numbers!(usize, u32, u64, i32, i64);

/// Elements of a slice.
pub struct Slice<'s, T>(&'s [T]);

impl<T> Clone for Slice<'_, T> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

// SAFETY: elements are shared.
unsafe impl<'s, T: Sync> Parallel for Slice<'s, T> {
    type Item = &'s T;
    type Part<'a>
        = slice::Iter<'s, T>
    where
        Self: 'a;
    const IS_EXACT: bool = true;

    fn places(&self) -> usize {
        self.0.len()
    }

    unsafe fn part(&self, range: Range<usize>) -> slice::Iter<'s, T> {
        self.0[range].iter()
    }
}

/// Consecutive parts of a slice, `size` elements each.
pub struct Chunks<'s, T> {
    all: &'s [T],
    size: usize,
}

// SAFETY: elements are shared.
unsafe impl<'s, T: Sync> Parallel for Chunks<'s, T> {
    type Item = &'s [T];
    type Part<'a>
        = slice::Chunks<'s, T>
    where
        Self: 'a;
    const IS_EXACT: bool = true;

    fn places(&self) -> usize {
        self.all.len().div_ceil(self.size)
    }

    unsafe fn part(&self, range: Range<usize>) -> slice::Chunks<'s, T> {
        let end = self.all.len().min(range.end * self.size);
        self.all[range.start * self.size..end].chunks(self.size)
    }
}

/// A slice whose parts are given away, each once.
struct Shared<'s, T> {
    start: *mut T,
    len: usize,
    slice: PhantomData<&'s mut [T]>,
}

// SAFETY: a part belongs to one thread, as if it had been sent there.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'s, T> Shared<'s, T> {
    fn new(slice: &'s mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), slice: PhantomData }
    }

    /// # Safety
    /// No element may be in two parts.
    unsafe fn part(&self, range: Range<usize>) -> &'s mut [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: within the slice, which is borrowed for 's, and in no other part.
        unsafe { slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}

/// Elements of a slice, mutable.
pub struct SliceMut<'s, T>(Shared<'s, T>);

// SAFETY: each place is its own element.
unsafe impl<'s, T: Send> Parallel for SliceMut<'s, T> {
    type Item = &'s mut T;
    type Part<'a>
        = slice::IterMut<'s, T>
    where
        Self: 'a;
    const IS_EXACT: bool = true;

    fn places(&self) -> usize {
        self.0.len
    }

    unsafe fn part(&self, range: Range<usize>) -> slice::IterMut<'s, T> {
        // SAFETY: the caller's contract.
        unsafe { self.0.part(range) }.iter_mut()
    }
}

/// Consecutive parts of a slice, `size` elements each, mutable.
pub struct ChunksMut<'s, T> {
    all: Shared<'s, T>,
    size: usize,
}

// SAFETY: each place has its own elements.
unsafe impl<'s, T: Send> Parallel for ChunksMut<'s, T> {
    type Item = &'s mut [T];
    type Part<'a>
        = slice::ChunksMut<'s, T>
    where
        Self: 'a;
    const IS_EXACT: bool = true;

    fn places(&self) -> usize {
        self.all.len.div_ceil(self.size)
    }

    unsafe fn part(&self, range: Range<usize>) -> slice::ChunksMut<'s, T> {
        let end = self.all.len.min(range.end * self.size);
        // SAFETY: the caller's contract.
        unsafe { self.all.part(range.start * self.size..end) }.chunks_mut(self.size)
    }
}

/// Elements of a vector, moved out.
pub struct Owned<T> {
    all: ManuallyDrop<Vec<T>>,
    /// Elements before this one were moved out.
    given: AtomicUsize,
}

// SAFETY: elements are moved out, never shared.
unsafe impl<T: Send> Sync for Owned<T> {}

// SAFETY: each place is its own element.
unsafe impl<T: Send> Parallel for Owned<T> {
    type Item = T;
    type Part<'a>
        = OwnedPart<'a, T>
    where
        Self: 'a;
    const IS_EXACT: bool = true;

    fn places(&self) -> usize {
        self.all.len()
    }

    unsafe fn part(&self, range: Range<usize>) -> OwnedPart<'_, T> {
        self.given.fetch_max(range.end, Relaxed);
        OwnedPart(self.all[range].iter())
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: it is not used afterwards.
        let mut all = unsafe { ManuallyDrop::take(&mut self.all) };
        let given = *self.given.get_mut();
        // Elements that a shorter sequence did not reach.
        let rest = std::ptr::from_mut(&mut all[given..]);
        // SAFETY: parts have moved out or dropped the others. After a panic some may leak.
        unsafe {
            all.set_len(0);
            std::ptr::drop_in_place(rest);
        }
    }
}

/// Some elements of a vector.
pub struct OwnedPart<'a, T>(slice::Iter<'a, T>);

impl<T> Iterator for OwnedPart<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        // SAFETY: the element belongs to this part alone and is read once; the vector does not drop
        // it.
        self.0.next().map(|item| unsafe { std::ptr::read(item) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> ExactSizeIterator for OwnedPart<'_, T> {}

impl<T> Drop for OwnedPart<'_, T> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

impl<P: Parallel> IntoParallel for P {
    type Item = P::Item;
    type Into = P;

    fn into_par_iter(self) -> P {
        self
    }
}

impl<T: Send> IntoParallel for Vec<T> {
    type Item = T;
    type Into = Owned<T>;

    fn into_par_iter(self) -> Owned<T> {
        Owned { all: ManuallyDrop::new(self), given: AtomicUsize::new(0) }
    }
}

impl<T: Send, const N: usize> IntoParallel for [T; N] {
    type Item = T;
    type Into = Owned<T>;

    fn into_par_iter(self) -> Owned<T> {
        Vec::from(self).into_par_iter()
    }
}

impl<'s, T: Sync> IntoParallel for &'s [T] {
    type Item = &'s T;
    type Into = Slice<'s, T>;

    fn into_par_iter(self) -> Slice<'s, T> {
        Slice(self)
    }
}

impl<'s, T: Send> IntoParallel for &'s mut [T] {
    type Item = &'s mut T;
    type Into = SliceMut<'s, T>;

    fn into_par_iter(self) -> SliceMut<'s, T> {
        SliceMut(Shared::new(self))
    }
}

impl<'s, T: Sync> IntoParallel for &'s Vec<T> {
    type Item = &'s T;
    type Into = Slice<'s, T>;

    fn into_par_iter(self) -> Slice<'s, T> {
        Slice(self)
    }
}

impl<'s, T: Send> IntoParallel for &'s mut Vec<T> {
    type Item = &'s mut T;
    type Into = SliceMut<'s, T>;

    fn into_par_iter(self) -> SliceMut<'s, T> {
        SliceMut(Shared::new(self))
    }
}

/// Slices as sequences.
pub trait Slices<T> {
    /// Elements.
    fn par_iter(&self) -> Slice<'_, T>;
    /// Elements, mutable.
    fn par_iter_mut(&mut self) -> SliceMut<'_, T>;
    /// Consecutive parts of `size` elements; the last may be shorter.
    fn par_chunks(&self, size: usize) -> Chunks<'_, T>;
    /// Without a shorter last part.
    fn par_chunks_exact(&self, size: usize) -> Chunks<'_, T>;
    /// Consecutive parts of `size` elements, mutable; the last may be shorter.
    fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T>;
    /// Without a shorter last part.
    fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksMut<'_, T>;
    /// Sorts; equal elements may change places.
    fn par_sort_unstable(&mut self)
    where
        T: Ord + Send;
    /// Sorts by a key; equal elements may change places.
    fn par_sort_unstable_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K + Sync)
    where
        T: Send;
    /// Sorts by a key; equal elements keep their order.
    fn par_sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K + Sync)
    where
        T: Send;
}

impl<T> Slices<T> for [T] {
    fn par_iter(&self) -> Slice<'_, T> {
        Slice(self)
    }

    fn par_iter_mut(&mut self) -> SliceMut<'_, T> {
        SliceMut(Shared::new(self))
    }

    fn par_chunks(&self, size: usize) -> Chunks<'_, T> {
        assert!(size > 0, "chunks of no elements");
        Chunks { all: self, size }
    }

    fn par_chunks_exact(&self, size: usize) -> Chunks<'_, T> {
        self[..self.len() / size * size].par_chunks(size)
    }

    fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        assert!(size > 0, "chunks of no elements");
        ChunksMut { all: Shared::new(self), size }
    }

    fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        let whole = self.len() / size * size;
        self[..whole].par_chunks_mut(size)
    }

    fn par_sort_unstable(&mut self)
    where
        T: Ord + Send,
    {
        rayon::slice::ParallelSliceMut::par_sort_unstable(self);
    }

    fn par_sort_unstable_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K + Sync)
    where
        T: Send,
    {
        rayon::slice::ParallelSliceMut::par_sort_unstable_by_key(self, key);
    }

    fn par_sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K + Sync)
    where
        T: Send,
    {
        rayon::slice::ParallelSliceMut::par_sort_by_key(self, key);
    }
}
