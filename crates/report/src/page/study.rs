//! The page of a study: numbers on finer and finer meshes, and their limits.

use std::io;

use serde_json::Value;

use super::chart::{self, Axis, Curve};
use super::content::{Content, files, limited};
use super::html::Html;
use super::numbers::{small, unit, with_bar};
use super::value::{count, list, number, numbers, text};
use crate::units;

/// Curves of more entries are not drawn: these are the largest.
const MOST_CURVES: usize = 6;

pub(super) fn content(results: &Value) -> io::Result<Content> {
    let meshes = list(&results["meshes"]);
    let entries = list(&results["entries"]);
    let finest = meshes.last().and_then(|mesh| count(&mesh["triangles"])).unwrap_or_default();
    let facts = vec![
        ("Meshes".to_owned(), meshes.len().to_string()),
        ("Triangles of the finest".to_owned(), finest),
        ("Refinement".to_owned(), text(&results["refinement"]).to_owned()),
        ("Time".to_owned(), units::duration(number(&results["seconds"]).unwrap_or(0.0))),
    ];
    let mut run = Html::default();
    let header = ["mesh", "triangles", "element size", "iterations"].map(str::to_owned);
    let rows = meshes.iter().enumerate().map(|(index, mesh)| {
        vec![
            (index + 1).to_string(),
            count(&mesh["triangles"]).unwrap_or_default(),
            number(&mesh["relative_size"]).map_or_else(String::new, units::shortest),
            count(&mesh["iterations"]).unwrap_or_default(),
        ]
    });
    run.part(&limited(&header, rows.collect(), "results.json"));
    run.raw("<h3>Files</h3>\n").part(&files(results));
    Ok(Content {
        kind: "Study of convergence",
        facts,
        first: vec![
            ("values", "Values and limits".to_owned(), values(meshes, entries)),
            ("convergence", "Convergence".to_owned(), convergence(meshes, entries)),
        ],
        then: vec![("run", "Meshes and files".to_owned(), run)],
        surface: None,
    })
}

/// A row for each number.
fn values(meshes: &[Value], entries: &[Value]) -> Html {
    let mut header = vec!["quantity".to_owned()];
    header.extend(
        meshes
            .iter()
            .map(|mesh| format!("{} triangles", count(&mesh["triangles"]).unwrap_or_default())),
    );
    header.extend(["order", "extrapolated", "range"].map(str::to_owned));
    let rows = entries.iter().map(|entry| {
        let values = numbers(&entry["values"]);
        let bars = numbers(&entry["bars"]);
        let size = values.iter().fold(0.0_f64, |size, value| value.abs().max(size));
        let has_prefix = ["F", "V", "C", "N", "J"].contains(&text(&entry["unit"]));
        let (symbol, factor) = match has_prefix {
            true => unit(size, text(&entry["unit"])),
            false => (text(&entry["unit"]).to_owned(), 1.0),
        };
        let name = text(&entry["name"]);
        let label = if symbol.is_empty() { name.to_owned() } else { format!("{name} / {symbol}") };
        let of_mesh = |(k, value): (usize, &f64)| {
            with_bar(value / factor, bars.get(k).map(|bar| bar / factor))
        };
        let limit = match (number(&entry["extrapolated"]), number(&entry["error"])) {
            (Some(value), Some(error)) => with_bar(value / factor, Some(error / factor)),
            _ => "–".to_owned(),
        };
        let order = number(&entry["order"]).map_or_else(|| "–".to_owned(), |o| format!("{o:.2}"));
        std::iter::once(label)
            .chain(values.iter().enumerate().map(of_mesh))
            .chain([order, limit, text(&entry["range"]).to_owned()])
            .collect()
    });
    let mut html = limited(&header, rows.collect(), "study.csv");
    html.note("± of a mesh is the error bar of that mesh alone; ± of the extrapolated value is what the study estimates. Only values in the asymptotic range have one.");
    html
}

/// The axes of distances from limits.
const AXES: [Axis<'static>; 2] = [
    Axis { label: "element size, relative to the first mesh", is_logarithmic: true },
    Axis { label: "relative distance from the limit", is_logarithmic: true },
];

/// `study.svg`: how the values in a study's results approach their limits.
pub(super) fn file(title: &str, results: &Value) -> String {
    let (curves, _) = distances(list(&results["meshes"]), list(&results["entries"]));
    let [x, y] = AXES;
    chart::file(x, y, &curves, title)
}

/// Distances from the limits over the element size.
fn convergence(meshes: &[Value], entries: &[Value]) -> Html {
    let (curves, error) = distances(meshes, entries);
    let mut html = Html::default();
    if curves.is_empty() {
        html.note("No value is in the asymptotic range, so none has a limit to be compared with.");
        return html;
    }
    let [x, y] = AXES;
    html.part(&chart::curves(x, y, &curves, "Convergence over the element size"));
    html.note(&format!(
        "The errors of these extrapolated values are estimated at {} or less.",
        small(Some(error))
    ));
    html
}

/// Curves of the distances of the largest values from their limits, with those of orders to compare
/// with, and the largest estimated error of the limits, relative to them.
fn distances(meshes: &[Value], entries: &[Value]) -> (Vec<Curve>, f64) {
    let sizes: Vec<f64> =
        meshes.iter().map(|mesh| number(&mesh["relative_size"]).unwrap_or(f64::NAN)).collect();
    let mut drawn: Vec<(f64, &Value)> = entries
        .iter()
        .filter(|entry| text(&entry["range"]) == "asymptotic")
        .filter_map(|entry| Some((number(&entry["extrapolated"])?, entry)))
        .collect();
    drawn.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    drawn.truncate(MOST_CURVES);
    let mut all: Vec<Curve> = drawn
        .iter()
        .map(|(limit, entry)| {
            let values = numbers(&entry["values"]);
            let distance = |(size, value): (&f64, &f64)| (*size, (value / limit - 1.0).abs(), None);
            let order =
                number(&entry["order"]).map_or_else(String::new, |o| format!(", order {o:.2}"));
            Curve {
                label: format!("{}{order}", text(&entry["name"])),
                points: sizes.iter().zip(&values).map(distance).collect(),
                is_guide: false,
            }
        })
        .collect();
    let Some(first) = all.first().and_then(|curve| curve.points.first().copied()) else {
        return (Vec::new(), 0.0);
    };
    for order in [1, 2] {
        let points = sizes.iter().map(|size| (*size, first.1 * size.powi(order), None)).collect();
        all.push(Curve { label: format!("order {order}"), points, is_guide: true });
    }
    let smallest =
        drawn.iter().filter_map(|(limit, entry)| Some(number(&entry["error"])? / limit.abs()));
    let largest = smallest.fold(0.0, f64::max);
    (all, largest)
}
