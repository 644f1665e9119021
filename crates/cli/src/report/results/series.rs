//! Results of commands that solve many times: what they have in common, and how they are written
//! and shown.

use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use super::folder::Folder;
use crate::case::Case;
use crate::paths;
use crate::report::made::Made;
use crate::report::{json, page};
use crate::terminal::exit::Failure;
use crate::terminal::output::Output;

/// The content of results.json.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Series<S, T> {
    /// Name and version of the document.
    schema: &'static str,
    /// "complete", or why it is not.
    status: &'static str,
    program: String,
    made: Made,
    #[serde(flatten)]
    pub(crate) subject: S,
    pub(crate) files: Vec<String>,
    /// Results of the solves.
    #[serde(flatten)]
    pub(crate) results: T,
    seconds: f64,
}

/// The case of a series.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OfCase {
    case: String,
    pub(crate) title: String,
    case_text: Option<String>,
}

impl OfCase {
    /// For results in the output folder `path`.
    pub(crate) fn new(case: &Case, path: &Path) -> Self {
        let (title, case_text) = (case.title.clone(), case.text());
        Self { case: paths::relative(path, case.path()), title, case_text }
    }
}

/// How results are written and shown.
#[derive(Clone, Copy)]
pub(crate) struct Showing<'a> {
    pub(crate) has_page: bool,
    /// Whether results.json is printed instead of a text.
    pub(crate) is_json: bool,
    pub(crate) started: Instant,
    pub(crate) output: &'a Output,
}

impl<S: Serialize, T: Serialize> Series<S, T> {
    pub(crate) fn new(schema: &'static str, status: &'static str, subject: S, results: T) -> Self {
        let program = format!("farad {}", env!("CARGO_PKG_VERSION"));
        let (made, files) = (Made::now(), Vec::new());
        Self { schema, status, program, made, subject, files, results, seconds: 0.0 }
    }

    /// Commits the folder with results.json, and with a page if `has_page`. Returns the text of
    /// results.json, and the failure that names files that could not be written.
    pub(crate) fn commit(
        &mut self,
        mut folder: Folder,
        has_page: bool,
        started: Instant,
    ) -> Result<(String, Option<Failure>), Failure> {
        self.files = folder.names()?;
        self.files.extend(has_page.then(|| page::FILE.to_owned()));
        self.seconds = started.elapsed().as_secs_f64();
        let mut json = json::text(self);
        if has_page && !folder.stage_page(&json)? {
            self.files.pop();
            json = json::text(self);
        }
        let lacking = folder.commit(&json)?;
        Ok((json, lacking))
    }

    /// Commits the folder and shows its results, with `text` for people. Returns the failure that
    /// names files that could not be written.
    pub(crate) fn finish(
        mut self,
        folder: Folder,
        showing: Showing<'_>,
        text: impl FnOnce(&Self, &Path) -> String,
    ) -> Result<Option<Failure>, Failure> {
        let Showing { has_page, is_json, started, output } = showing;
        let path = folder.path().to_owned();
        let (json, lacking) = self.commit(folder, has_page, started)?;
        if is_json {
            output.data(&json)?;
        } else {
            output.text_of(&path, &text(&self, &path))?;
        }
        Ok(lacking)
    }
}

/// A table as CSV: its header, and a line for each row.
pub(crate) fn csv_table(
    header: Vec<String>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    std::iter::once(header).chain(rows).map(|row| row.join(",") + "\n").collect()
}

/// A number in a table as CSV; empty if there is none.
pub(crate) fn csv_number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:e}"))
}
