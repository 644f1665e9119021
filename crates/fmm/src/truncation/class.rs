//! Classes of translations, whose errors and truncation numbers are the same.

use crate::tree::side;
use crate::tree::vectors::{Kind, Vector};

/// Translations of one target level that are equal up to symmetries of the cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    /// Of the targets.
    pub(super) level: u8,
    /// Level of the targets minus level of the sources.
    pub(super) finer_target: i8,
    /// Sorted absolute offsets, in half sides of the smaller box.
    pub(super) offset: [i32; 3],
}

impl Class {
    /// The class of translations by `offset` to boxes of `level`.
    pub fn new(level: u8, finer_target: i8, offset: [i32; 3]) -> Self {
        let mut offset = offset.map(i32::abs);
        offset.sort_unstable();
        Self { level, finer_target, offset }
    }

    /// The class as one number, in the order of classes: offsets have 19 bits.
    pub(super) fn pack(&self) -> [u64; 2] {
        let [x, y, z] = self.offset.map(|o| o as u64);
        let levels = u64::from(self.level) << 8 | (i64::from(self.finer_target) + 128) as u64;
        [levels << 20 | x, y << 32 | z]
    }

    /// The class of [`Self::pack`]'s numbers.
    pub(super) fn unpack([first, second]: [u64; 2]) -> Self {
        let offset = [first & 0xf_ffff, second >> 32, second & 0xffff_ffff].map(|o| o as i32);
        let finer_target = ((first >> 20 & 0xff) as i64 - 128) as i8;
        Self { level: (first >> 28) as u8, finer_target, offset }
    }

    /// Levels of source and target.
    pub(super) fn levels(&self) -> [usize; 2] {
        let source = i32::from(self.level) - i32::from(self.finer_target);
        [source as usize, usize::from(self.level)]
    }

    /// `(R_source, R_target, D)` of the boxes' spheres, in sides of the smaller box.
    fn spheres(&self) -> (f64, f64, f64) {
        let (source, target) = self.sides();
        let half_diagonal = 0.5 * 3f64.sqrt();
        let r2: f64 = self.offset.iter().map(|&o| f64::from(o) * f64::from(o)).sum();
        (half_diagonal * source, half_diagonal * target, 0.5 * r2.sqrt())
    }

    /// Squared distance of the boxes' centres in units of the root's side.
    pub(super) fn distance2(&self) -> f64 {
        let (_, _, distance) = self.spheres();
        let (_, target_side) = self.sides();
        (distance / target_side * side(self.level)).powi(2)
    }

    /// Sides of source and target in units of the smaller.
    pub(super) fn sides(&self) -> (f64, f64) {
        let ratio = f64::from(self.finer_target).exp2();
        if self.finer_target >= 0 { (ratio, 1.0) } else { (1.0, 1.0 / ratio) }
    }

    /// Paper 001, eq. 24: `p' = p ln(eta*) / ln(eta)`.
    pub fn bound(&self, p: usize) -> usize {
        let (source, target, distance) = self.spheres();
        let eta = source.max(target) / (distance - source.min(target));
        let standard = 3f64.sqrt() / (4.0 - 3f64.sqrt());
        ((p as f64 * standard.ln() / eta.ln()).ceil() as usize).clamp(1, p)
    }
}

/// The class of translations by `vector` to boxes of `level`.
pub(crate) fn class_of(level: u8, vector: &Vector) -> Class {
    let finer_target = match vector.kind {
        Kind::M2l { finer_target } => finer_target,
        Kind::M2m | Kind::L2l => 0,
    };
    Class::new(level, finer_target, vector.offset)
}
