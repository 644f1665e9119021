//! A text file as lines of words, whose errors name the line.

use super::error::{Cause, FormatError};
use crate::surface::usable;
use crate::vector::Vector;
use crate::wording::quoted;

/// The lines of a file, from the first.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    rest: &'a [u8],
    /// The number of the line read last; 0 before the first.
    number: usize,
}

/// One line, read word by word.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The whole line.
    raw: &'a [u8],
    rest: &'a [u8],
    number: usize,
}

impl<'a> Lines<'a> {
    /// The lines of a file's content; a byte order mark is skipped.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes), number: 0 }
    }

    /// The next line, whatever it holds.
    pub(crate) fn next_line(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|&b| b == b'\n').unwrap_or(self.rest.len());
        let line = &self.rest[..end];
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        self.number += 1;
        Some(Line { raw: line, rest: line.trim_ascii(), number: self.number })
    }

    /// The next line that is neither blank nor a comment: comments begin with one of `marks`, and
    /// end other lines as well where `inner` says so.
    pub fn next_content(&mut self, marks: &[u8], inner: bool) -> Option<Line<'a>> {
        loop {
            let mut line = self.next_line()?;
            if inner && let Some(start) = line.rest.iter().position(|b| marks.contains(b)) {
                line.rest = line.rest[..start].trim_ascii();
            }
            if line.rest.first().is_some_and(|first| !marks.contains(first)) {
                return Some(line);
            }
        }
    }

    /// As [`Self::next_content`], where there must be one.
    pub(crate) fn must(
        &mut self,
        marks: &[u8],
        inner: bool,
        what: &str,
    ) -> Result<Line<'a>, FormatError> {
        self.next_content(marks, inner)
            .ok_or_else(|| Cause::Truncated(what.into()).on_line(self.number.max(1)))
    }

    /// What has not been read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The number of the line read last.
    pub fn number(&self) -> usize {
        self.number
    }

    /// A count of records of at least `words` words each, which the rest of the file can hold.
    pub(crate) fn room(
        &self,
        line: usize,
        what: &'static str,
        claimed: u64,
        words: usize,
    ) -> Result<usize, FormatError> {
        // A digit and a separator each, save for the last.
        let room = (self.rest.len() as u64 + 1) / (2 * words.max(1) as u64);
        if claimed > room {
            return Err(Cause::Count { what, claimed, room }.on_line(line));
        }
        if claimed > u64::from(u32::MAX) {
            return Err(Cause::TooMany(what).on_line(line));
        }
        Ok(claimed as usize)
    }
}

impl<'a> Line<'a> {
    /// The number of the line, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The whole line, blanks at its start included, for formats of fixed columns.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// The rest of the line.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.rest).into_owned()
    }

    /// Whether no word is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// How many words are left.
    pub fn count(&self) -> usize {
        let mut line = *self;
        std::iter::from_fn(|| line.word()).count()
    }

    /// The bytes that are left.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.rest
    }

    /// The next word.
    pub fn word(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(u8::is_ascii_whitespace).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_ascii_start();
        (!word.is_empty()).then_some(word)
    }

    /// The next word as text; `what` it is, for messages.
    ///
    /// # Errors
    /// [`Cause::Expected`] at the end of the line.
    pub fn name(&mut self, what: &str) -> Result<String, FormatError> {
        let word = self.word().ok_or_else(|| self.unexpected(what, None))?;
        Ok(String::from_utf8_lossy(word).into_owned())
    }

    /// The next word as a finite number.
    ///
    /// # Errors
    /// [`Cause::Expected`].
    pub fn real(&mut self, what: &str) -> Result<f64, FormatError> {
        let word = self.word();
        word.and_then(parse_real).ok_or_else(|| self.unexpected(what, word))
    }

    /// The next word as a whole number that is not negative.
    #[doc(hidden)]
    pub fn size(&mut self, what: &str) -> Result<u64, FormatError> {
        let word = self.word();
        word.and_then(|word| std::str::from_utf8(word).ok()?.parse().ok())
            .ok_or_else(|| self.unexpected(what, word))
    }

    /// The next word as a whole number.
    pub(crate) fn int(&mut self, what: &str) -> Result<i64, FormatError> {
        let word = self.word();
        word.and_then(|word| std::str::from_utf8(word).ok()?.parse().ok())
            .ok_or_else(|| self.unexpected(what, word))
    }

    /// The next three words as a point.
    ///
    /// # Errors
    /// [`Cause::Expected`] and [`Cause::Coordinate`].
    pub fn point(&mut self, what: &str) -> Result<Vector, FormatError> {
        let mut point = [0.0; 3];
        for coordinate in &mut point {
            *coordinate = self.real(what)?;
            if !usable(*coordinate) {
                return Err(Cause::Coordinate(*coordinate).on_line(self.number));
            }
        }
        Ok(point)
    }

    /// The next word as the number of a vertex, counted from `first`; the result counts from 0.
    pub(crate) fn vertex(&mut self, count: usize, first: u32) -> Result<u32, FormatError> {
        let index = self.int("the number of a vertex")?;
        vertex(index, count, first).map_err(|cause| cause.on_line(self.number))
    }

    /// Checks that no word is left.
    ///
    /// # Errors
    /// [`Cause::Expected`].
    pub fn end(&mut self) -> Result<(), FormatError> {
        match self.word() {
            None => Ok(()),
            word => Err(self.unexpected("the end of the line", word)),
        }
    }

    /// Something else than `expected`: the word given, or the end of the line.
    pub fn unexpected(&self, expected: &str, found: Option<&[u8]>) -> FormatError {
        let found = found.map_or_else(|| "the end of the line".to_owned(), quoted);
        Cause::expected(expected, found).on_line(self.number)
    }
}

/// The number of a vertex counted from 0, for one counted from `first`.
pub fn vertex(index: i64, count: usize, first: u32) -> Result<u32, Cause> {
    index
        .checked_sub(i64::from(first))
        .and_then(|index| u32::try_from(index).ok())
        .filter(|&index| (index as usize) < count)
        .ok_or(Cause::Vertex { index, count, first })
}

/// A number; Fortran's `1.0D+00` is one too. Not one are "inf" and "nan".
pub fn parse_real(word: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(word).ok()?;
    let parsed = text.parse::<f64>().ok().or_else(|| {
        let exponent = text.find(['d', 'D'])?;
        format!("{}e{}", &text[..exponent], &text[exponent + 1..]).parse().ok()
    });
    parsed.filter(|value| value.is_finite())
}
