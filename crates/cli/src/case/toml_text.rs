//! Values as TOML has them.

use crate::report::text::toml_string;
use crate::report::units::shortest;

/// A quoted string with whatever escapes it needs.
pub fn string(text: &str) -> String {
    toml_string(text)
}

/// An array of numbers.
pub(super) fn vector(x: &[f64; 3]) -> String {
    format!("[{}]", x.map(shortest).join(", "))
}

/// An array of quoted strings.
pub(super) fn list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| string(name)).collect();
    format!("[{}]", quoted.join(", "))
}
