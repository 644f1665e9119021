//! `farad solve`: from a case file to a folder of results.

mod failures;
mod sharing;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use farad::{Outcome, Problem, Solver, Target};

pub(super) use self::sharing::{Sharing, Split, agreed, check_shares, content, solve, solve_on};

use self::failures::{checks_failed, not_converged, not_reached};
use self::sharing::{Solved, check_reachable, solve_to_goal};
use super::arguments::{Resuming, Several, Solving, parse_accuracy, parse_positive};
use super::forecast;
use super::opening::Opening;
use crate::case::problem;
use crate::case::{Case, Format, Overrides, Viewer, VtkMode, parse_target};
use crate::machine::backend::of_plan;
use crate::machine::ranks::Ranks;
use crate::report::page;
use crate::report::results::{self, Checkpoint, Document, Folder, Run, stage_piece};
use crate::report::units;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::interrupt;
use crate::terminal::output::Output;

/// Arguments of `farad solve`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// The case file (see docs/case-file.md), a molecule's PQR file, a FastCap list file (.lst), or
    /// a layout: .pex25d, or .gds with its --stack
    case: PathBuf,
    /// Folder for the results [default: the case's output.directory, else CASE.out next to the
    /// case]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Check everything, print the resolved case and sizes, write nothing
    #[arg(long, conflicts_with = "json")]
    dry_run: bool,
    /// Refine the mesh until the error bars are this short, relative to the diagonal of the
    /// capacitance matrix or to the energy; overrides solver.accuracy
    #[arg(long, value_name = "A", value_parser = parse_accuracy)]
    accuracy: Option<f64>,
    /// The results that --accuracy applies to: all, energy, polarisability, films, an entry such as
    /// "C(left, right)", V(conductor), Q(conductor), F(body), probe(name), field(name), film(name)
    #[arg(long = "accuracy-of", value_name = "WHAT", value_parser = parse_target)]
    accuracy_target: Option<Target>,
    /// Time limit for --accuracy in seconds; the results are those reached by then
    #[arg(long, value_name = "SECONDS", value_parser = parse_positive)]
    max_time: Option<f64>,
    /// Excite these conductors only, and give their columns of the matrix; * stands for any
    /// characters; overrides solver.nets
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    nets: Vec<String>,
    /// Write the matrix in this form, too; may be repeated; overrides output.formats
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Vec<Format>,
    /// Write a script for this program, with what it opens to show molecules and potentials; may be
    /// repeated; overrides output.viewers
    #[arg(long, value_enum, value_name = "PROGRAM")]
    viewer: Vec<Viewer>,
    /// Write a page for browsers, too: report.html, with the surface to be turned, tables and
    /// charts
    #[arg(long)]
    report: bool,
    /// How several processes, started by mpirun, divide the work
    #[arg(long, value_enum, default_value_t)]
    split: Split,
    /// Write the surface as one file, where processes that share the triangles would write a piece
    /// each (surface.pvtu)
    #[arg(long)]
    whole_surface: bool,
    #[command(flatten)]
    resuming: Resuming,
    #[command(flatten)]
    several: Several,
    #[command(flatten)]
    solving: Solving,
}

/// Solves a case.
pub(crate) fn run(args: &Args, verbose: bool) -> Result<(), Failure> {
    args.several.run(args.solving.on, |ranks| {
        let solving = args.solving.of_rank(ranks);
        on_rank(&Args { solving, ..args.clone() }, ranks, verbose)
    })
}

/// One rank's part.
fn on_rank(args: &Args, ranks: &Ranks, verbose: bool) -> Result<(), Failure> {
    let started = Instant::now();
    let overrides = Overrides {
        accuracy: args.accuracy,
        accuracy_target: args.accuracy_target.clone(),
        max_seconds: args.max_time,
        formats: args.format.clone(),
        viewers: args.viewer.clone(),
        nets: args.nets.clone(),
        ..Overrides::default()
    };
    let (case, output) = args.solving.begin(ranks, &args.case, verbose, overrides)?;
    ranks.conclude(|| check_goal(args, &case))?;
    let path = args.output.as_deref().unwrap_or(&case.directory);
    if args.dry_run {
        return ranks.conclude(|| {
            let opening = args.solving.on.open_early(&case);
            let problem = problem::load(&case, &output)?;
            drop(opening);
            check_reachable(&case, &problem, &args.solving)?;
            let execution = Execution::new(args, ranks);
            let names = execution.file_names(&case, &problem, execution.pieces(&problem));
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Folder::check(path, &names, args.solving.overwrite)?;
            let reading = started.elapsed().as_secs_f64();
            let (solving, processes) = (&args.solving, ranks.size());
            let costs = forecast::lines(&case, &problem, solving, processes, reading, &output)?;
            output.data(&(dry_run(&case, &problem, path) + &costs))
        });
    }
    let job = Job { case: &case, solving: &args.solving, output: &output, path, started };
    execute(Execution::new(args, ranks), job, |run, document| {
        if args.solving.json {
            return output.data(&document.text());
        }
        output.text_of(path, &results::table(run, document))
    })
}

/// Whether there is an accuracy where one is needed.
fn check_goal(args: &Args, case: &Case) -> Result<(), Failure> {
    if args.accuracy_target.is_some() && case.goal.is_none() {
        return Err(Failure::with_help(
            Exit::Usage,
            "--accuracy-of is given without an accuracy",
            "add --accuracy 1e-3, say, or solver.accuracy to the case",
        ));
    }
    let by_the_clock = case.goal.as_ref().is_some_and(|goal| goal.max_seconds.is_some());
    if args.solving.on.deterministic && by_the_clock {
        return Err(Failure::with_help(
            Exit::Usage,
            "--deterministic gives the same results each time, but a time limit depends on the machine's speed",
            "leave out --max-time (solver.max_time in the case), or --deterministic",
        ));
    }
    Ok(())
}

/// A case to be solved, and how.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) case: &'a Case,
    pub(super) solving: &'a Solving,
    pub(super) output: &'a Output,
    /// The folder for its results.
    pub(super) path: &'a Path,
    pub(super) started: Instant,
}

/// Solves a case by this process and writes all of its results to a folder; `report` is called with
/// them. Results that are not to be trusted are a failure all the same.
pub(super) fn complete(
    job: Job<'_>,
    report: impl FnOnce(&Run<'_>, &Document) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let ranks = &Ranks::alone();
    let (split, resuming) = (Split::Auto, None);
    execute(Execution { ranks, split, in_pieces: false, has_page: false, resuming }, job, report)
}

/// Advice where a process does not see the folder that it is to write its piece to.
const NOT_SHARED: &str = "choose a folder with --output that all hosts share, or have the first process write the surface alone with --whole-surface";

/// How a solve is executed: by which ranks, and in which form its results are.
#[derive(Clone, Copy, Debug)]
struct Execution<'a> {
    ranks: &'a Ranks,
    split: Split,
    /// Whether each process that has the solution writes a piece of the surface.
    in_pieces: bool,
    /// Whether a page is made of the results.
    has_page: bool,
    /// `None` if a solve that was cut short must start again.
    resuming: Option<Resuming>,
}

impl<'a> Execution<'a> {
    fn new(args: &Args, ranks: &'a Ranks) -> Self {
        let (in_pieces, has_page) = (!args.whole_surface, args.report);
        let resuming = Some(args.resuming);
        Self { ranks, split: args.split, in_pieces, has_page, resuming }
    }

    /// The files that a run writes besides results.json.
    fn file_names(&self, case: &Case, problem: &Problem, pieces: Option<usize>) -> Vec<String> {
        let excitations = problem.excited().len();
        let page = self.has_page.then(|| page::FILE.to_owned());
        results::file_names(case, excitations, pieces).into_iter().chain(page).collect()
    }

    /// Pieces of the surface; `None` where it is one file.
    fn pieces(&self, problem: &Problem) -> Option<usize> {
        let ranks = self.ranks.size();
        // Threads of one process are in nobody's way: one file is simpler to have.
        let several = ranks > 1 && !self.ranks.are_threads();
        let shared = several && self.split.of(problem, ranks) == Split::Space;
        (self.in_pieces && shared).then_some(ranks)
    }

    /// Checks that all ranks have the same problem, and something to share. Collective.
    fn check(&self, problem: &Problem, output: &Output) -> Result<(), Failure> {
        let (ranks, split) = (self.ranks, self.split);
        if ranks.size() == 1 {
            return Ok(());
        }
        ranks.check_same("the mesh", content(problem))?;
        ranks.conclude(|| check_shares("solve", problem, ranks.size(), split, output))
    }
}

/// Solves a case by all ranks and writes its results, of which the first calls `report`.
/// Collective.
fn execute(
    execution: Execution<'_>,
    job: Job<'_>,
    report: impl FnOnce(&Run<'_>, &Document) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Execution { ranks, split, .. } = execution;
    let Job { case, solving, output, path, started } = job;
    let reading = Instant::now();
    let early = solving.on.open_early(case);
    let problem = ranks.once(|| problem::load(case, output))?;
    execution.check(&problem, output)?;
    ranks.conclude(|| check_reachable(case, &problem, solving))?;
    let read_seconds = reading.elapsed().as_secs_f64();
    let pieces = execution.pieces(&problem).filter(|_| case.vtk != VtkMode::None);
    let opening = Opening {
        command: "solve",
        options: "",
        case,
        path,
        files: &execution.file_names(case, &problem, pieces),
        overwrite: solving.overwrite,
        not_shared: pieces.map(|_| NOT_SHARED),
        all_checkpoint: split.of(&problem, ranks.size()) != Split::Space,
    };
    let (mut folder, kept) = opening.open(ranks, execution.resuming, output)?;
    // Its memory is freed at the end: results need not wait for that.
    let mut solver = Solver::single();
    let sharing = Sharing { ranks, split, kept: kept.as_ref() };
    let solved = solve_to_goal(sharing, &mut solver, case, problem, solving, output);
    let solved = agreed(ranks, kept.as_ref(), solved)
        .inspect_err(|failure| kept.iter().for_each(|kept| kept.discard_after(failure)))?;
    drop(early);
    let run = solved.as_ref().map(|Solved { problem, solution, refinement }| Run {
        case,
        problem,
        solution,
        requested: solving.on.backend,
        deterministic: solving.on.deterministic,
        used: of_plan(solution.answer.fmm.as_ref()),
        refinement: refinement.as_ref(),
        folder: path,
        pieces,
        started,
        read_seconds,
        has_page: execution.has_page,
    });
    if let (Some(run), Some(folder), Some(_)) = (&run, &mut folder, pieces) {
        let staged = interrupt::check().and_then(|()| stage_piece(folder, run, ranks.rank()));
        ranks.agree(staged)?;
    }
    ranks.conclude(|| match (&run, folder) {
        (Some(run), Some(folder)) => finish(run, folder, kept.as_ref(), report),
        _ => Ok(()),
    })
}

/// Writes and reports the results; a failure where they are not to be trusted.
fn finish(
    run: &Run<'_>,
    folder: Folder,
    kept: Option<&Checkpoint>,
    report: impl FnOnce(&Run<'_>, &Document) -> Result<(), Failure>,
) -> Result<(), Failure> {
    interrupt::check()?;
    let solution = run.solution;
    let advised = |failure| Checkpoint::advised(kept, failure);
    let (document, lacking) = results::write(run, folder, kept).map_err(|failure| {
        if let Some(kept) = kept {
            kept.write_all();
        }
        advised(failure)
    })?;
    report(run, &document)?;
    if let Some(lacking) = lacking {
        return Err(advised(lacking));
    }
    if !solution.converged() {
        return Err(not_converged(run));
    }
    if solution.failed_checks() {
        return Err(checks_failed(run));
    }
    match run.refinement {
        Some(refinement) if refinement.ended != Outcome::Reached => {
            Err(not_reached(refinement, run.folder))
        }
        _ => Ok(()),
    }
}

/// The resolved case and, as comments after it, what a run would work on.
fn dry_run(case: &Case, problem: &Problem, folder: &Path) -> String {
    let unit = case.description.unit.name();
    let triangles = problem.mesh().triangles.len() as u64;
    let [low, high] = mesh::quality::bounding_box(problem.mesh());
    let mut text = case.resolved(folder, problem);
    let _ = writeln!(text, "\n# Results would go to {}. Nothing was written.", folder.display());
    let _ = writeln!(
        text,
        "# {} triangles, {} vertices, from {low:?} to {high:?} {unit}",
        units::count(triangles),
        units::count(problem.mesh().vertices.len() as u64),
    );
    for summary in &problem.conductors().summaries {
        let _ = writeln!(
            text,
            "# conductor {:?}: {} triangles, {} {unit}^2, {}",
            summary.name,
            units::count(summary.triangles as u64),
            units::significant(summary.area),
            if summary.closed { "closed" } else { "open" },
        );
    }
    // With salt there are fluxes, too.
    let of_triangle = if case.description.has_salt() { 2 } else { 1 };
    let unknowns = (of_triangle * case.options.density.modes() * problem.panels()) as u64;
    let _ = writeln!(
        text,
        "# {} unknowns, {} right-hand sides; a dense matrix would take {}",
        units::count(unknowns),
        problem.excited().len(),
        units::bytes(8 * unknowns * unknowns),
    );
    text
}
