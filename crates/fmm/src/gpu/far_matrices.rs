//! The dense matrices of M2L, one for each translation vector whatever the level (docs/math.md,
//! "Dense translations"); with screening one for each vector and level.
//!
//! An adaptive tree at a high accuracy has hundreds of vectors, each for few pairs, and matrices of
//! a hundred megabytes. Those that do not fit in a share of the device's memory are made again for
//! every sum, one group after the other in the same place.

use std::collections::BTreeMap;

use cuda::{Buffer, Device, Error, Grid, Stream};

use super::kernels::{Kernel, m2l};
use super::layouts::Vector;
use super::lists::{Batch, Lists};
use super::rotated_matrices::{RotatedMatrices, Wanted};
use super::tables;
use crate::Precision;
use crate::expansions::screened::Screening;
use crate::tree::vectors::Kind;

/// Blocks that fill one matrix.
const FILL_BLOCKS: u32 = 8;

/// Shape and place of one matrix.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Matrix {
    pub(super) address: u64,
    /// Scalars between two columns.
    pub(super) lda: usize,
    /// Matrices of one group are in memory together.
    pub(super) group: usize,
}

/// Some vectors, and the largest truncation number of them.
type Made = (usize, usize, usize);

/// What tells the matrix of a batch from others: its scale ([`Screening::scale`]) and its vector.
type Key = (usize, i32, [i32; 3]);

fn key(screening: Screening, batch: &Batch) -> Key {
    (screening.scale(batch.target_level()), batch.finer_source, batch.offset)
}

/// The matrices, or the place where they are made.
#[derive(Debug)]
pub(super) struct FarMatrices {
    _values: Buffer<u8>,
    screening: Screening,
    maker: Maker,
    groups: Vec<Made>,
    matrices: BTreeMap<Key, Matrix>,
}

/// How matrices are made.
#[derive(Debug)]
enum Maker {
    /// There are none.
    Nothing,
    /// By closed forms.
    Closed { vectors: Buffer<Vector>, roots: Buffer<f64>, fill: Kernel<m2l::Fill> },
    /// With screening.
    Rotated(RotatedMatrices),
}

/// Bytes of the matrix of truncation number p.
fn bytes(precision: Precision, p: usize) -> u64 {
    (tables::padded_rows(p) * tables::padded_columns(p) * precision.bytes()) as u64
}

/// Bytes that all matrices may take on a device, beyond one.
pub fn limit(device: &Device) -> u64 {
    device.info().memory / 8
}

impl FarMatrices {
    pub(super) fn none(device: &Device) -> Result<Self, Error> {
        Ok(Self {
            _values: device.buffer(0)?,
            screening: Screening::default(),
            maker: Maker::Nothing,
            groups: Vec::new(),
            matrices: BTreeMap::new(),
        })
    }

    /// The matrices of all batches; made at once if they take `limit` bytes at most.
    pub(super) fn new(
        device: &Device,
        precision: Precision,
        screening: Screening,
        lists: &Lists,
        numbers: &[usize],
        limit: u64,
    ) -> Result<Self, Error> {
        // Levels share the matrices of equal vectors, made for the largest truncation number.
        let mut truncation = BTreeMap::<Key, usize>::new();
        for (batch, &p) in lists.batches.iter().zip(numbers) {
            let of = truncation.entry(key(screening, batch)).or_default();
            *of = p.max(*of);
        }
        let Some(&p_max) = truncation.values().max() else {
            return Self::none(device);
        };
        let limit = limit.max(bytes(precision, p_max));
        let mut matrices = BTreeMap::new();
        let mut groups: Vec<Made> = vec![(0, 0, 0)];
        let (mut used, mut most) = (0, 0);
        for (number, (&key, &p)) in truncation.iter().enumerate() {
            let needed = bytes(precision, p);
            if used + needed > limit {
                groups.push((number, 0, 0));
                used = 0;
            }
            let group = groups.len() - 1;
            let (lda, made) = (tables::padded_rows(p), &mut groups[group]);
            (made.1, made.2) = (made.1 + 1, p.max(made.2));
            matrices.insert(key, Matrix { address: used, lda, group });
            used += needed;
            most = used.max(most);
        }
        device.check_free(most)?;
        let values = device.buffer::<u8>(most as usize)?;
        matrices.values_mut().for_each(|m| m.address += values.address());
        let maker = if screening.is_some() {
            let wanted = truncation.iter().zip(matrices.values()).map(
                |((&(level, finer_source, offset), &p), &Matrix { address, lda, .. })| {
                    let kind = Kind::M2l { finer_target: -finer_source as i8 };
                    Wanted { kind, offset, level, p, address, lda }
                },
            );
            let wanted: Vec<Wanted> = wanted.collect();
            Maker::Rotated(RotatedMatrices::new(device, precision, screening, &wanted)?)
        } else {
            let vectors = truncation.iter().zip(matrices.values()).map(
                |((&(_, finer_source, offset), &p), m)| {
                    let (p, lda) = (p as u32, m.lda as u32);
                    Vector { offset, finer_source, p, lda, matrix: m.address }
                },
            );
            let fill = Kernel::with(device, &[precision.as_macro()])?;
            fill.allow_shared(tables::fill_shared(p_max))?;
            Maker::Closed {
                vectors: device.upload(&vectors.collect::<Vec<_>>())?,
                roots: device.upload(&tables::root_factorials(4 * p_max))?,
                fill,
            }
        };
        let all = Self { _values: values, screening, maker, groups, matrices };
        if let [only] = all.groups[..] {
            all.make(device.stream(), only)?;
        }
        Ok(all)
    }

    /// Bytes of those that are there at once.
    pub(super) fn bytes(&self) -> u64 {
        self._values.bytes()
    }

    /// The matrix of a batch.
    pub(super) fn of(&self, batch: &Batch) -> Matrix {
        self.matrices.get(&key(self.screening, batch)).copied().unwrap_or_default()
    }

    /// What is to be made before a group's translations; nothing if all matrices are there.
    pub(super) fn made(&self, group: usize) -> Option<Made> {
        if self.groups.len() > 1 { self.groups.get(group).copied() } else { None }
    }

    /// Makes some matrices in the place of others.
    pub(super) fn make(&self, stream: &Stream, (first, count, p): Made) -> Result<(), Error> {
        match &self.maker {
            Maker::Nothing => Ok(()),
            Maker::Rotated(rotated) => rotated.make(stream, first, count),
            Maker::Closed { vectors, roots, fill } => {
                let shared = tables::fill_shared(p);
                let grid = Grid { blocks: [count as u32, FILL_BLOCKS], threads: 256, shared };
                let of_group =
                    m2l::Fill { vectors: vectors.pointer_to(first), roots: roots.pointer() };
                fill.launch(stream, grid, of_group)
            }
        }
    }
}

/// The matrix of one offset without screening, in double precision; `finer`: how much finer the
/// source is.
pub fn one(device: &Device, offset: [i32; 3], finer: i32, p: usize) -> Result<Vec<f64>, Error> {
    let roots = device.upload(&tables::root_factorials(4 * p))?;
    let rows = tables::padded_rows(p);
    let matrix = device.buffer::<f64>(rows * tables::padded_columns(p))?;
    let (finer_source, address) = (finer, matrix.address());
    let vector = Vector { offset, finer_source, p: p as u32, lda: rows as u32, matrix: address };
    let vectors = device.upload(&[vector])?;
    let shared = tables::fill_shared(p);
    let fill = Kernel::with(device, &[Precision::Double.as_macro()])?;
    fill.allow_shared(shared)?;
    let grid = Grid { blocks: [1, 3], threads: 256, shared };
    let one = m2l::Fill { vectors: vectors.pointer(), roots: roots.pointer() };
    fill.launch(device.stream(), grid, one)?;
    matrix.to_vec()
}
