//! `[[film]]`: thin films whose shares of the energy are wanted.

use std::ops::Range;

use farad::{Film, Place, Toward};

use super::prelude::*;

table! {
    /// `[[film]]`.
    FilmTable = "film" repeated;
    @rules [
        Rule::OneSet(&[&["on"], &["interface"]]),
        Rule::AtMostOne(&["medium", "layer"]),
        Rule::AtMostOne(&["interface", "medium"]),
        Rule::AtMostOne(&["interface", "layer"]),
    ];
    name: String = TEXT, REQUIRED, "name in the results";
    on: Names = NAMES, or("none"),
        "conductors, on whose surfaces the film is; dielectrics, on whose surfaces it is where there is no metal";
    medium: String = TEXT, or("none"),
        "only the sides of these surfaces that face this medium: a dielectric, or \"surroundings\"";
    layer: usize = Spec::integer(0, 1001), or("none"),
        "the same with a [layer](#layer): 1 is the lowest, 0 the region below all layers, their number plus 1 the region above \
         all";
    interface: usize = Spec::integer(0, 1000), or("none"),
        "instead of `on`: an interface of layers, where it is not covered by metal; 0 is the lowest, at `stack.at`";
    thickness: f64 = POSITIVE, REQUIRED, "thickness of the film in the mesh's unit";
    relative_permittivity: f64 = PERMITTIVITY, REQUIRED, "permittivity of the film";
    cutoff: f64 = POSITIVE, or("none"),
        "distance from sharp edges within which the field does not count, in the mesh's unit; required where metal without \
         thickness ends";
}

/// Reads every `[[film]]` with its place; defects are reported to the document. Names are compared
/// with the mesh later.
pub(in crate::case) fn read(top: &Section<'_>) -> Vec<(Film, Range<usize>)> {
    let mut read: Vec<(Film, Range<usize>)> = Vec::new();
    for section in top.sections(FilmTable::INFO) {
        // Before other keys are found missing, as users read it.
        section.require(&["name"]);
        check_place(&section);
        let table = FilmTable::read(&section);
        let place = table.place_of_film();
        let (Some(name), Some(place), Some(thickness), Some(relative_permittivity)) =
            (table.name.located(), place, table.thickness.value, table.relative_permittivity.value)
        else {
            continue;
        };
        if let Some((_, first)) = read.iter().find(|(known, _)| known.name == name.value) {
            let message = format!("two films are called \"{}\"", name.value);
            let defect = Defect::new(Sort::Value, name.span.clone(), message);
            top.report(defect.label("again here").first(first.clone()));
        }
        let cutoff = table.cutoff.value;
        let film = Film::default()
            .name(name.value)
            .place(place)
            .thickness(thickness)
            .relative_permittivity(relative_permittivity)
            .cutoff(cutoff);
        read.push((film, name.span));
    }
    read
}

/// Reports keys that say different things about where a film is.
fn check_place(section: &Section<'_>) {
    let report = |message: &str, help: &'static str| {
        section.report(Defect::new(Sort::Value, section.span(), message).help(help));
    };
    let [on, interface, medium, layer] =
        ["on", "interface", "medium", "layer"].map(|key| section.has(key));
    if on == interface {
        let message = match on {
            true => "on and interface both say where the film is",
            false => "the film is nowhere: there is neither on nor interface",
        };
        report(message, "name conductors or dielectrics with `on`, or count interfaces of layers");
        return;
    }
    if medium && layer {
        report("medium and layer both say what the film is next to", "write one of them");
    }
    if interface && (medium || layer) {
        let message = "an interface is next to both of its media";
        report(message, "leave out medium and layer");
    }
}

impl FilmTable {
    fn place_of_film(&self) -> Option<Place> {
        if self.on.is_given() == self.interface.is_given() {
            return None;
        }
        if let Some(interface) = self.interface.value {
            return Some(Place::Interface(interface));
        }
        let names = self.on.value.as_ref()?.items.clone();
        let medium = self.medium.value.clone().map(Toward::Medium);
        Some(Place::On { names, toward: medium.or(self.layer.value.map(Toward::Layer)) })
    }

    /// The table of a film.
    pub(in crate::case) fn of(film: &Film) -> Self {
        let mut table = Self {
            name: (&film.name).into(),
            thickness: film.thickness.into(),
            relative_permittivity: film.relative_permittivity.into(),
            cutoff: film.cutoff.into(),
            ..Self::default()
        };
        match &film.place {
            Place::Interface(interface) => table.interface = (*interface).into(),
            Place::On { names, toward } => {
                table.on = names.into();
                match toward {
                    Some(Toward::Medium(name)) => table.medium = name.into(),
                    Some(Toward::Layer(layer)) => table.layer = (*layer).into(),
                    None => {}
                }
            }
        }
        table
    }
}
