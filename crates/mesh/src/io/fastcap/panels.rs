//! Panels in the generic format: a title, then quadrilaterals (Q), triangles (T) and new names for
//! conductors (N).

use crate::io::files::{Cause, FormatError, Line, Lines};
use crate::vector::Vector;

/// Lines that begin with one of these are comments.
pub const COMMENT: &[u8] = b"*%#";

/// A triangle or a quadrilateral.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The name that the file gives its conductor.
    pub conductor: String,
    /// Three or four, in their order around it.
    pub corners: Vec<Vector>,
    /// A reference point of its own, as FasterCap allows.
    pub reference: Option<Vector>,
    /// Its line in the file, from 1.
    pub line: usize,
}

/// The content of a file of panels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panels {
    /// The title, if there is one.
    pub title: Option<String>,
    /// At least one.
    pub panels: Vec<Panel>,
    /// New names for conductors, in the file's order.
    pub renames: Vec<Rename>,
    /// Sentences for people about whatever is left out.
    pub notes: Vec<String>,
}

/// A new name for a conductor of the chain that the file belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Rename {
    /// The name so far.
    pub old: String,
    /// The name from here on.
    pub new: String,
    /// Its line in the file, from 1.
    pub line: usize,
}

/// Reads the content of a file.
pub(super) fn parse(bytes: &[u8]) -> Result<Panels, FormatError> {
    read(&mut Lines::new(bytes), false)
}

/// Reads lines to the end, or to a line `End` where they are a `section` of a list; a section may
/// begin with a panel.
pub(super) fn read(lines: &mut Lines<'_>, is_section: bool) -> Result<Panels, FormatError> {
    let mut title = None;
    let mut panels: Vec<Panel> = Vec::new();
    let mut renames = Vec::new();
    let before = lines.number();
    while let Some(mut line) = lines.next_content(COMMENT, false) {
        let number = line.number();
        let is_first = number == before + 1;
        let word = line.word();
        let corners = match word {
            Some(b"Q" | b"q") => 4,
            Some(b"T" | b"t") => 3,
            Some(b"N" | b"n") => {
                let old = conductor(&mut line, "the name of a conductor")?;
                let new = conductor(&mut line, "its new name")?;
                renames.push(Rename { old, new, line: number });
                continue;
            }
            Some(word) if is_section && word.eq_ignore_ascii_case(b"end") => break,
            Some(b"C" | b"c" | b"D" | b"d" | b"B" | b"b") if !is_first => {
                let message =
                    "a line of a list stands among panels; lists within lists are not read";
                return Err(Cause::Other(message.into()).on_line(number));
            }
            // The title, which FastCap begins with 0 and FasterCap leaves free.
            Some(word) if is_first => {
                let rest = line.text();
                let start = String::from_utf8_lossy(word);
                let text = if word == b"0" { rest } else { format!("{start} {rest}") };
                title = printable(&text);
                continue;
            }
            // Not quoted: a list may name any file.
            _ => {
                let message = "this is no line of a file of panels: it must begin with Q, T, N or a comment's *, % or #";
                return Err(Cause::Other(message.into()).on_line(number));
            }
        };
        if is_first && !is_section {
            let message = "the first line is a title, which is not read as a panel; put a line such as \"0 title\" before it";
            return Err(Cause::Other(message.into()).on_line(number));
        }
        panels.push(panel(&mut line, corners)?);
    }
    if panels.is_empty() {
        return Err(Cause::NoTriangles.on_line(lines.number().max(1)));
    }
    Ok(Panels { title, panels, renames, notes: Vec::new() })
}

/// Passes over a colour, as viewers of FasterCap's models write them: 0xf000002f.
pub fn skip_colour(line: &mut Line<'_>) {
    let mut ahead = *line;
    if ahead.word().is_some_and(is_colour) {
        *line = ahead;
    }
}

fn is_colour(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"0x").or_else(|| word.strip_prefix(b"0X"));
    digits.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit))
}

/// The name of a conductor, which results and case files must be able to hold.
fn conductor(line: &mut Line<'_>, what: &str) -> Result<String, FormatError> {
    let name = line.name(what)?;
    if name.chars().any(char::is_control) {
        let found = Some(name.as_bytes());
        return Err(line.unexpected(&format!("{what}, without control characters"), found));
    }
    Ok(name)
}

fn panel(line: &mut Line<'_>, count: usize) -> Result<Panel, FormatError> {
    let conductor = conductor(line, "the name of a conductor")?;
    skip_colour(line);
    let mut corners = Vec::with_capacity(count);
    for _ in 0..count {
        corners.push(line.point("a coordinate")?);
    }
    skip_colour(line);
    let reference = if line.is_empty() {
        None
    } else {
        Some(line.point("a reference point or the end of the line")?)
    };
    skip_colour(line);
    line.end()?;
    Ok(Panel { conductor, corners, reference, line: line.number() })
}

/// A title without line breaks and other control characters; `None` if nothing is left.
pub(super) fn printable(text: &str) -> Option<String> {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let text = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}
