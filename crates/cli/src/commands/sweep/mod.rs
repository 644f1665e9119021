//! `farad sweep`: a case for every combination of the values in its `[[sweep]]` tables.

mod rows;
mod runs;
mod solve;
mod tables;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use self::rows::Row;
use self::runs::{Runs, picture, tag};
use self::solve::{Settings, solve_all};
use self::tables::{CSV, PVD, Results};
use super::arguments::{Resuming, Several, Solving, Whole};
use super::opening::{NOT_SHARED, Opening};
use super::series::Rows;
use super::solve::agreed;
use crate::case::{Overrides, VtkMode};
use crate::machine::ranks::Ranks;
use crate::report::results::{self, Checkpoint, Folder, OfCase, Series, Showing};
use crate::report::units::counted;
use crate::report::{page, vtk};
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// Name and version of what the sweep's results.json looks like.
const SCHEMA: &str = "farad-sweep/1";

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
    let (case, output) = args.solving.begin(ranks, &args.case, verbose, Overrides::default())?;
    let runs = ranks.agree(Runs::of(&case))?;
    let path = args.output.clone().unwrap_or_else(|| args.case.with_extension("sweep"));
    let opening = Opening {
        command: "sweep",
        options: "",
        case: &case,
        path: &path,
        files: &files(&runs, args.report),
        overwrite: args.solving.overwrite,
        not_shared: Some(NOT_SHARED),
        all_checkpoint: true,
    };
    let (folder, checkpoint) = opening.open(ranks, Some(args.resuming), &output)?;
    let Some(mut folder) = folder else { return Ok(()) };
    let checkpoint = checkpoint.as_ref();
    let mut rows = Rows::new(runs.len(), checkpoint, |run| format!("run{}", tag(run + 1)));
    rows.resume(ranks, Some(&mut folder))?;
    ranks.agree(check_conductors(&runs, &rows))?;
    let mut left = runs.by_geometry();
    left.retain(|&run| !rows.is_done(run));
    if left.len() < runs.len() {
        let (count, all) = (runs.len() - left.len(), counted(runs.len(), "run"));
        output.note(&format!("{count} of {all} were found before"));
    }
    let settings = Settings {
        runs: &runs,
        solving: &args.solving,
        output: &output,
        checkpoint,
        started,
        is_alone: ranks.size() == 1,
    };
    let solved = solve_all(settings, runs.share(ranks, &left), &mut rows, &mut folder);
    agreed(ranks, checkpoint, solved)?;
    rows.gather(ranks, Some(&mut folder))?;
    ranks.agree(check_conductors(&runs, &rows))?;
    ranks.conclude(|| {
        let results = Results::new(&runs, rows.into_rows());
        finish(args, &runs, results, folder, started, &output)
            .map_err(|failure| Checkpoint::advised(checkpoint, failure))
    })
}

/// Fails if runs have other conductors than the first.
fn check_conductors(runs: &Runs<'_>, rows: &Rows<'_, Row>) -> Result<(), Failure> {
    let Some((_, first)) = rows.known().next() else { return Ok(()) };
    rows.known()
        .try_for_each(|(run, row)| runs.check_conductors(run, &row.conductors, &first.conductors))
}

/// The files of all runs.
fn files(runs: &Runs<'_>, has_page: bool) -> Vec<String> {
    let (case, count) = (runs.case, runs.len());
    let mut names = vec![CSV.to_owned()];
    names.extend(has_page.then(|| page::FILE.to_owned()));
    if case.vtk != VtkMode::None {
        names.push(PVD.to_owned());
        names.extend((1..=count).map(picture));
    }
    let probes = results::probe_files(case);
    let of_run = |run| probes.iter().map(move |name| results::tagged(name, &tag(run)));
    names.extend((1..=count).flat_map(of_run));
    names
}

/// Writes the files that describe all runs, and shows the table.
fn finish(
    args: &Args,
    runs: &Runs<'_>,
    results: Results,
    mut folder: Folder,
    started: Instant,
    output: &Output,
) -> Result<(), Failure> {
    let path = folder.path().to_owned();
    let failed = results.failed();
    folder.leave_out_what_fails();
    folder.stage(CSV, |out| out.write_all(tables::csv(&results).as_bytes()))?;
    if runs.case.vtk != VtkMode::None {
        folder.stage(PVD, |out| vtk::write_series(out, tables::steps(&results)))?;
    }
    let status = if failed.is_empty() { "complete" } else { "checks_failed" };
    let series = Series::new(SCHEMA, status, OfCase::new(runs.case, &path), results);
    let (has_page, is_json) = (args.report, args.solving.json);
    let showing = Showing { has_page, is_json, started, output };
    if let Some(lacking) = series.finish(folder, showing, tables::text)? {
        return Err(lacking);
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::with_help(
        Exit::NotConverged,
        format!(
            "the results of {} of {} fail their self-checks: {}",
            failed.len(),
            counted(runs.len(), "run"),
            failed.join("; ")
        ),
        format!("the results in {} are marked checks_failed", path.display()),
    ))
}
