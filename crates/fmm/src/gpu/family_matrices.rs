//! The dense matrices of M2M and L2L, one for each octant: for all levels, or with screening for
//! each level (docs/math.md, "Dense translations", "Screened sums").

use cuda::{Buffer, Device, Error};

use super::rotated_matrices::{RotatedMatrices, Wanted};
use super::tables;
use crate::Precision;
use crate::expansions::screened::Screening;
use crate::tree::vectors::Kind;
use crate::truncation::TruncationNumbers;

/// Where the matrices of a level's eight octants are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Octants {
    first: u64,
    /// Bytes from one to the next.
    step: u64,
    /// Scalars between two columns.
    pub(super) lda: usize,
}

impl Octants {
    pub(super) fn address(&self, octant: usize) -> u64 {
        self.first + octant as u64 * self.step
    }
}

/// All matrices of a plan.
#[derive(Debug)]
pub(super) struct FamilyMatrices {
    _values: Buffer<u8>,
    /// M2M to the boxes of each level, and L2L from them; of one level, if that serves all.
    levels: Vec<[Octants; 2]>,
}

impl FamilyMatrices {
    pub(super) fn none(device: &Device) -> Result<Self, Error> {
        Ok(Self { _values: device.buffer(0)?, levels: Vec::new() })
    }

    pub(super) fn new(
        device: &Device,
        precision: Precision,
        screening: Screening,
        numbers: &TruncationNumbers,
    ) -> Result<Self, Error> {
        match numbers.max() {
            0 => Self::none(device),
            _ if screening.is_some() => Self::rotated(device, precision, screening, numbers),
            p => Self::closed(device, precision, p),
        }
    }

    /// M2M of the boxes of `level`, and L2L to their children.
    pub(super) fn of(&self, level: usize) -> [Octants; 2] {
        self.levels.get(level).or(self.levels.last()).copied().unwrap_or_default()
    }

    /// One set of matrices for all levels.
    fn closed(device: &Device, precision: Precision, p: usize) -> Result<Self, Error> {
        let mut matrices = Vec::new();
        for octant in 0..8 {
            for matrix in tables::families(p, octant) {
                matrices.extend(precision.encode(matrix));
            }
        }
        let values = device.upload(&matrices)?;
        // Of each octant M2M's, then L2L's.
        let (size, lda) = ((matrices.len() / 16) as u64, tables::padded_rows(p));
        let of = |kind: u64| Octants { first: values.address() + kind * size, step: 2 * size, lda };
        Ok(Self { levels: vec![[of(0), of(1)]], _values: values })
    }

    /// Matrices per level.
    fn rotated(
        device: &Device,
        precision: Precision,
        screening: Screening,
        numbers: &TruncationNumbers,
    ) -> Result<Self, Error> {
        let (mut levels, mut bytes) = (Vec::new(), 0);
        let number = |orders: &[usize], level: usize| {
            let (above, below) = (orders[level], orders[level + 1]);
            if above.min(below) > 0 { above.max(below) } else { 0 }
        };
        let pairs = numbers.multipole.len().saturating_sub(1);
        for level in 0..pairs {
            levels.push([&numbers.multipole, &numbers.local].map(|orders| {
                let p = number(orders, level);
                let lda = tables::padded_rows(p);
                let step = (lda * tables::padded_columns(p) * precision.bytes()) as u64;
                let first = bytes;
                bytes += 8 * step;
                Octants { first, step, lda }
            }));
        }
        let values = device.buffer::<u8>(bytes as usize)?;
        let mut wanted = Vec::new();
        for (level, kinds) in levels.iter_mut().enumerate() {
            // The parents' expansions are written, or their children's.
            let of_kinds = [
                (Kind::M2m, level, number(&numbers.multipole, level)),
                (Kind::L2l, level + 1, number(&numbers.local, level)),
            ];
            for (octants, (kind, level, p)) in kinds.iter_mut().zip(of_kinds) {
                octants.first += values.address();
                for octant in 0..if p > 0 { 8 } else { 0 } {
                    let offset = |axis| if octant >> axis & 1 == 1 { 1 } else { -1 };
                    wanted.push(Wanted {
                        kind,
                        offset: std::array::from_fn(offset),
                        level,
                        p,
                        address: octants.address(octant),
                        lda: octants.lda,
                    });
                }
            }
        }
        let rotated = RotatedMatrices::new(device, precision, screening, &wanted)?;
        rotated.make(device.stream(), 0, wanted.len())?;
        // Tables and descriptions are needed until the matrices are there.
        device.stream().synchronize()?;
        Ok(Self { _values: values, levels })
    }
}
