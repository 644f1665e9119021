//! The page of a solve.

use std::io;
use std::path::Path;

use serde_json::Value;

use super::content::{Content, files, limited};
use super::convergence;
use super::html::{self, Html};
use super::matrix::{self, Matrix};
use super::numbers::{largest, plain, small, unit, with_bar};
use super::scene::Named;
use super::value::{count, list, matrix as rows_of, number, numbers, text, texts};
use crate::units;

/// Conductors whose capacitances are among the first numbers.
const MOST_FACTS: usize = 1;

pub(super) fn content(folder: &Path, results: &Value) -> io::Result<Content> {
    let capacitance = &results["capacitance"];
    let names = texts(&capacitance["conductors"]);
    let columns = match list(&capacitance["columns"]) {
        [] => names.clone(),
        _ => texts(&capacitance["columns"]),
    };
    let shape = [names.len(), columns.len()];
    let values = rows_of(&capacitance["maxwell_farad"], shape).filter(|rows| !rows.is_empty());
    let bars = rows_of(&capacitance["maxwell_farad_error"], shape);

    let mut first = Vec::new();
    if let Some(values) = &values {
        let of = Matrix { rows: &names, columns: &columns, values, bars: bars.as_deref() };
        let mut html = Html::default();
        html.part(&matrix::table(of, "capacitance_maxwell.csv"));
        html.raw("<p class=\"note\">Maxwell matrix: the charge on a row's conductor is the sum of its entries times the potentials of the columns'. ");
        html.raw(match bars {
            Some(_) => "± are error bars, which cover mesh, solver, sums and quadrature, not how far the surface as meshed is from what it stands for.",
            None => "There are no error bars: the case asks for none, or a solve did not converge.",
        });
        html.raw("</p>\n");
        html.part(&matrix::couplings(of)?);
        first.push(("capacitance", "Capacitance".to_owned(), html));
    }
    first.push(("energies", "Energies".to_owned(), energies(results)));
    let charges = charges(&results["charges"]);

    let media = list(&results["media"]);
    let others = media.iter().skip(1).filter(|m| number(&m["triangles"]).unwrap_or(0.0) > 0.0);
    let others = others.map(|medium| text(&medium["name"]).to_owned()).collect();
    let surface = Some(Named { conductors: names, columns, others });

    Ok(Content {
        kind: "Electrostatic boundary element solution",
        facts: facts(results, values.as_deref(), bars.as_deref()),
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
        surface,
    })
}

/// The numbers at the top.
fn facts(
    results: &Value,
    values: Option<&[Vec<f64>]>,
    bars: Option<&[Vec<f64>]>,
) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    let found = values.filter(|values| values.len() <= MOST_FACTS && !values.is_empty());
    if let Some(values) = found {
        let (symbol, factor) = unit(largest(values), "F");
        let bar = bars.map(|bars| bars[0][0] / factor);
        fact("Capacitance", format!("{} {symbol}", with_bar(values[0][0] / factor, bar)));
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
    if let Some(worst) = worst_bar(values, bars) {
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
fn worst_bar(values: Option<&[Vec<f64>]>, bars: Option<&[Vec<f64>]>) -> Option<f64> {
    let (values, bars) = (values?, bars?);
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
    let header = ["energy", "kcal/mol", "kJ/mol", "kT"].map(str::to_owned);
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
    html.part(&limited(&header, rows, "results.json"));
    html.raw("<p class=\"note\">").text(&format!(
        "{}; kT at {} K.",
        units::counted(found["charges"].as_u64().unwrap_or(0) as usize, "point charge"),
        number(&found["temperature_k"]).map_or_else(|| "–".to_owned(), units::shortest)
    ));
    html.raw("</p>\n");
    let molecules = list(&found["molecules"]);
    if !molecules.is_empty() {
        let header = [
            "molecule",
            "atoms",
            "charge / e",
            "solvation / kcal/mol",
            "Coulomb / kcal/mol",
            "nearest atom to surface / Å",
        ];
        let rows = molecules.iter().map(|molecule| {
            let kilocalories =
                |of: &Value| plain(number(&of["energy_kcal_per_mol"]).unwrap_or(f64::NAN));
            let distance = number(&molecule["least_distance_m"]).map(|d| 1e10 * d);
            vec![
                text(&molecule["name"]).to_owned(),
                count(&molecule["atoms"]).unwrap_or_default(),
                number(&molecule["charge_e"]).map_or_else(|| "–".to_owned(), units::shortest),
                kilocalories(molecule),
                kilocalories(&molecule["coulomb"]),
                plain(distance.unwrap_or(f64::NAN)),
            ]
        });
        html.part(&limited(&header.map(str::to_owned), rows.collect(), "results.json"));
    }
    html
}

/// The state of the case.
fn charges(found: &Value) -> Html {
    let conductors = list(found);
    if conductors.is_empty() {
        return Html::default();
    }
    let sizes = conductors.iter().filter_map(|conductor| number(&conductor["charge_c"]));
    let (symbol, factor) = unit(sizes.fold(0.0, |size: f64, charge| charge.abs().max(size)), "C");
    let header =
        ["conductor", "potential / V", &format!("charge / {symbol}"), ""].map(str::to_owned);
    let rows = conductors.iter().map(|conductor| {
        let of = |key: &str| number(&conductor[key]);
        let (potential, charge) = (of("potential_v"), of("charge_c"));
        vec![
            text(&conductor["conductor"]).to_owned(),
            with_bar(potential.unwrap_or(f64::NAN), of("potential_error_v")),
            with_bar(
                charge.unwrap_or(f64::NAN) / factor,
                of("charge_error_c").map(|bar| bar / factor),
            ),
            if conductor["floating"] == true { "floating" } else { "" }.to_owned(),
        ]
    });
    limited(&header, rows.collect(), "results.json")
}

fn reductions(found: &Value) -> Html {
    let mut html = Html::default();
    for reduction in list(found) {
        let name = text(&reduction["name"]);
        let nets = texts(&reduction["conductors"]);
        html.element("h3", name);
        let shape = [nets.len(); 2];
        let values = rows_of(&reduction["maxwell_farad"], shape).filter(|rows| !rows.is_empty());
        let bars = rows_of(&reduction["maxwell_farad_error"], shape);
        if let Some(between) = number(&reduction["between_farad"]) {
            let (symbol, factor) = unit(between, "F");
            let bar = number(&reduction["between_farad_error"]).map(|bar| bar / factor);
            html.raw("<p>Capacitance between the two nets: <b>");
            html.text(&format!("{} {symbol}", with_bar(between / factor, bar))).raw("</b></p>\n");
        }
        if let Some(values) = &values {
            let of = Matrix { rows: &nets, columns: &nets, values, bars: bars.as_deref() };
            // All of them together are to fit.
            if html.len() < 400_000 {
                html.part(&matrix::table(of, &format!("capacitance_{name}.csv")));
            }
        }
    }
    html
}

/// Forces, polarisability, diffusion.
fn bodies(results: &Value) -> Html {
    let mut html = Html::default();
    let forces = list(&results["forces"]);
    if !forces.is_empty() {
        let header = [
            "body", "Fx / N", "Fy / N", "Fz / N", "± / N", "Tx / N m", "Ty / N m", "Tz / N m",
            "± / N m",
        ];
        let rows = forces.iter().map(|force| {
            let three = |key: &str| numbers(&force[key]).into_iter().map(plain).collect::<Vec<_>>();
            std::iter::once(text(&force["body"]).to_owned())
                .chain(three("force_n"))
                .chain([small(number(&force["force_error_n"]))])
                .chain(three("torque_nm"))
                .chain([small(number(&force["torque_error_nm"]))])
                .collect()
        });
        html.part(&limited(&header.map(str::to_owned), rows.collect(), "results.json"));
    }
    let unit = text(&results["mesh"]["unit"]);
    let found = &results["polarisability"];
    if let Some(values) = rows_of(&found["over_4pi_eps0"], [3; 2]) {
        let bars = rows_of(&found["over_4pi_eps0_error"], [3; 2]);
        let corner = format!("polarisability/(4π ε₀) / {unit}³");
        let header = [corner.as_str(), "x", "y", "z"].map(str::to_owned);
        let rows = ["x", "y", "z"].iter().enumerate().map(|(i, axis)| {
            let cell = |j: usize| with_bar(values[i][j], bars.as_ref().map(|bars| bars[i][j]));
            std::iter::once((*axis).to_owned()).chain((0..3).map(cell)).collect()
        });
        html.part(&limited(&header, rows.collect(), "results.json"));
    }
    let found = &results["hydrodynamics"];
    if let Some(capacity) = number(&found["capacity"]) {
        let of = |value: &Value| plain(number(value).unwrap_or(f64::NAN));
        let mut rows = vec![
            (
                format!("capacity and hydrodynamic radius / {unit}"),
                with_bar(capacity, number(&found["capacity_error"])),
            ),
            ("diffusion constant / m²/s".to_owned(), of(&found["diffusion_m2_per_s"])),
            ("friction / kg/s".to_owned(), of(&found["friction_kg_per_s"])),
        ];
        let viscosity = &found["viscosity"];
        if viscosity.is_object() {
            rows.push((
                "intrinsic viscosity per volume fraction".to_owned(),
                of(&viscosity["intrinsic_viscosity"]),
            ));
            rows.push(("volume / m³".to_owned(), of(&viscosity["volume_m3"])));
        }
        html.raw("<h3>Hydrodynamics</h3>\n").part(&html::pairs(rows));
    }
    let probes = list(&results["probes"]);
    if !probes.is_empty() {
        let header = ["probe", "points", "file"].map(str::to_owned);
        let rows = probes.iter().map(|probe| {
            vec![
                text(&probe["name"]).to_owned(),
                count(&probe["points"]).unwrap_or_default(),
                text(&probe["file"]).to_owned(),
            ]
        });
        html.part(&limited(&header, rows.collect(), "results.json"));
    }
    html
}

fn sensitivities(results: &Value) -> Html {
    let mut html = Html::default();
    let found = list(&results["sensitivities"]);
    if !found.is_empty() {
        let header =
            ["sensitivity", "by", "at", "largest derivative", "±", "unit"].map(str::to_owned);
        let rows = found.iter().map(|of| {
            let [all, bars] = ["derivatives", "derivatives_error"].map(|key| -> Vec<Vec<f64>> {
                list(&of[key]).iter().flat_map(|m| list(m).iter().map(numbers)).collect()
            });
            vec![
                text(&of["name"]).to_owned(),
                text(&of["by"]).to_owned(),
                number(&of["at"]).map_or_else(String::new, plain),
                plain(largest(&all)),
                small((!bars.is_empty()).then(|| largest(&bars))),
                text(&of["unit"]).to_owned(),
            ]
        });
        html.part(&limited(&header, rows.collect(), "results.json"));
        html.raw("<p class=\"note\">The matrices of derivatives are in <code>sensitivity_NAME.csv</code>.</p>\n");
    }
    let films = list(&results["films"]);
    if !films.is_empty() {
        let header = ["film", "thickness / m", "ε<sub>r</sub>", "largest share of energy", "±"];
        let header = header.map(|h| h.replace("ε<sub>r</sub>", "ε r"));
        let rows = films.iter().map(|film| {
            let shares = numbers(&film["participation"]);
            let bars = numbers(&film["participation_error"]);
            let most = |values: &[f64]| values.iter().copied().fold(f64::NAN, f64::max);
            vec![
                text(&film["name"]).to_owned(),
                plain(number(&film["thickness_m"]).unwrap_or(f64::NAN)),
                plain(number(&film["relative_permittivity"]).unwrap_or(f64::NAN)),
                plain(most(&shares)),
                small(Some(most(&bars))),
            ]
        });
        html.part(&limited(&header, rows.collect(), "results.json"));
    }
    html
}

fn problem(results: &Value) -> Html {
    let mut html = Html::default();
    let conductors = list(&results["mesh"]["conductors"]);
    if !conductors.is_empty() {
        let header = ["conductor", "triangles", "area / m²", "surface"].map(str::to_owned);
        let rows = conductors.iter().map(|conductor| {
            vec![
                text(&conductor["name"]).to_owned(),
                count(&conductor["triangles"]).unwrap_or_default(),
                plain(number(&conductor["area_m2"]).unwrap_or(f64::NAN)),
                if conductor["closed"] == true { "closed" } else { "open" }.to_owned(),
            ]
        });
        html.part(&limited(&header, rows.collect(), "results.json"));
    }
    let header =
        ["medium", "relative permittivity", "triangles of its boundary"].map(str::to_owned);
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
