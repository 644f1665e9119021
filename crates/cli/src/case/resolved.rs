//! The resolved case: every default filled in, paths relative to the file itself.

use std::path::Path;

use farad::{Amount, Place, Problem, Setting, axis_name};

use super::{Case, plane};
use crate::paths;
use crate::report::results::method_name;
use crate::report::units::shortest as number;

/// The text of `case.resolved.toml` for a file in `folder`.
pub(super) fn text(case: &Case, folder: &Path, problem: &Problem) -> String {
    let Case { description, places, options, .. } = case;
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
        format!("file = {}", string(&paths::relative(folder, &case.mesh))),
        format!("unit = {}", string(description.unit.name())),
        format!("ignore = {}", list(description.ignore.iter().map(String::as_str))),
        String::new(),
        "[medium]".to_owned(),
        format!("relative_permittivity = {}", number(description.relative_permittivity)),
        String::new(),
    ];
    for (dielectric, entry) in description.dielectrics.iter().zip(&places.dielectrics) {
        lines.extend([
            "[[dielectric]]".to_owned(),
            format!("name = {}", string(&dielectric.name)),
            format!("relative_permittivity = {}", number(dielectric.relative_permittivity)),
            format!("group = {}", list(dielectric.groups.iter().map(String::as_str))),
        ]);
        if let Some(file) = &entry.file {
            lines.push(format!("charges = {}", string(&paths::relative(folder, &file.value))));
        }
        lines.push(String::new());
    }
    for surface in &description.surfaces {
        lines.extend([
            "[[surface]]".to_owned(),
            format!("group = {}", list(surface.groups.iter().map(String::as_str))),
            format!("front = {}", number(surface.sides[0])),
            format!("back = {}", number(surface.sides[1])),
            String::new(),
        ]);
    }
    let conductors = conductors(problem);
    if conductors.iter().any(|(_, groups, _)| groups.is_empty()) {
        lines.push(
            "# The mesh has no groups: each body joined by shared edges is a conductor.".to_owned(),
        );
        lines.push(String::new());
    } else {
        for (name, groups, setting) in conductors {
            lines.push("[[conductor]]".to_owned());
            lines.push(format!("name = {}", string(name)));
            lines.push(format!("group = {}", list(groups.iter().map(String::as_str))));
            match setting {
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
    for mirror in &description.planes {
        lines.extend([
            "[[plane]]".to_owned(),
            format!("axis = {}", string(axis_name(mirror.plane.axis))),
            format!("at = {}", number(mirror.plane.at)),
            format!("kind = {}", string(plane::kind(mirror))),
            String::new(),
        ]);
    }
    for charge in &description.charges {
        let (amount, unit) = match charge.amount {
            Amount::Coulomb(amount) => (amount, "C"),
            Amount::Elementary(amount) => (amount, "e"),
        };
        lines.extend([
            "[[charge]]".to_owned(),
            format!("position = {}", vector(&charge.position)),
            format!("charge = {}", number(amount)),
            format!("unit = {}", string(unit)),
            String::new(),
        ]);
    }
    lines.extend([
        "[external]".to_owned(),
        format!("field = {}", vector(&description.field)),
        String::new(),
    ]);
    for (probe, entry) in description.probes.iter().zip(&places.probes) {
        lines.extend(["[[probe]]".to_owned(), format!("name = {}", string(&probe.name))]);
        match &probe.place {
            Place::Points(_) => {
                lines.extend(entry.file.iter().map(|file| {
                    format!("file = {}", string(&paths::relative(folder, &file.value)))
                }))
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
    if let Some(diffusion) = &description.diffusion {
        lines.extend([
            "[diffusion]".to_owned(),
            format!("temperature = {}", number(diffusion.temperature)),
            format!("viscosity = {}", number(diffusion.viscosity)),
            String::new(),
        ]);
    }
    lines.extend([
        "[solver]".to_owned(),
        format!("tolerance = {}", number(options.tolerance)),
        format!("method = {}", string(method_name(options.method))),
        format!("restart = {}", options.restart),
        format!("max_iterations = {}", options.max_iterations),
        String::new(),
    ]);
    if let Some(tolerance) = options.fmm_tolerance {
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
        format!("forces = {}", description.forces),
        format!("polarisability = {}", description.polarisability),
        String::new(),
    ]);
    lines.join("\n")
}

/// The conductors as a case file would have to list them: names, groups and what is set on them. Those that are components of a mesh
/// without groups have none.
fn conductors(problem: &Problem) -> Vec<(&String, Vec<String>, Option<Setting>)> {
    let listed = &problem.description.conductors;
    if !listed.is_empty() {
        return listed.iter().map(|c| (&c.name, c.groups.clone(), c.setting)).collect();
    }
    let own_group = |name: &String| match problem.mesh.groups.as_slice() {
        [] => Vec::new(),
        _ => vec![name.clone()],
    };
    problem.conductors.names.iter().map(|name| (name, own_group(name), None)).collect()
}

/// A quoted string with whatever escapes it needs.
pub(super) fn string(text: &str) -> String {
    crate::report::text::toml_string(text)
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
