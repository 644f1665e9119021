//! Commands of many solves: items that give a row each, dealt to ranks or solved by all together,
//! and resumed from a checkpoint.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::machine::ranks::Ranks;
use crate::report::results::{Checkpoint, Folder};
use crate::temporaries;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::interrupt;

/// The results of one item.
pub trait Row: Serialize + DeserializeOwned {
    /// Its files in the output folder.
    fn files(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A row in a checkpoint.
#[derive(Serialize, Deserialize)]
struct Part<R> {
    row: R,
    /// Names and checksums of its files.
    files: Vec<(String, u64)>,
}

/// The rows of a series, one per item, and the checkpoint that they are added to.
pub struct Rows<'a, R> {
    rows: Vec<Option<R>>,
    /// Items whose rows this rank or the first has.
    is_done: Vec<bool>,
    /// Items in the order in which this rank has added their rows.
    added: Vec<usize>,
    checkpoint: Option<&'a Checkpoint>,
    /// The name of an item's part of the checkpoint.
    name: fn(usize) -> String,
}

impl<'a, R: Row> Rows<'a, R> {
    /// No rows yet.
    pub fn new(
        items: usize,
        checkpoint: Option<&'a Checkpoint>,
        name: fn(usize) -> String,
    ) -> Self {
        let rows = (0..items).map(|_| None).collect();
        Self { rows, is_done: vec![false; items], added: Vec::new(), checkpoint, name }
    }

    /// Takes up the rows that an earlier run has left, which the first rank then has; their files
    /// are put into its folder. Collective.
    pub(super) fn resume(
        &mut self,
        ranks: &Ranks,
        folder: Option<&mut Folder>,
    ) -> Result<(), Failure> {
        let folder = folder.filter(|_| ranks.is_first());
        if let (Some(checkpoint), Some(folder)) = (self.checkpoint, folder) {
            for (item, row) in self.rows.iter_mut().enumerate() {
                *row = taken(checkpoint, &(self.name)(item), folder);
            }
        }
        let own: Vec<u8> = self.rows.iter().map(|row| u8::from(row.is_some())).collect();
        let done = ranks.gather(&own)?.swap_remove(0);
        self.is_done = done.into_iter().map(|done| done == 1).collect();
        Ok(())
    }

    /// Whether an item needs no solve any more.
    pub(super) fn is_done(&self, item: usize) -> bool {
        self.is_done.get(item).is_some_and(|is_done| *is_done)
    }

    /// The rows that this rank has, with their items.
    pub(super) fn known(&self) -> impl Iterator<Item = (usize, &R)> {
        self.rows.iter().enumerate().filter_map(|(item, row)| Some((item, row.as_ref()?)))
    }

    /// The row of an item, if this rank has it.
    pub(super) fn get(&self, item: usize) -> Option<&R> {
        self.rows.get(item)?.as_ref()
    }

    /// From now on charges in the checkpoint belong to this item; those of items that are done are
    /// removed.
    pub(super) fn begin(&self, item: usize) {
        if let Some(checkpoint) = self.checkpoint {
            checkpoint.begin(item, |item| self.is_done(item));
        }
    }

    /// [`Rows::begin`] for an item that all ranks solve together: the first, which has the row of
    /// the item before, writes it before others remove charges that led to it. Collective.
    pub(super) fn begin_together(&self, ranks: &Ranks, item: usize) -> Result<(), Failure> {
        if ranks.is_first() {
            self.begin(item);
        }
        ranks.agree(Ok(()))?;
        if !ranks.is_first() {
            self.begin(item);
        }
        Ok(())
    }

    /// Adds the row of an item, whose files are in `folder`.
    pub fn add(&mut self, item: usize, row: R, folder: Option<&Folder>) {
        if let Some(checkpoint) = self.checkpoint {
            let file = |name: String| {
                let sum = checkpoint.put_file(&name, &folder?.staged_at(&name))?;
                Some((name, sum))
            };
            if let Some(files) = row.files().into_iter().map(file).collect() {
                checkpoint.put(&(self.name)(item), &Part { row: &row, files });
            }
        }
        self.rows[item] = Some(row);
        self.is_done[item] = true;
        self.added.push(item);
    }

    /// Notes that the first rank has the row of an item.
    pub(super) fn set_done(&mut self, item: usize) {
        self.is_done[item] = true;
    }

    /// Calls `solve` for each of these items that is not done; it adds the row, and those of other
    /// items that follow from it.
    pub(super) fn solve_all(
        &mut self,
        items: &[usize],
        mut solve: impl FnMut(&mut Self, usize) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for &item in items {
            if !self.is_done(item) {
                interrupt::check()?;
                self.begin(item);
                solve(self, item)?;
            }
        }
        Ok(())
    }

    /// Writes everything to the checkpoint: other ranks may work on for long, or fail.
    pub fn write(&self) {
        if let Some(checkpoint) = self.checkpoint {
            checkpoint.begin(self.rows.len(), |item| self.is_done(item));
            checkpoint.write_all();
        }
    }

    /// Brings the rows of all ranks to the first, and the names of their files to its folder.
    /// Collective.
    pub(super) fn gather(
        &mut self,
        ranks: &Ranks,
        folder: Option<&mut Folder>,
    ) -> Result<(), Failure> {
        if ranks.size() == 1 {
            return Ok(());
        }
        let unread =
            |error| Failure::new(Exit::Io, format!("a message from another rank: {error}"));
        let own: Vec<(usize, &R)> = match ranks.is_first() {
            true => Vec::new(),
            false => self.added.iter().filter_map(|&item| Some((item, self.get(item)?))).collect(),
        };
        let own = ranks.agree(postcard::to_extend(&own, Vec::new()).map_err(unread))?;
        let all = ranks.gather(&own)?;
        if !ranks.is_first() {
            return ranks.agree(Ok(()));
        }
        let read = |rows: &Vec<u8>| postcard::from_bytes::<Vec<(usize, R)>>(rows);
        let all = all[1..].iter().map(read).collect::<Result<Vec<_>, _>>();
        let all = ranks.agree(all.map_err(unread))?;
        let files = all.iter().flatten().flat_map(|(_, row)| row.files());
        if let Some(folder) = folder {
            folder.add_staged(files);
        }
        for (item, row) in all.into_iter().flatten() {
            self.rows[item] = Some(row);
        }
        Ok(())
    }

    /// The rows that this rank has, in the order of their items.
    pub(super) fn into_rows(self) -> Vec<R> {
        self.rows.into_iter().flatten().collect()
    }
}

/// All rows that an earlier run has left, whatever their items; rows without files.
pub(super) fn all_rows<R: Row>(checkpoint: &Checkpoint) -> Vec<R> {
    let part = |name: &String| checkpoint.take::<Part<R>>(name);
    checkpoint.parts().iter().filter_map(part).map(|part| part.row).collect()
}

/// A row of an earlier run, whose files are put into the folder; `None` if any of it is missing or
/// damaged.
fn taken<R: Row>(checkpoint: &Checkpoint, name: &str, folder: &mut Folder) -> Option<R> {
    let Part { row, files } = checkpoint.take::<Part<R>>(name)?;
    let take =
        |(name, sum): &(String, u64)| checkpoint.take_file(name, *sum, &folder.staged_at(name));
    if !files.iter().all(take) {
        // Every file is written again with its row.
        files.iter().for_each(|(name, _)| temporaries::remove(&folder.staged_at(name)));
        return None;
    }
    folder.add_staged(files.into_iter().map(|(name, _)| name));
    Some(row)
}
