//! `[[dielectric]]`: bodies of another permittivity, with charges in them.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use farad::{Dielectric, SURROUNDINGS};

use crate::paths::relative;

use super::medium::{Ions, Solution, screened};
use super::named_files::existing;
use super::prelude::*;

table! {
    /// `[[dielectric]]`.
    DielectricTable = "dielectric" repeated;
    @rules [Rule::AtMostOne(&["kappa", "ionic_strength"])];
    @written_last ["kappa", "charges"];
    name: String = TEXT, REQUIRED,
        "name in all results; `surroundings` is the name of `[medium]` there";
    relative_permittivity: f64 = PERMITTIVITY, REQUIRED, "permittivity of the dielectric";
    kappa: f64 = SCREENING, or("0.0"),
        "inverse of the screening length of ions in it, as in `[medium]`";
    ionic_strength: f64 = SCREENING, or("0.0"),
        "of ions in it, in mol/l, at the temperature of `[medium]`";
    group: Names = GROUPS, REQUIRED,
        "physical groups of the closed surface that bounds it; `ungrouped` stands for triangles in no group";
    charges: String = PATH, or("none"),
        "PQR file of the atoms inside, relative to the case file: the dielectric is a molecule (below)";
}

impl DielectricTable {
    /// The table of a body whose atoms, if any, are in the file of `entry`; for a case that lies in
    /// `folder`.
    pub(in crate::case) fn of(dielectric: &Dielectric, entry: &Entry, folder: &Path) -> Self {
        Self {
            name: (&dielectric.name).into(),
            relative_permittivity: dielectric.relative_permittivity.into(),
            kappa: screened(dielectric.kappa),
            group: (&dielectric.groups).into(),
            charges: entry.file.as_ref().map(|file| relative(folder, &file.value)).into(),
            ..Self::default()
        }
    }
}

/// Reads every `[[dielectric]]`; each has a name of its own, and none that of the surroundings.
pub(in crate::case) fn read(
    top: &Section<'_>,
    base: &Path,
    solution: &mut Solution,
) -> Vec<(Dielectric, Entry)> {
    let mut names: HashMap<String, Range<usize>> = HashMap::new();
    let mut dielectrics = Vec::new();
    for table in top.tables::<DielectricTable>() {
        let permittivity = table.relative_permittivity.value;
        let file = table.charges.located().and_then(|file| existing(top, base, "PQR file", file));
        let ions = Ions { kappa: &table.kappa, strength: &table.ionic_strength };
        let kappa = solution.kappa(top, ions, permittivity.unwrap_or(1.0));
        let (Some(name), Some(permittivity)) = (table.name.located(), permittivity) else {
            continue;
        };
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
        let Names { items: groups, places } = table.group.or(Names::default());
        let entry = Entry { name: name.span, groups: places, file, ..Entry::default() };
        let body = Dielectric::new(&name.value, permittivity);
        dielectrics.push((body.kappa(kappa).groups(groups), entry));
    }
    dielectrics
}
