//! Text of others (names of groups, titles, lines of files) made fit for terminals and files.

use std::borrow::Cow;

/// Whether a character does something else than being seen: control characters, and those that
/// change the direction of text.
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with such characters written out, as `\u{1b}`. Lines and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| acts(c) && !matches!(c, '\n' | '\t'))
}

/// As [`printable`], for text that has to stay on one line, such as a name in a table.
pub fn printable_line(text: &str) -> Cow<'_, str> {
    escaped(text, acts)
}

/// The text for comments of files that other programs run as they read them: letters, digits,
/// blanks and `.-_` alone, which mean nothing to any of them.
pub fn inert(text: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || " .-_".contains(c) { c } else { '_' };
    text.chars().map(fit).collect()
}

fn escaped(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_bad(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}
