//! Collections of what a sequence has.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::{Parallel, run};

/// What ranges leave, in the order of the sequence. Each thread has a place of its own: threads
/// that waited for each other took longer than small loops do.
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
        let parts = self.0.into_iter();
        let of_thread = |part: Mutex<_>| part.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (starts, mut values): (Vec<usize>, Vec<Option<T>>) =
            parts.flat_map(of_thread).map(|(start, value)| (start, Some(value))).unzip();
        let mut order: Vec<(usize, usize)> = starts.into_iter().zip(0..).collect();
        order.sort_unstable();
        order.into_iter().filter_map(move |(_, at)| values[at].take())
    }
}

/// The end of a vector to be, which threads fill.
struct Room<T>(*mut T);

// SAFETY: each place is written by one thread.
unsafe impl<T: Send> Sync for Room<T> {}

impl<T> Room<T> {
    /// # Safety
    /// The place is within the room, and nobody else's.
    unsafe fn put(&self, place: usize, value: T) {
        // SAFETY: the caller's.
        unsafe { self.0.add(place).write(value) }
    }
}

/// Appends all items. Where nothing may fail, items of exact sequences are written in place.
pub(crate) fn extend<P: Parallel>(to: &mut Vec<P::Item>, of: &P) {
    let places = of.places();
    if !P::IS_EXACT {
        let parts = Ordered::new();
        let part = |range: Range<usize>| {
            let start = range.start;
            // SAFETY: `run` gives each place once.
            let own: Vec<P::Item> = unsafe { of.part(range) }.collect();
            if !own.is_empty() {
                parts.put(start, own);
            }
        };
        run(places, of.sizes(), &part);
        parts.into_values().for_each(|mut own| to.append(&mut own));
        return;
    }
    to.reserve(places);
    let (room, written) = (Room(to.spare_capacity_mut().as_mut_ptr().cast()), AtomicUsize::new(0));
    let part = |range: Range<usize>| {
        let mut place = range.start;
        // SAFETY: `run` gives each place once, and an exact sequence has an item for each.
        for item in unsafe { of.part(range.clone()) }.take(range.len()) {
            // SAFETY: within `range`, which is within what was reserved.
            unsafe { room.put(place, item) };
            place += 1;
        }
        written.fetch_add(place - range.start, Relaxed);
    };
    run(places, of.sizes(), &part);
    assert_eq!(written.into_inner(), places, "a sequence has an item for each place");
    // SAFETY: all places have been written.
    unsafe { to.set_len(to.len() + places) };
}

/// What items of a sequence can be collected in.
pub trait FromParallel<T>: Sized {
    /// All items, in their order.
    fn from_parallel<P: Parallel<Item = T>>(of: P) -> Self;
}

impl<T: Send> FromParallel<T> for Vec<T> {
    fn from_parallel<P: Parallel<Item = T>>(of: P) -> Self {
        let mut all = Self::new();
        extend(&mut all, &of);
        all
    }
}

impl<T: Send + Eq + Hash, S: BuildHasher + Default> FromParallel<T> for HashSet<T, S> {
    fn from_parallel<P: Parallel<Item = T>>(of: P) -> Self {
        Vec::from_parallel(of).into_iter().collect()
    }
}

impl<K: Send + Eq + Hash, V: Send, S: BuildHasher + Default> FromParallel<(K, V)>
    for HashMap<K, V, S>
{
    fn from_parallel<P: Parallel<Item = (K, V)>>(of: P) -> Self {
        Vec::from_parallel(of).into_iter().collect()
    }
}

/// Collects until one fails: of those that were found to, the first.
impl<T: Send, E: Send, C: FromIterator<T>> FromParallel<Result<T, E>> for Result<C, E> {
    fn from_parallel<P: Parallel<Item = Result<T, E>>>(of: P) -> Self {
        let (parts, has_failed) = (Ordered::new(), AtomicBool::new(false));
        let part = |range: Range<usize>| {
            let (start, mut own) = (range.start, Vec::new());
            // SAFETY: `run` gives each place once.
            for item in unsafe { of.part(range) } {
                if has_failed.load(Relaxed) {
                    return;
                }
                match item {
                    Ok(value) => own.push(value),
                    Err(error) => {
                        has_failed.store(true, Relaxed);
                        return parts.put(start, Err(error));
                    }
                }
            }
            parts.put(start, Ok(own));
        };
        run(of.places(), of.sizes(), &part);
        let all: Vec<Vec<T>> = parts.into_values().collect::<Result<_, E>>()?;
        Ok(all.into_iter().flatten().collect())
    }
}

/// Collects unless one is missing.
impl<T: Send, C: FromIterator<T>> FromParallel<Option<T>> for Option<C> {
    fn from_parallel<P: Parallel<Item = Option<T>>>(of: P) -> Self {
        Result::from_parallel(of.map(|item| item.ok_or(()))).ok()
    }
}
