//! Surfaces from files of every format, FastCap's and layouts included.

use std::path::Path;

use farad::fastcap::{self, Model};
use farad::pex25d;
use mesh::Mesh;
use mesh::files::{self, Error, Reading};

use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// Reads a FastCap file; panels on one place may contradict each other if this is `lenient`.
pub(crate) fn fastcap_model(path: &Path, lenient: bool) -> Result<Model, Failure> {
    let model = if lenient {
        fastcap::read_lenient(path, files::load)
    } else {
        fastcap::read(path, files::load)
    };
    model.map_err(unreadable)
}

/// Whether it is a file whose conductors are nets: a list of FastCap's, or a layout.
pub(crate) fn has_nets(path: &Path) -> bool {
    fastcap::is_name(path) || pex25d::is_name(path)
}

/// Reads a layout; records that are not known are skipped if this is `lenient`.
pub(crate) fn layout(path: &Path, lenient: bool) -> Result<pex25d::Model, Failure> {
    pex25d::read(path, lenient, files::load).map_err(unreadable)
}

/// Reads a surface, whatever its format.
pub(crate) fn read(path: &Path, lenient: bool) -> Result<(Mesh, Reading), Failure> {
    if fastcap::is_name(path) {
        return fastcap_model(path, lenient).map(|model| (model.mesh, model.reading));
    }
    if pex25d::is_name(path) {
        return layout(path, lenient).map(|model| (model.mesh, model.reading));
    }
    files::read(path).map_err(|error| match error {
        Error::Unknown { .. } => {
            let help = "FastCap's files (.lst, .qui, .neu) and layouts (.pex25d) are read too";
            Failure::with_help(Exit::BadInput, error, help)
        }
        other => unreadable(other),
    })
}

/// The same, with the notes of the reader shown.
pub(crate) fn read_with_notes(
    path: &Path,
    lenient: bool,
    output: &Output,
) -> Result<(Mesh, Reading), Failure> {
    let (mesh, reading) = read(path, lenient)?;
    for note in &reading.notes {
        output.note(&format!("{}: {note}", path.display()));
    }
    Ok((mesh, reading))
}

/// The same, to be written as a Gmsh mesh, with a note on what that has no place for.
pub(crate) fn read_to_convert(path: &Path, output: &Output) -> Result<Mesh, Failure> {
    let (mesh, reading) = read_with_notes(path, true, output)?;
    if reading.normals.is_some() {
        output.note(&format!(
            "{}: its normals are not written, since .msh has no place for them; [mesh] smooth uses them where a case names the file itself",
            path.display()
        ));
    }
    Ok(mesh)
}

/// The failure for a surface that cannot be read: the system's fault or the file's.
pub(crate) fn unreadable(error: Error) -> Failure {
    let exit = match error {
        Error::Io { .. } => Exit::Io,
        _ => Exit::BadInput,
    };
    Failure::new(exit, error)
}
