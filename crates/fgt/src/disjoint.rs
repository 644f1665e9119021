//! Arrays of which parallel jobs write parts that do not overlap.

use std::marker::PhantomData;
use std::ops::Range;

/// An array written by parallel jobs: those of one colour write to blocks that are scattered over it.
#[derive(Debug)]
pub(crate) struct DisjointSlice<'a, T> {
    start: *mut T,
    length: usize,
    array: PhantomData<&'a mut [T]>,
}

// SAFETY: it gives out parts of a `&mut [T]`, by a method whose callers see to it that they do not
// overlap.
unsafe impl<T: Send> Sync for DisjointSlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for DisjointSlice<'_, T> {}

impl<'a, T> DisjointSlice<'a, T> {
    pub(crate) fn new(array: &'a mut [T]) -> Self {
        Self { start: array.as_mut_ptr(), length: array.len(), array: PhantomData }
    }

    /// A part of the array.
    ///
    /// # Safety
    /// No other part that overlaps it is alive.
    #[inline(always)]
    pub(crate) unsafe fn slice(&self, range: Range<usize>) -> &'a mut [T] {
        assert!(range.start <= range.end && range.end <= self.length);
        // SAFETY: the range lies within the array, which is borrowed for 'a; parts do not overlap.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}
