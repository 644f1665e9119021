//! What several ranks have done, in a file of each: a run that was killed goes on from there.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::rows::Row;
use crate::files;
use crate::temporaries;
use crate::terminal::exit::{Exit, Failure};

/// The folder of the files, in that of the batch. Other writers clean up in the latter.
pub const FOLDER: &str = ".farad-ranks";

/// A molecule that a rank is done with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Done {
    /// Its place in the batch.
    pub index: usize,
    pub row: Row,
    /// Whether it was solved for, and not done before.
    pub is_solved: bool,
    /// The exit code, if it failed.
    pub failed: Option<u8>,
}

/// Makes the folder.
pub fn make(batch: &Path) -> Result<(), Failure> {
    let folder = batch.join(FOLDER);
    std::fs::create_dir_all(&folder).map_err(|error| Failure::io("create", &folder, &error))
}

/// Whether the folder is there.
pub fn are_in(batch: &Path) -> bool {
    batch.join(FOLDER).is_dir()
}

/// Writes what a rank has done so far.
pub fn write(batch: &Path, rank: usize, done: &[Done]) -> Result<(), Failure> {
    let text = serde_json::to_vec(done);
    let text = text.map_err(|error| Failure::new(Exit::Io, format!("a journal: {error}")))?;
    let path = batch.join(FOLDER).join(format!("{rank}.json"));
    files::replace(&path, |out| out.write_all(&text))
}

/// The rows that ranks of a run that was killed have left.
pub fn read(batch: &Path) -> Vec<Row> {
    let entries = std::fs::read_dir(batch.join(FOLDER)).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let text = |file: &PathBuf| std::fs::read(file).ok();
    let done = |text: Vec<u8>| serde_json::from_slice::<Vec<Done>>(&text).ok();
    let all = files.iter().filter_map(text).filter_map(done).flatten();
    all.map(|done| done.row).collect()
}

/// Removes the folder, if it is there.
pub fn remove(batch: &Path) {
    temporaries::remove(&batch.join(FOLDER));
}
