//! `farad study`: a case on refinements of its mesh, and what they say about the limit.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bem::convergence::Range;
use farad::{FACETS_OVER_GAP, Gap, OfMesh, Problem, Quantity, Solver, Study, Verdict};
use serde::{Deserialize, Serialize};

use super::arguments::{Resuming, Several, Solving};
use super::mesh::refine::refined;
use super::solve::{Split, check_shares, content, saved, solve_among};
use crate::case::problem;
use crate::case::{Case, Overrides};
use crate::machine::ranks::Ranks;
use crate::report::page;
use crate::report::plot::{self, Curve, Labels};
use crate::report::results::{Checkpoint, Folder};
use crate::report::text::csv_quoted;
use crate::report::text_table::narrow_tables;
use crate::report::units::{self, decimals, prefix};
use crate::report::warnings::{self, SentWarning, Warning};
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::interrupt;
use crate::terminal::output::Output;

const CSV: &str = "study.csv";
const SVG: &str = "study.svg";

/// Name and version of what the study's results.json looks like.
const SCHEMA: &str = "farad-study/1";

/// Tables are no wider than this.
const WIDTH: usize = 79;

/// Curves beyond this make the plot unreadable; the largest entries are drawn.
const MOST_CURVES: usize = 6;

/// Arguments of `farad study`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// The case file (see docs/case-file.md), or a FastCap list file (.lst)
    case: PathBuf,
    /// Meshes to solve on, the case's own and its refinements; each has four times as many
    /// triangles as the one before. Surfaces of molecules are made anew
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(3..=10))]
    levels: u32,
    /// Put new vertices of components that are spheres onto the sphere; all else is refined flat
    #[arg(long)]
    spheres: bool,
    /// Cut sides that end on an edge of a conductor or dielectric closer to it than in the middle:
    /// meshes get graded, and values converge faster
    #[arg(long, conflicts_with = "spheres")]
    graded: bool,
    /// Folder for the results [default: CASE.study next to the case]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Write a page for browsers, too: report.html
    #[arg(long)]
    report: bool,
    /// What several processes, started by mpirun, share on each mesh
    #[arg(long, value_enum, default_value_t)]
    split: Split,
    #[command(flatten)]
    resuming: Resuming,
    #[command(flatten)]
    several: Several,
    #[command(flatten)]
    solving: Solving,
}

/// What the study's results.json holds.
#[derive(Clone, Debug, Serialize)]
struct Document {
    schema: &'static str,
    /// "complete", "incomplete" (a mesh failed) or "checks_failed" (self-checks on the last mesh
    /// did).
    status: &'static str,
    program: String,
    case: String,
    title: String,
    case_text: Option<String>,
    files: Vec<String>,
    /// "flat", "curved", "spheres", "graded" or, of molecules' surfaces, "remade".
    refinement: &'static str,
    meshes: Vec<MeshResult>,
    /// The mesh that failed, and why; those before it are reported.
    failed: Option<Failed>,
    entries: Vec<Entry>,
    seconds: f64,
}

/// A mesh without results.
#[derive(Clone, Debug, Serialize)]
struct Failed {
    triangles: usize,
    message: String,
}

/// One mesh.
#[derive(Clone, Debug, Serialize)]
struct MeshResult {
    triangles: usize,
    /// Of the first mesh's element size.
    relative_size: f64,
    iterations: usize,
    warnings: Vec<Warning>,
}

/// One number of the result on all meshes.
#[derive(Clone, Debug, Serialize)]
struct Entry {
    name: String,
    unit: &'static str,
    values: Vec<f64>,
    /// Error bar of each value, of its mesh alone; null where there is none.
    bars: Vec<Option<f64>>,
    /// Error of each value that does not come from the mesh.
    solver_error: f64,
    range: &'static str,
    order: Option<f64>,
    extrapolated: f64,
    /// `None` where the values support no estimate.
    error: Option<f64>,
}

impl From<farad::Entry> for Entry {
    fn from(found: farad::Entry) -> Self {
        Self {
            name: found.name,
            unit: found.unit,
            values: found.values,
            bars: found.bars,
            solver_error: found.solver_error,
            range: word(found.verdict),
            order: found.order,
            extrapolated: found.extrapolated,
            error: found.error,
        }
    }
}

impl Args {
    /// How meshes like this one are refined.
    fn refinement(&self, mesh: &mesh::Mesh, is_made: bool) -> &'static str {
        match (self.graded, self.spheres, mesh.order()) {
            (true, ..) => "graded",
            _ if is_made => "remade",
            (_, _, 2..) => "curved",
            (_, true, _) => "spheres",
            _ => "flat",
        }
    }
}

/// Solves the case on every mesh and reports.
pub(crate) fn run(args: &Args, verbose: bool) -> Result<(), Failure> {
    args.several.run(args.solving.on, |ranks| {
        let solving = args.solving.of_rank(ranks);
        on_rank(&Args { solving, ..args.clone() }, ranks, verbose)
    })
}

/// One rank's part.
fn on_rank(args: &Args, ranks: &Ranks, verbose: bool) -> Result<(), Failure> {
    let started = Instant::now();
    let overrides = Overrides::default();
    let (case, output) = args.solving.begin(ranks, &args.case, verbose, overrides)?;
    ranks.conclude(|| args.resuming.check(ranks))?;
    let default = || args.case.with_extension("study");
    let path = args.output.clone().unwrap_or_else(default);
    let mut problem = ranks.agree(problem::load(&case, &output))?;
    if ranks.size() > 1 {
        let of = (ranks.size(), args.split);
        ranks.conclude(|| check_shares(("study", &problem), of, &output))?;
    }
    let names = [CSV, SVG, page::FILE];
    let names = &names[..if args.report { 3 } else { 2 }];
    let open = || Folder::open(&path, names, args.solving.overwrite);
    let folder = ranks.agree(ranks.is_first().then(open).transpose())?;

    let how = if args.graded { "--graded" } else { "" };
    let how = if args.spheres { "--spheres" } else { how };
    let more = ("study", how.to_owned());
    let kept = args.resuming.checkpoint(ranks, folder.as_ref(), &case, more, &output);
    let kept = ranks.agree(kept)?;

    let mut meshes = Meshes { kept: kept.as_ref(), ..Meshes::default() };
    let mut failure = None;
    for level in 0..args.levels {
        if let Err(found) = meshes.solve_next(level, &case, &mut problem, args, &output, ranks) {
            failure = Some(saved(kept.as_ref(), found));
            break;
        }
    }
    // What was found before is reported all the same, by the first.
    if let Some(failure) = failure.as_ref().filter(|_| !ranks.is_first()) {
        crate::terminal::output::failure(failure);
    }
    ranks.conclude(|| {
        if let Some(failure) = failure {
            if failure.exit != Exit::Interrupted {
                interrupt::check()?;
            }
            meshes.stop(failure, &problem)?;
        }
        let Some(folder) = folder else { return Ok(()) };
        report((args, &case, &output), (&path, folder), meshes, &problem, started)
    })
}

/// Writes and shows what was found.
fn report(
    (args, case, output): (&Args, &Case, &Output),
    (path, mut folder): (&Path, Folder),
    meshes: Meshes<'_>,
    problem: &Problem,
    started: Instant,
) -> Result<(), Failure> {
    let Meshes { levels, study, failed, .. } = meshes;
    let gap = problem.unresolved_gap();
    let entries = study.entries(gap).into_iter().map(Entry::from).collect();
    let checks_failed = levels.last().is_some_and(|level| warnings::failed(&level.warnings));
    let (failed, failure) = failed.unzip();
    let mut document = Document {
        schema: SCHEMA,
        status: match (&failed, checks_failed) {
            (Some(_), _) => "incomplete",
            (None, true) => "checks_failed",
            (None, false) => "complete",
        },
        program: format!("farad {}", env!("CARGO_PKG_VERSION")),
        case: crate::paths::relative(path, case.path()),
        title: case.title.clone(),
        case_text: case.text(),
        files: Vec::new(),
        refinement: args.refinement(problem.mesh(), case.mesh.is_none()),
        meshes: levels,
        failed,
        entries,
        seconds: 0.0,
    };
    folder.stage(CSV, |out| out.write_all(csv(&document).as_bytes()))?;
    folder.stage(SVG, |out| out.write_all(picture(case, &document).as_bytes()))?;
    document.files = folder.names();
    document.files.extend(args.report.then(|| page::FILE.to_owned()));
    document.seconds = started.elapsed().as_secs_f64();
    let json = crate::report::json::text(&document);
    if args.report {
        folder.stage_page(&json)?;
    }
    folder.commit(&json)?;
    if args.solving.json {
        output.data(&json)?;
    } else {
        output.text(&text(case, &document, gap, path))?;
    }
    match failure {
        Some(failure) => Err(failure),
        None if checks_failed => Err(Failure::with_help(
            Exit::NotConverged,
            "the results on the last mesh fail their self-checks",
            format!("the results in {} are marked checks_failed", path.display()),
        )),
        None => Ok(()),
    }
}

/// Refines the mesh of `problem`, unless it is the first.
fn refine_to(
    level: u32,
    case: &Case,
    problem: &mut Problem,
    args: &Args,
    output: &Output,
) -> Result<(), Failure> {
    if level == 0 {
        return Ok(());
    }
    let mesh = if args.graded {
        let graded = problem.refined_toward_edges();
        graded.map_err(|error| Failure::new(Exit::BadInput, error))?
    } else if case.mesh.is_none() {
        problem::with_molecules(case, None, 4f64.powi(level as i32), output)?
    } else {
        let (mesh, notes) = refined(problem.given_mesh(), args.spheres)?;
        for note in notes.iter().filter(|_| level == 1) {
            output.note(&format!("{}: {note}", case.surfaces()));
        }
        mesh
    };
    *problem = problem::prepare(case, mesh)?;
    Ok(())
}

/// The results on the meshes so far.
#[derive(Default)]
struct Meshes<'a> {
    levels: Vec<MeshResult>,
    study: Study,
    failed: Option<(Failed, Failure)>,
    kept: Option<&'a Checkpoint>,
}

/// A mesh in a checkpoint, but for numbers: the tolerance, the matrix, the other results, those of
/// the matrix's bars and the bars of others that there are.
#[derive(Serialize, Deserialize)]
struct KeptMesh {
    triangles: usize,
    iterations: usize,
    warnings: Vec<SentWarning>,
    conductors: Vec<String>,
    columns: Vec<usize>,
    /// Names and units.
    others: Vec<(String, String)>,
    has_matrix_bars: bool,
    has_bar: Vec<bool>,
}

fn kept_mesh(level: u32) -> String {
    format!("mesh-{level}")
}

/// Keeps what a mesh has given.
fn keep(kept: &Checkpoint, level: u32, result: &MeshResult, mesh: &OfMesh) {
    let others = mesh.others.iter();
    let description = KeptMesh {
        triangles: result.triangles,
        iterations: result.iterations,
        warnings: result.warnings.iter().map(SentWarning::of).collect(),
        conductors: mesh.names.clone(),
        columns: mesh.columns.clone(),
        others: others.map(|(name, unit, _)| (name.clone(), (*unit).to_owned())).collect(),
        has_matrix_bars: !mesh.matrix_bars.is_empty(),
        has_bar: mesh.other_bars.iter().map(Option::is_some).collect(),
    };
    let numbers: Vec<f64> = [mesh.tolerance]
        .into_iter()
        .chain(mesh.matrix.iter().flatten().copied())
        .chain(mesh.others.iter().map(|quantity| quantity.2))
        .chain(mesh.matrix_bars.iter().flatten().copied())
        .chain(mesh.other_bars.iter().flatten().copied())
        .collect();
    kept.put(&kept_mesh(level), &description, &numbers);
}

/// What was kept of a mesh.
fn restored(kept: &Checkpoint, level: u32) -> Option<(MeshResult, OfMesh)> {
    let (mesh, numbers): (KeptMesh, _) = kept.take(&kept_mesh(level))?;
    let KeptMesh { triangles, iterations, warnings, conductors, columns, others, .. } = mesh;
    let mut numbers = numbers.into_iter();
    let mut next = || numbers.next();
    let tolerance = next()?;
    let (rows, width) = (conductors.len(), columns.len());
    let of_matrix = |next: &mut dyn FnMut() -> Option<f64>| -> Option<Vec<Vec<f64>>> {
        (0..rows).map(|_| (0..width).map(|_| next()).collect()).collect()
    };
    let matrix = of_matrix(&mut next)?;
    let quantity = |(name, unit): (String, String)| -> Option<Quantity> {
        Some((name, farad::unit_named(&unit)?, next()?))
    };
    let others = others.into_iter().map(quantity).collect::<Option<Vec<_>>>()?;
    let matrix_bars = if mesh.has_matrix_bars { of_matrix(&mut next)? } else { Vec::new() };
    let bar = |has: bool| if has { next().map(Some) } else { Some(None) };
    let other_bars = mesh.has_bar.into_iter().map(bar).collect::<Option<Vec<_>>>()?;
    let warnings = warnings.into_iter().map(SentWarning::into_warning).collect();
    let relative_size = 0.5f64.powi(level as i32);
    let result = MeshResult { triangles, relative_size, iterations, warnings };
    let names = conductors;
    let mesh = OfMesh { names, columns, tolerance, matrix, others, matrix_bars, other_bars };
    Some((result, mesh))
}

impl Meshes<'_> {
    /// Solves on `problem`, which is refined first unless it is the case's own; a solve that does
    /// not converge is a failure. The first rank has the results. Collective.
    fn solve_next(
        &mut self,
        level: u32,
        case: &Case,
        problem: &mut Problem,
        args: &Args,
        output: &Output,
        ranks: &Ranks,
    ) -> Result<(), Failure> {
        ranks.agree(refine_to(level, case, problem, args, output))?;
        if ranks.size() > 1 {
            ranks.check_same("the mesh", content(problem))?;
        }
        let triangles = problem.mesh().triangles.len();
        let count = units::count(triangles as u64);
        let this = format!("mesh {} of {}: {count} triangles", level + 1, args.levels);
        let before = self.kept.and_then(|kept| restored(kept, level));
        if let Some((result, mesh)) = before.filter(|(result, _)| result.triangles == triangles) {
            output.note(&format!("{this}, as found before"));
            self.levels.push(result);
            self.study.push(mesh);
            return Ok(());
        }
        output.note(&this);
        if let Some(kept) = self.kept {
            kept.begin(level as usize, level as usize);
        }
        let mut solver = Solver::default();
        let among = (ranks, args.split, self.kept);
        let solution = solve_among(among, &mut solver, case, problem, &args.solving, output);
        let found = ranks.agree(solution)?.map(|solution| match solution.converged() {
            true => interrupt::check().map(|()| solution),
            false => Err(not_converged(case, problem)),
        });
        let Some(solution) = ranks.agree(found.transpose())? else { return Ok(()) };
        let solves = solution.answer.solves.iter();
        let result = MeshResult {
            triangles,
            relative_size: 0.5f64.powi(level as i32),
            iterations: solves.map(|solve| solve.iterations).max().unwrap_or(0),
            warnings: warnings::of(&solution),
        };
        let mesh = OfMesh::new(problem, &solution);
        if let Some(kept) = self.kept {
            keep(kept, level, &result, &mesh);
        }
        self.levels.push(result);
        self.study.push(mesh);
        Ok(())
    }

    /// Notes the mesh that failed, the refinement of `problem` or `problem` itself; without a mesh
    /// before it there is nothing to report.
    fn stop(&mut self, failure: Failure, problem: &Problem) -> Result<(), Failure> {
        let last = self.levels.last().filter(|_| failure.exit != Exit::Interrupted);
        let Some(last) = last else { return Err(failure) };
        let triangles = match problem.mesh().triangles.len() {
            // The next mesh could not be made.
            same if same == last.triangles => 4 * same,
            next => next,
        };
        let message = failure.report.as_ref().map_or_else(String::new, |r| r.to_string());
        self.failed = Some((Failed { triangles, message }, failure));
        Ok(())
    }
}

fn not_converged(case: &Case, problem: &Problem) -> Failure {
    let triangles = problem.mesh().triangles.len() as u64;
    Failure::with_help(
        Exit::NotConverged,
        format!("the solver did not converge on the mesh of {} triangles", units::count(triangles)),
        match &case.mesh {
            Some(mesh) => format!(
                "meshes before it are reported; `farad mesh refine {}` makes this mesh, and `farad solve` on it says how far it came",
                mesh.display()
            ),
            None => "meshes before it are reported; ask for less with --tolerance".to_owned(),
        },
    )
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Of(Range::Asymptotic) => "asymptotic",
        Verdict::Of(Range::Noise) => "noise",
        Verdict::Of(Range::Constant) => "constant",
        Verdict::Of(Range::Oscillating) => "oscillating",
        Verdict::Of(Range::Slow) => "slow",
        Verdict::Of(Range::Unsettled) => "unsettled",
        Verdict::TooFewMeshes => "too few meshes",
        Verdict::UnresolvedGap => "unresolved gap",
    }
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

fn csv(document: &Document) -> String {
    let mut text = "entry,unit".to_owned();
    for level in &document.meshes {
        let _ = write!(text, ",value_{}", level.triangles);
    }
    text += ",order,extrapolated,error,range";
    for level in &document.meshes {
        let _ = write!(text, ",bar_{}", level.triangles);
    }
    text.push('\n');
    for entry in &document.entries {
        let _ = write!(text, "{},{}", csv_quoted(&entry.name), entry.unit);
        for value in &entry.values {
            let _ = write!(text, ",{value:e}");
        }
        let order = entry.order.map_or_else(String::new, |order| format!("{order:.4}"));
        let error = entry.error.map_or_else(String::new, |error| format!("{error:e}"));
        let _ = write!(text, ",{order},{:e},{error},{}", entry.extrapolated, entry.range);
        for bar in &entry.bars {
            text.push(',');
            let _ = bar.map_or(Ok(()), |bar| write!(text, "{bar:e}"));
        }
        text.push('\n');
    }
    text
}

/// The distance from the extrapolated value over the element size, of the largest entries that have
/// one.
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

/// The entries of one unit: one column per entry, as many as fit.
fn table(document: &Document, unit: &str) -> String {
    let entries: Vec<&Entry> = document.entries.iter().filter(|entry| entry.unit == unit).collect();
    let values = entries.iter().flat_map(|entry| &entry.values);
    let largest = values.fold(0.0_f64, |m, v| m.max(v.abs()));
    let si = ["F", "V", "C", "N"].contains(&unit);
    let scale = if si { prefix(largest) } else { prefix(1.0) };
    let digits = decimals(largest / scale.factor) + 1;
    let number = |value: f64| format!("{:.digits$}", value / scale.factor);
    let mut header = vec![format!("{}{unit}", scale.symbol)];
    header.extend(entries.iter().map(|entry| entry.name.clone()));
    let row = |name: String, cell: &dyn Fn(&Entry) -> String| -> Vec<String> {
        std::iter::once(name).chain(entries.iter().map(|entry| cell(entry))).collect()
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (level, mesh) in document.meshes.iter().enumerate() {
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

fn text(case: &Case, document: &Document, gap: Option<Gap>, path: &Path) -> String {
    let mut text = format!(
        "{}\nfarad {}, {} meshes, solver tolerance {:.1e}\n",
        case.title,
        env!("CARGO_PKG_VERSION"),
        document.meshes.len(),
        case.options.tolerance,
    );
    if let Some(failed) = &document.failed {
        let triangles = units::count(failed.triangles as u64);
        let _ = writeln!(
            text,
            "\nINCOMPLETE: the mesh of {triangles} triangles failed, those before it are here"
        );
    }
    let mut shown: Vec<&str> = Vec::new();
    for entry in &document.entries {
        if !shown.contains(&entry.unit) {
            shown.push(entry.unit);
            text += &table(document, entry.unit);
        }
    }
    if document.refinement == "flat" {
        let is_molecule = case.description.dielectrics.iter().any(|d| !d.atoms.is_empty());
        text += if is_molecule {
            "\nRefinement splits the triangles of the first mesh: values converge to the surface as meshed,\n\
             not to the molecule. Compare meshes that are made anew from the molecule's surface.\n"
        } else {
            "\nRefinement splits the triangles of the first mesh: limits are those of the surface as meshed.\n"
        };
    }
    if document.meshes.len() == 3 && gap.is_none() {
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
    for level in &document.meshes {
        for warning in &level.warnings {
            let word = if warning.is_error() { "ERROR" } else { "WARNING" };
            let triangles = units::count(level.triangles as u64);
            let _ = writeln!(text, "\n{word} on {triangles} triangles: {}", warning.message);
        }
    }
    let _ = writeln!(text, "\nResults in {}: {}", path.display(), document.files.join(", "));
    text
}
