//! `farad study`: a case on refinements of its mesh, and what they say about the limit.

mod kept;
mod meshes;
mod plot;
mod results;
mod tables;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use farad::Problem;

use self::meshes::{Ended, Found, Refinement, Settings, solve_all};
use self::results::{Entry, Results};
use super::arguments::{Keeping, Resuming, Several, Solving};
use super::solve::{Split, check_shares};
use crate::case::{Case, Overrides, problem};
use crate::machine::ranks::Ranks;
use crate::report::results::{Checkpoint, Folder, Series};
use crate::report::{page, warnings};
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::interrupt;
use crate::terminal::output::{self, Output};

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
    let names = [CSV, SVG, page::FILE];
    let names = &names[..if args.report { 3 } else { 2 }];
    let open = || Folder::open(&path, names, args.solving.overwrite);
    let folder = ranks.on_first(open)?;
    let keeping = Keeping {
        command: "study",
        options: args.refinement().option(),
        case: &case,
        path: &path,
        folder: folder.as_ref(),
        each: args.split.of(&problem, ranks.size()) != Split::Space,
    };
    let kept = args.resuming.checkpoint(ranks, keeping, &output)?;
    let settings = Settings {
        case: &case,
        solving: &args.solving,
        levels: args.levels,
        refinement: args.refinement(),
        ranks,
        split: args.split,
        checkpoint: kept.as_ref(),
        output: &output,
    };
    let ended = solve_all(settings, &mut problem);
    // What was found before is reported all the same, by the first.
    if let Some(failure) = ended.failure.as_ref().filter(|_| !ranks.is_first()) {
        output::failure(failure);
    }
    ranks.conclude(|| {
        let Some(folder) = folder else { return Ok(()) };
        finish(args, &case, &problem, ended, folder, started, &output)
            .map_err(|failure| Checkpoint::advised(kept.as_ref(), failure))
    })
}

/// Writes and shows what was found.
fn finish(
    args: &Args,
    case: &Case,
    problem: &Problem,
    Ended { found, failure }: Ended,
    mut folder: Folder,
    started: Instant,
    output: &Output,
) -> Result<(), Failure> {
    let path = &folder.path().to_owned();
    let stopped = failure.map(|failure| {
        if failure.exit != Exit::Interrupted {
            interrupt::check()?;
        }
        found.stopped_by(failure, problem)
    });
    let (failed, failure) = stopped.transpose()?.unzip();
    let Found { meshes, study } = found;
    let checks_failed = meshes.last().is_some_and(|mesh| warnings::failed(&mesh.warnings));
    let status = match (&failed, checks_failed) {
        (Some(_), _) => "incomplete",
        (None, true) => "checks_failed",
        (None, false) => "complete",
    };
    let gap = problem.unresolved_gap();
    let results = Results {
        refinement: args.refinement().name(case, problem.mesh()),
        meshes,
        failed,
        entries: study.entries(gap).into_iter().map(Entry::from).collect(),
    };
    folder.leave_out_what_fails();
    folder.stage(CSV, |out| out.write_all(tables::csv(&results).as_bytes()))?;
    folder.stage(SVG, |out| out.write_all(plot::svg(&case.title, &results).as_bytes()))?;
    let mut series = Series::new(SCHEMA, status, case, path, results);
    let (json, lacking) = series.commit(folder, args.report, started)?;
    if args.solving.json {
        output.data(&json)?;
    } else {
        output.text_of(path, &tables::text(case, &series, gap, path))?;
    }
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
