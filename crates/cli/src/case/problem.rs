//! From a case to its problem: reads the mesh.

use std::path::Path;

use farad::{Note, Problem};
use mesh::join::with_group;
use mesh::{Mesh, lift};

use super::definition::Case;
use super::faults;
use crate::molecules;
use crate::report::units;
use crate::surfaces;
use crate::terminal::exit::Failure;
use crate::terminal::interrupt;
use crate::terminal::output::Output;

/// The mesh of `case`: what `file` has, and the surfaces of molecules.
pub(crate) fn read(case: &Case, file: Option<&Path>, output: &Output) -> Result<Mesh, Failure> {
    with_molecules(case, file, 1.0, output)
}

/// The mesh with `times` as many triangles of molecules.
pub(crate) fn with_molecules(
    case: &Case,
    file: Option<&Path>,
    times: f64,
    output: &Output,
) -> Result<Mesh, Failure> {
    let mut mesh = match file {
        Some(file) => of_file(case, file, output)?,
        None => Mesh::default(),
    };
    case.check_overlaps()?;
    let unit = case.description.unit;
    for molecule in case.molecules.iter().map(|molecule| molecule.refined(times)) {
        let layer = molecule.stern.map(|stern| (stern.dielectric, molecule.around(stern)));
        for (of, options) in [(molecule.dielectric, molecule.options)].into_iter().chain(layer) {
            interrupt::check()?;
            let name = &case.description.dielectrics[of].name;
            if mesh.groups.iter().any(|group| group.label() == *name) {
                return Err(case.group_exists(of));
            }
            let atoms = &case.atoms[molecule.dielectric];
            let made = molecules::surface(&molecule.file, atoms, &options)?;
            molecules::show_notes(name, &made.info, &options, output);
            mesh = with_group(mesh, name, molecules::in_unit(made.mesh, unit));
        }
    }
    Ok(mesh)
}

/// Reads a mesh for `case`, and smooths it if the case asks for that.
fn of_file(case: &Case, file: &Path, output: &Output) -> Result<Mesh, Failure> {
    let (mesh, reading) = case.surface(file)?;
    surfaces::show_notes(file, &reading, output);
    tracing::info!(
        vertices = mesh.vertices.len(),
        triangles = mesh.triangles.len(),
        "read {} ({})",
        file.display(),
        reading.format
    );
    let Some(angle) = case.smooth else { return Ok(mesh) };
    if mesh.patches.is_some() {
        let name = file.display();
        output.note(&format!("{name}: its triangles are curved, [mesh] smooth has no effect"));
        return Ok(mesh);
    }
    let Some(normals) = &reading.normals else {
        return Ok(lift::smooth(&mesh, angle));
    };
    let (lifted, unfit) = lift::smooth_by(&mesh, angle, normals);
    if unfit > 0 {
        output.note(&format!(
            "{}: {} of the file's {} not fit the triangles at {}: [mesh] smooth uses theirs there",
            file.display(),
            units::count(unfit as u64),
            if unfit == 1 { "normals does" } else { "normals do" },
            if unfit == 1 { "its vertex" } else { "their vertices" },
        ));
    }
    Ok(lifted)
}

/// Reads the mesh of `case`, checks it, and finds its conductors.
pub(crate) fn load(case: &Case, output: &Output) -> Result<Problem, Failure> {
    let mesh = read(case, case.mesh.as_deref(), output)?;
    interrupt::check()?;
    let problem = prepare(case, mesh)?;
    show_notes(case, &problem, output);
    Ok(problem)
}

/// Shows the notes on `case` and on its surfaces.
pub(crate) fn show_notes(case: &Case, problem: &Problem, output: &Output) {
    case.notes.iter().for_each(|note| output.note(note));
    // In FastCap's files and in layouts, conductors of several pieces are the rule.
    let is_list = case.mesh.as_deref().is_some_and(surfaces::has_nets);
    let is_usual = |note: &Note| is_list && matches!(note, Note::Separate(_));
    for note in problem.notes().iter().filter(|note| !is_usual(note)) {
        output.note(&faults::note_text(case, note));
    }
}

/// The problem of `case` on `mesh`: its own, or one made from it.
pub(crate) fn prepare(case: &Case, mesh: Mesh) -> Result<Problem, Failure> {
    Problem::new(case.description.clone(), mesh).map_err(|error| case.failed(error))
}
