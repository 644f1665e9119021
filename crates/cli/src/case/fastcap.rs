//! A FastCap list file as a case.

use std::fmt::Write as _;
use std::path::Path;

use farad::fastcap::Model;
use farad::{Conductor, SurfaceMedia};

use super::Overrides;
use super::resolved::{list, string};
use crate::report::units::shortest as number;
use crate::terminal::exit::{Exit, Failure};

/// The text of a case that computes what FastCap would compute from the file `source`; `mesh` is
/// the mesh's path as seen from the case.
pub(crate) fn text(
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
    if mesh.chars().any(char::is_control) {
        return Err(Failure::with_help(
            Exit::BadInput,
            format!(
                "a case file cannot name {mesh:?}: it has a line break or another control character"
            ),
            "give the file another name, or choose one with --output",
        ));
    }
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let shown = printable(&source.to_string_lossy());
    let mut text = format!("# The conductors of FastCap's {shown}.\n");
    let title = printable(model.title.as_deref().unwrap_or(&stem));
    let _ =
        write!(text, "format = 1\ntitle = {}\n\n[mesh]\nfile = {}\n", string(&title), string(mesh));
    let _ = match overrides.unit {
        Some(unit) => writeln!(text, "unit = {}", string(unit.name())),
        None => writeln!(text, "# FastCap's lengths are metres.\nunit = \"m\""),
    };
    if overrides.lenient {
        text += "lenient = true\n";
    }
    let permittivity = number(description.relative_permittivity);
    let _ = write!(text, "\n[medium]\nrelative_permittivity = {permittivity}\n");
    for Conductor { name, groups, .. } in &description.conductors {
        let (name, groups) = (string(name), list(groups));
        let _ = write!(text, "\n[[conductor]]\nname = {name}\ngroup = {groups}\n");
    }
    for SurfaceMedia { groups, sides } in &description.surfaces {
        let groups = list(groups);
        let [front, back] = sides.map(number);
        let _ = write!(text, "\n[[surface]]\ngroup = {groups}\nfront = {front}\nback = {back}\n");
    }
    Ok(text)
}

/// Text without control characters, which case files do not take.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
