//! `[[sweep]]`: what a study of many runs varies.

use std::ops::Range;
use std::path::{Path, PathBuf};

use farad::{Change, ranges};

use crate::case::diagnostics::quoted;

use super::prelude::*;
use super::stack::{LayerTable, StackTable};

/// The quantities that `set` may name.
const SET: Spec = Spec::pattern(
    r"^(medium|dielectric\..*)\.relative_permittivity$",
    "\"medium.relative_permittivity\" (not in layers) or \"dielectric.NAME.relative_permittivity\"",
);

/// One name at least.
const SOME: Spec = Spec::new(ValueKind::Names { least: 1, most: usize::MAX });

table! {
    /// `[[sweep]]`.
    SweepTable = "sweep" repeated;
    @rules [
        Rule::OneSet(&[&["set"], &["move"], &["turn"], &["files"]]),
        Rule::Needs("set", &["values"]),
        Rule::Needs("move", &["values", "along"]),
        Rule::Needs("turn", &["values", "axis"]),
    ];
    name: String = TEXT, REQUIRED, "heading of its column in the results";
    values: Vec<f64> = NUMBERS, unless("required unless `files` is given"), "one run per value";
    set: String = SET, or("-"), "the key that takes the values";
    shifted as "move": Names = SOME.said("group or list of groups"), or("-"),
        "the groups are moved by each value times `along`";
    along: [f64; 3] = THREE, unless("required with `move`"), "a vector in the mesh's unit";
    turn: Names = SOME.said("group or list of groups"), or("-"),
        "the groups are rotated by each value in degrees, counter-clockwise seen from the tip of `axis`";
    axis: [f64; 3] = THREE, unless("required with `turn`"), "direction of the axis";
    centre: [f64; 3] = THREE, or("[0, 0, 0]"), "a point of the axis, in the mesh's unit";
    files: Names = SOME.said("path or list of paths"), or("-"),
        "one run per mesh, instead of `mesh.file`; all meshes have the same conductors";
}

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

/// Its values from run to run.
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

/// The text of `set` for the surrounding medium, and its ending for a dielectric.
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
pub(in crate::case) fn read(top: &Section<'_>, base: &Path, dielectrics: &[&str]) -> Vec<Sweep> {
    let mut sweeps: Vec<Sweep> = Vec::new();
    // In layers the medium is one of them.
    let has_medium = !top.has_table::<StackTable>() && !top.has_table::<LayerTable>();
    let medium = has_medium.then(|| MEDIUM.to_owned());
    let of_dielectric = |name: &&str| format!("dielectric.{name}{PERMITTIVITY}");
    let possible: Vec<String> =
        medium.into_iter().chain(dielectrics.iter().map(of_dielectric)).collect();
    for mut table in top.tables::<SweepTable>() {
        let name = std::mem::take(&mut table.name).located();
        let values = table.values(top, base, &possible);
        let (Some(name), Some(Varied { values, groups })) = (name, values) else { continue };
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
struct Varied {
    values: Values,
    groups: Vec<Range<usize>>,
}

impl SweepTable {
    fn values(self, top: &Section<'_>, base: &Path, possible: &[String]) -> Option<Varied> {
        let place = self.place();
        let named = [("move", &self.shifted), ("turn", &self.turn), ("files", &self.files)];
        let given = named.iter().filter(|(_, names)| names.value.is_some()).count();
        if given + usize::from(self.set.value.is_some()) != 1 {
            let message = "a sweep has exactly one of set, move, turn and files";
            let defect = Defect::new(Sort::Missing, place, message).label("this sweep");
            top.report(defect.help("for two quantities write [[sweep]] twice"));
            return None;
        }
        for (key, names) in named {
            if names.value.as_ref().is_some_and(|names| names.items.is_empty()) {
                let message = format!("expected at least one name for {key}, found none");
                top.report(Defect::new(Sort::Value, place, message));
                return None;
            }
        }
        if let Some(files) = self.files.value {
            let values = Values::Files(existing(top, base, &files));
            return Some(Varied { values, groups: Vec::new() });
        }
        let required = Required { top, place };
        let values = required.get("values", self.values, "add values = [...], one for each run")?;
        if let Some(set) = self.set.located() {
            let change = permittivity(top, set, values, possible)?;
            return Some(Varied { values: Values::Of(change), groups: Vec::new() });
        }
        let values = values.value;
        if let Some(Names { items: groups, places }) = self.shifted.value {
            let help = "add along = [x, y, z]: groups move by each value times this vector";
            let along = required.get("along", self.along, help)?.value;
            let values = Values::Of(Change::Move { groups, along, values });
            return Some(Varied { values, groups: places });
        }
        let Names { items: groups, places } = self.turn.value?;
        let help = "add axis = [x, y, z]: groups turn about it by each value in degrees";
        let axis = required.get("axis", self.axis, help)?;
        if axis.value.iter().all(|x| *x == 0.0) {
            top.report(Defect::new(Sort::Value, axis.span, "axis is zero and has no direction"));
            return None;
        }
        let (axis, centre) = (axis.value, self.centre.or([0.0; 3]));
        let values = Values::Of(Change::Turn { groups, axis, centre, values });
        Some(Varied { values, groups: places })
    }
}

/// Keys that one sort of sweeps needs.
struct Required<'a, 'd> {
    top: &'a Section<'d>,
    place: Range<usize>,
}

impl Required<'_, '_> {
    /// The value; what is there and faulty has been reported already.
    fn get<T>(&self, key: &str, field: Field<T>, help: &str) -> Option<Located<T>> {
        if !field.is_given() {
            let message = format!("{key} is missing in [[sweep]]");
            let defect = Defect::new(Sort::Missing, self.place.clone(), message);
            self.top.report(defect.label("required").help(help));
        }
        field.located()
    }
}

/// The change of a permittivity, which `set` names: one of those that are possible.
fn permittivity(
    top: &Section<'_>,
    set: Located<String>,
    values: Located<Vec<f64>>,
    possible: &[String],
) -> Option<Change> {
    let Some(dielectric) = swept(&set.value).filter(|_| possible.contains(&set.value)) else {
        let message = format!("set = \"{}\" names nothing that a sweep can set", set.value);
        let defect = Defect::new(Sort::Value, set.span, message).label("not possible here");
        top.report(defect.help(match possible {
            [] => "layers have no permittivity that a sweep can set; move or turn something, or vary the mesh".to_owned(),
            _ => format!("possible: {}", quoted(possible.iter().map(String::as_str))),
        }));
        return None;
    };
    let Located { value: values, span } = values;
    if values.iter().any(|value| !ranges::PERMITTIVITY.contains(value)) {
        let message = "a relative permittivity is out of range";
        top.report(Defect::new(Sort::Value, span, message).label("possible: 1e-12 to 1e12"));
    }
    Some(Change::Permittivity { dielectric: dielectric.map(str::to_owned), values })
}

/// The paths of meshes, of those that there are.
fn existing(top: &Section<'_>, base: &Path, files: &Names) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for (file, place) in files.iter() {
        let path = base.join(file);
        if path.is_file() {
            paths.push(path);
        } else {
            let message = format!("the mesh {} does not exist", path.display());
            let defect = Defect::new(Sort::Value, place.clone(), message).label("no such file");
            top.report(defect.help("the path is relative to the case file's folder"));
        }
    }
    paths
}
