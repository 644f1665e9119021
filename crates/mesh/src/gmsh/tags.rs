//! Tags of nodes and elements: unique, but sparse and huge if they like.

use std::collections::BTreeMap;

/// A set of tags kept as runs of consecutive ones, each tag with the number of those entered before it.
///
/// Files number almost everything consecutively, so that there are few runs; memory never exceeds what the tags themselves
/// take, whatever they are.
#[derive(Default)]
pub(super) struct Tags {
    /// Finished runs by their first tag.
    finished: BTreeMap<u64, Run>,
    current: Option<Run>,
    /// The first tag of the finished run after the current one.
    ceiling: u64,
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
        if self.count == u32::MAX - 1 {
            return Err(Refused::Full);
        }
        match &mut self.current {
            Some(run) if run.last.checked_add(1) == Some(tag) && tag < self.ceiling => {
                run.last = tag;
            }
            _ => self.start_run(tag)?,
        }
        self.count += 1;
        Ok(())
    }

    fn start_run(&mut self, tag: u64) -> Result<(), Refused> {
        if let Some(run) = self.current.take() {
            self.finished.insert(run.first, run);
        }
        let below = self.finished.range(..=tag).next_back();
        if below.is_some_and(|(_, run)| run.last >= tag) {
            return Err(Refused::Repeated);
        }
        // No tag can be entered above u64::MAX, so that it serves as "no ceiling" up to that very tag, which starts a run.
        self.ceiling = self.finished.range(tag..).next().map_or(u64::MAX, |(first, _)| *first);
        self.current = Some(Run { first: tag, last: tag, place: self.count });
        Ok(())
    }

    /// Makes the set ready for looking up many tags.
    pub fn into_places(mut self) -> Places {
        if let Some(run) = self.current.take() {
            self.finished.insert(run.first, run);
        }
        let runs: Vec<Run> = self.finished.into_values().collect();
        let base = runs.first().map_or(0, |run| run.first);
        let span = runs.last().map_or(0, |run| run.last - base).saturating_add(1);
        // A table, as long as it takes no more than a few times the memory of the tags.
        if runs.len() > 1 && span <= 4 * u64::from(self.count) {
            let mut table = vec![NONE; span as usize];
            for run in &runs {
                let start = (run.first - base) as usize;
                for offset in 0..=(run.last - run.first) as usize {
                    table[start + offset] = run.place + offset as u32;
                }
            }
            return Places::Table { base, table };
        }
        Places::Runs(runs)
    }
}

const NONE: u32 = u32::MAX;

/// Where each tag was in the order of entry.
pub(super) enum Places {
    /// By tag minus base; `NONE` for no tag.
    Table { base: u64, table: Vec<u32> },
    /// Sorted by tag.
    Runs(Vec<Run>),
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

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
