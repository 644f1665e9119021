//! The lines of a list file.

use crate::files::{FormatError, Line, Lines, Problem};
use crate::vector::Vector;
use std::path::Path;

/// Lines that begin so are comments.
pub(super) const COMMENT: &[u8] = b"*%#";

/// What a line of a list describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Conductor,
    Interface,
    Both,
}

/// A surface of the list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub kind: Kind,
    pub file: String,
    /// Where in the list.
    pub line: usize,
    pub outer: f64,
    pub inner: f64,
    pub translation: Vector,
    pub reference: Option<Vector>,
    pub reference_is_inside: bool,
    /// The chain of lines within which names of conductors hold.
    pub chain: String,
}

impl Entry {
    /// What a file of panels is without a list: conductors in vacuum.
    pub(super) fn alone(path: &Path) -> Self {
        Self {
            kind: Kind::Conductor,
            file: path.to_string_lossy().into_owned(),
            line: 1,
            outer: 1.0,
            inner: 1.0,
            translation: [0.0; 3],
            reference: None,
            reference_is_inside: false,
            chain: "GROUP1".into(),
        }
    }
}

/// Reads the content of a list file.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Entry>, FormatError> {
    let mut lines = Lines::new(bytes);
    let mut entries: Vec<Entry> = Vec::new();
    let mut chains = 1;
    let mut chain = "GROUP1".to_owned();
    while let Some(mut line) = lines.next_content(COMMENT, false) {
        let word = line.word();
        let kind = match word {
            Some(b"C" | b"c") => Kind::Conductor,
            Some(b"D" | b"d") => Kind::Interface,
            Some(b"B" | b"b") => Kind::Both,
            Some(b"G" | b"g") => {
                chain = line.name("the name of a group")?;
                continue;
            }
            Some(word) if word.eq_ignore_ascii_case(b"file") => {
                let message = "panels within the list are not read; put them into files of their own, and their names into \
                               C, D and B lines";
                return Err(Problem::Other(message.into()).on_line(line.number()));
            }
            Some(b"Q" | b"q" | b"T" | b"t") => {
                let message = "a panel stands in the list; panels belong into files that its C, D and B lines name, and a \
                               file of panels is called .qui";
                return Err(Problem::Other(message.into()).on_line(line.number()));
            }
            _ => {
                let expected = "a line that begins with C, D, B, G or a comment's *, % or #";
                return Err(line.unexpected(expected, word));
            }
        };
        let (entry, joined) = surface(&mut line, kind, chain.clone())?;
        entries.push(entry);
        if !joined {
            chains += 1;
            chain = format!("GROUP{chains}");
        }
    }
    if entries.is_empty() {
        let message = "the list names no surfaces; it must have lines that begin with C, D or B";
        return Err(Problem::Other(message.into()).on_line(lines.number().max(1)));
    }
    Ok(entries)
}

/// What follows the letter, and whether the next surface continues the chain.
fn surface(line: &mut Line<'_>, kind: Kind, chain: String) -> Result<(Entry, bool), FormatError> {
    let file = line.name("the name of a file")?;
    let outer = permittivity(line, "the relative permittivity outside")?;
    let inner = match kind {
        Kind::Conductor => outer,
        _ => permittivity(line, "the relative permittivity inside")?,
    };
    let translation = line.point("the translation, three numbers")?;
    let reference = match kind {
        Kind::Conductor => None,
        _ => Some(line.point("the reference point, three numbers")?),
    };
    let (mut joined, mut inside) = (false, false);
    while let Some(word) = line.word() {
        for mark in word {
            match (mark, kind) {
                (b'+', Kind::Conductor | Kind::Both) if !joined => joined = true,
                (b'-', Kind::Interface | Kind::Both) if !inside => inside = true,
                _ => {
                    let expected = match kind {
                        Kind::Conductor => "the end of the line or +",
                        Kind::Interface => "the end of the line or -",
                        Kind::Both => "the end of the line, +, - or both",
                    };
                    return Err(line.unexpected(expected, Some(word)));
                }
            }
        }
    }
    let entry = Entry {
        kind,
        file,
        line: line.number(),
        outer,
        inner,
        translation,
        reference,
        reference_is_inside: inside,
        chain,
    };
    Ok((entry, joined))
}

fn permittivity(line: &mut Line<'_>, what: &str) -> Result<f64, FormatError> {
    let mut ahead = *line;
    if ahead.word().is_some_and(|word| word.contains(&b'j')) {
        let message = "complex permittivities are not read; give the real part alone";
        return Err(Problem::Other(message.into()).on_line(line.number()));
    }
    let value = line.real(what)?;
    if value > 0.0 {
        Ok(value)
    } else {
        let message = format!("{what} is {value}; it must be greater than 0");
        Err(Problem::Other(message).on_line(line.number()))
    }
}
