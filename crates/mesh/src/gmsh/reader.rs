//! The sections of an MSH file, whatever its version, and what is gathered from them.

use super::error::{Cause, FormatError, Place, Subject};
use super::faces::{Faces, Label, note_opposed};
use super::kinds::ElementKind;
use super::report::{Encoding, ReadReport};
use super::scan::{
    About, Binary, Fault, Input, Numbers, Parsed, Text, fail, line, skip_space, unexpected,
};
use super::tags::{Places, Refused, Tags};
use super::{v2, v4};
use crate::curved;
use crate::files::note_split;
use crate::surface::Mesh;
use crate::wording::counted;
use nom::Parser;
use nom::bytes::complete::{tag, take};
use nom::number::Endianness;
use std::collections::HashMap;

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

/// What has been read so far.
pub(super) struct Reader {
    pub vertices: Vec<[f64; 3]>,
    pub node_tags: Tags,
    /// Set once `$Nodes` is complete.
    places: Option<Places>,
    pub element_tags: Tags,
    elements_seen: bool,
    /// Elements by number of type.
    counts: [usize; 256],
    pub faces: Faces,
    /// Of the faces, in version 2.
    pub labels: Vec<Label>,
    /// The surface entities of version 4; `None` until the file gives entities.
    pub surfaces: Option<HashMap<i64, v4::SurfaceEntity>>,
    /// Faces in groups of both signs, in version 4.
    pub opposed: usize,
    names: HashMap<(i64, i64), String>,
    pub report: ReadReport,
}

/// Reads a whole file.
pub(super) fn read(bytes: Input) -> Result<(Mesh, ReadReport), FormatError> {
    let mut reader = Reader::new();
    let outcome = reader.file(bytes);
    outcome.map_err(|error| {
        let (nom::Err::Error(Fault(fault)) | nom::Err::Failure(Fault(fault))) = error else {
            // Only nom's streaming parsers, which are not used, ask for more input.
            let cause = Cause::Truncated("the file".into());
            return FormatError { place: Place::Byte(bytes.len()), subject: None, cause };
        };
        let byte = bytes.len().saturating_sub(fault.rest);
        let place = match reader.report.encoding {
            Encoding::Ascii => {
                Place::Line(1 + bytes[..byte].iter().filter(|&&b| b == b'\n').count())
            }
            _ => Place::Byte(byte),
        };
        FormatError { place, subject: fault.subject, cause: fault.cause }
    })
}

impl Reader {
    fn new() -> Self {
        Self {
            vertices: Vec::new(),
            node_tags: Tags::default(),
            places: None,
            element_tags: Tags::default(),
            elements_seen: false,
            counts: [0; 256],
            faces: Faces::default(),
            labels: Vec::new(),
            surfaces: None,
            opposed: 0,
            names: HashMap::new(),
            report: ReadReport::default(),
        }
    }

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
        self.finish(input)
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
        self.report.version = version;
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
                self.report.encoding = Encoding::LittleEndian;
                let (after, mark) = take(4usize).parse(rest)?;
                let endianness = match mark {
                    [1, 0, 0, 0] => Endianness::Little,
                    [0, 0, 0, 1] => {
                        self.report.encoding = Encoding::BigEndian;
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
                    Layout::Two => v2::nodes(self, numbers, parametric, body)?,
                    Layout::Four => v4::nodes(self, numbers, body)?,
                };
                self.places = Some(std::mem::take(&mut self.node_tags).into_places());
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
                    Layout::Two => v2::elements(self, numbers, &places, body)?,
                    Layout::Four => v4::elements(self, numbers, &places, body)?,
                };
                self.places = Some(places);
                end_of_section(rest, "$EndElements")
            }
            (b"$Entities", Layout::Four) => {
                if self.elements_seen {
                    return fail(start, Cause::Order("$Entities"));
                }
                let (rest, ()) = v4::entities(self, numbers, body)?;
                end_of_section(rest, "$EndEntities")
            }
            (b"$PartitionedEntities", Layout::Four) => {
                if self.elements_seen {
                    return fail(start, Cause::Order("$PartitionedEntities"));
                }
                let (rest, ()) = v4::partitioned_entities(self, numbers, body)?;
                end_of_section(rest, "$EndPartitionedEntities")
            }
            _ => skip_section(start, name, body),
        }
    }

    /// `$PhysicalNames`, which is text in binary files too.
    fn physical_names<'a>(&mut self, input: Input<'a>) -> Parsed<'a, ()> {
        let (input, count) = Text.count(Text.begin(input), "physical names", (1, 1, 1))?;
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
            match self.names.get(&(dimension, tag)) {
                Some(known) if *known != name => {
                    return fail(input, Cause::SecondName { dimension, tag, name });
                }
                _ => self.names.insert((dimension, tag), name),
            };
            input = rest;
        }
        Ok((input, ()))
    }

    /// Enters a node.
    pub fn add_node<'a>(&mut self, place: Input<'a>, tag: u64) -> Parsed<'a, ()> {
        match self.node_tags.insert(tag) {
            Ok(()) => Ok((place, ())),
            Err(Refused::Repeated) => fail(place, Cause::RepeatedNode(tag)),
            Err(Refused::Full) => fail(place, Cause::TooMany("nodes")),
        }
    }

    /// Enters an element of the type with the given number.
    pub fn add_element<'a>(&mut self, place: Input<'a>, tag: u64, number: i64) -> Parsed<'a, ()> {
        self.count_elements(number, 1);
        match self.element_tags.insert(tag) {
            Ok(()) => Ok((place, ())),
            Err(Refused::Repeated) => fail(place, Cause::RepeatedElement(tag)),
            Err(Refused::Full) => fail(place, Cause::TooMany("elements")),
        }
    }

    /// Counts `more` elements of the type with the given number.
    pub fn count_elements(&mut self, number: i64, more: usize) {
        if let Some(count) = usize::try_from(number).ok().and_then(|i| self.counts.get_mut(i)) {
            *count += more;
        }
    }

    /// Makes the mesh, when the whole file has been read.
    fn finish(&mut self, end: Input) -> Result<(Mesh, ReadReport), nom::Err<Fault>> {
        let mut report = std::mem::take(&mut self.report);
        let mut faces = std::mem::take(&mut self.faces);
        let cause = match faces.len() {
            0 => Some(Cause::NoTriangles { found: self.describe_counts() }),
            // Each may be split in two.
            n if n > (u32::MAX / 2) as usize => Some(Cause::TooMany("surface elements")),
            _ => None,
        };
        if let Some(cause) = cause {
            self.report = report;
            return fail(end, cause).map(|(_, never): (Input, _)| never);
        }
        for (number, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            if let Some(kind) = ElementKind::of(number as i64) {
                report.elements.push((kind.name(), count));
                let is_flat =
                    kind.surface_corners().is_none_or(|corners| kind.nodes == Some(corners));
                if !is_flat && ElementKind::patch_order(number as i64).is_none() {
                    report.flattened += count;
                }
            }
        }
        if !self.labels.is_empty() {
            faces.merge(&self.labels, &mut report);
        }
        if self.opposed > 0 {
            report.notes.push(note_opposed(self.opposed));
        }
        let names = std::mem::take(&mut self.names);
        let names: HashMap<i64, String> = names
            .into_iter()
            .filter(|((dimension, _), name)| *dimension == 2 && !name.is_empty())
            .map(|((_, tag), name)| (tag, name))
            .collect();
        match faces.into_mesh(&self.vertices, &names, &mut report) {
            Ok(mut mesh) => {
                let mut torn = 0;
                mesh.with_patches(|mesh, patches| torn = curved::share_sides(mesh, patches));
                report.take_notes();
                report.notes.extend((torn > 0).then(|| note_torn(torn)));
                Ok((mesh, report))
            }
            Err(cause) => {
                self.report = report;
                fail(end, cause).map(|(_, never): (Input, _)| never)
            }
        }
    }

    fn describe_counts(&self) -> String {
        let kinds: Vec<String> = (0..)
            .zip(&self.counts)
            .filter(|(_, count)| **count > 0)
            .filter_map(|(number, count)| {
                ElementKind::of(number).map(|kind| format!("{count} of type {}", kind.name()))
            })
            .collect();
        match kinds.as_slice() {
            [] => "no elements".into(),
            kinds => format!("only elements of other types: {}", kinds.join(", ")),
        }
    }
}

/// Reads the nodes of an element, each with `read`, and looks them up; the first go to `corners`,
/// as many as it has room for.
pub(super) fn element_nodes<'a>(
    mut input: Input<'a>,
    places: &Places,
    tag: u64,
    nodes: usize,
    corners: &mut [u32],
    read: impl Fn(Input<'a>) -> Parsed<'a, u64>,
) -> Parsed<'a, ()> {
    for index in 0..nodes {
        let (rest, node) = read(input).about(Subject::Element(tag))?;
        let Some(place) = places.get(node) else {
            return fail(input, Cause::UnknownNode(node)).about(Subject::Element(tag));
        };
        if let Some(corner) = corners.get_mut(index) {
            *corner = place;
        }
        input = rest;
    }
    Ok((input, ()))
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

/// Sides that are not the same curve for all triangles there.
fn note_torn(sides: usize) -> String {
    counted(sides, "side is", "sides are")
        + " another curve for one triangle than for the next: the surface has gaps there"
}

impl ReadReport {
    /// Puts into words what people should know.
    fn take_notes(&mut self) {
        let notes = [
            (
                self.flattened,
                "element of higher order is read as flat: only its corners count",
                "elements of higher order are read as flat: only their corners count",
            ),
            (
                self.interfaces,
                "element is left out that only separates partitions of a volume, as it belongs to no surface",
                "elements are left out that only separate partitions of a volume, as they belong to no surface",
            ),
            (
                self.reversed,
                "element is turned over, since its physical groups take it with a negative sign",
                "elements are turned over, since their physical groups take them with a negative sign",
            ),
        ];
        if self.split_quadrangles > 0 {
            self.notes.push(note_split(self.split_quadrangles));
        }
        for (count, one, many) in notes {
            if count > 0 {
                self.notes.push(counted(count, one, many));
            }
        }
    }
}
