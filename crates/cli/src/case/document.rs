//! Walks a TOML document against the schema and collects every defect instead of stopping at the
//! first.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::diagnostics::{Defect, Located, MOST_SHOWN, Sort, nearest, quoted};
use super::schema::{self, Absent, KEYS, Key, TABLES, ValueKind};
use crate::report::units::shortest;

/// Defects found so far; shared by all sections of one document.
#[derive(Debug, Default)]
pub(crate) struct Defects(RefCell<Vec<Defect>>);

impl Defects {
    pub(crate) fn push(&self, defect: Defect) {
        self.0.borrow_mut().push(defect);
    }

    /// All of them, each once: a table or a key that is read twice is found wrong twice.
    pub(crate) fn into_inner(self) -> Vec<Defect> {
        let mut known = HashSet::new();
        let mut found = self.0.into_inner();
        found.retain(|defect| known.insert((defect.span, defect.message.clone())));
        found
    }
}

/// A name and the names that it stands for.
pub(crate) type Group = (Located<String>, Vec<Located<String>>);

/// One table of the document. Reading a key that is absent gives `None`, and a defect if the schema
/// requires it.
#[derive(Clone, Debug)]
pub(crate) struct Section<'d> {
    name: &'static str,
    table: Option<&'d DeTable<'d>>,
    span: Range<usize>,
    defects: &'d Defects,
}

impl<'d> Section<'d> {
    /// The top of the document; unknown keys and tables are reported at once.
    pub(crate) fn top(document: &'d Spanned<DeTable<'d>>, defects: &'d Defects) -> Self {
        let section = Self { name: "", table: Some(document.get_ref()), span: 0..0, defects };
        section.report_unknown_keys();
        section
    }

    /// The table called `name`; an empty one if the document has none.
    pub(crate) fn section(&self, name: &'static str) -> Self {
        let absent = Self { name, table: None, span: 0..0, defects: self.defects };
        let Some((key, value)) = self.entry(name) else { return absent };
        let DeValue::Table(table) = value.get_ref() else {
            self.defects.push(wrong_type(&key, value, &format!("a table [{name}]")));
            return absent;
        };
        let section = Self { name, table: Some(table), span: key, defects: self.defects };
        section.report_unknown_keys();
        section
    }

    /// The array of tables called `name`.
    pub(crate) fn sections(&self, name: &'static str) -> Vec<Self> {
        let Some((key, value)) = self.entry(name) else { return Vec::new() };
        let DeValue::Array(array) = value.get_ref() else {
            let defect = wrong_type(&key, value, &format!("an array of tables [[{name}]]"));
            self.defects
                .push(defect.help(format!("write [[{name}]] with two brackets, once for each")));
            return Vec::new();
        };
        array.iter().filter_map(|item| self.item(name, item)).collect()
    }

    fn item(&self, name: &'static str, item: &'d Spanned<DeValue<'d>>) -> Option<Self> {
        let DeValue::Table(table) = item.get_ref() else {
            self.defects.push(wrong_type(&item.span(), item, &format!("a table [[{name}]]")));
            return None;
        };
        let section = Self { name, table: Some(table), span: item.span(), defects: self.defects };
        section.report_unknown_keys();
        Some(section)
    }

    /// Where the section begins.
    pub(crate) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Whether the key is there, whatever its value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// Where a key is, if it is there.
    pub(crate) fn place(&self, name: &str) -> Option<Range<usize>> {
        self.entry(name).map(|(span, _)| span)
    }

    /// Adds a defect that the schema alone cannot find.
    pub(crate) fn report(&self, defect: Defect) {
        self.defects.push(defect);
    }

    /// Text on one line: a title, a name or a path.
    pub(crate) fn text(&self, name: &'static str) -> Option<Located<String>> {
        let value = self.value(name)?;
        self.as_text(name, value)
    }

    /// One of the words that the schema lists.
    pub(crate) fn choice(&self, name: &'static str) -> Option<Located<String>> {
        let ValueKind::Choice(choices) = self.key(name)?.kind else { return None };
        let found = self.text(name)?;
        self.chosen(name, found, choices)
    }

    /// One of the words that the schema lists, or several.
    pub(crate) fn choices(&self, name: &'static str) -> Option<Vec<Located<String>>> {
        let ValueKind::Choices(choices) = self.key(name)?.kind else { return None };
        let found = self.names(name)?;
        Some(found.into_iter().filter_map(|word| self.chosen(name, word, choices)).collect())
    }

    fn chosen(
        &self,
        name: &str,
        found: Located<String>,
        choices: &[&str],
    ) -> Option<Located<String>> {
        if choices.contains(&found.value.as_str()) {
            return Some(found);
        }
        let message = format!(
            "{name} = \"{}\" is not one of {}",
            found.value,
            quoted(choices.iter().copied())
        );
        let defect = Defect::new(Sort::Value, found.span, message).label("not possible here");
        self.defects.push(match nearest(&found.value, choices.iter().copied()) {
            Some(near) => defect.help(format!("did you mean \"{near}\"?")),
            None => defect,
        });
        None
    }

    /// A name or a list of names.
    pub(crate) fn names(&self, name: &'static str) -> Option<Vec<Located<String>>> {
        let value = self.value(name)?;
        let items: Vec<_> = match value.get_ref() {
            DeValue::Array(items) => self.items(name, items),
            _ => vec![self.as_text(name, value)?],
        };
        Some(items)
    }

    fn items(&self, name: &str, items: &'d DeArray<'d>) -> Vec<Located<String>> {
        items.iter().filter_map(|item| self.as_text(name, item)).collect()
    }

    /// Names, each with a name or a list of names, in the order of the file.
    pub(crate) fn groups(&self, name: &'static str) -> Option<Vec<Group>> {
        let value = self.value(name)?;
        let DeValue::Table(table) = value.get_ref() else {
            let expected = format!("a table of names for {name}");
            let defect = wrong_type(&value.span(), value, &expected);
            self.defects.push(defect.help(format!("write {name} = {{ a = [\"b\", \"c\"] }}")));
            return None;
        };
        let group = |(key, value): (&'d Spanned<_>, &'d Spanned<DeValue<'d>>)| {
            let names = match value.get_ref() {
                DeValue::Array(items) => self.items(name, items),
                _ => self.as_text(name, value).into_iter().collect(),
            };
            let text: &str = AsRef::<str>::as_ref(key.get_ref());
            (Located { value: text.to_owned(), span: key.span() }, names)
        };
        let mut groups: Vec<Group> = table.iter().map(group).collect();
        groups.sort_by_key(|(name, _)| name.span.start);
        Some(groups)
    }

    /// A number within the schema's range; a whole number will do.
    pub(crate) fn number(&self, name: &'static str) -> Option<Located<f64>> {
        let ValueKind::Number { low, high } = self.key(name)?.kind else { return None };
        let value = self.value(name)?;
        self.as_number(name, value, low, high)
    }

    /// A number within the schema's range, or `None` for its word.
    pub(crate) fn number_or(&self, name: &'static str) -> Option<Located<Option<f64>>> {
        let ValueKind::NumberOr { low, high, word } = self.key(name)?.kind else { return None };
        let value = self.value(name)?;
        match value.get_ref() {
            DeValue::String(text) if text == word => {
                Some(Located { value: None, span: value.span() })
            }
            DeValue::Float(_) | DeValue::Integer(_) => {
                let number = self.as_number(name, value, low, high)?;
                Some(Located { value: Some(number.value), span: number.span })
            }
            _ => {
                let expected = format!("a number or \"{word}\" for {name}");
                self.defects.push(wrong_type(&value.span(), value, &expected));
                None
            }
        }
    }

    /// true or false.
    pub(crate) fn boolean(&self, name: &'static str) -> Option<bool> {
        let value = self.value(name)?;
        let DeValue::Boolean(found) = value.get_ref() else {
            let expected = format!("true or false for {name}");
            self.defects.push(wrong_type(&value.span(), value, &expected));
            return None;
        };
        Some(*found)
    }

    /// Three numbers within the schema's range.
    pub(crate) fn vector(&self, name: &'static str) -> Option<Located<[f64; 3]>> {
        let ValueKind::Vector { high } = self.key(name)?.kind else { return None };
        let value = self.value(name)?;
        let span = value.span();
        let expected = format!("three numbers [x, y, z] for {name}");
        let DeValue::Array(items) = value.get_ref() else {
            self.defects.push(wrong_type(&span, value, &expected));
            return None;
        };
        if items.len() != 3 {
            let message = format!("expected {expected}, found {}", items.len());
            self.defects.push(Defect::new(Sort::Value, span, message));
            return None;
        }
        let numbers: Vec<f64> = items
            .iter()
            .filter_map(|item| self.as_number(name, item, -high, high))
            .map(|number| number.value)
            .collect();
        let value = numbers.try_into().ok()?;
        Some(Located { value, span })
    }

    fn as_number(
        &self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
        low: f64,
        high: f64,
    ) -> Option<Located<f64>> {
        let span = value.span();
        let parsed = match value.get_ref() {
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::Integer(integer) => parse_integer(integer).map(|i| i as f64),
            _ => {
                self.defects.push(wrong_type(&span, value, &format!("a number for {name}")));
                return None;
            }
        };
        match parsed {
            Some(number) if (low..=high).contains(&number) => Some(Located { value: number, span }),
            _ => {
                let allowed = format!("{} to {}", shortest(low), shortest(high));
                self.out_of_range(name, span, &allowed);
                None
            }
        }
    }

    /// A list of finite numbers: at least one, or exactly `count`.
    pub(crate) fn numbers(
        &self,
        name: &'static str,
        count: Option<usize>,
    ) -> Option<Located<Vec<f64>>> {
        let value = self.value(name)?;
        let span = value.span();
        let expected = match count {
            Some(count) => format!("{count} numbers for {name}"),
            None => format!("numbers for {name}"),
        };
        let DeValue::Array(items) = value.get_ref() else {
            self.defects.push(wrong_type(&span, value, &format!("a list of {expected}")));
            return None;
        };
        let mut numbers = Vec::with_capacity(items.len());
        for item in items.iter() {
            let number = match item.get_ref() {
                DeValue::Float(float) => float.as_str().parse::<f64>().ok(),
                DeValue::Integer(integer) => parse_integer(integer).map(|i| i as f64),
                _ => None,
            };
            let Some(number) = number.filter(|number| number.is_finite()) else {
                self.defects.push(wrong_type(
                    &item.span(),
                    item,
                    &format!("a finite number in {name}"),
                ));
                return None;
            };
            numbers.push(number);
        }
        if numbers.is_empty() || count.is_some_and(|count| count != numbers.len()) {
            let message = format!("expected {expected}, found {}", numbers.len());
            self.defects.push(Defect::new(Sort::Value, span, message));
            return None;
        }
        Some(Located { value: numbers, span })
    }

    /// A whole number within the schema's range.
    pub(crate) fn integer(&self, name: &'static str) -> Option<Located<i64>> {
        let ValueKind::Integer { low, high } = self.key(name)?.kind else { return None };
        let value = self.value(name)?;
        let span = value.span();
        let DeValue::Integer(integer) = value.get_ref() else {
            self.defects.push(wrong_type(&span, value, &format!("a whole number for {name}")));
            return None;
        };
        match parse_integer(integer) {
            Some(number) if (low..=high).contains(&number) => Some(Located { value: number, span }),
            _ => {
                let allowed =
                    if low == high { low.to_string() } else { format!("{low} to {high}") };
                self.out_of_range(name, span, &allowed);
                None
            }
        }
    }

    fn out_of_range(&self, name: &str, span: Range<usize>, allowed: &str) {
        let message = format!("{name} is out of range");
        self.defects
            .push(Defect::new(Sort::Value, span, message).label(format!("possible: {allowed}")));
    }

    fn as_text(&self, name: &str, value: &Spanned<DeValue<'_>>) -> Option<Located<String>> {
        let span = value.span();
        let DeValue::String(text) = value.get_ref() else {
            self.defects.push(wrong_type(&span, value, &format!("text in quotes for {name}")));
            return None;
        };
        // Control characters come from meshes whose groups have such names; whoever shows them
        // writes them out.
        let defect = text.is_empty().then(|| format!("{name} is empty"));
        match defect {
            None => Some(Located { value: text.to_string(), span }),
            Some(message) => {
                self.defects.push(Defect::new(Sort::Value, span, message));
                None
            }
        }
    }

    /// The schema's entry. Every name in the code is in the schema: a unit test reads them all.
    fn key(&self, name: &str) -> Option<&'static Key> {
        let key = schema::keys_of(self.name).find(|key| key.name == name);
        debug_assert!(key.is_some(), "[{}] {name} is not in the schema", self.name);
        key
    }

    fn value(&self, name: &'static str) -> Option<&'d Spanned<DeValue<'d>>> {
        let found = self.entry(name);
        if found.is_none() && self.key(name)?.absent == Absent::Error {
            self.report_missing(name);
        }
        found.map(|(_, value)| value)
    }

    fn entry(&self, name: &str) -> Option<(Range<usize>, &'d Spanned<DeValue<'d>>)> {
        let (key, value) = self.table?.iter().find(|(key, _)| key.get_ref() == name)?;
        Some((key.span(), value))
    }

    fn report_missing(&self, name: &str) {
        let heading = schema::heading(self.name);
        let message = format!("{name} is missing {}", schema::place(self.name));
        let defect = Defect::new(Sort::Missing, self.span(), message).label("required");
        self.defects.push(match self.key(name).map(|key| key.kind) {
            Some(ValueKind::Choice(choices)) => {
                defect.help(format!("add {name} = one of {}", quoted(choices.iter().copied())))
            }
            Some(ValueKind::Integer { low, high }) if low == high => {
                defect.help(format!("add the line {name} = {low}"))
            }
            _ if self.table.is_none() => defect.help(format!("add {heading} with {name} = ...")),
            _ => defect.help(format!("add {name} = ... to {heading}")),
        });
    }

    fn report_unknown_keys(&self) {
        let Some(table) = self.table else { return };
        let is_unknown = |name: &str| {
            let is_key = schema::keys_of(self.name).any(|known| known.name == name);
            !(is_key || self.name.is_empty() && TABLES.contains(&name))
        };
        let mut unknown: Vec<(&str, Range<usize>)> = table
            .iter()
            .map(|(key, _)| (key.get_ref().as_ref(), key.span()))
            .filter(|(name, _)| is_unknown(name))
            .collect();
        unknown.sort_by_key(|(_, span)| span.start);
        for (index, (name, span)) in unknown.into_iter().enumerate() {
            let message = format!("unknown key `{name}` {}", schema::place(self.name));
            let defect = Defect::new(Sort::Value, span, message).label("not a key of this table");
            // Suggestions are looked for where they are shown.
            self.defects.push(if index < MOST_SHOWN {
                self.suggested(name, defect)
            } else {
                defect
            });
        }
    }

    /// The defect of an unknown key, with a suggestion.
    fn suggested(&self, name: &str, defect: Defect) -> Defect {
        let tables = if self.name.is_empty() { &TABLES[..] } else { &[] };
        let here: Vec<_> =
            schema::keys_of(self.name).map(|key| key.name).chain(tables.iter().copied()).collect();
        let is_word = |key: &&str| is_word_of(name, key);
        let near = nearest(name, here.iter().copied());
        if let Some(near) = near.or_else(|| here.iter().copied().find(is_word)) {
            return defect.help(format!("did you mean `{near}`?"));
        }
        let told = |home: &Key| match home.name == name {
            true => format!("`{name}` stands {}", schema::place(home.table)),
            false => format!("did you mean `{}` {}?", home.name, schema::place(home.table)),
        };
        let near = nearest(name, KEYS.iter().map(|key| key.name));
        let named = KEYS.iter().find(|key| key.name == name || is_word_of(name, key.name));
        let home = named.or_else(|| KEYS.iter().find(|key| Some(key.name) == near));
        if let Some(home) = home {
            return defect.help(told(home));
        }
        defect.help(format!("keys here: {}", here.join(", ")))
    }
}

/// Whether it is a word of a key, as `permittivity` is of `relative_permittivity`.
fn is_word_of(name: &str, key: &str) -> bool {
    key != name && format!("_{key}_").contains(&format!("_{name}_"))
}

fn wrong_type(span: &Range<usize>, value: &Spanned<DeValue<'_>>, expected: &str) -> Defect {
    let found = value.get_ref().type_str();
    let message = format!("expected {expected}, found {} {found}", article(found));
    Defect::new(Sort::Value, span.clone(), message).label(format!("{} {found}", article(found)))
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

fn parse_integer(integer: &toml::de::DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}
