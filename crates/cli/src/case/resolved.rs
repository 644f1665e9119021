//! The resolved case: every default filled in, paths relative to the file itself.

use std::path::Path;

use super::probe::Place;
use super::{Case, ResolvedConductor, Setting};
use crate::paths;
use crate::units::shortest as number;

/// The text of `case.resolved.toml` for a file in `folder`.
pub(super) fn text(case: &Case, folder: &Path, conductors: &[ResolvedConductor]) -> String {
    let mut lines = vec![
        format!(
            "# Every setting of a run of farad {}. It can be run again as it is:",
            env!("CARGO_PKG_VERSION")
        ),
        "# paths are relative to this file, and the results go to the folder that it lies in."
            .to_owned(),
        format!("format = {}", super::schema::FORMAT),
        format!("title = {}", string(&case.title)),
        String::new(),
        "[mesh]".to_owned(),
        format!("file = {}", string(&paths::relative(folder, &case.mesh.file))),
        format!("unit = {}", string(case.mesh.unit.name())),
        format!("ignore = {}", list(case.mesh.ignore.iter().map(|group| group.value.as_str()))),
        String::new(),
        "[medium]".to_owned(),
        format!("relative_permittivity = {}", number(case.relative_permittivity)),
        String::new(),
    ];
    for dielectric in &case.dielectrics {
        lines.extend([
            "[[dielectric]]".to_owned(),
            format!("name = {}", string(&dielectric.name.value)),
            format!("relative_permittivity = {}", number(dielectric.relative_permittivity)),
            format!("group = {}", list(dielectric.groups.iter().map(|g| g.value.as_str()))),
        ]);
        if let Some(file) = &dielectric.charges {
            lines.push(format!("charges = {}", string(&paths::relative(folder, &file.value))));
        }
        lines.push(String::new());
    }
    for surface in &case.surfaces {
        lines.extend([
            "[[surface]]".to_owned(),
            format!("group = {}", list(surface.groups.iter().map(|g| g.value.as_str()))),
            format!("front = {}", number(surface.sides[0])),
            format!("back = {}", number(surface.sides[1])),
            String::new(),
        ]);
    }
    if conductors.iter().any(|conductor| conductor.groups.is_empty()) {
        lines.push(
            "# The mesh has no groups: each body joined by shared edges is a conductor.".to_owned(),
        );
        lines.push(String::new());
    } else {
        for ResolvedConductor { name, groups } in conductors {
            lines.push("[[conductor]]".to_owned());
            lines.push(format!("name = {}", string(name)));
            lines.push(format!("group = {}", list(groups.iter().map(String::as_str))));
            let setting = case.conductors.iter().find(|listed| listed.name.value == *name);
            match setting.and_then(|listed| listed.setting) {
                Some(Setting::Potential(volt)) => {
                    lines.push(format!("potential = {}", number(volt)))
                }
                Some(Setting::Charge(coulomb)) => {
                    lines.push(format!("charge = {}", number(coulomb)))
                }
                None => {}
            }
            lines.push(String::new());
        }
    }
    for plane in &case.planes {
        lines.extend([
            "[[plane]]".to_owned(),
            format!("axis = {}", string(plane.axis())),
            format!("at = {}", number(plane.mirror.plane.at)),
            format!("kind = {}", string(plane.kind())),
            String::new(),
        ]);
    }
    for charge in &case.charges {
        lines.extend([
            "[[charge]]".to_owned(),
            format!("position = {}", vector(&charge.position.value)),
            format!("charge = {}", number(charge.value)),
            format!("unit = {}", string(if charge.elementary { "e" } else { "C" })),
            String::new(),
        ]);
    }
    lines.extend([
        "[external]".to_owned(),
        format!("field = {}", vector(&case.field)),
        String::new(),
    ]);
    for probe in &case.probes {
        lines.extend(["[[probe]]".to_owned(), format!("name = {}", string(&probe.name.value))]);
        match &probe.place {
            Place::File(file) => {
                lines.push(format!("file = {}", string(&paths::relative(folder, file))));
            }
            Place::Line { from, to, count } => lines.extend([
                format!("from = {}", vector(from)),
                format!("to = {}", vector(to)),
                format!("count = {count}"),
            ]),
            Place::Grid { low, high, counts } => lines.extend([
                format!("low = {}", vector(low)),
                format!("high = {}", vector(high)),
                format!("counts = {counts:?}"),
            ]),
        }
        lines.push(String::new());
    }
    if let Some(diffusion) = &case.diffusion {
        lines.extend([
            "[diffusion]".to_owned(),
            format!("temperature = {}", number(diffusion.temperature)),
            format!("viscosity = {}", number(diffusion.viscosity)),
            String::new(),
        ]);
    }
    lines.extend([
        "[solver]".to_owned(),
        format!("tolerance = {}", number(case.solver.tolerance)),
        format!("method = {}", string(case.solver.method.name())),
        format!("restart = {}", case.solver.restart),
        format!("max_iterations = {}", case.solver.max_iterations),
        String::new(),
    ]);
    if let Some(tolerance) = case.fmm_tolerance {
        lines.extend([
            "[fmm]".to_owned(),
            format!("tolerance = {}", number(tolerance)),
            String::new(),
        ]);
    }
    lines.extend([
        "[output]".to_owned(),
        "directory = \".\"".to_owned(),
        format!("vtk = {}", string(case.vtk.name())),
        format!("forces = {}", case.forces),
        format!("polarisability = {}", case.polarisability),
        String::new(),
    ]);
    lines.join("\n")
}

/// A quoted string with whatever escapes it needs.
pub(super) fn string(text: &str) -> String {
    crate::text::toml_string(text)
}

fn vector(x: &[f64; 3]) -> String {
    format!("[{}]", x.map(number).join(", "))
}

/// An array of quoted strings.
pub(super) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", names.map(string).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        for name in ["left", "say \"hi\"", "back\\slash", "µ"] {
            let table: toml::Table = format!("x = {}", string(name)).parse().unwrap();
            assert_eq!(table["x"].as_str(), Some(name));
        }
    }
}
