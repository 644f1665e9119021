//! `[[dielectric]]`: bodies of another permittivity, with charges in them.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use farad::{Dielectric, SURROUNDINGS};

use super::diagnostics::{Defect, Sort};
use super::document::Section;
use super::named_files::existing;
use super::places::{self, Entry};
use super::salt;

/// Reads every `[[dielectric]]`; each has a name of its own, and none that of the surroundings.
pub(super) fn read(
    top: &Section<'_>,
    base: &Path,
    solution: &mut salt::Solution,
) -> Vec<(Dielectric, Entry)> {
    let mut names: HashMap<String, Range<usize>> = HashMap::new();
    let mut dielectrics = Vec::new();
    for section in top.sections("dielectric") {
        let name = section.text("name");
        let permittivity = section.number("relative_permittivity");
        let groups = section.names("group").unwrap_or_default();
        let file = section.text("charges").and_then(|file| existing(top, base, "PQR file", file));
        let kappa =
            solution.kappa(&section, permittivity.as_ref().map_or(1.0, |number| number.value));
        let (Some(name), Some(permittivity)) = (name, permittivity) else { continue };
        if name.value == SURROUNDINGS {
            let message = format!("\"{SURROUNDINGS}\" is the name of [medium]");
            top.report(Defect::new(Sort::Value, name.span.clone(), message));
        }
        if let Some(first) = names.insert(name.value.clone(), name.span.clone()) {
            let message = format!("two dielectrics are called \"{}\"", name.value);
            let defect = Defect::new(Sort::Value, name.span.clone(), message).label("again here");
            let help = "for one dielectric of several bodies write group = [\"a\", \"b\"]";
            top.report(defect.first(first).help(help));
        }
        let (groups, places) = places::split(groups);
        let entry = Entry { name: name.span, groups: places, file, ..Entry::default() };
        let (name, relative_permittivity) = (name.value, permittivity.value);
        let body = Dielectric::new(&name, relative_permittivity);
        dielectrics.push((Dielectric { kappa, groups, ..body }, entry));
    }
    dielectrics
}
