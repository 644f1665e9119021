//! The lines of a list file.

use std::collections::HashMap;
use std::path::Path;

use mesh::fastcap::{COMMENT, Panels, parse_section, skip_colour};
use mesh::files::{Cause, FormatError, Line, Lines};
use mesh::vector::Vector;

/// What a line of a list describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Conductor,
    Interface,
    Both,
}

/// A line of the list: one surface.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ListLine {
    pub kind: LineKind,
    pub file: String,
    /// Its number in the list, from 1.
    pub number: usize,
    pub outer: f64,
    pub inner: f64,
    pub translation: Vector,
    pub reference: Option<Vector>,
    pub reference_is_inside: bool,
    /// The chain of lines within which names of conductors hold.
    pub chain: String,
}

impl ListLine {
    /// What a file of panels is without a list: conductors in vacuum.
    pub(super) fn alone(path: &Path) -> Self {
        Self {
            kind: LineKind::Conductor,
            file: path.to_string_lossy().into_owned(),
            number: 1,
            outer: 1.0,
            inner: 1.0,
            translation: [0.0; 3],
            reference: None,
            reference_is_inside: false,
            chain: "GROUP1".into(),
        }
    }
}

/// The content of a list file.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    pub surfaces: Vec<ListLine>,
    /// Panels within the list, by the names of their sections.
    pub sections: HashMap<String, Panels>,
}

/// Reads the content of a list file.
pub(super) fn parse(bytes: &[u8]) -> Result<List, FormatError> {
    let mut lines = Lines::new(bytes);
    let mut sections = HashMap::new();
    let mut surfaces: Vec<ListLine> = Vec::new();
    let mut chains = 1;
    let mut chain = "GROUP1".to_owned();
    while let Some(mut line) = lines.next_content(COMMENT, false) {
        let word = line.word();
        let kind = match word {
            Some(b"C" | b"c") => LineKind::Conductor,
            Some(b"D" | b"d") => LineKind::Interface,
            Some(b"B" | b"b") => LineKind::Both,
            Some(b"G" | b"g") => {
                chain = line.name("the name of a group")?;
                continue;
            }
            Some(word) if word.eq_ignore_ascii_case(b"file") => {
                let name = line.name("the name of a section, as in a C, D or B line")?;
                if sections.contains_key(&name) {
                    let message =
                        format!("there is a section \"{name}\" already; names must be unique");
                    return Err(Cause::Other(message).on_line(line.number()));
                }
                sections.insert(name, parse_section(&mut lines)?);
                continue;
            }
            // The end of the list's own lines, before sections.
            Some(word) if word.eq_ignore_ascii_case(b"end") => continue,
            Some(b"Q" | b"q" | b"T" | b"t") => {
                let message = "there is a panel in the list; move panels to .qui files that its C, D and B lines name, or to \
                sections of the list from a line \"File NAME\" to a line \"End\"";
                return Err(Cause::Other(message.into()).on_line(line.number()));
            }
            _ => {
                let expected =
                    "a line that begins with C, D, B, G, File, End or a comment's *, % or #";
                return Err(line.unexpected(expected, word));
            }
        };
        let (entry, joined) = surface(&mut line, kind, chain.clone())?;
        surfaces.push(entry);
        if !joined {
            chains += 1;
            chain = format!("GROUP{chains}");
        }
    }
    if surfaces.is_empty() {
        let message = "the list names no surfaces; it must have lines that begin with C, D or B";
        return Err(Cause::Other(message.into()).on_line(lines.number().max(1)));
    }
    Ok(List { surfaces, sections })
}

/// What follows the letter, and whether the next surface continues the chain.
fn surface(
    line: &mut Line<'_>,
    kind: LineKind,
    chain: String,
) -> Result<(ListLine, bool), FormatError> {
    let file = line.name("the name of a file")?;
    let outer = permittivity(line, "the relative permittivity outside")?;
    let inner = match kind {
        LineKind::Conductor => outer,
        _ => permittivity(line, "the relative permittivity inside")?,
    };
    let translation = line.point("the translation, three numbers")?;
    let reference = match kind {
        LineKind::Conductor => None,
        _ => Some(line.point("the reference point, three numbers")?),
    };
    let (mut joined, mut inside) = (false, false);
    loop {
        skip_colour(line);
        let Some(word) = line.word() else { break };
        for mark in word {
            match (mark, kind) {
                (b'+', LineKind::Conductor | LineKind::Both) if !joined => joined = true,
                (b'-', LineKind::Interface | LineKind::Both) if !inside => inside = true,
                _ => {
                    let expected = match kind {
                        LineKind::Conductor => "the end of the line or +",
                        LineKind::Interface => "the end of the line or -",
                        LineKind::Both => "the end of the line, +, - or both",
                    };
                    return Err(line.unexpected(expected, Some(word)));
                }
            }
        }
    }
    let entry = ListLine {
        kind,
        file,
        number: line.number(),
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
        return Err(Cause::Other(message.into()).on_line(line.number()));
    }
    let value = line.real(what)?;
    if value > 0.0 {
        Ok(value)
    } else {
        let message = format!("{what} is {value}; it must be greater than 0");
        Err(Cause::Other(message).on_line(line.number()))
    }
}
