//! What several ranks have done, in a file of each: a run that was killed goes on from there.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::rows::Row;
use crate::files;
use crate::terminal::exit::{Exit, Failure};

/// The folder of the files, in that of the batch. Other writers clean up in the latter.
const FOLDER: &str = ".farad-ranks";

/// A molecule that a rank is done with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Done {
    /// Its place in the batch.
    pub(super) index: usize,
    pub(super) row: Row,
    /// Whether it was solved for, and not done before.
    pub(super) is_solved: bool,
    /// The exit code, if it failed.
    pub(super) failed: Option<u8>,
}

/// Makes the folder.
pub(super) fn make(batch: &Path) -> Result<(), Failure> {
    let folder = batch.join(FOLDER);
    std::fs::create_dir_all(&folder).map_err(|error| Failure::io("create", &folder, &error))
}

/// Whether the folder is there.
pub(super) fn are_in(batch: &Path) -> bool {
    batch.join(FOLDER).is_dir()
}

/// Writes what a rank has done so far.
pub(super) fn write(batch: &Path, rank: usize, done: &[Done]) -> Result<(), Failure> {
    let text = serde_json::to_vec(done);
    let text = text.map_err(|error| Failure::new(Exit::Io, format!("a journal: {error}")))?;
    let path = batch.join(FOLDER).join(format!("{rank}.json"));
    files::replace(&path, |out| out.write_all(&text))
}

/// The rows that ranks of a run that was killed have left.
pub(super) fn read(batch: &Path) -> Vec<Row> {
    let entries = std::fs::read_dir(batch.join(FOLDER)).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let text = |file: &PathBuf| std::fs::read(file).ok();
    let done = |text: Vec<u8>| serde_json::from_slice::<Vec<Done>>(&text).ok();
    let all = files.iter().filter_map(text).filter_map(done).flatten();
    all.map(|done| done.row).collect()
}

/// Removes the folder, if it is there.
pub(super) fn remove(batch: &Path) {
    files::remove(&batch.join(FOLDER));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_all_ranks_are_read_again_bit_by_bit() {
        let batch = std::env::temp_dir().join(files::temporary_name(None));
        assert!(read(&batch).is_empty() && !are_in(&batch));
        make(&batch).unwrap();
        assert!(are_in(&batch));
        let done = |index: usize| {
            let mut row = Row::pending(&format!("m{index}"), "m.pqr".to_owned());
            row.solvation_kcal_per_mol = Some(-1.0 / (index + 3) as f64);
            Done { index, row, is_solved: true, failed: None }
        };
        write(&batch, 1, &[done(4)]).unwrap();
        write(&batch, 0, &[done(1)]).unwrap();
        // Again, when there is more.
        write(&batch, 0, &[done(1), done(2)]).unwrap();
        let rows = read(&batch);
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["m1", "m2", "m4"]);
        let energies: Vec<_> = rows.iter().map(|row| row.solvation_kcal_per_mol).collect();
        assert_eq!(energies, [1, 2, 4].map(|index| Some(-1.0 / (index + 3) as f64)));
        // What was cut short is left out.
        std::fs::write(batch.join(FOLDER).join("2.json"), "[{").unwrap();
        assert_eq!(read(&batch).len(), 3);
        remove(&batch);
        assert!(!are_in(&batch));
        std::fs::remove_dir(&batch).unwrap();
    }
}
