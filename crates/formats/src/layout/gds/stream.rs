//! The records of a GDSII file, as cells and what they are made of.

use std::collections::HashMap;

use mesh::files::{Cause, FormatError};
use mesh::gmsh::Place;
use mesh::prisms::Point;

/// Declares types of records, with a table of what they are called.
macro_rules! records {
    ($($name:ident = $code:literal;)+) => {
        $(pub const $name: u8 = $code;)+
        const RECORDS: &[(u8, &str)] = &[$(($name, stringify!($name))),+];
    };
}

records! {
    HEADER = 0x00;
    BGNLIB = 0x01;
    LIBNAME = 0x02;
    UNITS = 0x03;
    ENDLIB = 0x04;
    BGNSTR = 0x05;
    STRNAME = 0x06;
    ENDSTR = 0x07;
    BOUNDARY = 0x08;
    PATH = 0x09;
    SREF = 0x0A;
    AREF = 0x0B;
    TEXT = 0x0C;
    LAYER = 0x0D;
    DATATYPE = 0x0E;
    WIDTH = 0x0F;
    XY = 0x10;
    ENDEL = 0x11;
    SNAME = 0x12;
    COLROW = 0x13;
    NODE = 0x15;
    TEXTTYPE = 0x16;
    STRING = 0x19;
    STRANS = 0x1A;
    MAG = 0x1B;
    ANGLE = 0x1C;
    PATHTYPE = 0x21;
    BOX = 0x2D;
}

const BOXTYPE: u8 = 0x2E;
const BGNEXTN: u8 = 0x30;
const ENDEXTN: u8 = 0x31;

/// Bits of STRANS.
const MIRRORED: u16 = 0x8000;
const ABSOLUTE: u16 = 0x0006;

/// A layer and its datatype (texttype, boxtype).
pub type Layer = (i16, i16);

/// What the ends of a path are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ends {
    Round,
    /// The path goes on by these lengths.
    Square([f64; 2]),
}

/// A line of some width; lengths in database units.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub points: Vec<Point>,
    pub width: f64,
    /// Whether magnifications of cells leave the width as it is.
    pub is_absolute: bool,
    pub ends: Ends,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Polygon(Vec<Point>),
    Path(Path),
}

/// How a cell is placed: mirrored at the x axis, then turned and magnified, then moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    pub cell: String,
    /// The byte that it begins at.
    pub at: usize,
    pub is_mirrored: bool,
    pub magnification: f64,
    /// In degrees, anticlockwise.
    pub angle: f64,
    pub origin: Point,
    /// Columns and rows, with the step from each to the next.
    pub array: [(u32, Point); 2],
}

#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    pub layer: Layer,
    pub text: String,
    pub position: Point,
    pub at: usize,
}

/// A structure of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    pub name: String,
    /// The byte that it begins at.
    pub at: usize,
    pub shapes: Vec<(Layer, Shape)>,
    pub references: Vec<Reference>,
    pub labels: Vec<Label>,
}

/// The content of a file; coordinates in database units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Library {
    pub version: u16,
    /// A database unit in metres.
    pub unit: f64,
    pub cells: Vec<Cell>,
}

impl Library {
    pub fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut stream = Stream { bytes, at: 0 };
        let mut library = Self::default();
        let first = stream.next("the record HEADER")?;
        if first.is != HEADER {
            return Err(no_gdsii(first.at));
        }
        library.version = first.integers()?.first().map_or(0, |version| *version as u16);
        let mut known: HashMap<String, usize> = HashMap::new();
        loop {
            let record = stream.next("the record ENDLIB")?;
            match record.is {
                UNITS => {
                    let units = record.reals()?;
                    let &[_, unit] = units.as_slice() else {
                        return Err(record.fault("UNITS has two numbers"));
                    };
                    if !(1e-15..=1.0).contains(&unit) {
                        let message = format!("the database unit is {unit:e} m, which cannot be");
                        return Err(record.fault(message));
                    }
                    library.unit = unit;
                }
                BGNSTR => {
                    let cell = cell(&mut stream, record.at)?;
                    if let Some(former) = known.insert(cell.name.clone(), cell.at) {
                        let message = format!(
                            "there is a cell \"{}\" already, at byte {former}: cells must have different names",
                            cell.name
                        );
                        return Err(record.fault(message));
                    }
                    library.cells.push(cell);
                }
                ENDLIB => break,
                _ => {}
            }
        }
        if library.unit == 0.0 {
            return Err(fault(0, "the file has no UNITS, so its lengths are not known"));
        }
        Ok(library)
    }
}

/// The error at a byte of the file.
pub(super) fn fault(at: usize, message: impl Into<String>) -> FormatError {
    FormatError { place: Place::Byte(at), cause: Cause::Other(message.into()) }
}

/// The error of a file of another format.
fn no_gdsii(at: usize) -> FormatError {
    fault(at, "this is no GDSII file: it does not begin with HEADER")
}

/// One record.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    pub at: usize,
    pub is: u8,
    pub data: &'a [u8],
}

impl<'a> Record<'a> {
    fn name(&self) -> &'static str {
        RECORDS.iter().find(|(is, _)| *is == self.is).map_or("the record", |(_, name)| name)
    }

    fn fault(&self, message: impl Into<String>) -> FormatError {
        fault(self.at, message)
    }

    fn chunks<const N: usize>(&self) -> Result<impl Iterator<Item = [u8; N]>, FormatError> {
        let (chunks, rest) = self.data.as_chunks::<N>();
        if chunks.is_empty() || !rest.is_empty() {
            let name = self.name();
            let message = format!("{name} has {} bytes of data, which cannot be", self.data.len());
            return Err(self.fault(message));
        }
        Ok(chunks.iter().copied())
    }

    fn integers(&self) -> Result<Vec<i16>, FormatError> {
        Ok(self.chunks()?.map(i16::from_be_bytes).collect())
    }

    fn integer(&self) -> Result<i16, FormatError> {
        Ok(self.integers()?[0])
    }

    fn length(&self) -> Result<f64, FormatError> {
        let all: Vec<i32> = self.chunks()?.map(i32::from_be_bytes).collect();
        Ok(f64::from(all[0]))
    }

    fn points(&self) -> Result<Vec<Point>, FormatError> {
        let number = |x: &[u8]| f64::from(i32::from_be_bytes([x[0], x[1], x[2], x[3]]));
        Ok(self.chunks::<8>()?.map(|xy| [number(&xy[..4]), number(&xy[4..])]).collect())
    }

    /// Numbers of a sign, seven bits of an exponent of 16 that is 64 too large, and a fraction.
    fn reals(&self) -> Result<Vec<f64>, FormatError> {
        let real = |bytes: [u8; 8]| {
            let bits = u64::from_be_bytes(bytes);
            let fraction = (bits & 0x00FF_FFFF_FFFF_FFFF) as f64 / 2f64.powi(56);
            let exponent = ((bits >> 56) & 0x7F) as i32 - 64;
            let size = fraction * 16f64.powi(exponent);
            if bits >> 63 == 1 { -size } else { size }
        };
        Ok(self.chunks()?.map(real).collect())
    }

    pub fn real(&self) -> Result<f64, FormatError> {
        Ok(self.reals()?[0])
    }

    fn text(&self) -> String {
        let text = String::from_utf8_lossy(self.data);
        text.trim_end_matches('\0').trim().to_owned()
    }
}

/// The records that are left.
struct Stream<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Stream<'a> {
    fn next(&mut self, expected: &str) -> Result<Record<'a>, FormatError> {
        let (at, rest) = (self.at, &self.bytes[self.at.min(self.bytes.len())..]);
        let truncated = |what: &str| {
            let cause = Cause::Truncated(what.to_owned());
            FormatError { place: Place::Byte(at), cause }
        };
        let Some((&[high, low, is, _], _)) = rest.split_first_chunk::<4>() else {
            return Err(truncated(expected));
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length < 4 {
            if at == 0 {
                return Err(no_gdsii(at));
            }
            let message = format!(
                "a record says that it is {length} bytes long, but the least is 4: the file is damaged"
            );
            return Err(fault(at, message));
        }
        let Some(data) = rest.get(4..length) else {
            let what = format!("{} more bytes of a record", length - rest.len());
            return Err(if at == 0 { no_gdsii(at) } else { truncated(&what) });
        };
        self.at += length;
        Ok(Record { at, is, data })
    }
}

fn cell(stream: &mut Stream<'_>, at: usize) -> Result<Cell, FormatError> {
    let mut cell = Cell { at, ..Cell::default() };
    loop {
        let record = stream.next("the record ENDSTR")?;
        match record.is {
            STRNAME => cell.name = record.text(),
            BOUNDARY | PATH | SREF | AREF | TEXT | BOX | NODE => {
                Element::read(stream, record)?.add_to(&mut cell, record)?;
            }
            ENDSTR if cell.name.is_empty() => return Err(fault(at, "the cell has no name")),
            ENDSTR => return Ok(cell),
            BGNSTR | ENDLIB => return Err(record.fault("the record ENDSTR is missing before it")),
            _ => {}
        }
    }
}

/// The records of one element.
#[derive(Default)]
struct Element {
    layer: Option<i16>,
    /// Datatype, texttype or boxtype.
    kind: i16,
    points: Vec<Point>,
    width: f64,
    path_type: i16,
    extensions: [f64; 2],
    name: String,
    text: String,
    strans: u16,
    magnification: Option<f64>,
    angle: Option<f64>,
    columns_rows: Option<[i16; 2]>,
}

impl Element {
    fn read(stream: &mut Stream<'_>, head: Record<'_>) -> Result<Self, FormatError> {
        let mut element = Self::default();
        loop {
            let record = stream.next("the record ENDEL")?;
            match record.is {
                LAYER => element.layer = Some(record.integer()?),
                DATATYPE | TEXTTYPE | BOXTYPE => element.kind = record.integer()?,
                XY => element.points.extend(record.points()?),
                WIDTH => element.width = record.length()?,
                PATHTYPE => element.path_type = record.integer()?,
                BGNEXTN => element.extensions[0] = record.length()?,
                ENDEXTN => element.extensions[1] = record.length()?,
                SNAME => element.name = record.text(),
                STRING => element.text = record.text(),
                STRANS => element.strans = record.integer()? as u16,
                MAG => element.magnification = Some(record.real()?),
                ANGLE => element.angle = Some(record.real()?),
                COLROW => {
                    let &[columns, rows] = record.integers()?.as_slice() else {
                        return Err(record.fault("COLROW has two numbers"));
                    };
                    element.columns_rows = Some([columns, rows]);
                }
                ENDEL => return Ok(element),
                BGNSTR | ENDSTR | ENDLIB | BOUNDARY | PATH | SREF | AREF | TEXT | BOX | NODE => {
                    let message = format!(
                        "the record ENDEL is missing before it, of the {} at byte {}",
                        head.name(),
                        head.at
                    );
                    return Err(record.fault(message));
                }
                _ => {}
            }
        }
    }

    fn add_to(self, cell: &mut Cell, head: Record<'_>) -> Result<(), FormatError> {
        let missing = |what: &str| head.fault(format!("this {} has no {what}", head.name()));
        if head.is == NODE {
            return Ok(());
        }
        let Some(&origin) = self.points.first() else { return Err(missing("XY")) };
        if matches!(head.is, SREF | AREF) {
            let reference = self.reference(head, origin)?;
            cell.references.push(reference);
            return Ok(());
        }
        let layer = (self.layer.ok_or_else(|| missing("LAYER"))?, self.kind);
        match head.is {
            TEXT => {
                let label = Label { layer, text: self.text, position: origin, at: head.at };
                cell.labels.push(label);
            }
            PATH => {
                let half = 0.5 * self.width.abs();
                let ends = match self.path_type {
                    0 => Ends::Square([0.0; 2]),
                    1 => Ends::Round,
                    2 => Ends::Square([half; 2]),
                    4 => Ends::Square(self.extensions),
                    other => {
                        let message = format!(
                            "the PATH has PATHTYPE {other}; those that there are are 0, 1, 2 and 4"
                        );
                        return Err(head.fault(message));
                    }
                };
                let path = Path {
                    points: self.points,
                    width: self.width.abs(),
                    is_absolute: self.width < 0.0,
                    ends,
                };
                cell.shapes.push((layer, Shape::Path(path)));
            }
            _ => {
                let mut ring = self.points;
                ring.dedup();
                if ring.len() > 1 && ring.first() == ring.last() {
                    ring.pop();
                }
                if ring.len() > 2 {
                    cell.shapes.push((layer, Shape::Polygon(ring)));
                }
            }
        }
        Ok(())
    }

    fn reference(self, head: Record<'_>, origin: Point) -> Result<Reference, FormatError> {
        if self.name.is_empty() {
            return Err(head.fault(format!("this {} has no SNAME", head.name())));
        }
        if self.strans & ABSOLUTE != 0 && (self.magnification.is_some() || self.angle.is_some()) {
            let message = "magnifications and angles that are absolute (bits 13 and 14 of STRANS) are not read: \
                           save the layout with another program";
            return Err(head.fault(message));
        }
        let magnification = self.magnification.unwrap_or(1.0);
        let angle = self.angle.unwrap_or(0.0);
        if !(magnification > 0.0 && magnification < 1e6 && angle.abs() < 1e6) {
            let message =
                format!("the magnification {magnification} or the angle {angle} cannot be");
            return Err(head.fault(message));
        }
        let array = match (head.is, self.columns_rows, self.points.as_slice()) {
            (SREF, ..) => [(1, [0.0; 2]); 2],
            (_, Some(counts), [_, ends @ ..])
                if ends.len() == 2 && counts.iter().all(|n| *n > 0) =>
            {
                [0, 1].map(|k| {
                    let count = f64::from(counts[k]);
                    let step = [0, 1].map(|axis| (ends[k][axis] - origin[axis]) / count);
                    (counts[k] as u32, step)
                })
            }
            _ => {
                let message =
                    "this AREF needs COLROW with two numbers greater than 0, and three points";
                return Err(head.fault(message));
            }
        };
        Ok(Reference {
            cell: self.name,
            at: head.at,
            is_mirrored: self.strans & MIRRORED != 0,
            magnification,
            angle,
            origin,
            array,
        })
    }
}
