//! Collections of the items of a sequence.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use crate::ordered::Ordered;
use crate::{FromParallel, IntoParallel, Parallel, ParallelExtend, run};

/// The uninitialised end of a vector, which threads fill.
struct Room<T>(*mut T);

// SAFETY: each place is written by one thread.
unsafe impl<T: Send> Sync for Room<T> {}
// SAFETY: likewise.
unsafe impl<T: Send> Send for Room<T> {}

impl<T> Room<T> {
    /// # Safety
    /// The place must be within the room, and used by nobody else.
    unsafe fn put(&self, place: usize, value: T) {
        // SAFETY: the caller's contract.
        unsafe { self.0.add(place).write(value) }
    }
}

/// Bytes of parts that many threads append.
const LARGE: usize = 1 << 20;

/// Appends what is in all parts.
fn append<T: Send>(to: &mut Vec<T>, mut parts: Vec<Vec<T>>) {
    let total = parts.iter().map(Vec::len).sum();
    to.reserve(total);
    if total * size_of::<T>() < LARGE {
        return parts.iter_mut().for_each(|part| to.append(part));
    }
    // Pages of the vector are made by the threads that fill them; parts go as they are moved.
    let mut place = to.spare_capacity_mut().as_mut_ptr().cast::<T>();
    let with_place = |part: Vec<T>| {
        let own = Room(place);
        place = place.wrapping_add(part.len());
        (part, own)
    };
    let parts: Vec<(Vec<T>, Room<T>)> = parts.into_iter().map(with_place).collect();
    parts.into_par_iter().for_each(|(mut part, room)| {
        // SAFETY: each part has its own place in the reserved memory, and has its values no longer.
        unsafe {
            room.0.copy_from_nonoverlapping(part.as_ptr(), part.len());
            part.set_len(0);
        }
    });
    // SAFETY: all places have been written.
    unsafe { to.set_len(to.len() + total) };
}

/// Appends all items. If items cannot fail, those of exact sequences are written in place.
fn extend<P: Parallel>(to: &mut Vec<P::Item>, of: &P) {
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
        return append(to, parts.into_values().collect());
    }
    to.reserve(places);
    let (room, written) = (Room(to.spare_capacity_mut().as_mut_ptr().cast()), AtomicUsize::new(0));
    let part = |range: Range<usize>| {
        let mut place = range.start;
        // SAFETY: `run` gives each place once, and an exact sequence has an item for each.
        for item in unsafe { of.part(range.clone()) }.take(range.len()) {
            // SAFETY: within `range`, which is within the reserved memory.
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

impl<T: Send> ParallelExtend<T> for Vec<T> {
    fn par_extend(&mut self, items: impl IntoParallel<Item = T>) {
        extend(self, &items.into_par_iter());
    }
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

/// Collects until an item fails; returns the first of the failures found.
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

/// Collects unless an item is missing.
impl<T: Send, C: FromIterator<T>> FromParallel<Option<T>> for Option<C> {
    fn from_parallel<P: Parallel<Item = Option<T>>>(of: P) -> Self {
        Result::from_parallel(of.map(|item| item.ok_or(()))).ok()
    }
}
