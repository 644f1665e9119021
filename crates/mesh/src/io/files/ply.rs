//! PLY, the polygon file format of Stanford: ASCII, and binary of either byte order.
//!
//! A header describes elements and their properties; the data follows, element by element. Read are
//! `x`, `y` and `z` of the element `vertex` and the list `vertex_indices` (or `vertex_index`) of
//! the element `face`; all else is skipped. Format: G. Turk, The PLY Polygon File Format, 1994.

use super::assemble::Assembly;
use super::error::{Cause, FormatError};
use super::lines::{Line, Lines, vertex};
use super::reading::Reading;
use crate::io::gmsh::Encoding;
use crate::surface::{Mesh, usable};
use crate::wording::quoted;

/// No header is this long; a file of something else may have no line ends at all.
const LONGEST_HEADER: usize = 1 << 20;

/// A number type of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Scalar {
    const NAMES: [(&'static str, Self); 16] = [
        ("char", Self::I8),
        ("int8", Self::I8),
        ("uchar", Self::U8),
        ("uint8", Self::U8),
        ("short", Self::I16),
        ("int16", Self::I16),
        ("ushort", Self::U16),
        ("uint16", Self::U16),
        ("int", Self::I32),
        ("int32", Self::I32),
        ("uint", Self::U32),
        ("uint32", Self::U32),
        ("float", Self::F32),
        ("float32", Self::F32),
        ("double", Self::F64),
        ("float64", Self::F64),
    ];

    fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

#[derive(Clone, Debug)]
struct Property {
    name: String,
    /// The type of a list's length; `None` for a single number.
    length: Option<Scalar>,
    kind: Scalar,
}

#[derive(Clone, Debug)]
struct Element {
    name: String,
    count: u64,
    /// The line of the header that announces it.
    line: usize,
    properties: Vec<Property>,
}

/// What the properties of an element are to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Coordinate(usize),
    Corners,
    None,
}

/// Where numbers come from.
trait Values {
    /// Starts a record.
    fn begin(&mut self, what: &str) -> Result<(), FormatError>;
    /// A number of the record.
    fn real(&mut self, kind: Scalar, what: &str) -> Result<f64, FormatError>;
    /// A whole number of the record.
    fn whole(&mut self, kind: Scalar, what: &str) -> Result<i64, FormatError>;
    /// Numbers of the record that nobody needs.
    fn skip(&mut self, kind: Scalar, count: u64) -> Result<(), FormatError>;
    /// Checks that the rest of the file can hold `count` records.
    fn check_room(&self, element: &Element) -> Result<(), FormatError>;
    /// A fault where the last number was.
    fn fault(&self, cause: Cause) -> FormatError;
}

/// Reads the content of a file.
pub(super) fn parse(bytes: &[u8]) -> Result<(Mesh, Reading), FormatError> {
    let header = Header::parse(bytes)?;
    let mut assembly = Assembly::default();
    let data = header.data;
    match header.encoding {
        Encoding::Ascii => {
            let mut source = Text { lines: header.lines.clone(), line: None };
            body(&header, &mut source, &mut assembly)?;
        }
        encoding => {
            let big = encoding == Encoding::BigEndian;
            let mut source = Bytes { all: bytes, at: data, start: data, big };
            body(&header, &mut source, &mut assembly)?;
        }
    }
    let end = header.lines.number();
    assembly.finish("PLY", header.encoding).map_err(|cause| cause.on_line(end))
}

/// The header, and where the data begins.
struct Header<'a> {
    encoding: Encoding,
    elements: Vec<Element>,
    lines: Lines<'a>,
    data: usize,
}

impl<'a> Header<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let mut lines = Lines::new(bytes);
        let magic = lines.next_line().filter(|line| line.bytes() == b"ply");
        if magic.is_none() {
            let message = "this is no PLY file: its first line is not \"ply\"";
            return Err(Cause::Other(message.into()).on_line(1));
        }
        let mut encoding = None;
        let mut elements: Vec<Element> = Vec::new();
        loop {
            if bytes.len() - lines.rest().len() > LONGEST_HEADER {
                let message = "the header does not end; it must have a line \"end_header\"";
                return Err(Cause::Other(message.into()).on_line(lines.number()));
            }
            let mut line = lines.next_line().ok_or_else(|| {
                Cause::Truncated("the line \"end_header\"".into()).on_line(lines.number())
            })?;
            let whole = line;
            match line.word() {
                None | Some(b"comment" | b"obj_info") => {}
                Some(b"format") => encoding = Some(format(&mut line)?),
                Some(b"element") => elements.push(Element {
                    name: line.name("the name of an element")?,
                    count: line.size("the number of elements")?,
                    line: line.number(),
                    properties: Vec::new(),
                }),
                Some(b"property") => {
                    let Some(element) = elements.last_mut() else {
                        return Err(whole.unexpected("an element before its properties", None));
                    };
                    element.properties.push(property(&mut line)?);
                }
                Some(b"end_header") => break,
                word => {
                    let expected = "format, element, property, comment or end_header";
                    return Err(line.unexpected(expected, word));
                }
            }
        }
        let encoding = encoding.ok_or_else(|| {
            let message = "the header has no line \"format ...\"";
            Cause::Other(message.into()).on_line(lines.number())
        })?;
        check_elements(&elements, lines.number())?;
        let data = bytes.len() - lines.rest().len();
        Ok(Self { encoding, elements, lines, data })
    }
}

fn format(line: &mut Line<'_>) -> Result<Encoding, FormatError> {
    let word = line.word();
    let encoding = match word {
        Some(b"ascii") => Encoding::Ascii,
        Some(b"binary_little_endian") => Encoding::LittleEndian,
        Some(b"binary_big_endian") => Encoding::BigEndian,
        _ => {
            let expected = "ascii, binary_little_endian or binary_big_endian";
            return Err(line.unexpected(expected, word));
        }
    };
    match line.word() {
        Some(b"1.0") => Ok(encoding),
        version => Err(line.unexpected("version 1.0, the only one there is", version)),
    }
}

fn scalar(line: &mut Line<'_>) -> Result<Scalar, FormatError> {
    let word = line.word();
    let known = word.and_then(|word| std::str::from_utf8(word).ok());
    let found = known.and_then(|word| Scalar::NAMES.iter().find(|(name, _)| *name == word));
    found
        .map(|(_, kind)| *kind)
        .ok_or_else(|| line.unexpected("a number type such as int, uchar or float", word))
}

fn property(line: &mut Line<'_>) -> Result<Property, FormatError> {
    let mut ahead = *line;
    let length = if ahead.word() == Some(b"list") {
        *line = ahead;
        let length = scalar(line)?;
        if matches!(length, Scalar::F32 | Scalar::F64) {
            return Err(line.unexpected("a whole number type for the length of a list", None));
        }
        Some(length)
    } else {
        None
    };
    let kind = scalar(line)?;
    Ok(Property { name: line.name("the name of a property")?, length, kind })
}

/// Checks that there are vertices with three coordinates, before faces with their vertices.
fn check_elements(elements: &[Element], line: usize) -> Result<(), FormatError> {
    let fault = |message: &str| Err(Cause::Other(message.into()).on_line(line));
    let find = |name: &str| elements.iter().position(|element| element.name == name);
    if let Some(strips) = elements.iter().find(|element| element.name == "tristrips") {
        let message = "triangle strips are not read; save the surface with an element \"face\"";
        return Err(Cause::Other(message.into()).on_line(strips.line));
    }
    let Some(vertex) = find("vertex") else { return fault("there is no element \"vertex\"") };
    let Some(face) = find("face") else {
        return fault("there is no element \"face\": these are points without a surface");
    };
    if face < vertex {
        return fault("the faces come before the vertices, which must come first");
    }
    for coordinate in ["x", "y", "z"] {
        let known = |p: &&Property| p.name == coordinate && p.length.is_none();
        if elements[vertex].properties.iter().filter(known).count() != 1 {
            return fault(&format!(
                "the element \"vertex\" must have one property \"{coordinate}\" that is a number"
            ));
        }
    }
    let lists = elements[face].properties.iter().filter(|p| is_corners(p));
    if lists.count() != 1 {
        return fault(
            "the element \"face\" must have one list of whole numbers \"vertex_indices\"",
        );
    }
    Ok(())
}

fn is_corners(property: &Property) -> bool {
    matches!(property.name.as_str(), "vertex_indices" | "vertex_index")
        && property.length.is_some()
        && !matches!(property.kind, Scalar::F32 | Scalar::F64)
}

/// Reads the data.
fn body(
    header: &Header<'_>,
    source: &mut impl Values,
    assembly: &mut Assembly,
) -> Result<(), FormatError> {
    for element in &header.elements {
        source.check_room(element)?;
        let uses: Vec<Use> =
            element.properties.iter().map(|property| use_of(element, property)).collect();
        if element.properties.is_empty() {
            continue;
        }
        let mut corners = Vec::with_capacity(4);
        for _ in 0..element.count {
            source.begin(&element.name)?;
            let mut point = [0.0; 3];
            for (property, of_use) in element.properties.iter().zip(&uses) {
                match (*of_use, property.length) {
                    (Use::Coordinate(i), _) => {
                        point[i] = source.real(property.kind, "a coordinate")?;
                        if !usable(point[i]) {
                            return Err(source.fault(Cause::Coordinate(point[i])));
                        }
                    }
                    (Use::Corners, Some(length)) => {
                        let count = source.whole(length, "the number of a face's corners")?;
                        if !(0..=4).contains(&count) {
                            let count = u64::try_from(count).unwrap_or(0);
                            return Err(source.fault(Cause::Polygon(count)));
                        }
                        corners.clear();
                        for _ in 0..count {
                            let index = source.whole(property.kind, "the number of a vertex")?;
                            let corner = vertex(index, assembly.vertices.len(), 0);
                            corners.push(corner.map_err(|cause| source.fault(cause))?);
                        }
                    }
                    (_, None) => source.skip(property.kind, 1)?,
                    (_, Some(length)) => {
                        let count = source.whole(length, "the length of a list")?;
                        let count = u64::try_from(count).map_err(|_| {
                            source.fault(Cause::expected("the length of a list", count.to_string()))
                        })?;
                        source.skip(property.kind, count)?;
                    }
                }
            }
            if element.name == "vertex" {
                assembly.vertex(point).map_err(|cause| source.fault(cause))?;
            } else if element.name == "face" {
                assembly.face(&corners).map_err(|cause| source.fault(cause))?;
            }
        }
    }
    Ok(())
}

fn use_of(element: &Element, property: &Property) -> Use {
    match (element.name.as_str(), property.name.as_str(), property.length) {
        ("vertex", "x", None) => Use::Coordinate(0),
        ("vertex", "y", None) => Use::Coordinate(1),
        ("vertex", "z", None) => Use::Coordinate(2),
        ("face", ..) if is_corners(property) => Use::Corners,
        _ => Use::None,
    }
}

/// Numbers as words, a record on a line.
struct Text<'a> {
    lines: Lines<'a>,
    line: Option<Line<'a>>,
}

impl<'a> Text<'a> {
    fn line(&mut self) -> Result<&mut Line<'a>, FormatError> {
        let number = self.lines.number();
        self.line.as_mut().ok_or_else(|| Cause::Truncated("data".into()).on_line(number))
    }
}

impl Values for Text<'_> {
    fn begin(&mut self, what: &str) -> Result<(), FormatError> {
        self.line = Some(self.lines.must(b"", false, &format!("the next {what}"))?);
        Ok(())
    }

    fn real(&mut self, _: Scalar, what: &str) -> Result<f64, FormatError> {
        self.line()?.real(what)
    }

    fn whole(&mut self, _: Scalar, what: &str) -> Result<i64, FormatError> {
        self.line()?.int(what)
    }

    fn skip(&mut self, _: Scalar, count: u64) -> Result<(), FormatError> {
        let line = self.line()?;
        for _ in 0..count {
            if line.word().is_none() {
                return Err(line.unexpected("another number", None));
            }
        }
        Ok(())
    }

    fn check_room(&self, element: &Element) -> Result<(), FormatError> {
        let words = element.properties.len();
        let what = "records of an element";
        self.lines.room(element.line, what, element.count, words).map(|_| ())
    }

    fn fault(&self, cause: Cause) -> FormatError {
        cause.on_line(self.lines.number())
    }
}

/// Numbers as bytes.
struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
    /// Where the number read last begins.
    start: usize,
    big: bool,
}

impl Bytes<'_> {
    fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N], FormatError> {
        self.start = self.at;
        let found = self.all.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let mut bytes =
            *found.ok_or_else(|| Cause::Truncated(what.into()).at_byte(self.all.len()))?;
        self.at += N;
        if self.big {
            bytes.reverse();
        }
        Ok(bytes)
    }
}

impl Values for Bytes<'_> {
    fn begin(&mut self, _: &str) -> Result<(), FormatError> {
        Ok(())
    }

    fn real(&mut self, kind: Scalar, what: &str) -> Result<f64, FormatError> {
        match kind {
            Scalar::F32 => Ok(f64::from(f32::from_le_bytes(self.take(what)?))),
            Scalar::F64 => Ok(f64::from_le_bytes(self.take(what)?)),
            whole => Ok(self.whole(whole, what)? as f64),
        }
    }

    fn whole(&mut self, kind: Scalar, what: &str) -> Result<i64, FormatError> {
        Ok(match kind {
            Scalar::I8 => i64::from(i8::from_le_bytes(self.take(what)?)),
            Scalar::U8 => i64::from(u8::from_le_bytes(self.take(what)?)),
            Scalar::I16 => i64::from(i16::from_le_bytes(self.take(what)?)),
            Scalar::U16 => i64::from(u16::from_le_bytes(self.take(what)?)),
            Scalar::I32 => i64::from(i32::from_le_bytes(self.take(what)?)),
            Scalar::U32 => i64::from(u32::from_le_bytes(self.take(what)?)),
            Scalar::F32 | Scalar::F64 => {
                let value = self.real(kind, what)?;
                let message = Cause::expected(what, quoted(value.to_string().as_bytes()));
                return Err(self.fault(message));
            }
        })
    }

    fn skip(&mut self, kind: Scalar, count: u64) -> Result<(), FormatError> {
        let room = (self.all.len() - self.at) as u64;
        let bytes = count.checked_mul(kind.bytes() as u64).filter(|bytes| *bytes <= room);
        let bytes =
            bytes.ok_or_else(|| Cause::Truncated("a list".into()).at_byte(self.all.len()))?;
        self.at += bytes as usize;
        Ok(())
    }

    fn check_room(&self, element: &Element) -> Result<(), FormatError> {
        let least = |p: &Property| p.length.unwrap_or(p.kind).bytes();
        let record: usize = element.properties.iter().map(least).sum();
        let room = (self.all.len() - self.at) as u64 / record.max(1) as u64;
        if record > 0 && element.count > room {
            let what = "records of an element";
            let cause = Cause::Count { what, claimed: element.count, room };
            return Err(cause.on_line(element.line));
        }
        Ok(())
    }

    fn fault(&self, cause: Cause) -> FormatError {
        cause.at_byte(self.start)
    }
}
