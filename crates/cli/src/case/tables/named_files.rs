//! Files that a case names: whether they are there.

use std::path::{Path, PathBuf};

use super::prelude::*;

/// The path of what the case calls `kind`, if there is a file.
pub(in crate::case) fn existing(
    top: &Section<'_>,
    base: &Path,
    kind: &str,
    file: Located<String>,
) -> Option<Located<PathBuf>> {
    let path = base.join(&file.value);
    if path.is_file() {
        return Some(Located { value: path, span: file.span });
    }
    let what = if path.is_dir() { "is a folder" } else { "does not exist" };
    let message = format!("the {kind} {} {what}", path.display());
    let defect = Defect::new(Sort::Value, file.span, message)
        .label("no such file")
        .help("the path is relative to the case file's folder");
    top.report(defect);
    None
}
