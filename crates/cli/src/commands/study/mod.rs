//! `farad study`: a case on refinements of its mesh, and what they say about the limit.

mod meshes;
mod results;
mod tables;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use farad::{Problem, study_entries};

use self::meshes::{Ended, Refinement, Settings, solve_all};
use self::results::{Results, Row};
use super::arguments::{Resuming, Several, Solving};
use super::opening::Opening;
use super::series::Rows;
use super::solve::{Split, check_shares};
use crate::case::{Overrides, problem};
use crate::machine::ranks::Ranks;
use crate::report::results::{Checkpoint, Folder, OfCase, Series, Showing};
use crate::report::{page, warnings};
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output;

const CSV: &str = "study.csv";
const SVG: &str = "study.svg";

/// Name and version of what the study's results.json looks like.
const SCHEMA: &str = "farad-study/1";

/// Arguments of `farad study`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// The case file (see docs/case-file.md), or a FastCap list file (.lst)
    case: PathBuf,
    /// Meshes to solve on, the case's own and its refinements; each has four times as many
    /// triangles as the one before. Surfaces of molecules are generated again for each
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
    /// How several processes, started by mpirun, divide the work on each mesh
    #[arg(long, value_enum, default_value_t)]
    split: Split,
    #[command(flatten)]
    resuming: Resuming,
    #[command(flatten)]
    several: Several,
    #[command(flatten)]
    solving: Solving,
}

impl Args {
    fn refinement(&self) -> Refinement {
        match (self.graded, self.spheres) {
            (true, _) => Refinement::Graded,
            (_, true) => Refinement::Spheres,
            _ => Refinement::Sides,
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
    let (case, output) = args.solving.begin(ranks, &args.case, verbose, Overrides::default())?;
    let path = args.output.clone().unwrap_or_else(|| args.case.with_extension("study"));
    let mut problem = ranks.agree(problem::load(&case, &output))?;
    if ranks.size() > 1 {
        ranks.conclude(|| check_shares("study", &problem, ranks.size(), args.split, &output))?;
    }
    let files = [CSV, SVG, page::FILE].map(str::to_owned);
    let opening = Opening {
        command: "study",
        options: args.refinement().option(),
        case: &case,
        path: &path,
        files: &files[..if args.report { 3 } else { 2 }],
        overwrite: args.solving.overwrite,
        not_shared: None,
        all_checkpoint: args.split.of(&problem, ranks.size()) != Split::Space,
    };
    let (mut folder, checkpoint) = opening.open(ranks, Some(args.resuming), &output)?;
    let checkpoint = checkpoint.as_ref();
    let settings = Settings {
        case: &case,
        solving: &args.solving,
        levels: args.levels as usize,
        refinement: args.refinement(),
        ranks,
        split: args.split,
        checkpoint,
        output: &output,
    };
    let mut rows = Rows::new(settings.levels, checkpoint, |level| format!("mesh-{level}"));
    rows.resume(ranks, folder.as_mut())?;
    let ended = solve_all(settings, &mut problem, &mut rows);
    // The first reports the results of the meshes before.
    if let Some(failure) = ended.failure.as_ref().filter(|_| !ranks.is_first()) {
        output::failure(failure);
    }
    ranks.conclude(|| {
        let Some(folder) = folder else { return Ok(()) };
        let mut rows = rows.into_rows();
        rows.truncate(ended.solved);
        let (has_page, is_json) = (args.report, args.solving.json);
        let showing = Showing { has_page, is_json, started, output: &output };
        finish(settings, &problem, rows, ended, folder, showing)
            .map_err(|failure| Checkpoint::advised(checkpoint, failure))
    })
}

/// Writes and shows the results.
fn finish(
    settings: Settings<'_>,
    problem: &Problem,
    rows: Vec<Row>,
    ended: Ended,
    mut folder: Folder,
    showing: Showing<'_>,
) -> Result<(), Failure> {
    let Settings { case, refinement, .. } = settings;
    let path = folder.path().to_owned();
    let (failed, failure) = ended.failed(rows.last(), problem)?.unzip();
    let (meshes, values): (Vec<_>, Vec<_>) =
        rows.into_iter().map(|row| (row.mesh, row.values)).unzip();
    let checks_failed = meshes.last().is_some_and(|mesh| warnings::failed(&mesh.warnings));
    let status = match (&failed, checks_failed) {
        (Some(_), _) => "incomplete",
        (None, true) => "checks_failed",
        (None, false) => "complete",
    };
    let gap = problem.unresolved_gap();
    let entries = study_entries(&values, gap);
    let refinement = refinement.name(case, problem.mesh());
    let results = Results { refinement, meshes, failed, entries };
    folder.leave_out_what_fails();
    folder.stage(CSV, |out| out.write_all(tables::csv(&results).as_bytes()))?;
    let listed = serde_json::to_value(&results).unwrap_or_default();
    let chart = page::study_chart(&case.title, &listed);
    folder.stage(SVG, |out| out.write_all(chart.as_bytes()))?;
    let series = Series::new(SCHEMA, status, OfCase::new(case, &path), results);
    let text = |series: &Series<_, _>, path: &Path| tables::text(case, series, gap, path);
    let lacking = series.finish(folder, showing, text)?;
    match failure.or(lacking) {
        Some(failure) => Err(failure),
        None if checks_failed => Err(Failure::with_help(
            Exit::NotConverged,
            "the results on the last mesh fail their self-checks",
            format!("the results in {} are marked checks_failed", path.display()),
        )),
        None => Ok(()),
    }
}
