//! From a case to its problem: reads the mesh.

use std::path::Path;

use farad::{Note, Problem};
use mesh::files::Reading;
use mesh::{Mesh, lift};

use crate::case::{Case, told};
use crate::report::units;
use crate::surfaces;
use crate::terminal::exit::Failure;
use crate::terminal::interrupt;
use crate::terminal::output::Output;

/// Reads a mesh for `case`, and smooths it if the case asks for that.
pub(crate) fn read(case: &Case, file: &Path, output: &Output) -> Result<(Mesh, Reading), Failure> {
    // A sweep may vary the mesh.
    let stack = case.stack.as_deref().filter(|_| farad::layout::gds::is_name(file));
    let lenient = case.description.lenient;
    let (mesh, reading) = surfaces::read_with_notes(file, stack, lenient, output)?;
    let Some(angle) = case.smooth else { return Ok((mesh, reading)) };
    if mesh.patches.is_some() {
        let name = file.display();
        output.note(&format!("{name}: its triangles are curved, [mesh] smooth has no effect"));
        return Ok((mesh, reading));
    }
    let Some(normals) = &reading.normals else {
        return Ok((lift::smooth(&mesh, angle), reading));
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
    Ok((lifted, reading))
}

/// Reads the mesh of `case`, checks it, and finds its conductors.
pub(crate) fn load(case: &Case, output: &Output) -> Result<Problem, Failure> {
    let file = &case.mesh;
    let (mesh, reading) = read(case, file, output)?;
    tracing::info!(
        vertices = mesh.vertices.len(),
        triangles = mesh.triangles.len(),
        "read {} ({})",
        file.display(),
        reading.format
    );
    interrupt::check()?;
    let problem = prepare(case, mesh)?;
    tell(case, &problem, output);
    Ok(problem)
}

/// Shows the notes on the surfaces of `case`.
pub(crate) fn tell(case: &Case, problem: &Problem, output: &Output) {
    // In FastCap's files and in layouts, conductors of several pieces are the rule.
    let is_list = surfaces::has_nets(&case.mesh);
    let is_usual = |note: &Note| is_list && matches!(note, Note::Separate(_));
    for note in problem.notes().iter().filter(|note| !is_usual(note)) {
        output.note(&told(case, note));
    }
}

/// The problem of `case` on `mesh`: its own, or one made from it.
pub(crate) fn prepare(case: &Case, mesh: Mesh) -> Result<Problem, Failure> {
    Problem::new(case.description.clone(), mesh).map_err(|error| case.failed(error))
}
