//! `farad sweep`: a case for every combination of the values in its `[[sweep]]` tables.

mod kept;
mod rows;
mod runs;
mod share;
mod solve;
mod tables;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use self::rows::{Found, Row};
use self::runs::{Runs, picture, tag};
use self::solve::{Settings, solve_all};
use self::tables::{CSV, PVD, Results};
use super::arguments::{Keeping, Resuming, Several, Solving, Whole};
use super::solve::agreed;
use crate::case::{Overrides, VtkMode};
use crate::machine::ranks::Ranks;
use crate::report::page;
use crate::report::results::{self, Checkpoint, Folder, Series};
use crate::report::units::counted;
use crate::report::{vtk, warnings};
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
    // Until the end: what is kept of a run that fails is in it.
    let mut folder = open(ranks, &path, &runs, args)?;
    let keeping = Keeping {
        command: "sweep",
        options: "",
        case: &case,
        path: &path,
        folder: Some(&folder),
        each: true,
    };
    let kept = args.resuming.checkpoint(ranks, keeping, &output)?;
    let order = runs.by_geometry();
    let (before, left) = share::begin(ranks, &runs, order, kept.as_ref(), &mut folder, &output)?;
    let own = share::own(ranks, &runs, &left);
    let settings = Settings {
        runs: &runs,
        solving: &args.solving,
        output: &output,
        checkpoint: kept.as_ref(),
        started,
        is_alone: ranks.size() == 1,
    };
    let found = solve_all(settings, own, before, &mut folder);
    let found = agreed(ranks, kept.as_ref(), found)?;
    let found = ranks.agree(share::collect(ranks, &runs, own, found, &mut folder))?;
    ranks.conclude(|| {
        finish(args, &runs, found, folder, started, &output)
            .map_err(|failure| Checkpoint::advised(kept.as_ref(), failure))
    })
}

/// The folder for the files of all runs.
fn open(ranks: &Ranks, path: &Path, runs: &Runs<'_>, args: &Args) -> Result<Folder, Failure> {
    let (case, count) = (runs.case, runs.len());
    let mut names = vec![CSV.to_owned()];
    names.extend(args.report.then(|| page::FILE.to_owned()));
    if case.vtk != VtkMode::None {
        names.push(PVD.to_owned());
        names.extend((1..=count).map(picture));
    }
    let probes = results::probe_files(case);
    let of_run = |run| probes.iter().map(move |name| results::tagged(name, &tag(run)));
    names.extend((1..=count).flat_map(of_run));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let help = "choose a folder with --output that all hosts share";
    Folder::open_among(ranks, path, &names, args.solving.overwrite, help)
}

/// Writes the files that describe all runs, and shows the table.
fn finish(
    args: &Args,
    runs: &Runs<'_>,
    found: Found,
    mut folder: Folder,
    started: Instant,
    output: &Output,
) -> Result<(), Failure> {
    let path = &folder.path().to_owned();
    let Found { rows, common } = found;
    let rows: Vec<Row> = rows.into_iter().flatten().collect();
    let has_failed =
        |(run, row): (usize, &Row)| warnings::failed(&row.warnings).then(|| runs.describe(run));
    let failed: Vec<String> = rows.iter().enumerate().filter_map(has_failed).collect();
    let results = Results::new(runs, rows, common);
    folder.leave_out_what_fails();
    folder.stage(CSV, |out| out.write_all(tables::csv(&results).as_bytes()))?;
    if runs.case.vtk != VtkMode::None {
        folder.stage(PVD, |out| vtk::write_series(out, tables::steps(&results)))?;
    }
    let status = if failed.is_empty() { "complete" } else { "checks_failed" };
    let mut series = Series::new(SCHEMA, status, runs.case, path, results);
    let (json, lacking) = series.commit(folder, args.report, started)?;
    if args.solving.json {
        output.data(&json)?;
    } else {
        output.text_of(path, &tables::text(&series, path))?;
    }
    if let Some(lacking) = lacking {
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
