//! Tags of nodes and elements: unique, but sparse and huge if they like.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// With more runs than this, of which an average one is shorter than [`SHORT`], tags count as
/// shuffled.
const MANY: usize = 4096;
const SHORT: usize = 8;

/// A set of tags, each with the number of those entered before it.
///
/// Files number almost everything consecutively, so that runs of consecutive tags describe them;
/// shuffled tags go to a hash table. Memory never exceeds a small multiple of what the tags
/// themselves take, whatever they are.
#[derive(Default)]
pub(super) struct Tags {
    /// Finished runs by their first tag.
    finished: BTreeMap<u64, Run>,
    current: Option<Run>,
    /// The first tag of the finished run after the current one.
    ceiling: u64,
    /// All tags, once they count as shuffled; the runs are empty then.
    shuffled: Option<HashMap<u64, u32>>,
    count: u32,
}

/// Consecutive tags that were entered one after the other.
#[derive(Clone, Copy)]
pub(super) struct Run {
    first: u64,
    last: u64,
    /// The place of the first tag in the order of entry.
    place: u32,
}

impl Run {
    fn entries(self) -> impl Iterator<Item = (u64, u32)> {
        (self.first..=self.last).zip(self.place..)
    }
}

/// Why a tag cannot be entered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It is in the set already.
    Repeated,
    /// 32-bit numbers are used up.
    Full,
}

impl Tags {
    /// Enters a tag.
    pub fn insert(&mut self, tag: u64) -> Result<(), Refused> {
        // The last number is reserved, as a mark for "none".
        if self.count == NONE - 1 {
            return Err(Refused::Full);
        }
        match (&mut self.current, &mut self.shuffled) {
            (Some(run), _) if run.last.checked_add(1) == Some(tag) && tag < self.ceiling => {
                run.last = tag;
            }
            (_, None) => self.start_run(tag)?,
            (_, Some(places)) => match places.entry(tag) {
                Entry::Vacant(entry) => {
                    entry.insert(self.count);
                }
                Entry::Occupied(_) => return Err(Refused::Repeated),
            },
        }
        self.count += 1;
        Ok(())
    }

    /// Enters `count` tags from `first` on; false if they have to be entered one by one.
    pub fn insert_run(&mut self, first: u64, count: u32) -> bool {
        let room = (NONE - 1).checked_sub(self.count);
        let last = u64::from(count).checked_sub(1).and_then(|more| first.checked_add(more));
        let (Some(room), Some(last)) = (room, last) else { return false };
        if count > room || last == u64::MAX || self.shuffled.is_some() {
            return false;
        }
        self.finish_run();
        let below = self.finished.range(..=last).next_back();
        if below.is_some_and(|(_, run)| run.last >= first) {
            return false;
        }
        self.ceiling = self.finished.range(first..).next().map_or(u64::MAX, |(next, _)| *next);
        self.current = Some(Run { first, last, place: self.count });
        self.count += count;
        true
    }

    fn start_run(&mut self, tag: u64) -> Result<(), Refused> {
        self.finish_run();
        let below = self.finished.range(..=tag).next_back();
        if below.is_some_and(|(_, run)| run.last >= tag) {
            return Err(Refused::Repeated);
        }
        let run = Run { first: tag, last: tag, place: self.count };
        if self.finished.len() > MANY && (self.count as usize) < SHORT * self.finished.len() {
            let runs = std::mem::take(&mut self.finished).into_values();
            self.shuffled = Some(runs.chain([run]).flat_map(Run::entries).collect());
            return Ok(());
        }
        // No tag can be entered above u64::MAX, so that it serves as "no ceiling" up to that very
        // tag, which starts a run.
        self.ceiling = self.finished.range(tag..).next().map_or(u64::MAX, |(first, _)| *first);
        self.current = Some(run);
        Ok(())
    }

    fn finish_run(&mut self) {
        if let Some(run) = self.current.take() {
            self.finished.insert(run.first, run);
        }
    }

    /// Makes the set ready for looking up many tags.
    pub fn into_places(mut self) -> Places {
        self.finish_run();
        if let Some(places) = self.shuffled {
            let range = places.keys().min().zip(places.keys().max());
            let entries = places.iter().map(|(tag, place)| (*tag, *place));
            return table(range, self.count, entries).unwrap_or(Places::Hash(places));
        }
        let runs: Vec<Run> = self.finished.into_values().collect();
        let range = runs.first().map(|run| &run.first).zip(runs.last().map(|run| &run.last));
        let entries = runs.iter().copied().flat_map(Run::entries);
        // A single run is as fast as a table.
        let table = if runs.len() > 1 { table(range, self.count, entries) } else { None };
        table.unwrap_or(Places::Runs(runs))
    }
}

const NONE: u32 = u32::MAX;

/// Where each tag was in the order of entry.
pub(super) enum Places {
    /// By tag minus base; `NONE` for no tag.
    Table { base: u64, table: Vec<u32> },
    /// Sorted by tag.
    Runs(Vec<Run>),
    /// By tag.
    Hash(HashMap<u64, u32>),
}

/// A table, if it takes no more than a few times the memory of the tags.
fn table(
    range: Option<(&u64, &u64)>,
    count: u32,
    entries: impl Iterator<Item = (u64, u32)>,
) -> Option<Places> {
    let (&base, &last) = range?;
    let span = (last - base).saturating_add(1);
    if span > 4 * u64::from(count) {
        return None;
    }
    let mut table = vec![NONE; span as usize];
    for (tag, place) in entries {
        table[(tag - base) as usize] = place;
    }
    Some(Places::Table { base, table })
}

impl Places {
    /// The number of tags entered before this one.
    pub fn get(&self, tag: u64) -> Option<u32> {
        match self {
            Self::Table { base, table } => {
                let offset = usize::try_from(tag.checked_sub(*base)?).ok()?;
                table.get(offset).copied().filter(|&place| place != NONE)
            }
            Self::Runs(runs) => {
                let run = &runs[runs.partition_point(|run| run.first <= tag).checked_sub(1)?];
                (tag <= run.last).then(|| run.place + (tag - run.first) as u32)
            }
            Self::Hash(places) => places.get(&tag).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// Runs entered at once leave what their tags leave that are entered one by one.
        #[test]
        fn runs_are_their_tags(runs in prop::collection::vec((0u64..60, 1u32..12), 1..12)) {
            let (mut at_once, mut one_by_one) = (Tags::default(), Tags::default());
            for (first, count) in runs {
                let tags: Vec<u64> = (first..first + u64::from(count)).collect();
                let mut fresh = Tags::default();
                std::mem::swap(&mut fresh, &mut one_by_one);
                let known = fresh.into_places();
                let is_new = tags.iter().all(|tag| known.get(*tag).is_none());
                prop_assert_eq!(at_once.insert_run(first, count), is_new);
                // Rebuilt from what was known, in the order of places.
                let mut all: Vec<(u32, u64)> =
                    (0..80).filter_map(|tag| Some((known.get(tag)?, tag))).collect();
                all.sort_unstable();
                let new = if is_new { tags } else { Vec::new() };
                for tag in all.into_iter().map(|(_, tag)| tag).chain(new) {
                    prop_assert_eq!(one_by_one.insert(tag), Ok(()));
                }
            }
            let (at_once, one_by_one) = (at_once.into_places(), one_by_one.into_places());
            for tag in 0..80 {
                prop_assert_eq!(at_once.get(tag), one_by_one.get(tag));
            }
        }
    }

    fn check(tags: &[u64]) {
        let mut ours = Tags::default();
        let mut expected: HashMap<u64, u32> = HashMap::new();
        for &tag in tags {
            let fresh = !expected.contains_key(&tag);
            assert_eq!(ours.insert(tag), if fresh { Ok(()) } else { Err(Refused::Repeated) });
            let next = expected.len() as u32;
            expected.entry(tag).or_insert(next);
        }
        let places = ours.into_places();
        for &tag in tags {
            for probe in [tag, tag.wrapping_add(1), tag.wrapping_sub(1)] {
                assert_eq!(places.get(probe), expected.get(&probe).copied());
            }
        }
    }

    #[test]
    fn extreme_tags() {
        check(&[u64::MAX, 0, u64::MAX - 1, 1, u64::MAX, u64::MAX - 1, 0]);
        check(&[]);
        check(&[5, 6, 7, 3, 4, 5]);
    }

    #[test]
    fn shuffled_tags() {
        let count = 20_011;
        for spread in [1, 1 << 40] {
            let mut tags: Vec<u64> =
                (0..count).map(|k| k * 7919 % count * spread + u64::from(spread > 1)).collect();
            tags.extend([tags[0], tags[count as usize - 1], u64::MAX, 3 * spread / 2 + 1]);
            check(&tags);
        }
    }

    proptest! {
        #[test]
        fn dense_shuffled(tags in prop::collection::vec(0u64..60, 0..80)) {
            check(&tags);
        }

        #[test]
        fn sparse(tags in prop::collection::vec(any::<u64>(), 0..40)) {
            check(&tags);
        }
    }
}
