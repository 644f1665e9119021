//! A FastCap list file as a case.

use std::fmt::Write as _;
use std::path::Path;

use mesh::fastcap::{Model, Role};

use super::resolved::{list, string};
use crate::exit::{Exit, Failure};
use crate::units::shortest as number;

/// Whether the name is that of a list file, or of panels alone.
pub(crate) fn is_list(path: &Path) -> bool {
    mesh::files::Format::of(path) == Some(mesh::files::Format::FastCap)
}

/// The text of a case that computes what FastCap would of `list`; `mesh` is the mesh's path as seen from the case.
pub(crate) fn text(model: &Model, source: &Path, mesh: &str) -> Result<String, Failure> {
    let Some(permittivity) = model.single_medium() else {
        return Err(several_media(model, source));
    };
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let mut text = format!("# The conductors of FastCap's {}.\n", source.display());
    let title = model.title.as_deref().unwrap_or(&stem);
    let _ = write!(
        text,
        "format = 1\ntitle = {}\n\n[mesh]\nfile = {}\n# FastCap's lengths are metres.\nunit = \"m\"\n\n[medium]\n\
         relative_permittivity = {}\n",
        string(title),
        string(mesh),
        number(permittivity),
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
    Ok(text)
}

/// Media that meet, of which no case can be made yet.
fn several_media(model: &Model, source: &Path) -> Failure {
    let interfaces = model.parts.iter().filter(|part| matches!(part.role, Role::Interface { .. }));
    let found = match (interfaces.count(), model.conductors.len()) {
        (_, 0) => "it has no conductor".to_owned(),
        (0, _) => "its conductors lie in media of different permittivities".to_owned(),
        _ => "it has interfaces of dielectrics (lines that begin with D or B)".to_owned(),
    };
    Failure::with_help(
        Exit::BadInput,
        format!("{} cannot be solved: {found}", source.display()),
        "farad solves conductors in one homogeneous medium so far; `farad mesh convert` turns the list into a mesh with a group \
         for each part",
    )
}
