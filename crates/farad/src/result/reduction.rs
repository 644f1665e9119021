//! Further matrices made of the capacitance matrix: nets that float are eliminated, others are
//! grounded or become one net (docs/math.md, "Reduced matrices").

use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use crate::result::labelled::Labelled;
use crate::result::unit::Unit;

/// A reduction of matrices over certain conductors.
#[derive(Clone, Debug, PartialEq)]
pub struct Reducer {
    pub(crate) name: String,
    /// Nets that stay, in the order of the result.
    pub(crate) kept: Vec<Net>,
    pub(crate) floating: Vec<Net>,
    pub(crate) is_between: bool,
}

/// Conductors at one potential.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Net {
    pub(crate) name: String,
    pub(crate) conductors: Vec<usize>,
}

/// A matrix that was made of another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Reduced {
    /// The name of the reduction.
    pub name: String,
    /// The nets that are left: in the order of the matrix, a group where its first conductor was;
    /// or the two of [`Reduction::between`](crate::Reduction::between).
    #[serde(rename = "conductors")]
    pub nets: Vec<String>,
    /// Their Maxwell matrix, in the unit of the matrix that it is made of; NaN where floating
    /// potentials have no values.
    #[serde(rename = "maxwell_farad")]
    pub maxwell: Vec<Vec<f64>>,
    /// The error bars of these entries, if the matrix had any.
    #[serde(rename = "maxwell_farad_error")]
    pub bars: Option<Vec<Vec<f64>>>,
    /// The capacitance of [`Reduction::between`](crate::Reduction::between), in that unit.
    #[serde(rename = "between_farad")]
    pub between: Option<f64>,
    /// Its bar, if the matrix had any.
    #[serde(rename = "between_farad_error")]
    pub between_bar: Option<f64>,
}

impl Reduced {
    /// The matrix of a reduction of capacitances in farad.
    #[must_use]
    pub fn matrix(&self) -> Labelled<'_> {
        let (rows, values, bars) = (&self.nets, &self.maxwell, self.bars.as_deref());
        Labelled { rows, columns: rows, values, bars, unit: Unit::Farad }
    }
}

impl Reducer {
    /// The reduced Maxwell matrix over its conductors, and its bars by first order: changes dC
    /// of the matrix change the result by L dC R, where the columns of R are the potentials of all
    /// nets with one of those left at 1 V, and the rows of L the same of the transposed matrix.
    pub fn apply(&self, maxwell: &[Vec<f64>], bars: Option<&[Vec<f64>]>) -> Reduced {
        let nets: Vec<&Net> = self.kept.iter().chain(&self.floating).collect();
        let kept = self.kept.len();
        let joined = sums(maxwell, &nets);
        let right = potentials(&joined, kept);
        let left = potentials(&joined.transpose(), kept);
        // Rows of nets that float vanish, so only those that are left count.
        let reduced = joined.rows(0, kept) * &right;
        let bars = bars.map(|bars| sums(bars, &nets));
        let between = self.is_between.then(|| {
            let of_right = (&right * opposite(&reduced)).abs();
            let of_left = (&left * opposite(&reduced.transpose())).abs();
            let bar = bars.as_ref().map(|bars| of_left.dot(&(bars * of_right)));
            (reduced.determinant() / reduced.sum(), bar)
        });
        let (between, between_bar) = between.unzip();
        let bars = bars.map(|bars| left.abs().transpose() * bars * right.abs());
        Reduced {
            name: self.name.clone(),
            nets: self.kept.iter().map(|net| net.name.clone()).collect(),
            maxwell: rows(&reduced),
            bars: bars.as_ref().map(rows),
            between,
            between_bar: between_bar.flatten(),
        }
    }
}

/// Entries over nets: sums over their conductors.
fn sums(matrix: &[Vec<f64>], nets: &[&Net]) -> DMatrix<f64> {
    DMatrix::from_fn(nets.len(), nets.len(), |a, b| {
        let row = |&i: &usize| nets[b].conductors.iter().map(|&j| matrix[i][j]).sum::<f64>();
        nets[a].conductors.iter().map(row).sum()
    })
}

/// The potentials of all nets with each of the first `kept` at 1 V in turn, in columns; the others
/// float without charge.
fn potentials(matrix: &DMatrix<f64>, kept: usize) -> DMatrix<f64> {
    let floating = matrix.nrows() - kept;
    let mut all = DMatrix::zeros(matrix.nrows(), kept);
    all.fill_diagonal(1.0);
    if floating > 0 {
        let induced = matrix.view((kept, 0), (floating, kept));
        let own = matrix.view((kept, kept), (floating, floating)).into_owned().lu();
        let found = own.solve(&-induced);
        let found = found.unwrap_or_else(|| DMatrix::from_element(floating, kept, f64::NAN));
        all.rows_mut(kept, floating).copy_from(&found);
    }
    all
}

/// Potentials of two nets that carry opposite charges, 1 V apart.
fn opposite(matrix: &DMatrix<f64>) -> DVector<f64> {
    let sums = matrix.row_sum();
    DVector::from_vec(vec![sums[1], -sums[0]]) / matrix.sum()
}

fn rows(matrix: &DMatrix<f64>) -> Vec<Vec<f64>> {
    matrix.row_iter().map(|row| row.iter().copied().collect()).collect()
}
