//! Dense matrices of screened translations, one for each vector and level: rotations and coaxial
//! translations of the CPU's tables, multiplied out on the device (docs/math.md, "Screened sums").
//!
//! The tables are small, and made on the host; the matrices are not, and never leave the device.

use std::collections::BTreeMap;

use cuda::{Buffer, Device, Error, Grid, Stream};
use parallel::prelude::*;

use super::kernels::{Kernel, rotated};
use super::layouts::Rotated;
use crate::Precision;
use crate::expansions::harmonics::Gradient;
use crate::expansions::screened::Screening;
use crate::expansions::translate::frames::{along_z, rotation};
use crate::tree::vectors::{Kind, Vector};

/// Blocks that fill one matrix.
const FILL_BLOCKS: u32 = 8;

/// A matrix to be made.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Between which expansions.
    pub kind: Kind,
    /// In half sides of the smaller box: from the source to the target, or from the parent to the
    /// child.
    pub offset: [i32; 3],
    /// Level of the boxes that are written.
    pub level: usize,
    /// Truncation number of both expansions.
    pub p: usize,
    /// Where the matrix goes, and scalars between two of its columns.
    pub address: u64,
    /// Rows of a column in memory.
    pub lda: usize,
}

impl Wanted {
    /// By which vector.
    pub fn vector(&self) -> Vector {
        Vector { kind: self.kind, offset: self.offset }
    }
}

/// Tables one after the other, by what tells them from others: where each begins, and its
/// truncation number.
struct Stack<K> {
    places: BTreeMap<K, (usize, usize)>,
    values: Vec<f64>,
}

impl<K: Ord + Copy + Sync + Send> Stack<K> {
    /// Of some keys with their truncation numbers, the largest of each.
    fn new(
        wanted: impl Iterator<Item = (K, usize)>,
        make: impl Fn(usize, K) -> Vec<f64> + Sync,
    ) -> Self {
        let mut numbers = BTreeMap::<K, usize>::new();
        for (key, p) in wanted {
            let of = numbers.entry(key).or_default();
            *of = p.max(*of);
        }
        let numbers: Vec<(K, usize)> = numbers.into_iter().collect();
        let tables: Vec<Vec<f64>> = numbers.par_iter().map(|&(key, p)| make(p, key)).collect();
        let mut begin = 0;
        let place = |((key, p), table): (&(K, usize), &Vec<f64>)| {
            begin += table.len();
            (*key, (begin - table.len(), *p))
        };
        let places = numbers.iter().zip(&tables).map(place).collect();
        Self { places, values: tables.concat() }
    }
}

/// What makes some matrices, as often as they are wanted.
#[derive(Debug)]
pub struct RotatedMatrices {
    matrices: Buffer<Rotated>,
    /// Kept for the kernel, which reads them.
    _polars: Buffer<f64>,
    _coaxials: Buffer<f64>,
    fill: Kernel<rotated::Fill>,
}

impl RotatedMatrices {
    /// Uploads what the matrices are made of.
    pub fn new(
        device: &Device,
        precision: Precision,
        screening: Screening,
        wanted: &[Wanted],
    ) -> Result<Self, Error> {
        let p_max = wanted.iter().map(|w| w.p).max().unwrap_or(0);
        let gradient = Gradient::<f64>::new(p_max + 1);
        let of_polar = |p, key| rotation::<f64>(p, key, &gradient).blocks;
        let polars = Stack::new(wanted.iter().map(|w| (w.vector().polar(), w.p)), of_polar);
        // The matrix of order 0 is the first, and all others follow.
        let of_coaxial = |p, key| along_z::<f64>(p, key, screening).matrix(0).0.to_vec();
        let coaxials =
            Stack::new(wanted.iter().map(|w| (w.vector().along_z(w.level), w.p)), of_coaxial);
        let on_device = [device.upload(&polars.values)?, device.upload(&coaxials.values)?];
        let [polar, coaxial] = on_device.each_ref().map(|buffer| buffer.address());
        let of = |w: &Wanted| {
            let (of_polar, _) = polars.places[&w.vector().polar()];
            let (of_coaxial, coaxial_p) = coaxials.places[&w.vector().along_z(w.level)];
            let [x, y, _] = w.offset.map(f64::from);
            let r = x.hypot(y);
            let (cos, sin) = if r > 0.0 { (x / r, y / r) } else { (1.0, 0.0) };
            Rotated {
                matrix: w.address,
                polar: polar + 8 * of_polar as u64,
                coaxial: coaxial + 8 * of_coaxial as u64,
                cos,
                sin,
                p: w.p as u32,
                lda: w.lda as u32,
                coaxial_p: coaxial_p as u32,
                unused: 0,
            }
        };
        let matrices: Vec<Rotated> = wanted.iter().map(of).collect();
        let [polars, coaxials] = on_device;
        Ok(Self {
            matrices: device.upload(&matrices)?,
            _polars: polars,
            _coaxials: coaxials,
            fill: Kernel::with(device, &[precision.as_macro()])?,
        })
    }

    /// Makes `count` matrices from number `first` on.
    pub fn make(&self, stream: &Stream, first: usize, count: usize) -> Result<(), Error> {
        let grid = Grid { blocks: [count as u32, FILL_BLOCKS], threads: 256, shared: 0 };
        let some = rotated::Fill { matrices: self.matrices.pointer_to(first) };
        self.fill.launch(stream, grid, some)
    }
}
