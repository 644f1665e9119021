//! Names in case files that become those of results' files.

use std::ops::Range;

use super::prelude::*;

/// Reports a name that no file can have, and one that an earlier table of its kind has, whose place
/// is `first`. The kind is given as one and as several of it.
pub(super) fn check(
    top: &Section<'_>,
    [one, several]: [&str; 2],
    name: &Located<String>,
    first: Option<&Range<usize>>,
) {
    let defect = |message: String| Defect::new(Sort::Value, name.span.clone(), message);
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.value.is_empty() || !name.value.chars().all(plain) {
        let rule = "becomes that of a file: letters, digits, _ and -";
        top.report(defect(format!("the name of a {one} {rule}")));
    }
    if let Some(first) = first {
        let message = format!("two {several} are called \"{}\"", name.value);
        top.report(defect(message).label("again here").first(first.clone()));
    }
}
