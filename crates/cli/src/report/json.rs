//! JSON as it is written: short enough for large matrices, and still to be read.

use std::io;

use serde_json::ser::Formatter;

use super::text::printable_json;

/// A document as JSON, by [`printable_json`].
pub fn text(document: &impl serde::Serialize) -> String {
    // Only maps with strange keys and failing writers can fail, and there are none here.
    let mut out = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(&mut out, Lines::default());
    let written = document.serialize(&mut writer);
    let text = written.ok().and_then(|()| String::from_utf8(out).ok());
    printable_json(text.unwrap_or_default() + "\n")
}

/// JSON with a line for each key, and for each list of numbers and texts: for each row of a matrix.
#[derive(Default)]
struct Lines {
    /// For each open list or object, whether what is in it has lines of its own.
    open: Vec<bool>,
    /// Whether what comes is in a list.
    is_listed: bool,
}

impl Lines {
    fn line(&mut self, out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
        if let Some(has_lines) = self.open.last_mut() {
            *has_lines = true;
        }
        write!(out, "\n{:1$}", "", 2 * self.open.len())
    }

    fn begin(&mut self, out: &mut (impl io::Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        if std::mem::take(&mut self.is_listed) {
            self.line(out)?;
        }
        self.open.push(false);
        out.write_all(bracket)
    }

    fn end(&mut self, out: &mut (impl io::Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        if self.open.pop() == Some(true) {
            write!(out, "\n{:1$}", "", 2 * self.open.len())?;
        }
        out.write_all(bracket)
    }
}

impl Formatter for Lines {
    fn begin_array<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        is_first: bool,
    ) -> io::Result<()> {
        self.is_listed = true;
        if is_first { Ok(()) } else { out.write_all(b",") }
    }

    fn end_array_value<W: io::Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_listed = false;
        Ok(())
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        is_first: bool,
    ) -> io::Result<()> {
        if !is_first {
            out.write_all(b",")?;
        }
        self.line(out)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}
