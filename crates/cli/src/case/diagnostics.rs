//! Faults of a case file, and their places.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::Display;
use std::iter;
use std::ops::Range;
use std::path::Path;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode, SourceSpan};
use thiserror::Error;

use crate::report::text::{printable, printable_in_place, printable_line};
use crate::terminal::exit::{Exit, Failure};

/// A value and the bytes of the case file that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) span: Range<usize>,
}

/// The sort of a defect; after a syntax error, some of the others are only its consequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Syntax,
    Missing,
    Value,
}

/// One defect, with its place.
#[derive(Clone, Debug, Error)]
#[error("{message}")]
pub(crate) struct Defect {
    pub(crate) message: String,
    pub(crate) span: SourceSpan,
    pub(crate) label: String,
    pub(crate) first: Option<SourceSpan>,
    pub(crate) help: Option<String>,
    pub(crate) sort: Sort,
}

// Written out: miette's derive macro would compile a second release of syn.
impl Diagnostic for Defect {
    fn help(&self) -> Option<Box<dyn Display + '_>> {
        Some(Box::new(self.help.as_ref()?))
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let here = LabeledSpan::new_with_span(Some(self.label.clone()), self.span);
        let first = |span| LabeledSpan::new_with_span(Some("first here".to_owned()), span);
        Some(Box::new(iter::once(here).chain(self.first.map(first))))
    }
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

    /// Adds advice.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The defect of two keys of which one may be there.
    pub(super) fn clash(message: &str, first: Range<usize>, second: Range<usize>) -> Self {
        Self::new(Sort::Value, second, message).label("and here").first(first)
    }

    /// An earlier place that this one clashes with.
    pub(crate) fn first(mut self, span: Range<usize>) -> Self {
        self.first = Some(span.into());
        self
    }
}

/// Defects found so far; shared by all sections of one document.
#[derive(Debug, Default)]
pub(super) struct Defects(RefCell<Vec<Defect>>);

impl Defects {
    pub(super) fn push(&self, defect: Defect) {
        self.0.borrow_mut().push(defect);
    }

    /// All of them, each once: a table or a key that is read twice has its defects twice.
    pub(super) fn into_inner(self) -> Vec<Defect> {
        let mut known = HashSet::new();
        let mut found = self.0.into_inner();
        found.retain(|defect| known.insert((defect.span, defect.message.clone())));
        found
    }
}

/// At most this many defects are shown, and similar names looked up for.
pub(crate) const MOST_SHOWN: usize = 20;

/// Lines longer than this are not shown, only their numbers.
const LONGEST_LINE: usize = 500;

/// The first defects of one case file.
#[derive(Debug, Error)]
#[error("{file}: {count}", count = counted(*.total, .defects.len()))]
struct CaseError {
    file: String,
    source_code: NamedSource<String>,
    defects: Vec<Defect>,
    total: usize,
}

impl Diagnostic for CaseError {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source_code)
    }

    fn related(&self) -> Option<Box<dyn Iterator<Item = &dyn Diagnostic> + '_>> {
        Some(Box::new(self.defects.iter().map(|defect| -> &dyn Diagnostic { defect })))
    }
}

/// The first defects of a file whose lines are too long to be shown.
#[derive(Debug, Error)]
#[error("{file}: {count}{places}", count = counted(*.total, *.shown))]
struct LongLines {
    file: String,
    /// A line for each, after a line break.
    places: String,
    total: usize,
    shown: usize,
}

impl Diagnostic for LongLines {}

/// The failure that shows the first `defects` of the file at `path` in the order of their places.
pub(crate) fn failure(path: &Path, text: &str, mut defects: Vec<Defect>) -> Failure {
    defects.sort_by_key(|defect| defect.span.offset());
    let total = defects.len();
    defects.truncate(MOST_SHOWN);
    let file = path.display().to_string();
    let file = printable_line(&file).into_owned();
    for defect in &mut defects {
        for text in [&mut defect.message, &mut defect.label].into_iter().chain(&mut defect.help) {
            *text = printable(text).into_owned();
        }
    }
    if shown_lines(text, &defects).any(|line| line.len() > LONGEST_LINE) {
        let shown = defects.len();
        let line_of = |offset: usize| {
            1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|&&b| b == b'\n').count()
        };
        let place = |defect: &Defect| {
            let help = defect.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
            let message: String = defect.message.chars().take(LONGEST_LINE).collect();
            format!("\nline {}: {message}{help}", line_of(defect.span.offset()))
        };
        let places = defects.iter().map(place).collect();
        return Failure::diagnostic(Exit::BadInput, LongLines { file, places, total, shown });
    }
    let source_code = NamedSource::new(&file, printable_in_place(text.to_owned()));
    Failure::diagnostic(Exit::BadInput, CaseError { file, source_code, defects, total })
}

/// The lines that are shown with defects: their own, and one before and after.
fn shown_lines<'a>(text: &'a str, defects: &'a [Defect]) -> impl Iterator<Item = &'a str> {
    let places = defects.iter().flat_map(|defect| [Some(defect.span), defect.first]).flatten();
    places.flat_map(|span| {
        let (start, end) = (span.offset(), span.offset() + span.len());
        let before = text.get(..start).unwrap_or_default().rsplit('\n').take(2);
        let within = text.get(start..end).unwrap_or_default().split('\n');
        let after = text.get(end..).unwrap_or_default().split('\n').take(2);
        before.chain(within).chain(after)
    })
}

fn counted(errors: usize, shown: usize) -> String {
    match errors {
        1 => "1 error in the case file".to_owned(),
        n if n > shown => {
            format!("{n} errors in the case file, of which the first {shown} are shown")
        }
        n => format!("{n} errors in the case file"),
    }
}

/// The candidate that `name` was probably meant to be, if one is near: but for a typing error at
/// most a third of the letters are others, and not the first, or it begins with the name.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let letters = lower.chars().count();
    let near = |candidate: &'a str| {
        let other = candidate.to_lowercase();
        let distance = strsim::damerau_levenshtein(&lower, &other);
        let begins_alike = lower.chars().next() == other.chars().next();
        let limit = if begins_alike { (letters + 1) / 3 } else { usize::from(letters > 1) };
        let is_near = distance <= limit || letters > 2 && other.starts_with(&lower);
        is_near.then_some((distance, candidate))
    };
    let found = candidates.into_iter().filter_map(near).min_by_key(|(distance, _)| *distance);
    found.map(|(_, candidate)| candidate)
}

/// Names in quotes, with commas: "a", "b", "c"; of many only the first.
pub(crate) fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let shown: Vec<String> =
        names.by_ref().take(MOST_SHOWN).map(|name| format!("\"{name}\"")).collect();
    match names.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The name that was probably meant by a name or a pattern that no conductor has.
pub(super) fn meant(name: &str, available: &[String]) -> String {
    let names = available.iter().map(String::as_str);
    match nearest(name, names.clone()).filter(|_| !name.contains('*')) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("there are {}", quoted(names)),
    }
}
