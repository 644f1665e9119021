//! `farad sweep`: a case for every combination of the values in its `[[sweep]]` tables.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use farad::{Dielectric, Matrices, Solver, entry_name};
use mesh::transform::{Motion, moved};
use mesh::{Mesh, files as formats};
use serde::Serialize;

use super::arguments::Solving;
use super::solve::solve;
use crate::backend::Backend;
use crate::case::sweep::{Change, Sweep};
use crate::case::{Case, Defect, Located, Sort, VtkMode, told};
use crate::exit::{Exit, Failure, unreadable};
use crate::grid::grid;
use crate::output::Output;
use crate::results::{self, Folder, Run};
use crate::text::csv_quoted;
use crate::units::{counted, decimals, prefix, significant};
use crate::warnings::{self, Warning};
use crate::{interrupt, paths, problem};

const CSV: &str = "sweep.csv";
const PVD: &str = "sweep.pvd";

/// Name and version of what the sweep's results.json looks like.
const SCHEMA: &str = "farad-sweep/1";

/// More combinations than this are taken for a mistake.
const MOST_RUNS: usize = 100_000;

/// Entries beyond this are left to the files.
const MOST_SHOWN: usize = 8;

/// Arguments of `farad sweep`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A case file with tables named sweep (see docs/case-file.md)
    case: PathBuf,
    /// Folder for the results [default: CASE.sweep beside the case]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    solving: Solving,
}

/// What the sweep's results.json holds.
#[derive(Clone, Debug, Serialize)]
struct Document {
    schema: &'static str,
    /// "complete", or "checks_failed" if self-checks of a run failed.
    status: &'static str,
    program: String,
    case: String,
    files: Vec<String>,
    parameters: Vec<String>,
    conductors: Vec<String>,
    /// Names and units of what the case asks for beside the matrix.
    quantities: Vec<String>,
    runs: Vec<Row>,
    /// Runs for which equations were solved; the others differ from one of them by a factor.
    solved: usize,
    /// How often near field and fast sums were set up: once a geometry.
    prepared: usize,
    seconds: f64,
}

/// The value of a sweep in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum Parameter {
    Number(f64),
    /// The name of a file.
    Text(String),
}

impl std::fmt::Display for Parameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(text) => write!(f, "{text}"),
        }
    }
}

/// One run.
#[derive(Clone, Debug, Serialize)]
struct Row {
    parameters: Vec<Parameter>,
    maxwell_farad: Vec<Vec<f64>>,
    /// What the case asks for beside the matrix, in the order of the document's.
    quantities: Vec<f64>,
    triangles: usize,
    /// What self-checks found wrong.
    warnings: Vec<Warning>,
    /// The picture of the run in the folder.
    surface: Option<String>,
    /// Files of the probes' values.
    probes: Vec<String>,
}

/// Runs every combination.
pub(crate) fn run(args: &Args, verbose: bool) -> Result<(), Failure> {
    let started = Instant::now();
    let (case, output) = args.solving.begin(&args.case, verbose)?;
    let runs = combinations(&case)?;
    let path = args.output.clone().unwrap_or_else(|| args.case.with_extension("sweep"));
    let pictures: Vec<String> =
        (1..=runs.len()).map(|run| format!("surface_{run:04}.vtu")).collect();
    let with_pictures = case.vtk != VtkMode::None;
    let mut names = vec![CSV];
    if with_pictures {
        names.push(PVD);
        names.extend(pictures.iter().map(String::as_str));
    }
    let probes: Vec<String> = results::probe_files(&case);
    let probes: Vec<String> = (1..=runs.len())
        .flat_map(|run| probes.iter().map(move |name| results::tagged(name, &tag(run))))
        .collect();
    names.extend(probes.iter().map(String::as_str));
    let mut folder = Folder::open(&path, &names, args.solving.overwrite)?;

    let mut meshes = Meshes { case: &case, output: &output, read: HashMap::new() };
    let mut rows: Vec<Option<Row>> = vec![None; runs.len()];
    let mut conductors: Option<Vec<String>> = None;
    let mut quantities: Vec<String> = Vec::new();
    let mut solved = 0;
    let mut solver = Solver::default();
    for first in by_geometry(&case, &runs) {
        if rows[first].is_some() {
            continue;
        }
        interrupt::check()?;
        let choice = &runs[first];
        let failed = |failure: Failure| {
            output.note(&format!("this was the run with {}", describe(&case, choice)));
            failure
        };
        let this = of_run(&case, choice);
        let problem =
            meshes.make(choice).and_then(|mesh| problem::prepare(&this, mesh)).map_err(failed)?;
        if conductors.is_none() {
            problem.notes.iter().for_each(|note| output.note(&told(&this, note)));
        }
        let names = &problem.conductors.names;
        if *conductors.get_or_insert_with(|| names.clone()) != *names {
            return Err(other_conductors(&case, choice, names));
        }
        let solution =
            solve(&mut solver, &this, &problem, &args.solving, &output).map_err(failed)?;
        if !solution.converged() {
            return Err(Failure::with_help(
                Exit::NotConverged,
                format!("the solver did not converge in the run with {}", describe(&case, choice)),
                "raise solver.max_iterations or ask for less with --tolerance",
            ));
        }
        solved += 1;
        let found = solution.quantities();
        quantities = found.iter().map(|(name, unit, _)| format!("{name} [{unit}]")).collect();
        // Without dielectrics, charges at 1 V per permittivity do not depend on the permittivity: the other runs of this
        // geometry are done too.
        let one_medium = problem.media.is_none()
            && solution.state.is_none()
            && solution.polarisability.is_none();
        for run in (first..runs.len())
            .filter(|&run| run == first || (one_medium && same_geometry(&case, choice, &runs[run])))
        {
            let case = of_run(&case, &runs[run]);
            let description = &case.description;
            let (permittivity, unit) = (description.relative_permittivity, description.unit);
            let matrices = Matrices::new(&solution.answer.maxwell, permittivity, unit);
            if with_pictures {
                let run_of = Run {
                    case: &case,
                    problem: &problem,
                    solution: &solution,
                    requested: args.solving.on.backend,
                    used: solution.answer.fmm.as_ref().map_or(Backend::Cpu, Backend::of_plan),
                    folder: &path,
                    started,
                    read_seconds: 0.0,
                };
                folder.stage(&pictures[run], |out| results::write_surface(out, &run_of))?;
            }
            let mut probes = Vec::new();
            let probed = solution.state.iter().flat_map(|state| &state.probes);
            for probed in description.probes.iter().zip(probed) {
                let written = results::write_probe(&mut folder, &case, probed, &tag(run + 1))?;
                probes.extend(written);
            }
            rows[run] = Some(Row {
                parameters: parameters(&case, &runs[run]),
                maxwell_farad: matrices.maxwell_farad,
                quantities: found.iter().map(|quantity| quantity.2).collect(),
                triangles: problem.mesh.triangles.len(),
                warnings: warnings::of(&solution),
                surface: with_pictures.then(|| pictures[run].clone()),
                probes,
            });
        }
    }
    let rows: Vec<Row> = rows.into_iter().flatten().collect();
    let failed: Vec<String> = rows
        .iter()
        .zip(&runs)
        .filter(|(row, _)| warnings::failed(&row.warnings))
        .map(|(_, choice)| describe(&case, choice))
        .collect();
    let mut document = Document {
        schema: SCHEMA,
        status: if failed.is_empty() { "complete" } else { "checks_failed" },
        program: format!("farad {}", env!("CARGO_PKG_VERSION")),
        case: paths::relative(&path, case.path()),
        files: Vec::new(),
        parameters: case.sweeps.iter().map(|sweep| sweep.name.clone()).collect(),
        conductors: conductors.unwrap_or_default(),
        quantities,
        runs: rows,
        solved,
        prepared: solver.times_prepared(),
        seconds: 0.0,
    };
    folder.stage(CSV, |out| out.write_all(csv(&document).as_bytes()))?;
    if with_pictures {
        folder.stage(PVD, |out| out.write_all(pvd(&pictures, &document.runs).as_bytes()))?;
    }
    document.files = folder.names();
    document.seconds = started.elapsed().as_secs_f64();
    // Only maps with strange keys and failing writers can fail, and there are none here.
    let json =
        crate::text::json(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n");
    folder.commit(&json)?;
    if args.solving.json {
        output.data(&json)?;
    } else {
        output.text(&text(&case, &document, &path))?;
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::with_help(
        Exit::NotConverged,
        format!(
            "the results of {} of {} fail their self-checks: {}",
            failed.len(),
            counted(document.runs.len(), "run"),
            failed.join("; ")
        ),
        format!("the results in {} are marked checks_failed", path.display()),
    ))
}

/// For each run the index of its value in every sweep; the last sweep varies fastest.
fn combinations(case: &Case) -> Result<Vec<Vec<usize>>, Failure> {
    if case.sweeps.is_empty() {
        return Err(Failure::with_help(
            Exit::BadInput,
            format!("{} varies nothing", case.path().display()),
            "add a [[sweep]] table (see docs/case-file.md), or use `farad solve`",
        ));
    }
    let count = case.sweeps.iter().try_fold(1usize, |count, sweep| count.checked_mul(sweep.len()));
    let Some(count) = count.filter(|count| *count <= MOST_RUNS) else {
        return Err(Failure::with_help(
            Exit::BadInput,
            format!(
                "the sweeps of {} have more than {MOST_RUNS} combinations",
                case.path().display()
            ),
            "every value of one goes with every value of the others; vary less at once",
        ));
    };
    let runs = (0..count).map(|mut run| {
        let mut choice: Vec<usize> = Vec::with_capacity(case.sweeps.len());
        for sweep in case.sweeps.iter().rev() {
            choice.push(run % sweep.len());
            run /= sweep.len();
        }
        choice.reverse();
        choice
    });
    Ok(runs.collect())
}

/// The runs with those of one geometry after each other.
fn by_geometry(case: &Case, runs: &[Vec<usize>]) -> Vec<usize> {
    let key = |run: &usize| -> Vec<usize> {
        let choice = case.sweeps.iter().zip(&runs[*run]);
        let geometry = |(sweep, value): (&Sweep, &usize)| {
            (!matches!(sweep.change, Change::Permittivity { .. })).then_some(*value)
        };
        choice.filter_map(geometry).collect()
    };
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_cached_key(key);
    order
}

/// Whether two runs differ in their permittivity at most.
fn same_geometry(case: &Case, a: &[usize], b: &[usize]) -> bool {
    let mut pairs = case.sweeps.iter().zip(a.iter().zip(b));
    pairs.all(|(sweep, (a, b))| a == b || matches!(sweep.change, Change::Permittivity { .. }))
}

/// The case of one run: its permittivities, and the atoms of molecules where their surfaces are.
fn of_run(case: &Case, choice: &[usize]) -> Case {
    let mut run = case.clone();
    let description = &mut run.description;
    for (sweep, &value) in case.sweeps.iter().zip(choice) {
        if let Some((groups, motion)) = motion(&sweep.change, value) {
            let moves = |group: &String| groups.iter().any(|g| g.value == *group);
            let whole = |d: &&mut Dielectric| d.groups.iter().all(moves);
            let moved = description.dielectrics.iter_mut().filter(whole);
            for atom in moved.flat_map(|dielectric| &mut dielectric.atoms) {
                atom.position = motion.apply(atom.position);
            }
        }
        let Change::Permittivity { dielectric, values } = &sweep.change else { continue };
        let named = |d: &&mut Dielectric| Some(&d.name) == dielectric.as_ref();
        match description.dielectrics.iter_mut().find(named) {
            Some(dielectric) => dielectric.relative_permittivity = values[value],
            None => description.relative_permittivity = values[value],
        }
    }
    run
}

/// The groups that a sweep puts elsewhere, and how with its value of this index; `None` if it changes something else.
fn motion(change: &Change, value: usize) -> Option<(&[Located<String>], Motion)> {
    match change {
        Change::Move { groups, along, values } => {
            Some((groups, Motion::along(along.map(|x| x * values[value]))))
        }
        Change::Turn { groups, axis, centre, values } => {
            let angle = values[value].to_radians();
            Some((groups, Motion { axis: *axis, centre: *centre, angle, shift: [0.0; 3] }))
        }
        Change::Permittivity { .. } | Change::Files(_) => None,
    }
}

fn parameters(case: &Case, choice: &[usize]) -> Vec<Parameter> {
    let value = |(sweep, &index): (&Sweep, &usize)| match &sweep.change {
        Change::Permittivity { values, .. }
        | Change::Move { values, .. }
        | Change::Turn { values, .. } => Parameter::Number(values[index]),
        Change::Files(_) => Parameter::Text(sweep.label(index)),
    };
    case.sweeps.iter().zip(choice).map(value).collect()
}

/// What the names of a run's files end with.
fn tag(run: usize) -> String {
    format!("_{run:04}")
}

/// "gap = 1, angle = 30".
fn describe(case: &Case, choice: &[usize]) -> String {
    let each = case.sweeps.iter().zip(parameters(case, choice));
    each.map(|(sweep, label)| format!("{} = {label}", sweep.name)).collect::<Vec<_>>().join(", ")
}

fn other_conductors(case: &Case, choice: &[usize], names: &[String]) -> Failure {
    Failure::with_help(
        Exit::BadInput,
        format!(
            "in the run with {} the conductors are {}",
            describe(case, choice),
            names.join(", ")
        ),
        "every mesh of a sweep must have the conductors of the first, in its order; list them with [[conductor]]",
    )
}

/// The meshes of the runs, each file read once.
struct Meshes<'a> {
    case: &'a Case,
    output: &'a Output,
    read: HashMap<PathBuf, Mesh>,
}

impl Meshes<'_> {
    fn make(&mut self, choice: &[usize]) -> Result<Mesh, Failure> {
        let mut file = self.case.mesh.clone();
        for (sweep, &value) in self.case.sweeps.iter().zip(choice) {
            if let Change::Files(files) = &sweep.change {
                file.clone_from(&files[value]);
            }
        }
        if !self.read.contains_key(&file) {
            let (mesh, reading) = formats::read(&file).map_err(unreadable)?;
            for note in &reading.notes {
                self.output.note(&format!("{}: {note}", file.display()));
            }
            self.read.insert(file.clone(), mesh);
        }
        let Some(mesh) = self.read.get(&file) else { return Ok(Mesh::default()) };
        let mut mesh = mesh.clone();
        for (sweep, &value) in self.case.sweeps.iter().zip(choice) {
            let Some((groups, motion)) = motion(&sweep.change, value) else { continue };
            mesh = self.put(&mesh, groups, &motion)?;
        }
        Ok(mesh)
    }

    /// The mesh with some of its groups elsewhere.
    fn put(
        &self,
        mesh: &Mesh,
        groups: &[Located<String>],
        motion: &Motion,
    ) -> Result<Mesh, Failure> {
        let labels: Vec<String> = mesh.groups.iter().map(mesh::PhysicalGroup::label).collect();
        let mut members = Vec::new();
        for group in groups {
            let Some(index) = labels.iter().position(|label| *label == group.value) else {
                let message = format!("the mesh has no physical group \"{}\"", group.value);
                let defect = Defect::new(Sort::Value, group.span.clone(), message);
                let help = format!("its groups are {}", labels.join(", "));
                return Err(self.case.failure(vec![defect.label("no such group").help(help)]));
            };
            members.push(index as u32);
        }
        let moves = |t: usize| mesh.groups_of(t).iter().any(|group| members.contains(group));
        Ok(moved(mesh, moves, motion))
    }
}

/// The matrix's entries on and above the diagonal, by row: name and place.
fn columns(conductors: &[String]) -> Vec<(String, usize, usize)> {
    let count = conductors.len();
    let pairs = (0..count).flat_map(|i| (i..count).map(move |j| (i, j)));
    pairs.map(|(i, j)| (entry_name(conductors, i, j), i, j)).collect()
}

fn csv(document: &Document) -> String {
    let columns = columns(&document.conductors);
    let mut header: Vec<String> = document.parameters.iter().map(|name| csv_quoted(name)).collect();
    header.push("triangles".to_owned());
    header.extend(columns.iter().map(|(name, ..)| csv_quoted(&format!("{name} [F]"))));
    header.extend(document.quantities.iter().map(|name| csv_quoted(name)));
    let mut text = header.join(",") + "\n";
    for row in &document.runs {
        let cell = |parameter: &Parameter| match parameter {
            Parameter::Number(value) => format!("{value:e}"),
            Parameter::Text(text) => csv_quoted(text),
        };
        let mut cells: Vec<String> = row.parameters.iter().map(cell).collect();
        cells.push(row.triangles.to_string());
        cells.extend(columns.iter().map(|(_, i, j)| format!("{:e}", row.maxwell_farad[*i][*j])));
        cells.extend(row.quantities.iter().map(|value| format!("{value:e}")));
        text += &(cells.join(",") + "\n");
    }
    text
}

/// The series of pictures for ParaView: the time of a run is the value of the one sweep where that is a number, else the run's own.
fn pvd(pictures: &[String], runs: &[Row]) -> String {
    let mut text = "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\" \
                    byte_order=\"LittleEndian\">\n<Collection>\n"
        .to_owned();
    for (step, (picture, run)) in pictures.iter().zip(runs).enumerate() {
        let time = match run.parameters.as_slice() {
            [Parameter::Number(value)] => *value,
            _ => step as f64,
        };
        let _ = writeln!(text, "<DataSet timestep=\"{time}\" part=\"0\" file=\"{picture}\"/>");
    }
    text + "</Collection>\n</VTKFile>\n"
}

fn text(case: &Case, document: &Document, path: &std::path::Path) -> String {
    let columns = columns(&document.conductors);
    let shown = columns.len().min(MOST_SHOWN);
    let all = document.runs.iter().flat_map(|row| row.maxwell_farad.iter().flatten());
    let largest = all.fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let scale = prefix(largest);
    let digits = decimals(largest / scale.factor);
    let mut header = document.parameters.clone();
    header.extend(columns[..shown].iter().map(|(name, ..)| format!("{name} / {}F", scale.symbol)));
    header.extend(document.quantities.iter().cloned());
    let rows = document.runs.iter().map(|row| {
        let mut cells: Vec<String> = row.parameters.iter().map(Parameter::to_string).collect();
        cells.extend(
            columns[..shown]
                .iter()
                .map(|(_, i, j)| format!("{:.digits$}", row.maxwell_farad[*i][*j] / scale.factor)),
        );
        cells.extend(row.quantities.iter().map(|value| significant(*value)));
        cells
    });
    let mut text = format!("{}\nfarad {}\n\n", case.title, env!("CARGO_PKG_VERSION"));
    text += &grid(header, rows);
    for row in &document.runs {
        for warning in &row.warnings {
            let word = if warning.is_error() { "ERROR" } else { "WARNING" };
            let each = document.parameters.iter().zip(&row.parameters);
            let run: Vec<String> = each.map(|(name, label)| format!("{name} = {label}")).collect();
            let _ = writeln!(text, "{word} with {}: {}", run.join(", "), warning.message);
        }
    }
    if shown < columns.len() {
        let _ = writeln!(text, "  and {} more entries in {CSV}", columns.len() - shown);
    }
    let _ = writeln!(
        text,
        "\n{}{}\nResults in {}: {CSV}, results.json",
        counted(document.runs.len(), "run"),
        match document.solved {
            solved if solved == document.runs.len() => ", all solved".to_owned(),
            1 => ", of which 1 was solved and the others follow from it".to_owned(),
            solved => format!(", of which {solved} were solved and the others follow from them"),
        },
        path.display(),
    );
    if document.files.iter().any(|file| file == PVD) {
        let _ = writeln!(text, "To see the charges, open {} in ParaView", path.join(PVD).display());
    }
    text
}
