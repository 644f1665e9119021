//! Tables of case files as types: one row for each key gives its field, its reader, its writer and
//! its place in the schema.

use std::ops::Range;

use super::document::Section;
use super::schema::TableInfo;

/// A type that `table!` makes.
pub(super) trait Table: Sized {
    const INFO: &'static TableInfo;

    /// All keys of one table; their defects are reported.
    fn read(section: &Section<'_>) -> Self;

    /// Where it begins.
    fn place(&self) -> Range<usize>;

    /// The keys that have values, with these as TOML has them.
    fn entries(&self) -> Vec<(&'static str, String)>;
}

impl Section<'_> {
    /// Whether the document has the table.
    pub(super) fn has_table<T: Table>(&self) -> bool {
        self.has(T::INFO.name)
    }

    /// The table, with all keys absent if the document has none.
    pub(super) fn table<T: Table>(&self) -> T {
        T::read(&self.section(T::INFO))
    }

    /// The tables of an array.
    pub(super) fn tables<T: Table>(&self) -> Vec<T> {
        self.sections(T::INFO).iter().map(T::read).collect()
    }
}

/// Declares a table: the type of its values, `NAME = "heading"` with `repeated` for an array of
/// tables, and one row for each key: `field: Type = kind, absent, "meaning";`, with `as "key"`
/// where the key's name is none that a field can have.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $table:ident = $name:literal $($repeated:ident)?;
        $(@rules $rules:expr;)?
        $(@written_last $last:expr;)?
        $($field:ident $(as $key:literal)? : $type:ty = $spec:expr, $absent:expr, $meaning:expr;)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub(in crate::case) struct $table {
            pub(in crate::case) place: std::ops::Range<usize>,
            $(pub(in crate::case) $field: $crate::case::values::Field<$type>,)+
        }

        impl $crate::case::table::Table for $table {
            const INFO: &'static $crate::case::schema::TableInfo =
                &$crate::case::schema::TableInfo {
                    name: $name,
                    is_array: table!(@is_array $($repeated)?),
                    keys: &[$(table!(@key $field $($key)?, $spec, $absent, $meaning)),+],
                    rules: table!(@list $($rules)?),
                    written_last: table!(@list $($last)?),
                };

            fn read(section: &$crate::case::document::Section<'_>) -> Self {
                Self {
                    place: section.span(),
                    $($field: section.field(
                        &table!(@key $field $($key)?, $spec, $absent, $meaning)
                    ),)+
                }
            }

            fn place(&self) -> std::ops::Range<usize> {
                self.place.clone()
            }

            fn entries(&self) -> Vec<(&'static str, String)> {
                let all = [$((
                    table!(@name $field $($key)?),
                    self.$field.value.as_ref().map($crate::case::values::Value::toml),
                )),+];
                all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
            }
        }
    };
    (@key $field:ident $($key:literal)?, $spec:expr, $absent:expr, $meaning:expr) => {
        $crate::case::schema::Key {
            name: table!(@name $field $($key)?),
            spec: $spec,
            absent: $absent,
            meaning: $meaning,
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $key:literal) => { $key };
    (@is_array) => { false };
    (@is_array repeated) => { true };
    (@list) => { &[] };
    (@list $list:expr) => { &$list };
}

pub(super) use table;
