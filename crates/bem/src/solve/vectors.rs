//! Vector operations of GMRES, wherever vectors are stored: sums, inner products, and an
//! orthonormal basis.
//!
//! The basis is made by modified Gram-Schmidt, applied twice. Where ranks have parts of the vectors
//! it is classical Gram-Schmidt, also twice: all overlaps of a pass are one message. (L. Giraud, J.
//! Langou, M. Rozloznik, Comput. Math. Appl. 50 (2005) 1069: twice is enough.)

use std::borrow::Cow;
use std::sync::Arc;

use parallel::prelude::*;

use crate::Error;
use crate::geometry::partition::Partition;

/// The relative size of a residual, from the index of a right-hand side, the answer so far, and its
/// residual.
pub type Measure<'a> = &'a dyn Fn(usize, &[f64], &[f64]) -> f64;

/// Residual measure.
#[derive(Clone, Copy)]
pub struct Metric<'a> {
    /// Weights w of the inner product, shape (len), or one set for each right-hand side, shape
    /// (columns, len).
    pub weights: &'a [f64],
    /// The relative size of a true residual that is compared with the tolerance, if it is not the
    /// weighted norm over that of b. If it is larger than the norm, the norm is reduced further
    /// after a restart.
    pub measure: Option<Measure<'a>>,
}

/// Vectors and the operations of GMRES on them, wherever they are stored. Where ranks have parts of
/// the vectors, operations that return numbers are collective.
pub(crate) trait VectorSpace<V> {
    /// Number of values of a vector, over all ranks.
    fn len(&self) -> usize;
    /// One vector from all of its values.
    fn vector(&self, all: &[f64]) -> Result<V, Error>;
    /// Copies all values of a vector. Collective.
    fn read(&self, v: &V, all: &mut [f64]) -> Result<(), Error>;
    /// Which of these are true on any rank. Collective.
    fn any(&self, own: [bool; 2]) -> Result<[bool; 2], Error> {
        Ok(own)
    }
    /// A zero vector.
    fn zeros(&self) -> Result<V, Error>;
    /// Joins vectors into one array.
    fn joined(&self, vectors: &[&V]) -> Result<V, Error>;
    /// Splits an array of vectors.
    fn parted(&self, vectors: V, columns: usize) -> Result<Vec<V>, Error>;
    /// The weighted inner product of this right-hand side.
    fn dot(&self, column: usize, u: &V, v: &V) -> Result<f64, Error>;
    /// y += a x.
    fn add(&self, a: f64, x: &V, y: &mut V) -> Result<(), Error>;
    /// x *= a.
    fn scale(&self, a: f64, x: &mut V) -> Result<(), Error>;
    /// The weighted norm.
    fn norm(&self, column: usize, v: &V) -> Result<f64, Error> {
        Ok(self.dot(column, v, v)?.sqrt())
    }
    /// Removes from each vector its components along an orthonormal basis; the bases have one entry
    /// per vector, with the index of its right-hand side.
    fn orthogonalise(
        &self,
        bases: &[(usize, &[V])],
        vectors: &mut [V],
    ) -> Result<Vec<Orthogonalised>, Error> {
        let columns = bases.iter().zip(vectors);
        columns.map(|((column, basis), w)| modified_gram_schmidt(self, *column, basis, w)).collect()
    }
}

/// Result of an orthogonalisation.
pub(crate) struct Orthogonalised {
    /// Components along each vector of the basis.
    pub(super) overlaps: Vec<f64>,
    /// The vector's norm before and after.
    pub(super) size: f64,
    pub(super) left: f64,
}

/// Modified Gram-Schmidt, twice.
fn modified_gram_schmidt<V, S: VectorSpace<V> + ?Sized>(
    space: &S,
    column: usize,
    basis: &[V],
    w: &mut V,
) -> Result<Orthogonalised, Error> {
    let size = space.norm(column, w)?;
    let mut overlaps = vec![0.0; basis.len()];
    for _ in 0..2 {
        for (total, v) in overlaps.iter_mut().zip(basis) {
            let overlap = space.dot(column, v, w)?;
            space.add(-overlap, v, w)?;
            *total += overlap;
        }
    }
    Ok(Orthogonalised { overlaps, size, left: space.norm(column, w)? })
}

/// Vectors in host memory, with values on the local panels.
pub(crate) struct HostVectors<'a> {
    partition: Arc<Partition>,
    /// Weights of local values, 0 on those of other ranks, shape (n) or (columns, n).
    weights: Cow<'a, [f64]>,
    /// Number of values on all ranks, and of local ones.
    len: usize,
    n: usize,
}

impl<'a> HostVectors<'a> {
    /// Vectors of `len` values, a multiple of the number of panels; `weights` are those of all
    /// values, shape (len) or (columns, len).
    pub(crate) fn new(partition: Arc<Partition>, weights: &'a [f64], len: usize) -> Self {
        let n = len / partition.len().max(1) * partition.local_len();
        Self { weights: partition.masked(weights), partition, len, n }
    }

    /// Number of local values.
    pub(crate) fn local_len(&self) -> usize {
        self.n
    }

    /// The inner product over this rank's values.
    fn own_dot(&self, column: usize, u: &[f64], v: &[f64]) -> f64 {
        let of_column = self.weights.get(column * self.n..(column + 1) * self.n);
        dot(u, v, of_column.unwrap_or(&self.weights))
    }
}

impl VectorSpace<Vec<f64>> for HostVectors<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, all: &[f64]) -> Result<Vec<f64>, Error> {
        Ok(self.partition.local_of(all).into_owned())
    }

    fn read(&self, v: &Vec<f64>, all: &mut [f64]) -> Result<(), Error> {
        self.partition.gather(v, all)
    }

    fn any(&self, own: [bool; 2]) -> Result<[bool; 2], Error> {
        let mut sums = own.map(|own| f64::from(u8::from(own)));
        self.partition.sum(&mut sums)?;
        Ok(sums.map(|sum| sum > 0.0))
    }

    fn zeros(&self) -> Result<Vec<f64>, Error> {
        Ok(vec![0.0; self.n])
    }

    fn joined(&self, vectors: &[&Vec<f64>]) -> Result<Vec<f64>, Error> {
        let mut all = Vec::with_capacity(vectors.len() * self.n);
        vectors.iter().for_each(|v| all.extend_from_slice(v));
        Ok(all)
    }

    fn parted(&self, vectors: Vec<f64>, columns: usize) -> Result<Vec<Vec<f64>>, Error> {
        if columns == 1 {
            return Ok(vec![vectors]);
        }
        let part = |column: usize| vectors[column * self.n..(column + 1) * self.n].to_vec();
        Ok((0..columns).map(part).collect())
    }

    fn dot(&self, column: usize, u: &Vec<f64>, v: &Vec<f64>) -> Result<f64, Error> {
        let mut product = [self.own_dot(column, u, v)];
        self.partition.sum(&mut product)?;
        Ok(product[0])
    }

    /// Classical Gram-Schmidt, twice, if ranks share vectors: each pass sends one message with the
    /// overlaps of all vectors.
    fn orthogonalise(
        &self,
        bases: &[(usize, &[Vec<f64>])],
        vectors: &mut [Vec<f64>],
    ) -> Result<Vec<Orthogonalised>, Error> {
        if self.partition.is_whole() {
            let one = |((column, basis), w): (&(usize, &[Vec<f64>]), &mut Vec<f64>)| {
                modified_gram_schmidt(self, *column, basis, w)
            };
            return bases.par_iter().zip(vectors).map(one).collect();
        }
        let none = |(_, basis): &(usize, &[Vec<f64>])| Orthogonalised {
            overlaps: vec![0.0; basis.len()],
            size: f64::NAN,
            left: f64::NAN,
        };
        let mut found: Vec<Orthogonalised> = bases.iter().map(none).collect();
        for _ in 0..2 {
            let mut sums = Vec::new();
            for ((column, basis), w) in bases.iter().zip(&*vectors) {
                sums.extend(basis.iter().map(|v| self.own_dot(*column, v, w)));
                sums.push(self.own_dot(*column, w, w));
            }
            self.partition.sum(&mut sums)?;
            let mut sums = &sums[..];
            for (((_, basis), w), found) in bases.iter().zip(&mut *vectors).zip(&mut found) {
                let (overlaps, rest) = sums.split_at(basis.len());
                let (square, rest) = (rest[0], &rest[1..]);
                sums = rest;
                for ((total, &overlap), v) in found.overlaps.iter_mut().zip(overlaps).zip(*basis) {
                    self.add(-overlap, v, w)?;
                    *total += overlap;
                }
                if found.size.is_nan() {
                    found.size = square.sqrt();
                }
                let taken: f64 = overlaps.iter().map(|overlap| overlap * overlap).sum();
                // The difference is accurate where little is removed.
                found.left = if taken <= 0.5 * square { (square - taken).sqrt() } else { f64::NAN };
            }
        }
        for (((column, _), w), found) in bases.iter().zip(&*vectors).zip(&mut found) {
            if found.left.is_nan() {
                found.left = self.norm(*column, w)?;
            }
        }
        Ok(found)
    }

    fn add(&self, a: f64, x: &Vec<f64>, y: &mut Vec<f64>) -> Result<(), Error> {
        y.par_chunks_mut(PIECE).zip(x.par_chunks(PIECE)).for_each(|(y, x)| {
            y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
        });
        Ok(())
    }

    fn scale(&self, a: f64, x: &mut Vec<f64>) -> Result<(), Error> {
        x.iter_mut().for_each(|x| *x *= a);
        Ok(())
    }
}

/// Vectors are processed in pieces of this length, whose sums are added in order, so that results
/// do not depend on the number of threads.
const PIECE: usize = 16_384;

fn dot(u: &[f64], v: &[f64], weights: &[f64]) -> f64 {
    let piece = |((u, v), w): ((&[f64], &[f64]), &[f64])| -> f64 {
        u.iter().zip(v).zip(w).map(|((u, v), w)| u * v * w).sum()
    };
    let pieces = u.par_chunks(PIECE).zip(v.par_chunks(PIECE)).zip(weights.par_chunks(PIECE));
    pieces.map(piece).collect::<Vec<f64>>().into_iter().sum()
}
