//! Arrays that are kept from `apply` to `apply`: fresh pages of memory would take as long as the
//! sums on them.

use std::sync::{Mutex, PoisonError};

use parallel::prelude::*;

/// Arrays that nobody uses at present.
#[derive(Debug, Default)]
pub struct Scratch(Mutex<Vec<Vec<f64>>>);

impl Scratch {
    /// An array of `length` arbitrary numbers: the smallest that has room, else the largest.
    pub fn take(&self, length: usize) -> Vec<f64> {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room =
            |array: &Vec<f64>| (array.capacity() < length, array.capacity().abs_diff(length));
        let best = (0..free.len()).min_by_key(|&i| room(&free[i]));
        let mut array = best.map(|i| free.swap_remove(i)).unwrap_or_default();
        drop(free);
        if array.capacity() < length {
            // Not worth copying.
            array = Vec::new();
        }
        array.resize(length, 0.0);
        array
    }

    /// As [`Self::take`], filled with zeros.
    pub fn zeros(&self, length: usize) -> Vec<f64> {
        let mut array = self.take(length);
        array.par_chunks_mut(1 << 16).for_each(|part| part.fill(0.0));
        array
    }

    /// Gives an array back.
    pub fn give(&self, array: Vec<f64>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(array);
    }
}
