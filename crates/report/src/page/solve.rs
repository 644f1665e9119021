//! The page of a solve.

use std::io;
use std::path::Path;

use farad::{Labelled, Unit};
use serde_json::Value;

use super::content::{Content, files, limited, listed};
use super::convergence;
use super::html::{self, Html};
use super::matrix;
use super::numbers::{largest, small, unit, with_bar};
use super::scene::Named;
use super::value::{count, list, matrix as rows_of, number, numbers, plain, text, texts};
use crate::units;

/// Conductors whose capacitances are among the first numbers.
const MOST_FACTS: usize = 1;

/// Sections longer than this get no further matrices: all of them together are to fit.
const MOST_BYTES: usize = 400_000;

/// A Maxwell matrix of results.json.
struct Maxwell {
    conductors: Vec<String>,
    columns: Vec<String>,
    values: Vec<Vec<f64>>,
    bars: Option<Vec<Vec<f64>>>,
}

impl Maxwell {
    /// The matrix of the capacitance or of a reduction; without rows if it is not there.
    fn new(found: &Value) -> Self {
        let conductors = texts(&found["conductors"]);
        let columns = match list(&found["columns"]) {
            [] => conductors.clone(),
            _ => texts(&found["columns"]),
        };
        let shape = [conductors.len(), columns.len()];
        let values = rows_of(&found["maxwell_farad"], shape).unwrap_or_default();
        let bars = rows_of(&found["maxwell_farad_error"], shape);
        Self { conductors, columns, values, bars }
    }

    fn matrix(&self) -> Option<Labelled<'_>> {
        let (rows, columns, values) = (&self.conductors, &self.columns, &self.values);
        let bars = self.bars.as_deref();
        (!values.is_empty()).then_some(Labelled { rows, columns, values, bars, unit: Unit::Farad })
    }
}

pub(super) fn content(folder: &Path, results: &Value) -> io::Result<Content> {
    let maxwell = Maxwell::new(&results["capacitance"]);
    let mut first = Vec::new();
    if let Some(matrix) = maxwell.matrix() {
        let mut html = Html::default();
        html.part(&matrix::table(matrix, "capacitance_maxwell.csv"));
        html.raw("<p class=\"note\">Maxwell matrix: the charge on a row's conductor is the sum of its entries times the potentials of the columns'. ");
        html.raw(match matrix.bars {
            Some(_) => "± are error bars, which cover mesh, solver, sums and quadrature, not the difference of the meshed surface from the true one.",
            None => "There are no error bars: the case asks for none, or a solve did not converge.",
        });
        html.raw("</p>\n");
        html.part(&matrix::couplings(matrix)?);
        first.push(("capacitance", "Capacitance".to_owned(), html));
    }
    first.push(("energies", "Energies".to_owned(), energies(results)));
    let facts = facts(results, maxwell.matrix());
    let Maxwell { conductors, columns, .. } = maxwell;
    let media = list(&results["media"]);
    let others = media.iter().skip(1).filter(|m| number(&m["triangles"]).unwrap_or(0.0) > 0.0);
    let others = others.map(|medium| text(&medium["name"]).to_owned()).collect();
    let charges = charges(&results["charges"]);
    Ok(Content {
        kind: "Electrostatic boundary element solution",
        facts,
        first,
        then: vec![
            ("charges", "Charges and potentials".to_owned(), charges),
            ("reductions", "Reduced matrices".to_owned(), reductions(&results["reductions"])),
            ("bodies", "Forces and bodies".to_owned(), bodies(results)),
            ("sensitivities", "Sensitivities and films".to_owned(), sensitivities(results)),
            ("convergence", "Convergence".to_owned(), convergence::section(folder, results)?),
            ("problem", "Conductors and media".to_owned(), problem(results)),
            ("run", "Run".to_owned(), run(results)),
        ],
        surface: Some(Named { conductors, columns, others }),
    })
}

/// The numbers at the top.
fn facts(results: &Value, matrix: Option<Labelled<'_>>) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    if let Some(matrix) = matrix.filter(|matrix| matrix.values.len() <= MOST_FACTS) {
        let (symbol, factor) = unit(matrix.largest(), "F");
        let bar = matrix.bars.map(|bars| bars[0][0] / factor);
        let value = matrix.values[0][0] / factor;
        fact("Capacitance", format!("{} {symbol}", with_bar(value, bar)));
    }
    let solvation = &results["solvation"];
    if let Some(energy) = number(&solvation["energy_kcal_per_mol"]) {
        let bar = number(&solvation["energy_error_kcal_per_mol"]);
        fact("Solvation energy", format!("{} kcal/mol", with_bar(energy, bar)));
    }
    if let Some(triangles) = count(&results["mesh"]["triangles"]) {
        fact("Triangles", triangles);
    }
    let conductors = list(&results["mesh"]["conductors"]).len();
    if conductors > 0 {
        fact("Conductors", units::count(conductors as u64));
    }
    if let Some(worst) = matrix.and_then(|matrix| worst_bar(&matrix)) {
        fact("Largest error bar, relative", small(Some(worst)));
    }
    let iterations = list(&results["solves"]).iter().filter_map(|s| s["iterations"].as_u64()).max();
    if let Some(iterations) = iterations.filter(|most| *most > 0) {
        fact("Iterations at most", iterations.to_string());
    }
    if let Some(seconds) = number(&results["timings_s"]["total"]) {
        fact("Time", units::duration(seconds));
    }
    facts
}

/// The longest bar of a matrix, relative to the smaller diagonal.
fn worst_bar(matrix: &Labelled<'_>) -> Option<f64> {
    let (values, bars) = (matrix.values, matrix.bars?);
    let is_square = values.len() > MOST_FACTS && values.iter().all(|row| row.len() == values.len());
    let own = |k: usize| values[k][k].abs();
    let relative = |i: usize, j: usize| bars[i][j] / own(i).min(own(j));
    let each = (0..values.len()).flat_map(|i| (0..values.len()).map(move |j| (i, j)));
    is_square.then(|| each.map(|(i, j)| relative(i, j)).fold(0.0, f64::max))
}

/// Energies of point charges, in all and of each molecule.
fn energies(results: &Value) -> Html {
    let mut html = Html::default();
    let found = &results["solvation"];
    if !found.is_object() {
        return html;
    }
    let row = |name: &str, of: &Value, with_bars: bool| {
        let cell = |unit: &str| {
            let bar = number(&of[format!("energy_error_{unit}")]).filter(|_| with_bars);
            with_bar(number(&of[format!("energy_{unit}")]).unwrap_or(f64::NAN), bar)
        };
        vec![name.to_owned(), cell("kcal_per_mol"), cell("kj_per_mol"), cell("kt")]
    };
    let rows = vec![
        row("solvation (reaction field)", found, true),
        row("Coulomb", &found["coulomb"], false),
        row("total", &found["total"], false),
    ];
    let shortest = |value: &Value| number(value).map_or_else(|| "–".to_owned(), units::shortest);
    html.part(&limited(&["energy", "kcal/mol", "kJ/mol", "kT"], rows, "results.json"));
    html.note(&format!(
        "{}; kT at {} K.",
        units::counted(found["charges"].as_u64().unwrap_or(0) as usize, "point charge"),
        shortest(&found["temperature_k"])
    ));
    let header = [
        "molecule",
        "atoms",
        "charge / e",
        "solvation / kcal/mol",
        "Coulomb / kcal/mol",
        "nearest atom to surface / Å",
    ];
    html.part(&listed(&header, &found["molecules"], |molecule| {
        let distance = number(&molecule["least_distance_m"]).map(|d| 1e10 * d);
        vec![
            text(&molecule["name"]).to_owned(),
            count(&molecule["atoms"]).unwrap_or_default(),
            shortest(&molecule["charge_e"]),
            plain(&molecule["energy_kcal_per_mol"]),
            plain(&molecule["coulomb"]["energy_kcal_per_mol"]),
            plain(&distance.into()),
        ]
    }));
    html
}

/// The state of the case.
fn charges(found: &Value) -> Html {
    let sizes = list(found).iter().filter_map(|conductor| number(&conductor["charge_c"]));
    let (symbol, factor) = unit(sizes.fold(0.0, |size: f64, charge| charge.abs().max(size)), "C");
    let header = ["conductor", "potential / V", &format!("charge / {symbol}"), ""];
    listed(&header, found, |conductor| {
        let cell = |key: &str, bar: &str, factor: f64| {
            let value = number(&conductor[key]).unwrap_or(f64::NAN);
            with_bar(value / factor, number(&conductor[bar]).map(|bar| bar / factor))
        };
        vec![
            text(&conductor["conductor"]).to_owned(),
            cell("potential_v", "potential_error_v", 1.0),
            cell("charge_c", "charge_error_c", factor),
            if conductor["floating"] == true { "floating" } else { "" }.to_owned(),
        ]
    })
}

fn reductions(found: &Value) -> Html {
    let mut html = Html::default();
    for reduction in list(found) {
        let name = text(&reduction["name"]);
        html.element("h3", name);
        if let Some(between) = number(&reduction["between_farad"]) {
            let (symbol, factor) = unit(between, "F");
            let bar = number(&reduction["between_farad_error"]).map(|bar| bar / factor);
            html.raw("<p>Capacitance between the two nets: <b>");
            html.text(&format!("{} {symbol}", with_bar(between / factor, bar))).raw("</b></p>\n");
        }
        if let Some(matrix) = Maxwell::new(reduction).matrix().filter(|_| html.len() < MOST_BYTES) {
            html.part(&matrix::table(matrix, &format!("capacitance_{name}.csv")));
        }
    }
    html
}

/// Forces, polarisability, diffusion.
fn bodies(results: &Value) -> Html {
    let mut html = Html::default();
    let header = [
        "body", "Fx / N", "Fy / N", "Fz / N", "± / N", "Tx / N m", "Ty / N m", "Tz / N m",
        "± / N m",
    ];
    html.part(&listed(&header, &results["forces"], |force| {
        let vector = |key: &str, bar: &str| {
            let three = list(&force[key]).iter().map(plain);
            three.chain([small(number(&force[bar]))]).collect::<Vec<_>>()
        };
        [
            vec![text(&force["body"]).to_owned()],
            vector("force_n", "force_error_n"),
            vector("torque_nm", "torque_error_nm"),
        ]
        .concat()
    }));
    let unit = text(&results["mesh"]["unit"]);
    let found = &results["polarisability"];
    if let Some(values) = rows_of(&found["over_4pi_eps0"], [3; 2]) {
        let bars = rows_of(&found["over_4pi_eps0_error"], [3; 2]);
        let corner = format!("polarisability/(4π ε₀) / {unit}³");
        let rows = ["x", "y", "z"].iter().enumerate().map(|(i, axis)| {
            let cell = |j: usize| with_bar(values[i][j], bars.as_ref().map(|bars| bars[i][j]));
            std::iter::once((*axis).to_owned()).chain((0..3).map(cell)).collect()
        });
        html.part(&limited(&[&*corner, "x", "y", "z"], rows.collect(), "results.json"));
    }
    let found = &results["hydrodynamics"];
    if let Some(capacity) = number(&found["capacity"]) {
        let mut rows = vec![
            (
                format!("capacity and hydrodynamic radius / {unit}"),
                with_bar(capacity, number(&found["capacity_error"])),
            ),
            ("diffusion constant / m²/s".to_owned(), plain(&found["diffusion_m2_per_s"])),
            ("friction / kg/s".to_owned(), plain(&found["friction_kg_per_s"])),
        ];
        let viscosity = &found["viscosity"];
        if viscosity.is_object() {
            let name = "intrinsic viscosity per volume fraction".to_owned();
            rows.push((name, plain(&viscosity["intrinsic_viscosity"])));
            rows.push(("volume / m³".to_owned(), plain(&viscosity["volume_m3"])));
        }
        html.raw("<h3>Hydrodynamics</h3>\n").part(&html::pairs(rows));
    }
    html.part(&listed(&["probe", "points", "file"], &results["probes"], |probe| {
        vec![
            text(&probe["name"]).to_owned(),
            count(&probe["points"]).unwrap_or_default(),
            text(&probe["file"]).to_owned(),
        ]
    }));
    html
}

fn sensitivities(results: &Value) -> Html {
    let mut html = Html::default();
    let header = ["sensitivity", "by", "at", "largest derivative", "±", "unit"];
    html.part(&listed(&header, &results["sensitivities"], |found| {
        let [all, bars] = ["derivatives", "derivatives_error"].map(|key| -> Vec<Vec<f64>> {
            list(&found[key]).iter().flat_map(|m| list(m).iter().map(numbers)).collect()
        });
        vec![
            text(&found["name"]).to_owned(),
            text(&found["by"]).to_owned(),
            if found["at"].is_number() { plain(&found["at"]) } else { String::new() },
            plain(&largest(&all).into()),
            small((!bars.is_empty()).then(|| largest(&bars))),
            text(&found["unit"]).to_owned(),
        ]
    }));
    if !html.is_empty() {
        html.raw("<p class=\"note\">The matrices of derivatives are in <code>sensitivity_NAME.csv</code>.</p>\n");
    }
    let header = ["film", "thickness / m", "ε r", "largest share of energy", "±"];
    html.part(&listed(&header, &results["films"], |film| {
        let most = |key: &str| numbers(&film[key]).into_iter().fold(f64::NAN, f64::max);
        vec![
            text(&film["name"]).to_owned(),
            plain(&film["thickness_m"]),
            plain(&film["relative_permittivity"]),
            plain(&most("participation").into()),
            small(Some(most("participation_error"))),
        ]
    }));
    html
}

fn problem(results: &Value) -> Html {
    let mut html = Html::default();
    let header = ["conductor", "triangles", "area / m²", "surface"];
    html.part(&listed(&header, &results["mesh"]["conductors"], |conductor| {
        vec![
            text(&conductor["name"]).to_owned(),
            count(&conductor["triangles"]).unwrap_or_default(),
            plain(&conductor["area_m2"]),
            if conductor["closed"] == true { "closed" } else { "open" }.to_owned(),
        ]
    }));
    let header = ["medium", "relative permittivity", "triangles of its boundary"];
    let rows = list(&results["media"]).iter().map(|medium| {
        vec![
            text(&medium["name"]).to_owned(),
            number(&medium["relative_permittivity"])
                .map_or_else(String::new, |eps| eps.to_string()),
            count(&medium["triangles"]).filter(|n| n != "0").unwrap_or_default(),
        ]
    });
    html.part(&limited(&header, rows.collect(), "results.json"));
    html
}

/// Times, versions, machine, files.
fn run(results: &Value) -> Html {
    let mut html = Html::default();
    let timings = &results["timings_s"];
    let parts = [
        ("reading", "read"),
        ("plan", "plan"),
        ("near field", "near_field"),
        ("solve", "solve"),
        ("check of the FMM", "fmm_check"),
        ("error bars", "error_estimate"),
        ("self-checks", "self_checks"),
        ("evaluation", "evaluation"),
        ("output", "output"),
    ];
    let parts: Vec<(&str, f64)> = parts
        .iter()
        .filter_map(|(name, key)| Some((*name, number(&timings[*key])?)))
        .filter(|(_, seconds)| *seconds > 0.0)
        .collect();
    let longest = parts.iter().fold(f64::MIN_POSITIVE, |most, part| part.1.max(most));
    if !parts.is_empty() {
        html.raw("<h3>Time</h3>\n<table class=\"times\"><tbody>\n");
        for (name, seconds) in parts {
            html.raw("<tr>").element("th", name).element("td", &units::duration(seconds));
            let width = 100.0 * seconds / longest;
            html.raw(&format!(
                "<td><span class=\"bar\" style=\"width:{width:.1}%\"></span></td>\n"
            ));
        }
        let total = units::duration(number(&timings["total"]).unwrap_or(0.0));
        html.raw("<tr class=\"total\">").element("th", "total").element("td", &total);
        html.raw("<td></td>\n</table>\n");
    }
    let (backend, solver) = (&results["backend"], &results["solver"]);
    let refined = list(&results["refinement"]["meshes"]).len();
    let memory = results["memory_bytes"]["peak"].as_u64().map_or_else(String::new, units::bytes);
    let rows = [
        ("Program", text(&results["program"]).to_owned()),
        ("Form of the results", text(&results["schema"]).to_owned()),
        ("Method", text(&solver["method"]).to_owned()),
        ("Density on each triangle", text(&solver["density"]).to_owned()),
        ("Backend", text(&backend["used"]).to_owned()),
        ("Device", text(&backend["device"]).to_owned()),
        ("Threads", count(&backend["threads"]).unwrap_or_default()),
        ("Meshes of the refinement", if refined > 0 { refined.to_string() } else { String::new() }),
        ("Why no GPU was used", text(&backend["fallback"]).to_owned()),
        ("Peak memory", memory),
    ];
    let rows = rows.into_iter().filter(|(_, value)| !value.is_empty());
    let rows = rows.map(|(name, value)| (name.to_owned(), value));
    html.raw("<h3>Program and machine</h3>\n").part(&html::pairs(rows));
    html.raw("<h3>Files</h3>\n").part(&files(results));
    html
}
