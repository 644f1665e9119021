//! The sections of an MSH file, whatever its version.

use super::content::Content;
use super::error::{Cause, FormatError, Place};
use super::report::{Encoding, ReadReport};
use super::scan::{
    Binary, Fault, Input, Numbers, Parsed, Record, Text, fail, line, skip_space, unexpected,
};
use super::tags::Places;
use super::{v2, v4};
use crate::surface::Mesh;
use nom::Parser;
use nom::bytes::complete::{tag, take};
use nom::number::Endianness;

/// The part of the version that decides how sections are laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// 2.0 to 2.2.
    Two,
    /// 4.1.
    Four,
}

#[derive(Clone, Copy)]
struct Format {
    layout: Layout,
    /// `None` for text.
    binary: Option<Binary>,
}

/// A file while it is being read.
struct Reader {
    content: Content,
    /// Set once `$Nodes` is complete.
    places: Option<Places>,
    elements_seen: bool,
}

/// Reads a whole file.
pub(super) fn read(bytes: Input) -> Result<(Mesh, ReadReport), FormatError> {
    let mut reader = Reader { content: Content::new(), places: None, elements_seen: false };
    let outcome = reader.file(bytes);
    outcome.map_err(|error| {
        let (nom::Err::Error(Fault(fault)) | nom::Err::Failure(Fault(fault))) = error else {
            // Only nom's streaming parsers, which are not used, ask for more input.
            let cause = Cause::Truncated("the file".into());
            return FormatError { place: Place::Byte(bytes.len()), subject: None, cause };
        };
        let byte = bytes.len().saturating_sub(fault.rest);
        let place = match reader.content.report.encoding {
            Encoding::Ascii => {
                Place::Line(1 + bytes[..byte].iter().filter(|&&b| b == b'\n').count())
            }
            _ => Place::Byte(byte),
        };
        FormatError { place, subject: fault.subject, cause: fault.cause }
    })
}

impl Reader {
    fn file(&mut self, bytes: Input) -> Result<(Mesh, ReadReport), nom::Err<Fault>> {
        let mut input = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let mut format = None;
        while let Some((start, name, body)) = next_section(input) {
            let parsed = match (format, name) {
                (None, b"$MeshFormat") => {
                    let (rest, found) = self.mesh_format(body)?;
                    format = Some(found);
                    end_of_section(rest, "$EndMeshFormat")
                }
                (_, b"$Comments") => skip_section(start, name, body),
                (None, b"$NOD" | b"$NOE") => fail(start, Cause::Version("1".into())),
                (None, _) => fail(start, Cause::NotGmsh),
                (Some(format), _) => self.section(format, start, name, body),
            };
            input = parsed.map_err(|error| error.map(|fault| in_section(fault, name)))?.0;
        }
        if format.is_none() {
            return fail(bytes, Cause::NotGmsh).map(|(_, never): (Input, _)| never);
        }
        self.content.finish(input)
    }

    /// The line "version file-type data-size", and the mark of the byte order.
    fn mesh_format<'a>(&mut self, input: Input<'a>) -> Parsed<'a, Format> {
        let (mut rest, header) = line(input)?;
        let words: Vec<_> =
            header.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).collect();
        let [version, file_type, data_size] = words.as_slice() else {
            return fail(input, Cause::Header);
        };
        let version = String::from_utf8_lossy(version).into_owned();
        let layout = match version.as_str() {
            "2" | "2.0" | "2.1" | "2.2" => Layout::Two,
            "4.1" => Layout::Four,
            other if other.parse::<f64>().is_ok() => {
                return fail(input, Cause::Version(version));
            }
            _ => return fail(input, Cause::Header),
        };
        self.content.report.version = version;
        let (Ok((_, file_type)), Ok((_, data_size))) =
            (Text.size(file_type, ""), Text.size(data_size, ""))
        else {
            return fail(input, Cause::Header);
        };
        let binary = match file_type {
            0 => None,
            1 => {
                let wide = match (layout, data_size) {
                    (_, 8) => true,
                    (Layout::Four, 4) => false,
                    _ => return fail(input, Cause::DataSize(data_size)),
                };
                self.content.report.encoding = Encoding::LittleEndian;
                let (after, mark) = take(4usize).parse(rest)?;
                let endianness = match mark {
                    [1, 0, 0, 0] => Endianness::Little,
                    [0, 0, 0, 1] => {
                        self.content.report.encoding = Encoding::BigEndian;
                        Endianness::Big
                    }
                    _ => return fail(rest, Cause::ByteOrder),
                };
                rest = after;
                Some(Binary { endianness, wide })
            }
            _ => return fail(input, Cause::Header),
        };
        Ok((rest, Format { layout, binary }))
    }

    /// One section after `$MeshFormat`, from its body to behind its end.
    fn section<'a>(
        &mut self,
        format: Format,
        start: Input<'a>,
        name: &[u8],
        body: Input<'a>,
    ) -> Parsed<'a, ()> {
        match (name, format.binary) {
            (b"$MeshFormat", _) => fail(start, Cause::SecondSection("$MeshFormat")),
            (b"$PhysicalNames", _) => {
                let (rest, ()) = self.physical_names(body)?;
                end_of_section(rest, "$EndPhysicalNames")
            }
            (_, None) => self.numeric_section(format.layout, Text, start, name, body),
            (_, Some(binary)) => self.numeric_section(format.layout, binary, start, name, body),
        }
    }

    fn numeric_section<'a, N: Numbers>(
        &mut self,
        layout: Layout,
        numbers: N,
        start: Input<'a>,
        name: &[u8],
        body: Input<'a>,
    ) -> Parsed<'a, ()> {
        match (name, layout) {
            (b"$Nodes", _) | (b"$ParametricNodes", Layout::Two) => {
                if self.places.is_some() {
                    return fail(start, Cause::SecondSection("$Nodes"));
                }
                let parametric = name != b"$Nodes";
                let (rest, ()) = match layout {
                    Layout::Two => v2::nodes(&mut self.content, numbers, parametric, body)?,
                    Layout::Four => v4::nodes(&mut self.content, numbers, body)?,
                };
                self.places = Some(std::mem::take(&mut self.content.node_tags).into_places());
                end_of_section(rest, if parametric { "$EndParametricNodes" } else { "$EndNodes" })
            }
            (b"$Elements", _) => {
                if std::mem::replace(&mut self.elements_seen, true) {
                    return fail(start, Cause::SecondSection("$Elements"));
                }
                let Some(places) = self.places.take() else {
                    return fail(start, Cause::Order("$Nodes"));
                };
                let (rest, ()) = match layout {
                    Layout::Two => v2::elements(&mut self.content, numbers, &places, body)?,
                    Layout::Four => v4::elements(&mut self.content, numbers, &places, body)?,
                };
                self.places = Some(places);
                end_of_section(rest, "$EndElements")
            }
            (b"$Entities", Layout::Four) => {
                if self.elements_seen {
                    return fail(start, Cause::Order("$Entities"));
                }
                let (rest, ()) = v4::entities(&mut self.content, numbers, body)?;
                end_of_section(rest, "$EndEntities")
            }
            (b"$PartitionedEntities", Layout::Four) => {
                if self.elements_seen {
                    return fail(start, Cause::Order("$PartitionedEntities"));
                }
                let (rest, ()) = v4::partitioned_entities(&mut self.content, numbers, body)?;
                end_of_section(rest, "$EndPartitionedEntities")
            }
            _ => skip_section(start, name, body),
        }
    }

    /// `$PhysicalNames`, which is text in binary files too.
    fn physical_names<'a>(&mut self, input: Input<'a>) -> Parsed<'a, ()> {
        let (input, count) = Text.count(
            Text.begin(input),
            "physical names",
            Record { ints: 1, sizes: 1, reals: 1 },
        )?;
        let (mut input, ()) = Text.end(input)?;
        for _ in 0..count {
            input = Text.begin(input);
            let (rest, dimension) = Text.int(input, "the dimension of a physical name")?;
            let (rest, tag) = Text.int(rest, "the tag of a physical name")?;
            let (rest, quoted) = line(rest)?;
            // Gmsh does not escape quotes inside a name.
            let [b'"', name @ .., b'"'] = quoted else {
                return unexpected(input, "dimension, tag and a name in quotes");
            };
            let name = String::from_utf8_lossy(name).into_owned();
            match self.content.names.get(&(dimension, tag)) {
                Some(known) if *known != name => {
                    return fail(input, Cause::SecondName { dimension, tag, name });
                }
                _ => self.content.names.insert((dimension, tag), name),
            };
            input = rest;
        }
        Ok((input, ()))
    }
}

/// The next line that starts with a dollar sign: from there on, its first word, and what follows
/// the line.
fn next_section(mut input: Input) -> Option<(Input, Input, Input)> {
    loop {
        input = skip_space(input);
        if input.is_empty() {
            return None;
        }
        let end = input.iter().position(|&b| b == b'\n').unwrap_or(input.len());
        let rest = input.get(end + 1..).unwrap_or_default();
        if input[0] == b'$' {
            let word = input[..end].split(u8::is_ascii_whitespace).next().unwrap_or_default();
            return Some((input, word, rest));
        }
        input = rest;
    }
}

fn end_of_section<'a>(input: Input<'a>, end: &'static str) -> Parsed<'a, ()> {
    let input = skip_space(input);
    match tag::<_, _, Fault>(end).parse(input) {
        Ok((rest, _)) => Ok((rest, ())),
        Err(_) => unexpected(input, end),
    }
}

/// Passes over a section that has nothing for us.
fn skip_section<'a>(start: Input<'a>, name: &[u8], body: Input<'a>) -> Parsed<'a, ()> {
    if name.starts_with(b"$End") {
        return unexpected(start, "the start of a section");
    }
    let end = [b"$End", name.get(1..).unwrap_or_default()].concat();
    let mut rest = body;
    while let Some(dollar) = rest.iter().position(|&b| b == b'$') {
        rest = &rest[dollar..];
        if let Some(after) = rest.strip_prefix(end.as_slice()) {
            return Ok((after, ()));
        }
        rest = &rest[1..];
    }
    fail(start, Cause::Truncated(String::new()))
}

/// Names the section in which the file ends.
fn in_section(mut fault: Fault, name: &[u8]) -> Fault {
    if let Cause::Truncated(section) = &mut fault.0.cause
        && section.is_empty()
    {
        const LONGEST: usize = 40;
        *section = String::from_utf8_lossy(&name[..name.len().min(LONGEST)]).into_owned();
    }
    fault
}
