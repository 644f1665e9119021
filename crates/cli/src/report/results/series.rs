//! Results of commands that solve a case several times: what they hold besides those of the solves,
//! and how they are written.

use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use super::folder::Folder;
use crate::case::Case;
use crate::paths;
use crate::report::made::Made;
use crate::report::{json, page};
use crate::terminal::exit::Failure;

/// What results.json holds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Series<T> {
    /// Name and version of what it looks like.
    pub(crate) schema: &'static str,
    /// "complete", or what is amiss.
    pub(crate) status: &'static str,
    program: String,
    made: Made,
    case: String,
    pub(crate) title: String,
    case_text: Option<String>,
    pub(crate) files: Vec<String>,
    /// Those of the solves.
    #[serde(flatten)]
    pub(crate) results: T,
    seconds: f64,
}

impl<T: Serialize> Series<T> {
    /// Results of a case, for the output folder at `path`.
    pub(crate) fn new(
        schema: &'static str,
        status: &'static str,
        case: &Case,
        path: &Path,
        results: T,
    ) -> Self {
        Self {
            schema,
            status,
            program: format!("farad {}", env!("CARGO_PKG_VERSION")),
            made: Made::now(),
            case: paths::relative(path, case.path()),
            title: case.title.clone(),
            case_text: case.text(),
            files: Vec::new(),
            results,
            seconds: 0.0,
        }
    }

    /// Commits the folder with results.json, whose text is returned, and with a page of it if that
    /// was asked for; and the failure that names what could not be written.
    pub(crate) fn commit(
        &mut self,
        mut folder: Folder,
        has_page: bool,
        started: Instant,
    ) -> Result<(String, Option<Failure>), Failure> {
        self.files = folder.names();
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
}
