//! What the sections of a page hold, whatever the results.

use serde_json::Value;

use super::html::{self, Html};
use super::scene::Named;
use super::value::{list, texts};
use crate::units;

/// Rows beyond are left to the tables in the folder.
pub(super) const MOST_ROWS: usize = 400;

/// What a kind of results puts on its page.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// The kind of run, in a few words.
    pub(super) kind: &'static str,
    /// Numbers at the top: what they are, and they.
    pub(super) facts: Vec<(String, String)>,
    /// Sections before the surface, and those after it: identifier, heading, content.
    pub(super) first: Vec<(&'static str, String, Html)>,
    pub(super) then: Vec<(&'static str, String, Html)>,
    /// Names on the surface; `None` where there is no surface to these results.
    pub(super) surface: Option<Named>,
}

/// The files of the results.
pub(super) fn files(results: &Value) -> Html {
    let mut html = Html::default();
    let mut names = texts(&results["files"]);
    names.sort();
    html.raw("<p>");
    for (index, name) in names.iter().take(MOST_ROWS).enumerate() {
        html.raw(if index == 0 { "" } else { ", " }).element("code", name);
    }
    if names.len() > MOST_ROWS {
        html.text(&format!(" and {} more", names.len() - MOST_ROWS));
    }
    html.raw("</p>\n");
    html
}

/// A table whose rows end where a page gets too long, with a word on the others.
pub(super) fn limited(header: &[impl AsRef<str>], rows: Vec<Vec<String>>, others: &str) -> Html {
    let total = rows.len();
    let mut html = html::table(header, rows.into_iter().take(MOST_ROWS));
    if total > MOST_ROWS {
        let more = units::count((total - MOST_ROWS) as u64);
        html.note(&format!("{more} more rows are in {others}."));
    }
    html
}

/// A table with a row for each entry of a list in results.json; nothing if there are none.
pub(super) fn listed(
    header: &[impl AsRef<str>],
    entries: &Value,
    row: impl Fn(&Value) -> Vec<String>,
) -> Html {
    match list(entries) {
        [] => Html::default(),
        entries => limited(header, entries.iter().map(row).collect(), "results.json"),
    }
}
