//! `farad batch`: one case for each of many molecules, and a table of all.

pub(crate) mod bars;
pub(crate) mod difference;
mod inputs;
pub(crate) mod rows;
mod tables;

use std::collections::HashSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use self::difference::{Difference, Found};
use self::inputs::{Inputs, Molecule};
use self::rows::{COMPLETE, Done, FAILED, PENDING, Row};
use super::arguments::{Several, Solving, Whole};
use super::opening::NOT_SHARED;
use super::series::{self, Rows};
use super::solve::{Job, complete};
use crate::case::{Case, Overrides, Viewer, number};
use crate::machine::deal;
use crate::machine::ranks::Ranks;
use crate::paths;
use crate::report::results::{self, Checkpoint, Folder, Inputs as CheckpointInputs, Series};
use crate::report::units::{counted, duration, with_bar};
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

const CSV: &str = "batch.csv";
const DIFFERENCES: &str = "differences.csv";

/// Name and version of what the batch's results.json looks like.
const SCHEMA: &str = "farad-batch/1";

/// Arguments of `farad batch`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// PQR files; folders of them; text files with a path on each line; and at most one template, a
    /// case file with one molecule, whose pqr each of the files takes the place of
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// Folder for the table, and for a folder of each molecule's results [default: TEMPLATE.batch
    /// next to the template, else farad.batch]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The molecule that all energies are compared with, by its file's name without .pqr
    #[arg(long, value_name = "NAME")]
    reference: Option<String>,
    /// A sum of energies, such as "binding = complex - a - b", with names of files without .pqr;
    /// may be repeated
    #[arg(long, value_name = "NAME = A - B", allow_hyphen_values = true)]
    difference: Vec<String>,
    /// Error bars of solvation energies from surfaces with half and a quarter as many triangles,
    /// solved on first: nearly twice the time
    #[arg(long)]
    bars: bool,
    /// Solve again molecules that have results
    #[arg(long)]
    again: bool,
    /// Write a script for this program into each molecule's folder; may be repeated
    #[arg(long, value_enum, value_name = "PROGRAM")]
    viewer: Vec<Viewer>,
    #[command(flatten)]
    whole: Whole,
    #[command(flatten)]
    several: Several,
    #[command(flatten)]
    solving: Solving,
}

/// The inputs in results.json.
#[derive(Clone, Debug, Serialize)]
struct Subject<'a> {
    template: Option<String>,
    reference: Option<&'a str>,
}

/// The content of results.json.
#[derive(Clone, Debug, Serialize)]
struct Results<'a> {
    molecules: &'a [Row],
    /// Completed molecules of earlier batches in the folder that are no part of this one.
    others: Vec<&'a Row>,
    differences: Vec<Found>,
    /// How many were solved by this run.
    solved: usize,
}

/// The results.json of an earlier run.
#[derive(Deserialize)]
struct Earlier {
    schema: String,
    molecules: Vec<Row>,
    others: Vec<Row>,
}

/// Solves for every molecule that is not done, each on one of the ranks.
pub(crate) fn run(args: &Args, verbose: bool) -> Result<(), Failure> {
    args.several.run(args.solving.on, |ranks| {
        let solving = args.solving.of_rank(ranks);
        on_rank(&Args { solving, ..args.clone() }, ranks, verbose)
    })
}

/// One rank's part.
fn on_rank(args: &Args, ranks: &Ranks, verbose: bool) -> Result<(), Failure> {
    let output = args.solving.set_up(ranks, verbose)?;
    let inputs = ranks.agree(inputs::find(&args.inputs))?;
    if ranks.size() > 1 {
        ranks.check_same("the template, or a molecule,", inputs.hash())?;
    }
    let Inputs { template, molecules } = inputs;
    let path = match (&args.output, &template) {
        (Some(path), _) => path.clone(),
        (None, Some(template)) => template.with_extension("batch"),
        (None, None) => PathBuf::from("farad.batch"),
    };
    let names: Vec<&str> = molecules.iter().map(|molecule| molecule.name.as_str()).collect();
    let reference = args.reference.as_deref().map(|name| row_of(name, &names)).transpose();
    let reference = ranks.agree(reference)?;
    let differences = args.difference.iter().map(|text| difference::parse(text, &names));
    let differences = ranks.agree(differences.collect::<Result<Vec<_>, _>>())?;
    let batch = Batch {
        args,
        output: &output,
        template: template.as_deref(),
        earlier: earlier(&path, &output),
        molecules: &molecules,
        path,
        reference,
        differences,
        started: Instant::now(),
    };
    batch.begin(ranks)?;
    let several = ranks.size() > 1;
    let checkpoint = several.then(|| checkpoint(&batch.path, &output)).transpose();
    let checkpoint = ranks.agree(checkpoint)?;
    let name = |index| format!("molecule-{index}");
    let mut rows = Rows::new(molecules.len(), checkpoint.as_ref(), name);
    let size = |molecule: &Molecule| std::fs::metadata(&molecule.pqr).map_or(0, |file| file.len());
    let sizes: Vec<u64> = molecules.iter().map(size).collect();
    let own = deal::largest_first(&sizes, ranks.size()).swap_remove(ranks.rank());
    // One process writes the table after each molecule, several write checkpoints.
    let solved = rows.solve_all(&own, |rows, index| {
        rows.add(index, batch.solve(index)?, None);
        rows.write();
        if several { Ok(()) } else { batch.write(rows).map(drop) }
    });
    let solved = solved.map_err(|failure| match failure.exit {
        Exit::Interrupted => interrupted(&batch.path),
        _ => failure,
    });
    rows.gather(ranks, None)?;
    let is_writer = several && ranks.is_first();
    let written = if is_writer { batch.write(&rows).map(drop) } else { Ok(()) };
    ranks.agree(solved.and(written))?;
    ranks.conclude(|| batch.finish(&rows))
}

/// The checkpoint of ranks that share a batch. Rows have fingerprints, so it is for any batch.
pub fn checkpoint(path: &Path, output: &Output) -> Result<Checkpoint, Failure> {
    let command = concat!("farad ", env!("CARGO_PKG_VERSION"), " batch");
    let inputs = CheckpointInputs(vec![(command.to_owned(), 0)]);
    Checkpoint::join(path, inputs, Duration::ZERO, output)
}

fn row_of(name: &str, names: &[&str]) -> Result<usize, Failure> {
    names.iter().position(|known| *known == name).ok_or_else(|| {
        let message = format!("--reference {name}: no molecule is called that");
        let help = format!("there are {}", crate::case::quoted(names.iter().copied()));
        Failure::with_help(Exit::Usage, message, help)
    })
}

fn interrupted(path: &Path) -> Failure {
    let message = "interrupted; finished molecules are written";
    let help =
        format!("the same command goes on where it stopped: {} has what is done", path.display());
    Failure::with_help(Exit::Interrupted, message, help)
}

/// The molecules that earlier runs have completed in a folder, the last of each name.
pub fn earlier(path: &Path, output: &Output) -> Vec<Row> {
    let text = std::fs::read_to_string(path.join(results::INDEX)).unwrap_or_default();
    let written: Option<Earlier> = serde_json::from_str(&text).ok();
    let written = written.filter(|written| written.schema == SCHEMA);
    let written = written.map(|written| [written.molecules, written.others].concat());
    // Of ranks that were killed.
    let left = checkpoint(path, output).map(|left| series::all_rows::<Done>(&left));
    let left = left.into_iter().flatten().map(|done| done.row);
    let mut rows: Vec<Row> = left.chain(written.into_iter().flatten()).collect();
    let mut names = HashSet::new();
    rows.retain(|row| row.status == COMPLETE && names.insert(row.name.clone()));
    rows
}

/// A batch under way.
struct Batch<'a> {
    args: &'a Args,
    output: &'a Output,
    template: Option<&'a Path>,
    path: PathBuf,
    earlier: Vec<Row>,
    molecules: &'a [Molecule],
    reference: Option<usize>,
    differences: Vec<Difference>,
    started: Instant,
}

impl Batch<'_> {
    /// The files in the batch's folder.
    fn files(&self) -> &'static [&'static str] {
        if self.differences.is_empty() { &[CSV] } else { &[CSV, DIFFERENCES] }
    }

    /// Writes the table before any molecule is solved, with the rows of earlier runs. Collective.
    fn begin(&self, ranks: &Ranks) -> Result<(), Failure> {
        // All have read what earlier runs have left.
        ranks.agree(Ok(()))?;
        let overwrite = self.args.solving.overwrite;
        let folder = Folder::open_among(ranks, &self.path, self.files(), overwrite, NOT_SHARED)?;
        let none = Rows::new(self.molecules.len(), None, |_| String::new());
        let written =
            if ranks.is_first() { self.write_to(folder, &none).map(drop) } else { Ok(()) };
        ranks.agree(written)
    }

    fn pending(&self, index: usize) -> Row {
        let Molecule { name, pqr } = &self.molecules[index];
        Row::pending(name, paths::relative(&self.path, pqr))
    }

    /// The rows of all molecules as they are now.
    fn table(&self, rows: &Rows<'_, Done>) -> Vec<Row> {
        let row =
            |index| rows.get(index).map_or_else(|| self.pending(index), |done| done.row.clone());
        (0..self.molecules.len()).map(row).collect()
    }

    /// Solves for a molecule, unless an earlier run has.
    fn solve(&self, index: usize) -> Result<Done, Failure> {
        let started = Instant::now();
        let mut row = self.pending(index);
        let solved = self.complete(&mut row, &self.molecules[index].pqr, started);
        let number = format!("{} of {}: {}", index + 1, self.molecules.len(), row.name);
        let seconds = started.elapsed().as_secs_f64();
        match &solved {
            Ok(true) => {
                row.seconds = Some(seconds);
                let energy = row.solvation_kcal_per_mol.unwrap_or(f64::NAN);
                let energy = with_bar(energy, row.solvation_error_kcal_per_mol);
                let warned = if row.message.is_some() { ", with a warning" } else { "" };
                let seconds = duration(seconds);
                self.output.note(&format!("{number}: {energy} kcal/mol, {seconds}{warned}"));
            }
            Ok(false) => self.output.note(&format!("{number}: done already")),
            Err(failure) => {
                let message = in_a_line(failure);
                self.output.note(&format!("{number}: {message}"));
                row.seconds = Some(seconds);
                row.message = Some(message);
                if row.status == PENDING {
                    row.status = FAILED.to_owned();
                }
            }
        }
        let is_solved = matches!(solved, Ok(true));
        match solved.err() {
            Some(failure) if failure.exit == Exit::Interrupted => Err(failure),
            failed => Ok(Done { row, is_solved, failed: failed.map(|failure| failure.exit as u8) }),
        }
    }

    /// Completes the row of a molecule; returns whether it was solved now.
    fn complete(&self, row: &mut Row, pqr: &Path, started: Instant) -> Result<bool, Failure> {
        let Self { args, output, .. } = self;
        let case = self.case(pqr, &row.name)?;
        if args.bars && case.goal.is_some() {
            return Err(Failure::with_help(
                Exit::Usage,
                "--bars compares with coarser surfaces, and an accuracy (solver.accuracy of the template) makes finer ones",
                "leave out --bars: energies that were solved to an accuracy have a bar",
            ));
        }
        let folder = self.path.join(&row.name);
        let fingerprint = Some(fingerprint(&case, args.bars));
        let is_done = |known: &&Row| {
            known.name == row.name
                && known.status == COMPLETE
                && known.fingerprint == fingerprint
                && folder.join(results::INDEX).is_file()
        };
        if let Some(known) = self.earlier.iter().find(is_done).filter(|_| !args.again) {
            *row = Row { pqr: std::mem::take(&mut row.pqr), ..known.clone() };
            return Ok(false);
        }
        row.fingerprint = fingerprint;
        let output = &Output { json: true, ..**output };
        let coarse = args.bars.then(|| bars::coarse(&case, &args.solving, output)).transpose()?;
        let job = Job { case: &case, solving: &args.solving, output, path: &folder, started };
        complete(job, |run, _| {
            row.take(run, results::status_name(run));
            if let (Some(coarse), Some(fine)) = (coarse, row.solvation_kcal_per_mol) {
                row.solvation_error_kcal_per_mol = Some(bars::bar(coarse, fine));
            }
            Ok(())
        })?;
        Ok(true)
    }

    /// The case of a molecule.
    fn case(&self, pqr: &Path, name: &str) -> Result<Case, Failure> {
        let overrides = Overrides { viewers: self.args.viewer.clone(), ..Overrides::default() };
        let mut case = match self.template {
            None => self.args.solving.load(pqr, overrides)?,
            Some(template) => {
                let overrides = Overrides { pqr: Some(pqr.to_owned()), ..overrides };
                self.args.solving.load(template, overrides)?
            }
        };
        case.title = name.to_owned();
        Ok(case)
    }

    /// Writes the table as it is now; returns the text of results.json.
    fn write(&self, rows: &Rows<'_, Done>) -> Result<String, Failure> {
        self.write_to(Folder::open(&self.path, self.files(), self.args.solving.overwrite)?, rows)
    }

    fn write_to(&self, mut folder: Folder, rows: &Rows<'_, Done>) -> Result<String, Failure> {
        let table = self.table(rows);
        let text = tables::csv(&table, self.reference);
        folder.stage(CSV, |out| out.write_all(text.as_bytes()))?;
        let differences = self.differences(&table);
        if !differences.is_empty() {
            let text = tables::csv_of_differences(&differences);
            folder.stage(DIFFERENCES, |out| out.write_all(text.as_bytes()))?;
        }
        // A row that is still pending does not take the place of a complete one.
        let is_other = |known: &&Row| {
            let is_its = |row: &Row| row.name == known.name && row.status != PENDING;
            known.status == COMPLETE && !table.iter().any(is_its)
        };
        let is_complete = table.iter().all(|row| row.status == COMPLETE);
        let subject = Subject {
            template: self.template.map(|template| paths::relative(&self.path, template)),
            reference: self.reference.map(|row| table[row].name.as_str()),
        };
        let results = Results {
            molecules: &table,
            others: self.earlier.iter().filter(is_other).collect(),
            differences,
            solved: solved(rows),
        };
        let status = if is_complete { "complete" } else { "incomplete" };
        let mut series = Series::new(SCHEMA, status, subject, results);
        series.commit(folder, false, self.started).map(|(json, _)| json)
    }

    fn differences(&self, table: &[Row]) -> Vec<Found> {
        self.differences.iter().map(|difference| difference.of(table)).collect()
    }

    /// Shows the table, and fails if anything in it is not complete.
    fn finish(&self, rows: &Rows<'_, Done>) -> Result<(), Failure> {
        let table = self.table(rows);
        if self.args.solving.json {
            self.output.data(&self.write(rows)?)?;
        } else {
            let mut text = tables::text(&table, self.reference);
            text += &tables::text_of_differences(&self.differences(&table));
            text += &format!(
                "\n{}, {} solved now, {}\nResults in {}: {CSV}, results.json, and a folder for each molecule\n",
                counted(table.len(), "molecule"),
                solved(rows),
                duration(self.started.elapsed().as_secs_f64()),
                self.path.display(),
            );
            self.output.text(&text)?;
        }
        let Some(code) = rows.known().find_map(|(_, done)| done.failed) else { return Ok(()) };
        let exit = Exit::of_code(code);
        let failed: Vec<String> = table
            .iter()
            .filter(|row| row.status != COMPLETE)
            .map(|row| format!("{}: {}", row.name, row.message.as_deref().unwrap_or(&row.status)))
            .collect();
        Err(Failure::with_help(
            exit,
            format!(
                "{} of {} have no reliable results:\n{}",
                failed.len(),
                counted(table.len(), "molecule"),
                failed.join("\n")
            ),
            "the same command tries these again, and leaves the others as they are",
        ))
    }
}

/// Molecules that were solved by this run.
fn solved(rows: &Rows<'_, Done>) -> usize {
    rows.known().filter(|(_, done)| done.is_solved).count()
}

/// The message of a failure, with all errors of a case file.
fn in_a_line(failure: &Failure) -> String {
    let Some(report) = &failure.report else { return failure.to_string() };
    let related = report.related().into_iter().flatten().map(ToString::to_string);
    std::iter::once(report.to_string()).chain(related).collect::<Vec<_>>().join("; ")
}

/// A hash of everything that the results of a case follow from, and of whether they have bars.
fn fingerprint(case: &Case, bars: bool) -> String {
    let surfaces: Vec<_> = case.molecules.iter().map(|molecule| molecule.options).collect();
    let wanted = (&case.formats, &case.viewers, case.map_spacing, case.vtk, case.smooth);
    let solved = format!("{:?} {:?} {:?}", case.description, case.options, case.goal);
    let written = format!("{surfaces:?} {wanted:?} {:?} {bars}", case.atoms);
    // Unreadable files are reported when they are read.
    let contents = case.contents().unwrap_or_default();
    format!("{:016x}", number(&(env!("CARGO_PKG_VERSION"), solved, written, contents)))
}
