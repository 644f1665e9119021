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
pub struct Tags {
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
pub struct Run {
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
pub enum Refused {
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
pub enum Places {
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
