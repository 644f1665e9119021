//! `farad solve`: from a case file to a folder of results.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use bem::Keeper;
use comm::Group;
use farad::{Attained, Ended, Level, Of, Problem, Solution, Solver};

use super::arguments::{Resuming, Several, Solving, parse_accuracy, parse_positive};
use super::forecast;
use super::passed::{Meshes, told};
use crate::case::problem;
use crate::case::{Case, Format, Overrides, Viewer, VtkMode, parse_of};
use crate::machine::backend::Backend;
use crate::machine::ranks::Ranks;
use crate::report::page;
use crate::report::results::{self, Checkpoint, Document, Folder, Refinement, Run, stage_piece};
use crate::report::units;
use crate::report::warnings::{self, Warning};
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::interrupt;
use crate::terminal::output::Output;
use crate::terminal::progress::Bars;

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
    /// capacitance matrix or to the energy; over the case's solver.accuracy
    #[arg(long, value_name = "A", value_parser = parse_accuracy)]
    accuracy: Option<f64>,
    /// What --accuracy is asked of: all, energy, polarisability, an entry such as "C(left, right)",
    /// V(conductor), Q(conductor), F(body), probe(name), field(name)
    #[arg(long, value_name = "WHAT", value_parser = parse_of)]
    accuracy_of: Option<Of>,
    /// Seconds that --accuracy may take; what was reached by then is the result
    #[arg(long, value_name = "SECONDS", value_parser = parse_positive)]
    max_time: Option<f64>,
    /// Excite these conductors only, and give their columns of the matrix; * stands for any
    /// characters; over the case's solver.nets
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    nets: Vec<String>,
    /// Write the matrix in this form, too; may be repeated; over the case's output.formats
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Vec<Format>,
    /// Write a script for this program, with what it opens to show molecules and potentials; may be
    /// repeated; over the case's output.viewers
    #[arg(long, value_enum, value_name = "PROGRAM")]
    viewer: Vec<Viewer>,
    /// Write a page for browsers, too: report.html, with the surface to be turned, tables and
    /// charts
    #[arg(long)]
    report: bool,
    /// What several processes, started by mpirun, share
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

/// What ranks share of one solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Split {
    /// The excitations, where there are as many as processes, else space
    #[default]
    Auto,
    /// Each solves for some of the excitations
    Excitations,
    /// All solve for all excitations, each with a part of the triangles
    Space,
}

impl Split {
    /// What so many ranks share of a problem.
    pub(super) fn of(self, problem: &Problem, ranks: usize) -> Self {
        match self {
            Self::Auto if problem.shared_excitations() >= ranks => Self::Excitations,
            Self::Auto => Self::Space,
            chosen => chosen,
        }
    }
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
        accuracy_of: args.accuracy_of.clone(),
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
            let among = Among::of(args, ranks);
            let names = among.file_names(&case, &problem, among.pieces(&problem));
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Folder::check(path, &names, args.solving.overwrite)?;
            let reading = started.elapsed().as_secs_f64();
            let of = (&args.solving, ranks.size());
            let costs = forecast::lines((&case, &problem), of, reading, &output)?;
            output.data(&(dry_run(&case, &problem, path) + &costs))
        });
    }
    let of = (path, started);
    let among = Among::of(args, ranks);
    complete_among(among, &case, &args.solving, &output, of, |run, document| {
        if args.solving.json {
            return output.data(&document.text());
        }
        let (solution, matrices) = (run.solution, run.solution.matrices());
        let table = results::table(run, &matrices, &results::reduced(solution), document);
        output.text_of(path, &table)
    })
}

/// Whether there is an accuracy where one is needed.
fn check_goal(args: &Args, case: &Case) -> Result<(), Failure> {
    if args.accuracy_of.is_some() && case.goal.is_none() {
        return Err(Failure::with_help(
            Exit::Usage,
            "--accuracy-of says of what, but no accuracy is asked for",
            "add --accuracy 1e-3, say, or solver.accuracy to the case",
        ));
    }
    let by_the_clock = case.goal.as_ref().is_some_and(|goal| goal.max_seconds.is_some());
    if args.solving.on.deterministic && by_the_clock {
        return Err(Failure::with_help(
            Exit::Usage,
            "--deterministic asks for the same results each time, and a time limit ends where the machine has come to",
            "leave out --max-time (solver.max_time in the case), or --deterministic",
        ));
    }
    Ok(())
}

/// Whether so many ranks have anything to share, and a note of what.
pub(super) fn check_shares(
    (command, problem): (&str, &Problem),
    (ranks, split): (usize, Split),
    output: &Output,
) -> Result<(), Failure> {
    let excitations = problem.shared_excitations();
    if split.of(problem, ranks) == Split::Space {
        output.note(&format!("{ranks} processes share the triangles"));
        return Ok(());
    }
    if excitations < 2 {
        return Err(Failure::with_help(
            Exit::Usage,
            format!(
                "{ranks} processes of farad {command} were to share its excitations, and this case has {excitations}"
            ),
            "leave --split excitations out, and they share the triangles",
        ));
    }
    if let Some(idle) = ranks.checked_sub(excitations).filter(|idle| *idle > 0) {
        output.note(&format!(
            "{idle} of {ranks} processes have nothing to do: there are {excitations} excitations"
        ));
    }
    Ok(())
}

/// A number for the mesh of a problem.
pub(super) fn content(problem: &Problem) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mesh = problem.mesh();
    let nodes = mesh.patches.iter().flat_map(|patches| patches.nodes.as_flattened());
    for x in mesh.vertices.as_flattened().iter().chain(nodes) {
        x.to_bits().hash(&mut hasher);
    }
    mesh.triangles.hash(&mut hasher);
    hasher.finish()
}

/// Solves a case and writes all of its results to a folder; `told` is called with them. Results
/// that are not to be trusted are a failure all the same.
pub(super) fn complete(
    case: &Case,
    solving: &Solving,
    output: &Output,
    of: (&Path, Instant),
    told: impl FnOnce(&Run<'_>, &Document) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let ranks = &Ranks::alone();
    let (split, resuming) = (Split::Auto, None);
    let among = Among { ranks, split, in_pieces: false, has_page: false, resuming };
    complete_among(among, case, solving, output, of, told)
}

/// What to do where a process does not see the folder that it is to write its piece to.
const NOT_SHARED: &str = "choose a folder with --output that all hosts share, or have the first process write the surface alone with --whole-surface";

/// Who works on a solve.
#[derive(Clone, Copy, Debug)]
struct Among<'a> {
    ranks: &'a Ranks,
    split: Split,
    /// Whether each process that has the solution writes a piece of the surface.
    in_pieces: bool,
    /// Whether a page is made of the results.
    has_page: bool,
    /// `None` where a solve that is cut short begins anew.
    resuming: Option<Resuming>,
}

impl<'a> Among<'a> {
    fn of(args: &Args, ranks: &'a Ranks) -> Self {
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
}

/// The same by all ranks, of which the first writes and tells. Collective.
fn complete_among(
    among: Among<'_>,
    case: &Case,
    solving: &Solving,
    output: &Output,
    (path, started): (&Path, Instant),
    told: impl FnOnce(&Run<'_>, &Document) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Among { ranks, split, .. } = among;
    let reading = Instant::now();
    let opening = solving.on.open_early(case);
    let problem = ranks.once(|| problem::load(case, output))?;
    if ranks.size() > 1 {
        ranks.check_same("the mesh", content(&problem))?;
        let of = (ranks.size(), split);
        ranks.conclude(|| check_shares(("solve", &problem), of, output))?;
    }
    let read_seconds = reading.elapsed().as_secs_f64();
    let pieces = among.pieces(&problem).filter(|_| case.vtk != VtkMode::None);
    let names = among.file_names(case, &problem, pieces);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // All that write see it.
    let mut folder = match pieces {
        Some(_) => Some(Folder::open_among(ranks, path, &names, solving.overwrite, NOT_SHARED)?),
        None => {
            let open = || Folder::open(path, &names, solving.overwrite);
            ranks.agree(ranks.is_first().then(open).transpose())?
        }
    };
    let kept = match among.resuming {
        Some(of) => {
            let each = split.of(&problem, ranks.size()) != Split::Space;
            let more = ("solve", String::new());
            of.checkpoint((ranks, each), (path, folder.as_ref()), case, more, output)?
        }
        None => None,
    };
    // What it keeps is freed at the end: results need not wait for that.
    let mut solver = Solver::default();
    let of = (ranks, split, kept.as_ref());
    let solved = solve_to_goal(of, &mut solver, case, problem, solving, output);
    let solved = agreed(ranks, kept.as_ref(), solved)?;
    drop(opening);
    let run = solved.as_ref().map(|(problem, solution, refinement)| Run {
        case,
        problem,
        solution,
        requested: solving.on.backend,
        deterministic: solving.on.deterministic,
        used: solution.answer.fmm.as_ref().map_or(Backend::Cpu, Backend::of_plan),
        refinement: refinement.as_ref(),
        folder: path,
        pieces,
        started,
        read_seconds,
        has_page: among.has_page,
    });
    if let (Some(run), Some(folder), Some(_)) = (&run, &mut folder, pieces) {
        let staged = interrupt::check().and_then(|()| stage_piece(folder, run, ranks.rank()));
        ranks.agree(staged)?;
    }
    ranks.conclude(|| {
        let (Some(run), Some(folder)) = (&run, folder) else { return Ok(()) };
        interrupt::check()?;
        let solution = run.solution;
        let matrices = solution.matrices();
        let reduced = results::reduced(solution);
        let kept = kept.as_ref();
        let advised = |failure| Checkpoint::advised(kept, failure);
        let (document, lacking) =
            results::write(run, &matrices, &reduced, folder, kept).map_err(|failure| {
                if let Some(kept) = kept {
                    kept.write_all();
                }
                advised(failure)
            })?;
        told(run, &document)?;
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
            Some(refinement) if refinement.ended != Ended::Reached => {
                Err(not_reached(refinement, path))
            }
            _ => Ok(()),
        }
    })
}

/// A problem, perhaps on a finer mesh, with its solution and how it came about.
type Solved<'a> = (Arc<Problem>, Solution, Option<Refinement<'a>>);

/// Solves a problem, to an accuracy if the case wants one. The first rank has the solution; where
/// they share the triangles, all have.
fn solve_to_goal<'a>(
    among: (&Ranks, Split, Option<&Checkpoint>),
    solver: &mut Solver,
    case: &'a Case,
    problem: Arc<Problem>,
    solving: &Solving,
    output: &Output,
) -> Result<Option<Solved<'a>>, Failure> {
    let (ranks, split, kept) = among;
    let Some(goal) = &case.goal else {
        let solution = solve_among(among, solver, case, &problem, solving, output)?;
        return Ok(solution.map(|solution| (problem, solution, None)));
    };
    let problem = Arc::unwrap_or_clone(problem);
    let mut options = ranks.agree(solving.options(case))?;
    let mut each = |level: &Level, _: &Solution| output.note(&told(level));
    let bars = Bars::keeping(output, keeper(kept));
    let attained = match ranks.group() {
        Some(group) if split.of(&problem, ranks.size()) != Split::Space => {
            farad::solve_to_among(group, problem, goal, &options, &bars, &mut each)
        }
        // Meshes that were passed are solved on again, from the charges that are known on them.
        Some(group) => {
            options.ranks = Some(farad::Ranks(Group::clone(group)));
            farad::solve_to(problem, goal, &options, &bars, &mut each).map(Some)
        }
        None => {
            let (passed, mut way) = Meshes::begin(kept, output);
            farad::solve_to_after(&passed, problem, goal, &options, &bars, &mut way).map(Some)
        }
    };
    let attained = attained.map_err(|error| case.failed(error))?;
    Ok(attained.map(|Attained { problem, solution, levels, ended }| {
        (Arc::new(problem), solution, Some(Refinement { goal, levels, ended }))
    }))
}

/// Who keeps charges, if anybody does.
fn keeper(kept: Option<&Checkpoint>) -> Option<&dyn Keeper> {
    kept.map(|kept| kept as &dyn Keeper)
}

/// [`Ranks::agree`], where all have kept what they found before one that failed tells why: the
/// first, which knows how to go on, if any was interrupted. Collective.
pub(super) fn agreed<T>(
    ranks: &Ranks,
    kept: Option<&Checkpoint>,
    own: Result<T, Failure>,
) -> Result<T, Failure> {
    let exit = own.as_ref().map_or_else(|failure| failure.exit, |_| Exit::Success);
    let exits = ranks.gather(&[exit as u8])?.concat();
    let is_interrupted = exits.contains(&(Exit::Interrupted as u8));
    let own = match own {
        Ok(_) | Err(Failure { report: None, .. }) if is_interrupted => Err(Failure::interrupted()),
        own => own,
    };
    if let Some(kept) = kept.filter(|_| exits.iter().any(|exit| *exit != Exit::Success as u8)) {
        kept.write_all();
    }
    ranks.agree(own.map_err(|failure| Checkpoint::advised(kept, failure)))
}

/// What was reached of an accuracy, and why no more.
fn not_reached(refinement: &Refinement<'_>, folder: &Path) -> Failure {
    let last = refinement.levels.last();
    let reached = last.map_or(f64::NAN, |level| level.relative);
    let worst = last.map_or_else(String::new, Level::name);
    let (why, help) = match &refinement.ended {
        Ended::Time => (
            "a finer mesh would have taken longer than --max-time allows".to_owned(),
            "give it more time, or ask for less",
        ),
        Ended::Size(why) => (why.clone(), "ask for less, or allow more with --memory-limit"),
        Ended::Next(why) => (
            why.clone(),
            "the results are those of the mesh before; ask for less, or begin with a finer mesh",
        ),
        Ended::Stalled => (
            "the error bars no longer shrink as meshes get finer: the estimate is not to be trusted here".to_owned(),
            "look at the mesh with `farad mesh check`, and at where its triangles got small in surface.vtu",
        ),
        Ended::Vanishing => (
            format!("{worst} is zero within its error bar, as by symmetry"),
            "nothing that vanishes is accurate relative to itself: ask for another result",
        ),
        Ended::Reached | Ended::Unsolved => (String::new(), ""),
    };
    Failure::with_help(
        Exit::NotConverged,
        format!(
            "the accuracy of {:.1e} was not reached, the bars are {reached:.1e}: {why}",
            refinement.goal.accuracy
        ),
        format!("the results in {} are marked accuracy_not_reached; {help}", folder.display()),
    )
}

/// Solves a problem by the case's settings, with the cache of earlier solves of the same geometry.
pub(super) fn solve(
    kept: Option<&Checkpoint>,
    solver: &mut Solver,
    case: &Case,
    problem: &Problem,
    solving: &Solving,
    output: &Output,
) -> Result<Solution, Failure> {
    let options = solving.options(case)?;
    tracing::info!(?options, "solving");
    let bars = Bars::keeping(output, keeper(kept));
    solver.solve(problem, &options, &bars).map_err(|error| case.failed(error))
}

/// The same by all ranks, of which the first has the solution; where they share the triangles, all
/// have. Collective.
pub(super) fn solve_among(
    (ranks, split, kept): (&Ranks, Split, Option<&Checkpoint>),
    solver: &mut Solver,
    case: &Case,
    problem: &Problem,
    solving: &Solving,
    output: &Output,
) -> Result<Option<Solution>, Failure> {
    let Some(group) = ranks.group() else {
        return solve(kept, solver, case, problem, solving, output).map(Some);
    };
    let mut options = ranks.agree(solving.options(case))?;
    let bars = Bars::keeping(output, keeper(kept));
    let solution = match split.of(problem, ranks.size()) {
        Split::Space => {
            options.ranks = Some(farad::Ranks(Group::clone(group)));
            solver.solve(problem, &options, &bars).map(Some)
        }
        _ => solver.solve_among(group, problem, &options, &bars),
    };
    solution.map_err(|error| case.failed(error))
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

/// Which self-checks failed.
fn checks_failed(run: &Run<'_>) -> Failure {
    let failed: Vec<String> = warnings::of(run.solution)
        .into_iter()
        .filter(Warning::is_error)
        .map(|warning| warning.message)
        .collect();
    Failure::with_help(
        Exit::NotConverged,
        format!("the results fail their self-checks:\n{}", failed.join("\n")),
        format!(
            "the results in {} are marked checks_failed and are not to be used; docs/results.md says what each check compares",
            run.folder.display()
        ),
    )
}

/// Which excitations failed, and why.
fn not_converged(run: &Run<'_>) -> Failure {
    let names = &run.problem.conductors().names;
    let tolerance = run.solution.answer.tolerance;
    let failed: Vec<_> = run
        .solution
        .answer
        .solves
        .iter()
        .filter(|s| s.reason != bem::StopReason::Converged)
        .collect();
    let mut message =
        format!("{} of {} solves did not converge", failed.len(), run.solution.answer.solves.len());
    for solve in &failed {
        let why = match solve.reason {
            bem::StopReason::MaxIterations => "the iteration limit was reached",
            bem::StopReason::Stagnation => "restarts no longer lowered the residual",
            bem::StopReason::Breakdown => "the Krylov space was exhausted",
            bem::StopReason::Nan => "a NaN or infinity appeared",
            bem::StopReason::Converged => "it converged",
        };
        let _ = write!(
            message,
            "\n{}: {why} after {} iterations, residual {:.1e} instead of {tolerance:.1e}",
            match run.problem.excited().get(solve.excitation) {
                Some(&conductor) => format!("\"{}\" at 1 V", names[conductor]),
                None => run.problem.excitation_name(solve.excitation),
            },
            solve.iterations,
            solve.relative_residual
        );
    }
    let look = run.case.mesh.as_ref().map_or_else(String::new, |mesh| {
        format!(", or look at the mesh with `farad mesh info {}`", mesh.display())
    });
    let help = format!(
        "the partial results in {} are marked not_converged; raise solver.max_iterations or \
         solver.restart, ask for less with --tolerance{look}",
        run.folder.display(),
    );
    Failure::with_help(Exit::NotConverged, message, help)
}
