//! results.json as the list of what an earlier run has written.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::report::page;

/// The start of the schema's name in every results.json of this program.
const FAMILY: &str = "farad-";

/// The file that lists the others.
pub(crate) const INDEX: &str = "results.json";

/// The part of a results.json that identifies the folder's owner.
#[derive(Deserialize)]
struct Index {
    schema: String,
    files: Vec<String>,
}

/// The files that the results.json in `path` lists, and a page that was made of them later;
/// `None` if there is no results.json of this program.
pub(super) fn previous_files(path: &Path) -> Option<Vec<String>> {
    let text = fs::read_to_string(path.join(INDEX)).ok()?;
    let index: Index = serde_json::from_str(&text).ok()?;
    let ours = index.schema.starts_with(FAMILY);
    // A list that was tampered with must not lead out of the folder.
    let plain = |name: &String| Path::new(name).file_name() == Some(name.as_ref());
    let page = page::is_own(&path.join(page::FILE)).then(|| page::FILE.to_owned());
    ours.then(|| index.files.into_iter().filter(plain).chain(page).collect())
}
