//! `farad batch`: one case for each of many molecules, and a table of all.

pub(crate) mod bars;
pub(crate) mod difference;
mod inputs;
pub(crate) mod journals;
pub(crate) mod rows;
mod tables;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use self::difference::{Difference, Found};
use self::inputs::Inputs;
use self::journals::Done;
use self::rows::{COMPLETE, FAILED, PENDING, Row};
use super::arguments::{Several, Solving, Whole};
use super::solve::{Job, complete};
use crate::case::{Case, Overrides, Viewer};
use crate::machine::deal;
use crate::machine::ranks::Ranks;
use crate::paths;
use crate::report::made::Made;
use crate::report::results::{self, Folder};
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
    /// Solve again what is done already
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

/// What the batch's results.json holds.
#[derive(Clone, Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// "complete", or "incomplete" if there is anything that is not.
    status: &'static str,
    program: String,
    made: Made,
    template: Option<String>,
    reference: Option<&'a str>,
    files: Vec<String>,
    molecules: &'a [Row],
    /// What is done of earlier batches in the folder, and no part of this one.
    others: Vec<&'a Row>,
    differences: Vec<Found>,
    /// How many were solved by this run; the others were done already.
    solved: usize,
    seconds: f64,
}

/// What an earlier run has left.
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
    let Inputs { template, molecules } = ranks.agree(inputs::find(&args.inputs))?;
    if ranks.size() > 1 {
        ranks
            .check_same("the template, or a molecule,", content(template.as_deref(), &molecules))?;
    }
    let path = match (&args.output, &template) {
        (Some(path), _) => path.clone(),
        (None, Some(template)) => template.with_extension("batch"),
        (None, None) => PathBuf::from("farad.batch"),
    };
    let names: Vec<&str> = molecules.iter().map(|(name, _)| name.as_str()).collect();
    let reference = args.reference.as_deref().map(|name| row_of(name, &names)).transpose();
    let reference = ranks.agree(reference)?;
    let differences = args.difference.iter().map(|text| difference::parse(text, &names));
    let differences = ranks.agree(differences.collect::<Result<Vec<_>, _>>())?;
    let pending = |(name, pqr): &(String, PathBuf)| Row::pending(name, paths::relative(&path, pqr));
    let mut batch = Batch {
        args,
        output: &output,
        template: template.as_deref(),
        earlier: earlier(&path),
        rows: molecules.iter().map(pending).collect(),
        path,
        reference,
        differences,
        started: Instant::now(),
        done: Vec::new(),
    };
    // Its folder, before there is one of a molecule in it, and once all have read what is there.
    ranks.agree(Ok(()))?;
    ranks.agree(if ranks.is_first() { batch.begin(ranks) } else { Ok(()) })?;
    ranks.agree(batch.check_shared(ranks))?;
    let own = deal::largest_first(&sizes(&molecules), ranks.size()).swap_remove(ranks.rank());
    let solved = batch.solve_all(&own, &molecules, ranks);
    let collected = batch.collect(ranks)?;
    let written = if ranks.is_first() { batch.end(collected, ranks) } else { Ok(()) };
    ranks.agree(solved.and(written))?;
    ranks.conclude(|| batch.finish())
}

/// How large the files of the molecules are, which the work goes with.
fn sizes(molecules: &[(String, PathBuf)]) -> Vec<u64> {
    let size = |(_, pqr): &(String, PathBuf)| std::fs::metadata(pqr).map_or(0, |found| found.len());
    molecules.iter().map(size).collect()
}

/// A number for the content of all inputs; what cannot be read is told later.
fn content(template: Option<&Path>, molecules: &[(String, PathBuf)]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let files = template.into_iter().chain(molecules.iter().map(|(_, pqr)| pqr.as_path()));
    for file in files {
        crate::files::bytes(file).ok().hash(&mut hasher);
    }
    hasher.finish()
}

fn row_of(name: &str, names: &[&str]) -> Result<usize, Failure> {
    names.iter().position(|known| *known == name).ok_or_else(|| {
        let message = format!("--reference {name}: no molecule is called that");
        let help = format!("there are {}", crate::case::quoted(names.iter().copied()));
        Failure::with_help(Exit::Usage, message, help)
    })
}

fn interrupted(path: &Path) -> Failure {
    let message = "interrupted; what was done is written";
    let help =
        format!("the same command goes on where it stopped: {} has what is done", path.display());
    Failure::with_help(Exit::Interrupted, message, help)
}

/// What earlier runs have completed in a folder, of each name the last.
fn earlier(path: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(path.join(results::INDEX)).unwrap_or_default();
    let found: Option<Earlier> = serde_json::from_str(&text).ok();
    let found = found.filter(|found| found.schema == SCHEMA);
    let written = found.map_or_else(Vec::new, |found| [found.molecules, found.others].concat());
    let mut rows: Vec<Row> = journals::read(path).into_iter().chain(written).collect();
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
    rows: Vec<Row>,
    reference: Option<usize>,
    differences: Vec<Difference>,
    started: Instant,
    /// What this rank did; in the end, on the first, all of it.
    done: Vec<Done>,
}

impl Batch<'_> {
    /// Writes the table before there is anything in it.
    fn begin(&self, ranks: &Ranks) -> Result<(), Failure> {
        self.write()?;
        // What other ranks had left is in the table now.
        journals::remove(&self.path);
        if ranks.size() > 1 { journals::make(&self.path) } else { Ok(()) }
    }

    /// A failure where the folder that rank 0 made is not seen.
    fn check_shared(&self, ranks: &Ranks) -> Result<(), Failure> {
        if ranks.size() == 1 || journals::are_in(&self.path) {
            return Ok(());
        }
        Err(Failure::with_help(
            Exit::Io,
            format!("{} of rank 0 is not seen here", self.path.display()),
            "choose a folder with --output that all hosts share",
        ))
    }

    /// Solves for this rank's molecules in turn. One process writes the table after each, several
    /// leave their rows in journals.
    fn solve_all(
        &mut self,
        own: &[usize],
        molecules: &[(String, PathBuf)],
        ranks: &Ranks,
    ) -> Result<(), Failure> {
        for &index in own {
            let solved = self.solve(index, &molecules[index].1);
            let failed = solved.as_ref().err().map(|failure| failure.exit);
            if failed == Some(Exit::Interrupted) {
                return Err(interrupted(&self.path));
            }
            self.done.push(Done {
                index,
                row: self.rows[index].clone(),
                is_solved: matches!(solved, Ok(true)),
                failed: failed.map(|exit| exit as u8),
            });
            match ranks.size() {
                1 => drop(self.write()?),
                _ => journals::write(&self.path, ranks.rank(), &self.done)?,
            }
        }
        Ok(())
    }

    /// What all ranks have done, on each. Collective.
    fn collect(&self, ranks: &Ranks) -> Result<Vec<Done>, Failure> {
        let unread = |error| Failure::new(Exit::Io, format!("a message of a rank: {error}"));
        let own = ranks.agree(serde_json::to_vec(&self.done).map_err(unread))?;
        let all = ranks.gather(&own)?;
        let of_rank = |found: &Vec<u8>| serde_json::from_slice::<Vec<Done>>(found);
        let all = all.iter().map(of_rank).collect::<Result<Vec<_>, _>>();
        let mut done = ranks.agree(all.map_err(unread))?.concat();
        done.sort_by_key(|done| done.index);
        Ok(done)
    }

    /// Takes what all ranks have done, and writes it.
    fn end(&mut self, done: Vec<Done>, ranks: &Ranks) -> Result<(), Failure> {
        for Done { index, row, .. } in &done {
            self.rows[*index] = row.clone();
        }
        self.done = done;
        if ranks.size() > 1 {
            self.write()?;
            journals::remove(&self.path);
        }
        Ok(())
    }

    fn solved(&self) -> usize {
        self.done.iter().filter(|done| done.is_solved).count()
    }

    /// Solves for a molecule, unless that is done: whether it was solved for now.
    fn solve(&mut self, index: usize, pqr: &Path) -> Result<bool, Failure> {
        let (started, of) = (Instant::now(), self.rows.len());
        let (args, output, folder) =
            (self.args, self.output, self.path.join(&self.rows[index].name));
        let mut row = self.rows[index].clone();
        let solved = self.case(pqr, &row.name).and_then(|case| {
            let fingerprint = fingerprint(&case, args.bars);
            let is_done = |known: &&Row| {
                known.name == row.name
                    && known.status == COMPLETE
                    && known.fingerprint.as_ref() == Some(&fingerprint)
                    && folder.join(results::INDEX).is_file()
            };
            if let Some(known) = self.earlier.iter().find(is_done).filter(|_| !args.again) {
                row = Row { pqr: row.pqr.clone(), ..known.clone() };
                return Ok(false);
            }
            row.fingerprint = Some(fingerprint);
            let quiet = Output { json: true, ..*output };
            let coarse =
                args.bars.then(|| bars::coarse(&case, &args.solving, &quiet)).transpose()?;
            let job =
                Job { case: &case, solving: &args.solving, output: &quiet, path: &folder, started };
            complete(job, |run, _| {
                row.take(run, results::status_name(run));
                if let (Some(coarse), Some(fine)) = (coarse, row.solvation_kcal_per_mol) {
                    row.solvation_error_kcal_per_mol = Some(bars::bar(coarse, fine));
                }
                Ok(())
            })?;
            Ok(true)
        });
        let number = format!("{} of {of}: {}", index + 1, row.name);
        let seconds = started.elapsed().as_secs_f64();
        match &solved {
            Ok(true) => {
                row.seconds = Some(seconds);
                let energy = row.solvation_kcal_per_mol.unwrap_or(f64::NAN);
                let energy = with_bar(energy, row.solvation_error_kcal_per_mol);
                let warned = if row.message.is_some() { ", with a warning" } else { "" };
                let seconds = duration(seconds);
                output.note(&format!("{number}: {energy} kcal/mol, {seconds}{warned}"));
            }
            Ok(false) => output.note(&format!("{number}: done already")),
            Err(failure) => {
                row.seconds = Some(seconds);
                let message = told(failure);
                output.note(&format!("{number}: {message}"));
                row.message = Some(message);
                if row.status == PENDING {
                    row.status = FAILED.to_owned();
                }
            }
        }
        if !solved.as_ref().is_err_and(|failure| failure.exit == Exit::Interrupted) {
            self.rows[index] = row;
        }
        solved
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

    /// Writes the table as it is now.
    fn write(&self) -> Result<String, Failure> {
        let names: &[&str] = if self.differences.is_empty() { &[CSV] } else { &[CSV, DIFFERENCES] };
        let mut folder = Folder::open(&self.path, names, self.args.solving.overwrite)?;
        let table = tables::csv(&self.rows, self.reference);
        folder.stage(CSV, |out| out.write_all(table.as_bytes()))?;
        let differences = self.found();
        if !differences.is_empty() {
            let table = tables::csv_of_differences(&differences);
            folder.stage(DIFFERENCES, |out| out.write_all(table.as_bytes()))?;
        }
        // A row that is still pending does not take the place of one that was complete.
        let is_other = |known: &&Row| {
            let is_its = |row: &Row| row.name == known.name && row.status != PENDING;
            known.status == COMPLETE && !self.rows.iter().any(is_its)
        };
        let is_complete = self.rows.iter().all(|row| row.status == COMPLETE);
        let document = Document {
            schema: SCHEMA,
            status: if is_complete { "complete" } else { "incomplete" },
            program: format!("farad {}", env!("CARGO_PKG_VERSION")),
            made: Made::now(),
            template: self.template.map(|template| paths::relative(&self.path, template)),
            reference: self.reference.map(|row| self.rows[row].name.as_str()),
            files: folder.names(),
            molecules: &self.rows,
            others: self.earlier.iter().filter(is_other).collect(),
            differences,
            solved: self.solved(),
            seconds: self.started.elapsed().as_secs_f64(),
        };
        let json = crate::report::json::text(&document);
        folder.commit(&json)?;
        Ok(json)
    }

    fn found(&self) -> Vec<Found> {
        self.differences.iter().map(|difference| difference.of(&self.rows)).collect()
    }

    /// Shows the table, and fails if anything in it is not complete.
    fn finish(&self) -> Result<(), Failure> {
        if self.args.solving.json {
            self.output.data(&self.write()?)?;
        } else {
            let mut text = tables::text(&self.rows, self.reference);
            text += &tables::text_of_differences(&self.found());
            text += &format!(
                "\n{}, {} solved now, {}\nResults in {}: {CSV}, results.json, and a folder for each molecule\n",
                counted(self.rows.len(), "molecule"),
                self.solved(),
                duration(self.started.elapsed().as_secs_f64()),
                self.path.display(),
            );
            self.output.text(&text)?;
        }
        let Some(exit) = self.done.iter().find_map(|done| done.failed) else { return Ok(()) };
        let exit = Exit::of_code(exit);
        let failed: Vec<String> = self
            .rows
            .iter()
            .filter(|row| row.status != COMPLETE)
            .map(|row| format!("{}: {}", row.name, row.message.as_deref().unwrap_or(&row.status)))
            .collect();
        Err(Failure::with_help(
            exit,
            format!(
                "{} of {} have no results to be trusted:\n{}",
                failed.len(),
                counted(self.rows.len(), "molecule"),
                failed.join("\n")
            ),
            "the same command tries these again, and leaves the others as they are",
        ))
    }
}

/// What went wrong, in a few lines: of several errors in a case file each.
fn told(failure: &Failure) -> String {
    let Some(report) = &failure.report else { return failure.to_string() };
    let related = report.related().into_iter().flatten().map(ToString::to_string);
    std::iter::once(report.to_string()).chain(related).collect::<Vec<_>>().join("; ")
}

/// A number for all that the results of a case follow from, and whether coarser surfaces do.
fn fingerprint(case: &Case, bars: bool) -> String {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    let surfaces: Vec<_> = case.molecules.iter().map(|molecule| molecule.options).collect();
    let wanted = (&case.formats, &case.viewers, case.map_spacing, case.vtk, case.smooth);
    format!("{:?} {:?} {:?}", case.description, case.options, case.goal).hash(&mut hasher);
    format!("{surfaces:?} {wanted:?} {:?} {bars}", case.atoms).hash(&mut hasher);
    // What cannot be read is told when it is.
    case.contents().unwrap_or_default().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
