//! Results of threads, put in order.

use std::sync::{Mutex, PoisonError};

/// Results of ranges, in the order of the sequence. Each thread has its own place: threads that
/// waited for each other took longer than small loops do.
pub(crate) struct Ordered<T>(Vec<Mutex<Vec<(usize, T)>>>);

impl<T> Ordered<T> {
    pub(crate) fn new() -> Self {
        Self((0..rayon::current_num_threads()).map(|_| Mutex::new(Vec::new())).collect())
    }

    pub(crate) fn put(&self, start: usize, value: T) {
        let own = rayon::current_thread_index().unwrap_or(0) % self.0.len();
        self.0[own].lock().unwrap_or_else(PoisonError::into_inner).push((start, value));
    }

    pub(crate) fn into_values(self) -> impl Iterator<Item = T> {
        let (mut starts, mut values) = (Vec::new(), Vec::new());
        for part in self.0 {
            for (start, value) in part.into_inner().unwrap_or_else(PoisonError::into_inner) {
                starts.push(start);
                values.push(Some(value));
            }
        }
        order(&starts).into_iter().filter_map(move |at| values[at].take())
    }
}

/// The order of these starts, smallest first.
fn order(starts: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..starts.len()).collect();
    order.sort_unstable_by_key(|&at| starts[at]);
    order
}
