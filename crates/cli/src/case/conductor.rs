//! `[[conductor]]`: groups of the mesh that are one conductor, at a potential or with a charge.

use std::collections::HashMap;
use std::ops::Range;

use farad::{Conductor, Setting};

use super::diagnostics::{Defect, Located, Sort};
use super::document::Section;
use super::places::{self, Entry};

/// Reads every `[[conductor]]`; no group is in two, or in those that are ignored.
pub(super) fn read(top: &Section<'_>, ignore: &[Located<String>]) -> Vec<(Conductor, Entry)> {
    let mut names: HashMap<String, Range<usize>> = HashMap::new();
    let mut owners: HashMap<String, Located<String>> = ignore
        .iter()
        .map(|group| {
            let owner = Located { value: "[mesh] ignore".to_owned(), span: group.span.clone() };
            (group.value.clone(), owner)
        })
        .collect();
    let mut conductors = Vec::new();
    for section in top.sections("conductor") {
        let name = section.text("name");
        let groups = section.names("group").unwrap_or_default();
        let setting = read_setting(&section);
        let Some(name) = name else { continue };
        if let Some(first) = names.insert(name.value.clone(), name.span.clone()) {
            let message = format!("two conductors are called \"{}\"", name.value);
            let defect = Defect::new(Sort::Value, name.span.clone(), message).label("again here");
            let help = "for one conductor of several groups write group = [\"a\", \"b\"]";
            top.report(defect.first(first).help(help));
        }
        for group in &groups {
            let owner = Located {
                value: format!("conductor \"{}\"", name.value),
                span: group.span.clone(),
            };
            if let Some(earlier) = owners.insert(group.value.clone(), owner) {
                let message = format!("group \"{}\" is in {} already", group.value, earlier.value);
                let defect = Defect::new(Sort::Value, group.span.clone(), message);
                top.report(defect.label("again here").first(earlier.span));
            }
        }
        let (groups, places) = places::split(groups);
        let entry = Entry { name: name.span, groups: places, ..Entry::default() };
        conductors.push((Conductor { name: name.value, groups, setting }, entry));
    }
    conductors
}

/// A potential or a charge, not both.
fn read_setting(section: &Section<'_>) -> Option<Setting> {
    match (section.number("potential"), section.number("charge")) {
        (Some(potential), Some(charge)) => {
            let message = "the conductor has both a potential and a charge";
            let defect = Defect::new(Sort::Value, charge.span, message).first(potential.span);
            let help = "a conductor is held at a potential, or floats with a charge";
            section.report(defect.label("and here").help(help));
            None
        }
        (Some(potential), None) => Some(Setting::Potential(potential.value)),
        (None, charge) => charge.map(|charge| Setting::Charge(charge.value)),
    }
}
