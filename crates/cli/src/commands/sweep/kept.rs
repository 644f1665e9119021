//! Runs in a checkpoint, with their files.

use serde::{Deserialize, Serialize};

use super::rows::{Common, Row, Sent};
use super::runs::{Runs, tag};
use crate::files;
use crate::report::results::{Checkpoint, Folder};

/// The part that all runs have in common.
const COMMON: &str = "sweep";

/// A run.
#[derive(Serialize, Deserialize)]
struct KeptRun {
    row: Sent,
    /// Its files, with their checksums.
    files: Vec<(String, u64)>,
}

/// The part that is a run.
fn part(run: usize) -> String {
    format!("run{}", tag(run + 1))
}

/// Keeps what all runs have in common.
pub(super) fn put_common(checkpoint: &Checkpoint, common: &Common) {
    checkpoint.put(COMMON, common, &[]);
}

/// Keeps a run with its files.
pub(super) fn put_run(
    checkpoint: &Checkpoint,
    (run, row): (usize, &Row),
    folder: &Folder,
    files: &[String],
) {
    let sum =
        |name: &String| Some((name.clone(), checkpoint.put_file(name, &folder.staged_at(name))?));
    if let Some(files) = files.iter().map(sum).collect() {
        checkpoint.put(&part(run), &KeptRun { row: Sent::of(run, row), files }, &[]);
    }
}

/// What an earlier sweep has kept of its runs, if there is anything; their files are put into the
/// folder.
pub(super) fn take(
    checkpoint: &Checkpoint,
    runs: &Runs<'_>,
    folder: &mut Folder,
) -> Option<(Common, Vec<Option<Row>>)> {
    let (common, _) = checkpoint.take(COMMON)?;
    let rows = (0..runs.len()).map(|run| {
        let (KeptRun { row, files }, _) = checkpoint.take(&part(run))?;
        let bring =
            |(name, sum): &(String, u64)| checkpoint.take_file(name, *sum, &folder.staged_at(name));
        if !files.iter().all(bring) {
            // What is not whole is written again with its run.
            files.iter().for_each(|(name, _)| files::remove(&folder.staged_at(name)));
            return None;
        }
        folder.add_staged(files.into_iter().map(|(name, _)| name));
        Some(row.into_row(runs.parameters(run)))
    });
    Some((common, rows.collect()))
}
