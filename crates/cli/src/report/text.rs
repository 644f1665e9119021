//! Text of others (names of groups, titles, lines of files) made fit for terminals, spreadsheets
//! and files.

use std::fmt::Write as _;

use formats::printable::acts;
pub(crate) use formats::printable::{printable, printable_line};

/// The text with such characters replaced by others of as many bytes, so that places in it stay
/// what they are.
pub fn printable_in_place(text: String) -> String {
    let is_bad = |c: char| acts(c) && !matches!(c, '\n' | '\t' | '\r');
    if !text.chars().any(is_bad) {
        return text;
    }
    let fit = |c: char| match c.len_utf8() {
        _ if !is_bad(c) => c,
        1 => '?',
        2 => '\u{bf}',
        _ => '\u{fffd}',
    };
    text.chars().map(fit).collect()
}

/// JSON whose strings hold no such characters either; JSON itself only demands that of some.
pub fn printable_json(text: String) -> String {
    // Line breaks between values are the only ones; in strings they are escaped already.
    let is_bad = |c: char| acts(c) && c != '\n';
    if !text.chars().any(is_bad) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_bad(c) {
            let _ = write!(out, "\\u{:04x}", c as u32);
        } else {
            out.push(c);
        }
    }
    out
}

/// A quoted string of TOML.
pub fn toml_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            c if acts(c) => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out + "\""
}

/// A name as a field of a CSV file as RFC 4180 wants it, quoted where it must be; what acts on
/// terminals is written out.
pub fn csv_name(name: &str) -> String {
    let name = harmless(name);
    if name.contains([',', '"']) { quoted(&name) } else { name }
}

/// As [`csv_name`], always quoted.
pub fn csv_quoted(name: &str) -> String {
    quoted(&harmless(name))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The name on one line of its own characters; what a spreadsheet would take for a formula gets an
/// apostrophe, by which spreadsheets know text, and numbers are left alone. Some spreadsheets begin
/// a cell after a semicolon or a bar, too, whatever quotes are around.
fn harmless(name: &str) -> String {
    let is_number = name.parse::<f64>().is_ok();
    let (mut text, mut begins) = (String::new(), true);
    for c in printable_line(name).chars() {
        if begins && !is_number && "=+-@\u{ff1d}\u{ff0b}\u{ff0d}\u{ff20}".contains(c) {
            text.push('\'');
        }
        begins = ",;|\"".contains(c) || begins && c.is_whitespace();
        text.push(c);
    }
    text
}
