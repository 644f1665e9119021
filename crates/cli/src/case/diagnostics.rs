//! What is wrong with a case file, and where.

use std::ops::Range;
use std::path::Path;

use miette::{Diagnostic, NamedSource, SourceSpan};
use thiserror::Error;

use crate::exit::{Exit, Failure};

/// A value and the bytes of the case file that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) span: Range<usize>,
}

/// What sort of defect it is; after a syntax error, some of the others are only its echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Syntax,
    Missing,
    Value,
}

/// One defect, with its place.
#[derive(Clone, Debug, Error, Diagnostic)]
#[error("{message}")]
pub(crate) struct Defect {
    pub(crate) message: String,
    #[label("{label}")]
    pub(crate) span: SourceSpan,
    pub(crate) label: String,
    #[label("first here")]
    pub(crate) first: Option<SourceSpan>,
    #[help]
    pub(crate) help: Option<String>,
    pub(crate) sort: Sort,
}

impl Defect {
    /// A defect at `span`.
    pub(crate) fn new(sort: Sort, span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            span: span.into(),
            label: "here".to_owned(),
            first: None,
            help: None,
            sort,
        }
    }

    /// The words under the marked place.
    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// What to do about it.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// An earlier place that this one clashes with.
    pub(crate) fn first(mut self, span: Range<usize>) -> Self {
        self.first = Some(span.into());
        self
    }
}

/// All defects of one case file.
#[derive(Debug, Error, Diagnostic)]
#[error("{file}: {count}", count = counted(.defects.len()))]
struct CaseError {
    file: String,
    #[source_code]
    source_code: NamedSource<String>,
    #[related]
    defects: Vec<Defect>,
}

/// The failure that shows all `defects` of the file at `path` in the order of their places.
pub(crate) fn failure(path: &Path, text: &str, mut defects: Vec<Defect>) -> Failure {
    defects.sort_by_key(|defect| defect.span.offset());
    let file = path.display().to_string();
    let source_code = NamedSource::new(&file, text.to_owned());
    Failure::diagnostic(Exit::BadInput, CaseError { file, source_code, defects })
}

fn counted(errors: usize) -> String {
    match errors {
        1 => "1 error in the case file".to_owned(),
        n => format!("{n} errors in the case file"),
    }
}

/// The candidate that `name` was probably meant to be, if one is near.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let lower = name.to_lowercase();
    // Half the word may be wrong: a suggestion too many costs less than none.
    let limit = name.chars().count().div_ceil(2).max(1);
    candidates
        .into_iter()
        .map(|candidate| {
            (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate)
        })
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Names in quotes, with commas: "a", "b", "c".
pub(crate) fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let keys = ["file", "unit", "ignore"];
        assert_eq!(nearest("units", keys), Some("unit"));
        assert_eq!(nearest("Fiel", keys), Some("file"));
        assert_eq!(nearest("permittivity", keys), None);
    }
}
