//! Keys of a case file as data: type, range, default and meaning. The reader, the resolved case,
//! the JSON schema and the tables of docs/case-file.md follow from such rows.

use std::ops::RangeInclusive;

use farad::ranges;

/// The kind of a key's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    /// Any text on one line.
    Text,
    /// Text that a regular expression (ECMA-262) matches; the code of its table checks that.
    Pattern(&'static str),
    /// A path, relative to the case file.
    Path,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these words or a list of them.
    Choices(&'static [&'static str]),
    /// A name or a list of names; the code of its table checks how many.
    Names { least: usize, most: usize },
    /// A table of names, each with a name or a list of names.
    Groups,
    /// A list of finite numbers: at least one, or exactly `count`.
    Numbers { count: Option<usize> },
    /// Three whole numbers of 1 or greater; the code of its table checks that they are.
    Counts,
    /// A number in low ..= high.
    Number { low: f64, high: f64 },
    /// A number in low ..= high, or a word.
    NumberOr { low: f64, high: f64, word: &'static str },
    /// true or false.
    Bool,
    /// Three numbers, each in -high ..= high.
    Vector { high: f64 },
    /// A whole number in low ..= high.
    Integer { low: usize, high: usize },
}

/// A kind of values, and the words for it in the documentation where they are not the usual ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    pub(crate) kind: ValueKind,
    pub(crate) words: Option<&'static str>,
}

/// Meaning of an absent key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// It is an error.
    Error,
    /// It is an error under conditions that the code of its table checks, in the words of the
    /// documentation.
    Conditional(&'static str),
    /// The default, in the words of the documentation.
    Default(&'static str),
}

/// One key of one table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    pub(crate) spec: Spec,
    pub absent: Absent,
    /// Its meaning, in Markdown.
    pub meaning: &'static str,
}

/// A rule between the keys of one table. The JSON schema has it; the reader has the messages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// All keys of one set are there, and none of the other sets.
    OneSet(&'static [&'static [&'static str]]),
    /// No two of these keys are there.
    AtMostOne(&'static [&'static str]),
    /// One of these keys is there with a list or table that is not empty.
    AnyOf(&'static [&'static str]),
    /// With the key the others are there.
    Needs(&'static str, &'static [&'static str]),
    /// These keys are always there, although their code reports that they are missing.
    Always(&'static [&'static str]),
}

/// A table of case files.
#[derive(Debug)]
pub struct TableInfo {
    /// Its name, "" for the top of the file.
    pub name: &'static str,
    /// Whether it is an array of tables.
    pub(crate) is_array: bool,
    pub keys: &'static [Key],
    pub(crate) rules: &'static [Rule],
    /// Keys that the resolved case has after all others.
    pub(crate) written_last: &'static [&'static str],
}

/// All tables of case files, in the order of the documentation.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The keys before the first table.
    pub top: &'static TableInfo,
    pub tables: &'static [&'static TableInfo],
}

impl Schema {
    /// The top of the file and the tables.
    pub fn all(self) -> impl Iterator<Item = &'static TableInfo> {
        std::iter::once(self.top).chain(self.tables.iter().copied())
    }
}

impl TableInfo {
    /// How it is written: `[mesh]`, `[[conductor]]`, or words for the top of the file.
    pub fn heading(&self) -> String {
        match self.name {
            "" => "the top of the file".to_owned(),
            array if self.is_array => format!("[[{array}]]"),
            other => format!("[{other}]"),
        }
    }

    /// Where its keys stand: "in [mesh]", "at the top of the file".
    pub(crate) fn place(&self) -> String {
        let preposition = if self.name.is_empty() { "at" } else { "in" };
        format!("{preposition} {}", self.heading())
    }

    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

impl Spec {
    pub(crate) const fn new(kind: ValueKind) -> Self {
        Self { kind, words: None }
    }

    pub(crate) const fn integer(low: usize, high: usize) -> Self {
        Self::new(ValueKind::Integer { low, high })
    }

    pub(crate) const fn number(low: f64, high: f64) -> Self {
        Self::new(ValueKind::Number { low, high })
    }

    pub(crate) const fn within(range: &RangeInclusive<f64>) -> Self {
        Self::number(*range.start(), *range.end())
    }

    pub(crate) const fn choice(words: &'static [&'static str]) -> Self {
        Self::new(ValueKind::Choice(words))
    }

    pub(crate) const fn choices(words: &'static [&'static str]) -> Self {
        Self::new(ValueKind::Choices(words))
    }

    /// Text that a regular expression matches.
    pub(crate) const fn pattern(expression: &'static str, words: &'static str) -> Self {
        Self::new(ValueKind::Pattern(expression)).said(words)
    }

    /// The same kind in other words.
    pub(crate) const fn said(self, words: &'static str) -> Self {
        Self { words: Some(words), ..self }
    }
}

/// The default, in the words of the documentation.
pub(crate) const fn or(words: &'static str) -> Absent {
    Absent::Default(words)
}

/// The conditions of an error, in the words of the documentation.
pub(crate) const fn unless(words: &'static str) -> Absent {
    Absent::Conditional(words)
}

pub(crate) const REQUIRED: Absent = Absent::Error;

pub(crate) const TEXT: Spec = Spec::new(ValueKind::Text);
pub(crate) const PATH: Spec = Spec::new(ValueKind::Path);
pub(crate) const BOOL: Spec = Spec::new(ValueKind::Bool);
pub(crate) const NAMES: Spec = Spec::new(ValueKind::Names { least: 0, most: usize::MAX });
pub(crate) const GROUPS: Spec = NAMES.said("group or list of groups");
pub(crate) const NUMBERS: Spec = Spec::new(ValueKind::Numbers { count: None });
pub(crate) const THREE: Spec = Spec::new(ValueKind::Numbers { count: Some(3) });

/// Names that become those of files.
pub(crate) const FILE_NAME: Spec = Spec::pattern("^[A-Za-z0-9_-]+$", FILE_LETTERS);
pub(crate) const FILE_LETTERS: &str = "letters, digits, _ and -";

/// The ground below or above layers.
pub(crate) const GROUND: &str = "ground";

/// Volts, coulombs, volts per metre, coordinates: small enough to be squared and summed.
const LARGEST: f64 = *ranges::POSITIVE.end();

pub(crate) const TOLERANCE: Spec = Spec::within(&ranges::TOLERANCE);
pub(crate) const PERMITTIVITY: Spec = Spec::within(&ranges::PERMITTIVITY);
pub(crate) const HALF_SPACE: Spec = Spec::new(ValueKind::NumberOr {
    low: *ranges::PERMITTIVITY.start(),
    high: *ranges::PERMITTIVITY.end(),
    word: GROUND,
});
pub(crate) const QUANTITY: Spec = Spec::number(-LARGEST, LARGEST).said("number");
pub(crate) const POSITIVE: Spec = Spec::within(&ranges::POSITIVE);
pub(crate) const SCREENING: Spec = Spec::within(&ranges::SCREENING);
pub(crate) const VECTOR: Spec = Spec::new(ValueKind::Vector { high: LARGEST });
