//! NumPy's .npy files: arrays of 32- or 64-bit floats in one to three dimensions, either byte order, either index order.
//!
//! Format: numpy.lib.format, versions 1.0 to 3.0. The header is a Python dict literal of three known keys, so its reader
//! is small and part of this module.

use std::io::{self, Write};
use std::path::Path;

use crate::terminal::exit::{Exit, Failure};

const MAGIC: &[u8] = b"\x93NUMPY";

/// numpy aligns data to this many bytes.
const ALIGNMENT: usize = 64;

/// An array in C order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<f64>,
}

/// Reads a file of floats in one to three dimensions.
pub(crate) fn read(path: &Path) -> Result<Array, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::io("read", path, &error))?;
    parse(&bytes).map_err(|what| {
        Failure::with_help(
            Exit::BadInput,
            format!("{}: {what}", path.display()),
            "write it with numpy.save, as float64 or float32",
        )
    })
}

/// Writes float64 values of `shape` in C order, as version 1.0.
pub(crate) fn write(out: &mut impl Write, shape: &[usize], data: &[f64]) -> io::Result<()> {
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

fn parse(bytes: &[u8]) -> Result<Array, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("this is not a .npy file")?;
    let truncated = || "the file ends inside its header".to_owned();
    let (&major, rest) = rest.split_first().ok_or_else(truncated)?;
    let (_, rest) = rest.split_first().ok_or_else(truncated)?;
    let (length, rest) = match major {
        1 => rest.split_first_chunk().map(|(n, rest)| (usize::from(u16::from_le_bytes(*n)), rest)),
        2 | 3 => rest.split_first_chunk().map(|(n, rest)| (u32::from_le_bytes(*n) as usize, rest)),
        _ => return Err(format!("version {major} of the .npy format is not read")),
    }
    .ok_or_else(truncated)?;
    let (header, data) = rest.split_at_checked(length).ok_or_else(truncated)?;
    let header = std::str::from_utf8(header).map_err(|_| "the header is not text")?;
    let Header { element, fortran_order, shape } = Header::parse(header)?;
    if shape.is_empty() || shape.len() > 3 {
        return Err(format!("the array has {} dimensions, expected 1 to 3", shape.len()));
    }
    let expected = shape.iter().try_fold(element.size(), |size, &n| size.checked_mul(n));
    if expected != Some(data.len()) {
        return Err(format!(
            "the header announces shape {shape:?}, but {} bytes of data follow",
            data.len()
        ));
    }
    let mut values = element.values(data);
    if fortran_order {
        values = from_fortran(&shape, &values);
    }
    Ok(Array { shape, data: values })
}

/// The same array with its last index fastest in place of its first.
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

/// How a number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    F32 { big_endian: bool },
    F64 { big_endian: bool },
}

impl Element {
    fn from_descr(descr: &str) -> Result<Self, String> {
        match descr {
            "<f4" => Ok(Self::F32 { big_endian: false }),
            ">f4" => Ok(Self::F32 { big_endian: true }),
            "<f8" => Ok(Self::F64 { big_endian: false }),
            ">f8" => Ok(Self::F64 { big_endian: true }),
            other => {
                Err(format!("the elements are of type '{other}', expected float64 or float32"))
            }
        }
    }

    fn size(self) -> usize {
        match self {
            Self::F32 { .. } => 4,
            Self::F64 { .. } => 8,
        }
    }

    fn values(self, data: &[u8]) -> Vec<f64> {
        match self {
            Self::F32 { big_endian: false } => {
                data.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b).into()).collect()
            }
            Self::F32 { big_endian: true } => {
                data.as_chunks().0.iter().map(|b| f32::from_be_bytes(*b).into()).collect()
            }
            Self::F64 { big_endian: false } => {
                data.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
            }
            Self::F64 { big_endian: true } => {
                data.as_chunks().0.iter().map(|b| f64::from_be_bytes(*b)).collect()
            }
        }
    }
}

/// The dict in the header.
struct Header {
    element: Element,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Header {
    fn parse(text: &str) -> Result<Self, String> {
        let mut rest = text.trim().strip_prefix('{').ok_or("the header is not a dict")?;
        let (mut element, mut fortran_order, mut shape) = (None, None, None);
        loop {
            rest = rest.trim_start().trim_start_matches(',').trim_start();
            if rest.starts_with('}') {
                break;
            }
            let key = quoted(&mut rest)?;
            rest =
                rest.trim_start().strip_prefix(':').ok_or("the header lacks a colon")?.trim_start();
            match key {
                "descr" if rest.starts_with('[') => {
                    return Err("the elements are records, expected float64 or float32".to_owned());
                }
                "descr" => element = Some(Element::from_descr(quoted(&mut rest)?)?),
                "fortran_order" => fortran_order = Some(boolean(&mut rest)?),
                "shape" => shape = Some(tuple(&mut rest)?),
                other => return Err(format!("the header has an unknown key '{other}'")),
            }
        }
        match (element, fortran_order, shape) {
            (Some(element), Some(fortran_order), Some(shape)) => {
                Ok(Self { element, fortran_order, shape })
            }
            _ => Err("the header lacks descr, fortran_order or shape".to_owned()),
        }
    }
}

fn quoted<'a>(rest: &mut &'a str) -> Result<&'a str, String> {
    let quote = rest.chars().next().filter(|c| *c == '\'' || *c == '"');
    let inner = quote.and_then(|quote| rest[1..].split_once(quote));
    let (text, after) = inner.ok_or("the header lacks a quoted word")?;
    *rest = after;
    Ok(text)
}

fn boolean(rest: &mut &str) -> Result<bool, String> {
    for (word, value) in [("True", true), ("False", false)] {
        if let Some(after) = rest.strip_prefix(word) {
            *rest = after;
            return Ok(value);
        }
    }
    Err("fortran_order is neither True nor False".to_owned())
}

fn tuple(rest: &mut &str) -> Result<Vec<usize>, String> {
    let inner = rest.strip_prefix('(').and_then(|inner| inner.split_once(')'));
    let (items, after) = inner.ok_or("the shape is not a tuple")?;
    *rest = after;
    let numbers = items.split(',').map(str::trim).filter(|item| !item.is_empty());
    numbers
        .map(|item| item.trim_end_matches('L').parse().map_err(|_| format!("'{item}' is no size")))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = (header.len() as u16).to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), data].concat()
    }

    #[test]
    fn what_is_written_reads_back() {
        for shape in [vec![4], vec![2, 2], vec![0, 3], vec![2, 3, 4]] {
            let data: Vec<f64> = (0..shape.iter().product()).map(|i| i as f64 / 3.0).collect();
            let mut bytes = Vec::new();
            write(&mut bytes, &shape, &data).unwrap();
            assert_eq!((bytes.len() - 8 * data.len()) % ALIGNMENT, 0);
            assert_eq!(parse(&bytes), Ok(Array { shape, data }));
        }
    }

    #[test]
    fn fortran_order_and_big_endian_singles_are_turned() {
        let data: Vec<u8> =
            [1f32, 4.0, 2.0, 5.0, 3.0, 6.0].iter().flat_map(|x| x.to_be_bytes()).collect();
        let header = "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }\n";
        let array = parse(&file(header, &data)).unwrap();
        assert_eq!(array, Array { shape: vec![2, 3], data: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0] });
    }

    #[test]
    fn fortran_order_is_turned_in_three_dimensions() {
        // Element (i, j, k) of shape (2, 3, 2) is 100 i + 10 j + k; the first index runs fastest in the file.
        let of = |i: usize, j: usize, k: usize| (100 * i + 10 * j + k) as f64;
        let data: Vec<u8> =
            (0..12).flat_map(|at| of(at % 2, at / 2 % 3, at / 6).to_le_bytes()).collect();
        let header = "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3, 2), }\n";
        let expected: Vec<f64> = (0..12).map(|at| of(at / 6, at / 2 % 3, at % 2)).collect();
        assert_eq!(parse(&file(header, &data)).unwrap().data, expected);
    }

    #[test]
    fn version_2_has_a_longer_length() {
        let header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}";
        let length = (header.len() as u32).to_le_bytes();
        let bytes = [MAGIC, &[2, 0], &length, header, &1.5f64.to_le_bytes()].concat();
        assert_eq!(parse(&bytes).unwrap().data, [1.5]);
    }

    #[test]
    fn lies_are_found_without_allocating_for_them() {
        let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 3)}";
        for (bytes, expected) in [
            (file(huge, &[]), "announces shape"),
            (file("{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}", &[0; 8]), "'<i8'"),
            (file("{'descr': '<f8', 'shape': (1,)}", &[0; 8]), "lacks descr"),
            (file("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", &[0; 7]), "7 bytes"),
            (file("{'descr': [('x', '<f8')], }", &[]), "records"),
            (
                file("{'descr': '<f8', 'fortran_order': False, 'shape': ()}", &[0; 8]),
                "0 dimensions",
            ),
            (MAGIC.to_vec(), "ends inside"),
            (b"1 2 3".to_vec(), "not a .npy"),
            (file("{", &[]), "quoted word"),
        ] {
            let error = parse(&bytes).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    proptest! {
        /// Any bytes after a plausible beginning, and any dict of plausible words.
        #[test]
        fn nothing_makes_the_reader_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..64),
            header in "[{]('(descr|shape|fortran_order)'|: |'<f8'|True|[(]|[)]|[0-9]{1,20}|, |[}]){0,12}",
        ) {
            let _ = parse(&[MAGIC, &bytes].concat());
            let _ = parse(&file(&header, &bytes));
        }
    }
}
