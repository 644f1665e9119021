//! The tables of keys in docs/case-file.md.

use std::fmt::Write as _;

use super::schema::{Absent, Key, Spec, TableInfo, ValueKind};
use crate::report::units::shortest;

/// The keys of a table in Markdown, a row each.
pub fn markdown(table: &TableInfo) -> String {
    let mut text = "| key | value | default | meaning |\n|---|---|---|---|\n".to_owned();
    for Key { name, spec, absent, meaning } in table.keys {
        let default = match absent {
            Absent::Error => "required",
            Absent::Conditional(words) | Absent::Default(words) => words,
        };
        let _ = writeln!(text, "| `{name}` | {} | {default} | {meaning} |", words(spec));
    }
    text
}

/// Allowed values, in words.
fn words(spec: &Spec) -> String {
    if let Some(words) = spec.words {
        return words.to_owned();
    }
    let number = |x: f64| match x {
        0.0 => "0".to_owned(),
        _ => shortest(x).trim_end_matches(".0").to_owned(),
    };
    let range = |low, high| format!("{} to {}", number(low), number(high));
    let quoted =
        |words: &[&str]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>();
    match spec.kind {
        ValueKind::Text | ValueKind::Pattern(_) => "text".to_owned(),
        ValueKind::Path => "path".to_owned(),
        ValueKind::Choice(choices) => match &quoted(choices)[..] {
            [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
            all => all.join(", "),
        },
        ValueKind::Choices(choices) => {
            format!("{}, or a list of these", quoted(choices).join(", "))
        }
        ValueKind::Names { .. } => "name or list of names".to_owned(),
        ValueKind::Groups => "table of names or lists of names".to_owned(),
        ValueKind::Numbers { count: None } => "list of numbers".to_owned(),
        ValueKind::Numbers { count: Some(3) } => "three numbers".to_owned(),
        ValueKind::Numbers { count: Some(count) } => format!("{count} numbers"),
        ValueKind::Counts => "[nx, ny, nz]".to_owned(),
        ValueKind::Number { low, high } => format!("number, {}", range(low, high)),
        ValueKind::NumberOr { low, high, word } => {
            format!("number, {}, or \"{word}\"", range(low, high))
        }
        ValueKind::Bool => "true or false".to_owned(),
        ValueKind::Vector { .. } => "[x, y, z]".to_owned(),
        ValueKind::Integer { low, high } if low == high => low.to_string(),
        ValueKind::Integer { low, high } => format!("integer, {low} to {high}"),
    }
}
