//! A FastCap list file as a case.

use std::fmt::Write as _;
use std::path::Path;

use mesh::fastcap::{Model, Part, Role};

use super::resolved::{list, string};
use crate::report::units::shortest as number;
use crate::terminal::exit::{Exit, Failure};

/// Whether the name is that of a list file, or of panels alone.
pub(crate) fn is_list(path: &Path) -> bool {
    mesh::files::Format::of(path) == Some(mesh::files::Format::FastCap)
}

/// The text of a case that computes what FastCap would of `list`; `mesh` is the mesh's path as seen from the case.
pub(crate) fn text(model: &Model, source: &Path, mesh: &str) -> Result<String, Failure> {
    if model.conductors.is_empty() {
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
    let single = model.single_medium();
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let shown = printable(&source.to_string_lossy());
    let mut text = format!("# The conductors of FastCap's {shown}.\n");
    let title = printable(model.title.as_deref().unwrap_or(&stem));
    let _ = write!(
        text,
        "format = 1\ntitle = {}\n\n[mesh]\nfile = {}\n# FastCap's lengths are metres.\nunit = \"m\"\n\n[medium]\n\
         relative_permittivity = {}\n",
        string(&title),
        string(mesh),
        number(single.unwrap_or(1.0)),
    );
    for (index, name) in model.conductors.iter().enumerate() {
        let own = |role: &Role| match *role {
            Role::Conductor { conductor, .. } | Role::ThinConductor { conductor, .. } => {
                conductor == index
            }
            Role::Interface { .. } => false,
        };
        let groups = model.parts.iter().filter(|part| own(&part.role));
        let groups = list(groups.map(|part| part.group.as_str()));
        let _ = write!(text, "\n[[conductor]]\nname = {}\ngroup = {groups}\n", string(name));
    }
    if single.is_none() {
        text.extend(model.parts.iter().map(sides));
    }
    Ok(text)
}

/// Text without control characters, which case files do not take.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// What is on both sides of a part, as a table of the case; normals point to the outer side.
fn sides(part: &Part) -> String {
    let (front, back) = match part.role {
        Role::Conductor { outer, .. } => (outer, outer),
        Role::Interface { outer, inner } | Role::ThinConductor { outer, inner, .. } => {
            (outer, inner)
        }
    };
    let group = string(&part.group);
    let (front, back) = (number(front), number(back));
    format!("\n[[surface]]\ngroup = {group}\nfront = {front}\nback = {back}\n")
}
