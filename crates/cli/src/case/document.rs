//! Walks a TOML document against the schema and collects every defect instead of stopping at the
//! first.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostics::{Defect, Defects, MOST_SHOWN, Sort, nearest, quoted};
use super::schema::{Absent, Key, Schema, TableInfo, ValueKind};
use super::values::{Field, Reader, Value, wrong_type};

/// One table of the document.
#[derive(Clone, Debug)]
pub(crate) struct Section<'d> {
    schema: Schema,
    info: &'static TableInfo,
    table: Option<&'d DeTable<'d>>,
    span: Range<usize>,
    defects: &'d Defects,
}

impl<'d> Section<'d> {
    /// The top of the document; unknown keys and tables are reported at once.
    pub(super) fn top(
        schema: Schema,
        document: &'d Spanned<DeTable<'d>>,
        defects: &'d Defects,
    ) -> Self {
        let (info, table) = (schema.top, Some(document.get_ref()));
        let section = Self { schema, info, table, span: 0..0, defects };
        section.report_unknown_keys();
        section
    }

    /// A table; an empty one if the document has none.
    pub(super) fn section(&self, info: &'static TableInfo) -> Self {
        let absent = Self { info, table: None, span: 0..0, ..self.clone() };
        let Some((key, value)) = self.entry(info.name) else { return absent };
        let DeValue::Table(table) = value.get_ref() else {
            let defect = wrong_type(value, &format!("a table {}", info.heading()));
            self.report(Defect { span: key.into(), ..defect });
            return absent;
        };
        self.below(info, table, key)
    }

    /// An array of tables.
    pub(super) fn sections(&self, info: &'static TableInfo) -> Vec<Self> {
        let Some((key, value)) = self.entry(info.name) else { return Vec::new() };
        let heading = info.heading();
        let DeValue::Array(array) = value.get_ref() else {
            let defect = wrong_type(value, &format!("an array of tables {heading}"));
            let help = format!("write {heading} with two brackets, once for each");
            self.report(Defect { span: key.into(), ..defect }.help(help));
            return Vec::new();
        };
        let item = |item: &'d Spanned<DeValue<'d>>| match item.get_ref() {
            DeValue::Table(table) => Some(self.below(info, table, item.span())),
            _ => {
                self.report(wrong_type(item, &format!("a table {heading}")));
                None
            }
        };
        array.iter().filter_map(item).collect()
    }

    fn below(&self, info: &'static TableInfo, table: &'d DeTable<'d>, span: Range<usize>) -> Self {
        let section = Self { info, table: Some(table), span, ..self.clone() };
        section.report_unknown_keys();
        section
    }

    /// Where the section begins.
    pub(super) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Whether the key or table is there, whatever its value.
    pub(super) fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// Adds a defect that the schema alone cannot find.
    pub(super) fn report(&self, defect: Defect) {
        self.defects.push(defect);
    }

    /// The value of a key; defects are reported, also that it is missing if that is an error.
    pub(super) fn field<T: Value>(&self, key: &Key) -> Field<T> {
        let Some((place, value)) = self.entry(key.name) else {
            if key.absent == Absent::Error {
                self.report_missing(key);
            }
            return Field::default();
        };
        let reader = Reader { key, defects: self.defects };
        Field { key: Some(place), span: value.span(), value: T::read(reader, value) }
    }

    /// Reports keys that are missing, of those named.
    pub(super) fn require(&self, names: &[&str]) {
        let missing = names.iter().filter(|name| !self.has(name));
        missing.filter_map(|name| self.info.key(name)).for_each(|key| self.report_missing(key));
    }

    fn entry(&self, name: &str) -> Option<(Range<usize>, &'d Spanned<DeValue<'d>>)> {
        let (key, value) = self.table?.iter().find(|(key, _)| key.get_ref() == name)?;
        Some((key.span(), value))
    }

    fn report_missing(&self, key: &Key) {
        let (name, heading) = (key.name, self.info.heading());
        let message = format!("{name} is missing {}", self.info.place());
        let defect = Defect::new(Sort::Missing, self.span(), message).label("required");
        self.report(match key.spec.kind {
            ValueKind::Choice(choices) => {
                defect.help(format!("add {name} = one of {}", quoted(choices.iter().copied())))
            }
            ValueKind::Integer { low, high } if low == high => {
                defect.help(format!("add the line {name} = {low}"))
            }
            _ if self.table.is_none() => defect.help(format!("add {heading} with {name} = ...")),
            _ => defect.help(format!("add {name} = ... to {heading}")),
        });
    }

    /// The names of tables that stand in this one.
    fn names_of_tables(&self) -> impl Iterator<Item = &'static str> {
        let tables = if self.info.name.is_empty() { self.schema.tables } else { &[] };
        tables.iter().map(|table| table.name)
    }

    fn report_unknown_keys(&self) {
        let Some(table) = self.table else { return };
        let is_known = |name: &str| {
            self.info.key(name).is_some() || self.names_of_tables().any(|table| table == name)
        };
        let mut unknown: Vec<(&str, Range<usize>)> = table
            .iter()
            .map(|(key, _)| (key.get_ref().as_ref(), key.span()))
            .filter(|(name, _)| !is_known(name))
            .collect();
        unknown.sort_by_key(|(_, span)| span.start);
        for (index, (name, span)) in unknown.into_iter().enumerate() {
            let message = format!("unknown key `{name}` {}", self.info.place());
            let defect = Defect::new(Sort::Value, span, message).label("not a key of this table");
            // Suggestions are looked for where they are shown.
            let is_shown = index < MOST_SHOWN;
            self.report(if is_shown { defect.help(self.suggestion(name)) } else { defect });
        }
    }

    /// Advice for an unknown key.
    fn suggestion(&self, name: &str) -> String {
        let here: Vec<_> =
            self.info.keys.iter().map(|key| key.name).chain(self.names_of_tables()).collect();
        let near = nearest(name, here.iter().copied());
        let word = || here.iter().copied().find(|key| is_word_of(name, key));
        if let Some(near) = near.or_else(word) {
            return format!("did you mean `{near}`?");
        }
        let all = || {
            let keys =
                |table: &'static TableInfo| table.keys.iter().map(move |key| (table, key.name));
            self.schema.all().flat_map(keys)
        };
        let near = nearest(name, all().map(|(_, key)| key));
        let named = all().find(|(_, key)| *key == name || is_word_of(name, key));
        match named.or_else(|| all().find(|(_, key)| Some(*key) == near)) {
            Some((table, key)) if key == name => format!("`{name}` stands {}", table.place()),
            Some((table, key)) => format!("did you mean `{key}` {}?", table.place()),
            None => format!("keys here: {}", here.join(", ")),
        }
    }
}

/// Whether it is a word of a key, as `permittivity` is of `relative_permittivity`.
fn is_word_of(name: &str, key: &str) -> bool {
    key != name && format!("_{key}_").contains(&format!("_{name}_"))
}
