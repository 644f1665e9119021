//! How solves and meshes converged, on the page of a solve.

use std::io;
use std::path::Path;

use serde_json::Value;

use super::chart::{Axis, Curve, curves};
use super::content::limited;
use super::html::{self, Html};
use super::numbers::{small, unit, with_bar};
use super::value::{count, list, number, text};
use crate::files::text_itself;
use crate::units;

/// Residuals over iterations, and refinement over triangles.
pub(super) fn section(folder: &Path, results: &Value) -> io::Result<Html> {
    let mut html = Html::default();
    let solves = list(&results["solves"]);
    let accuracy = &results["accuracy"];
    let mut all = residuals(folder, solves)?;
    html.raw("<div class=\"charts\">\n");
    if !all.is_empty() {
        // The slowest is the one in sight where there are many.
        all.sort_by_key(|curve| curve.points.len());
        let longest = all.last().map_or(0, |curve| curve.points.len());
        let tolerance = number(&accuracy["solver_tolerance"]);
        if let Some(tolerance) = tolerance.filter(|_| longest > 1) {
            let end = (longest - 1) as f64;
            let points = vec![(0.0, tolerance, None), (end, tolerance, None)];
            let guide = Curve { label: "tolerance".to_owned(), points, is_guide: true };
            all.insert(0, guide);
        }
        let x = Axis { label: "iteration", is_logarithmic: false };
        let y = Axis { label: "relative residual", is_logarithmic: true };
        let chart = curves(x, y, &all, "Residuals over iterations");
        html.raw("<div><h3>Residuals</h3>\n").part(&chart).raw("</div>\n");
    }
    let refinement = &results["refinement"];
    let meshes = list(&refinement["meshes"]);
    if !meshes.is_empty() {
        let place =
            |mesh: &Value| Some((number(&mesh["triangles"])?, number(&mesh["relative_error"])?));
        let points: Vec<_> = meshes.iter().filter_map(place).collect();
        let goal = number(&refinement["accuracy"]);
        let mut drawn = vec![Curve {
            label: "relative error bar".to_owned(),
            points: points.iter().map(|(x, y)| (*x, *y, None)).collect(),
            is_guide: false,
        }];
        if let (Some(goal), Some(low), Some(high)) = (goal, points.first(), points.last()) {
            let points = vec![(low.0, goal, None), (high.0, goal, None)];
            drawn.push(Curve { label: "asked for".to_owned(), points, is_guide: true });
        }
        let x = Axis { label: "triangles", is_logarithmic: true };
        let y = Axis { label: "relative error bar", is_logarithmic: true };
        let chart = curves(x, y, &drawn, "Refinement");
        html.raw("<div><h3>Refinement</h3>\n").part(&chart).raw("</div>\n");
    }
    html.raw("</div>\n");
    if !meshes.is_empty() {
        let header =
            ["mesh", "triangles", "number with the longest bar", "value", "relative", "time"];
        let rows = meshes.iter().enumerate().map(|(index, mesh)| {
            let value = number(&mesh["value"]).unwrap_or(f64::NAN);
            let (symbol, factor) = match text(&mesh["unit"]) {
                "F" => unit(value, "F"),
                other => (other.to_owned(), 1.0),
            };
            let bar = number(&mesh["error"]).map(|bar| bar / factor);
            vec![
                (index + 1).to_string(),
                count(&mesh["triangles"]).unwrap_or_default(),
                text(&mesh["number"]).to_owned(),
                format!("{} {symbol}", with_bar(value / factor, bar)),
                small(number(&mesh["relative_error"])),
                units::duration(number(&mesh["seconds"]).unwrap_or(0.0)),
            ]
        });
        html.part(&limited(&header, rows.collect(), "results.json")).note(&format!(
            "Accuracy {} of {} was asked for; the refinement ended as: {}.",
            small(number(&refinement["accuracy"])),
            text(&refinement["accuracy_of"]),
            text(&refinement["ended"])
        ));
    }
    let header = ["excitation", "iterations", "residual", "ended as"];
    let mut slowest: Vec<&Value> = solves.iter().collect();
    // What failed comes first.
    slowest.sort_by_key(|solve| solve["converged"] == true);
    let rows = slowest.iter().map(|solve| {
        vec![
            text(&solve["excitation"]).to_owned(),
            count(&solve["iterations"]).unwrap_or_default(),
            small(number(&solve["relative_residual"])),
            text(&solve["reason"]).replace('_', " "),
        ]
    });
    html.part(&limited(&header, rows.collect(), "results.json"));
    let checks = [
        ("Solver tolerance", "solver_tolerance"),
        ("Tolerance of fast sums", "fmm_tolerance"),
        ("Error of fast sums, measured", "fmm_error_sampled"),
        ("Error of potentials, measured / V", "fmm_error_potential_v"),
        ("Defect of Gauss's law", "gauss_defect"),
    ];
    let mut rows: Vec<(String, String)> = checks
        .iter()
        .filter_map(|(name, key)| Some(((*name).to_owned(), small(Some(number(&accuracy[*key])?)))))
        .collect();
    if let Some(asymmetry) =
        number(&results["capacitance"]["relative_asymmetry"]).filter(|_| solves.len() > 1)
    {
        rows.push(("Asymmetry of the matrix".to_owned(), small(Some(asymmetry))));
    }
    html.raw("<h3>Accuracy</h3>\n").part(&html::pairs(rows));
    Ok(html)
}

/// The residuals of each solve, as residuals.csv has them; none where it is not there.
fn residuals(folder: &Path, solves: &[Value]) -> io::Result<Vec<Curve>> {
    let table = text_itself(&folder.join("residuals.csv"))?.unwrap_or_default();
    let mut found: Vec<Curve> = Vec::new();
    for row in table.lines().skip(1) {
        // Names may have commas; the four fields after them do not.
        let fields: Vec<&str> = row.rsplitn(5, ',').collect();
        let [_, _, residual, iteration, _] = fields[..] else { continue };
        let (Ok(iteration), Ok(residual)) = (iteration.parse::<f64>(), residual.parse()) else {
            continue;
        };
        if iteration == 0.0 {
            let label = solves.get(found.len()).map_or("", |solve| text(&solve["excitation"]));
            found.push(Curve { label: label.to_owned(), points: Vec::new(), is_guide: false });
        }
        if let Some(curve) = found.last_mut() {
            curve.points.push((iteration, residual, None));
        }
    }
    // Direct solves have no iterations.
    found.retain(|curve| curve.points.len() > 1);
    Ok(found)
}
