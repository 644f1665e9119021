//! Boxes of the octree as numbers that all ranks understand.

use std::ops::Range;

use crate::tree::morton::{self, MAX_DEPTH};

/// A box's level and place as one number: a leading 1, then three bits for each level.
pub(super) type Code = u64;

pub(super) fn code(level: u8, place: [u32; 3]) -> Code {
    1 << (3 * level) | morton::of_place(place)
}

/// Level and place of a box.
pub(super) fn place(code: Code) -> (u8, [u32; 3]) {
    let level = (code.ilog2() / 3) as u8;
    (level, morton::place_of(code ^ 1 << (3 * level)))
}

/// The keys of the points in a box.
pub(super) fn keys_of(code: Code) -> Range<u64> {
    let level = code.ilog2() / 3;
    let (place, bits) = (code ^ 1 << (3 * level), 3 * (MAX_DEPTH as u32 - level));
    place << bits..(place + 1) << bits
}
