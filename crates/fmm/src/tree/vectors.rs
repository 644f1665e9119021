//! Translation vectors, and the distinct ones of a traversal: numbers while they are found, packed
//! keys to merge and sort them by.

/// What kind of coaxial translation a vector needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The child's centre seen from its parent's, multipoles.
    M2m,
    /// Source to target; levels of both.
    M2l {
        /// How many levels the target is deeper than the source.
        finer_target: i8,
    },
    /// The child's centre seen from its parent's, local expansions.
    L2l,
}

/// A translation vector in half sides of the smaller of its two boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Vector {
    /// Between which expansions.
    pub kind: Kind,
    /// From source to target, or from parent to child.
    pub offset: [i32; 3],
}

/// Numbers of distinct vectors: short ones have fixed numbers, others get theirs as they come, by a
/// hash with linear probing.
pub struct VectorTable {
    /// How often each number was asked for.
    pub counts: Vec<u32>,
    /// The vectors from number [`SHORT`] on.
    long: Vec<u64>,
    /// Number of the vector in each slot, 0 = free; a power of two, at most half of them taken.
    slots: Vec<u32>,
}

/// Bits of half an offset of a short vector.
const SHORT_BITS: u32 = 4;

/// How many numbers short vectors have, with the boxes' levels differing by at most one.
const SHORT: usize = 3 << (3 * SHORT_BITS);

impl Default for VectorTable {
    fn default() -> Self {
        Self { counts: vec![0; SHORT], long: Vec::new(), slots: vec![0; 1024] }
    }
}

impl VectorTable {
    const HALF: i32 = 1 << (SHORT_BITS - 1);

    /// Forgets all vectors.
    pub fn clear(&mut self) {
        self.counts.truncate(SHORT);
        self.counts.fill(0);
        self.long.clear();
        self.slots.fill(0);
    }

    /// The number of a vector; `coarser_target` = level of the source minus level of the target.
    /// Offsets are all even between equal boxes and all odd from one level to the next, so that
    /// their halves, rounded down, tell them apart.
    #[inline(always)]
    pub fn number(&mut self, coarser_target: i32, offset: [i32; 3]) -> u32 {
        let levels = (coarser_target + 1) as u32;
        let [x, y, z] = offset.map(|o| ((o >> 1) + Self::HALF) as u32);
        let number = if levels < 3 && (x | y | z) >> SHORT_BITS == 0 {
            ((levels << SHORT_BITS | x) << SHORT_BITS | y) << SHORT_BITS | z
        } else {
            self.number_of_long(pack(coarser_target, offset))
        };
        self.counts[number as usize] += 1;
        number
    }

    #[cold]
    fn number_of_long(&mut self, key: u64) -> u32 {
        let slot = self.slot(key);
        if self.slots[slot] == 0 {
            self.slots[slot] = self.counts.len() as u32;
            self.long.push(key);
            self.counts.push(0);
            if 2 * self.long.len() > self.slots.len() {
                self.slots = vec![0; 2 * self.slots.len()];
                for i in 0..self.long.len() {
                    let slot = self.slot(self.long[i]);
                    self.slots[slot] = (SHORT + i) as u32;
                }
            }
            return self.counts.len() as u32 - 1;
        }
        self.slots[slot]
    }

    fn slot(&self, key: u64) -> usize {
        let bits = self.slots.len().ilog2();
        let mut slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize;
        while self.slots[slot] != 0 && self.long[self.slots[slot] as usize - SHORT] != key {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    /// The vectors that were asked for, packed, with their numbers.
    pub fn keys(&self) -> Vec<(u64, u32)> {
        let part = |number: u32, i: u32| (number >> (i * SHORT_BITS)) as i32 & (2 * Self::HALF - 1);
        let short = (0..SHORT as u32).filter(|&n| self.counts[n as usize] > 0).map(|n| {
            let coarser_target = part(n, 3) - 1;
            let odd = coarser_target & 1;
            let offset = [2, 1, 0].map(|i| 2 * (part(n, i) - Self::HALF) + odd);
            (pack(coarser_target, offset), n)
        });
        short.chain(self.long.iter().copied().zip(SHORT as u32..)).collect()
    }
}

/// Bits of each component of a packed vector.
const OFFSET_BITS: u32 = 19;
const OFFSET_BIAS: i32 = 1 << (OFFSET_BITS - 1);
const LEVEL_BIAS: i32 = 32;

/// A vector as one number; `coarser_target` = level of the source minus level of the target.
fn pack(coarser_target: i32, offset: [i32; 3]) -> u64 {
    offset.iter().fold((coarser_target + LEVEL_BIAS) as u64, |key, &o| {
        key << OFFSET_BITS | (o + OFFSET_BIAS) as u64
    })
}

/// The vector of a key.
pub fn unpack(key: u64) -> Vector {
    let mask = (1 << OFFSET_BITS) - 1;
    let part = |i: u32| (key >> (OFFSET_BITS * (2 - i)) & mask) as i32 - OFFSET_BIAS;
    Vector {
        kind: Kind::M2l { finer_target: -coarser_target(key) as i8 },
        offset: [part(0), part(1), part(2)],
    }
}

/// Level of the source minus level of the target of a packed vector.
pub fn coarser_target(key: u64) -> i32 {
    (key >> (3 * OFFSET_BITS)) as i32 - LEVEL_BIAS
}
