//! `[[sensitivity]]`: derivatives of the capacitance matrix.

use std::ops::Range;

use farad::{Parameter, Sensitivity};

use super::diagnostics::{Defect, Sort};
use super::document::Section;
use super::file_names;

/// The end of the names of tables of error bars.
const BARS: &str = "_error";

/// Reads every `[[sensitivity]]` with its place; defects are reported to the document. Whether
/// there is what they name is for the mesh to say.
pub(super) fn read(top: &Section<'_>) -> Vec<(Sensitivity, Range<usize>)> {
    let mut read: Vec<(Sensitivity, Range<usize>)> = Vec::new();
    for section in top.sections("sensitivity") {
        let name = section.text("name");
        let by = parameter(&section);
        let (Some(name), Some(by)) = (name, by) else { continue };
        let first = read.iter().find(|(known, _)| known.name == name.value);
        file_names::check(
            top,
            ["sensitivity", "sensitivities"],
            &name,
            first.map(|(_, first)| first),
        );
        if name.value.ends_with(BARS) {
            let message = format!("sensitivity_{}.csv is the name of another result", name.value);
            let defect = Defect::new(Sort::Value, name.span.clone(), message);
            top.report(defect.help("choose another name"));
        }
        read.push((Sensitivity { name: name.value, by }, name.span));
    }
    read
}

fn parameter(section: &Section<'_>) -> Option<Parameter> {
    let of = section.choice("of").map(|of| of.value);
    let given: Vec<&str> =
        ["shift", "permittivity", "layer"].into_iter().filter(|key| section.has(key)).collect();
    if given.len() != 1 {
        let message = match given.len() {
            0 => "nothing changes: there is neither shift, permittivity nor layer".to_owned(),
            _ => format!("{} both say what changes", given.join(" and ")),
        };
        let defect = Defect::new(Sort::Value, section.span(), message);
        section.report(defect.help("write one of them, and another [[sensitivity]] for another"));
        return None;
    }
    let is_thickness = of.as_deref() == Some("thickness");
    if section.has("of") && given != ["layer"] {
        let message = "`of` says what of a layer changes, and there is no layer";
        section.report(Defect::new(Sort::Value, section.span(), message));
    }
    if let Some(names) = section.names("shift") {
        return Some(Parameter::Shift(names.into_iter().map(|name| name.value).collect()));
    }
    if let Some(name) = section.text("permittivity") {
        return Some(Parameter::Permittivity(name.value));
    }
    let layer = usize::try_from(section.integer("layer")?.value).ok()?;
    Some(if is_thickness { Parameter::Thickness(layer) } else { Parameter::OfLayer(layer) })
}
