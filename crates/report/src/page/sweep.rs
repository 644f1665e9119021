//! The page of a sweep: all runs, and numbers over what was varied.

use std::io;

use farad::{distinct_entries, entry_name};
use serde_json::Value;

use super::chart::{Axis, Curve, curves};
use super::content::{Content, files, limited};
use super::html::Html;
use super::numbers::{plain, unit};
use super::value::{count, list, matrix, number, numbers, text, texts};
use crate::units;

/// Columns beyond are left to the table in the folder.
const MOST_COLUMNS: usize = 30;

/// Charts of more are too many to look at.
const MOST_CHARTS: usize = 8;

/// The value of a sweep in a run.
pub(super) fn label(value: &Value) -> String {
    number(value).map_or_else(|| text(value).to_owned(), |value| format!("{value}"))
}

/// One column of the table: name with unit, and its numbers.
struct Column {
    name: String,
    values: Vec<f64>,
}

pub(super) fn content(results: &Value) -> io::Result<Content> {
    let runs = list(&results["runs"]);
    let parameters = texts(&results["parameters"]);
    let columns = columns(results, runs);
    let mut header = parameters.clone();
    header.push("triangles".to_owned());
    header.extend(columns.iter().take(MOST_COLUMNS).map(|column| column.name.clone()));
    let rows = runs.iter().enumerate().map(|(run, values)| {
        let mut row: Vec<String> = list(&values["parameters"]).iter().map(label).collect();
        row.push(count(&values["triangles"]).unwrap_or_default());
        row.extend(columns.iter().take(MOST_COLUMNS).map(|column| plain(column.values[run])));
        row
    });
    let mut table = limited(&header, rows.collect(), "sweep.csv");
    if columns.len() > MOST_COLUMNS {
        let more = columns.len() - MOST_COLUMNS;
        table.note(&format!("{more} more columns are in sweep.csv."));
    }
    let mut run = Html::default();
    run.raw("<p>To see the charges of all runs, open <code>sweep.pvd</code> in ParaView.</p>\n");
    run.part(&files(results));
    Ok(Content {
        kind: "Sweep",
        facts: vec![
            ("Runs".to_owned(), runs.len().to_string()),
            ("Varied".to_owned(), parameters.join(", ")),
            ("Solved".to_owned(), count(&results["solved"]).unwrap_or_default()),
            ("Time".to_owned(), units::duration(number(&results["seconds"]).unwrap_or(0.0))),
        ],
        first: vec![
            ("plots", format!("Over {}", parameters.join(" and ")), plots(results, runs, &columns)),
            ("runs", "Runs".to_owned(), table),
        ],
        then: vec![("files", "Files".to_owned(), run)],
        surface: None,
    })
}

/// The matrix's entries, then all other quantities.
fn columns(results: &Value, runs: &[Value]) -> Vec<Column> {
    let conductors = texts(&results["conductors"]);
    let excited: Vec<usize> = texts(&results["columns"])
        .iter()
        .filter_map(|name| conductors.iter().position(|known| known == name))
        .collect();
    let shape = [conductors.len(), excited.len()];
    let matrices: Vec<Option<Vec<Vec<f64>>>> =
        runs.iter().map(|run| matrix(&run["maxwell_farad"], shape)).collect();
    let mut columns: Vec<Column> = distinct_entries(conductors.len(), &excited)
        .into_iter()
        .map(|(i, k)| {
            let value = |matrix: &Option<Vec<Vec<f64>>>| {
                matrix.as_ref().map_or(f64::NAN, |matrix| matrix[i][k])
            };
            let values: Vec<f64> = matrices.iter().map(value).collect();
            let finite = values.iter().filter(|value| value.is_finite());
            let size = finite.fold(0.0_f64, |size, value| value.abs().max(size));
            let (symbol, factor) = unit(size, "F");
            let name = format!("{} / {symbol}", entry_name(&conductors, i, excited[k]));
            Column { name, values: values.iter().map(|value| value / factor).collect() }
        })
        .collect();
    let others = texts(&results["quantities"]);
    let of_runs: Vec<Vec<f64>> = runs.iter().map(|run| numbers(&run["quantities"])).collect();
    columns.extend(others.into_iter().enumerate().map(|(k, name)| Column {
        name,
        values: of_runs.iter().map(|all| all.get(k).copied().unwrap_or(f64::NAN)).collect(),
    }));
    columns
}

/// Each column over the last sweep whose values are numbers, a curve for each combination of the
/// others.
fn plots(results: &Value, runs: &[Value], columns: &[Column]) -> Html {
    let mut html = Html::default();
    let names = texts(&results["parameters"]);
    let values: Vec<&[Value]> = runs.iter().map(|run| list(&run["parameters"])).collect();
    let is_varied = |sweep: usize| {
        let all: Option<Vec<f64>> = values.iter().map(|v| number(v.get(sweep)?)).collect();
        all.is_some_and(|all| all.windows(2).any(|pair| pair[0] != pair[1]))
    };
    let Some(along) = (0..names.len()).rev().find(|sweep| is_varied(*sweep)) else {
        html.note("What was varied are files, not numbers, so there is nothing to plot over.");
        return html;
    };
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for (run, values) in values.iter().enumerate() {
        let others = names.iter().zip(*values).enumerate().filter(|(sweep, _)| *sweep != along);
        let others = others.map(|(_, (name, value))| format!("{name} = {}", label(value)));
        let key = others.collect::<Vec<_>>().join(", ");
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, runs)) => runs.push(run),
            None => groups.push((key, vec![run])),
        }
    }
    let place = |run: &usize| values[*run].get(along).and_then(number).unwrap_or(f64::NAN);
    html.raw("<div class=\"charts\">\n");
    for column in columns.iter().take(MOST_CHARTS) {
        let curve = |(key, runs): &(String, Vec<usize>)| {
            let mut points: Vec<_> =
                runs.iter().map(|run| (place(run), column.values[*run], None)).collect();
            points.sort_by(|a: &(f64, f64, _), b| a.0.total_cmp(&b.0));
            let label = if key.is_empty() { column.name.clone() } else { key.clone() };
            Curve { label, points, is_guide: false }
        };
        let all: Vec<Curve> = groups.iter().map(curve).collect();
        let x = Axis { label: &names[along], is_logarithmic: false };
        let y = Axis { label: &column.name, is_logarithmic: false };
        let title = format!("{} over {}", column.name, names[along]);
        html.part(&curves(x, y, &all, &title));
    }
    html.raw("</div>\n");
    if columns.len() > MOST_CHARTS {
        let all = columns.len();
        html.note(&format!("The first {MOST_CHARTS} of {all} quantities are drawn."));
    }
    html
}
