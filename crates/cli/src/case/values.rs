//! Values of keys: from TOML, with every defect reported, and back.

use std::ops::Range;

use bem::Beyond;
use toml::Spanned;
use toml::de::{DeInteger, DeValue};

use super::diagnostics::{Defect, Defects, Located, Sort, nearest, quoted};
use super::schema::{GROUND, Key, ValueKind};
use crate::report::text::toml_string;
use crate::report::units::shortest;
use crate::words::Word;

/// Context for reading a value.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) key: &'a Key,
    pub(super) defects: &'a Defects,
}

/// A type that values of keys are read into.
pub(super) trait Value: Sized {
    /// The value; `None` if it is none that the key takes, which is reported.
    fn read(reader: Reader<'_>, value: &Spanned<DeValue<'_>>) -> Option<Self>;

    /// It as TOML has it.
    fn toml(&self) -> String;
}

/// A key of one table of one file, with its value.
#[derive(Clone, Debug)]
pub(super) struct Field<T> {
    /// Where the key is, if it is there.
    pub(super) key: Option<Range<usize>>,
    /// Where its value is.
    pub(super) span: Range<usize>,
    /// `None` if it is absent or wrong.
    pub(super) value: Option<T>,
}

impl<T> Default for Field<T> {
    fn default() -> Self {
        Self { key: None, span: 0..0, value: None }
    }
}

impl<T> Field<T> {
    /// Whether the key is there, whatever its value.
    pub(super) fn is_given(&self) -> bool {
        self.key.is_some()
    }

    pub(super) fn or(self, default: T) -> T {
        self.value.unwrap_or(default)
    }

    /// The value and its place.
    pub(super) fn located(self) -> Option<Located<T>> {
        Some(Located { value: self.value?, span: self.span })
    }
}

/// A value to be written; it has no place.
impl<T> From<T> for Field<T> {
    fn from(value: T) -> Self {
        Self::from(Some(value))
    }
}

/// The same if there is one.
impl<T> From<Option<T>> for Field<T> {
    fn from(value: Option<T>) -> Self {
        Self { value, ..Self::default() }
    }
}

impl From<&String> for Field<String> {
    fn from(text: &String) -> Self {
        Self::from(text.clone())
    }
}

impl From<&Vec<String>> for Field<Names> {
    fn from(names: &Vec<String>) -> Self {
        Self::from(List::of(names))
    }
}

/// A list with the places of its items; a lone item is a list of one.
#[derive(Clone, Debug)]
pub(super) struct List<T> {
    pub(super) items: Vec<T>,
    pub(super) places: Vec<Range<usize>>,
}

pub(super) type Names = List<String>;

impl<T: Clone> List<T> {
    /// A list that is to be written; it has no places.
    pub(super) fn of(items: &[T]) -> Self {
        Self { items: items.to_vec(), places: Vec::new() }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&T, &Range<usize>)> {
        self.items.iter().zip(&self.places)
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { items: Vec::new(), places: Vec::new() }
    }
}

/// A name and the names that it stands for.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) name: Located<String>,
    pub(super) members: Names,
}

impl Value for String {
    fn read(reader: Reader<'_>, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let name = reader.key.name;
        let DeValue::String(text) = value.get_ref() else {
            return reader.expected(value, &format!("text in quotes for {name}"));
        };
        // Control characters come from meshes whose groups have such names; whoever shows them
        // writes them out.
        if text.is_empty() {
            return reader.wrong(value.span(), format!("{name} is empty"));
        }
        Some(text.to_string())
    }

    fn toml(&self) -> String {
        toml_string(self)
    }
}

impl<W: Word> Value for W {
    fn read(reader: Reader<'_>, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let text = String::read(reader, value)?;
        if let Some(known) = W::named(&text) {
            return Some(known);
        }
        let words = || W::WORDS.iter().copied();
        let message = format!("{} = \"{text}\" is not one of {}", reader.key.name, quoted(words()));
        let defect = Defect::new(Sort::Value, value.span(), message).label("not possible here");
        reader.defects.push(match nearest(&text, words()) {
            Some(near) => defect.help(format!("did you mean \"{near}\"?")),
            None => defect,
        });
        None
    }

    fn toml(&self) -> String {
        toml_string(self.word())
    }
}

/// Items that are wrong are left out.
impl<T: Value> Value for List<T> {
    fn read(reader: Reader<'_>, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let read = |item: &Spanned<DeValue<'_>>| Some((T::read(reader, item)?, item.span()));
        let (items, places) = match value.get_ref() {
            DeValue::Array(items) => items.iter().filter_map(read).unzip(),
            _ => [read(value)?].into_iter().unzip(),
        };
        Some(Self { items, places })
    }

    fn toml(&self) -> String {
        listed(self.items.iter().map(T::toml))
    }
}

/// In the order of the file.
impl Value for Vec<Group> {
    fn read(reader: Reader<'_>, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let name = reader.key.name;
        let DeValue::Table(table) = value.get_ref() else {
            let defect = wrong_type(value, &format!("a table of names for {name}"));
            reader.defects.push(defect.help(format!("write {name} = {{ a = [\"b\", \"c\"] }}")));
            return None;
        };
        let mut groups: Vec<Group> = table
            .iter()
            .map(|(key, value)| Group {
                name: Located { value: key.get_ref().to_string(), span: key.span() },
                members: Names::read(reader, value).unwrap_or_default(),
            })
            .collect();
        groups.sort_by_key(|group| group.name.span.start);
        Some(groups)
    }

    fn toml(&self) -> String {
        let group = |Group { name, members }: &Group| {
            format!("{} = {}", toml_string(&name.value), members.toml())
        };
        format!("{{ {} }}", self.iter().map(group).collect::<Vec<_>>().join(", "))
    }
}

/// A whole number will do.
impl Value for f64 {
    fn read(reader: Reader<'_>, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let ValueKind::Number { low, high } = reader.key.spec.kind else { return None };
        reader.number(value, low, high)
    }

    fn toml(&self) -> String {
        shortest(*self)
    }
}

/// A permittivity or the word for ground.
impl Value for Beyond {
    fn read(reader: Reader<'_>, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let ValueKind::NumberOr { low, high, word } = reader.key.spec.kind else { return None };
        match value.get_ref() {
            DeValue::String(text) if text == word => Some(Self::Ground),
            DeValue::Float(_) | DeValue::Integer(_) => {
                reader.number(value, low, high).map(Self::Dielectric)
            }
            _ => reader.expected(value, &format!("a number or \"{word}\" for {}", reader.key.name)),
        }
    }

    fn toml(&self) -> String {
        match self {
            Self::Dielectric(permittivity) => shortest(*permittivity),
            Self::Ground => toml_string(GROUND),
        }
    }
}

impl Value for bool {
    fn read(reader: Reader<'_>, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        match value.get_ref() {
            DeValue::Boolean(found) => Some(*found),
            _ => reader.expected(value, &format!("true or false for {}", reader.key.name)),
        }
    }

    fn toml(&self) -> String {
        self.to_string()
    }
}

impl Value for usize {
    fn read(reader: Reader<'_>, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let ValueKind::Integer { low, high } = reader.key.spec.kind else { return None };
        let DeValue::Integer(integer) = value.get_ref() else {
            return reader.expected(value, &format!("a whole number for {}", reader.key.name));
        };
        let number = parse_integer(integer).and_then(|number| Self::try_from(number).ok());
        match number.filter(|number| (low..=high).contains(number)) {
            Some(number) => Some(number),
            None if low == high => reader.out_of_range(value, &low.to_string()),
            None => reader.out_of_range(value, &format!("{low} to {high}")),
        }
    }

    fn toml(&self) -> String {
        self.to_string()
    }
}

impl Value for [f64; 3] {
    fn read(reader: Reader<'_>, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let ValueKind::Vector { high } = reader.key.spec.kind else {
            return Vec::read(reader, value)?.try_into().ok();
        };
        let expected = format!("three numbers [x, y, z] for {}", reader.key.name);
        let DeValue::Array(items) = value.get_ref() else {
            return reader.expected(value, &expected);
        };
        if items.len() != 3 {
            let message = format!("expected {expected}, found {}", items.len());
            return reader.wrong(value.span(), message);
        }
        let numbers = items.iter().filter_map(|item| reader.number(item, -high, high));
        numbers.collect::<Vec<_>>().try_into().ok()
    }

    fn toml(&self) -> String {
        listed(self.iter().map(f64::toml))
    }
}

impl Value for Vec<f64> {
    fn read(reader: Reader<'_>, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let name = reader.key.name;
        let count = match reader.key.spec.kind {
            ValueKind::Numbers { count } => count,
            _ => Some(3),
        };
        let expected = match count {
            Some(count) => format!("{count} numbers for {name}"),
            None => format!("numbers for {name}"),
        };
        let DeValue::Array(items) = value.get_ref() else {
            return reader.expected(value, &format!("a list of {expected}"));
        };
        let mut numbers = Self::with_capacity(items.len());
        for item in items.iter() {
            let Some(number) = parse_number(item).flatten().filter(|number| number.is_finite())
            else {
                return reader.expected(item, &format!("a finite number in {name}"));
            };
            numbers.push(number);
        }
        if numbers.is_empty() || count.is_some_and(|count| count != numbers.len()) {
            let message = format!("expected {expected}, found {}", numbers.len());
            return reader.wrong(value.span(), message);
        }
        Some(numbers)
    }

    fn toml(&self) -> String {
        listed(self.iter().map(f64::toml))
    }
}

impl Reader<'_> {
    fn wrong<T>(self, span: Range<usize>, message: String) -> Option<T> {
        self.defects.push(Defect::new(Sort::Value, span, message));
        None
    }

    fn expected<T>(self, value: &Spanned<DeValue<'_>>, expected: &str) -> Option<T> {
        self.defects.push(wrong_type(value, expected));
        None
    }

    fn out_of_range<T>(self, value: &Spanned<DeValue<'_>>, allowed: &str) -> Option<T> {
        let message = format!("{} is out of range", self.key.name);
        let defect = Defect::new(Sort::Value, value.span(), message);
        self.defects.push(defect.label(format!("possible: {allowed}")));
        None
    }

    fn number(self, value: &Spanned<DeValue<'_>>, low: f64, high: f64) -> Option<f64> {
        let Some(parsed) = parse_number(value) else {
            return self.expected(value, &format!("a number for {}", self.key.name));
        };
        match parsed.filter(|number| (low..=high).contains(number)) {
            Some(number) => Some(number),
            None => self.out_of_range(value, &format!("{} to {}", shortest(low), shortest(high))),
        }
    }
}

fn listed(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// The defect of a value of another type than `expected`.
pub(super) fn wrong_type(value: &Spanned<DeValue<'_>>, expected: &str) -> Defect {
    let found = value.get_ref().type_str();
    let found = format!("{} {found}", article(found));
    let message = format!("expected {expected}, found {found}");
    Defect::new(Sort::Value, value.span(), message).label(found)
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

/// A number, `None` for values of other types; the inner one for digits that are none.
fn parse_number(value: &Spanned<DeValue<'_>>) -> Option<Option<f64>> {
    match value.get_ref() {
        DeValue::Float(float) => Some(float.as_str().parse().ok()),
        DeValue::Integer(integer) => Some(parse_integer(integer).map(|number| number as f64)),
        _ => None,
    }
}

fn parse_integer(integer: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}
