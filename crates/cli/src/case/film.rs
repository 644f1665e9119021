//! `[[film]]`: thin films whose shares of the energy are wanted.

use std::ops::Range;

use farad::{Film, Place, Toward};

use super::diagnostics::{Defect, Sort};
use super::document::Section;

/// Reads every `[[film]]` with its place; defects are reported to the document. Whether there is
/// what they name is for the mesh to say.
pub(super) fn read(top: &Section<'_>) -> Vec<(Film, Range<usize>)> {
    let mut read: Vec<(Film, Range<usize>)> = Vec::new();
    for section in top.sections("film") {
        let name = section.text("name");
        let place = place(&section);
        let number = |key| Some(section.number(key)?.value);
        let (thickness, permittivity) = (number("thickness"), number("relative_permittivity"));
        let cutoff = number("cutoff");
        let (Some(name), Some(place), Some(thickness), Some(relative_permittivity)) =
            (name, place, thickness, permittivity)
        else {
            continue;
        };
        if let Some((_, first)) = read.iter().find(|(known, _)| known.name == name.value) {
            let message = format!("two films are called \"{}\"", name.value);
            let defect = Defect::new(Sort::Value, name.span.clone(), message);
            top.report(defect.label("again here").first(first.clone()));
        }
        let (name, at) = (name.value, name.span);
        read.push((Film { name, place, thickness, relative_permittivity, cutoff }, at));
    }
    read
}

fn place(section: &Section<'_>) -> Option<Place> {
    let report = |message: &str, help: &'static str| {
        section.report(Defect::new(Sort::Value, section.span(), message.to_owned()).help(help));
    };
    let on = section.names("on");
    let medium = section.text("medium").map(|name| Toward::Medium(name.value));
    let number = |key| usize::try_from(section.integer(key)?.value).ok();
    let layer = number("layer").map(Toward::Layer);
    let interface = number("interface");
    if section.has("on") == section.has("interface") {
        let message = match section.has("on") {
            true => "on and interface both say where the film is",
            false => "the film is nowhere: there is neither on nor interface",
        };
        report(message, "name conductors or dielectrics with `on`, or count interfaces of layers");
        return None;
    }
    if section.has("medium") && section.has("layer") {
        report("medium and layer both say what the film is next to", "write one of them");
    }
    if section.has("interface") && (section.has("medium") || section.has("layer")) {
        let message = "an interface is next to both of its media";
        report(message, "leave out medium and layer");
    }
    if let Some(interface) = interface {
        return Some(Place::Interface(interface));
    }
    let names = on?.into_iter().map(|name| name.value).collect();
    Some(Place::On { names, toward: medium.or(layer) })
}
