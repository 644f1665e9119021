//! NumPy's .npy files: arrays of 32- or 64-bit floats in one to three dimensions, either byte
//! order, either index order.
//!
//! Format: numpy.lib.format, versions 1.0 to 3.0. Crates that read it (npyz, ndarray-npy) parse the
//! header with a grammar for all of Python's literals, which compiles assembly with a C compiler
//! and brings over a dozen crates for the three keys that are read here.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::terminal::exit::{Exit, Failure};

pub const MAGIC: &[u8] = b"\x93NUMPY";

/// numpy aligns data to this many bytes.
pub const ALIGNMENT: usize = 64;

/// Bytes that are read at a time, a multiple of every number's size.
const BLOCK: usize = 1 << 16;

/// An array in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub shape: Vec<usize>,
    pub data: Vec<f64>,
}

/// An error in the content of a file.
fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// Reads a file of floats in one to three dimensions.
pub(crate) fn read(path: &Path) -> Result<Array, Failure> {
    let array = File::open(path).and_then(|file| {
        let length = file.metadata()?.len();
        parse(file, length)
    });
    array.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => Failure::with_help(
            Exit::BadInput,
            format!("{}: {error}", path.display()),
            "write it with numpy.save, as float64 or float32",
        ),
        _ => Failure::io("read", path, &error),
    })
}

/// Writes float64 values of `shape` in C order, as version 1.0.
pub fn write(out: &mut impl Write, shape: &[usize], data: &[f64]) -> io::Result<()> {
    let sizes: Vec<_> = shape.iter().map(usize::to_string).collect();
    // A tuple of one needs its comma.
    let comma = if shape.len() == 1 { "," } else { "" };
    let mut header = format!(
        "{{'descr': '<f8', 'fortran_order': False, 'shape': ({}{comma}), }}",
        sizes.join(", ")
    );
    let prefix = MAGIC.len() + 4;
    let unpadded = prefix + header.len() + 1;
    header.push_str(&" ".repeat(unpadded.next_multiple_of(ALIGNMENT) - unpadded));
    header.push('\n');
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    // Three numbers and fixed words: far below 65536.
    out.write_all(&(header.len() as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    for value in data {
        out.write_all(&value.to_le_bytes())?;
    }
    Ok(())
}

/// Reads an array from a file of `length` bytes, which bounds the memory that is reserved.
pub fn parse(mut file: impl Read, length: u64) -> io::Result<Array> {
    let header = header(&mut file)?;
    let descr = value(&header, "descr")?;
    if descr.starts_with('[') {
        return Err(invalid("the elements are records, expected float64 or float32"));
    }
    let descr = descr.split(['\'', '"']).nth(1).unwrap_or(descr);
    let (size, number) = element(descr).ok_or_else(|| {
        invalid(format!("the elements are of type '{descr}', expected float64 or float32"))
    })?;
    let shape = shape(value(&header, "shape")?)?;
    if shape.is_empty() || shape.len() > 3 {
        return Err(invalid(format!("the array has {} dimensions, expected 1 to 3", shape.len())));
    }
    let is_fortran = match value(&header, "fortran_order")? {
        order if order.starts_with("True") => true,
        order if order.starts_with("False") => false,
        _ => return Err(invalid("fortran_order is neither True nor False")),
    };
    let expected = shape.iter().try_fold(size, |size, &n| size.checked_mul(n));
    let mut data = Vec::with_capacity(expected.unwrap_or(0).min(length as usize) / size);
    let mut block = Vec::with_capacity(BLOCK);
    let mut found = 0;
    while file.by_ref().take(BLOCK as u64).read_to_end(&mut block)? > 0 {
        found += block.len();
        if expected.is_some_and(|expected| found <= expected) {
            data.extend(block.chunks_exact(size).map(number));
        }
        block.clear();
    }
    if expected != Some(found) {
        return Err(invalid(format!(
            "the header announces shape {shape:?}, but {found} bytes of data follow"
        )));
    }
    let data = if is_fortran { from_fortran(&shape, &data) } else { data };
    Ok(Array { shape, data })
}

/// The dict before the data, as text.
fn header(file: &mut impl Read) -> io::Result<String> {
    let mut next = |count: u32| -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match file.take(count.into()).read_to_end(&mut bytes)? {
            all if all == count as usize => Ok(bytes),
            _ => Err(invalid("the file ends inside its header")),
        }
    };
    if !next(MAGIC.len() as u32).is_ok_and(|magic| magic == MAGIC) {
        return Err(invalid("this is not a .npy file"));
    }
    let width = match next(2)?[0] {
        1 => 2,
        2 | 3 => 4,
        major => return Err(invalid(format!("version {major} of the .npy format is not read"))),
    };
    let length = next(width)?.iter().rev().fold(0, |length, &byte| length << 8 | u32::from(byte));
    String::from_utf8(next(length)?).map_err(|_| invalid("the header is not text"))
}

/// The text after a key of the header's dict. A plain search finds keys, since no value contains a
/// key's name.
fn value<'a>(header: &'a str, key: &str) -> io::Result<&'a str> {
    let quoted = ['\'', '"'].map(|quote| format!("{quote}{key}{quote}"));
    let after = quoted.iter().find_map(|key| header.split_once(key));
    let value = after.and_then(|(_, after)| after.trim_start().strip_prefix(':'));
    value.map(str::trim_start).ok_or_else(|| invalid(format!("the header lacks {key}")))
}

/// The sizes in a tuple.
fn shape(text: &str) -> io::Result<Vec<usize>> {
    let inner = text.strip_prefix('(').and_then(|inner| inner.split_once(')'));
    let (items, _) = inner.ok_or_else(|| invalid("the shape is not a tuple"))?;
    let numbers = items.split(',').map(str::trim).filter(|item| !item.is_empty());
    let size = |item: &str| item.trim_end_matches('L').parse();
    numbers.map(|item| size(item).map_err(|_| invalid(format!("'{item}' is no size")))).collect()
}

/// The value of a number's bytes.
type ToNumber = fn(&[u8]) -> f64;

/// How many bytes a number of this type has, and their value.
fn element(descr: &str) -> Option<(usize, ToNumber)> {
    fn of<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.first_chunk().copied().unwrap_or([0; N])
    }
    Some(match descr {
        "<f4" => (4, |bytes| f32::from_le_bytes(of(bytes)).into()),
        ">f4" => (4, |bytes| f32::from_be_bytes(of(bytes)).into()),
        "<f8" => (8, |bytes| f64::from_le_bytes(of(bytes))),
        ">f8" => (8, |bytes| f64::from_be_bytes(of(bytes))),
        _ => return None,
    })
}

/// The same array with its last index fastest instead of its first.
fn from_fortran(shape: &[usize], values: &[f64]) -> Vec<f64> {
    let mut turned = Vec::with_capacity(values.len());
    let mut index = vec![0; shape.len()];
    for _ in values {
        let place = index.iter().zip(shape).rev().fold(0, |place, (i, n)| place * n + i);
        turned.push(values[place]);
        for (i, n) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < *n {
                break;
            }
            *i = 0;
        }
    }
    turned
}
