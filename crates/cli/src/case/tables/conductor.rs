//! `[[conductor]]`: groups of the mesh that are one conductor, at a potential or with a charge.

use std::collections::HashMap;
use std::ops::Range;

use farad::{Conductor, Setting};

use super::prelude::*;

table! {
    /// `[[conductor]]`.
    ConductorTable = "conductor" repeated;
    @rules [Rule::AtMostOne(&["potential", "charge"])];
    name: String = TEXT, REQUIRED, "name in all results";
    group: Names = GROUPS, REQUIRED,
        "physical groups of the mesh that make up the conductor; `ungrouped` stands for triangles in no group: all triangles \
         of an OFF, PLY, MSMS or STL file without solids of several names";
    potential: f64 = QUANTITY.said("number, volt"), or("none"),
        "the potential at which the conductor is held in the state of the case (below)";
    charge: f64 = QUANTITY.said("number, coulomb"), or("none"),
        "the conductor floats and carries this free charge; `charge = 0` for an uncharged one";
}

impl ConductorTable {
    /// The table of a conductor.
    pub(in crate::case) fn of(conductor: &Conductor) -> Self {
        let (potential, charge) = match conductor.setting {
            Some(Setting::Potential(volt)) => (Some(volt), None),
            Some(Setting::Charge(coulomb)) => (None, Some(coulomb)),
            None => (None, None),
        };
        Self {
            name: (&conductor.name).into(),
            group: (&conductor.groups).into(),
            potential: potential.into(),
            charge: charge.into(),
            ..Self::default()
        }
    }

    /// A potential or a charge, not both.
    fn setting(&self, top: &Section<'_>) -> Option<Setting> {
        match (self.potential.value, self.charge.value) {
            (Some(_), Some(_)) => {
                let message = "the conductor has both a potential and a charge";
                let (first, second) = (self.potential.span.clone(), self.charge.span.clone());
                let help = "a conductor is held at a potential, or floats with a charge";
                top.report(Defect::clash(message, first, second).help(help));
                None
            }
            (Some(volt), None) => Some(Setting::Potential(volt)),
            (None, charge) => charge.map(Setting::Charge),
        }
    }
}

/// Reads every `[[conductor]]`; no group is in two, or in those that are ignored.
pub(in crate::case) fn read(top: &Section<'_>, ignore: &Names) -> Vec<(Conductor, Entry)> {
    let mut names: HashMap<String, Range<usize>> = HashMap::new();
    let mut owners: HashMap<String, Located<String>> = ignore
        .iter()
        .map(|(group, place)| {
            let owner = Located { value: "[mesh] ignore".to_owned(), span: place.clone() };
            (group.clone(), owner)
        })
        .collect();
    let mut conductors = Vec::new();
    for table in top.tables::<ConductorTable>() {
        let setting = table.setting(top);
        let groups = table.group.or(Names::default());
        let Some(name) = table.name.located() else { continue };
        if let Some(first) = names.insert(name.value.clone(), name.span.clone()) {
            let message = format!("two conductors are called \"{}\"", name.value);
            let defect = Defect::new(Sort::Value, name.span.clone(), message).label("again here");
            let help = "for one conductor of several groups write group = [\"a\", \"b\"]";
            top.report(defect.first(first).help(help));
        }
        for (group, place) in groups.iter() {
            let value = format!("conductor \"{}\"", name.value);
            let owner = Located { value, span: place.clone() };
            if let Some(earlier) = owners.insert(group.clone(), owner) {
                let message = format!("group \"{group}\" is in {} already", earlier.value);
                let defect = Defect::new(Sort::Value, place.clone(), message);
                top.report(defect.label("again here").first(earlier.span));
            }
        }
        let entry = Entry { name: name.span, groups: groups.places, ..Entry::default() };
        conductors.push((
            Conductor::default().name(name.value).groups(groups.items).setting(setting),
            entry,
        ));
    }
    conductors
}
