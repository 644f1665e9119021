//! Arrays of which parallel jobs write parts that do not overlap.

use std::marker::PhantomData;
use std::ops::Range;

/// An array of which parallel jobs write parts that are scattered over it, so that it cannot be cut
/// into slices beforehand without many allocations.
#[derive(Debug)]
pub struct DisjointSlice<'a, T> {
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
    /// Borrows the array until the last part is given back.
    pub fn new(array: &'a mut [T]) -> Self {
        Self { start: array.as_mut_ptr(), length: array.len(), array: PhantomData }
    }

    /// A part of the array.
    ///
    /// # Panics
    /// If the range is not within the array.
    ///
    /// # Safety
    /// No other part that overlaps it is alive.
    #[inline(always)]
    pub unsafe fn slice(&self, range: Range<usize>) -> &'a mut [T] {
        assert!(range.start <= range.end && range.end <= self.length);
        // SAFETY: the range lies within the array, which is borrowed for 'a; parts do not overlap.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}
