//! `farad sweep`: a case for every combination of the values in its `[[sweep]]` tables.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use farad::{Matrices, Problem, Solution, Solver, distinct_entries, entry_name};
use mesh::Mesh;
use serde::{Deserialize, Serialize};

use super::arguments::{Resuming, Several, Solving, Whole};
use super::solve::{saved, solve};
use crate::case::problem;
use crate::case::sweep::{Sweep, Values};
use crate::case::{Case, Defect, Overrides, Sort, VtkMode};
use crate::files;
use crate::machine::backend::Backend;
use crate::machine::deal;
use crate::machine::ranks::Ranks;
use crate::paths;
use crate::report::page;
use crate::report::results::{self, Checkpoint, Folder, Run};
use crate::report::text::csv_quoted;
use crate::report::text_table::aligned_table;
use crate::report::units::{counted, decimals, prefix, significant};
use crate::report::vtk;
use crate::report::warnings::{self, SentWarning, Warning};
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::interrupt;
use crate::terminal::output::Output;

const CSV: &str = "sweep.csv";
const PVD: &str = "sweep.pvd";

/// Name and version of what the sweep's results.json looks like.
const SCHEMA: &str = "farad-sweep/1";

/// More combinations than this are refused as a mistake.
const MOST_RUNS: usize = 100_000;

/// Entries beyond this are left to the files.
const MOST_SHOWN: usize = 8;

/// Arguments of `farad sweep`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// A case file with tables named sweep (see docs/case-file.md)
    case: PathBuf,
    /// Folder for the results [default: CASE.sweep next to the case]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Write a page for browsers, too: report.html
    #[arg(long)]
    report: bool,
    #[command(flatten)]
    resuming: Resuming,
    #[command(flatten)]
    whole: Whole,
    #[command(flatten)]
    several: Several,
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
    title: String,
    case_text: Option<String>,
    files: Vec<String>,
    parameters: Vec<String>,
    conductors: Vec<String>,
    /// Those that were excited, one for each column.
    columns: Vec<String>,
    #[serde(skip)]
    excited: Vec<usize>,
    /// Names and units of the results other than the matrix.
    quantities: Vec<String>,
    runs: Vec<Row>,
    /// Runs for which equations were solved; the others differ from one of them by a factor.
    solved: usize,
    /// How often near field and fast sums were set up: once per geometry.
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
    /// The results other than the matrix, in the order of the document's names.
    quantities: Vec<f64>,
    triangles: usize,
    /// What self-checks found wrong.
    warnings: Vec<Warning>,
    /// The picture of the run in the folder.
    surface: Option<String>,
    /// Files of the probes' values.
    probes: Vec<String>,
}

/// Runs every combination, each on one of the ranks.
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
    let runs = ranks.agree(combinations(&case))?;
    let path = args.output.clone().unwrap_or_else(|| args.case.with_extension("sweep"));
    let folder = open(ranks, &path, &case, runs.len(), args)?;
    let more = ("sweep", String::new());
    let kept = args.resuming.checkpoint(ranks, Some(&folder), &case, more, &output);
    let kept = ranks.agree(kept)?;
    let order = by_geometry(&case, &runs);
    let own = share(ranks, &case, &runs, &order);
    let mut is_own = vec![false; runs.len()];
    own.iter().for_each(|&run| is_own[run] = true);
    let mut sweeping = Sweeping {
        args,
        case: &case,
        runs: &runs,
        is_own,
        is_alone: ranks.size() == 1,
        output: &output,
        path: &path,
        started,
        folder,
        read: HashMap::new(),
        kept: kept.as_ref(),
        solver: Solver::default(),
        solved: 0,
        prepared: 0,
        rows: vec![None; runs.len()],
        conductors: None,
        excited: Vec::new(),
        quantities: Vec::new(),
    };
    let solved = sweeping.restore().and_then(|()| sweeping.solve_all(own));
    ranks.agree(solved.map_err(|failure| saved(kept.as_ref(), failure)))?;
    let found = ranks.agree(sweeping.collect(ranks, own))?;
    ranks.conclude(|| sweeping.finish(found))
}

/// The runs that are this rank's, of all in an order in which those of one geometry follow each
/// other: these stay together, unless others would have none.
fn share<'a>(ranks: &Ranks, case: &Case, runs: &[Vec<usize>], order: &'a [usize]) -> &'a [usize] {
    let together = |a: &usize, b: &usize| same_geometry(case, &runs[*a], &runs[*b]);
    let lengths = || order.chunk_by(together).map(<[usize]>::len);
    let work: Vec<u64> = match lengths().count() < ranks.size() && !follow_from_one(case) {
        true => vec![1; order.len()],
        false => lengths().map(|runs| runs as u64).collect(),
    };
    let mut dealt = deal::consecutive(&work, ranks.size()).into_iter();
    let items = dealt.nth(ranks.rank()).unwrap_or_default();
    let runs = |items: &[u64]| items.iter().sum::<u64>() as usize;
    let begin = runs(&work[..items.start]);
    &order[begin..begin + runs(&work[items])]
}

/// Whether solves in one medium give those of the same geometry in all others.
fn follow_from_one(case: &Case) -> bool {
    let of = &case.description;
    let is_one_medium = !of.has_media() && of.stack.is_none() && !of.has_state();
    is_one_medium && !of.polarisability && of.reductions.is_empty()
}

/// The folder for the files of so many runs.
fn open(
    ranks: &Ranks,
    path: &Path,
    case: &Case,
    runs: usize,
    args: &Args,
) -> Result<Folder, Failure> {
    let mut names = vec![CSV.to_owned()];
    names.extend(args.report.then(|| page::FILE.to_owned()));
    if case.vtk != VtkMode::None {
        names.push(PVD.to_owned());
        names.extend((1..=runs).map(picture));
    }
    let probes = results::probe_files(case);
    let of_run = |run| probes.iter().map(move |name| results::tagged(name, &tag(run)));
    names.extend((1..=runs).flat_map(of_run));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let help = "choose a folder with --output that all hosts share";
    Folder::open_among(ranks, path, &names, args.solving.overwrite, help)
}

/// What a rank has found: one message to the first.
#[derive(Serialize, Deserialize)]
struct Found {
    rows: Vec<Sent>,
    conductors: Option<Vec<String>>,
    solved: usize,
    prepared: usize,
    /// Files that it wrote.
    staged: Vec<String>,
}

/// A row on its way, with the bits of its numbers: JSON has no NaN, and may round.
#[derive(Serialize, Deserialize)]
struct Sent {
    run: usize,
    maxwell_farad: Vec<Vec<u64>>,
    quantities: Vec<u64>,
    triangles: usize,
    warnings: Vec<SentWarning>,
    surface: Option<String>,
    probes: Vec<String>,
}

impl Sent {
    fn of(run: usize, row: &Row) -> Self {
        let bits = |values: &Vec<f64>| values.iter().map(|value| value.to_bits()).collect();
        Self {
            run,
            maxwell_farad: row.maxwell_farad.iter().map(bits).collect(),
            quantities: bits(&row.quantities),
            triangles: row.triangles,
            warnings: row.warnings.iter().map(SentWarning::of).collect(),
            surface: row.surface.clone(),
            probes: row.probes.clone(),
        }
    }

    fn into_row(self, parameters: Vec<Parameter>) -> Row {
        let values = |bits: Vec<u64>| bits.into_iter().map(f64::from_bits).collect();
        Row {
            parameters,
            maxwell_farad: self.maxwell_farad.into_iter().map(values).collect(),
            quantities: values(self.quantities),
            triangles: self.triangles,
            warnings: self.warnings.into_iter().map(SentWarning::into_warning).collect(),
            surface: self.surface,
            probes: self.probes,
        }
    }
}

/// The part of a checkpoint that all runs have in common.
const SWEEP: &str = "sweep";

/// What it holds.
#[derive(Serialize, Deserialize)]
struct KeptSweep {
    conductors: Vec<String>,
    excited: Vec<usize>,
    quantities: Vec<String>,
    solved: usize,
    prepared: usize,
}

/// A run in a checkpoint.
#[derive(Serialize, Deserialize)]
struct KeptRun {
    row: Sent,
    /// Its files, with their checksums.
    files: Vec<(String, u64)>,
}

/// The part of a checkpoint that is a run.
fn kept_run(run: usize) -> String {
    format!("run{}", tag(run + 1))
}

/// What all ranks did together.
#[derive(Clone, Copy, Debug, Default)]
struct Collected {
    solved: usize,
    prepared: usize,
}

/// A sweep under way.
struct Sweeping<'a> {
    args: &'a Args,
    case: &'a Case,
    /// For each run the index of its value in every sweep.
    runs: &'a [Vec<usize>],
    /// The runs of this rank.
    is_own: Vec<bool>,
    /// Whether there are no other ranks.
    is_alone: bool,
    output: &'a Output,
    path: &'a Path,
    started: Instant,
    folder: Folder,
    /// The meshes, each file read once.
    read: HashMap<Option<PathBuf>, Mesh>,
    kept: Option<&'a Checkpoint>,
    solver: Solver,
    solved: usize,
    /// Set up by an earlier run that was cut short.
    prepared: usize,
    rows: Vec<Option<Row>>,
    conductors: Option<Vec<String>>,
    /// Those of the matrix's columns.
    excited: Vec<usize>,
    quantities: Vec<String>,
}

impl Sweeping<'_> {
    /// Takes over the runs that an earlier one has kept, with their files.
    fn restore(&mut self) -> Result<(), Failure> {
        let Some(kept) = self.kept else { return Ok(()) };
        let Some((KeptSweep { conductors, excited, quantities, solved, prepared }, _)) =
            kept.take(SWEEP)
        else {
            return Ok(());
        };
        (self.excited, self.quantities) = (excited, quantities);
        (self.conductors, self.solved, self.prepared) = (Some(conductors), solved, prepared);
        let mut count = 0;
        for run in 0..self.runs.len() {
            let Some((KeptRun { row, files }, _)) = kept.take::<KeptRun>(&kept_run(run)) else {
                continue;
            };
            // What is not whole is written again with its run.
            let bring = |(name, sum): &(String, u64)| {
                kept.take_file(name, *sum, &self.folder.staged_at(name))
            };
            if files.iter().all(bring) {
                self.folder.add_staged(files.into_iter().map(|(name, _)| name));
                self.rows[run] = Some(row.into_row(parameters(self.case, &self.runs[run])));
                count += 1;
            } else {
                for (name, _) in &files {
                    files::remove(&self.folder.staged_at(name));
                }
            }
        }
        let of = counted(self.runs.len(), "run");
        self.output.note(&format!("{count} of {of} were found before"));
        Ok(())
    }

    /// Solves runs in turn, but for those that follow from others.
    fn solve_all(&mut self, own: &[usize]) -> Result<(), Failure> {
        for (place, &first) in own.iter().enumerate() {
            if self.rows[first].is_none() {
                interrupt::check()?;
                if let Some(kept) = self.kept {
                    kept.begin(place, place);
                }
                self.solve(first)?;
            }
        }
        Ok(())
    }

    /// Solves a run, and with it those that follow from it.
    fn solve(&mut self, first: usize) -> Result<(), Failure> {
        let (runs, whole, output) = (self.runs, self.case, self.output);
        let choice = &runs[first];
        let is_alone = self.is_alone;
        let failed = |failure: Failure| {
            let run = format!("the run with {}", describe(whole, choice));
            match failure.exit {
                _ if is_alone => {
                    output.note(&format!("this was {run}"));
                    failure
                }
                Exit::Interrupted => failure,
                _ => failure.of(&run),
            }
        };
        let case = of_run(whole, choice);
        let mesh = self.mesh(choice).map_err(failed)?;
        let problem = problem::prepare(&case, mesh).map_err(failed)?;
        if self.conductors.is_none() {
            problem::tell(&case, &problem, output);
        }
        let names = &problem.conductors().names;
        if *self.conductors.get_or_insert_with(|| names.clone()) != *names {
            return Err(other_conductors(whole, choice, names));
        }
        self.excited = problem.excited().to_vec();
        let solving = &self.args.solving;
        let solution =
            solve(self.kept, &mut self.solver, &case, &problem, solving, output).map_err(failed)?;
        if !solution.converged() {
            return Err(Failure::with_help(
                Exit::NotConverged,
                format!("the solver did not converge in the run with {}", describe(whole, choice)),
                "raise solver.max_iterations or ask for less with --tolerance",
            ));
        }
        self.solved += 1;
        let quantities = solution.quantities();
        self.quantities =
            quantities.iter().map(|(name, unit, _)| format!("{name} [{unit}]")).collect();
        let same = |run: &usize| *run == first || same_geometry(whole, choice, &runs[*run]);
        let is_left = |run: &usize| self.is_own[*run] && self.rows[*run].is_none();
        let own: Vec<usize> = (first..runs.len()).filter(is_left).collect();
        self.keep_sweep();
        for run in own.into_iter().filter(same) {
            let case = of_run(whole, &runs[run]);
            let matrices = match run == first {
                true => Some(solution.matrices()),
                false => solution.matrices_in(case.description.relative_permittivity),
            };
            let Some(matrices) = matrices else { break };
            let staged = self.folder.staged().len();
            let row = self.row(run, &case, &problem, &solution, matrices)?;
            self.keep_run(run, &row, staged);
            self.rows[run] = Some(row);
        }
        Ok(())
    }

    /// Keeps what all runs have in common.
    fn keep_sweep(&self) {
        let (Some(kept), Some(conductors)) = (self.kept, &self.conductors) else { return };
        let sweep = KeptSweep {
            conductors: conductors.clone(),
            excited: self.excited.clone(),
            quantities: self.quantities.clone(),
            solved: self.solved,
            prepared: self.prepared + self.solver.times_prepared(),
        };
        kept.put(SWEEP, &sweep, &[]);
    }

    /// Keeps a run with its files, which are those staged after so many.
    fn keep_run(&self, run: usize, row: &Row, staged: usize) {
        let Some(kept) = self.kept else { return };
        let names = &self.folder.staged()[staged..];
        let sum = |name: &String| {
            Some((name.clone(), kept.put_file(name, &self.folder.staged_at(name))?))
        };
        if let Some(files) = names.iter().map(sum).collect() {
            kept.put(&kept_run(run), &KeptRun { row: Sent::of(run, row), files }, &[]);
        }
    }

    /// Writes the files of a run.
    fn row(
        &mut self,
        run: usize,
        case: &Case,
        problem: &Problem,
        solution: &Solution,
        matrices: Matrices,
    ) -> Result<Row, Failure> {
        let surface = (case.vtk != VtkMode::None).then(|| picture(run + 1));
        if let Some(name) = &surface {
            let run = Run {
                case,
                problem,
                solution,
                requested: self.args.solving.on.backend,
                deterministic: self.args.solving.on.deterministic,
                used: solution.answer.fmm.as_ref().map_or(Backend::Cpu, Backend::of_plan),
                refinement: None,
                folder: self.path,
                pieces: None,
                started: self.started,
                read_seconds: 0.0,
                has_page: false,
            };
            self.folder.stage(name, |out| results::write_surface(out, &run))?;
        }
        let probes = results::write_probes(&mut self.folder, case, solution, &tag(run + 1))?;
        Ok(Row {
            parameters: parameters(case, &self.runs[run]),
            maxwell_farad: matrices.maxwell_farad,
            quantities: solution.quantities().iter().map(|quantity| quantity.2).collect(),
            triangles: problem.mesh().triangles.len(),
            warnings: warnings::of(solution),
            surface,
            probes,
        })
    }

    /// The mesh of a run.
    fn mesh(&mut self, choice: &[usize]) -> Result<Mesh, Failure> {
        let case = self.case;
        let file_of = |(sweep, value): (&Sweep, &usize)| match &sweep.values {
            Values::Files(files) => Some(files[*value].clone()),
            Values::Of(_) => None,
        };
        let file = case.sweeps.iter().zip(choice).filter_map(file_of).next_back();
        let file = file.or_else(|| case.mesh.clone());
        let read = match self.read.entry(file) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mesh = problem::read(case, new.key().as_deref(), self.output)?;
                new.insert(mesh)
            }
        };
        let mut mesh = read.clone();
        for (sweep, &value) in case.sweeps.iter().zip(choice) {
            let Some(change) = sweep.change() else { continue };
            mesh = change.place(value, mesh).map_err(|missing| {
                let place = sweep.groups[missing.index].clone();
                let defect = Defect::new(Sort::Value, place, missing.to_string());
                let help = format!("its groups are {}", missing.available.join(", "));
                case.failure(vec![defect.label("no such group").help(help)])
            })?;
        }
        Ok(mesh)
    }

    /// Brings what all ranks have found to the first. Collective.
    fn collect(&mut self, ranks: &Ranks, own: &[usize]) -> Result<Collected, Failure> {
        if self.is_alone {
            let prepared = self.prepared + self.solver.times_prepared();
            return Ok(Collected { solved: self.solved, prepared });
        }
        let rows = own.iter().filter_map(|&run| Some(Sent::of(run, self.rows[run].as_ref()?)));
        let found = Found {
            rows: if ranks.is_first() { Vec::new() } else { rows.collect() },
            conductors: self.conductors.clone(),
            solved: self.solved,
            prepared: self.solver.times_prepared(),
            staged: self.folder.staged().to_vec(),
        };
        let own = serde_json::to_vec(&found);
        let unread = |error| Failure::new(Exit::Io, format!("a message of a rank: {error}"));
        let all = ranks.gather(&ranks.agree(own.map_err(unread))?)?;
        let mut collected = Collected::default();
        if !ranks.is_first() {
            return Ok(collected);
        }
        for (rank, found) in all.iter().enumerate() {
            let found: Found = serde_json::from_slice(found).map_err(unread)?;
            collected.solved += found.solved;
            collected.prepared += found.prepared;
            if rank == 0 {
                continue;
            }
            if let (Some(names), Some(row)) = (&found.conductors, found.rows.first())
                && self.conductors.as_ref().is_some_and(|known| known != names)
            {
                return Err(other_conductors(self.case, &self.runs[row.run], names));
            }
            self.folder.add_staged(found.staged);
            for row in found.rows {
                let run = row.run;
                let parameters = parameters(self.case, &self.runs[run]);
                self.rows[run] = Some(row.into_row(parameters));
            }
        }
        Ok(collected)
    }

    /// Writes the files that describe all runs.
    fn finish(mut self, found: Collected) -> Result<(), Failure> {
        let rows: Vec<Row> = self.rows.into_iter().flatten().collect();
        let failed: Vec<String> = rows
            .iter()
            .zip(self.runs)
            .filter(|(row, _)| warnings::failed(&row.warnings))
            .map(|(_, choice)| describe(self.case, choice))
            .collect();
        let conductors = self.conductors.unwrap_or_default();
        let excited = self.excited.iter();
        let columns = excited.filter_map(|&k| conductors.get(k).cloned()).collect();
        let mut document = Document {
            schema: SCHEMA,
            status: if failed.is_empty() { "complete" } else { "checks_failed" },
            program: format!("farad {}", env!("CARGO_PKG_VERSION")),
            case: paths::relative(self.path, self.case.path()),
            title: self.case.title.clone(),
            case_text: self.case.text(),
            files: Vec::new(),
            parameters: self.case.sweeps.iter().map(|sweep| sweep.name.clone()).collect(),
            conductors,
            columns,
            excited: self.excited,
            quantities: self.quantities,
            runs: rows,
            solved: found.solved,
            prepared: found.prepared,
            seconds: 0.0,
        };
        self.folder.stage(CSV, |out| out.write_all(csv(&document).as_bytes()))?;
        if self.case.vtk != VtkMode::None {
            self.folder.stage(PVD, |out| vtk::write_series(out, steps(&document)))?;
        }
        document.files = self.folder.names();
        document.files.extend(self.args.report.then(|| page::FILE.to_owned()));
        document.seconds = self.started.elapsed().as_secs_f64();
        let json = crate::report::json::text(&document);
        if self.args.report {
            self.folder.stage_page(&json)?;
        }
        self.folder.commit(&json)?;
        if self.args.solving.json {
            self.output.data(&json)?;
        } else {
            self.output.text(&text(self.case, &document, self.path))?;
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
            format!("the results in {} are marked checks_failed", self.path.display()),
        ))
    }
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
    let lengths: Vec<usize> = case.sweeps.iter().map(Sweep::len).collect();
    farad::combinations(&lengths, MOST_RUNS).ok_or_else(|| {
        Failure::with_help(
            Exit::BadInput,
            format!(
                "the sweeps of {} have more than {MOST_RUNS} combinations",
                case.path().display()
            ),
            "every value of one goes with every value of the others; vary less at once",
        )
    })
}

/// The runs, sorted so that those of one geometry follow each other.
fn by_geometry(case: &Case, runs: &[Vec<usize>]) -> Vec<usize> {
    let key = |run: &usize| -> Vec<usize> {
        let choice = case.sweeps.iter().zip(&runs[*run]);
        let geometry = |(sweep, value): (&Sweep, &usize)| sweep.is_of_geometry().then_some(*value);
        choice.filter_map(geometry).collect()
    };
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_cached_key(key);
    order
}

/// Whether two runs differ in their permittivity at most.
fn same_geometry(case: &Case, a: &[usize], b: &[usize]) -> bool {
    let mut pairs = case.sweeps.iter().zip(a.iter().zip(b));
    pairs.all(|(sweep, (a, b))| a == b || !sweep.is_of_geometry())
}

/// The case of one run: its permittivities, and the atoms of molecules where their surfaces are.
fn of_run(case: &Case, choice: &[usize]) -> Case {
    let mut run = case.clone();
    for (sweep, &value) in case.sweeps.iter().zip(choice) {
        if let Some(change) = sweep.change() {
            change.describe(value, &mut run.description);
        }
    }
    run
}

fn parameters(case: &Case, choice: &[usize]) -> Vec<Parameter> {
    let value = |(sweep, &index): (&Sweep, &usize)| match &sweep.values {
        Values::Of(change) => Parameter::Number(change.values()[index]),
        Values::Files(files) => {
            let name = files[index].file_name().unwrap_or_default();
            Parameter::Text(name.to_string_lossy().into_owned())
        }
    };
    case.sweeps.iter().zip(choice).map(value).collect()
}

/// What the names of a run's files end with.
fn tag(run: usize) -> String {
    format!("_{run:04}")
}

/// The picture of a run.
fn picture(run: usize) -> String {
    format!("surface{}.vtu", tag(run))
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

/// The matrix's entries on and above the diagonal, by row: name and place. Where only some
/// conductors are excited, all of their columns but for what is there twice.
fn narrow_tables(document: &Document) -> Vec<(String, usize, usize)> {
    let Document { conductors, excited, .. } = document;
    let entries = distinct_entries(conductors.len(), excited);
    entries.into_iter().map(|(i, k)| (entry_name(conductors, i, excited[k]), i, k)).collect()
}

fn csv(document: &Document) -> String {
    let columns = narrow_tables(document);
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

/// The series of pictures for ParaView: the time of a run is the value of the one sweep where that
/// is a number, else the run's own.
fn steps(document: &Document) -> impl Iterator<Item = (f64, String, String)> {
    document.runs.iter().enumerate().map(|(step, run)| {
        let time = match run.parameters.as_slice() {
            [Parameter::Number(value)] => *value,
            _ => step as f64,
        };
        let each = document.parameters.iter().zip(&run.parameters);
        let name: Vec<String> = each.map(|(name, value)| format!("{name} = {value}")).collect();
        (time, picture(step + 1), name.join(", "))
    })
}

fn text(case: &Case, document: &Document, path: &Path) -> String {
    let columns = narrow_tables(document);
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
    text += &aligned_table(header, rows);
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
