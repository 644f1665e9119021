//! A case for what a file of another program describes: FastCap's list, or a layout.

use std::path::Path;

use farad::Description;
use formats::fastcap::Model;
use formats::layout;

use super::case_text::CaseText;
use super::choices::Overrides;
use super::tables::{
    ConductorTable, FORMAT, LayerTable, MediumTable, MeshTable, MoleculeTable, PlaneTable,
    ReduceTable, SolverTable, StackTable, SurfaceTable, TopTable, stack,
};
use crate::paths;
use crate::terminal::exit::{Exit, Failure};

/// The text of a case that computes what FastCap would compute from the file `source`; `mesh` is
/// the mesh's path as seen from the case.
pub(crate) fn of_list(
    model: &Model,
    source: &Path,
    mesh: &str,
    overrides: &Overrides,
) -> Result<String, Failure> {
    let description = &model.description;
    if description.conductors.is_empty() {
        return Err(Failure::with_help(
            Exit::BadInput,
            format!("{} cannot be solved: it has no conductor", source.display()),
            "conductors are lines that begin with C or B; `farad mesh convert` turns the list into a mesh as it is",
        ));
    }
    let head = format!("The conductors of FastCap's {}.", printable(&source.to_string_lossy()));
    let origin = Origin { head: &head, title: model.title.as_deref(), source, mesh };
    match overrides.unit {
        Some(unit) => text(&description.clone().unit(unit), origin, None, overrides),
        None => text(description, origin, Some("# FastCap's lengths are metres."), overrides),
    }
}

/// The text of a case that computes what a layout's file `source` describes.
pub(super) fn of_layout(
    model: &layout::Model,
    source: &Path,
    mesh: &str,
    overrides: &Overrides,
) -> Result<String, Failure> {
    let head = format!("The nets of the layout {}.", printable(&source.to_string_lossy()));
    let origin = Origin { head: &head, title: model.title.as_deref(), source, mesh };
    text(&model.description, origin, None, overrides)
}

/// The text of a case for the solvation energy of a PQR file's atoms in water.
pub(super) fn of_molecule(source: &Path) -> Result<String, Failure> {
    let file = source.file_name().unwrap_or_default().to_string_lossy();
    if file.chars().any(char::is_control) {
        return Err(unnameable(&file));
    }
    let mut text = CaseText::default();
    text.line(&format!("# The molecule of {}.", printable(&source.to_string_lossy())));
    text.table(&TopTable { format: FORMAT.into(), ..TopTable::default() });
    let pqr = file.into_owned().into();
    text.table(&MoleculeTable { pqr, ..MoleculeTable::default() });
    Ok(text.finish())
}

fn unnameable(file: &str) -> Failure {
    Failure::with_help(
        Exit::BadInput,
        format!(
            "a case file cannot name {file:?}: it has a line break or another control character"
        ),
        "give the file another name, or choose one with --output",
    )
}

/// Where a case comes from.
#[derive(Clone, Copy)]
struct Origin<'a> {
    /// The first line of its text.
    head: &'a str,
    title: Option<&'a str>,
    /// The file that it is of.
    source: &'a Path,
    /// The mesh's path as seen from the case.
    mesh: &'a str,
}

/// The text of a case for what is described, with a comment on its unit.
fn text(
    description: &Description,
    Origin { head, title, source, mesh }: Origin<'_>,
    of_unit: Option<&'static str>,
    overrides: &Overrides,
) -> Result<String, Failure> {
    if mesh.chars().any(char::is_control) {
        return Err(unnameable(mesh));
    }
    let mut text = CaseText::default();
    text.line(&format!("# {head}"));
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    text.table(&TopTable::of(&printable(title.unwrap_or(&stem))));
    let folder = source.parent().unwrap_or(Path::new(""));
    let table = MeshTable {
        file: mesh.to_owned().into(),
        unit: description.unit.into(),
        stack: overrides.stack.as_ref().map(|stack| paths::relative(folder, stack)).into(),
        lenient: overrides.lenient.then_some(true).into(),
        ..MeshTable::default()
    };
    text.commented_table(&table, |key| of_unit.filter(|_| key == "unit"));
    if let Some(stack) = &description.stack {
        text.table(&StackTable::of(stack));
        text.tables(stack.layers.iter().map(LayerTable::of));
        // Finer ones may need more images than there can be.
        let tolerance = stack.tolerance / stack::FINER;
        text.table(&SolverTable { tolerance: tolerance.into(), ..SolverTable::default() });
    } else {
        let relative_permittivity = description.relative_permittivity.into();
        text.table(&MediumTable { relative_permittivity, ..MediumTable::default() });
    }
    text.tables(description.planes.iter().map(PlaneTable::of));
    text.tables(description.conductors.iter().map(ConductorTable::of));
    text.tables(description.surfaces.iter().map(SurfaceTable::of));
    text.tables(description.reductions.iter().map(ReduceTable::of));
    Ok(text.finish())
}

/// Text without control characters, which case files do not take.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
