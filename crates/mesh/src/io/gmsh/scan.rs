//! Numbers of an MSH file, as text or as bytes, behind one interface.
//!
//! ASCII and binary files of one version hold the same numbers in the same order, so that each
//! section has one parser, generic over [`Numbers`]. Parsers are nom's: they take the rest of the
//! file and give back what they leave of it.

use super::error::{Cause, Subject};
use crate::wording::quoted;
use nom::bytes::complete::{take_till, take_while};
use nom::error::{ErrorKind, ParseError};
use nom::number::{Endianness, complete as number};
use nom::{IResult, Parser};

/// The rest of the file.
pub(super) type Input<'a> = &'a [u8];

/// The rest of the file and the value before it, or a fault.
pub(super) type Parsed<'a, T> = IResult<Input<'a>, T, Fault>;

/// A fault and its distance from the end of the file in bytes; boxed, since results pass through
/// the hottest loops.
#[derive(Debug)]
pub(super) struct Fault(pub Box<FaultParts>);

#[derive(Debug)]
pub(super) struct FaultParts {
    /// Bytes from the fault to the end of the file.
    pub rest: usize,
    pub subject: Option<Subject>,
    pub cause: Cause,
}

impl Fault {
    fn new(input: Input, cause: Cause) -> Self {
        Self(Box::new(FaultParts { rest: input.len(), subject: None, cause }))
    }
}

/// A fault at the start of `input`.
pub(super) fn fail<T>(input: Input, cause: Cause) -> Parsed<T> {
    Err(nom::Err::Error(Fault::new(input, cause)))
}

/// A fault at the start of `input`: something else than expected, or nothing at all.
pub(super) fn unexpected<'a, T>(input: Input<'a>, expected: &'static str) -> Parsed<'a, T> {
    if input.is_empty() {
        fail(input, Cause::Truncated(String::new()))
    } else {
        fail(input, Cause::Expected { expected, found: excerpt(input) })
    }
}

impl ParseError<Input<'_>> for Fault {
    fn from_error_kind(input: Input, kind: ErrorKind) -> Self {
        let cause = if input.is_empty() || kind == ErrorKind::Eof {
            // The section is filled in by whoever knows it.
            Cause::Truncated(String::new())
        } else {
            Cause::Expected { expected: "other data", found: excerpt(input) }
        };
        Self::new(input, cause)
    }

    fn append(_: Input, _: ErrorKind, other: Self) -> Self {
        other
    }
}

/// Says what a fault is about, unless that is known already.
pub(super) trait About {
    fn about(self, subject: Subject) -> Self;
}

impl<T> About for Parsed<'_, T> {
    fn about(self, subject: Subject) -> Self {
        self.map_err(|error| {
            error.map(|mut fault| {
                fault.0.subject.get_or_insert(subject);
                fault
            })
        })
    }
}

/// The first word of the input, shortened, for messages.
pub fn excerpt(input: Input) -> String {
    if matches!(input.first(), Some(b'\n' | b'\r')) {
        return "the end of the line".into();
    }
    quoted(input.split(u8::is_ascii_whitespace).next().unwrap_or_default())
}

/// White space, line ends included.
pub(super) fn skip_space(input: Input) -> Input {
    let end = input.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(input.len());
    &input[end..]
}

/// White space within a line.
fn skip_blanks(input: Input) -> Input {
    let end = input.iter().position(|b| !matches!(b, b' ' | b'\t' | b'\r')).unwrap_or(input.len());
    &input[end..]
}

/// The rest of the line, without its end, which is consumed.
pub(super) fn line(input: Input) -> Parsed<Input> {
    let (rest, content) = take_till(|b| b == b'\n').parse(input)?;
    Ok((rest.get(1..).unwrap_or(rest), content.trim_ascii()))
}

/// The numbers that a record has, by their types in the format: `int`, `size_t` and `double`.
#[derive(Clone, Copy)]
pub(super) struct Record {
    pub ints: usize,
    pub sizes: usize,
    pub reals: usize,
}

/// How numbers are written. `what` names the number in messages.
pub(super) trait Numbers: Copy + Sync {
    /// An `int` of the format.
    fn int<'a>(self, input: Input<'a>, what: &'static str) -> Parsed<'a, i64>;
    /// A `size_t` of the format.
    fn size<'a>(self, input: Input<'a>, what: &'static str) -> Parsed<'a, u64>;
    /// A `double` of the format.
    fn real<'a>(self, input: Input<'a>, what: &'static str) -> Parsed<'a, f64>;
    /// Whether these are words rather than bytes.
    fn is_text(self) -> bool;
    /// The bytes that numbers are, if they are.
    fn binary(self) -> Option<Binary> {
        None
    }
    /// Starts a record: text has each on a line of its own.
    fn begin(self, input: Input) -> Input;
    /// Ends a record.
    fn end(self, input: Input) -> Parsed<()>;
    /// The fewest bytes that a record of these numbers takes.
    fn least_bytes(self, of: Record) -> usize;

    /// A number of records that the rest of the file can hold, each of at least the given numbers.
    fn count<'a>(self, input: Input<'a>, what: &'static str, least: Record) -> Parsed<'a, usize> {
        let (rest, claimed) = self.size(input, what)?;
        self.check_room(input, rest, claimed, what, least)
    }

    /// The claimed number of records, if `rest` can hold them; a fault is put at `place`.
    fn check_room<'a>(
        self,
        place: Input<'a>,
        rest: Input<'a>,
        claimed: u64,
        what: &'static str,
        least: Record,
    ) -> Parsed<'a, usize> {
        let room = (rest.len() / self.least_bytes(least).max(1)) as u64;
        if claimed > room {
            return fail(place, Cause::Count { what, claimed, room });
        }
        Ok((rest, claimed as usize))
    }

    /// A node's position, finite.
    fn point(self, mut input: Input) -> Parsed<[f64; 3]> {
        let mut point = [0.0; 3];
        for coordinate in &mut point {
            let (rest, value) = self.real(input, "a coordinate")?;
            if !crate::surface::usable(value) {
                return fail(input, Cause::Coordinate(value));
            }
            (*coordinate, input) = (value, rest);
        }
        Ok((input, point))
    }

    /// Numbers that nobody needs.
    fn skip_reals(self, mut input: Input, count: usize) -> Parsed<()> {
        for _ in 0..count {
            (input, _) = self.real(input, "a number")?;
        }
        Ok((input, ()))
    }
}

/// Numbers as words, a record on a line.
#[derive(Clone, Copy)]
pub(super) struct Text;

impl Text {
    fn word<'a>(self, input: Input<'a>, what: &'static str) -> Parsed<'a, Input<'a>> {
        let input = skip_blanks(input);
        let (rest, word) = take_while(|b: u8| !b.is_ascii_whitespace()).parse(input)?;
        if word.is_empty() { unexpected(input, what) } else { Ok((rest, word)) }
    }

    /// An optional sign and digits. By hand: half of the time of reading a mesh goes here.
    fn integer(word: Input) -> Option<i128> {
        let (negative, digits) = match word {
            [b'-', digits @ ..] => (true, digits),
            [b'+', digits @ ..] => (false, digits),
            digits => (false, digits),
        };
        // 20 digits hold every 64-bit number.
        if digits.is_empty() || digits.len() > 20 {
            return None;
        }
        let mut low: u64 = 0;
        let (head, tail) = digits.split_at(digits.len().min(19));
        for digit in head {
            if !digit.is_ascii_digit() {
                return None;
            }
            low = low * 10 + u64::from(digit - b'0');
        }
        let mut value = i128::from(low);
        for digit in tail {
            if !digit.is_ascii_digit() {
                return None;
            }
            value = value * 10 + i128::from(digit - b'0');
        }
        Some(if negative { -value } else { value })
    }
}

/// The `int` at the start of text, if it is one.
pub fn int_of_text(text: Input) -> Option<i64> {
    Text.int(text, "a number").ok().map(|(_, value)| value)
}

/// The `size_t` at the start of text, if it is one.
pub fn size_of_text(text: Input) -> Option<u64> {
    Text.size(text, "a number").ok().map(|(_, value)| value)
}

impl Numbers for Text {
    fn int<'a>(self, input: Input<'a>, what: &'static str) -> Parsed<'a, i64> {
        let (rest, word) = self.word(input, what)?;
        match Self::integer(word).and_then(|value| i64::try_from(value).ok()) {
            Some(value) => Ok((rest, value)),
            None => unexpected(skip_blanks(input), what),
        }
    }

    fn size<'a>(self, input: Input<'a>, what: &'static str) -> Parsed<'a, u64> {
        let (rest, word) = self.word(input, what)?;
        match Self::integer(word).and_then(|value| u64::try_from(value).ok()) {
            Some(value) => Ok((rest, value)),
            None => unexpected(skip_blanks(input), what),
        }
    }

    fn real<'a>(self, input: Input<'a>, what: &'static str) -> Parsed<'a, f64> {
        let (rest, word) = self.word(input, what)?;
        match std::str::from_utf8(word).ok().and_then(|word| word.parse().ok()) {
            Some(value) => Ok((rest, value)),
            None => unexpected(skip_blanks(input), what),
        }
    }

    fn is_text(self) -> bool {
        true
    }

    fn begin(self, input: Input) -> Input {
        skip_space(input)
    }

    fn end(self, input: Input) -> Parsed<()> {
        let input = skip_blanks(input);
        match input {
            [] => Ok((input, ())),
            [b'\n', rest @ ..] => Ok((rest, ())),
            _ => fail(input, Cause::TrailingText(excerpt(input))),
        }
    }

    fn least_bytes(self, Record { ints, sizes, reals }: Record) -> usize {
        // A digit and a separator.
        2 * (ints + sizes + reals)
    }
}

/// Numbers as bytes.
#[derive(Clone, Copy)]
pub(super) struct Binary {
    pub endianness: Endianness,
    /// Whether a `size_t` has 8 bytes rather than 4.
    pub wide: bool,
}

impl Numbers for Binary {
    fn int<'a>(self, input: Input<'a>, _: &'static str) -> Parsed<'a, i64> {
        number::i32(self.endianness).map(i64::from).parse(input)
    }

    fn size<'a>(self, input: Input<'a>, _: &'static str) -> Parsed<'a, u64> {
        if self.wide {
            number::u64(self.endianness).parse(input)
        } else {
            number::u32(self.endianness).map(u64::from).parse(input)
        }
    }

    fn real<'a>(self, input: Input<'a>, _: &'static str) -> Parsed<'a, f64> {
        number::f64(self.endianness).parse(input)
    }

    fn is_text(self) -> bool {
        false
    }

    fn binary(self) -> Option<Binary> {
        Some(self)
    }

    fn begin(self, input: Input) -> Input {
        input
    }

    fn end(self, input: Input) -> Parsed<()> {
        Ok((input, ()))
    }

    fn least_bytes(self, Record { ints, sizes, reals }: Record) -> usize {
        4 * ints + if self.wide { 8 } else { 4 } * sizes + 8 * reals
    }
}

impl Binary {
    /// Whether a `size_t` is eight bytes, the lowest first, as most files have it.
    pub fn is_usual(self) -> bool {
        self.wide && self.endianness == Endianness::Little
    }
}

/// The numbers of a record of eight bytes each, the lowest first.
pub(super) fn words<const N: usize>(record: &[u8]) -> [[u8; 8]; N] {
    let (words, _) = record.as_chunks::<8>();
    std::array::from_fn(|k| words.get(k).copied().unwrap_or_default())
}
