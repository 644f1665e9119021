//! Matrices in results: the names of their files, and the units of derivatives.

use farad::Parameter;

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

/// What one unit of a parameter's derivative is.
pub(super) fn per_unit(by: &Parameter) -> &'static str {
    match by {
        Parameter::Shift(_) | Parameter::Thickness(_) => "F/m",
        Parameter::Permittivity(_) | Parameter::OfLayer(_) => "F",
    }
}
