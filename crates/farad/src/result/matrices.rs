//! The capacitance matrix in its forms, and the names of its entries.

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::result::key::MatrixEntry;
use crate::result::labelled::Labelled;
use crate::result::unit::Unit;
use crate::units::{self, LengthUnit};

/// The capacitance matrix in the forms that are reported, rows as they were computed: one row for
/// each conductor, and one column for each or for those that were chosen.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Matrices {
    /// C/(4 pi eps0) in the problem's unit.
    pub maxwell_length: Vec<Vec<f64>>,
    /// C in farad: Q_i = sum_j C_ij V_j.
    pub maxwell_farad: Vec<Vec<f64>>,
    /// In farad between conductors, and on the diagonal to infinity.
    pub mutual_farad: Vec<Vec<f64>>,
    /// max |C_ij - C_ji| / max |C_ij|, where both are known.
    pub relative_asymmetry: f64,
}

impl Matrices {
    /// Converts the solver's C/(4 pi eps), a length in `unit`, for a surrounding medium of this
    /// relative permittivity.
    #[must_use]
    pub fn new(
        over_4pi_eps: &[Vec<f64>],
        columns: &[usize],
        permittivity: f64,
        unit: LengthUnit,
    ) -> Self {
        let each = |rows: &[Vec<f64>], f: &dyn Fn(f64) -> f64| -> Vec<Vec<f64>> {
            rows.iter().map(|row| row.iter().map(|&value| f(value)).collect()).collect()
        };
        let maxwell_length = each(over_4pi_eps, &|length| length * permittivity);
        let maxwell_farad = each(&maxwell_length, &|length| units::farads(length, unit));
        Self {
            mutual_farad: with_sums(&maxwell_farad, columns, |c| -c),
            relative_asymmetry: relative_asymmetry(&maxwell_length, columns),
            maxwell_length,
            maxwell_farad,
        }
    }
}

/// Above this number of conductors files have less of matrices: bars of three digits, and
/// results.json one form alone. The other forms follow from it, and are in tables.
pub const MANY: usize = 200;

/// The capacitance matrix with its names, forms and bars.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacitanceMatrix {
    /// All conductors.
    pub conductors: Vec<String>,
    /// Those that were excited, one for each column.
    pub columns: Vec<String>,
    /// Unit of the lengths among its forms.
    pub unit: LengthUnit,
    /// Its forms.
    pub values: Matrices,
    /// Their bars, unless none were wanted.
    pub bars: Option<Matrices>,
}

impl CapacitanceMatrix {
    /// In farad: Q_i = sum_j C_ij V_j.
    #[must_use]
    pub fn maxwell(&self) -> Labelled<'_> {
        self.form(Unit::Farad, |matrices| &matrices.maxwell_farad)
    }

    /// In farad between conductors, and on the diagonal to infinity.
    #[must_use]
    pub fn mutual(&self) -> Labelled<'_> {
        self.form(Unit::Farad, |matrices| &matrices.mutual_farad)
    }

    /// C/(4 pi eps0) in the problem's unit.
    #[must_use]
    pub fn length(&self) -> Labelled<'_> {
        self.form(Unit::Length(self.unit), |matrices| &matrices.maxwell_length)
    }

    fn form(&self, unit: Unit, of: fn(&Matrices) -> &Vec<Vec<f64>>) -> Labelled<'_> {
        Labelled {
            rows: &self.conductors,
            columns: &self.columns,
            values: of(&self.values),
            bars: self.bars.as_ref().map(|bars| of(bars).as_slice()),
            unit,
        }
    }
}

impl Serialize for CapacitanceMatrix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [maxwell, mutual, length] = [self.maxwell(), self.mutual(), self.length()];
        let has_forms = self.conductors.len() <= MANY;
        let [mutual, length] = [mutual, length].map(|form| has_forms.then_some(form));
        let mut fields = serializer.serialize_struct("CapacitanceMatrix", 9)?;
        fields.serialize_field("conductors", &self.conductors)?;
        fields.serialize_field("columns", &self.columns)?;
        fields.serialize_field("maxwell_farad", maxwell.values)?;
        fields.serialize_field("mutual_farad", &mutual.map(|form| form.values))?;
        fields.serialize_field("maxwell_over_4pi_eps0", &length.map(|form| form.values))?;
        fields.serialize_field("relative_asymmetry", &self.values.relative_asymmetry)?;
        fields.serialize_field("maxwell_farad_error", &maxwell.bars)?;
        fields.serialize_field("mutual_farad_error", &mutual.and_then(|form| form.bars))?;
        fields
            .serialize_field("maxwell_over_4pi_eps0_error", &length.and_then(|form| form.bars))?;
        fields.end()
    }
}

/// The SPICE form of a Maxwell matrix: capacitances between conductors, and on the diagonal those
/// to infinity.
#[must_use]
pub fn mutual(maxwell: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let all: Vec<usize> = (0..maxwell.len()).collect();
    with_sums(maxwell, &all, |c| -c)
}

/// A square matrix of these entries.
pub fn square(n: usize, entry: impl Fn(usize, usize) -> f64) -> Vec<Vec<f64>> {
    (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
}

/// The entries off the diagonal changed, and on the diagonal the sums of rows. Where there are
/// only some of the columns, those of rows that are not whole are the columns', by symmetry.
pub(crate) fn with_sums(
    matrix: &[Vec<f64>],
    columns: &[usize],
    off_diagonal: impl Fn(f64) -> f64,
) -> Vec<Vec<f64>> {
    let mut changed: Vec<Vec<f64>> =
        matrix.iter().map(|row| row.iter().map(|c| off_diagonal(*c)).collect()).collect();
    let is_whole = columns.len() == matrix.len();
    for (k, &conductor) in columns.iter().enumerate() {
        changed[conductor][k] = match is_whole {
            true => matrix[conductor].iter().sum(),
            false => matrix.iter().map(|row| row[k]).sum(),
        };
    }
    changed
}

/// One of each pair of entries that are equal by symmetry, in a matrix of `rows` rows and these
/// columns: row and place in the row, row by row.
#[must_use]
pub fn distinct_entries(rows: usize, columns: &[usize]) -> Vec<(usize, usize)> {
    let mut is_column = vec![false; rows];
    columns.iter().for_each(|&conductor| is_column[conductor] = true);
    let is_column = &is_column;
    let of_row = |i: usize| {
        let each = columns.iter().enumerate();
        each.filter(move |(_, conductor)| i <= **conductor || !is_column[i])
            .map(move |(k, _)| (i, k))
    };
    (0..rows).flat_map(of_row).collect()
}

/// The largest difference between an entry and its transposed one, over the largest entry.
#[must_use]
pub fn relative_asymmetry(matrix: &[Vec<f64>], columns: &[usize]) -> f64 {
    let largest = matrix.iter().flatten().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let mut difference = 0.0_f64;
    for (a, &i) in columns.iter().enumerate() {
        for (b, &j) in columns.iter().enumerate() {
            difference = difference.max((matrix[i][b] - matrix[j][a]).abs());
        }
    }
    if largest > 0.0 { difference / largest } else { 0.0 }
}

/// The name of an entry of the capacitance matrix: "C(a, b)", or "C" where there is one conductor.
#[must_use]
pub fn entry_name(names: &[String], i: usize, j: usize) -> String {
    MatrixEntry::new(names, i, j).to_string()
}
