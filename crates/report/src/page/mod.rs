//! `report.html`: results as one page that a browser opens without anything else.
//!
//! It is made of the files of a folder of results alone, so that `farad report` and `--report` give
//! the same. Text of others (names, titles, the case) passes through `html`, which escapes it; a
//! policy in the page forbids it to load anything. `chart` draws curves and maps of colours,
//! `scene` packs the surface (`surface` reads it, `decimate` makes it smaller, `picture` draws it)
//! for `viewer/viewer.js`, of which `viewer/viewer.min.js` is made with three.js by
//! `npm ci && npm run build` in that folder.

#[allow(missing_docs)] // only `internals` shows it, as the others
pub(crate) mod chart;
pub(crate) mod colour;
mod content;
mod convergence;
pub(crate) mod decimate;
pub(crate) mod html;
#[allow(missing_docs)]
pub(crate) mod matrix;
pub(crate) mod numbers;
pub(crate) mod picture;
pub(crate) mod png;
pub(crate) mod scene;
mod solve;
mod study;
#[allow(missing_docs)]
pub(crate) mod surface;
mod sweep;
mod value;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use self::content::{Content, MOST_ROWS};
use self::html::{Html, script_json};
use self::scene::Scene;
use self::value::{count, list, text, texts};
use crate::dates;
use crate::files::text_itself;
use crate::units;

/// The page's name in a folder of results.
pub const FILE: &str = "report.html";

/// How every page begins: by this a later run knows it as its own.
const MARK: &str = "<!doctype html>\n<!-- farad-report/1 -->\n";

/// No page is larger.
pub const MOST_BYTES: usize = 5_000_000;

/// Of them for the surface.
const MOST_FOR_SURFACE: usize = 3_600_000;

/// And for what is around everything else.
const ROOM_FOR_REST: usize = 60_000;

/// Bytes of a case that are shown.
const MOST_OF_CASE: usize = 200_000;

const STYLE: &str = include_str!("style.css");
/// The program of the view of the surface, with three.js.
pub const VIEWER: &str = include_str!("viewer/viewer.min.js");
/// The licence of three.js.
pub const LICENCE: &str = include_str!("viewer/three.LICENSE.txt");

/// Whether a file is a page that this program made.
pub fn is_own(file: &Path) -> bool {
    // Nothing but a file is opened: a pipe would wait for who writes to it.
    if !file.is_file() {
        return false;
    }
    let mut start = [0; MARK.len()];
    let opened = File::open(file).and_then(|mut file| file.read_exact(&mut start));
    opened.is_ok() && start == *MARK.as_bytes()
}

/// Why there is no page of a folder of results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Its results.json is no JSON.
    #[error("results.json in {}: {source}", folder.display())]
    Index {
        /// The folder.
        folder: PathBuf,
        /// The fault in the text.
        source: serde_json::Error,
    },
    /// It has the results of `farad batch`.
    #[error("{} holds the results of many molecules", .0.display())]
    ManyMolecules(PathBuf),
    /// Its results are of another form.
    #[error(
        "{} holds results of the form \"{schema}\", which this version of farad does not know",
        folder.display()
    )]
    Unknown {
        /// The folder.
        folder: PathBuf,
        /// What its results call their form.
        schema: String,
    },
    /// One of its files cannot be read, or a picture cannot be made of it.
    #[error("cannot make a page of {}: {source}", folder.display())]
    Io {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Error {
    /// What to do, where that is known.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::ManyMolecules(_) => {
                Some("make the page of one: its results are in the folder of its name")
            }
            Self::Unknown { .. } => {
                Some("pages are made of folders that farad solve, study or sweep wrote")
            }
            Self::Index { .. } | Self::Io { .. } => None,
        }
    }
}

/// The page of the results in `folder`, whose results.json has the text `index`.
///
/// # Errors
/// [`Error`].
pub fn make(folder: &Path, index: &str) -> Result<String, Error> {
    let own = folder.to_path_buf();
    let results: Value = match serde_json::from_str(index) {
        Ok(results) => results,
        Err(source) => return Err(Error::Index { folder: own, source }),
    };
    let content = match text(&results["schema"]) {
        "farad-results/1" => solve::content(folder, &results),
        "farad-study/1" => study::content(&results),
        "farad-sweep/1" => sweep::content(&results),
        "farad-batch/1" => return Err(Error::ManyMolecules(own)),
        other => return Err(Error::Unknown { folder: own, schema: other.to_owned() }),
    };
    content
        .and_then(|content| page(folder, &results, content))
        .map_err(|source| Error::Io { folder: own, source })
}

/// `study.svg`: how the values of a study approach their limits, from what its results.json has of
/// meshes and entries.
pub fn study_chart(title: &str, results: &Value) -> String {
    study::file(title, results)
}

/// All of it, one after the other.
fn page(folder: &Path, results: &Value, content: Content) -> io::Result<String> {
    let Content { kind, facts, first, then, surface } = content;
    let title = title(folder, results);
    let mut head = Html::default();
    head.raw(MARK).raw("<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    head.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    // Nothing is loaded, sent or opened, whatever the page says.
    head.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n");
    head.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
    head.element("title", &format!("{title} - Farad")).raw("\n<style>\n").raw(STYLE);
    head.raw("</style>\n</head>\n<body>\n<header>\n<p class=\"kind\">").text(kind).raw("</p>\n");
    head.element("h1", &title).raw("\n<p class=\"made\">");
    head.text(text(&results["program"])).raw(" · case ").text(text(&results["case"]));
    head.raw(" · page made on ").text(&today()).raw("</p>\n</header>\n<main>\n");
    head.part(&notices(results));
    if !facts.is_empty() {
        head.raw("<dl class=\"facts\">\n");
        for (name, value) in &facts {
            head.raw("<div>").element("dt", name).element("dd", value).raw("</div>\n");
        }
        head.raw("</dl>\n");
    }
    let mut end = Html::default();
    end.raw("</main>\n<footer><p>Made by ").text(&format!("farad {}", env!("CARGO_PKG_VERSION")));
    end.raw(" from the files next to it. Nothing on this page is loaded from elsewhere.</p>\n");

    let mut sections = first;
    let before = sections.len();
    sections.extend(then);
    sections.push(("case", "Case".to_owned(), case(folder, results)?));
    let mut scripts = Html::default();
    if let Some(named) = surface {
        let used = sections.iter().map(|section| section.2.len()).sum::<usize>();
        let used = used + head.len() + VIEWER.len() + LICENCE.len() + ROOM_FOR_REST;
        let room = MOST_BYTES.saturating_sub(used).min(MOST_FOR_SURFACE);
        let scene = scene::of_folder(folder, &named, room);
        let view = viewer(&scene, text(&results["mesh"]["unit"]));
        sections.insert(before, ("surface", "Surface".to_owned(), view));
        if let Ok(Some(scene)) = &scene {
            end.raw("<details><summary>Licence of three.js, which draws the view</summary><pre>");
            end.text(LICENCE).raw("</pre></details>\n");
            scripts.raw("<script type=\"application/json\" id=\"scene-about\">");
            scripts.raw(&script_json(&scene.about)).raw("</script>\n");
            scripts.raw("<script type=\"text/plain\" id=\"scene-data\">").raw(&scene.data);
            scripts.raw("</script>\n<script>\n").raw(VIEWER).raw("</script>\n");
        }
    }
    sections.retain(|section| !section.2.is_empty());

    head.raw("<nav aria-label=\"Contents\"><ul>");
    for (id, heading, _) in &sections {
        head.raw(&format!("<li><a href=\"#{id}\">")).text(heading).raw("</a>");
    }
    head.raw("</ul></nav>\n");
    for (id, heading, part) in &sections {
        head.raw(&format!("<section id=\"{id}\">\n")).element("h2", heading).raw("\n");
        head.part(part).raw("</section>\n");
    }
    head.part(&end).raw("</footer>\n").part(&scripts).raw("</body>\n</html>\n");
    Ok(head.into_text())
}

/// The case's title; of results that have none the folder's name.
fn title(folder: &Path, results: &Value) -> String {
    let given = text(&results["title"]).trim().to_owned();
    if !given.is_empty() {
        return given;
    }
    let case =
        Path::new(text(&results["case"])).file_stem().map(|s| s.to_string_lossy().into_owned());
    let folder = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    case.filter(|case| !case.is_empty()).or(folder).unwrap_or_else(|| "Results".to_owned())
}

/// Whether results are to be trusted, before anything else.
fn notices(results: &Value) -> Html {
    let mut html = Html::default();
    let status = text(&results["status"]);
    let fault = match status {
        "complete" => None,
        "not_converged" => Some((
            "Not converged",
            "The solver stopped before it reached its tolerance. The numbers below are what it had then.",
        )),
        "checks_failed" => Some((
            "Self-checks failed",
            "At least one self-check is above ten times its bound. The numbers below are not to be used.",
        )),
        "accuracy_not_reached" => Some((
            "Accuracy not reached",
            "The numbers are good to their error bars, which are longer than what was asked for, or which no finer mesh confirms.",
        )),
        "incomplete" => {
            Some(("Incomplete", "A mesh failed. What was found on the meshes before it is below."))
        }
        _ => Some(("Unknown status", "These results do not say how they ended.")),
    };
    let mut warnings: Vec<(String, &Value)> =
        list(&results["warnings"]).iter().map(|warning| (String::new(), warning)).collect();
    for mesh in list(&results["meshes"]) {
        let on = format!("{} triangles: ", count(&mesh["triangles"]).unwrap_or_default());
        warnings.extend(list(&mesh["warnings"]).iter().map(|warning| (on.clone(), warning)));
    }
    let names = texts(&results["parameters"]);
    for run in list(&results["runs"]) {
        let each = names.iter().zip(list(&run["parameters"]));
        let on = each.map(|(name, value)| format!("{name} = {}", sweep::label(value)));
        let on = on.collect::<Vec<_>>().join(", ") + ": ";
        warnings.extend(list(&run["warnings"]).iter().map(|warning| (on.clone(), warning)));
    }
    // Errors before warnings.
    warnings.sort_by_key(|(_, warning)| text(&warning["severity"]) != "error");
    if let Some((word, meaning)) = fault {
        html.raw("<div class=\"notice error\" role=\"alert\"><strong>").text(word);
        html.raw("</strong> ").text(meaning);
        let failed = &results["failed"];
        if failed.is_object() {
            html.raw("<br>").text(&format!(
                "The mesh of {} triangles: {}",
                count(&failed["triangles"]).unwrap_or_default(),
                text(&failed["message"])
            ));
        }
        html.raw("</div>\n");
    }
    if warnings.is_empty() {
        if fault.is_none() {
            html.raw("<div class=\"notice good\"><strong>Complete</strong> All self-checks passed.</div>\n");
        }
        return html;
    }
    let is_error = text(&warnings[0].1["severity"]) == "error";
    html.raw(&format!("<div class=\"notice {}\">", if is_error { "error" } else { "warning" }));
    let count = units::counted(warnings.len(), "self-check");
    html.element("strong", &format!("{count} above the bound")).raw("<ul>\n");
    for (on, warning) in warnings.iter().take(MOST_ROWS) {
        html.raw("<li>");
        if text(&warning["severity"]) == "error" {
            html.raw("<b>Error:</b> ");
        }
        html.text(on).text(text(&warning["message"])).raw("\n");
    }
    html.raw("</ul></div>\n");
    html
}

/// The view, its controls and the picture in its place.
fn viewer(scene: &io::Result<Option<Scene>>, unit: &str) -> Html {
    let mut html = Html::default();
    let scene = match scene {
        Ok(Some(scene)) => scene,
        Ok(None) => {
            html.raw("<p class=\"note\">These results have no surface to show: the case asks for none (<code>output.vtk = \"none\"</code>), or its file is gone.</p>\n");
            return html;
        }
        Err(error) => {
            html.raw("<p class=\"note\">The surface cannot be shown: ");
            html.text(&error.to_string()).raw(".</p>\n");
            return html;
        }
    };
    let about = &scene.about;
    let has = |kind: &str| about.fields.iter().any(|field| field.kind == kind);
    let shown = about.fields.first();
    html.raw("<div id=\"scene\">\n<div class=\"controls\"><label>Colour by <select id=\"scene-quantity\">");
    for (kind, word) in [("charge", "charge density"), ("potential", "potential")] {
        if has(kind) {
            html.raw(&format!("<option value=\"{kind}\">{word}</option>"));
        }
    }
    html.raw("<option value=\"body\">conductor</option></select></label>");
    html.raw("<label class=\"slider\">Excitation <input id=\"scene-excitation\" type=\"range\" min=\"0\" value=\"0\" step=\"1\"></label>");
    html.raw("<output id=\"scene-excitation-name\" for=\"scene-excitation\">");
    html.text(shown.map_or("", |field| &field.name)).raw("</output>");
    let sides = if about.triangles <= 20_000 { " checked" } else { "" };
    html.raw(&format!("<label><input id=\"scene-sides\" type=\"checkbox\"{sides}> mesh</label>"));
    html.raw("<button id=\"scene-reset\" type=\"button\">Reset view</button></div>\n");
    html.raw("<div class=\"stage\"><canvas id=\"scene-canvas\" tabindex=\"0\" aria-label=\"The surface; drag to turn it, arrow keys turn it too\"></canvas>");
    html.raw("<img id=\"scene-picture\" alt=\"The surface, coloured by ");
    html.text(shown.map_or("conductor", |field| field.label));
    html.raw("\" src=\"data:image/png;base64,").raw(&scene.picture).raw("\">");
    html.raw(
        "<div id=\"scene-tip\" hidden></div></div>\n<p id=\"scene-why\" class=\"note\"></p>\n",
    );
    html.raw("<noscript><p class=\"note\">Without JavaScript this is a picture; with it, the surface can be turned.</p></noscript>\n");
    // The picture's own scale, which the viewer changes.
    html.raw("<div id=\"scene-legend\" class=\"scale\"");
    let map = shown.map_or(colour::SEQUENTIAL, |f| match f.map {
        "diverging" => colour::DIVERGING,
        _ => colour::SEQUENTIAL,
    });
    let stops: Vec<String> = map.iter().map(|stop| colour::hex(*stop)).collect();
    let (low, high) = shown.map_or((0.0, 1.0), |field| (field.low, field.high));
    let label = shown.map_or_else(String::new, |f| format!("{} in {}", f.label, f.unit));
    html.raw(if shown.is_none() { " hidden>" } else { ">" });
    html.raw("<div class=\"axis\"><span id=\"scene-unit\">").text(&label);
    html.raw("</span></div><span id=\"scene-ramp\" class=\"ramp\" style=\"background:linear-gradient(to right,");
    html.raw(&stops.join(",")).raw(")\"></span><div class=\"ends\"><span id=\"scene-low\">");
    html.text(&chart::short(three(low))).raw("</span><span id=\"scene-middle\">");
    html.text(&chart::short(three((low + high) / 2.0))).raw("</span><span id=\"scene-high\">");
    html.text(&chart::short(three(high))).raw("</span></div></div>\n");
    html.raw("<ul id=\"scene-bodies\" class=\"legend\"");
    html.raw(if shown.is_some() { " hidden>" } else { ">" });
    let bodies = &about.bodies[..about.bodies.len() - 1];
    for body in bodies.iter().take(40) {
        let fill = colour::hex(body.colour);
        html.raw(&format!("<li><span class=\"key\" style=\"background:{fill}\"></span>"));
        html.text(&body.name);
    }
    if bodies.len() > 40 {
        html.raw("<li>").text(&format!("and {} more: point at them", bodies.len() - 40));
    }
    html.raw("</ul>\n<p class=\"note\">");
    let all = units::count(scene.of_triangles as u64);
    if about.triangles < scene.of_triangles {
        let few = units::count(about.triangles as u64);
        html.text(&format!(
            "Shown are {few} triangles in place of {all}: vertices that are close together were joined, and values are means weighted by area, which keep the charge of every conductor. "
        ));
    } else {
        html.text(&format!("All {all} triangles are shown. "));
    }
    if scene.left_out > 0 {
        html.text(&format!(
            "{} of the surface file are left out here. ",
            units::counted(scene.left_out, "further excitation")
        ));
    }
    html.text(&format!(
        "Coordinates are in {}. Colours end where 3 % of the surface lie beyond, since charge is singular at edges.",
        unit.replace("um", "µm")
    ));
    html.raw("<span class=\"live\"> Drag to turn, click and use the wheel to zoom, drag with the right button to move.</span>");
    html.raw("</p>\n</div>\n");
    html
}

fn three(value: f64) -> f64 {
    units::three_digits(value)
}

/// The case as it was given, and with every default filled in.
fn case(folder: &Path, results: &Value) -> io::Result<Html> {
    let mut html = Html::default();
    let mut show = |name: &str, text: &str, is_open: bool| {
        let mut end = text.len().min(MOST_OF_CASE);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        html.raw(if is_open { "<details open><summary>" } else { "<details><summary>" });
        html.text(name).raw("</summary><pre>").text(&text[..end]);
        if end < text.len() {
            html.raw("\n...");
        }
        html.raw("</pre></details>\n");
    };
    let given = text(&results["case_text"]);
    if !given.is_empty() {
        show(text(&results["case"]), given, given.lines().count() <= 120);
    }
    if let Some(resolved) = text_itself(&folder.join("case.resolved.toml"))? {
        show("case.resolved.toml, with every default filled in", &resolved, given.is_empty());
    }
    Ok(html)
}

/// The day, in words, by the clock of Greenwich.
fn today() -> String {
    date(dates::seconds() / dates::DAY)
}

/// The date of a day by its number from 1970 on.
pub fn date(days: u64) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let [year, month, day] = dates::date(days);
    format!("{day} {} {year}", MONTHS[month as usize - 1])
}
