//! Runs in a checkpoint, with their files.

use serde::{Deserialize, Serialize};

use super::rows::{Common, Found, Row, Sent};
use super::runs::{Runs, tag};
use crate::report::results::{Checkpoint, Folder};
use crate::temporaries;
use crate::terminal::exit::Failure;

/// A run.
#[derive(Serialize, Deserialize)]
struct KeptRun {
    row: Sent,
    /// Of this run alone: whichever ranks had others, all of them need not be there.
    common: Common,
    /// Its files, with their checksums.
    files: Vec<(String, u64)>,
}

/// The part that is a run.
fn part(run: usize) -> String {
    format!("run{}", tag(run + 1))
}

/// Keeps a run with its files.
pub(super) fn put(
    checkpoint: &Checkpoint,
    run: usize,
    row: &Row,
    common: Common,
    folder: &Folder,
    files: &[String],
) {
    let sum =
        |name: &String| Some((name.clone(), checkpoint.put_file(name, &folder.staged_at(name))?));
    if let Some(files) = files.iter().map(sum).collect() {
        checkpoint.put(&part(run), &KeptRun { row: Sent::of(run, row), common, files }, &[]);
    }
}

/// What an earlier sweep has kept of its runs; their files are put into the folder.
///
/// # Errors
/// Runs have other conductors than others.
pub(super) fn take(
    checkpoint: &Checkpoint,
    runs: &Runs<'_>,
    folder: &mut Folder,
) -> Result<Found, Failure> {
    let mut found = Found::none(runs.len());
    for run in 0..runs.len() {
        let Some((kept, _)) = checkpoint.take::<KeptRun>(&part(run)) else { continue };
        let KeptRun { row, common, files } = kept;
        let bring =
            |(name, sum): &(String, u64)| checkpoint.take_file(name, *sum, &folder.staged_at(name));
        if !files.iter().all(bring) {
            // What is not whole is written again with its run.
            files.iter().for_each(|(name, _)| temporaries::remove(&folder.staged_at(name)));
            continue;
        }
        if let (Some(names), Some(of_first)) = (&common.conductors, &found.common.conductors) {
            runs.check_conductors(run, names, of_first)?;
        }
        folder.add_staged(files.into_iter().map(|(name, _)| name));
        found.common.add(common);
        found.rows[run] = Some(row.into_row(runs.parameters(run)));
    }
    Ok(found)
}
