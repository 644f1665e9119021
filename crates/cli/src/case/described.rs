//! A case for what a file of another program describes: FastCap's list, or a layout.

use std::fmt::Write as _;
use std::path::Path;

use farad::{Conductor, Description, Mirror, Reduction, SurfaceMedia, axis_name};
use formats::fastcap::Model;
use formats::layout;

use super::choices::Overrides;
use super::stack;
use super::toml_text::{list, string};
use crate::paths;
use crate::report::units::shortest as number;
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
    let unit = match overrides.unit {
        Some(unit) => format!("unit = {}", string(unit.name())),
        None => "# FastCap's lengths are metres.\nunit = \"m\"".to_owned(),
    };
    text(
        description,
        model.title.as_deref(),
        Origin { head: &head, source, mesh, unit: &unit },
        overrides,
    )
}

/// The text of a case that computes what a layout's file `source` describes.
pub(super) fn of_layout(
    model: &layout::Model,
    source: &Path,
    mesh: &str,
    overrides: &Overrides,
) -> Result<String, Failure> {
    let head = format!("The nets of the layout {}.", printable(&source.to_string_lossy()));
    let unit = format!("unit = {}", string(model.description.unit.name()));
    text(
        &model.description,
        model.title.as_deref(),
        Origin { head: &head, source, mesh, unit: &unit },
        overrides,
    )
}

/// The text of a case for the solvation energy of a PQR file's atoms in water.
pub(super) fn of_molecule(source: &Path) -> Result<String, Failure> {
    let file = source.file_name().unwrap_or_default().to_string_lossy();
    if file.chars().any(char::is_control) {
        return Err(unnameable(&file));
    }
    let head = printable(&source.to_string_lossy());
    let file = string(&file);
    Ok(format!("# The molecule of {head}.\nformat = 1\n\n[[molecule]]\npqr = {file}\n"))
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
    /// The file that it is of.
    source: &'a Path,
    /// The mesh's path as seen from the case.
    mesh: &'a str,
    /// The line of its unit.
    unit: &'a str,
}

/// The text of a case for what is described.
fn text(
    description: &Description,
    title: Option<&str>,
    Origin { head, source, mesh, unit }: Origin<'_>,
    overrides: &Overrides,
) -> Result<String, Failure> {
    if mesh.chars().any(char::is_control) {
        return Err(unnameable(mesh));
    }
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let mut text = format!("# {head}\n");
    let title = printable(title.unwrap_or(&stem));
    let _ =
        write!(text, "format = 1\ntitle = {}\n\n[mesh]\nfile = {}\n", string(&title), string(mesh));
    let _ = writeln!(text, "{unit}");
    if let Some(stack) = &overrides.stack {
        let folder = source.parent().unwrap_or(Path::new(""));
        let _ = writeln!(text, "stack = {}", string(&paths::relative(folder, stack)));
    }
    if overrides.lenient {
        text += "lenient = true\n";
    }
    if let Some(stack) = &description.stack {
        let beyond = |of| match stack::beyond(of) {
            Ok(permittivity) => number(permittivity),
            Err(ground) => string(ground),
        };
        let (axis, at) = (string(axis_name(stack.axis)), number(stack.at));
        let (below, above) = (beyond(stack.below), beyond(stack.above));
        let _ =
            write!(text, "\n[stack]\naxis = {axis}\nat = {at}\nbelow = {below}\nabove = {above}\n");
        for layer in &stack.layers {
            let (thickness, permittivity) = (number(layer.thickness), number(layer.permittivity));
            let _ = write!(
                text,
                "\n[[layer]]\nthickness = {thickness}\nrelative_permittivity = {permittivity}\n"
            );
        }
        // Finer ones may need more images than there can be.
        let tolerance = number(stack.tolerance / stack::FINER);
        let _ = write!(text, "\n[solver]\ntolerance = {tolerance}\n");
    } else {
        let permittivity = number(description.relative_permittivity);
        let _ = write!(text, "\n[medium]\nrelative_permittivity = {permittivity}\n");
    }
    for Mirror { plane, odd } in &description.planes {
        let (axis, at) = (string(axis_name(plane.axis)), number(plane.at));
        let kind = string(if *odd { "ground" } else { "symmetric" });
        let _ = write!(text, "\n[[plane]]\naxis = {axis}\nat = {at}\nkind = {kind}\n");
    }
    for Conductor { name, groups, .. } in &description.conductors {
        let (name, groups) = (string(name), list(groups));
        let _ = write!(text, "\n[[conductor]]\nname = {name}\ngroup = {groups}\n");
    }
    for SurfaceMedia { groups, sides } in &description.surfaces {
        let groups = list(groups);
        let [front, back] = sides.map(number);
        let _ = write!(text, "\n[[surface]]\ngroup = {groups}\nfront = {front}\nback = {back}\n");
    }
    for Reduction { name, floating, grounded, .. } in &description.reductions {
        let _ = write!(text, "\n[[reduce]]\nname = {}\n", string(name));
        for (key, names) in [("floating", floating), ("grounded", grounded)] {
            if !names.is_empty() {
                let _ = writeln!(text, "{key} = {}", list(names));
            }
        }
    }
    Ok(text)
}

/// Text without control characters, which case files do not take.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
