//! Predicted cost of a solve on this machine: it is begun, pieces of its surfaces are solved, and
//! their cost is extrapolated to the whole.

pub(crate) mod slow;
pub(crate) mod watch;

use std::fmt::Write as _;
use std::time::Instant;

use farad::{Method, Options, Problem, Solver};
use fmm::Backend;

use self::watch::{Beginning, Cost, PATIENCE, Until, Watch};
use super::arguments::Solving;
use crate::case::Case;
use crate::machine;
use crate::report::units;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;
use crate::words::Word as _;

/// The larger piece is this share of the surfaces,
const SHARE: usize = 8;

/// but no more than this number of triangles,
const MOST: usize = 1 << 17;

/// and no fewer for each thread than keep it busy. Fewer of the whole are solved as they are.
const OF_THREAD: usize = 8192;

/// Unknowns of a piece that is solved by its matrix at most: seconds grow as their cube.
const OF_MATRIX: usize = 4096;

/// The smaller piece is this share of the larger one.
const SMALLER: usize = 4;

/// Seconds to write the results on a triangle (docs/performance.md, "Estimates").
const WRITING: f64 = 0.8e-6;

/// A solve's expected cost.
#[derive(Clone, Copy, Debug)]
struct Forecast {
    seconds: f64,
    /// Bytes of the whole process at most, where the system tells.
    memory: Option<u64>,
    /// Whether it is carried on far, from pieces alone.
    is_rough: bool,
}

/// Cost of one solve.
#[derive(Clone, Copy, Debug)]
struct Took {
    panels: f64,
    whole: Cost,
    /// After the near field, where it has one.
    later: Option<Cost>,
}

/// Lines, each with "# ", that tell what solves will take by each backend that is here, or by the
/// one that was chosen, in one process of `processes`. So many seconds have gone by already, and
/// will again.
pub(super) fn lines(
    case: &Case,
    problem: &Problem,
    solving: &Solving,
    processes: usize,
    reading: f64,
    output: &Output,
) -> Result<String, Failure> {
    let started = Instant::now();
    let options = solving.options(case)?;
    let pieces = pieces(case, problem, &options)?;
    let mut text = String::new();
    let (mut refused, mut is_rough) = (None, false);
    for backend in backends(solving.on.backend, &options) {
        let name = backend.word();
        let options = options.clone().backend(backend);
        match of_backend(case, problem, &pieces, &options, output) {
            Ok(found) => {
                is_rough |= found.is_rough;
                text += &line(name, reading, found, options.memory_limit);
            }
            Err(failure) if failure.exit == Exit::Memory => {
                let _ = writeln!(text, "# {name}: does not fit into memory");
                refused = Some(failure);
            }
            Err(failure) => return Err(failure),
        }
    }
    if let (Some(failure), false) = (refused, text.contains(": about ")) {
        return Err(failure);
    }
    let how = match (pieces.is_empty(), is_rough) {
        (true, true) => "from solves of small pieces of it",
        (true, false) => "by solving it",
        (false, _) => "from its beginning and solves of two pieces of it",
    };
    let good = if is_rough { "to a factor of two" } else { "to some 30 %" };
    let what = match case.goal.is_some() {
        true => "the first mesh; finer ones will follow",
        false => "the whole run",
    };
    let spent = units::duration(started.elapsed().as_secs_f64());
    Ok(format!(
        "# estimates of {what}, {how} in {spent}; good {good} where nothing else keeps the machine busy:\n{text}{}",
        left_out(problem, &pieces, processes)
    ))
}

/// Pieces of a problem that tell what it takes; none where it is small.
fn pieces(case: &Case, problem: &Problem, options: &Options) -> Result<Vec<Problem>, Failure> {
    let panels = problem.panels();
    let least = OF_THREAD * machine::threads();
    let larger = match options.method {
        Method::Dense => OF_MATRIX / options.density.modes(),
        _ => (panels / SHARE).clamp(least, MOST.max(least)),
    };
    // A little more than a piece takes no longer than its beginning and both pieces.
    let is_small = panels <= larger + larger / 2;
    let pieces = if is_small { vec![] } else { vec![larger / SMALLER, larger] };
    let piece = |triangles| problem.piece(triangles, usize::MAX);
    let pieces: Result<Vec<Problem>, farad::Error> = pieces.into_iter().map(piece).collect();
    pieces.map_err(|error| case.failed(error))
}

/// The line on one backend.
fn line(name: &str, reading: f64, found: Forecast, limit: Option<u64>) -> String {
    let seconds = units::duration(reading + found.seconds);
    let memory = found.memory.map(|bytes| format!(", {} of memory", units::bytes(bytes)));
    let free = limit.filter(|limit| found.memory.is_some_and(|bytes| bytes > *limit));
    let free = free.map(|limit| format!("; {} are free, it may be refused", units::bytes(limit)));
    format!("# {name}: about {seconds}{}{}\n", memory.unwrap_or_default(), free.unwrap_or_default())
}

/// Lines on what estimates leave out.
fn left_out(problem: &Problem, pieces: &[Problem], processes: usize) -> String {
    let mut text = String::new();
    if let Some(piece) = pieces.first() {
        let (wanted, found) = (problem.description(), piece.description());
        let parts = [
            ("films", wanted.films.len() > found.films.len()),
            ("some sensitivities", wanted.sensitivities.len() > found.sensitivities.len()),
        ];
        let of = |(name, is_left_out): (&'static str, bool)| is_left_out.then_some(name);
        let parts: Vec<&str> = parts.into_iter().filter_map(of).collect();
        if !parts.is_empty() {
            let _ = writeln!(text, "# what {} take comes on top of that", parts.join(" and "));
        }
    }
    if processes > 1 {
        let _ = writeln!(text, "# these are of one process; {processes} will share the work");
    }
    text
}

/// Those to tell of.
fn backends(asked: Backend, options: &Options) -> Vec<Backend> {
    match asked {
        Backend::Auto if options.deterministic || fmm::check_gpu(options.gpu).is_err() => {
            vec![Backend::Cpu]
        }
        Backend::Auto => vec![Backend::Cpu, Backend::Cuda, Backend::Hybrid],
        chosen => vec![chosen],
    }
}

fn of_backend(
    case: &Case,
    problem: &Problem,
    pieces: &[Problem],
    options: &Options,
    output: &Output,
) -> Result<Forecast, Failure> {
    let panels = problem.panels();
    let writing = WRITING * problem.mesh().triangles.len() as f64;
    let took = |problem: &Problem, options: &Options| took(case, problem, options, output);
    let on_gpu = !matches!(options.backend, Backend::Cpu);
    let [smaller, larger] = pieces else {
        // Kernels are compiled once and for all.
        if on_gpu {
            took(problem, options)?;
        }
        let found = small(case, problem, options, output)?;
        return Ok(Forecast { seconds: found.seconds + writing, ..found });
    };
    // As for the whole: pieces are small enough for a dense solve.
    let method = match options.method {
        Method::Auto => Method::Fmm,
        method => method,
    };
    let options = options.clone().method(method);
    // The first solve also starts threads, and compiles and loads kernels, which depend on sizes.
    took(if on_gpu { larger } else { smaller }, &options)?;
    let took = [took(smaller, &options)?, took(larger, &options)?];
    let (at, whole) = (took.map(|took| took.panels), panels as f64);
    // Pieces have rims and small parts: plan and near field are not those of the whole.
    let later = match (method, took.map(|took| took.later)) {
        (Method::Dense, _) => None,
        (_, [Some(smaller), Some(larger)]) => {
            beginning(case, problem, &options, output)?.map(|begun| (begun, [smaller, larger]))
        }
        _ => None,
    };
    tracing::debug!(?took, ?later, whole, "pieces");
    let found = match later {
        Some((begun, [smaller, larger])) => {
            begun.followed_by(smaller.with(larger, |values| linear(at, values, whole)))
        }
        None => took[0].whole.with(took[1].whole, |values| match method {
            Method::Dense => cubic(at, values, whole),
            _ => linear(at, values, whole),
        }),
    };
    let memory = with_resident(found.bytes);
    Ok(Forecast { seconds: found.seconds + writing, memory, is_rough: false })
}

/// Bytes together with those that the process holds.
fn with_resident(bytes: Option<f64>) -> Option<u64> {
    machine::return_free_memory();
    machine::resident_memory().zip(bytes).map(|(held, bytes)| held + bytes as u64)
}

/// Cost of a small problem, by solving it if that is soon done.
fn small(
    case: &Case,
    problem: &Problem,
    options: &Options,
    output: &Output,
) -> Result<Forecast, Failure> {
    let watch = Watch::new(output, Until::Seconds(PATIENCE), options.backend);
    match Solver::single().solve(problem, options, &watch) {
        Ok(_) => {
            let seconds = watch.took().0.seconds;
            Ok(Forecast { seconds, memory: machine::peak_memory(), is_rough: false })
        }
        Err(_) if watch.has_stopped() => {
            let method = if watch.has_plan() { Method::Fmm } else { Method::Dense };
            let options = options.clone().method(method);
            let cost = slow::cost(case, problem, &options, watch.beginning(true), output)?;
            Ok(Forecast {
                seconds: cost.seconds,
                memory: with_resident(cost.bytes),
                is_rough: true,
            })
        }
        Err(error) => Err(case.failed(error)),
    }
}

/// The value at `whole` of what grows as the number of panels, from those of two pieces.
fn linear(at: [f64; 2], [smaller, larger]: [f64; 2], whole: f64) -> f64 {
    // The constant part is positive, and so is the growing part.
    let slope = ((larger - smaller) / (at[1] - at[0])).clamp(0.0, larger / at[1]);
    larger + slope * (whole - at[1])
}

/// The same where pairs are integrated, and a matrix is factorised.
fn cubic(at: [f64; 2], values: [f64; 2], whole: f64) -> f64 {
    let [smaller, larger] = [0, 1].map(|k| values[k] / at[k].powi(2));
    let slope = ((larger - smaller) / (at[1] - at[0])).max(0.0);
    (larger + slope * (whole - at[1])) * whole.powi(2)
}

/// Solves a problem and forgets the answer.
fn took(
    case: &Case,
    problem: &Problem,
    options: &Options,
    output: &Output,
) -> Result<Took, Failure> {
    let watch = Watch::new(output, Until::End, options.backend);
    let solved = Solver::single().solve(problem, options, &watch);
    let (whole, later) = watch.took();
    let solution = solved.map_err(|error| case.failed(error))?;
    tracing::debug!(
        timings = ?solution.answer.timings,
        checks = solution.check_seconds,
        bars = solution.estimate_seconds,
        evaluation = solution.evaluation_seconds,
        "a piece"
    );
    Ok(Took { panels: problem.panels() as f64, whole, later })
}

/// Cost of the beginning of a solve, up to its near field; from its plan, and from some of the
/// near field's rows. `None` where a solve has none of these.
fn beginning(
    case: &Case,
    problem: &Problem,
    options: &Options,
    output: &Output,
) -> Result<Option<Beginning>, Failure> {
    let watch = Watch::new(output, Until::SomeRows, options.backend);
    match Solver::single().solve(problem, options, &watch) {
        Err(_) if watch.has_stopped() => Ok(watch.beginning(false)),
        Err(error) => Err(case.failed(error)),
        Ok(_) => Ok(None),
    }
}
