//! The tables of matrices, and the names of their files.

use farad::{CapacitanceMatrix, Derivative, Labelled, Parameter, Reduced};
use formats::matrices::Written;

use super::folder::Folder;
use super::run::Run;
use super::{csv, exports};
use crate::terminal::exit::Failure;

pub(super) const MAXWELL: &str = "capacitance_maxwell.csv";
pub(super) const MUTUAL: &str = "capacitance_mutual.csv";
pub(super) const MAXWELL_ERROR: &str = "capacitance_maxwell_error.csv";
pub(super) const MUTUAL_ERROR: &str = "capacitance_mutual_error.csv";

/// The file of a reduction's matrix.
pub(super) fn reduced_file(name: &str) -> String {
    format!("capacitance_{name}.csv")
}

/// The file of its bars.
pub(super) fn reduced_error_file(name: &str) -> String {
    format!("capacitance_{name}_error.csv")
}

/// The files of a derivative's matrices, and with another end those of their bars.
pub(super) fn sensitivity_files(name: &str, by: &Parameter, end: &str) -> Vec<String> {
    match by {
        Parameter::Shift(_) => {
            ["x", "y", "z"].map(|axis| format!("sensitivity_{name}_{axis}{end}.csv")).to_vec()
        }
        _ => vec![format!("sensitivity_{name}{end}.csv")],
    }
}

/// Writes the tables of all matrices, with `mark` in their corners.
pub(super) fn write_all(
    folder: &mut Folder,
    run: &Run<'_>,
    capacitance: &CapacitanceMatrix,
    reduced: &[Reduced],
    mark: &str,
) -> Result<(), Failure> {
    let (maxwell, mutual) = (capacitance.maxwell(), capacitance.mutual());
    let stage = |folder: &mut Folder, file: &str, what: &str, matrix: Labelled<'_>| {
        let corner = format!("unit: farad; {what}{mark}");
        folder.stage(file, |out| csv::matrix(out, &corner, matrix))
    };
    // Dielectrics alone have no matrix.
    if !capacitance.columns.is_empty() {
        stage(folder, MAXWELL, "Maxwell matrix: Q_i = sum_j C_ij V_j", maxwell)?;
        let what = "mutual (SPICE) form: C_ij between i and j; C_ii from i to infinity";
        stage(folder, MUTUAL, what, mutual)?;
        if let (Some(maxwell), Some(mutual)) = (maxwell.of_bars(), mutual.of_bars()) {
            stage(folder, MAXWELL_ERROR, "error bars of the Maxwell matrix", maxwell)?;
            stage(folder, MUTUAL_ERROR, "error bars of the mutual form", mutual)?;
        }
    }
    let title = &run.case.title;
    let (names, maxwell_farad) = (maxwell.rows, maxwell.values);
    let written = Written { title, reduction: None, mark, names, maxwell_farad };
    exports::write_all(folder, run.case, &written)?;
    for found in reduced {
        let (name, matrix) = (&found.name, found.matrix());
        let (names, maxwell_farad) = (matrix.rows, matrix.values);
        let written = Written { title, reduction: Some(name), mark, names, maxwell_farad };
        exports::write_all(folder, run.case, &written)?;
        let what = format!("Maxwell matrix of the reduction {name}");
        stage(folder, &reduced_file(name), &what, matrix)?;
        if let Some(bars) = matrix.of_bars() {
            let what = format!("error bars of the reduction {name}");
            stage(folder, &reduced_error_file(name), &what, bars)?;
        }
    }
    for derivative in &run.solution.derivatives {
        let Derivative { name, by, unit, .. } = derivative;
        for (end, of, all) in
            [("", "", &derivative.matrices), ("_error", "error bars of the ", &derivative.bars)]
        {
            let what = format!("{of}sensitivity {name} in {unit}");
            for (file, values) in sensitivity_files(name, by, end).iter().zip(all) {
                stage(folder, file, &what, Labelled { values, bars: None, ..maxwell })?;
            }
        }
    }
    Ok(())
}
