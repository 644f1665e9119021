//! The matrices' files in the forms of other programs.

use formats::matrices::{Palace, Written, matrix_market, palace, q3d, spice};

use super::folder::Folder;
use crate::case::{Case, Format};
use crate::terminal::exit::Failure;

/// The files of a format.
pub(super) fn file_names(format: Format, reduction: Option<&str>) -> Vec<String> {
    let tail = reduction.map_or_else(String::new, |name| format!("_{name}"));
    match format {
        Format::MatrixMarket => vec![match reduction {
            None => "capacitance_maxwell.mtx".to_owned(),
            Some(name) => format!("capacitance_{name}.mtx"),
        }],
        Format::Spice => vec![format!("capacitance{tail}.sp")],
        Format::Palace => {
            ["C", "Cm", "Cinv"].map(|kind| format!("terminal-{kind}{tail}.csv")).to_vec()
        }
        Format::Q3d => vec![format!("capacitance{tail}_q3d.txt")],
    }
}

/// All files of the formats of `case`.
pub(super) fn all_names(case: &Case) -> Vec<String> {
    let reductions = case.description.reductions.iter().map(|reduction| Some(&reduction.name[..]));
    let matrices: Vec<Option<&str>> = [None].into_iter().chain(reductions).collect();
    let each = |&format| matrices.iter().flat_map(move |matrix| file_names(format, *matrix));
    case.formats.iter().flat_map(each).collect()
}

/// Writes the files of all formats of `case`.
pub(super) fn write_all(
    folder: &mut Folder,
    case: &Case,
    written: &Written<'_>,
) -> Result<(), Failure> {
    // Only cases with whole matrices have any.
    for &format in &case.formats {
        let files = file_names(format, written.reduction);
        match (format, &files[..]) {
            (Format::Palace, [maxwell, mutual, inverse]) => {
                folder.stage(maxwell, |out| palace(out, written, Palace::Maxwell))?;
                folder.stage(mutual, |out| palace(out, written, Palace::Mutual))?;
                folder.stage(inverse, |out| palace(out, written, Palace::Inverse))?;
            }
            (_, [file, ..]) => folder.stage(file, |out| match format {
                Format::MatrixMarket => matrix_market(out, written),
                Format::Spice => spice(out, written, case.spice_threshold),
                _ => q3d(out, written),
            })?,
            _ => {}
        }
    }
    Ok(())
}
