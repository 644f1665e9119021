//! Buffers of vectors that a thread keeps from job to job, so that `apply` allocates nothing once
//! it is warm.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use simd::Simd;

/// A cache line: aligned as the widest vector must be.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

thread_local! {
    static FREE: RefCell<Vec<Vec<Line>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer of vectors with arbitrary lanes at first; goes back to its thread when dropped.
pub(crate) struct Scratch<V> {
    lines: Vec<Line>,
    length: usize,
    vectors: PhantomData<V>,
}

impl<V: Simd> Scratch<V> {
    pub(crate) fn new(length: usize) -> Self {
        const { assert!(size_of::<V>() <= 64 && align_of::<V>() <= 64) };
        let mut lines = FREE.with(|free| free.borrow_mut().pop()).unwrap_or_default();
        let count = (length * size_of::<V>()).div_ceil(64);
        if lines.len() < count {
            lines.resize(count, Line([0; 64]));
        }
        Self { lines, length, vectors: PhantomData }
    }
}

impl<V> Drop for Scratch<V> {
    fn drop(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        FREE.with(|free| free.borrow_mut().push(lines));
    }
}

impl<V: Simd> Deref for Scratch<V> {
    type Target = [V];

    #[inline(always)]
    fn deref(&self) -> &[V] {
        // SAFETY: the lines are aligned and long enough (`new`), and a vector is plain lanes, of
        // which every bit pattern is valid.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.length) }
    }
}

impl<V: Simd> DerefMut for Scratch<V> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [V] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.length) }
    }
}
