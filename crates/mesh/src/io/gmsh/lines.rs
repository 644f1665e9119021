//! Many records of text, one a line, read on all cores.

use super::scan::{Input, Parsed};
use parallel::prelude::*;

/// Bytes of a piece of text that one thread reads at a time.
const PIECE: usize = 1 << 16;

/// Lines that follow each other.
struct Piece<'a> {
    text: Input<'a>,
    /// The number of lines before.
    first: usize,
    lines: usize,
}

/// Reads `count` lines, each by `record` from its start, given its number from 0 on.
///
/// The values, and what follows. `None` if a record fails or is not a line: what is wrong with it,
/// if anything is, is found by reading one after the other.
pub(super) fn read<'a, T: Copy + Default + Send>(
    input: Input<'a>,
    count: usize,
    record: impl for<'b> Fn(Input<'b>, usize) -> Parsed<'b, T> + Sync,
) -> Option<(Input<'a>, Vec<T>)> {
    let (rest, pieces) = pieces(input, count)?;
    let mut values = vec![T::default(); count];
    let mut left = values.as_mut_slice();
    let mut tasks = Vec::with_capacity(pieces.len());
    for piece in &pieces {
        let (own, others) = left.split_at_mut(piece.lines);
        tasks.push((piece, own));
        left = others;
    }
    let are_read = tasks.into_par_iter().map(|(piece, own)| {
        let mut text = piece.text;
        for (number, value) in (piece.first..).zip(own) {
            let Ok((after, read)) = record(text, number) else { return false };
            (text, *value) = (after, read);
        }
        text.is_empty()
    });
    are_read.all(|is_read| is_read).then_some((rest, values))
}

/// The next `count` lines in pieces, and what follows.
fn pieces(mut input: Input, count: usize) -> Option<(Input, Vec<Piece>)> {
    let (mut pieces, mut first) = (Vec::new(), 0);
    while first < count {
        let end = match input.get(PIECE..) {
            Some(further) => PIECE + further.iter().position(|&b| b == b'\n')? + 1,
            None => input.len(),
        };
        let mut text = &input[..end];
        let mut lines = ends(text);
        if lines > count - first {
            lines = count - first;
            let mut places = text.iter().enumerate().filter(|&(_, &b)| b == b'\n');
            text = &text[..=places.nth(lines.checked_sub(1)?)?.0];
        }
        if lines == 0 {
            return None;
        }
        pieces.push(Piece { text, first, lines });
        (input, first) = (&input[text.len()..], first + lines);
    }
    Some((input, pieces))
}

/// Number of line ends, counted in bytes at first: many at once.
fn ends(text: Input) -> usize {
    let of_some = |some: &[u8]| some.iter().map(|&b| u8::from(b == b'\n')).sum::<u8>();
    text.chunks(usize::from(u8::MAX)).map(|some| usize::from(of_some(some))).sum()
}
