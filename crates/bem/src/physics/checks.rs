//! Laws that every answer obeys, whatever the geometry: symmetry, signs and row sums of a
//! capacitance matrix.
//!
//! Each check compares a value with what the method promises ([`Finding`]); the caller decides what
//! follows from a broken promise. The promises are derived in docs/math.md, "Self-checks".

use crate::Replaced;

/// Charges may be off by this many times the solver's tolerance times the capacitances that they
/// belong to: the residual is a root mean square over a conductor, its charge density is uneven,
/// and several conductors contribute.
const CHARGE_SHARE: f64 = 10.0;

/// Where media differ, the equations are not symmetric: rows of interfaces are of the second kind,
/// and C_ij and C_ji differ by the error of the mesh. If they differ by more than this share, the
/// entry is unknown.
const MESH_SHARE: f64 = 0.1;

/// A mesh in different media does not resolve couplings below this share of sqrt(C_ii C_jj), and
/// nobody expects it.
const UNRESOLVED: f64 = 1e-4;

/// Charges at one potential may leave a conductor this share of its own capacitance below zero
/// where media differ, and positive off-diagonal entries this share of sqrt(C_ii C_jj).
const SIGN_SHARE: f64 = 1e-2;

/// As [`SIGN_SHARE`], in one medium, where Galerkin's method has only the error of the mesh: for
/// shielded conductors.
const SHIELDED: f64 = 1e-3;

/// Which law was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// C_ij = C_ji.
    Symmetry,
    /// C_ij = C_ji where C_ij was replaced by C_ji because its own row does not resolve it.
    Transposed,
    /// C_ii > 0.
    Diagonal,
    /// C_ij <= 0.
    OffDiagonal,
    /// sum_j C_ij >= 0: all conductors at one potential carry charge of one sign.
    RowSum,
}

/// A value and its promise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// The law that was checked.
    pub law: Law,
    /// Row and column.
    pub at: [usize; 2],
    /// How far the law is broken, in the matrix's unit; never negative.
    pub value: f64,
    /// How far it may be.
    pub promise: f64,
}

impl Finding {
    /// Value over promise: above 1 the promise is broken.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        ratio(self.value, self.promise)
    }
}

/// By which factor a promise is broken: infinite where nothing was allowed, or where the value is
/// NaN.
#[must_use]
pub fn ratio(value: f64, promise: f64) -> f64 {
    if value.is_nan() || (promise <= 0.0 && value > promise) {
        f64::INFINITY
    } else if promise > 0.0 {
        value / promise
    } else {
        0.0
    }
}

/// Checks every entry of a Maxwell matrix from a solve with relative residual `tolerance`, and
/// returns the laws that are broken by more than the promise. `sums` are the sums of its rows, or
/// of the rows of the larger matrix that it is part of. `one_medium`: all space has one
/// permittivity, so the equations are symmetric.
#[must_use]
pub fn capacitance_matrix(
    matrix: &[Vec<f64>],
    sums: &[f64],
    tolerance: f64,
    one_medium: bool,
) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut judge = |law, at, value: f64, promise: f64| {
        if ratio(value, promise) > 1.0 {
            found.push(Finding { law, at, value, promise });
        }
    };
    let diagonal = |i: usize| matrix[i][i].abs();
    for (i, (row, sum)) in matrix.iter().zip(sums).enumerate() {
        judge(Law::Diagonal, [i, i], if row[i] > 0.0 { 0.0 } else { row[i].abs() }, 0.0);
        for (j, &value) in row.iter().enumerate().filter(|(j, _)| *j != i) {
            let own = (diagonal(i) * diagonal(j)).sqrt();
            let by_residual = CHARGE_SHARE * tolerance * diagonal(i).max(diagonal(j));
            let unresolved = if one_medium { SHIELDED } else { SIGN_SHARE };
            judge(Law::OffDiagonal, [i, j], value.max(0.0), by_residual.max(unresolved * own));
            if j > i {
                let other = matrix[j][i];
                let by_mesh = (MESH_SHARE * value.abs().max(other.abs())).max(UNRESOLVED * own);
                let promise = if one_medium { by_residual } else { by_residual.max(by_mesh) };
                judge(Law::Symmetry, [i, j], (value - other).abs(), promise);
            }
        }
        let share = if one_medium { SHIELDED } else { SIGN_SHARE };
        let promise = (CHARGE_SHARE * tolerance).max(share) * diagonal(i);
        judge(Law::RowSum, [i, i], (-sum).max(0.0), promise);
    }
    found
}

/// Checks the entries that were replaced by their transposes: the values from their own rows are
/// off by the mesh error times the permittivity next to the metal, as the diagonal is, and this
/// must be a small share of the diagonal.
#[must_use]
pub fn replaced_entries(matrix: &[Vec<f64>], replaced: &[Replaced]) -> Vec<Finding> {
    let judge = |&Replaced { at: [i, j], was }: &Replaced| {
        let value = (was - matrix[i][j]).abs();
        let promise = SIGN_SHARE * matrix[i][i].abs();
        Finding { law: Law::Transposed, at: [i, j], value, promise }
    };
    replaced.iter().map(judge).filter(|finding| finding.ratio() > 1.0).collect()
}
