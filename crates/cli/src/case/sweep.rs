//! `[[sweep]]`: what a study of many runs varies.

use std::ops::Range;
use std::path::{Path, PathBuf};

use farad::Change;

use super::diagnostics::{Defect, Located, Sort, quoted};
use super::document::Section;
use super::places;

/// One quantity that is varied.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    /// The heading of its column.
    pub(crate) name: String,
    /// Its place in the case file.
    pub(crate) place: Range<usize>,
    /// The places of the groups that it moves.
    pub(crate) groups: Vec<Range<usize>>,
    pub(crate) values: Values,
}

/// What it takes from run to run.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    Of(Change),
    /// Another mesh for each.
    Files(Vec<PathBuf>),
}

impl Sweep {
    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        match &self.values {
            Values::Of(change) => change.values().len(),
            Values::Files(files) => files.len(),
        }
    }

    /// How the problem changes, unless it is by its mesh's file.
    pub(crate) fn change(&self) -> Option<&Change> {
        match &self.values {
            Values::Of(change) => Some(change),
            Values::Files(_) => None,
        }
    }

    /// Whether runs with other values have other surfaces.
    pub(crate) fn is_of_geometry(&self) -> bool {
        self.change().is_none_or(Change::is_of_geometry)
    }
}

/// What `set` says for the surrounding medium, and how it ends for a dielectric.
const MEDIUM: &str = "medium.relative_permittivity";
const PERMITTIVITY: &str = ".relative_permittivity";

/// The dielectric whose permittivity `set` means, `Some(None)` for the surrounding medium.
fn swept(set: &str) -> Option<Option<&str>> {
    if set == MEDIUM {
        return Some(None);
    }
    Some(Some(set.strip_prefix("dielectric.")?.strip_suffix(PERMITTIVITY)?))
}

/// Reads every `[[sweep]]`; defects are reported to the document.
pub(super) fn read(top: &Section<'_>, base: &Path, dielectrics: &[&str]) -> Vec<Sweep> {
    let mut sweeps: Vec<Sweep> = Vec::new();
    // In layers the medium is one of them.
    let has_medium = !top.has("stack") && !top.has("layer");
    let medium = has_medium.then(|| MEDIUM.to_owned());
    let of_dielectric = |name: &&str| format!("dielectric.{name}{PERMITTIVITY}");
    let possible: Vec<String> =
        medium.into_iter().chain(dielectrics.iter().map(of_dielectric)).collect();
    for section in top.sections("sweep") {
        let name = section.text("name");
        let values = read_values(&section, base, &possible);
        let (Some(name), Some((values, groups))) = (name, values) else { continue };
        if let Some(first) = sweeps.iter().find(|sweep| sweep.name == name.value) {
            let message = format!("two sweeps are called \"{}\"", name.value);
            let defect = Defect::new(Sort::Value, name.span.clone(), message).label("again here");
            top.report(defect.first(first.place.clone()));
        }
        sweeps.push(Sweep { name: name.value, place: name.span, groups, values });
    }
    sweeps
}

/// The values, and the places of groups that they move.
fn read_values(
    section: &Section<'_>,
    base: &Path,
    possible: &[String],
) -> Option<(Values, Vec<Range<usize>>)> {
    // All keys are read whatever the others say, so that each is checked.
    let set = section.text("set");
    let moving = section.names("move");
    let turning = section.names("turn");
    let files = section.names("files");
    let values = section.numbers("values", None);
    let [along, axis, centre] =
        ["along", "axis", "centre"].map(|key| vector(section.numbers(key, Some(3))));
    let given = [set.is_some(), moving.is_some(), turning.is_some(), files.is_some()];
    if given.iter().filter(|given| **given).count() != 1 {
        let message = "a sweep has exactly one of set, move, turn and files";
        let defect = Defect::new(Sort::Missing, section.span(), message).label("this sweep");
        section.report(defect.help("for two quantities write [[sweep]] twice"));
        return None;
    }
    for (key, names) in [("move", &moving), ("turn", &turning), ("files", &files)] {
        if names.as_ref().is_some_and(Vec::is_empty) {
            let message = format!("expected at least one name for {key}, found none");
            section.report(Defect::new(Sort::Value, section.span(), message));
            return None;
        }
    }
    if let Some(files) = files {
        return Some((Values::Files(existing(section, base, files)), Vec::new()));
    }
    let values = required(section, "values", values, "add values = [...], one for each run")?;
    if let Some(set) = set {
        let change = permittivity(section, set, values, possible)?;
        return Some((Values::Of(change), Vec::new()));
    }
    let values = values.value;
    if let Some(groups) = moving {
        let help = "add along = [x, y, z]: groups move by each value times this vector";
        let along = required(section, "along", along, help)?.value;
        let (groups, places) = places::split(groups);
        return Some((Values::Of(Change::Move { groups, along, values }), places));
    }
    let groups = turning?;
    let help = "add axis = [x, y, z]: groups turn about it by each value in degrees";
    let axis = required(section, "axis", axis, help)?;
    if axis.value.iter().all(|x| *x == 0.0) {
        section.report(Defect::new(Sort::Value, axis.span, "axis is zero and has no direction"));
        return None;
    }
    let (groups, places) = places::split(groups);
    let centre = centre.map_or([0.0; 3], |centre| centre.value);
    Some((Values::Of(Change::Turn { groups, axis: axis.value, centre, values }), places))
}

/// Three numbers.
fn vector(values: Option<Located<Vec<f64>>>) -> Option<Located<[f64; 3]>> {
    let Located { value, span } = values?;
    Some(Located { value: value.try_into().ok()?, span })
}

/// The value of a key, which must be there; what is there and faulty has been reported already.
fn required<T>(section: &Section<'_>, key: &str, value: Option<T>, help: &str) -> Option<T> {
    if !section.has(key) {
        let message = format!("{key} is missing in [[sweep]]");
        let defect = Defect::new(Sort::Missing, section.span(), message).label("required");
        section.report(defect.help(help));
    }
    value
}

/// The change of a permittivity, which `set` names: one of those that are possible.
fn permittivity(
    section: &Section<'_>,
    set: Located<String>,
    values: Located<Vec<f64>>,
    possible: &[String],
) -> Option<Change> {
    let Some(dielectric) = swept(&set.value).filter(|_| possible.contains(&set.value)) else {
        let message = format!("set = \"{}\" names nothing that a sweep can set", set.value);
        let defect = Defect::new(Sort::Value, set.span, message).label("not possible here");
        section.report(defect.help(match possible {
            [] => "layers have no permittivity that a sweep can set; move or turn something, or vary the mesh".to_owned(),
            _ => format!("possible: {}", quoted(possible.iter().map(String::as_str))),
        }));
        return None;
    };
    let Located { value: values, span } = values;
    if values.iter().any(|value| !(1e-12..=1e12).contains(value)) {
        let message = "a relative permittivity is out of range";
        section.report(Defect::new(Sort::Value, span, message).label("possible: 1e-12 to 1e12"));
    }
    Some(Change::Permittivity { dielectric: dielectric.map(str::to_owned), values })
}

/// The paths of meshes, of those that there are.
fn existing(section: &Section<'_>, base: &Path, files: Vec<Located<String>>) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for file in files {
        let path = base.join(&file.value);
        if path.is_file() {
            paths.push(path);
        } else {
            let message = format!("the mesh {} does not exist", path.display());
            let defect = Defect::new(Sort::Value, file.span, message).label("no such file");
            section.report(defect.help("the path is relative to the case file's folder"));
        }
    }
    paths
}
