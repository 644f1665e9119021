//! From a case to its problem: reads the mesh.

use farad::Problem;
use mesh::Mesh;

use crate::case::{Case, told};
use crate::surfaces;
use crate::terminal::exit::Failure;
use crate::terminal::interrupt;
use crate::terminal::output::Output;

/// Reads the mesh of `case`, checks it, and finds its conductors.
pub(crate) fn load(case: &Case, output: &Output) -> Result<Problem, Failure> {
    let file = &case.mesh;
    let (mesh, reading) = surfaces::read_with_notes(file, output)?;
    tracing::info!(
        vertices = mesh.vertices.len(),
        triangles = mesh.triangles.len(),
        "read {} ({})",
        file.display(),
        reading.format
    );
    interrupt::check()?;
    let problem = prepare(case, mesh)?;
    problem.notes().iter().for_each(|note| output.note(&told(case, note)));
    Ok(problem)
}

/// The problem of `case` on `mesh`: its own, or one made from it.
pub(crate) fn prepare(case: &Case, mesh: Mesh) -> Result<Problem, Failure> {
    Problem::new(case.description.clone(), mesh).map_err(|error| case.failed(error))
}
