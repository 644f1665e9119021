//! `farad solve`: from a case file to a folder of results.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bem::CapacitanceOptions;

use super::arguments::Solving;
use crate::backend::{self, Backend};
use crate::case::{Case, Method};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::problem::{self, Problem};
use crate::progress::Bars;
use crate::results::{self, Folder, Matrices, Run};
use crate::state::{self, More};
use crate::{checks, interrupt, machine, probes, units};

/// Arguments of `farad solve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The case file (see docs/case-file.md), or a FastCap list file (.lst)
    case: PathBuf,
    /// Folder for the results [default: the case's output.directory, else CASE.out beside the case]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Check everything, print the resolved case and sizes, write nothing
    #[arg(long, conflicts_with = "json")]
    dry_run: bool,
    #[command(flatten)]
    solving: Solving,
}

/// Solves a case.
pub(crate) fn run(args: &Args, verbose: bool) -> Result<(), Failure> {
    let started = Instant::now();
    let (case, output) = args.solving.begin(&args.case, verbose)?;

    let reading = Instant::now();
    let opening = args.solving.on.open_early(&case);
    let problem = problem::load(&case, &output)?;
    let read_seconds = reading.elapsed().as_secs_f64();
    drop(opening);
    let path = args.output.as_deref().unwrap_or(&case.directory);
    let names = results::file_names(&case);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if args.dry_run {
        Folder::check(path, &names, args.solving.overwrite)?;
        return output.data(&dry_run(&case, &problem, path));
    }
    let folder = Folder::open(path, &names, args.solving.overwrite)?;
    let (answer, more) =
        solve(&case, &problem, args.solving.on, args.solving.memory_limit, &output)?;
    interrupt::check()?;

    let requested = args.solving.on.backend;
    let used = answer.fmm.as_ref().map_or(Backend::Cpu, Backend::of_plan);
    let run = Run {
        case: &case,
        problem: &problem,
        answer: &answer,
        more: &more,
        requested,
        used,
        folder: path,
        started,
        read_seconds,
    };
    let unit = case.mesh.unit;
    let matrices = Matrices::new(&answer.maxwell, case.relative_permittivity, unit);
    let document = results::write(&run, &matrices, folder)?;
    if args.solving.json {
        output.data(&document.text())?;
    } else {
        output.text(&results::table(&run, &matrices, &document))?;
    }
    if !results::converged(&answer) {
        return Err(not_converged(&run));
    }
    if checks::failed(&more.warnings) { Err(checks_failed(&run)) } else { Ok(()) }
}

/// What solves of one geometry keep for each other.
#[derive(Default)]
pub(super) struct Kept {
    prepared: Option<bem::Prepared>,
    /// Triangles that were added next to point charges; where there are any, charges that move take another mesh.
    added_next_to_charges: usize,
    /// How often a geometry was worked.
    pub(super) times: usize,
}

impl Kept {
    /// The next solve is one of another geometry.
    pub(super) fn forget(&mut self) {
        self.prepared = None;
    }
}

/// Solves a problem by the case's settings, within `memory_limit` bytes if given.
pub(super) fn solve(
    case: &Case,
    problem: &Problem,
    on: backend::Args,
    memory_limit: Option<u64>,
    output: &Output,
) -> Result<(bem::Capacitance, More), Failure> {
    solve_on(&mut Kept::default(), case, problem, on, memory_limit, output)
}

/// The same with what solves of the same geometry have `kept`.
pub(super) fn solve_on(
    kept: &mut Kept,
    case: &Case,
    problem: &Problem,
    on: backend::Args,
    memory_limit: Option<u64>,
    output: &Output,
) -> Result<(bem::Capacitance, More), Failure> {
    if kept.added_next_to_charges + problem.added_next_to_charges > 0 {
        kept.forget();
    }
    kept.added_next_to_charges = problem.added_next_to_charges;
    let options = CapacitanceOptions {
        method: match case.solver.method {
            Method::Auto => bem::Method::Auto,
            Method::Fmm => bem::Method::Fmm,
            Method::Dense => bem::Method::Dense,
        },
        tolerance: case.solver.tolerance,
        fmm_tolerance: case.fmm_tolerance,
        restart: case.solver.restart,
        max_iterations: case.solver.max_iterations,
        memory_limit: memory_limit.or_else(machine::available_memory),
        backend: on.resolve()?,
        gpu: on.gpu,
        ..CapacitanceOptions::default()
    };
    let points: usize = problem.probes.iter().map(Vec::len).sum();
    if points > 0 {
        probes::check_memory(points, memory_limit)?;
    }
    let conductors = bem::Conductors {
        of_triangle: &problem.conductors.of_triangle,
        count: problem.conductors.names.len(),
    };
    tracing::info!(?options, "solving");
    let bars = Bars::new(output);
    let hydrodynamics = |answer: &bem::Capacitance| {
        let diffusion = case.diffusion.as_ref()?;
        Some(state::hydrodynamics(diffusion, case, &answer.maxwell))
    };
    let images = &problem.symmetry.images;
    let one_medium;
    let permittivity = match &problem.media {
        Some(media) => &media.permittivity,
        None => {
            one_medium = vec![[case.relative_permittivity; 2]; problem.mesh.triangles.len()];
            &one_medium
        }
    };
    let media = bem::Media {
        conductor: conductors.of_triangle,
        conductors: conductors.count,
        permittivity,
        images,
        bodies: problem.media.as_ref().map_or(&[], |media| &media.regions),
    };
    let excitations = state::excitations(case, problem);
    let usable = kept.prepared.as_mut().is_some_and(|known| known.set_permittivity(permittivity));
    if !usable {
        kept.times += 1;
        kept.prepared = None;
    }
    let prepared = match &mut kept.prepared {
        Some(prepared) => prepared,
        none => {
            let count = excitations.len();
            none.insert(bem::Prepared::new(&problem.mesh, media, count, &options, &bars)?)
        }
    };
    let mut answer = prepared.solve(&excitations, &bars)?;
    let started = Instant::now();
    let mut measured =
        checks::measure(case, problem, media, Some(prepared), &excitations, &answer)?;
    let mut check_seconds = started.elapsed().as_secs_f64();
    let refined = state::refined(case, problem, prepared, &mut answer, &bars)?;
    for (images, excitation) in state::across_planes(case, problem) {
        kept.times += 1;
        let media = bem::Media { images: &images, ..media };
        let excitation = [excitation];
        let more = bem::electrostatics(&problem.mesh, media, &excitation, &options, &bars)?;
        let started = Instant::now();
        measured.add(checks::measure(case, problem, media, None, &excitation, &more)?);
        check_seconds += started.elapsed().as_secs_f64();
        answer.responses.extend(more.responses);
        answer.gauss_defect = answer.gauss_defect.max(more.gauss_defect);
        answer.timings.plan += more.timings.plan;
        answer.timings.near_field += more.timings.near_field;
        answer.timings.solve += more.timings.solve;
        answer.timings.fmm_check += more.timings.fmm_check;
    }
    if let Some(bem::Refined { response, residual }) = refined {
        measured.residuals.push(residual);
        answer.responses.push(response);
    }
    let more = state::find(case, problem, &answer)?;
    let answer = answer.into_capacitance(case.relative_permittivity, &problem.areas);
    let started = Instant::now();
    let mut warnings = checks::judge(case, problem, &answer, &measured);
    warnings.extend(more.state.as_ref().and_then(|state| checks::balance(state.balance?)));
    check_seconds += started.elapsed().as_secs_f64();
    let more = More { hydrodynamics: hydrodynamics(&answer), warnings, check_seconds, ..more };
    Ok((answer, more))
}

/// The resolved case and, as comments after it, what a run would work on.
fn dry_run(case: &Case, problem: &Problem, folder: &Path) -> String {
    let unit = case.mesh.unit.name();
    let triangles = problem.mesh.triangles.len() as u64;
    let [low, high] = mesh::quality::bounding_box(&problem.mesh);
    let mut text = case.resolved(folder, &problem.conductors.resolved);
    let _ = writeln!(text, "\n# Results would go to {}. Nothing was written.", folder.display());
    let _ = writeln!(
        text,
        "# {} triangles, {} vertices, from {low:?} to {high:?} {unit}",
        units::count(triangles),
        units::count(problem.mesh.vertices.len() as u64),
    );
    for summary in &problem.conductors.summaries {
        let _ = writeln!(
            text,
            "# conductor {:?}: {} triangles, {:.6e} {unit}^2, {}",
            summary.name,
            units::count(summary.triangles as u64),
            summary.area,
            if summary.closed { "closed" } else { "open" },
        );
    }
    let unknowns: u64 = problem.conductors.summaries.iter().map(|s| s.triangles as u64).sum();
    let _ = writeln!(
        text,
        "# {} unknowns, {} right-hand sides; a dense matrix would take {}",
        units::count(unknowns),
        problem.conductors.names.len(),
        units::bytes(8 * unknowns * unknowns),
    );
    text
}

/// Which self-checks failed.
fn checks_failed(run: &Run<'_>) -> Failure {
    let failed: Vec<&str> = run
        .more
        .warnings
        .iter()
        .filter(|warning| warning.is_error())
        .map(|warning| warning.message.as_str())
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
    let names = &run.problem.conductors.names;
    let tolerance = run.answer.tolerance;
    let failed: Vec<_> =
        run.answer.solves.iter().filter(|s| s.reason != bem::StopReason::Converged).collect();
    let mut message =
        format!("{} of {} solves did not converge", failed.len(), run.answer.solves.len());
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
            match names.get(solve.excitation) {
                Some(name) => format!("\"{name}\" at 1 V"),
                None => state::excitation_name(run.case, names, solve.excitation),
            },
            solve.iterations,
            solve.relative_residual
        );
    }
    let help = format!(
        "the partial results in {} are marked not_converged; raise solver.max_iterations or \
         solver.restart, ask for less with --tolerance, or look at the mesh with `farad mesh info {}`",
        run.folder.display(),
        run.case.mesh.file.display(),
    );
    Failure::with_help(Exit::NotConverged, message, help)
}
