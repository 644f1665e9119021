//! `farad study`: a case on refinements of its mesh, and what they say about the limit.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use bem::convergence::{self, Estimate, Range};
use serde::Serialize;

use super::arguments::Solving;
use super::mesh::refine::refined;
use super::solve::solve;
use crate::case::Case;
use crate::exit::{Exit, Failure};
use crate::grid::grid;
use crate::interrupt;
use crate::plot::{self, Curve, Labels};
use crate::problem::{self, Problem};
use crate::results::{self, Folder, Matrices};
use crate::state::Quantity;
use crate::text::csv_quoted;
use crate::units::{self, decimals, prefix};

const CSV: &str = "study.csv";
const SVG: &str = "study.svg";

/// Name and version of what the study's results.json looks like.
const SCHEMA: &str = "farad-study/1";

/// Curves beyond this make the plot unreadable; the largest entries are drawn.
const MOST_CURVES: usize = 6;

/// Arguments of `farad study`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The case file (see docs/case-file.md), or a FastCap list file (.lst)
    case: PathBuf,
    /// Meshes to solve on, the case's own and its refinements; each has four times as many triangles as the one before
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(3..=10))]
    levels: u32,
    /// Put new vertices of components that are spheres onto the sphere; all else is refined flat
    #[arg(long)]
    spheres: bool,
    /// Folder for the results [default: CASE.study beside the case]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    solving: Solving,
}

/// What the study's results.json holds.
#[derive(Clone, Debug, Serialize)]
struct Document {
    schema: &'static str,
    program: String,
    case: String,
    files: Vec<String>,
    meshes: Vec<Level>,
    entries: Vec<Entry>,
    seconds: f64,
}

/// One mesh.
#[derive(Clone, Debug, Serialize)]
struct Level {
    triangles: usize,
    /// Of the first mesh's element size.
    relative_size: f64,
    iterations: usize,
}

/// One number of the result on all meshes.
#[derive(Clone, Debug, Serialize)]
struct Entry {
    name: String,
    unit: &'static str,
    values: Vec<f64>,
    /// Error of each value that does not come from the mesh.
    solver_error: f64,
    range: &'static str,
    order: Option<f64>,
    extrapolated: f64,
    error: f64,
}

/// Solves the case on every mesh and reports.
pub(crate) fn run(args: &Args, verbose: bool) -> Result<(), Failure> {
    let started = Instant::now();
    let (case, output) = args.solving.begin(&args.case, verbose)?;
    let default = || args.case.with_extension("study");
    let path = args.output.clone().unwrap_or_else(default);
    let mut problem = problem::load(&case, &output)?;
    let mut folder = Folder::open(&path, &[CSV, SVG], args.solving.overwrite)?;

    let mut levels = Vec::new();
    let mut matrices: Vec<Vec<Vec<f64>>> = Vec::new();
    let mut others: Vec<Vec<Quantity>> = Vec::new();
    for level in 0..args.levels {
        if level > 0 {
            let (mesh, notes) = refined(&problem.mesh, args.spheres)?;
            for note in notes.iter().filter(|_| level == 1) {
                output.note(&format!("{}: {note}", case.mesh.file.display()));
            }
            problem = problem::prepare(&case, mesh)?;
        }
        let (answer, more) =
            solve(&case, &problem, args.solving.on, args.solving.memory_limit, &output)?;
        interrupt::check()?;
        if !results::converged(&answer) {
            return Err(not_converged(&case, &problem));
        }
        let iterations = answer.solves.iter().map(|solve| solve.iterations).max().unwrap_or(0);
        levels.push(Level {
            triangles: problem.mesh.triangles.len(),
            relative_size: 0.5f64.powi(level as i32),
            iterations,
        });
        let farads = Matrices::new(&answer.maxwell, case.relative_permittivity, case.mesh.unit);
        matrices.push(farads.maxwell_farad);
        others.push(more.quantities());
    }
    let mut entries = entries(&problem.conductors.names, &matrices, case.solver.tolerance);
    entries.extend(other_entries(&others, case.solver.tolerance));
    let mut document = Document {
        schema: SCHEMA,
        program: format!("farad {}", env!("CARGO_PKG_VERSION")),
        case: crate::paths::relative(&path, case.path()),
        files: Vec::new(),
        meshes: levels,
        entries,
        seconds: 0.0,
    };
    folder.stage(CSV, |out| out.write_all(csv(&document).as_bytes()))?;
    folder.stage(SVG, |out| out.write_all(picture(&case, &document).as_bytes()))?;
    document.files = folder.names();
    document.seconds = started.elapsed().as_secs_f64();
    // Only maps with strange keys and failing writers can fail, and there are none here.
    let json =
        crate::text::json(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n");
    folder.commit(&json)?;
    if args.solving.json { output.data(&json) } else { output.text(&text(&case, &document, &path)) }
}

fn not_converged(case: &Case, problem: &Problem) -> Failure {
    Failure::with_help(
        Exit::NotConverged,
        format!(
            "the solver did not converge on the mesh of {} triangles, so there is nothing to compare",
            units::count(problem.mesh.triangles.len() as u64)
        ),
        format!("see what `farad solve {}` says", case.path().display()),
    )
}

/// Every entry of the matrix on and above its diagonal; below it is the same but for the solver's error.
fn entries(names: &[String], matrices: &[Vec<Vec<f64>>], tolerance: f64) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (i, row) in names.iter().enumerate() {
        for (j, column) in names.iter().enumerate().skip(i) {
            let values: Vec<f64> = matrices.iter().map(|matrix| matrix[i][j]).collect();
            // The residual is that of potentials: charges follow with the conductors' own capacitances.
            let last = &matrices[matrices.len() - 1];
            let solver_error = tolerance * last[i][i].abs().max(last[j][j].abs());
            let name =
                if names.len() == 1 { "C".to_owned() } else { format!("C({row}, {column})") };
            entries.push(entry(name, "F", values, solver_error));
        }
    }
    entries
}

fn entry(name: String, unit: &'static str, values: Vec<f64>, solver_error: f64) -> Entry {
    let fallback =
        Estimate { range: Range::Noise, order: None, limit: f64::NAN, error: f64::INFINITY };
    let estimate = convergence::estimate(&values, solver_error).unwrap_or(fallback);
    Entry {
        name,
        unit,
        values,
        solver_error,
        range: word(estimate.range),
        order: estimate.order,
        extrapolated: estimate.limit,
        error: estimate.error,
    }
}

/// Quantities on all meshes; what is a sum that cancels has the error of the largest in its unit.
fn other_entries(meshes: &[Vec<Quantity>], tolerance: f64) -> Vec<Entry> {
    let Some(first) = meshes.first() else { return Vec::new() };
    let largest = |unit: &str| {
        let all = meshes.iter().flatten().filter(|quantity| quantity.1 == unit);
        all.fold(0.0_f64, |largest, quantity| largest.max(quantity.2.abs()))
    };
    let each = |(index, (name, unit, _)): (usize, &Quantity)| {
        let values = meshes.iter().filter_map(|mesh| mesh.get(index)).map(|quantity| quantity.2);
        entry(name.clone(), unit, values.collect(), tolerance * largest(unit))
    };
    first.iter().enumerate().map(each).collect()
}

fn word(range: Range) -> &'static str {
    match range {
        Range::Asymptotic => "asymptotic",
        Range::Noise => "noise",
        Range::Oscillating => "oscillating",
        Range::Slow => "slow",
        Range::Unsettled => "unsettled",
    }
}

/// What to tell of entries that are not in the asymptotic range.
fn remark(range: &str) -> &'static str {
    match range {
        "noise" => {
            "no change beyond the solver's error: ask for more with --tolerance to see an order"
        }
        "oscillating" => "not in the asymptotic range: the values go up and down; refine further",
        "slow" => "not in the asymptotic range: the changes do not fall, or hardly; refine further",
        "unsettled" => "not in the asymptotic range: the order is still changing; refine further",
        _ => "",
    }
}

fn csv(document: &Document) -> String {
    let mut text = "entry,unit".to_owned();
    for level in &document.meshes {
        let _ = write!(text, ",value_{}", level.triangles);
    }
    text += ",order,extrapolated,error,range\n";
    for entry in &document.entries {
        let _ = write!(text, "{},{}", csv_quoted(&entry.name), entry.unit);
        for value in &entry.values {
            let _ = write!(text, ",{value:e}");
        }
        let order = entry.order.map_or_else(String::new, |order| format!("{order:.4}"));
        let _ =
            writeln!(text, ",{order},{:e},{:e},{}", entry.extrapolated, entry.error, entry.range);
    }
    text
}

/// The distance from the extrapolated value over the element size, of the largest entries that have one.
fn picture(case: &Case, document: &Document) -> String {
    let mut drawn: Vec<&Entry> =
        document.entries.iter().filter(|entry| entry.range == "asymptotic").collect();
    drawn.sort_by(|a, b| b.extrapolated.abs().total_cmp(&a.extrapolated.abs()));
    drawn.truncate(MOST_CURVES);
    let sizes: Vec<f64> = document.meshes.iter().map(|level| level.relative_size).collect();
    let error = |entry: &Entry, value: f64| (value / entry.extrapolated - 1.0).abs();
    let mut curves: Vec<Curve> = drawn
        .iter()
        .map(|entry| Curve {
            label: match entry.order {
                Some(order) => format!("{}, order {order:.2}", entry.name),
                None => entry.name.clone(),
            },
            points: sizes.iter().zip(&entry.values).map(|(&h, &v)| (h, error(entry, v))).collect(),
            is_guide: false,
        })
        .collect();
    if let Some(first) = drawn.first() {
        let start = error(first, first.values[0]);
        for order in [1, 2] {
            let points = sizes.iter().map(|&h| (h, start * h.powi(order))).collect();
            curves.push(Curve { label: format!("order {order}"), points, is_guide: true });
        }
    }
    let labels = Labels {
        title: &case.title,
        x: "element size, relative to the first mesh",
        y: "relative distance from the extrapolated value",
    };
    plot::svg(labels, &curves)
}

/// The entries of one unit.
fn table(document: &Document, unit: &str) -> String {
    let entries = || document.entries.iter().filter(|entry| entry.unit == unit);
    let largest = entries().flat_map(|entry| &entry.values).fold(0.0_f64, |m, v| m.max(v.abs()));
    let si = ["F", "V", "C", "N"].contains(&unit);
    let scale = if si { prefix(largest) } else { prefix(1.0) };
    let digits = decimals(largest / scale.factor) + 1;
    let number = |value: f64| format!("{:.digits$}", value / scale.factor);
    let mut header = vec![format!("{}{unit}", scale.symbol)];
    header.extend(document.meshes.iter().map(|l| units::count(l.triangles as u64)));
    header.extend(["order", "extrapolated", "error"].map(str::to_owned));
    let rows = entries().map(|entry| {
        let mut row = vec![entry.name.clone()];
        row.extend(entry.values.iter().map(|&value| number(value)));
        row.push(entry.order.map_or_else(|| "-".to_owned(), |order| format!("{order:.2}")));
        row.push(number(entry.extrapolated));
        row.push(format!("{:.1e}", entry.error / scale.factor));
        row
    });
    format!("\n{}", grid(header, rows))
}

fn text(case: &Case, document: &Document, path: &std::path::Path) -> String {
    let mut text = format!(
        "{}\nfarad {}, {} meshes, solver tolerance {:.1e}\n",
        case.title,
        env!("CARGO_PKG_VERSION"),
        document.meshes.len(),
        case.solver.tolerance,
    );
    let mut shown: Vec<&str> = Vec::new();
    for entry in &document.entries {
        if !shown.contains(&entry.unit) {
            shown.push(entry.unit);
            text += &table(document, entry.unit);
        }
    }
    if document.meshes.len() == 3 {
        text += "\nThree meshes give one order, which nothing confirms: --levels 4 shows whether it holds. The error is then the\n\
                 change of the extrapolated value; with three it is the whole extrapolation.\n";
    }
    for kind in ["noise", "oscillating", "slow", "unsettled"] {
        let names: Vec<&str> = document
            .entries
            .iter()
            .filter(|entry| entry.range == kind)
            .map(|entry| entry.name.as_str())
            .collect();
        if !names.is_empty() {
            let _ = writeln!(text, "\n{}: {}", names.join(", "), remark(kind));
        }
    }
    let _ = writeln!(text, "\nResults in {}: {}", path.display(), document.files.join(", "));
    text
}
