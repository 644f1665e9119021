//! The words of records: lines are joined and split into words, and words become names, numbers and
//! corners.

use mesh::files::{Cause, Error, FormatError};
use mesh::outlines::Polygon;
use mesh::prisms::Point;

use super::super::content::{At, Layout};

/// Lengths may be off a whole number of grid units by this many of these.
const OFF_GRID: f64 = 1e-6;

/// Coordinates are exact up to here, sums of them too.
const MOST: f64 = (1u64 << 50) as f64;

/// A record: its words, the first of which names it, and the line that it begins on, from 1.
pub(super) struct Record {
    pub line: usize,
    pub words: Vec<String>,
}

/// The records of a file: a \ at the end of a line continues a record, a # begins a comment, and ""
/// hold blanks together. Each has a word.
pub(super) fn records(bytes: &[u8]) -> Result<Vec<Record>, FormatError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        Cause::Other("the text is not UTF-8".into()).on_line(line)
    })?;
    let mut records = Vec::new();
    let (mut line, mut words) = (0, Vec::new());
    for (number, content) in (1..).zip(text.lines()) {
        if words.is_empty() {
            line = number;
        }
        if !split(content, &mut words) && !words.is_empty() {
            records.push(Record { line, words: std::mem::take(&mut words) });
        }
    }
    if !words.is_empty() {
        records.push(Record { line, words });
    }
    Ok(records)
}

/// Adds the words of a line; whether the next one continues it.
fn split(line: &str, words: &mut Vec<String>) -> bool {
    let (mut is_quoted, mut word) = (false, None::<String>);
    let end = line.char_indices().find(|&(_, c)| {
        is_quoted ^= c == '"';
        c == '#' && !is_quoted
    });
    let line = line[..end.map_or(line.len(), |(at, _)| at)].trim_end();
    let (line, goes_on) = line.strip_suffix('\\').map_or((line, false), |line| (line, true));
    is_quoted = false;
    for c in line.chars() {
        match c {
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !is_quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    goes_on
}

/// The rest of a record, read word by word. Errors name the record and its place.
pub(super) struct Words<'a> {
    /// The word that the record begins with.
    pub head: &'a str,
    /// Where the record begins.
    pub at: At,
    /// The words that are not read yet.
    pub rest: &'a [String],
    /// What the records before have said: files and grid.
    pub layout: &'a Layout,
}

impl<'a> Words<'a> {
    /// The error of this record.
    pub(super) fn refused(&self, message: impl Into<String>) -> Error {
        self.layout.error(self.at, message)
    }

    /// The error of a word that is not what it should be; `None` for the end of the record.
    pub(super) fn unexpected(&self, expected: &str, found: Option<&str>) -> Error {
        let found = found.map_or("the end of the record".to_owned(), |word| format!("\"{word}\""));
        self.refused(format!("{}: expected {expected}, found {found}", self.head))
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// The next word, whatever it is.
    pub(super) fn word(&mut self, what: &str) -> Result<&'a str, Error> {
        self.next().ok_or_else(|| self.unexpected(what, None))
    }

    /// The next word as a name of its own.
    pub(super) fn name(&mut self, what: &str) -> Result<String, Error> {
        self.word(what).map(str::to_owned)
    }

    /// Takes the next word, which must be this one.
    pub(super) fn keyword(&mut self, keyword: &str) -> Result<(), Error> {
        match self.next() {
            Some(word) if word == keyword => Ok(()),
            other => Err(self.unexpected(keyword, other)),
        }
    }

    fn number(&mut self, what: &str) -> Result<f64, Error> {
        let word = self.word(what)?;
        let digits = word.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
        let value = word.parse().ok().filter(|value: &f64| digits && value.is_finite());
        value.ok_or_else(|| self.unexpected(&format!("{what}, a number"), Some(word)))
    }

    /// A number above 0.
    pub(super) fn positive(&mut self, what: &str) -> Result<f64, Error> {
        match self.number(what)? {
            value if value > 0.0 => Ok(value),
            value => Err(self.refused(format!("{what} is {value}; it must be greater than 0"))),
        }
    }

    /// A length in grid units.
    pub(super) fn length(&mut self, what: &str) -> Result<f64, Error> {
        let value = self.number(what)?;
        let grid = self.layout.grid;
        if grid == 0.0 {
            return Err(self.refused("lengths need UNITS LENGTH ... GRID ... in a line before"));
        }
        let steps = value / grid;
        let whole = steps.round() + 0.0;
        if (steps - whole).abs() > OFF_GRID.max(4.0 * f64::EPSILON * whole.abs()) {
            let message = format!("{what} is {value}, which is no multiple of the GRID {grid}");
            return Err(self.refused(message));
        }
        if whole.abs() > MOST {
            return Err(self.refused(format!("{what} is {value}, which is too far away")));
        }
        Ok(whole)
    }

    /// The thickness after a keyword, 0 or more, in grid units.
    pub(super) fn thickness(&mut self, keyword: &str) -> Result<f64, Error> {
        self.keyword(keyword)?;
        match self.length(keyword)? {
            thickness if thickness < 0.0 => {
                Err(self.refused(format!("{keyword} is negative; it is a thickness")))
            }
            thickness => Ok(thickness),
        }
    }

    fn point(&mut self) -> Result<Point, Error> {
        Ok([self.length("a coordinate x")?, self.length("a coordinate y")?])
    }

    /// The rest of a record BOX: the corners of its rectangle.
    pub(super) fn rectangle(&mut self) -> Result<Vec<Point>, Error> {
        self.keyword("LL")?;
        let [x, y] = self.point()?;
        self.keyword("UR")?;
        let [u, v] = self.point()?;
        self.end()?;
        if x >= u || y >= v {
            let message = "the box has no area; its lower left corner (LL) must come first";
            return Err(self.refused(message));
        }
        Ok(vec![[x, y], [u, y], [u, v], [x, v]])
    }

    /// The rest of a record POLYGON: its outer ring, and those of its holes.
    pub(super) fn rings(&mut self) -> Result<Polygon, Error> {
        self.keyword("OUTER")?;
        self.rest.split(|word| word == "HOLE").map(|rest| Words { rest, ..*self }.ring()).collect()
    }

    /// A ring of corners that are all words, three at least; a corner that occurs twice in a row
    /// counts once.
    fn ring(&mut self) -> Result<Vec<Point>, Error> {
        let corners = self.rest.len() / 2;
        let mut points = Vec::with_capacity(corners);
        for _ in 0..corners {
            points.push(self.point()?);
        }
        if let Some(odd) = self.next() {
            let message = format!("after \"{odd}\", a coordinate x, its y is missing");
            return Err(self.refused(message));
        }
        points.dedup();
        if points.len() > 1 && points.first() == points.last() {
            points.pop();
        }
        if points.len() < 3 {
            let message = format!(
                "the polygon has a ring of {} corner{}; rings have at least three",
                points.len(),
                if points.len() == 1 { "" } else { "s" }
            );
            return Err(self.refused(message));
        }
        Ok(points)
    }

    /// Checks that no word is left.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        match self.next() {
            None => Ok(()),
            Some(word) => Err(self.unexpected("the end of the record", Some(word))),
        }
    }
}
