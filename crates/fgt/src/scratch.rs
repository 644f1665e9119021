//! Arrays that are kept from `apply` to `apply`: fresh pages of memory would take as long as the
//! sums on them.

use std::sync::{Mutex, PoisonError};

use parallel::prelude::*;

/// Arrays that nobody uses at present.
#[derive(Debug, Default)]
pub(crate) struct Scratch(Mutex<Vec<Vec<f64>>>);

impl Scratch {
    /// An array of `length` arbitrary numbers: the smallest that has room, else the largest.
    pub(crate) fn take(&self, length: usize) -> Vec<f64> {
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

    /// The same, filled with zeros.
    pub(crate) fn zeros(&self, length: usize) -> Vec<f64> {
        let mut array = self.take(length);
        array.par_chunks_mut(1 << 16).for_each(|part| part.fill(0.0));
        array
    }

    /// Gives an array back.
    pub(crate) fn give(&self, array: Vec<f64>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(array);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_come_back_to_where_they_fit() {
        let scratch = Scratch::default();
        let lengths = [100, 3000, 20];
        let arrays = lengths.map(|length| scratch.take(length));
        let places = [0, 1, 2].map(|i| (arrays[i].as_ptr(), lengths[i]));
        arrays.into_iter().for_each(|array| scratch.give(array));
        // Whatever the order, and whether they have exactly that length or a little more.
        for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
            for less in [0, 5] {
                let taken = order.map(|i| scratch.take(places[i].1 - less));
                for (i, array) in order.into_iter().zip(&taken) {
                    assert_eq!((array.as_ptr(), array.len()), (places[i].0, places[i].1 - less));
                }
                taken.into_iter().for_each(|array| scratch.give(array));
            }
        }
        assert!(scratch.take(5000).len() == 5000 && scratch.zeros(50) == [0.0; 50]);
    }
}
