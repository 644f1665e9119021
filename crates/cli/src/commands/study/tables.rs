//! The tables of a study, and what they say in words.

use std::fmt::Write as _;
use std::path::Path;

use farad::{Entry, FACETS_OVER_GAP, Gap, Unit};

use super::results::Results;
use crate::case::Case;
use crate::report::results::{OfCase, Series, csv_number, csv_table};
use crate::report::text::{csv_quoted, printable_line};
use crate::report::text_table::narrow_tables;
use crate::report::units::{self, column, prefix};

/// Tables are no wider than this.
const WIDTH: usize = 79;

pub(super) fn csv(results: &Results) -> String {
    let of_meshes = |what: &str| {
        let meshes = results.meshes.iter();
        meshes.map(|mesh| format!("{what}_{}", mesh.triangles)).collect::<Vec<_>>()
    };
    let limit = ["order", "extrapolated", "error", "range"].map(str::to_owned).to_vec();
    let row = |entry: &Entry| {
        let mut cells = vec![csv_quoted(&entry.key.to_string()), entry.unit.to_string()];
        cells.extend(entry.values.iter().map(|value| csv_number(Some(*value))));
        cells.push(entry.order.map_or_else(String::new, |order| format!("{order:.4}")));
        cells.extend([Some(entry.extrapolated), entry.error].map(csv_number));
        cells.push(entry.verdict.to_string());
        cells.extend(entry.bars.iter().map(|bar| csv_number(*bar)));
        cells
    };
    let names = vec!["entry".to_owned(), "unit".to_owned()];
    let header = [names, of_meshes("value"), limit, of_meshes("bar")].concat();
    csv_table(header, results.entries.iter().map(row))
}

/// The entries of one unit: one column per entry, as many as fit.
fn table(results: &Results, unit: Unit) -> String {
    let entries: Vec<&Entry> = results.entries.iter().filter(|entry| entry.unit == unit).collect();
    let values = entries.iter().flat_map(|entry| &entry.values);
    let largest = values.fold(0.0_f64, |m, v| m.max(v.abs()));
    let si = matches!(unit, Unit::Farad | Unit::Volt | Unit::Coulomb | Unit::Newton);
    let scale = if si { prefix(largest) } else { prefix(1.0) };
    let written = column(largest / scale.factor, 1);
    let number = |value: f64| written(value / scale.factor);
    let mut header = vec![format!("{}{unit}", scale.symbol)];
    header.extend(entries.iter().map(|entry| entry.key.to_string()));
    let row = |name: String, cell: &dyn Fn(&Entry) -> String| -> Vec<String> {
        std::iter::once(name).chain(entries.iter().map(|entry| cell(entry))).collect()
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (level, mesh) in results.meshes.iter().enumerate() {
        let name = format!("{} triangles", units::count(mesh.triangles as u64));
        rows.push(row(name, &|entry| number(entry.values[level])));
    }
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let bar = |entry: &Entry| entry.bars.last().copied().flatten();
    if entries.iter().any(|entry| bar(entry).is_some()) {
        rows.push(row("bar of the last".to_owned(), &|entry| {
            or_none(bar(entry).map(|bar| format!("{:.1e}", bar / scale.factor)))
        }));
    }
    rows.push(row("order".to_owned(), &|e| or_none(e.order.map(|order| format!("{order:.2}")))));
    rows.push(row("extrapolated".to_owned(), &|entry| {
        or_none(entry.error.map(|_| number(entry.extrapolated)))
    }));
    rows.push(row("error".to_owned(), &|entry| {
        or_none(entry.error.map(|error| format!("{:.1e}", error / scale.factor)))
    }));
    format!("\n{}", narrow_tables(&header, &rows, WIDTH))
}

/// The remark on entries that are not in the asymptotic range.
fn remark(range: &str) -> &'static str {
    match range {
        "noise" => {
            "no change beyond the solver's error on the last mesh: ask for more with --tolerance to see an order"
        }
        "constant" => {
            "no change beyond the solver's error on any mesh, and so no estimate: exact, or the meshes miss what matters"
        }
        "oscillating" => "no estimate, the values go up and down; refine further",
        "slow" => "no estimate, the changes do not fall, or hardly; refine further",
        "unsettled" => "no estimate, the order is still changing; refine further",
        "too few meshes" => "no estimate from fewer than three meshes",
        _ => "",
    }
}

/// The tables of all units, with what there is to be said of them.
pub(super) fn text(
    case: &Case,
    series: &Series<OfCase, Results>,
    gap: Option<Gap>,
    path: &Path,
) -> String {
    let results = &series.results;
    let mut text = format!(
        "{}\nfarad {}, {} meshes, solver tolerance {:.1e}\n",
        printable_line(&case.title),
        env!("CARGO_PKG_VERSION"),
        results.meshes.len(),
        case.options.tolerance,
    );
    if let Some(failed) = &results.failed {
        let triangles = units::count(failed.triangles as u64);
        let _ = writeln!(
            text,
            "\nINCOMPLETE: the mesh of {triangles} triangles failed, those before it are here"
        );
    }
    let mut shown: Vec<Unit> = Vec::new();
    for entry in &results.entries {
        if !shown.contains(&entry.unit) {
            shown.push(entry.unit);
            text += &table(results, entry.unit);
        }
    }
    if results.refinement == "flat" {
        let is_molecule = case.description.dielectrics.iter().any(|d| !d.atoms.is_empty());
        text += if is_molecule {
            "\nRefinement splits the triangles of the first mesh: values converge to the surface as meshed,\n\
             not to the molecule. Compare meshes that are generated again from the molecule's surface.\n"
        } else {
            "\nRefinement splits the triangles of the first mesh: limits are those of the surface as meshed.\n"
        };
    }
    if results.meshes.len() == 3 && gap.is_none() {
        text += "\nThree meshes give one order, which nothing confirms: --levels 4 shows whether it holds, and\n\
                 makes errors smaller.\n";
    }
    if let Some(Gap { width, facets }) = gap {
        let unit = case.description.unit.name();
        let _ = writeln!(
            text,
            "\nNo estimates: facets of {facets:.1e} {unit} face a gap of {width:.1e} {unit}, and what happens at its rim shows on none of \
             these meshes. Refine until facets are at most {FACETS_OVER_GAP} times as large as the gap."
        );
    }
    for kind in ["noise", "constant", "oscillating", "slow", "unsettled", "too few meshes"] {
        let names: Vec<_> = results
            .entries
            .iter()
            .filter(|entry| entry.verdict.to_string() == kind)
            .map(|entry| printable_line(&entry.key.to_string()).into_owned())
            .collect();
        if !names.is_empty() {
            let _ = writeln!(text, "\n{}: {}", names.join(", "), remark(kind));
        }
    }
    for level in &results.meshes {
        let triangles = units::count(level.triangles as u64);
        for warning in &level.warnings {
            let _ = writeln!(
                text,
                "\n{} on {triangles} triangles: {}",
                warning.heading(),
                warning.message
            );
        }
    }
    let _ = writeln!(text, "\nResults in {}: {}", path.display(), series.files.join(", "));
    text
}
