//! Surfaces from files of every format, FastCap's and layouts included.

use std::path::Path;

use formats::fastcap::{self, Model};
use formats::layout::{self, gds, pex25d};
use mesh::Mesh;
use mesh::files::{self, Error, Reading};

use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// Gives the bytes of files.
type Load<'a> = &'a dyn Fn(&Path) -> Result<Vec<u8>, Error>;

/// Reads a FastCap file; panels on one place may contradict each other if this is `lenient`.
pub(crate) fn fastcap_model(path: &Path, lenient: bool, load: Load<'_>) -> Result<Model, Failure> {
    let model = if lenient { fastcap::read_lenient(path, load) } else { fastcap::read(path, load) };
    model.map_err(unreadable)
}

/// Whether it is a file whose conductors are nets: a list of FastCap's, or a layout.
pub(crate) fn has_nets(path: &Path) -> bool {
    fastcap::is_name(path) || is_layout(path)
}

/// Whether the surface may be in several files, of which this one leads to the others.
pub(crate) fn names_others(path: &Path) -> bool {
    has_nets(path) || files::Format::of(path) == Some(files::Format::Msms)
}

/// Whether it is a layout of a chip.
pub(crate) fn is_layout(path: &Path) -> bool {
    gds::is_name(path) || pex25d::is_name(path)
}

/// Reads a layout, with its stack file if it is a GDSII file; records that are not known are
/// skipped if this is `lenient`.
pub(crate) fn layout(
    path: &Path,
    stack: Option<&Path>,
    lenient: bool,
    load: Load<'_>,
) -> Result<layout::Model, Failure> {
    match stack {
        Some(stack) => gds::read(path, stack, lenient, load),
        None => pex25d::read(path, lenient, load),
    }
    .map_err(unreadable)
}

/// Refuses a GDSII file without a stack file, and a stack file for anything else.
pub(crate) fn check_stack(path: &Path, stack: Option<&Path>) -> Result<(), Failure> {
    let (exit, message, help) = match (gds::is_name(path), stack) {
        (true, None) => (
            Exit::BadInput,
            format!("{} does not say at which heights its layers are", path.display()),
            "name a stack file that does, with --stack, or as `stack` in [mesh] of a case; docs/user-guide.md has its keys",
        ),
        (false, Some(stack)) => (
            Exit::Usage,
            format!(
                "the stack file {} is for GDSII layouts (.gds), and {} is none",
                stack.display(),
                path.display()
            ),
            "leave it out",
        ),
        _ => return Ok(()),
    };
    Err(Failure::with_help(exit, message, help))
}

/// Reads a surface, whatever its format; GDSII files need a stack file.
pub(crate) fn read(
    path: &Path,
    stack: Option<&Path>,
    lenient: bool,
) -> Result<(Mesh, Reading), Failure> {
    read_by(path, stack, lenient, &files::load)
}

/// As [`read`], from the bytes that `load` gives.
pub(crate) fn read_by(
    path: &Path,
    stack: Option<&Path>,
    lenient: bool,
    load: Load<'_>,
) -> Result<(Mesh, Reading), Failure> {
    check_stack(path, stack)?;
    if fastcap::is_name(path) {
        return fastcap_model(path, lenient, load).map(|model| (model.mesh, model.reading));
    }
    if is_layout(path) {
        return layout(path, stack, lenient, load).map(|model| (model.mesh, model.reading));
    }
    files::read_by(path, load).map_err(|error| match error {
        Error::Unknown { .. } => {
            let help =
                "FastCap's files (.lst, .qui, .neu) and layouts (.gds, .pex25d) are read too";
            Failure::with_help(Exit::BadInput, error, help)
        }
        other => unreadable(other),
    })
}

/// Shows the notes of the reader.
pub(crate) fn show_notes(path: &Path, reading: &Reading, output: &Output) {
    for note in &reading.notes {
        output.note(&format!("{}: {note}", path.display()));
    }
}

/// Reads a surface and shows the notes of the reader, to be written as a Gmsh mesh, with a note on
/// what that has no place for.
pub(crate) fn read_to_convert(
    path: &Path,
    stack: Option<&Path>,
    output: &Output,
) -> Result<Mesh, Failure> {
    let (mesh, reading) = read(path, stack, true)?;
    show_notes(path, &reading, output);
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
